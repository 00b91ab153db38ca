//! What an extended result tells (RFC 4731 ESEARCH, RFC 5267 ESORT), and what is saved of it
//! (RFC 5182).

use crate::grammar::{Bad, Cursor, Parse};
use crate::selected::Ranges;
use crate::text;

/// What an extended result tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Returns {
    min: bool,
    max: bool,
    all: bool,
    count: bool,
    /// The result becomes `$`.
    pub save: bool,
}

impl Returns {
    /// Parses `RETURN (option …) SP` where it stands; `None` = the classic answer.
    pub(crate) fn parse(args: &mut Cursor<'_>) -> Parse<Option<Returns>> {
        if !args.eat_word("RETURN") {
            return Ok(None);
        }
        args.space()?;
        args.expect(b'(', "a list of results is missing")?;
        let mut returns = Returns::default();
        if args.eat(b')') {
            returns.all = true;
            args.space()?;
            return Ok(Some(returns));
        }
        loop {
            match args.name()?.to_ascii_uppercase().as_str() {
                "MIN" => returns.min = true,
                "MAX" => returns.max = true,
                "ALL" => returns.all = true,
                "COUNT" => returns.count = true,
                "SAVE" => returns.save = true,
                _ => return Err(Bad("an unknown result option")),
            }
            if args.eat(b')') {
                args.space()?;
                return Ok(Some(returns));
            }
            args.space()?;
        }
    }

    /// Whether nothing but saving is asked for: then nothing is answered.
    pub(crate) fn is_silent(self) -> bool {
        self.save && !(self.min || self.max || self.all || self.count)
    }

    /// Which of the found ones the answer speaks of, when it tells a modseq (RFC 4731 §3.2).
    pub(crate) fn told<'a>(&self, found: &'a [u32]) -> Vec<&'a [u32]> {
        if self.all || self.count || !(self.min || self.max) {
            return vec![found];
        }
        let (first, last) = (found.first(), found.last());
        let ends = [first.filter(|_| self.min), last.filter(|_| self.max)];
        ends.into_iter().flatten().map(std::slice::from_ref).collect()
    }

    /// What `$` stands for afterwards: everything, or the ends alone when only they were asked
    /// for (RFC 5182 §2.4). `uids` are ascending.
    pub(crate) fn saved(&self, uids: &[u32]) -> Ranges {
        Ranges::of(self.told(uids).into_iter().flatten().copied().collect::<Vec<_>>())
    }

    /// Appends the answer. `found` is in the order that was asked for.
    pub(crate) fn print(
        self,
        (tag, uid): (&str, bool),
        found: &[u32],
        modseq: Option<u64>,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(b"* ESEARCH (TAG ");
        text::quoted(tag.as_bytes(), out);
        out.push(b')');
        if uid {
            out.extend_from_slice(b" UID");
        }
        let mut number = |word: &[u8], value: Option<u64>| {
            if let Some(value) = value {
                out.extend_from_slice(word);
                text::number(value, out);
            }
        };
        number(b" MIN ", found.first().filter(|_| self.min).map(|n| u64::from(*n)));
        number(b" MAX ", found.last().filter(|_| self.max).map(|n| u64::from(*n)));
        number(b" COUNT ", Some(found.len() as u64).filter(|_| self.count));
        if self.all && !found.is_empty() {
            out.extend_from_slice(b" ALL ");
            text::set(found, out);
        }
        if let Some(modseq) = modseq {
            out.extend_from_slice(b" MODSEQ ");
            text::number(modseq, out);
        }
        out.extend_from_slice(b"\r\n");
    }
}
