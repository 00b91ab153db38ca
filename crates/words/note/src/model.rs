//! Notes: a revision, a class and items.

use crate::{Item, ItemFlags, ItemValue, NoteClass, OriginatorId, Piece, Ticket, TimeDate, Unid};

/// A note: the unit of storage, replication and access.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// Identity and revision.
    pub oid: OriginatorId,
    /// Kind of note.
    pub class: NoteClass,
    /// The note this one responds to.
    pub parent: Option<Unid>,
    /// Items in the order they were put in.
    pub items: Vec<Item>,
}

impl Note {
    /// A new note without items, at sequence 1.
    pub fn new(unid: Unid, class: NoteClass, now: TimeDate) -> Note {
        let oid = OriginatorId { unid, sequence: 1, sequence_time: now };
        Note { oid, class, parent: None, items: Vec::new() }
    }

    /// The item of this name, if any.
    pub fn item(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.name.eq_ignore_ascii_case(name))
    }

    /// The value of the item of this name (case-insensitive), if any.
    pub fn get(&self, name: &str) -> Option<&ItemValue> {
        self.item(name).map(|item| &item.value)
    }

    /// The text of an item; the first one of a list.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            ItemValue::Text(text) => Some(text),
            ItemValue::TextList(texts) => texts.first().map(String::as_str),
            _ => None,
        }
    }

    /// All texts of an item; empty when there is none.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        match self.get(name) {
            Some(ItemValue::Text(text)) => vec![text],
            Some(ItemValue::TextList(texts)) => texts.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// The number of an item; the first one of a list.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            ItemValue::Number(number) => Some(*number),
            ItemValue::NumberList(numbers) => numbers.first().copied(),
            _ => None,
        }
    }

    /// The time of an item; the first one of a list.
    pub fn time(&self, name: &str) -> Option<TimeDate> {
        match self.get(name)? {
            ItemValue::Time(time) => Some(*time),
            ItemValue::TimeList(times) => times.first().copied(),
            _ => None,
        }
    }

    /// The bytes of a binary item.
    pub fn binary(&self, name: &str) -> Option<&[u8]> {
        match self.get(name)? {
            ItemValue::Binary(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Puts a value under a name; an existing item keeps its place and flags.
    pub fn set(&mut self, name: &str, value: impl Into<ItemValue>) {
        let flags = self.item(name).map_or(ItemFlags::NONE, |item| item.flags);
        self.set_with(name, value, flags);
    }

    /// Puts a value with flags under a name; the item is stamped with the note's sequence.
    pub fn set_with(&mut self, name: &str, value: impl Into<ItemValue>, flags: ItemFlags) {
        self.put(Item { name: name.to_owned(), flags, sequence: 0, value: value.into() });
    }

    /// Puts a whole item, replacing one of the same name; stamped with the note's sequence.
    pub fn put(&mut self, mut item: Item) {
        item.sequence = self.oid.sequence;
        match self.items.iter_mut().find(|old| old.name.eq_ignore_ascii_case(&item.name)) {
            Some(old) => *old = item,
            None => self.items.push(item),
        }
    }

    /// Removes the item of this name; tells whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.items.len();
        self.items.retain(|item| !item.name.eq_ignore_ascii_case(name));
        self.items.len() != before
    }

    /// Begins the next revision. Items set afterwards carry its sequence.
    pub fn touch(&mut self, now: TimeDate) {
        self.oid.sequence = self.oid.sequence.saturating_add(1);
        self.oid.sequence_time = now;
    }

    /// Tickets of all objects the items refer to, one per reference, in order.
    pub fn tickets(&self) -> Vec<Ticket> {
        let pieces = self.items.iter().filter_map(|item| match &item.value {
            ItemValue::Pieces(pieces) => Some(pieces),
            _ => None,
        });
        let tickets = pieces.flatten().filter_map(|piece| match piece {
            Piece::Object { ticket, .. } => Some(*ticket),
            Piece::Inline(_) => None,
        });
        tickets.collect()
    }
}

#[cfg(test)]
mod tests;
