//! Modified UTF-7 (RFC 3501 §5.1.3), as folder names are written in Maildirs and over IMAP.

use base64::Engine;
use base64::alphabet::IMAP_MUTF7;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

const BASE64: GeneralPurpose = GeneralPurpose::new(&IMAP_MUTF7, NO_PAD);

/// The name that is written as `raw`. What is not modified UTF-7 stands for itself: some servers
/// and clients write UTF-8.
pub fn decode(raw: &str) -> String {
    let mut name = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        name.push_str(&rest[..at]);
        let run = &rest[at + 1..];
        // Looking no further than the run keeps the whole linear.
        let end = run.find(|c| !is_base64(c)).unwrap_or(run.len());
        let later = run[end..].strip_prefix('-');
        match later.and_then(|later| Some((decode_run(&run[..end])?, later))) {
            Some((text, later)) => {
                name.push_str(&text);
                rest = later;
            }
            None => {
                name.push('&');
                rest = run;
            }
        }
    }
    name.push_str(rest);
    name
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '+' || c == ','
}

fn decode_run(run: &str) -> Option<String> {
    if run.is_empty() {
        return Some(String::from("&"));
    }
    let bytes = BASE64.decode(run).ok()?;
    let (pairs, odd) = bytes.as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let units = pairs.iter().map(|pair| u16::from_be_bytes(*pair));
    char::decode_utf16(units).collect::<Result<String, _>>().ok()
}

/// Writes a name; characters in `special` are encoded although they could stand for themselves.
pub fn encode(name: &str, special: &[char]) -> String {
    let plain = |c: char| (' '..='~').contains(&c) && c != '&' && !special.contains(&c);
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if first == '&' {
            out.push_str("&-");
            rest = &rest[1..];
            continue;
        }
        let end = match plain(first) {
            true => rest.find(|c| !plain(c)).unwrap_or(rest.len()),
            false => rest.find(|c| plain(c) || c == '&').unwrap_or(rest.len()),
        };
        let (run, later) = rest.split_at(end);
        match plain(first) {
            true => out.push_str(run),
            false => {
                let units: Vec<u8> = run.encode_utf16().flat_map(u16::to_be_bytes).collect();
                out.push('&');
                BASE64.encode_string(units, &mut out);
                out.push('-');
            }
        }
        rest = later;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        let cases = [
            ("INBOX", "INBOX"),
            ("R&D", "R&-D"),
            ("Entw\u{fc}rfe", "Entw&APw-rfe"),
            ("\u{1f4ec}", "&2D3c7A-"),
            ("2026.03", "2026&AC4-03"),
        ];
        for (name, raw) in cases {
            assert_eq!(encode(name, &['.']), raw);
            assert_eq!(decode(raw), name);
        }
    }

    #[test]
    fn what_is_no_utf_7_stands_for_itself() {
        for raw in ["Entw\u{fc}rfe", "a & b", "&", "&!-", "R&D-2", "&A-"] {
            assert_eq!(decode(raw), raw);
        }
        let hostile = "&A".repeat(500_000);
        assert_eq!(decode(&hostile), hostile);
    }
}
