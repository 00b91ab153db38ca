//! The register of databases: which there are, where they lie, how far they are checkpointed.
//!
//! It lives in memory and in the log: the whole of it heads each segment, life records tell what
//! came and went, checkpoint records raise positions.

use std::collections::BTreeMap;

use note::{Dbiid, ReplicaId, TimeDate};
use parking_lot::Mutex;
use txlog::Lsn;

use crate::bytes::{BytesError, Cursor, put_bytes, put_varint};

const FORMAT: u8 = 1;

/// What the register knows of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Path below the data directory.
    pub path: String,
    /// Title.
    pub title: String,
    /// Replica id.
    pub replica_id: ReplicaId,
    /// Whether notes that leave their last folder go to soft deletion.
    pub soft_delete: bool,
    /// When it was created.
    pub created: TimeDate,
    /// Behind the life record that created it; zero when its file came from elsewhere.
    pub created_lsn: Lsn,
    /// A file of this database must say at least this, or be replayed up to it.
    pub checkpointed_lsn: Lsn,
}

/// What a checkpoint record carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The whole register, at the head of a segment.
    Whole = 1,
    /// The databases of a checkpoint round.
    Round = 2,
}

/// What happened to a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Life {
    /// It was created; the positions in the row are the end of the record.
    Create(Row),
    /// It got another path.
    Rename(String),
    /// It was deleted.
    Delete,
    /// A file from elsewhere became this database; it cannot be made again.
    Adopt(Row),
}

/// The register in memory.
#[derive(Debug, Default)]
pub(crate) struct Register {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rows: BTreeMap<Dbiid, Row>,
    snapshots: u64,
}

impl Register {
    pub fn new(rows: BTreeMap<Dbiid, Row>) -> Register {
        Register { state: Mutex::new(State { rows, snapshots: 0 }) }
    }

    /// The payload of the checkpoint record that heads a segment.
    pub fn snapshot(&self) -> Vec<u8> {
        let mut state = self.state.lock();
        state.snapshots += 1;
        encode_rows(Extent::Whole, Lsn::ZERO, state.rows.iter())
    }

    /// How many snapshots were taken.
    pub fn snapshots(&self) -> u64 {
        self.state.lock().snapshots
    }

    pub fn get(&self, dbiid: Dbiid) -> Option<Row> {
        self.state.lock().rows.get(&dbiid).cloned()
    }

    pub fn insert(&self, dbiid: Dbiid, row: Row) {
        self.state.lock().rows.insert(dbiid, row);
    }

    pub fn remove(&self, dbiid: Dbiid) {
        self.state.lock().rows.remove(&dbiid);
    }

    /// Changes a row; tells the changed row.
    pub fn update(&self, dbiid: Dbiid, change: impl FnOnce(&mut Row)) -> Option<Row> {
        let mut state = self.state.lock();
        let row = state.rows.get_mut(&dbiid)?;
        change(row);
        Some(row.clone())
    }

    pub fn rows(&self) -> BTreeMap<Dbiid, Row> {
        self.state.lock().rows.clone()
    }
}

/// The payload of a checkpoint record. Each database's file holds all its changes before
/// `complete`.
pub(crate) fn encode_rows<'a>(
    extent: Extent,
    complete: Lsn,
    rows: impl ExactSizeIterator<Item = (&'a Dbiid, &'a Row)>,
) -> Vec<u8> {
    let mut out = vec![FORMAT, extent as u8];
    out.extend_from_slice(&complete.0.to_le_bytes());
    put_varint(&mut out, rows.len() as u64);
    for (dbiid, row) in rows {
        out.extend_from_slice(&dbiid.0.to_le_bytes());
        put_facts(&mut out, row);
        out.extend_from_slice(&row.created_lsn.0.to_le_bytes());
        out.extend_from_slice(&row.checkpointed_lsn.0.to_le_bytes());
    }
    out
}

/// Rows with their databases.
pub(crate) type Rows = Vec<(Dbiid, Row)>;

