//! Reading the rows of a damaged database file page by page, without its tree.
//!
//! Every page that holds rows is looked at, whether or not a sound page refers to it; pages that
//! the file says are free are passed over. See "Database File Format" of SQLite, sections 1.5 to
//! 2.1. Nothing here trusts a byte: what does not fit is passed over.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Free pages by the page map of a file with automatic vacuum.
const MAP_FREE: u8 = 2;
/// Longest row, in bytes.
const ROW_BYTES_MAX: usize = 1 << 30;

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Number(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl Value {
    pub fn number(&self) -> Option<i64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn blob(&self) -> Option<&[u8]> {
        match self {
            Value::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// A row of a table with rowids, or of a table without (then there is no rowid).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub rowid: Option<i64>,
    pub values: Vec<Value>,
}

/// Where the pages of a database come from.
pub(crate) trait Source {
    /// Length in bytes.
    fn len(&self) -> u64;

    /// Fills `page` with the bytes at `offset`; false when they are not there.
    fn read(&self, offset: u64, page: &mut [u8]) -> bool;
}

/// Page sizes that database files have or had.
const PAGE_SIZES: [usize; 2] = [2_048, 4_096];
/// First bytes of pages that hold rows or lead to them.
const TREE_PAGES: [u8; 4] = [2, 5, 10, 13];
/// Places looked at to find out the size of the pages.
const PLACES_MAX: u64 = 4_096;

/// The page size of a file: what its header says, or what fits better when that is broken.
pub(crate) fn page_bytes_of(source: &impl Source) -> usize {
    let mut said = [0; 2];
    if source.read(16, &mut said) {
        let said = usize::from(u16::from_be_bytes(said));
        if PAGE_SIZES.contains(&said) {
            return said;
        }
    }
    let [small, large] = PAGE_SIZES;
    let places = (source.len() / large as u64).min(PLACES_MAX);
    let (mut trees, mut others) = (0, 0);
    for place in 0..places {
        // In the middle of a large page, where anything may stand, or where a small one begins.
        let mut start = [0; 8];
        if source.read(place * large as u64 + small as u64, &mut start) && start[0] != 0 {
            if begins_tree_page(start, small) { trees += 1 } else { others += 1 }
        }
    }
    if trees > others { small } else { large }
}

fn begins_tree_page(start: [u8; 8], page_bytes: usize) -> bool {
    let cells = usize::from(u16::from_be_bytes([start[3], start[4]]));
    let content = usize::from(u16::from_be_bytes([start[5], start[6]]));
    TREE_PAGES.contains(&start[0]) && 8 + 2 * cells <= content && content <= page_bytes
}

impl Source for File {
    fn len(&self) -> u64 {
        self.metadata().map_or(0, |facts| facts.len())
    }

    fn read(&self, offset: u64, page: &mut [u8]) -> bool {
        self.read_exact_at(page, offset).is_ok()
    }
}

impl Source for Vec<u8> {
    fn len(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read(&self, offset: u64, page: &mut [u8]) -> bool {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = self.get(start..start.saturating_add(page.len()));
        found.is_some_and(|found| {
            page.copy_from_slice(found);
            true
        })
    }
}

/// The pages of a database file. Only three of them are in memory at a time, and one row.
pub(crate) struct Pages<S> {
    source: S,
    page_bytes: usize,
    count: usize,
    /// The page of the page map that was looked at last, and its number.
    map: RefCell<(usize, Vec<u8>)>,
}

impl<S: Source> Pages<S> {
    pub fn new(source: S, page_bytes: usize) -> Pages<S> {
        let count = usize::try_from(source.len() / page_bytes as u64).unwrap_or(usize::MAX);
        Pages { source, page_bytes, count, map: RefCell::default() }
    }

    /// How many pages there are.
    pub fn count(&self) -> usize {
        self.count
    }

    fn load(&self, number: usize, page: &mut Vec<u8>) -> Option<()> {
        let start = number.checked_sub(1)?.checked_mul(self.page_bytes)?;
        page.resize(self.page_bytes, 0);
        (number <= self.count && self.source.read(start as u64, page)).then_some(())
    }

    /// Whether the page map says that a page is free, or that it is a map itself.
    fn is_passed_over(&self, number: usize) -> bool {
        let entries = self.page_bytes / 5;
        let Some(behind) = number.checked_sub(2) else { return false };
        let (map, at) = (2 + behind / (entries + 1) * (entries + 1), behind % (entries + 1));
        let Some(at) = at.checked_sub(1) else { return true };
        let (loaded, page) = &mut *self.map.borrow_mut();
        if *loaded != map {
            *loaded = if self.load(map, page).is_some() { map } else { 0 };
        }
        *loaded == map && page.get(at * 5) == Some(&MAP_FREE)
    }

    /// Calls `visit` with every row that can be read, and `look` with the number of each page
    /// before; when that gives an error the reading ends with it.
    pub fn each_row<E>(
        &self,
        visit: &mut dyn FnMut(Row) -> Result<(), E>,
        look: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut page = Vec::new();
        for number in 1..=self.count {
            look(number)?;
            if !self.is_passed_over(number) && self.load(number, &mut page).is_some() {
                self.rows_of(number, &page, visit)?;
            }
        }
        Ok(())
    }

    fn rows_of<E>(
        &self,
        number: usize,
        page: &[u8],
        visit: &mut dyn FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = if number == 1 { 100 } else { 0 };
        let (has_rowid, pointers, skip) = match page[start] {
            0x0D => (true, start + 8, 0),
            0x0A => (false, start + 8, 0),
            // Inner pages of a table without rowids hold rows too, each behind a page number.
            0x02 => (false, start + 12, 4),
            _ => return Ok(()),
        };
        let count = usize::from(u16::from_be_bytes([page[start + 3], page[start + 4]]));
        for index in 0..count {
            let at = pointers + 2 * index;
            let Some(&[high, low]) = page.get(at..at + 2) else { return Ok(()) };
            let cell = usize::from(u16::from_be_bytes([high, low])) + skip;
            if let Some(row) = self.row(page, cell, has_rowid) {
                visit(row)?;
            }
        }
        Ok(())
    }

    fn row(&self, page: &[u8], cell: usize, has_rowid: bool) -> Option<Row> {
        let mut rest = page.get(cell..)?;
        let length = usize::try_from(varint(&mut rest)?).ok()?;
        let rowid = if has_rowid { Some(varint(&mut rest)? as i64) } else { None };
        if length > ROW_BYTES_MAX || length > self.count.saturating_mul(self.page_bytes) {
            return None;
        }
        let local = self.local(length, has_rowid);
        let mut payload = rest.get(..local)?.to_vec();
        if local < length {
            let next = rest.get(local..local + 4)?;
            let next = u32::from_be_bytes([next[0], next[1], next[2], next[3]]);
            self.overflow(next as usize, length, &mut payload)?;
        }
        Some(Row { rowid, values: values(&payload)? })
    }

    /// Bytes of a payload that lie on the page of its row.
    fn local(&self, length: usize, has_rowid: bool) -> usize {
        let usable = self.page_bytes;
        let least = (usable - 12) * 32 / 255 - 23;
        let most = if has_rowid { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
        if length <= most {
            return length;
        }
        let fitting = least + (length - least) % (usable - 4);
        if fitting <= most { fitting } else { least }
    }

    fn overflow(&self, first: usize, length: usize, payload: &mut Vec<u8>) -> Option<()> {
        let mut number = first;
        let mut page = Vec::new();
        // Each round adds bytes, so that a circle of pages has an end too.
        while payload.len() < length {
            self.load(number, &mut page)?;
            let wanted = (length - payload.len()).min(self.page_bytes - 4);
            payload.extend_from_slice(page.get(4..4 + wanted)?);
            number = u32::from_be_bytes([page[0], page[1], page[2], page[3]]) as usize;
        }
        Some(())
    }
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for index in 0..9 {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        if index == 8 {
            return Some(number << 8 | u64::from(*byte));
        }
        number = number << 7 | u64::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The values of a record.
fn values(payload: &[u8]) -> Option<Vec<Value>> {
    let mut rest = payload;
    let header = usize::try_from(varint(&mut rest)?).ok()?;
    let mut types = payload.get(payload.len() - rest.len()..header)?;
    let mut body = payload.get(header..)?;
    let mut values = Vec::new();
    while !types.is_empty() {
        values.push(value(varint(&mut types)?, &mut body)?);
    }
    Some(values)
}

fn value(kind: u64, body: &mut &[u8]) -> Option<Value> {
    let length = match kind {
        0 | 8 | 9 => 0,
        1..=4 => kind as usize,
        5 => 6,
        6 => 8,
        7 | 10 | 11 => return None,
        _ => usize::try_from((kind - 12) / 2).ok()?,
    };
    let (bytes, behind) = body.split_at_checked(length)?;
    *body = behind;
    Some(match kind {
        0 => Value::Null,
        8 => Value::Number(0),
        9 => Value::Number(1),
        1..=6 => {
            let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1 };
            Value::Number(bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte)))
        }
        _ if kind.is_multiple_of(2) => Value::Blob(bytes.to_vec()),
        _ => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file made by SQLite with short and long rows in both kinds of tables, and free pages.
    fn file(page_bytes: usize) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.execute_batch(&format!(
            "PRAGMA page_size={page_bytes}; PRAGMA auto_vacuum=INCREMENTAL;
             CREATE TABLE a(id INTEGER PRIMARY KEY, n INTEGER, t TEXT, b BLOB);
             CREATE TABLE w(k INTEGER, x BLOB, PRIMARY KEY(k)) WITHOUT ROWID;
             WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 400)
               INSERT INTO a SELECT i, i * 70000 - 9, 'text ' || i, zeroblob(i * 40) FROM c;
             INSERT INTO w SELECT id, randomblob(id * 3) FROM a;
             DELETE FROM a WHERE id > 350;"
        ))
        .unwrap();
        std::fs::read(path).unwrap()
    }

    fn each_row(file: Vec<u8>, visit: &mut dyn FnMut(Row)) {
        let mut visit = |row| -> Result<(), ()> {
            visit(row);
            Ok(())
        };
        let page_bytes = page_bytes_of(&file);
        Pages::new(file, page_bytes).each_row(&mut visit, &mut |_| Ok(())).unwrap();
    }

    #[test]
    fn every_row_is_found_once_and_deleted_ones_are_not() {
        PAGE_SIZES.into_iter().for_each(|size| rows_are_found(file(size)));
    }

    #[test]
    fn the_page_size_is_found_also_without_the_header() {
        for size in PAGE_SIZES {
            let mut file = file(size);
            assert_eq!(page_bytes_of(&file), size);
            for broken in [0, 0xFF, 0x0D] {
                file[..size].fill(broken);
                assert_eq!(page_bytes_of(&file), size, "page 1 full of {broken}");
            }
        }
        assert_eq!(page_bytes_of(&Vec::new()), 4_096);
    }

    fn rows_are_found(file: Vec<u8>) {
        let (mut a, mut w) = (Vec::new(), Vec::new());
        each_row(file, &mut |row| match (row.rowid, row.values.len()) {
            (Some(id), 4) if row.values[0] == Value::Null => {
                assert_eq!(row.values[1], Value::Number(id * 70_000 - 9));
                assert_eq!(row.values[2], Value::Text(format!("text {id}")));
                assert_eq!(row.values[3], Value::Blob(vec![0; id as usize * 40]));
                a.push(id);
            }
            (None, 2) => {
                let id = row.values[0].number().unwrap();
                assert_eq!(row.values[1].blob().unwrap().len() as i64, id * 3);
                w.push(id);
            }
            _ => {}
        });
        a.sort_unstable();
        w.sort_unstable();
        assert_eq!(a, (1..=350).collect::<Vec<i64>>());
        assert_eq!(w, (1..=400).collect::<Vec<i64>>());
    }

    #[test]
    fn hostile_bytes_do_no_harm() {
        let mut file = file(2_048);
        let mut state = 7_u64;
        for _ in 0..60 {
            for _ in 0..200 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = (state >> 20) as usize % file.len();
                file[at] = (state >> 50) as u8;
            }
            each_row(file.clone(), &mut |_| {});
        }
    }
}
