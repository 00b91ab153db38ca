//! EHLO and HELO (RFC 5321 §4.1.1.1).

use crate::reply;
use crate::session::{Envelope, Session, Step};

/// Introduces the client; `extended` for EHLO.
pub fn run(session: &mut Session, arguments: &[u8], extended: bool) -> Step {
    // Clients write all kinds of names here: anything printable is accepted.
    let name = String::from_utf8_lossy(arguments.trim_ascii()).into_owned();
    if name.is_empty() || name.chars().any(char::is_control) {
        return reply::BAD_HELO.into();
    }
    session.helo = Some(name);
    session.extended = extended;
    session.envelope = Envelope::default();
    answer(session, extended);
    Step::Answered
}

fn answer(session: &mut Session, extended: bool) {
    let mut lines = vec![session.settings().host_name.clone()];
    if extended {
        lines.extend(capabilities(session));
    }
    let last = lines.len() - 1;
    for (index, line) in lines.iter().enumerate() {
        let separator = if index == last { ' ' } else { '-' };
        session.out.extend_from_slice(format!("250{separator}{line}\r\n").as_bytes());
    }
}

fn capabilities(session: &Session) -> Vec<String> {
    let size = format!("SIZE {}", session.message_bytes_max());
    let mut names = vec![size];
    names.extend(
        ["PIPELINING", "8BITMIME", "ENHANCEDSTATUSCODES", "DSN", "CHUNKING", "SMTPUTF8"]
            .map(String::from),
    );
    if session.door.parts.tls.is_some() && !session.wire.is_tls() {
        names.push(String::from("STARTTLS"));
    }
    if session.may_sign_in() && session.person.is_none() {
        names.push(String::from("AUTH PLAIN LOGIN"));
    }
    names
}
