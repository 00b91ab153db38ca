//! Tokens of a response.

use std::collections::VecDeque;

use super::wire::Part;

/// Deepest nesting of lists.
const DEPTH_MAX: usize = 100;

/// A token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word: an atom, a number, a flag, `BODY[…]`.
    Word(String),
    /// A quoted string or a literal.
    Text(Vec<u8>),
    /// A literal that was too long.
    TooLong(u64),
    /// `(`
    Open,
    /// `)`
    Close,
}

/// The tokens of a response, taken one after the other.
#[derive(Debug, Default)]
pub(super) struct Tokens(VecDeque<Token>);

impl Tokens {
    /// Takes a response apart.
    pub(super) fn of(parts: Vec<Part>) -> Tokens {
        let mut tokens = VecDeque::new();
        let last = parts.len().saturating_sub(1);
        for (at, part) in parts.into_iter().enumerate() {
            match part {
                Part::Text(line) => text(&line, at < last, &mut tokens),
                Part::Literal(bytes) => tokens.push_back(Token::Text(bytes)),
                Part::TooLong(length) => tokens.push_back(Token::TooLong(length)),
            }
        }
        Tokens(tokens)
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        self.0.pop_front()
    }

    /// Takes a word.
    pub(super) fn word(&mut self) -> Option<String> {
        match self.0.front()? {
            Token::Word(_) => match self.next()? {
                Token::Word(word) => Some(word),
                _ => None,
            },
            _ => None,
        }
    }

    /// Takes a word that is a number.
    pub(super) fn number(&mut self) -> Option<u32> {
        self.word()?.parse().ok()
    }

    /// Takes a text or a word.
    pub(super) fn string(&mut self) -> Option<Vec<u8>> {
        match self.next()? {
            Token::Text(bytes) => Some(bytes),
            Token::Word(word) => Some(word.into_bytes()),
            _ => None,
        }
    }

    /// Takes an opening parenthesis.
    pub(super) fn open(&mut self) -> Option<()> {
        matches!(self.next()?, Token::Open).then_some(())
    }

    /// Takes a list of words, with its parentheses.
    pub(super) fn words(&mut self) -> Option<Vec<String>> {
        self.open()?;
        let mut words = Vec::new();
        loop {
            match self.next()? {
                Token::Word(word) => words.push(word),
                Token::Close => return Some(words),
                _ => return None,
            }
        }
    }

    /// Passes over a value of any kind.
    pub(super) fn skip(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.next()? {
                Token::Open => depth += 1,
                Token::Close => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return Some(());
            }
            if depth > DEPTH_MAX {
                return None;
            }
        }
    }
}

/// The tokens of a line; `announces`: a literal follows, so that the line ends with `{n}`.
fn text(line: &[u8], announces: bool, tokens: &mut VecDeque<Token>) {
    let end = match announces {
        true => line.iter().rposition(|byte| *byte == b'{').unwrap_or(line.len()),
        false => line.len(),
    };
    let mut rest = &line[..end];
    while let Some(first) = rest.first() {
        match first {
            b' ' => rest = &rest[1..],
            b'(' => {
                tokens.push_back(Token::Open);
                rest = &rest[1..];
            }
            b')' => {
                tokens.push_back(Token::Close);
                rest = &rest[1..];
            }
            b'"' => {
                let (quoted, later) = quoted(&rest[1..]);
                tokens.push_back(Token::Text(quoted));
                rest = later;
            }
            _ => {
                let (word, later) = rest.split_at(word_end(rest));
                tokens.push_back(Token::Word(String::from_utf8_lossy(word).into_owned()));
                rest = later;
            }
        }
    }
}

fn quoted(rest: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => return (out, &rest[at + 1..]),
            b'\\' => {
                out.extend(rest.get(at + 1));
                at += 2;
            }
            byte => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    (out, &[])
}

/// Where a word ends; what stands in brackets belongs to it.
fn word_end(rest: &[u8]) -> usize {
    let mut within = false;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'[' => within = true,
            b']' => within = false,
            b' ' | b'(' | b')' | b'"' if !within => return at.max(1),
            _ => {}
        }
    }
    rest.len()
}
