//! The binary form of a note (`docs/formats/note.md`), reading side. The bytes are not trusted.

use crate::encode::{FORMAT, kind, piece};
use crate::{
    Eol, Item, ItemFlags, ItemValue, Note, NoteClass, ObjectHash, OriginatorId, Piece, Recipe,
    Ticket, TimeDate, Unid,
};

/// Longest name of an item, in bytes.
pub const NAME_BYTES_MAX: usize = 1_024;

/// Most items a note may have.
pub const ITEMS_MAX: usize = 65_535;

/// Bytes that are not the binary form of a note.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside something.
    #[error("the note ends early")]
    Short,
    /// Bytes follow the end of the note or of a value.
    #[error("{0} bytes too many")]
    Trailing(usize),
    /// The format byte is of a later version or of something else.
    #[error("unknown note format {0}")]
    Format(u8),
    /// An item of an unknown type.
    #[error("unknown item type {0}")]
    ItemType(u8),
    /// A text that is not UTF-8.
    #[error("text is not UTF-8")]
    Text,
    /// A number outside its range, for example a length or a tag.
    #[error("{0} out of range")]
    Range(&'static str),
}

impl Note {
    /// The note whose binary form is `bytes`.
    ///
    /// # Errors
    /// [`DecodeError`] for anything that [`Note::encode`] does not write.
    pub fn decode(bytes: &[u8]) -> Result<Note, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let (oid, class, parent) = cursor.head()?;
        let count = cursor.item_count()?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            let raw = cursor.item()?;
            items.push(Item {
                name: raw.name.to_owned(),
                flags: raw.flags,
                sequence: raw.sequence,
                value: value(raw.kind, raw.value)?,
            });
        }
        cursor.finish()?;
        Ok(Note { oid, class, parent, items })
    }
}

/// An item whose value is not decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawItem<'a> {
    pub name: &'a str,
    pub flags: ItemFlags,
    pub sequence: u32,
    pub kind: u8,
    pub value: &'a [u8],
}

/// Identity, class and parent that stand in front of the items.
pub(crate) type Head = (OriginatorId, NoteClass, Option<Unid>);

/// Reads from the front of a slice.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(DecodeError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Short)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(DecodeError::Range("number"))
    }

    fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = usize::try_from(self.varint()?).map_err(|_| DecodeError::Short)?;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| DecodeError::Text)
    }

    /// A count of things that take at least `bytes_each` bytes of what is left.
    fn count(&mut self, bytes_each: usize) -> Result<usize, DecodeError> {
        let count = usize::try_from(self.varint()?).map_err(|_| DecodeError::Short)?;
        if count > self.rest.len() / bytes_each {
            return Err(DecodeError::Short);
        }
        Ok(count)
    }

    pub fn finish(&self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(DecodeError::Trailing(more)),
        }
    }

    pub fn head(&mut self) -> Result<Head, DecodeError> {
        match self.byte()? {
            FORMAT => {}
            other => return Err(DecodeError::Format(other)),
        }
        let class = NoteClass(u16::from_le_bytes(self.array()?));
        let unid = Unid(self.array()?);
        let sequence = u32::from_le_bytes(self.array()?);
        let sequence_time = TimeDate(i64::from_le_bytes(self.array()?));
        let parent = match self.byte()? {
            0 => None,
            1 => Some(Unid(self.array()?)),
            _ => return Err(DecodeError::Range("parent mark")),
        };
        Ok((OriginatorId { unid, sequence, sequence_time }, class, parent))
    }

    pub fn item_count(&mut self) -> Result<usize, DecodeError> {
        // An item takes 6 bytes or more: name length, flags, sequence, type, value length.
        let count = self.count(6)?;
        if count > ITEMS_MAX {
            return Err(DecodeError::Range("number of items"));
        }
        Ok(count)
    }

    pub fn item(&mut self) -> Result<RawItem<'a>, DecodeError> {
        let name = self.text()?;
        if name.len() > NAME_BYTES_MAX {
            return Err(DecodeError::Range("length of an item name"));
        }
        let flags = ItemFlags(u16::from_le_bytes(self.array()?));
        let sequence =
            u32::try_from(self.varint()?).map_err(|_| DecodeError::Range("item sequence"))?;
        let kind = self.byte()?;
        Ok(RawItem { name, flags, sequence, kind, value: self.bytes()? })
    }
}

