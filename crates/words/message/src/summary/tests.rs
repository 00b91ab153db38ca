use super::*;
use crate::corpus::{self, Dice};
use crate::{Limits, parse};

#[test]
fn views_give_single_sections() {
    for (name, message) in corpus::all() {
        let parsed = parse(&message, &Limits::default());
        let bytes = summary_encode(&parsed);
        let view = SummaryView::new(&bytes).unwrap();
        assert_eq!(view.envelope().as_ref(), Ok(&parsed.envelope), "{name}");
        assert_eq!(copied(&view.envelope_view().unwrap()), parsed.envelope, "{name}");
        assert_eq!(view.preview(), Ok(parsed.preview.as_str()), "{name}");
        assert_eq!(view.defects(), parsed.defects, "{name}");
        assert_eq!(view.structure().map(|structure| structure.parts).as_ref(), Ok(&parsed.parts));
        let root = &parsed.parts[0];
        assert_eq!(view.root(), Ok((root.header.clone(), root.body.clone())), "{name}");
        let short = view.without_preview();
        let wanted = crate::Parsed { preview: String::new(), ..parsed };
        assert_eq!(summary_decode(&short).as_ref(), Ok(&wanted), "{name}");
        assert!(short.len() <= bytes.len(), "{name}");
    }
}

fn copied(view: &EnvelopeView<'_>) -> crate::Envelope {
    let bytes = |field: Option<&[u8]>| field.map(<[u8]>::to_vec);
    let addresses = |list: AddressesView<'_>| -> Vec<crate::Address> {
        let copy = |address: AddressView<'_>| crate::Address {
            name: bytes(address.name),
            route: bytes(address.route),
            mailbox: bytes(address.mailbox),
            host: bytes(address.host),
        };
        list.iter().map(copy).collect()
    };
    crate::Envelope {
        date: bytes(view.date),
        subject: bytes(view.subject),
        from: addresses(view.from),
        sender: addresses(view.sender),
        reply_to: addresses(view.reply_to),
        to: addresses(view.to),
        cc: addresses(view.cc),
        bcc: addresses(view.bcc),
        in_reply_to: bytes(view.in_reply_to),
        message_id: bytes(view.message_id),
        references: view.references().map(|id| String::from_utf8(id.to_vec()).unwrap()).collect(),
        sent: view.sent,
    }
}

#[test]
fn hostile_bytes_are_refused_without_panic() {
    let samples: Vec<_> = corpus::all()
        .iter()
        .map(|(_, message)| summary_encode(&parse(message, &Limits::default())))
        .filter(|bytes| bytes.len() < 10_000)
        .collect();
    for round in 0..20_000 {
        let mut dice = Dice::new(round + 1);
        let mut bytes = samples[dice.below(samples.len())].clone();
        for _ in 0..=dice.below(3) {
            let at = dice.below(bytes.len());
            match dice.below(3) {
                0 => bytes[at] = dice.next() as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, 0xff),
            }
        }
        if let Ok(view) = SummaryView::new(&bytes).and_then(|view| view.envelope_view()) {
            let lists = [view.from, view.sender, view.reply_to, view.to, view.cc, view.bcc];
            let count = lists.iter().map(|list| list.iter().count()).sum::<usize>();
            assert!(count + view.references().count() <= 3 * bytes.len());
        }
        if let Ok(parsed) = summary_decode(&bytes) {
            let again = summary_encode(&parsed);
            assert_eq!(summary_decode(&again).as_ref(), Ok(&parsed), "round {round}");
        }
    }
    assert_eq!(summary_decode(&[]), Err(SummaryError::Damaged("too short")));
    assert_eq!(summary_decode(&[9, 0]), Err(SummaryError::Version(9)));
}

/// Pins the layout: stored summaries must stay readable.
#[test]
fn layout_is_pinned() {
    let message =
        b"From: A <a@b.c>\r\nTo: d@e.f\r\nSubject: hi\r\nDate: Thu, 01 Jan 1970 00:00:09 +0000\r\n\
        Message-ID: <m@b.c>\r\n\r\nfirst line\r\n";
    let bytes = summary_encode(&parse(message, &Limits::default()));
    assert_eq!(
        String::from_utf8_lossy(&bytes),
        "\u{1}\0B\u{a}\u{1b}\u{1f}Thu, 01 Jan 1970 00:00:09 +0000\u{2}hi\u{7}<m@b.c>\u{12}\
         \u{1}\u{d}\u{1}A\u{1}a\u{3}b.c\u{1}\u{c}\u{1}d\u{3}e.f\0\0\0first line\
         \u{1}\0g\u{c}\0\0\u{1}\u{4}text\u{5}plain\u{4}7BIT\u{1}\u{7}charset\u{8}us-ascii"
    );
}

#[test]
fn summaries_are_small() {
    let message = corpus::case("S-MIME-02.eml");
    let bytes = summary_encode(&parse(&message, &Limits::default()));
    assert!(bytes.len() < 500, "{}", bytes.len());
}
