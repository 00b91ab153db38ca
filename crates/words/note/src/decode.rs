//! The binary form of a note (`docs/formats/note.md`), reading side. The bytes are not trusted.

use crate::bytes::{BytesError, Cursor};
use crate::encode::{FORMAT, kind, piece};
use crate::{
    Eol, Item, ItemFlags, ItemValue, Note, NoteClass, OriginatorId, Piece, Recipe, Ticket,
    TimeDate, Unid,
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
        let (oid, class, parent) = head(&mut cursor)?;
        let count = item_count(&mut cursor)?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            let raw = item(&mut cursor)?;
            items.push(Item {
                name: raw.name.to_owned(),
                flags: raw.flags,
                sequence: raw.sequence,
                value: value(raw.kind, raw.value)?,
            });
        }
        finish(&cursor)?;
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

impl From<BytesError> for DecodeError {
    fn from(error: BytesError) -> DecodeError {
        match error {
            BytesError::Short => DecodeError::Short,
            BytesError::Range(what) => DecodeError::Range(what),
            BytesError::Text => DecodeError::Text,
            BytesError::Format(format) => DecodeError::Format(format),
        }
    }
}

/// Nothing may be left.
pub(crate) fn finish(cursor: &Cursor<'_>) -> Result<(), DecodeError> {
    match cursor.rest().len() {
        0 => Ok(()),
        more => Err(DecodeError::Trailing(more)),
    }
}

/// What stands in front of the items.
pub(crate) fn head(cursor: &mut Cursor<'_>) -> Result<Head, DecodeError> {
    match cursor.byte()? {
        FORMAT => {}
        other => return Err(DecodeError::Format(other)),
    }
    let class = NoteClass(u16::from_le_bytes(cursor.array()?));
    let (unid, sequence, sequence_time) = (cursor.unid()?, cursor.u32()?, cursor.time()?);
    let parent = match cursor.byte()? {
        0 => None,
        1 => Some(cursor.unid()?),
        _ => return Err(DecodeError::Range("parent mark")),
    };
    Ok((OriginatorId { unid, sequence, sequence_time }, class, parent))
}

/// How many items follow.
pub(crate) fn item_count(cursor: &mut Cursor<'_>) -> Result<usize, DecodeError> {
    // An item takes 6 bytes or more: name length, flags, sequence, type, value length.
    let count = cursor.count(6)?;
    if count > ITEMS_MAX {
        return Err(DecodeError::Range("number of items"));
    }
    Ok(count)
}

/// The next item.
pub(crate) fn item<'a>(cursor: &mut Cursor<'a>) -> Result<RawItem<'a>, DecodeError> {
    let name = cursor.text()?;
    if name.len() > NAME_BYTES_MAX {
        return Err(DecodeError::Range("length of an item name"));
    }
    let flags = ItemFlags(u16::from_le_bytes(cursor.array()?));
    let sequence = cursor.small("item sequence")?;
    let kind = cursor.byte()?;
    Ok(RawItem { name, flags, sequence, kind, value: cursor.bytes()? })
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
    finish(&cursor)?;
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
    finish(&cursor)?;
    Ok(texts)
}

pub(crate) fn pieces(bytes: &[u8]) -> Result<Vec<Piece>, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let count = cursor.count(2)?;
    let mut pieces = Vec::new();
    for _ in 0..count {
        pieces.push(one_piece(&mut cursor)?);
    }
    finish(&cursor)?;
    Ok(pieces)
}

fn one_piece(cursor: &mut Cursor<'_>) -> Result<Piece, DecodeError> {
    let tag = cursor.byte()?;
    if tag == piece::INLINE {
        return Ok(Piece::Inline(cursor.bytes()?.to_vec()));
    }
    let ticket = Ticket { hash: cursor.hash()?, length: cursor.varint()? };
    let recipe = match tag {
        piece::RAW => Recipe::Raw,
        piece::BASE64 => base64_recipe(cursor)?,
        _ => return Err(DecodeError::Range("piece tag")),
    };
    Ok(Piece::Object { ticket, recipe })
}

fn base64_recipe(cursor: &mut Cursor<'_>) -> Result<Recipe, DecodeError> {
    let line_chars = cursor.small("line length")?;
    let flags = cursor.byte()?;
    if flags & !(piece::FLAG_LF | piece::FLAG_FINAL_EOL) != 0 {
        return Err(DecodeError::Range("recipe flags"));
    }
    let eol = if flags & piece::FLAG_LF == 0 { Eol::Crlf } else { Eol::Lf };
    Ok(Recipe::Base64 { line_chars, eol, final_eol: flags & piece::FLAG_FINAL_EOL != 0 })
}

#[cfg(test)]
mod tests;
