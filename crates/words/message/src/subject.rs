//! The base subject (RFC 5256 §2.1): what a subject says without the marks of replies.

/// A subject without the marks of replies, forwards and lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseSubject {
    /// What is left.
    pub text: String,
    /// Marks of a reply or forward were removed.
    pub is_reply: bool,
}

/// The base subject of a decoded subject. Linear in its length.
pub fn base_subject(decoded: &str) -> BaseSubject {
    let text = one_space(decoded);
    let mut rest: &str = &text;
    let mut is_reply = false;
    loop {
        rest = without_trailers(rest, &mut is_reply);
        rest = without_leaders(rest, &mut is_reply);
        match forwarded(rest) {
            Some(inner) => {
                rest = inner;
                is_reply = true;
            }
            None => break,
        }
    }
    BaseSubject { text: rest.to_owned(), is_reply }
}

/// Runs of white space become one space.
fn one_space(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if matches!(c, '\t' | '\r' | '\n') { ' ' } else { c };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

/// `subj-trailer`: "(fwd)" and white space at the end.
fn without_trailers<'a>(mut text: &'a str, is_reply: &mut bool) -> &'a str {
    loop {
        let trimmed = text.trim_end_matches(' ');
        match strip_end(trimmed, "(fwd)") {
            Some(shorter) => {
                *is_reply = true;
                text = shorter;
            }
            None => return trimmed,
        }
    }
}

/// `subj-leader` and `subj-blob` at the start, as long as something is left.
fn without_leaders<'a>(mut text: &'a str, is_reply: &mut bool) -> &'a str {
    loop {
        text = text.trim_start_matches(' ');
        if let Some(shorter) = leader(text) {
            *is_reply = true;
            text = shorter;
            continue;
        }
        match blob(text) {
            Some(shorter) if !shorter.is_empty() => text = shorter,
            _ => return text,
        }
    }
}

/// What follows `subj-refwd`. Blobs in front of it were taken off one by one.
fn leader(text: &str) -> Option<&str> {
    let rest = strip_start(text, "re").or_else(|| {
        let short = strip_start(text, "fw")?;
        Some(strip_start(short, "d").unwrap_or(short))
    })?;
    let rest = rest.trim_start_matches(' ');
    blob(rest).unwrap_or(rest).strip_prefix(':')
}

/// What follows `subj-blob`.
fn blob(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('[')?;
    let end = inner.find(['[', ']'])?;
    inner[end..].strip_prefix(']').map(|rest| rest.trim_start_matches(' '))
}

/// What stands within "[fwd: … ]".
fn forwarded(text: &str) -> Option<&str> {
    strip_start(text, "[fwd:")?.strip_suffix(']')
}

fn strip_start<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

fn strip_end<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(word.len())?;
    text.get(at..)?.eq_ignore_ascii_case(word).then(|| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_removed() {
        let cases = [
            ("a", "a", false),
            ("", "", false),
            (" \t", "", false),
            ("Re: a", "a", true),
            ("[foo] Fwd: [bar] Re: fw: b (fWd)  (fwd)", "b", true),
            ("b (a)", "b (a)", false),
            ("Re: [FWD: c]", "c", true),
            ("[fwd: [fwd: d ]  ]", "d", true),
            ("[xyz]", "[xyz]", false),
            ("[list] hello  world", "hello world", false),
            ("[a][b] re [c] : x", "x", true),
            ("re", "re", false),
            ("Re:", "", true),
            ("Reply: x", "Reply: x", false),
            ("(fwd)", "", true),
            ("[fwd: x", "[fwd: x", false),
            ("Fw:\u{e9}", "\u{e9}", true),
            ("[\u{e9}] Re\u{e9}: x", "Re\u{e9}: x", false),
        ];
        for (subject, text, is_reply) in cases {
            let wanted = BaseSubject { text: text.to_owned(), is_reply };
            assert_eq!(base_subject(subject), wanted, "{subject}");
        }
    }

    #[test]
    fn hostile_subjects_take_linear_time() {
        for text in ["[", "[]", "re:", "[fwd:", "(fwd)", "[a] ", "re[", "] "] {
            base_subject(&text.repeat(400_000 / text.len()));
        }
    }
}
