//! Notes made ready for storing: encoded, packed, checked and with their tickets, once.

use std::cell::RefCell;
use std::sync::Arc;

use note::{Note, NoteClass, ObjectHash, Ticket, TimeDate, Unid};

use crate::StoreError;
use crate::bytes::{BytesError, Cursor, put_varint};

/// Encoded notes up to this length are stored as they are.
const PACK_BYTES_MIN: usize = 512;
/// Longest encoded note.
const NOTE_BYTES_MAX: u64 = 1 << 30;
/// zstd level for notes.
const PACK_LEVEL: i32 = 1;

/// A note made ready for storing. Cloning is cheap; put into many databases, its bytes stand
/// once in the log record.
#[derive(Clone, Debug)]
pub struct PreparedNote(Arc<Prepared>);

#[derive(Debug)]
struct Prepared {
    blob: Vec<u8>,
    encoded_len: usize,
    unid: Unid,
    class: NoteClass,
    size: u64,
    date: TimeDate,
    tickets: Vec<Ticket>,
}

impl PreparedNote {
    /// Encodes and packs a note. `logical_size` in bytes and `date` are kept beside it for its
    /// owner; for a message they are its length and internal date.
    pub fn new(note: &Note, logical_size: u64, date: TimeDate) -> PreparedNote {
        let encoded = note.encode();
        let tickets = note.tickets();
        let packed = (encoded.len() > PACK_BYTES_MIN).then(|| pack(&encoded)).flatten();
        let (unpacked, body) = match &packed {
            Some(packed) => (encoded.len() as u64, packed.as_slice()),
            None => (0, encoded.as_slice()),
        };
        let mut hashes = Vec::with_capacity(tickets.len() * 32);
        tickets.iter().for_each(|ticket| hashes.extend_from_slice(&ticket.hash.0));
        let blob = NoteBlob {
            unid: note.oid.unid,
            class: note.class,
            sequence: note.oid.sequence,
            modified: note.oid.sequence_time,
            size: logical_size,
            date,
            unpacked,
            crc: crc32fast::hash(body),
            hashes: &hashes,
            body,
        };
        PreparedNote(Arc::new(Prepared {
            encoded_len: encoded.len(),
            unid: blob.unid,
            class: blob.class,
            size: logical_size,
            date,
            blob: blob.encode(),
            tickets,
        }))
    }

    /// Universal id.
    pub fn unid(&self) -> Unid {
        self.0.unid
    }

    /// Kind of note.
    pub fn class(&self) -> NoteClass {
        self.0.class
    }

    /// Logical size in bytes.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Date of the note for its owner.
    pub fn date(&self) -> TimeDate {
        self.0.date
    }

    /// Length of the encoded note before packing, in bytes.
    pub fn encoded_len(&self) -> usize {
        self.0.encoded_len
    }

    /// The encoded note, unpacked.
    ///
    /// # Errors
    /// [`StoreError::Aborted`] when it does not unpack, which a bug alone can bring about.
    pub fn encoded(&self) -> crate::Result<Vec<u8>> {
        let blob = NoteBlob::decode(self.blob()).map_err(|_| StoreError::Aborted)?;
        unpack(blob.body.to_vec(), blob.unpacked, blob.crc).map_err(|_| StoreError::Aborted)
    }

    /// Objects that the note refers to, one ticket per reference.
    pub fn tickets(&self) -> &[Ticket] {
        &self.0.tickets
    }

    /// As it stands in a change record.
    pub(crate) fn blob(&self) -> &[u8] {
        &self.0.blob
    }

    /// Whether this is the very same preparation.
    pub(crate) fn is_same(&self, other: &PreparedNote) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A note as it stands in a change record and, in columns, in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoteBlob<'a> {
    pub unid: Unid,
    pub class: NoteClass,
    pub sequence: u32,
    pub modified: TimeDate,
    pub size: u64,
    pub date: TimeDate,
    /// Length of the encoded note when `body` is its packed form, else 0.
    pub unpacked: u64,
    /// CRC-32 of `body`.
    pub crc: u32,
    /// 32 bytes for each reference to an object.
    pub hashes: &'a [u8],
    pub body: &'a [u8],
}

