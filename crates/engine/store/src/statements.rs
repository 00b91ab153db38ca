//! The statements of an open database file: each is prepared once and found by its place.
//!
//! Looking statements up by their text, as [`Connection::prepare_cached`] does, costs as much as
//! the short ones take to run.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::{self, NonNull};

use rusqlite::types::Type;
use rusqlite::{Connection, Error, Result, ffi};

use crate::sql::{SQL_COUNT, Sql};

/// The prepared statements of one connection; must be dropped before it.
pub(crate) struct Statements([Cell<Option<Prepared>>; SQL_COUNT]);

/// A statement that nobody runs just now.
#[derive(Clone, Copy)]
struct Prepared {
    raw: NonNull<ffi::sqlite3_stmt>,
    /// How many values it wants.
    values: usize,
}

// SAFETY: as a connection opened without a mutex, its statements may be used by any one thread at
// a time; `Cell` keeps them from being shared.
#[allow(unsafe_code)]
unsafe impl Send for Statements {}

impl Statements {
    /// None is prepared yet.
    pub fn new() -> Statements {
        Statements([const { Cell::new(None) }; SQL_COUNT])
    }

    /// Gives up all that nobody runs.
    pub fn clear(&self) {
        self.0.iter().filter_map(Cell::take).for_each(finalize);
    }
}

impl Drop for Statements {
    fn drop(&mut self) {
        self.clear();
    }
}

#[allow(unsafe_code)]
fn finalize(statement: Prepared) {
    // SAFETY: the statement was prepared and is given up here for the only time; its connection is
    // open, since that is dropped later. The code only repeats what its last step said.
    unsafe { ffi::sqlite3_finalize(statement.raw.as_ptr()) };
}

/// A connection with its statements.
#[derive(Clone, Copy)]
pub(crate) struct Sqlite<'a> {
    pub conn: &'a Connection,
    pub statements: &'a Statements,
}

/// A value for a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Null,
    Number(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl From<$number> for Value<'_> {
            fn from(number: $number) -> Self {
                Value::Number(i64::from(number))
            }
        })*
    };
}

numbers!(i64 u32 u16 bool);

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Value::Blob(bytes)
    }
}

impl<'a> From<&'a [u8; 16]> for Value<'a> {
    fn from(bytes: &'a [u8; 16]) -> Self {
        Value::Blob(bytes)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// Values of several types for a statement.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$(crate::statements::Value::from($value)),*] };
}
pub(crate) use values;

