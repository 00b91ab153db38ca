//! Items: named, typed values of a note, and the pieces that long content is made of.

use crate::{ItemFlags, ObjectHash, TimeDate};

/// Names an object of the object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// Content address.
    pub hash: ObjectHash,
    /// Length of the stored content in bytes.
    pub length: u64,
}

/// Line end of encoded lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Eol {
    /// CR LF.
    Crlf,
    /// LF alone.
    Lf,
}

impl Eol {
    /// The bytes of the line end.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Eol::Crlf => b"\r\n",
            Eol::Lf => b"\n",
        }
    }
}

/// How the bytes on the wire are made of the stored content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recipe {
    /// They are the stored content.
    Raw,
    /// They are its base64 in lines of equal length.
    Base64 {
        /// Characters of a full line; 0 means everything is one line.
        line_chars: u32,
        /// What separates the lines.
        eol: Eol,
        /// Whether a line end follows the last line.
        final_eol: bool,
    },
}

impl Recipe {
    /// How many bytes `stored` bytes of content make on the wire (saturating).
    pub fn wire_len(self, stored: u64) -> u64 {
        let Recipe::Base64 { line_chars, eol, final_eol } = self else {
            return stored;
        };
        let chars = stored.div_ceil(3).saturating_mul(4);
        let lines = match u64::from(line_chars) {
            0 => u64::from(chars > 0),
            width => chars.div_ceil(width),
        };
        let eols = lines.saturating_sub(1) + u64::from(final_eol);
        chars.saturating_add(eols.saturating_mul(eol.bytes().len() as u64))
    }
}

/// A run of bytes of long content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Piece {
    /// The bytes themselves.
    Inline(Vec<u8>),
    /// The content of an object, put on the wire by a recipe.
    Object {
        /// Which object.
        ticket: Ticket,
        /// How its bytes are written on the wire.
        recipe: Recipe,
    },
}

impl Piece {
    /// Length of the bytes on the wire.
    pub fn wire_len(&self) -> u64 {
        match self {
            Piece::Inline(bytes) => bytes.len() as u64,
            Piece::Object { ticket, recipe } => recipe.wire_len(ticket.length),
        }
    }
}

/// The value of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemValue {
    /// One text.
    Text(String),
    /// Several texts.
    TextList(Vec<String>),
    /// One number.
    Number(f64),
    /// Several numbers.
    NumberList(Vec<f64>),
    /// One point in time.
    Time(TimeDate),
    /// Several points in time.
    TimeList(Vec<TimeDate>),
    /// Bytes without further meaning to the database.
    Binary(Vec<u8>),
    /// Long content, partly kept as objects.
    Pieces(Vec<Piece>),
}

impl From<&str> for ItemValue {
    fn from(text: &str) -> ItemValue {
        ItemValue::Text(text.to_owned())
    }
}

impl From<String> for ItemValue {
    fn from(text: String) -> ItemValue {
        ItemValue::Text(text)
    }
}

impl From<Vec<String>> for ItemValue {
    fn from(texts: Vec<String>) -> ItemValue {
        ItemValue::TextList(texts)
    }
}

impl From<f64> for ItemValue {
    fn from(number: f64) -> ItemValue {
        ItemValue::Number(number)
    }
}

impl From<TimeDate> for ItemValue {
    fn from(time: TimeDate) -> ItemValue {
        ItemValue::Time(time)
    }
}

/// A named value of a note.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Name; compared without regard to ASCII case.
    pub name: String,
    /// Properties.
    pub flags: ItemFlags,
    /// Sequence of the note at which this item last changed.
    pub sequence: u32,
    /// The value.
    pub value: ItemValue,
}

impl Item {
    /// An item with a value and flags; the sequence is stamped when it is put into a note.
    pub fn new(name: &str, value: impl Into<ItemValue>, flags: ItemFlags) -> Item {
        Item { name: name.to_owned(), flags, sequence: 0, value: value.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_lengths_on_the_wire() {
        let lines = |line_chars, eol, final_eol| Recipe::Base64 { line_chars, eol, final_eol };
        let cases = [
            (Recipe::Raw, 10, 10),
            (lines(0, Eol::Crlf, false), 0, 0),
            (lines(0, Eol::Crlf, true), 4, 10),
            (lines(76, Eol::Crlf, true), 57, 78),
            (lines(76, Eol::Crlf, false), 57, 76),
            (lines(76, Eol::Lf, true), 58, 76 + 1 + 4 + 1),
            (lines(4, Eol::Crlf, false), 7, 4 * 3 + 2 * 2),
        ];
        for (recipe, stored, wire) in cases {
            assert_eq!(recipe.wire_len(stored), wire, "{recipe:?} of {stored}");
        }
        assert_eq!(lines(1, Eol::Crlf, true).wire_len(u64::MAX), u64::MAX);
    }
}
