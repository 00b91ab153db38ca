//! Modified UTF-7 (RFC 3501 §5.1.3), in its one canonical form.

use message::utf7;

/// The canonical encoding of a name.
pub(super) fn encode(name: &str) -> String {
    utf7::encode(name, &[])
}

/// The name that `raw` spells; `None` unless `raw` is the canonical encoding of it.
pub(super) fn decode(raw: &[u8]) -> Option<String> {
    let raw = std::str::from_utf8(raw).ok()?;
    let name = utf7::decode(raw);
    // Only one spelling is canonical, and this is how to tell.
    (encode(&name) == raw).then_some(name)
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
