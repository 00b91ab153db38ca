//! A message of the demo as bytes (RFC 5322, RFC 2045).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use note::TimeDate;

use super::people;
use super::script::{Age, Script, file};

/// Characters of a line of base64 (RFC 2045 section 6.8).
const BASE64_LINE: usize = 76;
/// Characters of a line of quoted-printable without its soft break.
const QUOTED_LINE: usize = 72;
const DAY_S: i64 = 86_400;

/// What all messages of one demo share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    /// Internet domain of the people.
    pub domain: &'a str,
    /// When the demo is made.
    pub now: TimeDate,
}

impl Setting<'_> {
    /// When a message was sent; never later than now.
    pub(super) fn sent(&self, age: Age) -> TimeDate {
        let now = self.now.unix_seconds();
        let seconds = match age {
            Age::Before(seconds) => now - seconds,
            Age::Day(days, clock) => (now - now.rem_euclid(DAY_S) - days * DAY_S + clock).min(now),
        };
        TimeDate::from_unix_seconds(seconds)
    }

    /// The address a name stands for.
    pub(super) fn address(&self, name: &str) -> String {
        if name.contains('@') { name.to_owned() } else { format!("{name}@{}", self.domain) }
    }

    /// An address with the name of its owner in front.
    fn addressee(&self, name: &str) -> String {
        let address = self.address(name);
        let full = people::person(name).map(|person| person.full);
        let full = full.or_else(|| people::group(name).map(|group| group.name));
        full.map_or_else(|| address.clone(), |full| format!("{} <{address}>", phrase(full)))
    }

    fn message_id(&self, script: &Script, id: &str) -> String {
        let domain = script.from.split_once('@').map_or(self.domain, |(_, domain)| domain);
        let sent = self.sent(script.age).unix_seconds();
        format!("<{id}.{sent}@{domain}>")
    }
}

/// The message; `thread` holds the messages it answers, the first one of the thread in front.
pub(super) fn compose(setting: &Setting<'_>, script: &Script, thread: &[&Script]) -> Vec<u8> {
    let mut head = String::new();
    trace(setting, script, &mut head);
    let from = match script.from_name {
        "" => setting.addressee(script.from),
        name => format!("{} <{}>", phrase(name), script.from),
    };
    field(&mut head, "From", &from);
    addressees(setting, &mut head, "To", &script.to);
    addressees(setting, &mut head, "Cc", &script.cc);
    field(&mut head, "Subject", &words(script.subject));
    let sent = setting.sent(script.age).unix_seconds();
    field(&mut head, "Date", &message::print_date(sent));
    field(&mut head, "Message-ID", &setting.message_id(script, script.id));
    let ids: Vec<String> = thread.iter().map(|one| setting.message_id(one, one.id)).collect();
    if let Some(last) = ids.last() {
        field(&mut head, "In-Reply-To", last);
        field(&mut head, "References", &ids.join("\r\n "));
    }
    if let Some(list) = script.list {
        field(&mut head, "List-Id", &format!("<{list}>"));
        field(&mut head, "Precedence", "list");
    }
    head.push_str("MIME-Version: 1.0\r\n");
    let body = content(setting, script);
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// The trace header of a message that came from outside (RFC 5321 section 4.4).
fn trace(setting: &Setting<'_>, script: &Script, head: &mut String) {
    let Some((_, domain)) = script.from.split_once('@') else { return };
    field(head, "Return-Path", &format!("<{}>", script.from));
    let sent = setting.sent(script.age).unix_seconds();
    let date = message::print_date(sent + 2);
    let by = setting.domain;
    let id = script.id;
    let host = format!("mail.{domain} (mail.{domain} [192.0.2.25])");
    let line = format!("from {host}\r\n by mail.{by} with ESMTPS id {id};\r\n {date}");
    field(head, "Received", &line);
}

fn addressees(setting: &Setting<'_>, head: &mut String, name: &str, list: &[&str]) {
    if !list.is_empty() {
        let texts: Vec<String> = list.iter().map(|name| setting.addressee(name)).collect();
        field(head, name, &texts.join(",\r\n "));
    }
}

fn field(head: &mut String, name: &str, value: &str) {
    head.push_str(name);
    head.push_str(": ");
    head.push_str(value);
    head.push_str("\r\n");
}

/// Text as it stands in a header, folded between encoded words (RFC 2047).
fn words(text: &str) -> String {
    let encoded = message::encode_words(text.as_bytes());
    String::from_utf8_lossy(&encoded).replace("?= =?", "?=\r\n =?")
}

/// A name as a phrase (RFC 5322 section 3.2.5).
fn phrase(name: &str) -> String {
    if !name.is_ascii() {
        return words(name);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || " '-".contains(c);
    if name.chars().all(plain) { name.to_owned() } else { format!("\"{name}\"") }
}

/// Everything from Content-Type on.
fn content(setting: &Setting<'_>, script: &Script) -> String {
    let mut body = text_part("text/plain", script.body);
    if script.html {
        let html = text_part("text/html", &html(script));
        body = multipart("alternative", &format!("{}-alt", script.id), &[body, html]);
    }
    if let Some(name) = script.invite {
        let calendar = calendar(setting, script, name);
        let part = text_part("text/calendar; method=REQUEST", &calendar);
        let both = multipart("alternative", &format!("{}-alt", script.id), &[body, part]);
        let attached = attachment(name, "application/ics", crlf(&calendar).as_bytes());
        return multipart("mixed", &format!("{}-mix", script.id), &[both, attached]);
    }
    if script.attach.is_empty() {
        return body;
    }
    let mut parts = vec![body];
    for name in &script.attach {
        if let Some((bytes, kind)) = file(name) {
            parts.push(attachment(name, kind, bytes));
        }
    }
    multipart("mixed", &format!("{}-mix", script.id), &parts)
}

fn multipart(kind: &str, boundary: &str, parts: &[String]) -> String {
    let mut out = format!("Content-Type: multipart/{kind};\r\n boundary=\"=-{boundary}\"\r\n\r\n");
    for part in parts {
        out.push_str(&format!("--=-{boundary}\r\n{part}\r\n"));
    }
    out.push_str(&format!("--=-{boundary}--\r\n"));
    out
}

fn attachment(name: &str, kind: &str, bytes: &[u8]) -> String {
    format!(
        "Content-Type: {kind}; name=\"{name}\"\r\n\
         Content-Disposition: attachment; filename=\"{name}\"\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n{}",
        base64_lines(bytes)
    )
}

/// A text part in the encoding that fits its letters.
fn text_part(kind: &str, text: &str) -> String {
    let text = crlf(text);
    let foreign = text.chars().filter(|c| !c.is_ascii()).count();
    let (encoding, body) = if foreign == 0 {
        ("7bit", text)
    } else if foreign * 4 < text.chars().count() {
        ("quoted-printable", quoted(&text))
    } else {
        ("base64", base64_lines(text.as_bytes()))
    };
    format!(
        "Content-Type: {kind}; charset=utf-8\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n{body}"
    )
}

fn crlf(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.lines() {
        out.push_str(line);
        out.push_str("\r\n");
    }
    out
}

fn base64_lines(bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    let mut out = String::with_capacity(encoded.len() + encoded.len() / BASE64_LINE * 2 + 2);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, later) = rest.split_at(rest.len().min(BASE64_LINE));
        out.push_str(line);
        out.push_str("\r\n");
        rest = later;
    }
    out
}