impl<'a> NoteBlob<'a> {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.hashes.len() + self.body.len());
        out.extend_from_slice(&self.unid.0);
        out.extend_from_slice(&self.class.0.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.modified.0.to_le_bytes());
        put_varint(&mut out, self.size);
        out.extend_from_slice(&self.date.0.to_le_bytes());
        put_varint(&mut out, self.unpacked);
        out.extend_from_slice(&self.crc.to_le_bytes());
        put_varint(&mut out, (self.hashes.len() / 32) as u64);
        out.extend_from_slice(self.hashes);
        out.extend_from_slice(self.body);
        out
    }

    pub fn decode(bytes: &'a [u8]) -> Result<NoteBlob<'a>, BytesError> {
        let mut cursor = Cursor::new(bytes);
        let unid = cursor.unid()?;
        let class = NoteClass(u16::from_le_bytes(cursor.array()?));
        let sequence = u32::from_le_bytes(cursor.array()?);
        let modified = cursor.time()?;
        let size = cursor.varint()?;
        let date = cursor.time()?;
        let unpacked = cursor.varint()?;
        let crc = u32::from_le_bytes(cursor.array()?);
        let count: usize = cursor.small("number of tickets")?;
        let hashes = cursor.take(count.checked_mul(32).ok_or(BytesError::Short)?)?;
        let body = cursor.rest();
        Ok(NoteBlob { unid, class, sequence, modified, size, date, unpacked, crc, hashes, body })
    }
}

/// The hashes in a run of 32-byte hashes.
pub(crate) fn hashes(bytes: &[u8]) -> impl Iterator<Item = ObjectHash> + '_ {
    bytes.as_chunks::<32>().0.iter().map(|hash| ObjectHash(*hash))
}

thread_local! {
    static PACKER: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<zstd::bulk::Decompressor<'static>>> =
        const { RefCell::new(None) };
}

/// The packed form, when it is shorter.
pub(crate) fn pack(encoded: &[u8]) -> Option<Vec<u8>> {
    PACKER.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = zstd::bulk::Compressor::new(PACK_LEVEL).ok();
        }
        let packed = slot.as_mut()?.compress(encoded).ok()?;
        (packed.len() < encoded.len()).then_some(packed)
    })
}

/// The encoded note of a stored body; `unpacked` 0 means it is stored as it is.
///
/// The error says in words what is wrong with the bytes.
pub(crate) fn unpack(body: Vec<u8>, unpacked: u64, crc: u32) -> Result<Vec<u8>, &'static str> {
    if unpacked == 0 && crc32fast::hash(&body) == crc {
        return Ok(body);
    }
    let mut room = Vec::new();
    unpack_into(&body, unpacked, crc, &mut room)?;
    Ok(room)
}

/// As [`unpack`], without copying what is not packed; `room` is used again for what is.
pub(crate) fn unpack_into<'a>(
    body: &'a [u8],
    unpacked: u64,
    crc: u32,
    room: &'a mut Vec<u8>,
) -> Result<&'a [u8], &'static str> {
    if crc32fast::hash(body) != crc {
        return Err("checksum of a note does not match");
    }
    if unpacked == 0 {
        return Ok(body);
    }
    if unpacked > NOTE_BYTES_MAX {
        return Err("length of a note out of range");
    }
    room.clear();
    let length = unpacked as usize;
    room.try_reserve_exact(length).map_err(|_| "length of a note out of memory")?;
    let read = UNPACKER.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = zstd::bulk::Decompressor::new().ok();
        }
        slot.as_mut()?.decompress_to_buffer(body, room).ok()
    });
    if read == Some(length) && room.len() == length {
        Ok(room)
    } else {
        Err("a note does not unpack")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> (Note, PreparedNote) {
        let mut note = Note::new(Unid([3; 16]), NoteClass::DOCUMENT, TimeDate(7));
        note.set("Body", text);
        let prepared = PreparedNote::new(&note, 99, TimeDate(8));
        (note, prepared)
    }

    #[test]
    fn short_notes_stay_and_long_ones_are_packed() {
        for (text, packed) in [("short".to_owned(), false), ("long ".repeat(1_000), true)] {
            let (note, prepared) = prepared(&text);
            let blob = NoteBlob::decode(prepared.blob()).unwrap();
            assert_eq!(blob.unpacked > 0, packed);
            assert_eq!((blob.size, blob.date, blob.modified), (99, TimeDate(8), TimeDate(7)));
            let encoded = unpack(blob.body.to_vec(), blob.unpacked, blob.crc).unwrap();
            assert_eq!(Note::decode(&encoded).unwrap(), note);
            assert_eq!(prepared.encoded().unwrap(), encoded);
        }
    }

    #[test]
    fn every_flipped_bit_of_a_body_is_found() {
        let (_, prepared) = prepared(&"long ".repeat(200));
        let blob = NoteBlob::decode(prepared.blob()).unwrap();
        for bit in 0..blob.body.len() * 8 {
            let mut body = blob.body.to_vec();
            body[bit / 8] ^= 1 << (bit % 8);
            assert!(unpack(body, blob.unpacked, blob.crc).is_err(), "bit {bit}");
        }
    }
}
