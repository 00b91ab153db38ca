//! The part of BER that LDAP needs (RFC 4511 section 5.1): definite lengths, short tags.

use crate::wire::Error;

/// An element: its tag and what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element<'a> {
    pub tag: u8,
    pub octets: &'a [u8],
}

impl<'a> Element<'a> {
    /// The one element that these octets are.
    pub(super) fn parse(octets: &'a [u8]) -> Result<Self, Error> {
        let (element, rest) = split(octets)?;
        if rest.is_empty() { Ok(element) } else { Err(wrong("data after the end", rest)) }
    }

    /// The elements in it.
    pub(super) fn inner(&self) -> impl Iterator<Item = Result<Self, Error>> + use<'a> {
        let mut rest = self.octets;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (result, after) = match split(rest) {
                Ok((element, after)) => (Ok(element), after),
                Err(error) => (Err(error), &[][..]),
            };
            rest = after;
            Some(result)
        })
    }

    /// As a number that is not negative.
    pub(super) fn integer(&self) -> Result<u64, Error> {
        let octets = self.octets;
        if octets.is_empty() || octets.len() > 8 || octets[0] & 0x80 != 0 {
            return Err(wrong("no number", octets));
        }
        Ok(octets.iter().fold(0, |sum, octet| sum << 8 | u64::from(*octet)))
    }
}

fn wrong(what: &'static str, octets: &[u8]) -> Error {
    Error::protocol(what, octets)
}

/// The first element and what follows it.
fn split(octets: &[u8]) -> Result<(Element<'_>, &[u8]), Error> {
    let [tag, first, rest @ ..] = octets else { return Err(wrong("a short element", octets)) };
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 if rest.len() >= usize::from(first & 0x7f) => {
            let (length, rest) = rest.split_at(usize::from(first & 0x7f));
            (length.iter().fold(0, |sum, octet| sum << 8 | usize::from(*octet)), rest)
        }
        _ => return Err(wrong("no length", octets)),
    };
    if tag & 0x1f == 0x1f || rest.len() < length {
        return Err(wrong("an element without end", octets));
    }
    let (octets, rest) = rest.split_at(length);
    Ok((Element { tag: *tag, octets }, rest))
}

/// Writes elements.
#[derive(Debug, Default)]
pub(super) struct Writer {
    octets: Vec<u8>,
}

impl Writer {
    pub(super) fn octets(&mut self, tag: u8, octets: &[u8]) {
        self.octets.push(tag);
        let length = octets.len() as u32;
        match length {
            0..0x80 => self.octets.push(length as u8),
            0x80..0x1_0000 => {
                self.octets.push(0x82);
                self.octets.extend_from_slice(&length.to_be_bytes()[2..]);
            }
            _ => {
                self.octets.push(0x84);
                self.octets.extend_from_slice(&length.to_be_bytes());
            }
        }
        self.octets.extend_from_slice(octets);
    }

    pub(super) fn integer(&mut self, tag: u8, number: u32) {
        let octets = u64::from(number).to_be_bytes();
        let zeros = octets.iter().take(7).take_while(|octet| **octet == 0).count();
        let first = if octets[zeros] & 0x80 != 0 { zeros - 1 } else { zeros };
        self.octets(tag, &octets[first..]);
    }

    pub(super) fn element(&mut self, tag: u8, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.octets(tag, &inner.octets);
    }

    pub(super) fn append(&mut self, other: Self) {
        self.octets.extend(other.octets);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.octets
    }
}
