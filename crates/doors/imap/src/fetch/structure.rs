//! BODY and BODYSTRUCTURE (RFC 3501 §7.4.2).

use message::{Kind, Parsed, Part};

use super::envelope;
use crate::text;

/// Deepest structure that is shown; the parser's own limit lies below it.
const DEPTH_MAX: u32 = 250;

/// Appends the structure of a message; `extended`: with extension data (BODYSTRUCTURE).
pub(super) fn print(parsed: &Parsed, extended: bool, out: &mut Vec<u8>) {
    part(parsed, (0, 0), extended, out);
}

fn part(parsed: &Parsed, (at, depth): (u32, u32), extended: bool, out: &mut Vec<u8>) {
    let Some(part) = parsed.parts.get(at as usize).filter(|_| depth <= DEPTH_MAX) else {
        out.extend_from_slice(b"(\"TEXT\" \"PLAIN\" NIL NIL NIL \"7BIT\" 0 0)");
        return;
    };
    out.push(b'(');
    match part.kind {
        Kind::Multipart => {
            for child in &part.children {
                self::part(parsed, (*child, depth + 1), extended, out);
            }
            out.push(b' ');
            upper(&part.subtype, out);
            if extended {
                out.push(b' ');
                params(&part.params, out);
                tail(part, out);
            }
        }
        Kind::Message | Kind::Leaf => {
            basic(part, out);
            if is_message(part) {
                enclosed(parsed, (part, depth), extended, out);
            } else if part.media_type.eq_ignore_ascii_case("text") {
                out.push(b' ');
                text::number(part.lines.into(), out);
            }
            if extended {
                out.push(b' ');
                text::nstring(part.md5.as_deref(), out);
                tail(part, out);
            }
        }
    }
    out.push(b')');
}

/// `body-type-msg` is for message/rfc822 alone.
fn is_message(part: &Part) -> bool {
    part.kind == Kind::Message
        && part.media_type.eq_ignore_ascii_case("message")
        && part.subtype.eq_ignore_ascii_case("rfc822")
}

/// Type, subtype and `body-fields`.
fn basic(part: &Part, out: &mut Vec<u8>) {
    upper(&part.media_type, out);
    out.push(b' ');
    upper(&part.subtype, out);
    out.push(b' ');
    if part.params.is_empty() && part.is("text", "plain") {
        out.extend_from_slice(b"(\"CHARSET\" \"us-ascii\")");
    } else {
        params(&part.params, out);
    }
    out.push(b' ');
    envelope::words(part.content_id.as_deref(), out);
    out.push(b' ');
    envelope::words(part.description.as_deref(), out);
    out.push(b' ');
    upper(&part.encoding, out);
    out.push(b' ');
    text::number(part.body.end.saturating_sub(part.body.start), out);
}

/// Envelope, structure and lines of an enclosed message.
fn enclosed(parsed: &Parsed, (of, depth): (&Part, u32), extended: bool, out: &mut Vec<u8>) {
    out.push(b' ');
    let none = message::Envelope::default();
    envelope::print(of.envelope.as_deref().unwrap_or(&none), out);
    out.push(b' ');
    let child = of.children.first().copied().unwrap_or(u32::MAX);
    part(parsed, (child, depth + 1), extended, out);
    out.push(b' ');
    text::number(of.lines.into(), out);
}

/// The extension data from the disposition on.
fn tail(part: &Part, out: &mut Vec<u8>) {
    out.push(b' ');
    match &part.disposition {
        Some((kind, given)) => {
            out.push(b'(');
            text::string(kind.as_bytes(), out);
            out.push(b' ');
            params(given, out);
            out.push(b')');
        }
        None => out.extend_from_slice(b"NIL"),
    }
    out.push(b' ');
    match &part.languages[..] {
        [] => out.extend_from_slice(b"NIL"),
        [one] => text::string(one.as_bytes(), out),
        several => {
            let mut before = b'(';
            for language in several {
                out.push(before);
                text::string(language.as_bytes(), out);
                before = b' ';
            }
            out.push(b')');
        }
    }
    out.push(b' ');
    text::nstring(part.location.as_ref().map(String::as_bytes), out);
}

/// NIL or a list of at least one pair.
fn params(params: &[(String, String)], out: &mut Vec<u8>) {
    if params.is_empty() {
        out.extend_from_slice(b"NIL");
        return;
    }
    let mut before = b'(';
    for (name, value) in params {
        let (name, value) = message::encode_param(name, value);
        out.push(before);
        upper(&name, out);
        out.push(b' ');
        text::string(value.as_bytes(), out);
        before = b' ';
    }
    out.push(b')');
}

fn upper(word: &str, out: &mut Vec<u8>) {
    let start = out.len();
    text::string(word.as_bytes(), out);
    out[start..].make_ascii_uppercase();
}
