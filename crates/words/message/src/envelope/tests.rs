use crate::{Envelope, Limits, parse};

fn envelope(header: &str) -> Envelope {
    parse(format!("{header}\r\n\r\n").as_bytes(), &Limits::default()).envelope
}

#[test]
fn of_two_fields_the_first_counts_but_recipients_add_up() {
    let envelope =
        envelope("Subject: a\r\nSubject: b\r\nTo: a@b\r\nTo: c@d\r\nFrom: e@f\r\nFrom: g@h");
    assert_eq!(envelope.subject.as_deref(), Some(b"a".as_slice()));
    assert_eq!((envelope.to.len(), envelope.from.len()), (2, 1));
}

#[test]
fn empty_fields_are_there() {
    let envelope = envelope("Subject:\r\nMessage-ID: \r\nFrom: a@b\r\nSender:\r\nReply-To: c@d");
    assert_eq!(envelope.subject.as_deref(), Some(b"".as_slice()));
    assert_eq!(envelope.message_id.as_deref(), Some(b"".as_slice()));
    assert_eq!(envelope.sender, envelope.from);
    assert_eq!(envelope.reply_to[0].mailbox.as_deref(), Some(b"c".as_slice()));
}

#[test]
fn folded_values_are_unfolded() {
    let envelope =
        envelope("Subject: a\r\n\tb\r\n c\r\nReferences: <1@x>\r\n <2@x><3@x> junk (c) <4@x");
    assert_eq!(envelope.subject.as_deref(), Some(b"a\tb c".as_slice()));
    assert_eq!(envelope.references, ["<1@x>", "<2@x>", "<3@x>", "<4@x"]);
}