/// Quoted-printable (RFC 2045 section 6.7).
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for line in text.split_terminator("\r\n") {
        let mut length = 0;
        for byte in line.trim_end().bytes() {
            let plain = (b' '..=b'~').contains(&byte) && byte != b'=';
            let width = if plain { 1 } else { 3 };
            if length + width > QUOTED_LINE {
                out.push_str("=\r\n");
                length = 0;
            }
            length += width;
            if plain {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("={byte:02X}"));
            }
        }
        out.push_str("\r\n");
    }
    out
}

/// The text as a page: a heading, and one element for each paragraph.
fn html(script: &Script) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut out = String::from(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head>\n\
         <body style=\"font-family: sans-serif; color: #233\">\n",
    );
    out.push_str(&format!("<h2 style=\"color: #275\">{}</h2>\n", escape(script.subject)));
    for paragraph in script.body.split("\n\n") {
        let lines = escape(paragraph.trim()).replace('\n', "<br>\n");
        out.push_str(&format!("<p>{lines}</p>\n"));
    }
    out.push_str("</body></html>\n");
    out
}

/// The invitation, for a day after the demo is made (RFC 5545).
fn calendar(setting: &Setting<'_>, script: &Script, name: &str) -> String {
    let template = file(name).map_or(&b""[..], |(bytes, _)| bytes);
    let midnight = setting.now.unix_seconds() - setting.now.unix_seconds().rem_euclid(DAY_S);
    let start = midnight + 3 * DAY_S + 10 * 3600;
    String::from_utf8_lossy(template)
        .replace("{domain}", setting.domain)
        .replace("{stamp}", &basic(setting.sent(script.age).unix_seconds()))
        .replace("{start}", &basic(start))
        .replace("{end}", &basic(start + 3600))
}

/// A point in time in the basic form of ISO 8601, `20261130T101500Z`.
fn basic(unix_seconds: i64) -> String {
    let extended = TimeDate::from_unix_seconds(unix_seconds).to_string();
    let whole = extended.split('.').next().unwrap_or_default();
    let mut out: String = whole.chars().filter(|c| !"-:".contains(*c)).collect();
    out.push('Z');
    out
}