/// Reads the payload of a checkpoint record: extent, what is complete, rows.
pub(crate) fn decode_rows(payload: &[u8]) -> Result<(Extent, Lsn, Rows), BytesError> {
    let mut cursor = Cursor::new(payload);
    check_format(&mut cursor)?;
    let extent = match cursor.byte()? {
        1 => Extent::Whole,
        2 => Extent::Round,
        _ => return Err(BytesError::Range("extent of a checkpoint")),
    };
    let complete = Lsn(cursor.u64()?);
    let mut rows = Vec::new();
    for _ in 0..cursor.varint()? {
        let dbiid = Dbiid(cursor.u64()?);
        let mut row = facts(&mut cursor)?;
        row.created_lsn = Lsn(cursor.u64()?);
        row.checkpointed_lsn = Lsn(cursor.u64()?);
        rows.push((dbiid, row));
    }
    Ok((extent, complete, rows))
}

fn put_facts(out: &mut Vec<u8>, row: &Row) {
    put_bytes(out, row.path.as_bytes());
    put_bytes(out, row.title.as_bytes());
    out.extend_from_slice(&row.replica_id.0.to_le_bytes());
    out.push(u8::from(row.soft_delete));
    out.extend_from_slice(&row.created.0.to_le_bytes());
}

fn facts(cursor: &mut Cursor<'_>) -> Result<Row, BytesError> {
    Ok(Row {
        path: cursor.text()?.to_owned(),
        title: cursor.text()?.to_owned(),
        replica_id: ReplicaId(cursor.u64()?),
        soft_delete: cursor.flag()?,
        created: cursor.time()?,
        created_lsn: Lsn::ZERO,
        checkpointed_lsn: Lsn::ZERO,
    })
}

fn check_format(cursor: &mut Cursor<'_>) -> Result<(), BytesError> {
    match cursor.byte()? {
        FORMAT => Ok(()),
        other => Err(BytesError::Format(other)),
    }
}

impl Life {
    /// The payload of a life record.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        match self {
            Life::Create(row) => {
                out.push(1);
                put_facts(&mut out, row);
            }
            Life::Rename(path) => {
                out.push(2);
                put_bytes(&mut out, path.as_bytes());
            }
            Life::Delete => out.push(3),
            Life::Adopt(row) => {
                out.push(4);
                put_facts(&mut out, row);
                out.extend_from_slice(&row.checkpointed_lsn.0.to_le_bytes());
            }
        }
        out
    }

    /// Reads the payload of a life record whose end is `end`.
    pub fn decode(payload: &[u8], end: Lsn) -> Result<Life, BytesError> {
        let mut cursor = Cursor::new(payload);
        check_format(&mut cursor)?;
        Ok(match cursor.byte()? {
            1 => {
                let row = facts(&mut cursor)?;
                Life::Create(Row { created_lsn: end, checkpointed_lsn: end, ..row })
            }
            2 => Life::Rename(cursor.text()?.to_owned()),
            3 => Life::Delete,
            4 => {
                let row = facts(&mut cursor)?;
                Life::Adopt(Row { checkpointed_lsn: Lsn(cursor.u64()?), ..row })
            }
            _ => return Err(BytesError::Range("kind of a life record")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row {
            path: "mail/ada.nsf".to_owned(),
            title: "Ada".to_owned(),
            replica_id: ReplicaId(5),
            soft_delete: true,
            created: TimeDate(6),
            created_lsn: Lsn(7),
            checkpointed_lsn: Lsn(8),
        }
    }

    #[test]
    fn rows_come_back_and_cuts_are_refused() {
        let rows = BTreeMap::from([(Dbiid(1), row()), (Dbiid(2), row())]);
        let payload = encode_rows(Extent::Whole, Lsn(77), rows.iter());
        let (extent, complete, read) = decode_rows(&payload).unwrap();
        assert_eq!(complete, Lsn(77));
        assert_eq!(extent, Extent::Whole);
        assert_eq!(read.into_iter().collect::<BTreeMap<_, _>>(), rows);
        for length in 0..payload.len() {
            assert!(decode_rows(&payload[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn life_records_take_their_position_from_the_log() {
        let created = Life::decode(&Life::Create(row()).encode(), Lsn(99)).unwrap();
        let end = Lsn(99);
        assert_eq!(created, Life::Create(Row { created_lsn: end, checkpointed_lsn: end, ..row() }));
        let adopted = Life::decode(&Life::Adopt(row()).encode(), end).unwrap();
        assert_eq!(adopted, Life::Adopt(Row { created_lsn: Lsn::ZERO, ..row() }));
        for life in [Life::Rename("x.nsf".to_owned()), Life::Delete] {
            assert_eq!(Life::decode(&life.encode(), end).unwrap(), life);
        }
    }
}
