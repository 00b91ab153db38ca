//! Which messages are journaled.

use std::fmt;
use std::str::FromStr;

/// Most addresses and domains of a choice.
const PATTERNS_MAX: usize = 100;

/// Which messages are journaled: all, or those from or to certain addresses. Letter case never
/// matters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalChoice {
    /// Without any: all messages.
    patterns: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    side: Side,
    /// An address, or a domain with `@` in front; in lower case.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    From,
    To,
    Either,
}

impl JournalChoice {
    /// Whether every message is meant.
    pub(crate) fn takes_all(&self) -> bool {
        self.patterns.is_empty()
    }

    pub(crate) fn takes_sender(&self, address: &str) -> bool {
        self.takes(address, Side::To)
    }

    pub(crate) fn takes_recipient(&self, address: &str) -> bool {
        self.takes(address, Side::From)
    }

    fn takes(&self, address: &str, other: Side) -> bool {
        let address = address.to_lowercase();
        let meant = |pattern: &&Pattern| pattern.side != other;
        self.patterns.iter().filter(meant).any(|pattern| pattern.is(&address))
    }
}

impl Pattern {
    fn is(&self, address: &str) -> bool {
        match self.text.starts_with('@') {
            true => address.ends_with(&self.text),
            false => address == self.text,
        }
    }
}

impl FromStr for JournalChoice {
    type Err = String;
    /// `all`, or addresses and domains (`@demo.test`) with commas between; `from` or `to` in front
    /// of one means mail from it or to it alone.
    fn from_str(text: &str) -> Result<JournalChoice, String> {
        let text = text.trim();
        if text.is_empty() || text.eq_ignore_ascii_case("all") {
            return Ok(JournalChoice::default());
        }
        let patterns: Vec<Pattern> = text.split(',').map(pattern).collect::<Result<_, _>>()?;
        match patterns.len() {
            0..=PATTERNS_MAX => Ok(JournalChoice { patterns }),
            count => Err(format!("{count} addresses are too many, {PATTERNS_MAX} are possible")),
        }
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    let mut words = text.split_whitespace();
    let (side, address) = match (words.next(), words.next(), words.next()) {
        (Some(address), None, None) => (Side::Either, address),
        (Some(word), Some(address), None) if word.eq_ignore_ascii_case("from") => {
            (Side::From, address)
        }
        (Some(word), Some(address), None) if word.eq_ignore_ascii_case("to") => (Side::To, address),
        _ => return Err(odd(text)),
    };
    match address.split_once('@') {
        Some((_, domain)) if !domain.is_empty() && !domain.contains('@') => {
            Ok(Pattern { side, text: address.to_lowercase() })
        }
        _ => Err(odd(text)),
    }
}

fn odd(text: &str) -> String {
    let text = text.trim();
    format!("{text:?} is not like ada@demo.test, @demo.test, from @demo.test or to @demo.test")
}

impl fmt::Display for JournalChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.patterns.is_empty() {
            return f.write_str("all");
        }
        for (at, Pattern { side, text }) in self.patterns.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let side = match side {
                Side::From => "from ",
                Side::To => "to ",
                Side::Either => "",
            };
            write!(f, "{comma}{side}{text}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_read_and_printed() {
        for (text, printed) in [
            ("", "all"),
            (" ALL ", "all"),
            ("Ada@Demo.Test", "ada@demo.test"),
            ("from @demo.test,TO  eve@demo.test", "from @demo.test, to eve@demo.test"),
        ] {
            let choice: JournalChoice = text.parse().unwrap();
            assert_eq!(choice.to_string(), printed);
            assert_eq!(printed.parse::<JournalChoice>().unwrap(), choice);
        }
        let many = vec!["a@b"; PATTERNS_MAX + 1].join(",");
        for bad in ["ada", "from", "from a", "a@", "a@b@c", ",", "all, a@b", "by a@b", &many] {
            assert!(bad.parse::<JournalChoice>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_choice_takes_what_it_names() {
        let cases = [
            ("ada@demo.test", true, true),
            ("from ada@demo.test", true, false),
            ("to ada@demo.test", false, true),
            ("to @demo.test", false, true),
            ("@mo.test", false, false),
            ("a@demo.test", false, false),
        ];
        for (text, sender, recipient) in cases {
            let choice: JournalChoice = text.parse().unwrap();
            let address = "Ada@Demo.Test";
            assert_eq!(choice.takes_sender(address), sender, "{text}");
            assert_eq!(choice.takes_recipient(address), recipient, "{text}");
        }
    }
}
