//! Results of a write, as they stand in a change record (`docs/formats/change-record.md`).

use note::{TimeDate, Unid};

use crate::bytes::{BytesError, Cursor, put_bytes, put_varint};
use crate::prepared::NoteBlob;
use crate::{FolderId, NoteId, Quota};

/// A note by local and universal id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoteRef {
    pub id: NoteId,
    pub unid: Unid,
}

/// A folder by local and universal id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FolderRef {
    pub id: FolderId,
    pub unid: Unid,
}

/// What a note becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PutNote<'a> {
    pub id: NoteId,
    /// Whether no note of this UNID was there before.
    pub created: bool,
    /// Index of the note among the blobs of the record.
    pub index: usize,
    pub blob: NoteBlob<'a>,
}

/// A new folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewFolder<'a> {
    pub folder: FolderRef,
    pub name: &'a str,
    pub uidvalidity: u32,
    pub special_use: Option<&'a str>,
}

/// A new entry of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewEntry<'a> {
    pub folder: FolderRef,
    pub note: NoteRef,
    pub uid: u32,
    /// Flags with the note's read mark.
    pub flags: u16,
    /// Keywords separated by single spaces.
    pub keywords: &'a str,
}

/// One result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op<'a> {
    PutNote(PutNote<'a>),
    DeleteNote { note: NoteRef, stub: bool, time: TimeDate },
    SetDeleted { note: NoteRef, deleted: Option<TimeDate> },
    SetSeen { note: NoteRef, seen: bool },
    CreateFolder(NewFolder<'a>),
    RenameFolder { folder: FolderRef, name: &'a str },
    DeleteFolder { folder: FolderRef },
    Subscribe { folder: FolderRef, subscribed: bool },
    AddEntry(NewEntry<'a>),
    SetFlags { folder: FolderRef, uid: u32, flags: u16, keywords: &'a str },
    RemoveEntry { folder: FolderRef, uid: u32, note: NoteId, seen: bool },
    SetTitle { title: &'a str },
    SetQuota(Quota),
}

mod code {
    pub const PUT_NOTE: u8 = 1;
    pub const DELETE_NOTE: u8 = 2;
    pub const SET_DELETED: u8 = 3;
    pub const SET_SEEN: u8 = 4;
    pub const CREATE_FOLDER: u8 = 5;
    pub const RENAME_FOLDER: u8 = 6;
    pub const DELETE_FOLDER: u8 = 7;
    pub const SUBSCRIBE: u8 = 8;
    pub const ADD_ENTRY: u8 = 9;
    pub const SET_FLAGS: u8 = 10;
    pub const REMOVE_ENTRY: u8 = 11;
    pub const SET_TITLE: u8 = 12;
    pub const SET_QUOTA: u8 = 13;
}

fn put_note_ref(out: &mut Vec<u8>, code: u8, note: NoteRef) {
    out.push(code);
    put_varint(out, note.id.0 as u64);
    out.extend_from_slice(&note.unid.0);
}

fn put_folder_ref(out: &mut Vec<u8>, code: u8, folder: FolderRef) {
    out.push(code);
    put_varint(out, folder.id.0 as u64);
    out.extend_from_slice(&folder.unid.0);
}

fn put_time(out: &mut Vec<u8>, time: TimeDate) {
    out.extend_from_slice(&time.0.to_le_bytes());
}

impl<'a> Op<'a> {
    /// Appends the result to a section.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Op::PutNote(put) => {
                out.push(code::PUT_NOTE);
                put_varint(out, put.id.0 as u64);
                out.push(u8::from(put.created));
                put_varint(out, put.index as u64);
            }
            Op::DeleteNote { note, stub, time } => {
                put_note_ref(out, code::DELETE_NOTE, note);
                out.push(u8::from(stub));
                put_time(out, time);
            }
            Op::SetDeleted { note, deleted } => {
                put_note_ref(out, code::SET_DELETED, note);
                out.push(u8::from(deleted.is_some()));
                if let Some(time) = deleted {
                    put_time(out, time);
                }
            }
            Op::SetSeen { note, seen } => {
                put_note_ref(out, code::SET_SEEN, note);
                out.push(u8::from(seen));
            }
            Op::SetTitle { title } => {
                out.push(code::SET_TITLE);
                put_bytes(out, title.as_bytes());
            }
            Op::SetQuota(quota) => {
                out.push(code::SET_QUOTA);
                put_varint(out, quota.limit_bytes);
                put_varint(out, quota.warn_bytes);
            }
            _ => self.encode_of_folder(out),
        }
    }

    fn encode_of_folder(&self, out: &mut Vec<u8>) {
        match *self {
            Op::CreateFolder(new) => {
                put_folder_ref(out, code::CREATE_FOLDER, new.folder);
                put_bytes(out, new.name.as_bytes());
                put_varint(out, u64::from(new.uidvalidity));
                put_bytes(out, new.special_use.unwrap_or_default().as_bytes());
            }
            Op::RenameFolder { folder, name } => {
                put_folder_ref(out, code::RENAME_FOLDER, folder);
                put_bytes(out, name.as_bytes());
            }
            Op::DeleteFolder { folder } => put_folder_ref(out, code::DELETE_FOLDER, folder),
            Op::Subscribe { folder, subscribed } => {
                put_folder_ref(out, code::SUBSCRIBE, folder);
                out.push(u8::from(subscribed));
            }
            Op::AddEntry(new) => {
                put_folder_ref(out, code::ADD_ENTRY, new.folder);
                put_varint(out, new.note.id.0 as u64);
                out.extend_from_slice(&new.note.unid.0);
                put_varint(out, u64::from(new.uid));
                put_varint(out, u64::from(new.flags));
                put_bytes(out, new.keywords.as_bytes());
            }
            Op::SetFlags { folder, uid, flags, keywords } => {
                put_folder_ref(out, code::SET_FLAGS, folder);
                put_varint(out, u64::from(uid));
                put_varint(out, u64::from(flags));
                put_bytes(out, keywords.as_bytes());
            }
            Op::RemoveEntry { folder, uid, note, seen } => {
                put_folder_ref(out, code::REMOVE_ENTRY, folder);
                put_varint(out, u64::from(uid));
                put_varint(out, note.0 as u64);
                out.push(u8::from(seen));
            }
            _ => {}
        }
    }

    /// Reads one result; notes are found among the `blobs` of the record.
    pub fn decode(cursor: &mut Cursor<'a>, blobs: &[&'a [u8]]) -> Result<Op<'a>, BytesError> {
        Ok(match cursor.byte()? {
            code::PUT_NOTE => {
                let id = note_id(cursor)?;
                let created = cursor.flag()?;
                let index: usize = cursor.small("blob index")?;
                let blob = blobs.get(index).ok_or(BytesError::Range("blob index"))?;
                Op::PutNote(PutNote { id, created, index, blob: NoteBlob::decode(blob)? })
            }
            code::DELETE_NOTE => {
                let note = note_ref(cursor)?;
                Op::DeleteNote { note, stub: cursor.flag()?, time: cursor.time()? }
            }
            code::SET_DELETED => {
                let note = note_ref(cursor)?;
                let deleted = if cursor.flag()? { Some(cursor.time()?) } else { None };
                Op::SetDeleted { note, deleted }
            }
            code::SET_SEEN => Op::SetSeen { note: note_ref(cursor)?, seen: cursor.flag()? },
            code::SET_TITLE => Op::SetTitle { title: cursor.text()? },
            code::SET_QUOTA => {
                Op::SetQuota(Quota { limit_bytes: cursor.varint()?, warn_bytes: cursor.varint()? })
            }
            other => return Op::decode_of_folder(other, cursor),
        })
    }

    fn decode_of_folder(code: u8, cursor: &mut Cursor<'a>) -> Result<Op<'a>, BytesError> {
        let folder = FolderRef { id: FolderId(id(cursor)?), unid: cursor.unid()? };
        Ok(match code {
            code::CREATE_FOLDER => Op::CreateFolder(NewFolder {
                folder,
                name: cursor.text()?,
                uidvalidity: cursor.small("uid validity")?,
                special_use: Some(cursor.text()?).filter(|text| !text.is_empty()),
            }),
            code::RENAME_FOLDER => Op::RenameFolder { folder, name: cursor.text()? },
            code::DELETE_FOLDER => Op::DeleteFolder { folder },
            code::SUBSCRIBE => Op::Subscribe { folder, subscribed: cursor.flag()? },
            code::ADD_ENTRY => Op::AddEntry(NewEntry {
                folder,
                note: note_ref(cursor)?,
                uid: cursor.small("uid")?,
                flags: cursor.small("flags")?,
                keywords: cursor.text()?,
            }),
            code::SET_FLAGS => Op::SetFlags {
                folder,
                uid: cursor.small("uid")?,
                flags: cursor.small("flags")?,
                keywords: cursor.text()?,
            },
            code::REMOVE_ENTRY => Op::RemoveEntry {
                folder,
                uid: cursor.small("uid")?,
                note: note_id(cursor)?,
                seen: cursor.flag()?,
            },
            _ => return Err(BytesError::Range("kind of result")),
        })
    }
}

fn id(cursor: &mut Cursor<'_>) -> Result<i64, BytesError> {
    cursor.small("local id")
}

fn note_id(cursor: &mut Cursor<'_>) -> Result<NoteId, BytesError> {
    id(cursor).map(NoteId)
}

fn note_ref(cursor: &mut Cursor<'_>) -> Result<NoteRef, BytesError> {
    Ok(NoteRef { id: note_id(cursor)?, unid: cursor.unid()? })
}