impl<'a> Sqlite<'a> {
    /// Runs a statement to its end; gives how many rows it changed.
    pub fn run(self, sql: Sql, values: &[Value<'_>]) -> Result<usize> {
        let mut rows = Sqlite::rows(self, sql, values)?;
        while rows.next()?.is_some() {}
        drop(rows);
        Ok(usize::try_from(self.conn.changes()).unwrap_or(usize::MAX))
    }

    /// The first row of a statement, if there is one.
    pub fn find<T>(
        self,
        sql: Sql,
        values: &[Value<'_>],
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut rows = Sqlite::rows(self, sql, values)?;
        rows.next()?.map(|row| read(&row)).transpose()
    }

    /// All rows of a statement.
    pub fn list<T>(
        self,
        sql: Sql,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut rows = Sqlite::rows(self, sql, values)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(read(&row)?);
        }
        Ok(all)
    }

    /// Begins a statement. One that runs already (in an outer loop) is prepared once more.
    pub fn rows<'r>(self, sql: Sql, values: &'r [Value<'r>]) -> Result<Rows<'r>>
    where
        'a: 'r,
    {
        let slot = &self.statements.0[sql as usize];
        let statement = match slot.take() {
            Some(statement) => statement,
            None => prepare(self.conn, sql)?,
        };
        let rows = Rows { conn: self.conn, slot, statement };
        if values.len() != statement.values {
            return Err(Error::InvalidParameterCount(values.len(), statement.values));
        }
        for (at, value) in (1..).zip(values) {
            rows.bind(at, *value)?;
        }
        Ok(rows)
    }
}

#[allow(unsafe_code)]
fn prepare(conn: &Connection, sql: Sql) -> Result<Prepared> {
    let text = sql.text();
    let length = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
    let mut raw = ptr::null_mut();
    // SAFETY: the connection is open, the text is as long as said, and `raw` is set to a statement
    // or to null.
    let (code, values) = unsafe {
        let flags = ffi::SQLITE_PREPARE_PERSISTENT;
        let (text, tail) = (text.as_ptr().cast(), ptr::null_mut());
        let code = ffi::sqlite3_prepare_v3(conn.handle(), text, length, flags, &mut raw, tail);
        (code, ffi::sqlite3_bind_parameter_count(raw))
    };
    match NonNull::new(raw).filter(|_| code == ffi::SQLITE_OK) {
        Some(raw) => Ok(Prepared { raw, values: usize::try_from(values).unwrap_or(0) }),
        None => Err(failure(conn, code)),
    }
}

/// What went wrong last.
#[cold]
#[allow(unsafe_code)]
fn failure(conn: &Connection, code: c_int) -> Error {
    // SAFETY: the connection is open; the text is copied before anything else is done with it.
    let text = unsafe {
        let text = ffi::sqlite3_errmsg(conn.handle());
        (!text.is_null()).then(|| std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    Error::SqliteFailure(ffi::Error::new(code), text)
}

/// A statement that runs. What it was given lives as long.
pub(crate) struct Rows<'r> {
    conn: &'r Connection,
    slot: &'r Cell<Option<Prepared>>,
    statement: Prepared,
}

impl Rows<'_> {
    #[allow(unsafe_code)]
    fn bind(&self, at: c_int, value: Value<'_>) -> Result<()> {
        let raw = self.statement.raw.as_ptr();
        let length = |bytes: &[u8]| bytes.len() as u64;
        // SAFETY: the statement is ours. SQLite keeps pointers to text and blobs and reads them in
        // steps alone: those are taken while the values live, and not before all were given anew.
        let code = unsafe {
            match value {
                Value::Null => ffi::sqlite3_bind_null(raw, at),
                Value::Number(number) => ffi::sqlite3_bind_int64(raw, at, number),
                Value::Text(text) => {
                    let (start, length) = (text.as_ptr().cast(), length(text.as_bytes()));
                    let (kept, utf8) = (ffi::SQLITE_STATIC(), ffi::SQLITE_UTF8 as u8);
                    ffi::sqlite3_bind_text64(raw, at, start, length, kept, utf8)
                }
                // A pointer to nothing would be taken for NULL.
                Value::Blob([]) => ffi::sqlite3_bind_zeroblob(raw, at, 0),
                Value::Blob(blob) => {
                    let (start, kept) = (blob.as_ptr().cast(), ffi::SQLITE_STATIC());
                    ffi::sqlite3_bind_blob64(raw, at, start, length(blob), kept)
                }
            }
        };
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(failure(self.conn, code)) }
    }

    /// The next row.
    #[allow(unsafe_code)]
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        // SAFETY: the statement is ours, and has all its values.
        match unsafe { ffi::sqlite3_step(self.statement.raw.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(Some(Row(self))),
            ffi::SQLITE_DONE => Ok(None),
            code => Err(failure(self.conn, code)),
        }
    }
}

impl Drop for Rows<'_> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the statement is ours. The code only repeats what its last step said.
        unsafe { ffi::sqlite3_reset(self.statement.raw.as_ptr()) };
        if let Some(other) = self.slot.replace(Some(self.statement)) {
            finalize(other);
        }
    }
}

/// The row at which a statement stands.
pub(crate) struct Row<'r>(&'r Rows<'r>);

/// A type that a column can be read as.
pub(crate) trait Column<'r>: Sized {
    fn read(row: &'r Row<'_>, column: c_int) -> Result<Self>;
}

