//! The catalog's format, pinned by `fixtures/catalog-2.sql`; `fixtures/catalog-1.sql` is brought up
//! to date.

use std::path::Path;
use std::sync::Arc;

use note::{Dbiid, ObjectHash, TimeDate};
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;
use txlog::Lsn;

use crate::catalog::{Catalog, Row, Totals};
use crate::record::{BlockAddress, Entry};
use crate::segments::Load;
use crate::tail::Tail;
use crate::{ObjectsError, TicketDelta};

const FIXTURE: &str = include_str!("../../fixtures/catalog-2.sql");
const FIRST: &str = include_str!("../../fixtures/catalog-1.sql");

fn entry() -> Entry {
    let block = |offset, raw_bytes, stored_bytes| BlockAddress {
        lsn: Lsn::new(0x2A, offset),
        raw_bytes,
        stored_bytes,
    };
    Entry {
        hash: ObjectHash([0xAB; 32]),
        length: 65_636,
        end_lsn: Lsn::new(0x2A, 0xB000),
        blocks: Box::new([block(0x1000, 65_536, 30_000), block(0xA000, 100, 59)]),
    }
}

fn tail() -> Tail {
    let mut tail = Tail::default();
    tail.insert(Arc::new(entry()));
    let empty = Entry {
        hash: ObjectHash([0x01; 32]),
        length: 0,
        end_lsn: Lsn::new(0x2A, 0xC000),
        blocks: Box::default(),
    };
    tail.insert(Arc::new(empty));
    tail.count(Dbiid(7), &[TicketDelta { hash: entry().hash, count: 2 }]);
    tail.count(Dbiid(0x1122_3344_5566_7788), &[TicketDelta { hash: entry().hash, count: 1 }]);
    tail.count(Dbiid(7), &[TicketDelta { hash: ObjectHash([0xFE; 32]), count: 1 }]);
    tail
}

fn print(value: Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Integer(number) => number.to_string(),
        Value::Blob(bytes) => {
            format!("X'{}'", bytes.iter().map(|b| format!("{b:02X}")).collect::<String>())
        }
        other => format!("{other:?}"),
    }
}

/// Schema and rows as SQL.
fn dump(path: &Path) -> String {
    let db = Connection::open(path).unwrap();
    let mut out = String::new();
    let mut tables = Vec::new();
    let mut select = db.prepare("SELECT name, sql, type FROM sqlite_master ORDER BY name").unwrap();
    let mut rows = select.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        if row.get::<_, String>(2).unwrap() == "table" {
            tables.push(row.get::<_, String>(0).unwrap());
        }
        let sql: String = row.get(1).unwrap();
        let words: Vec<_> = sql.split_whitespace().collect();
        out.push_str(&format!("{};\n", words.join(" ")));
    }
    for table in tables {
        let mut select = db.prepare(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap();
        let columns = select.column_count();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<_> = (0..columns).map(|at| print(row.get(at).unwrap())).collect();
            out.push_str(&format!("INSERT INTO {table} VALUES ({});\n", values.join(", ")));
        }
    }
    out
}

#[test]
fn what_is_written_is_pinned() {
    let dir = TempDir::new().unwrap();
    let catalog = Catalog::open(dir.path(), 0).unwrap().catalog;
    let at = (Lsn::new(0x2A, 0xD000), TimeDate(1_800_000_000_000_000));
    catalog.write(&tail(), at, Totals::default()).unwrap();
    drop(catalog);
    assert_eq!(dump(&dir.path().join("catalog.db")), FIXTURE);
}

fn make(fixture: &str, format: u32) -> TempDir {
    let dir = TempDir::new().unwrap();
    let db = Connection::open(dir.path().join("catalog.db")).unwrap();
    let settings = format!("PRAGMA application_id = 0x4E4C4F42; PRAGMA user_version = {format};");
    db.execute_batch(&settings).unwrap();
    db.execute_batch(fixture).unwrap();
    dir
}

#[test]
fn what_is_pinned_is_read() {
    for (fixture, format) in [(FIRST, 1), (FIXTURE, 2)] {
        let dir = make(fixture, format);
        let opened = Catalog::open(dir.path(), 5).unwrap();
        assert_eq!((opened.checkpointed, opened.recount_due), (Lsn::new(0x2A, 0xD000), false));
        let totals = opened.totals;
        assert_eq!((totals.objects, totals.references, totals.unreferenced), (2, 4, 1));
        assert_eq!((totals.logical_bytes, totals.stored_bytes), (65_636, 30_059));
        assert_eq!(opened.loads.0[&0x2A], Load { blocks: 4, bytes: 30_059 });
        let rows: Vec<Row> =
            opened.catalog.rows(None, 10).unwrap().into_iter().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0].idle_since, Some(TimeDate(1_800_000_000_000_000)));
        assert_eq!(rows[1].entry.as_deref(), Some(&entry()));
        let counts: Vec<_> = rows[1].counts.iter().collect();
        assert_eq!(counts, [(Dbiid(7), 2), (Dbiid(0x1122_3344_5566_7788), 1)]);
        assert_eq!((&rows[2].entry, rows[2].counts.total()), (&None, 1));
    }
}

#[test]
fn a_newer_format_is_refused() {
    let dir = TempDir::new().unwrap();
    let db = Connection::open(dir.path().join("catalog.db")).unwrap();
    db.execute_batch("PRAGMA user_version = 3").unwrap();
    drop(db);
    let error = Catalog::open(dir.path(), 0).err().unwrap();
    assert!(matches!(error, ObjectsError::CatalogFormat { found: 3, known: 2 }), "{error}");
}
