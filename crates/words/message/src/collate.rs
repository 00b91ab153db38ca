//! The order of texts for people: i;unicode-casemap (RFC 5051).

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// The key by which texts are compared octet by octet under i;unicode-casemap: each character in
/// its simple titlecase form, decomposed for compatibility.
pub fn casemap(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return casemap_ascii(text);
    }
    text.chars().flat_map(|c| std::iter::once(titlecase(c)).nfkd()).collect::<String>().into()
}

/// The same for a text in ASCII (i;ascii-casemap gives the same there).
pub fn casemap_ascii(text: &str) -> Cow<'_, str> {
    match text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        true => text.to_ascii_uppercase().into(),
        false => text.into(),
    }
}

/// The simple titlecase mapping: one character to one.
fn titlecase(c: char) -> char {
    match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        // Georgian has capitals, which are no title case.
        '\u{10d0}'..='\u{10ff}' | '\u{1c90}'..='\u{1cbf}' => c,
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
            char::from_u32(u32::from(c) + 8).unwrap_or(c)
        }
        '\u{1fb3}' => '\u{1fbc}',
        '\u{1fc3}' => '\u{1fcc}',
        '\u{1ff3}' => '\u{1ffc}',
        _ => simple_uppercase(c),
    }
}

/// The upper case when it is one character, as the simple mapping has it.
fn simple_uppercase(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_titlecased_and_decomposed() {
        let cases = [
            ("", ""),
            ("Re_[a]", "RE_[A]"),
            ("gr\u{fc}\u{df}e", "GRU\u{308}\u{df}E"),
            ("\u{e9}", "E\u{301}"),
            ("\u{1c6}", "Dz\u{30c}"),
            ("\u{1f80}", "\u{391}\u{313}\u{345}"),
            ("\u{fb01}", "fi"),
            ("\u{ff21}", "A"),
            ("\u{10d0}", "\u{10d0}"),
            ("\u{433}", "\u{413}"),
        ];
        for (text, wanted) in cases {
            assert_eq!(casemap(text), wanted, "{text}");
        }
    }
}
