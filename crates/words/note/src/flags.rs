//! Bit sets of notes and items.

use std::ops::{BitAnd, BitOr, Not};

/// What kind of note this is (one bit for most notes; bits combine in queries).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NoteClass(pub u16);

/// Properties of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ItemFlags(pub u16);

impl NoteClass {
    /// A document: data of users, a message.
    pub const DOCUMENT: NoteClass = NoteClass(1);
    /// "About this database".
    pub const INFO: NoteClass = NoteClass(2);
    /// A form.
    pub const FORM: NoteClass = NoteClass(4);
    /// A view or folder.
    pub const VIEW: NoteClass = NoteClass(8);
    /// The icon and title of the database.
    pub const ICON: NoteClass = NoteClass(0x10);
    /// The design collection.
    pub const DESIGN: NoteClass = NoteClass(0x20);
    /// The access control list.
    pub const ACL: NoteClass = NoteClass(0x40);
    /// The help index.
    pub const HELP_INDEX: NoteClass = NoteClass(0x80);
    /// "Using this database".
    pub const HELP: NoteClass = NoteClass(0x100);
    /// An agent or another piece of design that selects notes.
    pub const FILTER: NoteClass = NoteClass(0x200);
    /// A shared field.
    pub const FIELD: NoteClass = NoteClass(0x400);
    /// A replication formula.
    pub const REPL_FORMULA: NoteClass = NoteClass(0x800);
    /// Private design.
    pub const PRIVATE: NoteClass = NoteClass(0x1000);
}

impl ItemFlags {
    /// Nothing special.
    pub const NONE: ItemFlags = ItemFlags(0);
    /// Signed when the note is signed.
    pub const SIGN: ItemFlags = ItemFlags(1);
    /// Encrypted when the note is sealed.
    pub const SEAL: ItemFlags = ItemFlags(2);
    /// Available to views.
    pub const SUMMARY: ItemFlags = ItemFlags(4);
    /// Names who may edit the note.
    pub const READ_WRITERS: ItemFlags = ItemFlags(0x20);
    /// Holds names of people or groups.
    pub const NAMES: ItemFlags = ItemFlags(0x40);
    /// A placeholder without a value of its own.
    pub const PLACEHOLDER: ItemFlags = ItemFlags(0x100);
    /// Only editors of the whole note may change it.
    pub const PROTECTED: ItemFlags = ItemFlags(0x200);
    /// Names who may read the note.
    pub const READERS: ItemFlags = ItemFlags(0x400);
}

macro_rules! bit_set {
    ($name:ident) => {
        impl $name {
            /// Whether all bits of `other` are set here.
            pub fn contains(self, other: $name) -> bool {
                self.0 & other.0 == other.0
            }
            /// Whether any bit of `other` is set here.
            pub fn intersects(self, other: $name) -> bool {
                self.0 & other.0 != 0
            }
        }
        impl BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name {
                $name(self.0 | other.0)
            }
        }
        impl BitAnd for $name {
            type Output = $name;
            fn bitand(self, other: $name) -> $name {
                $name(self.0 & other.0)
            }
        }
        impl Not for $name {
            type Output = $name;
            fn not(self) -> $name {
                $name(!self.0)
            }
        }
    };
}

bit_set!(NoteClass);
bit_set!(ItemFlags);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_combine() {
        let both = ItemFlags::SUMMARY | ItemFlags::NAMES;
        assert!(both.contains(ItemFlags::NAMES));
        assert!(!both.contains(ItemFlags::NAMES | ItemFlags::SIGN));
        assert!(both.intersects(ItemFlags::NAMES | ItemFlags::SIGN));
        assert_eq!(both & !ItemFlags::NAMES, ItemFlags::SUMMARY);
    }
}