impl Row<'_> {
    /// A column, counted from 0, which must be of this very type.
    pub fn get<'r, T: Column<'r>>(&'r self, column: c_int) -> Result<T> {
        T::read(self, column)
    }

    #[allow(unsafe_code)]
    fn kind(&self, column: c_int) -> c_int {
        // SAFETY: the statement stands at a row; a column that is not there is NULL.
        unsafe { ffi::sqlite3_column_type(self.0.statement.raw.as_ptr(), column) }
    }

    fn is(&self, column: c_int, wanted: c_int) -> Result<()> {
        let found = match self.kind(column) {
            kind if kind == wanted => return Ok(()),
            ffi::SQLITE_INTEGER => Type::Integer,
            ffi::SQLITE_FLOAT => Type::Real,
            ffi::SQLITE_TEXT => Type::Text,
            ffi::SQLITE_BLOB => Type::Blob,
            _ => Type::Null,
        };
        Err(Error::InvalidColumnType(usize::try_from(column).unwrap_or(0), String::new(), found))
    }

    #[allow(unsafe_code)]
    fn bytes(&self, column: c_int) -> &[u8] {
        let raw = self.0.statement.raw.as_ptr();
        // SAFETY: the statement stands at a row, whose text or blob stays where it is until the
        // next step or reset; both need the row to be gone.
        unsafe {
            let start = ffi::sqlite3_column_blob(raw, column).cast::<u8>();
            let length = usize::try_from(ffi::sqlite3_column_bytes(raw, column)).unwrap_or(0);
            if start.is_null() { &[] } else { std::slice::from_raw_parts(start, length) }
        }
    }
}

impl Column<'_> for i64 {
    #[allow(unsafe_code)]
    fn read(row: &Row<'_>, column: c_int) -> Result<i64> {
        row.is(column, ffi::SQLITE_INTEGER)?;
        // SAFETY: the statement stands at a row with a number in this column.
        Ok(unsafe { ffi::sqlite3_column_int64(row.0.statement.raw.as_ptr(), column) })
    }
}

impl Column<'_> for f64 {
    #[allow(unsafe_code)]
    fn read(row: &Row<'_>, column: c_int) -> Result<f64> {
        row.is(column, ffi::SQLITE_FLOAT)?;
        // SAFETY: the statement stands at a row with a number in this column.
        Ok(unsafe { ffi::sqlite3_column_double(row.0.statement.raw.as_ptr(), column) })
    }
}

fn narrow<T: TryFrom<i64>>(row: &Row<'_>, column: c_int) -> Result<T> {
    let number = i64::read(row, column)?;
    let place = usize::try_from(column).unwrap_or(0);
    T::try_from(number).map_err(|_| Error::IntegralValueOutOfRange(place, number))
}

impl Column<'_> for u32 {
    fn read(row: &Row<'_>, column: c_int) -> Result<u32> {
        narrow(row, column)
    }
}

impl Column<'_> for u16 {
    fn read(row: &Row<'_>, column: c_int) -> Result<u16> {
        narrow(row, column)
    }
}

impl Column<'_> for bool {
    fn read(row: &Row<'_>, column: c_int) -> Result<bool> {
        Ok(i64::read(row, column)? != 0)
    }
}

impl<'r> Column<'r> for &'r [u8] {
    fn read(row: &'r Row<'_>, column: c_int) -> Result<&'r [u8]> {
        row.is(column, ffi::SQLITE_BLOB)?;
        Ok(row.bytes(column))
    }
}

impl Column<'_> for [u8; 16] {
    fn read(row: &Row<'_>, column: c_int) -> Result<[u8; 16]> {
        let bytes: &[u8] = row.get(column)?;
        let place = usize::try_from(column).unwrap_or(0);
        let length = bytes.len().try_into().unwrap_or(i64::MAX);
        bytes.try_into().map_err(|_| Error::IntegralValueOutOfRange(place, length))
    }
}

impl<'r> Column<'r> for &'r str {
    fn read(row: &'r Row<'_>, column: c_int) -> Result<&'r str> {
        row.is(column, ffi::SQLITE_TEXT)?;
        let place = usize::try_from(column).unwrap_or(0);
        let text = std::str::from_utf8(row.bytes(column));
        text.map_err(|error| Error::FromSqlConversionFailure(place, Type::Text, Box::new(error)))
    }
}

impl<'r, T: Column<'r>> Column<'r> for Option<T> {
    fn read(row: &'r Row<'_>, column: c_int) -> Result<Option<T>> {
        match row.kind(column) {
            ffi::SQLITE_NULL => Ok(None),
            _ => T::read(row, column).map(Some),
        }
    }
}

#[cfg(test)]
mod tests;
