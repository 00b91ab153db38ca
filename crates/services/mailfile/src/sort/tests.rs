use message::{Limits, SummaryView};
use note::{TimeDate, Unid};
use store::{EntryFlags, NoteId};

use super::*;

fn entry(uid: u32, date: i64, size: u64) -> Entry {
    Entry {
        uid,
        modseq: 1,
        flags: EntryFlags::NONE,
        keywords: Vec::new(),
        note: NoteId(uid.into()),
        size,
        date: TimeDate(date * 1_000_000),
        unid: Unid([0; 16]),
    }
}

fn sorted(criteria: &[(SortKey, bool)], messages: &[&str]) -> Vec<u32> {
    let criteria = criteria.iter().map(|(key, reverse)| Criterion { key: *key, reverse: *reverse });
    let mut sorter = Sorter::new(criteria.collect());
    for (at, message) in messages.iter().enumerate() {
        let parsed = message::parse(message.as_bytes(), &Limits::default());
        let summary = message::summary_encode(&parsed);
        let view = SummaryView::new(&summary).unwrap().envelope_view().unwrap();
        let entry = entry(at as u32 + 1, 0, message.len() as u64);
        sorter.add(&entry, Some(&view));
    }
    sorter.finish()
}

#[test]
fn names_and_addresses_are_compared_as_people_read_them() {
    let shown = [
        "From: foo bar <a@b.c>\r\n\r\n",
        "From: b@c.d\r\n\r\n",
        "From: d\r\n\r\n",
        "From: =?iso-8859-1?q?foo_aar?= <e@f.g>\r\n\r\n",
        "From: =?iso-8859-1?q?foo_car?= <f@g.h>\r\n\r\n",
        "\r\n",
    ];
    assert_eq!(sorted(&[(SortKey::DisplayFrom, false)], &shown), [6, 2, 3, 4, 1, 5]);
    assert_eq!(sorted(&[(SortKey::DisplayFrom, true)], &shown), [5, 1, 4, 3, 2, 6]);
    assert_eq!(sorted(&[(SortKey::From, false)], &shown), [6, 1, 2, 3, 4, 5]);
    let groups = ["To: z: aa@aa;\r\n\r\n", "To: b@x\r\n\r\n", "To: a: yy@yy;\r\n\r\n"];
    assert_eq!(sorted(&[(SortKey::To, false)], &groups), [3, 2, 1]);
    assert_eq!(sorted(&[(SortKey::DisplayTo, false)], &groups), [3, 2, 1]);
}

#[test]
fn dates_fall_back_to_the_internal_date_and_ties_to_the_number() {
    let dated = [
        "Date: Fri, 22 Feb 2008 02:00:00 +0200\r\n\r\n",
        "Date: Fri, 22 Feb 2008 01:00:00 +0100\r\n\r\nxx",
        "\r\n",
        "Date: rubbish\r\n\r\n",
    ];
    assert_eq!(sorted(&[(SortKey::Date, false)], &dated), [3, 4, 1, 2]);
    assert_eq!(sorted(&[(SortKey::Date, true)], &dated), [1, 2, 3, 4]);
    assert_eq!(sorted(&[(SortKey::Date, false), (SortKey::Size, true)], &dated), [4, 3, 2, 1]);
}

#[test]
fn the_order_is_that_of_a_plain_stable_sort() {
    for seed in 1..=200u64 {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let reverse = [random(2) == 0, random(2) == 0];
        let criteria = [SortKey::Arrival, SortKey::Size];
        let make = |(key, reverse)| Criterion { key, reverse };
        let mut sorter = Sorter::new(criteria.into_iter().zip(reverse).map(make).collect());
        let mut model: Vec<(u32, [i64; 2])> = Vec::new();
        for uid in 1..=30 {
            let values = [random(4) as i64, random(4) as i64];
            sorter.add(&entry(uid, values[0], values[1] as u64), None);
            let sign = |at: usize| if reverse[at] { -values[at] } else { values[at] };
            model.push((uid, [sign(0), sign(1)]));
        }
        model.sort_by_key(|(_, values)| *values);
        let wanted: Vec<u32> = model.into_iter().map(|(uid, _)| uid).collect();
        assert_eq!(sorter.finish(), wanted, "seed {seed}");
    }
}
