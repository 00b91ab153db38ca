use super::*;

fn with_notes(count: i64) -> (Statements, Connection) {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(crate::schema::SCHEMA).unwrap();
    let statements = Statements::new();
    let sqlite = Sqlite { conn: &conn, statements: &statements };
    for id in 1..=count {
        let unid = [id as u8; 16];
        let body = vec![id as u8; id as usize - 1];
        let (nothing, date) = (None::<&[u8]>, 7i64);
        let given =
            values![id, &unid, 1u16, 2u32, 3i64, 4i64, 5i64, date, nothing, 0i64, 9u32, &*body];
        assert_eq!(sqlite.run(Sql::InsertNote, given).unwrap(), 1);
    }
    (statements, conn)
}

#[test]
fn all_texts_are_statements() {
    let (statements, conn) = with_notes(0);
    for (at, text) in crate::sql::TEXTS.iter().enumerate() {
        let statement = conn.prepare(text).unwrap();
        assert!(statement.parameter_count() <= 12, "{at}: {text}");
    }
    drop(statements);
    conn.close().unwrap();
}

#[test]
fn values_come_back_as_they_were_given() {
    let (statements, conn) = with_notes(3);
    let sqlite = Sqlite { conn: &conn, statements: &statements };
    let read = |row: &Row<'_>| Ok((row.get::<i64>(0)?, row.get::<&[u8]>(2)?.to_vec()));
    for id in 1..=3i64 {
        let found = sqlite.find(Sql::NoteBody, values![id], read).unwrap();
        assert_eq!(found, Some((0, vec![id as u8; id as usize - 1])));
        let unid = sqlite.find(Sql::MarksOfNote, values![id], |row| row.get::<[u8; 16]>(0));
        assert_eq!(unid.unwrap(), Some([id as u8; 16]));
    }
    assert_eq!(sqlite.find(Sql::NoteBody, values![4i64], read).unwrap(), None);
    let hashes = |row: &Row<'_>| Ok(row.get::<Option<&[u8]>>(0)?.is_none());
    assert_eq!(sqlite.find(Sql::NoteHashes, values![1i64], hashes).unwrap(), Some(true));
    let folder = values![1i64, &[1; 16], "Ödland", 2u32, 3i64, None::<&str>];
    assert_eq!(sqlite.run(Sql::InsertFolder, folder).unwrap(), 1);
    let name = |row: &Row<'_>| Ok(row.get::<&str>(2)?.to_owned());
    let found = sqlite.find(Sql::FolderByName, values!["Ödland"], name).unwrap();
    assert_eq!(found.as_deref(), Some("Ödland"));
    assert_eq!(sqlite.run(Sql::Subscribe, values![1i64, &[2; 16], true]).unwrap(), 0);
}

#[test]
fn wrong_types_and_counts_are_errors() {
    let (statements, conn) = with_notes(1);
    let sqlite = Sqlite { conn: &conn, statements: &statements };
    let find = |given: &[Value<'_>], read: &dyn Fn(&Row<'_>) -> Result<bool>| {
        sqlite.find(Sql::NoteById, given, read)
    };
    let one = Value::Number(1);
    assert!(matches!(find(&[], &|_| Ok(true)), Err(Error::InvalidParameterCount(0, 1))));
    assert!(matches!(find(&[one, one], &|_| Ok(true)), Err(Error::InvalidParameterCount(2, 1))));
    let number = |row: &Row<'_>| row.get::<i64>(1).map(|_| true);
    let found = find(&[one], &number).unwrap_err();
    assert!(matches!(found, Error::InvalidColumnType(1, _, Type::Blob)), "{found}");
    assert!(crate::handle::is_corrupt(&found));
    let nothing = |row: &Row<'_>| row.get::<i64>(99).map(|_| true);
    assert!(matches!(find(&[one], &nothing), Err(Error::InvalidColumnType(99, _, Type::Null))));
    conn.execute("UPDATE note SET class = 70000", []).unwrap();
    let class = |row: &Row<'_>| row.get::<u16>(2).map(|_| true);
    assert!(matches!(find(&[one], &class), Err(Error::IntegralValueOutOfRange(2, 70_000))));
    assert_eq!(find(&[one], &|_| Ok(true)).unwrap(), Some(true));
}

#[test]
fn a_statement_within_itself_is_another_one() {
    let (statements, conn) = with_notes(3);
    let sqlite = Sqlite { conn: &conn, statements: &statements };
    let given = [Value::Number(0), Value::Number(1), Value::Number(10)];
    let mut outer = sqlite.rows(Sql::Notes, &given).unwrap();
    let mut seen = 0;
    while let Some(row) = outer.next().unwrap() {
        let id: i64 = row.get(0).unwrap();
        let inner = sqlite.list(Sql::Notes, values![id, 1u16, 10i64], |row| row.get::<i64>(0));
        assert_eq!(inner.unwrap(), (id + 1..=3).collect::<Vec<_>>());
        seen += 1;
    }
    assert_eq!(seen, 3);
    drop(outer);
    statements.clear();
    conn.close().unwrap();
}

#[test]
fn a_failure_says_what_sqlite_says() {
    let (statements, conn) = with_notes(0);
    let sqlite = Sqlite { conn: &conn, statements: &statements };
    conn.execute_batch("DROP TABLE stub").unwrap();
    let found = sqlite.run(Sql::DeleteStub, values![&[1; 16]]).unwrap_err();
    assert!(matches!(&found, Error::SqliteFailure(_, Some(text)) if text.starts_with("no such ")));
    let expunged = values![1i64, 2i64, 3u32];
    assert_eq!(sqlite.run(Sql::InsertExpunged, expunged).unwrap(), 1);
    let found = sqlite.run(Sql::InsertExpunged, expunged).unwrap_err();
    assert_eq!(found.sqlite_error_code(), Some(rusqlite::ErrorCode::ConstraintViolation));
}
