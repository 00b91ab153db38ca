mod model;

use message::{Limits, SummaryView};
use note::{TimeDate, Unid};
use store::{Entry, EntryFlags, FolderId, NoteId};

use super::*;
use crate::INBOX;
use crate::fixture::Fixture;

/// One message of a test: id, references, in-reply-to, subject, minute.
#[derive(Clone, Debug, Default)]
struct Letter {
    id: String,
    references: String,
    in_reply_to: String,
    subject: String,
    minute: i64,
}

impl Letter {
    fn bytes(&self) -> Vec<u8> {
        let mut text = String::new();
        let fields = [
            ("Message-ID", &self.id),
            ("References", &self.references),
            ("In-Reply-To", &self.in_reply_to),
            ("Subject", &self.subject),
        ];
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\nx\r\n");
        text.into_bytes()
    }
}

fn letter(id: &str, references: &str, subject: &str, minute: i64) -> Letter {
    let (id, references, subject) = (id.into(), references.into(), subject.into());
    Letter { id, references, in_reply_to: String::new(), subject, minute }
}

fn entry(uid: u32, minute: i64) -> Entry {
    Entry {
        uid,
        modseq: 1,
        flags: EntryFlags::NONE,
        keywords: Vec::new(),
        note: NoteId(uid.into()),
        size: 1,
        date: TimeDate(minute * 60_000_000),
        unid: Unid([0; 16]),
    }
}

fn threaded(algorithm: Algorithm, letters: &[Letter]) -> Forest {
    let mut threader = Threader::new(algorithm);
    for (at, letter) in letters.iter().enumerate() {
        let summary = message::summary_encode(&message::parse(&letter.bytes(), &Limits::default()));
        let view = SummaryView::new(&summary).unwrap().envelope_view().unwrap();
        threader.add(&entry(at as u32 + 1, letter.minute), Some(&view));
    }
    threader.finish()
}

/// The forest as RFC 5256 writes it.
fn shown(forest: &Forest) -> String {
    fn list(forest: &Forest, node: u32) -> String {
        let mut text = forest.uid(node).map_or(String::new(), |uid| uid.to_string());
        let children = forest.children(node);
        let below: Vec<String> = children.iter().map(|child| list(forest, *child)).collect();
        if !below.is_empty() && !text.is_empty() {
            text.push(' ');
        }
        match &below[..] {
            [only] => text.push_str(only),
            several => several.iter().for_each(|list| text.push_str(&format!("({list})"))),
        }
        text
    }
    forest.roots.iter().map(|root| format!("({})", list(forest, *root))).collect()
}

/// Message ids such as `ab` are written in letters: one for each id.
fn ids(letters: &str) -> String {
    let ids: Vec<String> = letters.chars().map(|c| format!("<{c}@x.test>")).collect();
    ids.join(" ")
}

#[test]
fn references_make_trees() {
    let l =
        |id: &str, references: &str, subject: &str| letter(&ids(id), &ids(references), subject, 0);
    let cases: Vec<(Vec<Letter>, &str)> = vec![
        (vec![], ""),
        (vec![l("a", "", ""), l("b", "a", ""), l("c", "ab", "")], "(1 2 3)"),
        (vec![l("a", "", ""), l("b", "a", ""), l("c", "a", "")], "(1 (2)(3))"),
        // Nobody has what is referred to: the two hang together all the same.
        (vec![l("b", "a", ""), l("c", "a", "")], "((1)(2))"),
        (vec![l("b", "a", "")], "(1)"),
        // Loops are not made, and what a message says itself counts.
        (vec![l("a", "", ""), l("b", "ac", ""), l("c", "b", "")], "(1)(3 2)"),
        (vec![l("a", "b", ""), l("b", "a", "")], "(2 1)"),
        (vec![l("a", "a", "")], "(1)"),
        // Two messages with one id.
        (vec![l("a", "", ""), l("a", "", "")], "(1)(2)"),
        (vec![l("a", "", "x"), l("a", "", "Re: x")], "(1 2)"),
        // Subjects bring together what references do not.
        (vec![l("a", "", "x"), l("b", "", "Fwd: X")], "(1 2)"),
        (vec![l("a", "", "Re: x"), l("b", "", "x")], "(2 1)"),
        (vec![l("a", "", "x"), l("b", "", "x")], "((1)(2))"),
        (vec![l("a", "", "x"), l("b", "", "x"), l("c", "", "re: x")], "((1)(2)(3))"),
        (vec![l("a", "", ""), l("b", "", "")], "(1)(2)"),
    ];
    for (letters, wanted) in cases {
        let got = shown(&threaded(Algorithm::References, &letters));
        assert_eq!(got, wanted, "{letters:?}");
    }
}

