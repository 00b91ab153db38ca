//! Modified UTF-7 (RFC 3501 §5.1.3), in its one canonical form.

use base64::Engine;
use base64::alphabet::IMAP_MUTF7;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

const BASE64: GeneralPurpose = GeneralPurpose::new(&IMAP_MUTF7, NO_PAD);

fn stands_for_itself(c: char) -> bool {
    (' '..='~').contains(&c)
}

/// The canonical encoding of a name.
pub(super) fn encode(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if first == '&' {
            out.push_str("&-");
            rest = &rest[1..];
        } else if stands_for_itself(first) {
            out.push(first);
            rest = &rest[1..];
        } else {
            let end = rest.find(stands_for_itself).unwrap_or(rest.len());
            let (run, later) = rest.split_at(end);
            let units: Vec<u8> = run.encode_utf16().flat_map(u16::to_be_bytes).collect();
            out.push('&');
            BASE64.encode_string(units, &mut out);
            out.push('-');
            rest = later;
        }
    }
    out
}

/// The name that `raw` spells; `None` unless `raw` is the canonical encoding of it.
pub(super) fn decode(raw: &[u8]) -> Option<String> {
    let raw = std::str::from_utf8(raw).ok()?;
    if !raw.chars().all(stands_for_itself) {
        return None;
    }
    let mut name = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        name.push_str(&rest[..at]);
        let (run, later) = rest[at + 1..].split_once('-')?;
        name.push_str(&decode_run(run)?);
        rest = later;
    }
    name.push_str(rest);
    // Only one spelling is canonical, and this is how to tell.
    (encode(&name) == raw).then_some(name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_names_go_both_ways() {
        let cases = [
            ("INBOX", "INBOX"),
            ("R&D", "R&-D"),
            ("Entw\u{fc}rfe", "Entw&APw-rfe"),
            ("\u{1f4ec}", "&2D3c7A-"),
            ("Caf\u{e9} & Th\u{e9}", "Caf&AOk- &- Th&AOk-"),
            ("Caf\u{e9}&Th\u{e9}", "Caf&AOk-&-Th&AOk-"),
            ("\u{53f0}\u{5317}", "&U,BTFw-"),
            ("a-b", "a-b"),
        ];
        for (name, raw) in cases {
            assert_eq!(encode(name), raw);
            assert_eq!(decode(raw.as_bytes()).as_deref(), Some(name));
        }
    }

    #[test]
    fn every_other_spelling_is_refused() {
        let cases: &[&[u8]] = &[
            b"Caf&AOkAJgBU-h",
            b"&",
            b"&AOk",
            b"&AGEA-",
            b"&AGE-",
            b"&ACY-",
            b"&AOk-&AOk-",
            b"&2D0-",
            b"&AOl-",
            b"a\xc3\xa9",
            b"a\x01",
            b"&A-",
            b"&AOk=-",
            b"&AO k-",
        ];
        for raw in cases {
            assert_eq!(decode(raw), None, "{}", String::from_utf8_lossy(raw));
        }
    }
}
