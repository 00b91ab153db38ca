use super::*;
use crate::{Defects, Kind, Limits, parse};

const MESSAGE: &[u8] =
    b"From: ada@example.test\r\nMessage-ID: <lost@example.test>\r\nSubject: lost\r\n\r\n\
    --report-abc123\r\nthe text\r\n";

fn report(returned: Returned, message: &[u8]) -> Report<'_> {
    Report {
        reporting_mta: "mail.example.test".into(),
        from: "postmaster@example.test".into(),
        to: "ada@example.test".into(),
        unique: "abc123".into(),
        date: 1_772_529_300,
        arrival: Some(1_772_529_000),
        envelope_id: Some("JOB:7 [/PRMD=Demo/ADMD= /C=XX/;HOST-26030309".into()),
        recipients: vec![RecipientStatus {
            final_recipient: "nobody@example.test".into(),
            original_recipient: Some("rfc822;nobody@example.test".into()),
            action: Action::Failed,
            status: "5.1.1".into(),
            diagnostic: Some("smtp; 550 5.1.1 no such\r\nX-Injected: user".into()),
            remote_mta: None,
            explanation: "There is no such mail user here.".into(),
        }],
        returned,
        message,
    }
}

#[test]
fn a_report_has_three_parts() {
    let report = report(Returned::Message, MESSAGE);
    let bytes = build(&report);
    let parsed = parse(&bytes, &Limits::default());
    let types: Vec<_> =
        parsed.parts.iter().map(|p| format!("{}/{}", p.media_type, p.subtype)).collect();
    assert_eq!(
        types[..4],
        ["multipart/report", "text/plain", "message/delivery-status", "message/rfc822"]
    );
    assert_eq!(parsed.parts[0].param("report-type"), Some("delivery-status"));
    assert_eq!(parsed.parts[3].kind, Kind::Message);
    assert_eq!(parsed.defects, Defects::default());
    let inner = parsed.parts[3].envelope.as_ref().unwrap();
    assert_eq!(inner.message_id.as_deref(), Some(b"<lost@example.test>".as_slice()));
    let text = String::from_utf8(bytes).unwrap();
    for wanted in [
        "From: Mail Delivery System <postmaster@example.test>\r\n",
        "To: <ada@example.test>\r\n",
        "Auto-Submitted: auto-replied\r\n",
        "In-Reply-To: <lost@example.test>\r\n",
        "\r\nOriginal-Envelope-Id: JOB:7 [/PRMD=Demo/ADMD= /C=XX/;HOST-26030309\r\n",
        "\r\nReporting-MTA: dns; mail.example.test\r\n",
        "\r\nArrival-Date: Tue, 03 Mar 2026 09:10:00 +0000\r\n",
        "\r\nFinal-Recipient: rfc822; nobody@example.test\r\nAction: failed\r\nStatus: 5.1.1\r\n",
        "\r\nDiagnostic-Code: smtp; 550 5.1.1 no such  X-Injected: user\r\n",
        "the text\r\n",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(!text.contains("\nX-Injected"));
    assert!(!text.replace("\r\n", "").contains(['\r', '\n']));
}

#[test]
fn headers_alone_go_back_without_text() {
    let bytes = build(&report(Returned::Headers, MESSAGE));
    let parsed = parse(&bytes, &Limits::default());
    assert!(parsed.parts[3].is("text", "rfc822-headers"));
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("Subject: lost\r\n") && !text.contains("the text"));
}

#[test]
fn any_message_goes_back_whole() {
    for (name, message) in crate::corpus::all() {
        let bytes = build(&report(Returned::Message, &message));
        let parsed = parse(&bytes, &Limits { depth: 1_000, ..Limits::default() });
        assert_eq!(parsed.parts[0].children.len(), 3, "{name}");
        let part = &parsed.parts[parsed.parts[0].children[2] as usize];
        assert!(bytes[part.body.start as usize..].starts_with(&message), "{name}");
        // The line end before the delimiter is the report's own, or the message's last.
        let length = (part.body.end - part.body.start) as usize;
        assert!(length.abs_diff(message.len()) <= 2, "{name}");
    }
}

#[test]
fn delays_and_deliveries_say_so() {
    for (action, word) in [(Action::Delayed, "Delayed"), (Action::Delivered, "Delivered")] {
        let mut report = report(Returned::Headers, MESSAGE);
        report.recipients[0].action = action;
        let text = String::from_utf8(build(&report)).unwrap();
        assert!(text.contains(&format!("Subject: {word} mail")), "{text}");
    }
}