#[test]
fn in_reply_to_stands_in_for_references_and_quotes_do_not_matter() {
    let mut reply = letter("<b@x.test>", "", "", 0);
    reply.in_reply_to = String::from("your letter <\"a\"@x.test> of today");
    let letters = [letter("<a@x.test>", "", "", 0), reply];
    assert_eq!(shown(&threaded(Algorithm::References, &letters)), "(1 2)");
}

#[test]
fn siblings_are_ordered_by_date() {
    let mut letters = vec![letter("<a@x>", "", "", 9)];
    letters.extend((0..4).map(|n| letter(&format!("<{n}@x>"), "<a@x>", "", [3, 1, 2, 1][n])));
    assert_eq!(shown(&threaded(Algorithm::References, &letters)), "(1 (3)(5)(4)(2))");
    let tops: Vec<Letter> = [5, 3, 4].map(|minute| letter("", "", "", minute)).to_vec();
    assert_eq!(shown(&threaded(Algorithm::References, &tops)), "(2)(3)(1)");
}

#[test]
fn subjects_alone_make_flat_conversations() {
    let l = |subject: &str, minute| letter("", "", subject, minute);
    let letters = [l("b", 3), l("a", 4), l("Re: b", 1), l("B", 2), l("c", 9), l("re: a", 5)];
    let got = shown(&threaded(Algorithm::OrderedSubject, &letters));
    assert_eq!(got, "(3 (4)(1))(2 6)(5)");
}

#[test]
fn a_random_correspondence_is_threaded_like_the_model_does() {
    for seed in 1..=1_500u64 {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let count = 1 + random(9) as usize;
        let letters: Vec<Letter> = (0..count)
            .map(|_| {
                let name = |n: u64| char::from(b'a' + n as u8);
                let id = if random(8) == 0 { String::new() } else { name(random(7)).to_string() };
                let references: String = (0..random(4)).map(|_| name(random(7))).collect();
                let subject = ["", "x", "Re: x", "y", "Re: y"][random(5) as usize];
                letter(&ids(&id), &ids(&references), subject, random(4) as i64)
            })
            .collect();
        let got = shown(&threaded(Algorithm::References, &letters));
        assert_eq!(got, model::references(&letters), "seed {seed}: {letters:#?}");
    }
}

#[test]
fn giant_conversations_take_no_longer_than_many_small_ones() {
    const COUNT: usize = 20_000;
    let id = |n: usize| format!("<{n}@x>");
    // One chain, of which each message names the two before; then one that comes backwards; then
    // one message that everybody answers.
    let chain: Vec<Letter> = (0..COUNT)
        .map(|n| {
            let before = (n.saturating_sub(2)..n).map(id).collect::<Vec<_>>().join(" ");
            letter(&id(n), &before, "x", n as i64)
        })
        .collect();
    let backwards: Vec<Letter> = chain.iter().rev().cloned().collect();
    let star: Vec<Letter> = (0..COUNT).map(|n| letter(&id(n + 1), &id(0), "Re: x", 0)).collect();
    let started = std::time::Instant::now();
    let mut deepest = 0;
    for letters in [chain, backwards, star] {
        let forest = threaded(Algorithm::References, &letters);
        assert_eq!(forest.roots.len(), 1);
        let (mut node, mut depth) = (forest.roots[0], 1);
        while let Some(next) = forest.children(node).first() {
            (node, depth) = (*next, depth + 1);
        }
        deepest = deepest.max(depth);
    }
    assert_eq!(deepest, COUNT);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn messages_of_a_folder_are_threaded_and_sorted() {
    let fixture = Fixture::new();
    let file = &fixture.file;
    for (at, subject) in ["b", "Re: a", "a"].iter().enumerate() {
        let letter = letter(&format!("<{at}@x>"), "", subject, 0);
        file.append(INBOX, &letter.bytes(), Some(TimeDate(at as i64)), &Default::default())
            .unwrap();
    }
    let inbox: FolderId = fixture.folder(INBOX);
    let mut threader = Threader::new(Algorithm::References);
    let read = file.thread_step(inbox, &[1, 2, 3, 9], &mut threader).unwrap();
    assert_eq!(read.value, 4);
    assert_eq!(shown(&threader.finish()), "(1)(3 2)");
    let by = |key, reverse| crate::Criterion { key, reverse };
    for (criteria, wanted) in [
        (vec![by(crate::SortKey::Subject, false)], [2, 3, 1]),
        (vec![by(crate::SortKey::Subject, true)], [1, 2, 3]),
        (vec![by(crate::SortKey::Subject, false), by(crate::SortKey::Arrival, true)], [3, 2, 1]),
        (vec![by(crate::SortKey::Arrival, true)], [3, 2, 1]),
    ] {
        let mut sorter = crate::Sorter::new(criteria);
        file.sort_step(inbox, &[1, 2, 3, 9], &mut sorter).unwrap();
        assert_eq!(sorter.finish(), wanted);
    }
}
