//! LIST patterns: `*` matches anything, `%` anything but the delimiter (RFC 3501 §6.3.8).

use super::{DELIMITER, utf7};

/// A pattern, compared with names in their wire form, so that one which is not valid modified
/// UTF-7 is simply a pattern that matches nothing.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    raw: Vec<u8>,
}

impl Pattern {
    /// The pattern that `reference` and `pattern` make together.
    pub(crate) fn new(reference: &[u8], pattern: &[u8]) -> Pattern {
        let mut raw = Vec::with_capacity(reference.len() + pattern.len());
        raw.extend_from_slice(reference);
        raw.extend_from_slice(pattern);
        // Runs of wildcards mean the same as one; so matching never takes exponential time.
        raw.dedup_by(|next, kept| *kept == b'*' && (*next == b'*' || *next == b'%'));
        Pattern { raw }
    }

    /// Whether a name (UTF-8) matches. INBOX matches in any case.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let wire = utf7::encode(name);
        if name.eq_ignore_ascii_case("INBOX") {
            let upper = self.raw.to_ascii_uppercase();
            return wild(&upper, b"INBOX");
        }
        wild(&self.raw, wire.as_bytes())
    }
}

/// Greedy matching with one place to go back to for each kind of wildcard: O(pattern x name).
fn wild(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    let mut percent: Option<(usize, usize)> = None;
    loop {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                percent = None;
                p += 1;
                continue;
            }
            Some(b'%') => {
                percent = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(byte) if name.get(n) == Some(byte) => {
                p += 1;
                n += 1;
                continue;
            }
            None if n == name.len() => return true,
            _ => {}
        }
        if let Some((after, at)) =
            percent.filter(|(_, at)| name.get(*at).is_some_and(|byte| *byte != DELIMITER as u8))
        {
            percent = Some((after, at + 1));
            (p, n) = (after, at + 1);
        } else if let Some((after, at)) = star.filter(|(_, at)| *at < name.len()) {
            star = Some((after, at + 1));
            percent = None;
            (p, n) = (after, at + 1);
        } else {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        let cases = [
            ("*", "a/b/c", true),
            ("%", "a", true),
            ("%", "a/b", false),
            ("%/%", "a/b", true),
            ("a/%", "a/b/c", false),
            ("a/*", "a/b/c", true),
            ("*c", "a/b/c", true),
            ("%c", "a/b/c", false),
            ("*%", "a/b/c", true),
            ("*/%", "a/b/c", true),
            ("%b*d", "ab/cd", true),
            ("inbox", "INBOX", true),
            ("InB%", "INBOX", true),
            ("sent", "Sent", false),
            ("Caf*", "Caf\u{e9}", true),
            ("Caf&AOk-", "Caf\u{e9}", true),
            ("&%", "R&D", false),
            ("", "a", false),
            ("a", "a/b", false),
        ];
        for (pattern, name, wanted) in cases {
            let pattern_is = Pattern::new(b"", pattern.as_bytes());
            assert_eq!(pattern_is.matches(name), wanted, "{pattern} {name}");
        }
        assert!(Pattern::new(b"a/", b"%").matches("a/b"));
    }

    #[test]
    fn hostile_patterns_end() {
        let pattern = Pattern::new(b"", &b"%*a".repeat(2_000));
        assert!(!pattern.matches(&"a/".repeat(400)));
    }
}
