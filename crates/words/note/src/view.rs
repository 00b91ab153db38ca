//! Reading single items of an encoded note without decoding the rest.

use crate::bytes::Cursor;
use crate::decode::{self, Head, RawItem};
use crate::encode::kind;
use crate::{DecodeError, ItemFlags, ItemValue, NoteClass, OriginatorId, Piece, Unid};

/// An encoded note, of which only what is asked for is decoded.
#[derive(Debug, Clone)]
pub struct NoteView<'a> {
    head: Head,
    count: usize,
    items: Cursor<'a>,
}

/// One item of a [`NoteView`].
#[derive(Debug, Clone, Copy)]
pub struct ItemView<'a> {
    raw: RawItem<'a>,
}

impl<'a> NoteView<'a> {
    /// Looks at the binary form of a note; walks over its items once without copying.
    ///
    /// # Errors
    /// [`DecodeError`] when the layout is broken. Values are checked when they are asked for.
    pub fn new(bytes: &'a [u8]) -> Result<NoteView<'a>, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let head = decode::head(&mut cursor)?;
        let count = decode::item_count(&mut cursor)?;
        let items = cursor.clone();
        for _ in 0..count {
            decode::item(&mut cursor)?;
        }
        decode::finish(&cursor)?;
        Ok(NoteView { head, count, items })
    }

    /// Identity and revision.
    pub fn oid(&self) -> OriginatorId {
        self.head.0
    }

    /// Kind of note.
    pub fn class(&self) -> NoteClass {
        self.head.1
    }

    /// The note this one responds to.
    pub fn parent(&self) -> Option<Unid> {
        self.head.2
    }

    /// All items in order.
    pub fn items(&self) -> impl Iterator<Item = ItemView<'a>> + use<'a> {
        let mut cursor = self.items.clone();
        (0..self.count)
            .map_while(move |_| decode::item(&mut cursor).ok())
            .map(|raw| ItemView { raw })
    }

    /// The item of this name (case-insensitive), if any.
    pub fn item(&self, name: &str) -> Option<ItemView<'a>> {
        self.items().find(|item| item.raw.name.eq_ignore_ascii_case(name))
    }

    /// The bytes of a binary item; `None` when there is none or it has another type.
    pub fn binary(&self, name: &str) -> Option<&'a [u8]> {
        self.item(name).filter(|item| item.raw.kind == kind::BINARY).map(|item| item.raw.value)
    }

    /// The text of a text item; `None` when there is none or it has another type.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let item = self.item(name).filter(|item| item.raw.kind == kind::TEXT)?;
        decode::text(item.raw.value).ok()
    }

    /// The number of a number item.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Ok(Some(ItemValue::Number(number))) => Some(number),
            _ => None,
        }
    }

    /// The pieces of an item; empty when there is none or it has another type.
    ///
    /// # Errors
    /// [`DecodeError`] when the value is broken.
    pub fn pieces(&self, name: &str) -> Result<Vec<Piece>, DecodeError> {
        match self.item(name) {
            Some(item) if item.raw.kind == kind::PIECES => decode::pieces(item.raw.value),
            _ => Ok(Vec::new()),
        }
    }

    /// The decoded value of an item.
    ///
    /// # Errors
    /// [`DecodeError`] when the value is broken.
    pub fn get(&self, name: &str) -> Result<Option<ItemValue>, DecodeError> {
        self.item(name).map(|item| item.value()).transpose()
    }
}

impl<'a> ItemView<'a> {
    /// Name as stored.
    pub fn name(&self) -> &'a str {
        self.raw.name
    }

    /// Properties.
    pub fn flags(&self) -> ItemFlags {
        self.raw.flags
    }

    /// Sequence of the note at which the item last changed.
    pub fn sequence(&self) -> u32 {
        self.raw.sequence
    }

    /// The decoded value.
    ///
    /// # Errors
    /// [`DecodeError`] when the value is broken.
    pub fn value(&self) -> Result<ItemValue, DecodeError> {
        decode::value(self.raw.kind, self.raw.value)
    }
}