/// The value of `bytes` under a type byte.
pub(crate) fn value(kind_byte: u8, bytes: &[u8]) -> Result<ItemValue, DecodeError> {
    Ok(match kind_byte {
        kind::TEXT => ItemValue::Text(text(bytes)?.to_owned()),
        kind::TEXT_LIST => ItemValue::TextList(text_list(bytes)?),
        kind::NUMBER => ItemValue::Number(f64::from_le_bytes(whole(bytes)?)),
        kind::NUMBER_LIST => ItemValue::NumberList(eights(bytes, f64::from_le_bytes)?),
        kind::TIME => ItemValue::Time(TimeDate(i64::from_le_bytes(whole(bytes)?))),
        kind::TIME_LIST => {
            ItemValue::TimeList(eights(bytes, |eight| TimeDate(i64::from_le_bytes(eight)))?)
        }
        kind::BINARY => ItemValue::Binary(bytes.to_vec()),
        kind::PIECES => ItemValue::Pieces(pieces(bytes)?),
        other => return Err(DecodeError::ItemType(other)),
    })
}

pub(crate) fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|_| DecodeError::Text)
}

fn whole<const N: usize>(bytes: &[u8]) -> Result<[u8; N], DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let array = cursor.array()?;
    cursor.finish()?;
    Ok(array)
}

fn eights<T>(bytes: &[u8], from: impl Fn([u8; 8]) -> T) -> Result<Vec<T>, DecodeError> {
    let (chunks, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(DecodeError::Short);
    }
    Ok(chunks.iter().map(|chunk| from(*chunk)).collect())
}

fn text_list(bytes: &[u8]) -> Result<Vec<String>, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let count = cursor.count(1)?;
    let mut texts = Vec::new();
    for _ in 0..count {
        texts.push(cursor.text()?.to_owned());
    }
    cursor.finish()?;
    Ok(texts)
}

pub(crate) fn pieces(bytes: &[u8]) -> Result<Vec<Piece>, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let count = cursor.count(2)?;
    let mut pieces = Vec::new();
    for _ in 0..count {
        pieces.push(one_piece(&mut cursor)?);
    }
    cursor.finish()?;
    Ok(pieces)
}

fn one_piece(cursor: &mut Cursor<'_>) -> Result<Piece, DecodeError> {
    let tag = cursor.byte()?;
    if tag == piece::INLINE {
        return Ok(Piece::Inline(cursor.bytes()?.to_vec()));
    }
    let ticket = Ticket { hash: ObjectHash(cursor.array()?), length: cursor.varint()? };
    let recipe = match tag {
        piece::RAW => Recipe::Raw,
        piece::BASE64 => base64_recipe(cursor)?,
        _ => return Err(DecodeError::Range("piece tag")),
    };
    Ok(Piece::Object { ticket, recipe })
}

fn base64_recipe(cursor: &mut Cursor<'_>) -> Result<Recipe, DecodeError> {
    let line_chars =
        u32::try_from(cursor.varint()?).map_err(|_| DecodeError::Range("line length"))?;
    let flags = cursor.byte()?;
    if flags & !(piece::FLAG_LF | piece::FLAG_FINAL_EOL) != 0 {
        return Err(DecodeError::Range("recipe flags"));
    }
    let eol = if flags & piece::FLAG_LF == 0 { Eol::Crlf } else { Eol::Lf };
    Ok(Recipe::Base64 { line_chars, eol, final_eol: flags & piece::FLAG_FINAL_EOL != 0 })
}

#[cfg(test)]
mod tests;
