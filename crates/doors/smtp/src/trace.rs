//! The trace header lines that the door puts in front of a message (RFC 5321 §4.4).

use crate::session::Session;
use std::fmt::Write;
use std::ops::Range;

/// Return-Path and Received, ready to be followed by the message.
pub fn trace_header(session: &Session, sequence: u32) -> String {
    let envelope = &session.envelope;
    let mut text = router::return_path(&envelope.sender);
    let helo = printable(session.helo.as_deref().unwrap_or("unknown"));
    let peer = match session.wire.peer() {
        Some(peer) => format!("[{}]", peer.ip().to_canonical()),
        None => String::from("[local]"),
    };
    let protocol = protocol(session);
    let seconds = session.now().0.div_euclid(1_000_000);
    let id = format!("{:08X}.{}.{sequence}", seconds, session.seat.id());
    let host = &session.settings().host_name;
    // Writing to a String cannot fail.
    let _ = write!(text, "Received: from {helo} ({peer})\r\n\tby {host} with {protocol} id {id}");
    if let [only] = envelope.recipients.as_slice() {
        let _ = write!(text, "\r\n\tfor <{}>", only.address);
    }
    let _ = write!(text, "; {}\r\n", message::print_date(seconds));
    text
}

/// How the message came (RFC 3848; RFC 6531 §4.3).
fn protocol(session: &Session) -> &'static str {
    let (tls, signed_in) = (session.wire.is_tls(), session.person.is_some());
    match (session.extended, session.envelope.utf8, tls, signed_in) {
        (false, _, _, _) => "SMTP",
        (true, false, false, false) => "ESMTP",
        (true, false, true, false) => "ESMTPS",
        (true, false, false, true) => "ESMTPA",
        (true, false, true, true) => "ESMTPSA",
        (true, true, false, false) => "UTF8SMTP",
        (true, true, true, false) => "UTF8SMTPS",
        (true, true, false, true) => "UTF8SMTPA",
        (true, true, true, true) => "UTF8SMTPSA",
    }
}

/// The date and id that a submitted message lacks (RFC 6409 §8.2, §8.3).
pub fn missing_lines(session: &Session, message: &[u8]) -> String {
    let (mut has_date, mut has_id) = (false, false);
    for (name, _, _) in message::headers(message) {
        has_date |= name.eq_ignore_ascii_case(b"Date");
        has_id |= name.eq_ignore_ascii_case(b"Message-ID");
    }
    let mut text = String::new();
    if !has_date {
        let seconds = session.now().0.div_euclid(1_000_000);
        let _ = write!(text, "Date: {}\r\n", message::print_date(seconds));
    }
    if !has_id {
        let (unid, host) = (session.new_unid(), &session.settings().host_name);
        let _ = write!(text, "Message-ID: <{unid}@{host}>\r\n");
    }
    text
}

/// Where the header lines stand that name recipients whom nobody else is to know.
pub fn secret_lines(message: &[u8]) -> Vec<Range<usize>> {
    let secret =
        |name: &[u8]| name.eq_ignore_ascii_case(b"Bcc") || name.eq_ignore_ascii_case(b"Resent-Bcc");
    message::headers(message)
        .filter(|(name, _, _)| secret(name))
        .map(|(_, _, whole)| whole)
        .collect()
}

/// What a client may say of itself in a header line: no controls, no parentheses, bounded.
fn printable(text: &str) -> String {
    let keep = |character: &char| character.is_ascii_graphic() && !"()<>;\\\"".contains(*character);
    let kept: String = text.chars().filter(keep).take(255).collect();
    if kept.is_empty() { String::from("unknown") } else { kept }
}
