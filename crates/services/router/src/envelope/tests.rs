use note::{NoteClass, TimeDate};

use super::*;

fn note() -> Note {
    let mut note = Note::new(Unid([7; 16]), NoteClass::DOCUMENT, TimeDate(1));
    note.set("Form", "Memo");
    note.set("Subject", "Hello");
    note.set("$Size", 12.0);
    note
}

fn recipient(address: &str, original: Option<&str>, notify: Notify) -> Recipient {
    let original = original.map(str::to_owned);
    Recipient { address: address.to_owned(), original, notify }
}

#[test]
fn an_envelope_comes_back_from_its_items() {
    let success = Notify { failure: false, delay: false, success: true };
    let all = Notify { failure: true, delay: true, success: true };
    let cases = [
        Envelope::default(),
        Envelope {
            sender: Some("\"night clerk\"@example.org".to_owned()),
            recipients: vec![recipient("a@x.test", None, Notify::default())],
            envelope_id: Some("JOB:7 [/PRMD=Demo/ADMD= /C=XX/;HOST-26030309".to_owned()),
            ret: Ret::Hdrs,
            authenticated: Some("CN=Ada/O=Demo".to_owned()),
            hops: 3,
            priority: Priority::High,
            ..Envelope::default()
        },
        Envelope {
            recipients: vec![
                recipient("a@x.test", Some("rfc822;A@x.test"), Notify::NEVER),
                recipient("b@x.test", None, success),
                recipient("Team", Some("rfc822;team@x.test"), all),
            ],
            ret: Ret::Full,
            priority: Priority::Low,
            forwarded: vec!["mail/ada.nsf".to_owned(), "mail/bob.nsf".to_owned()],
            delay_told: true,
            crashes: 1,
            own: true,
            ..Envelope::default()
        },
    ];
    for envelope in cases {
        let wrapped = wrap(note(), &envelope);
        assert_eq!(Envelope::read(&wrapped), envelope);
        let decoded = Note::decode(&wrapped.encode()).unwrap();
        assert_eq!(Envelope::read(&decoded), envelope);
    }
}

#[test]
fn recipients_get_the_note_without_router_items() {
    let envelope = Envelope {
        sender: Some("a@x.test".to_owned()),
        recipients: vec![recipient("bcc@x.test", Some("rfc822;bcc@x.test"), Notify::NEVER)],
        envelope_id: Some("id".to_owned()),
        ret: Ret::Full,
        authenticated: Some("CN=Ada/O=Demo".to_owned()),
        hops: 1,
        priority: Priority::Low,
        forwarded: vec!["mail/ada.nsf".to_owned()],
        delay_told: true,
        crashes: 1,
        own: true,
        journaled: true,
        retry: Some((2, TimeDate(7))),
    };
    let mut wrapped = wrap(note(), &envelope);
    wrapped.touch(TimeDate(9));
    set_state(&mut wrapped, QueueState::Dead, Some("why"));
    let mut expected = note();
    expected.oid.sequence_time = TimeDate(9);
    assert_eq!(unwrap_message(wrapped), expected);
}

#[test]
fn a_second_wrap_replaces_the_first() {
    let mut envelope = Envelope {
        recipients: vec![recipient("a@x.test", Some("rfc822;x"), Notify::NEVER)],
        ..Envelope::default()
    };
    let wrapped = wrap(note(), &envelope);
    envelope.recipients = vec![recipient("b@x.test", None, Notify::default())];
    let again = wrap(wrapped, &envelope);
    assert_eq!(Envelope::read(&again), envelope);
    assert_eq!(again.get("$RecipientNotify"), None);
}

#[test]
fn states_and_causes_are_items() {
    let mut note = note();
    assert_eq!(state(note.text(STATE)), QueueState::Waiting);
    set_state(&mut note, QueueState::Held, Some("why"));
    assert_eq!((state(note.text(STATE)), note.text(CAUSE)), (QueueState::Held, Some("why")));
    set_state(&mut note, QueueState::Waiting, None);
    assert_eq!((state(note.text(STATE)), note.text(CAUSE)), (QueueState::Waiting, None));
}

#[test]
fn received_lines_are_counted_in_the_header_only() {
    let cases: [(&[u8], u32); 6] = [
        (b"", 0),
        (b"Received: a\r\nreceived: b\r\n\tfolded\r\nRECEIVED:c\r\n\r\nReceived: body\r\n", 3),
        (b"Return-Path: <>\r\nReceived : odd\r\n\r\n", 0),
        (b"Received: a\n\nReceived: b\n", 1),
        (b"X-Received: a\r\nReceived-SPF: pass\r\n\r\n", 0),
        (b"Received: no end", 1),
    ];
    for (message, count) in cases {
        assert_eq!(received_count(message), count, "{:?}", String::from_utf8_lossy(message));
    }
}

#[test]
fn return_path_lines() {
    assert_eq!(return_path(&None), "Return-Path: <>\r\n");
    let quoted = Some("\"night clerk\"@example.org".to_owned());
    assert_eq!(return_path(&quoted), "Return-Path: <\"night clerk\"@example.org>\r\n");
}

#[test]
fn the_header_tells_hops_and_priority() {
    let cases = [
        ("Subject: x\r\n\r\nPriority: urgent\r\n", 0, Priority::Normal),
        ("Received: a\r\nreceived: b\r\nPRIORITY: Urgent\r\n\r\n", 2, Priority::High),
        ("Priority: non-urgent\r\n\r\n", 0, Priority::Low),
        ("X-Priority: 1 (Highest)\r\n\r\n", 0, Priority::High),
        ("X-Priority: 5\nImportance: normal\n\n", 0, Priority::Low),
        ("X-Priority: 3\r\nImportance: high\r\n\r\n", 0, Priority::High),
        ("Importance: low\r\nX-Priority: 2\r\n\r\n", 0, Priority::High),
        ("Priority:\r\nImportance\r\nX-Priority:\r\n", 0, Priority::Normal),
    ];
    for (message, hops, priority) in cases {
        let facts = HeaderFacts::of(message.as_bytes());
        assert_eq!(facts, HeaderFacts { hops, priority }, "{message:?}");
    }
}
