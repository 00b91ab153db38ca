//! `db` commands.

use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use note::{Item, ItemValue, NoteClass, Piece, Unid};
use serde_json::{Value, json};
use store::{
    CopyOptions, Database, DatabaseInfo, NewDatabase, NoteId, NoteMeta, Reader, Step, StoreError,
};

use super::care::{Place, chosen};
use super::{Failure, Shown};
use crate::progress::Progress;
use crate::site::{NO_FILE, Site};

/// Notes read while a database is locked.
const BATCH: usize = 200;
/// Notes shown at most.
const NOTES_MAX: usize = 100_000;
/// Bytes of a binary item that are shown.
const BINARY_BYTES_MAX: usize = 64;
/// Every class of notes.
const ALL: NoteClass = NoteClass(0x7FFF);

fn shown(info: &DatabaseInfo) -> Value {
    json!({
        "path": info.path,
        "title": info.title,
        "replica_id": info.replica_id.to_string(),
        "dbiid": info.dbiid.to_string(),
        "ods": info.ods,
        "notes": info.notes,
        "deleted": info.deleted,
        "size_bytes": info.size_bytes,
        "logical_bytes": info.logical_bytes,
        "quota_bytes": info.quota.limit_bytes,
        "warn_bytes": info.quota.warn_bytes,
        "checkpointed_lsn": info.checkpointed_lsn.to_string(),
        "applied_lsn": info.applied_lsn.to_string(),
        "fenced": info.fenced,
    })
}

pub(super) fn list(site: &Site) -> Result<Value, Failure> {
    Ok(site.store.list().iter().map(shown).collect())
}

/// Facts of a database, of those of a directory or a list, or of all.
pub(super) fn info(place: &Place<'_>, path: Option<&str>) -> Result<Value, Failure> {
    let words: Vec<String> = path.map(str::to_owned).into_iter().collect();
    let mut rows = Vec::new();
    for path in chosen(place, &words)? {
        match place.store.info(&path) {
            Ok(info) => rows.push(shown(&info)),
            // It was deleted or moved since the list was made.
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Value::Array(rows))
}

pub(super) fn create(site: &Site, path: &str, title: &str, mail: bool) -> Result<Value, Failure> {
    if mail {
        mailfile::create(&site.store, path, title)?;
    } else {
        site.store.create(path, NewDatabase::titled(title))?;
    }
    Ok(shown(&site.store.info(path)?))
}

pub(super) fn copy(
    site: &Site,
    from: &str,
    to: &str,
    new_replica: bool,
    progress: &mut dyn Progress,
) -> Result<Value, Failure> {
    let options = CopyOptions { new_replica };
    site.store.copy_with(from, to, options, &mut told(from, progress))?;
    Ok(shown(&site.store.info(to)?))
}

/// A step of the store, told with the database it is about.
fn told<'a>(
    path: &'a str,
    progress: &'a mut dyn Progress,
) -> impl FnMut(Step) -> ControlFlow<()> + 'a {
    move |step| progress.step(&format!("{path} {}", step.what), step.done, step.total)
}

pub(super) fn copy_notes(
    site: &Site,
    from: &str,
    to: &str,
    unids: &[String],
    progress: &mut dyn Progress,
) -> Result<Shown, Failure> {
    let parse = |text: &String| {
        text.trim().parse().map_err(|error| Failure::Refused(format!("{text}: {error}")))
    };
    let unids: Vec<Unid> = unids.iter().map(parse).collect::<Result<_, _>>()?;
    let done = site.store.copy_notes(from, to, &unids, &mut told(from, progress))?;
    let missing: Vec<String> = done.missing.iter().map(ToString::to_string).collect();
    let clean = missing.is_empty() && done.left == 0;
    let value = json!({
        "copied": done.copied,
        "already": done.already,
        "missing": missing,
        "left": done.left,
    });
    Ok(Shown { value, clean })
}

pub(super) fn export(
    site: &Site,
    path: &str,
    file: &Path,
    progress: &mut dyn Progress,
) -> Result<Value, Failure> {
    let refused = |problem: String| Err(Failure::Refused(format!("{}: {problem}", file.display())));
    let folder = file.parent().unwrap_or(Path::new("/"));
    if !folder.is_dir() {
        return refused("its folder is not there".to_owned());
    }
    let data = site.dir.data();
    let inside = || Ok::<_, io::Error>(folder.canonicalize()?.starts_with(data.canonicalize()?));
    if inside().unwrap_or(false) {
        return refused(format!("give a place outside of {}", data.display()));
    }
    let done = site.store.export(path, file, &mut told(path, progress))?;
    Ok(json!({
        "path": done.path,
        "file": file.display().to_string(),
        "notes": done.notes,
        "objects": done.objects,
        "bytes": done.bytes,
    }))
}

pub(super) fn import(
    site: &Site,
    file: &Path,
    to: &str,
    progress: &mut dyn Progress,
) -> Result<Value, Failure> {
    let refused = |problem| Err(Failure::Refused(format!("{}: {problem}", file.display())));
    match is_a_database(file) {
        Ok(true) => {}
        Ok(false) => return refused("not the copy of a database"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return refused("there is no such file");
        }
        // Whatever it is, the store says it with the file.
        Err(_) => {}
    }
    site.store.import(file, to, &mut told(to, progress))?;
    Ok(shown(&site.store.info(to)?))
}

/// Whether a file begins as every database does.
fn is_a_database(file: &Path) -> io::Result<bool> {
    let mut begin = [0; DATABASE_BEGIN.len()];
    match File::open(file)?.read_exact(&mut begin) {
        Ok(()) => Ok(&begin == DATABASE_BEGIN),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// How every database file begins.
const DATABASE_BEGIN: &[u8; 16] = b"SQLite format 3\0";

pub(super) fn rename(site: &Site, from: &str, to: &str) -> Result<Value, Failure> {
    refuse_fixed(from)?;
    site.store.rename(from, to)?;
    Ok(shown(&site.store.info(to)?))
}

pub(super) fn remove(site: &Site, path: &str) -> Result<Value, Failure> {
    refuse_fixed(path)?;
    let info = site.store.info(path)?;
    // One whose file is gone has nothing to lose, and makes room for its copy.
    if info.fenced.as_deref() != Some(NO_FILE) {
        refuse_owned(site, path)?;
    }
    site.store.delete(path)?;
    Ok(json!({ "path": path, "notes": info.notes, "size_bytes": info.size_bytes }))
}

/// Refuses a database that somebody's mail goes to: it would wait, and then go back.
fn refuse_owned(site: &Site, path: &str) -> Result<(), Failure> {
    if let Some(owner) = site.directory.people()?.iter().find(|person| person.mail_file == path) {
        let name = &owner.full_name;
        return Err(Failure::Refused(format!(
            "{path} is the mail file of {name}; use user remove --with-mail, or db move"
        )));
    }
    if let Some(owner) = site.directory.mail_ins()?.iter().find(|mail_in| mail_in.path == path) {
        let name = &owner.name;
        return Err(Failure::Refused(format!(
            "{path} takes the mail of {name}; use mail-in remove"
        )));
    }
    Ok(())
}

/// The server finds these by their names and holds them while it runs.
fn refuse_fixed(path: &str) -> Result<(), Failure> {
    if !is_fixed(path) {
        return Ok(());
    }
    Err(Failure::Refused(format!("{path} belongs to the server and stays where it is")))
}

/// Whether a server needs a database of this name, and holds it open.
pub(super) fn is_fixed(path: &str) -> bool {
    path == "names.nsf" || is_mail_box(path)
}

/// Whether a path names a mail.box.
pub(crate) fn is_mail_box(path: &str) -> bool {
    let number = path.strip_prefix("mail").and_then(|rest| rest.strip_suffix(".box"));
    number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

pub(super) fn cat(site: &Site, path: &str, note: Option<&str>) -> Result<Value, Failure> {
    let database = site.store.database(path)?;
    match note {
        None => all(site, &database),
        Some(name) => one(site, &database, name),
    }
}

fn all(site: &Site, database: &Database) -> Result<Value, Failure> {
    let mut rows = Vec::new();
    let mut after = NoteId(0);
    while rows.len() < NOTES_MAX {
        let read = |reader: &Reader<'_>| batch(reader, after);
        let (found, last) = site.store.read(database, read)?.value;
        let Some(last) = last else { break };
        after = last;
        rows.extend(found);
    }
    Ok(Value::Array(rows))
}

fn batch(reader: &Reader<'_>, after: NoteId) -> store::Result<(Vec<Value>, Option<NoteId>)> {
    let metas = reader.notes(ALL, after, BATCH)?;
    let mut rows = Vec::with_capacity(metas.len());
    for meta in &metas {
        let note = reader.note(meta.id)?;
        let text = |name: &str| note.as_ref().and_then(|note| note.text(name));
        let mut row = head(meta);
        row["form"] = json!(text("Form"));
        row["title"] = json!(["Subject", "FullName", "ListName"].iter().find_map(|n| text(n)));
        rows.push(row);
    }
    Ok((rows, metas.last().map(|meta| meta.id)))
}

fn head(meta: &NoteMeta) -> Value {
    json!({
        "unid": meta.unid.to_string(),
        "note_id": meta.id.0,
        "class": meta.class.0,
        "sequence": meta.sequence,
        "modified": meta.modified.to_string(),
        "size": meta.size,
        "seen": meta.seen,
    })
}

fn one(site: &Site, database: &Database, name: &str) -> Result<Value, Failure> {
    let read = |reader: &Reader<'_>| {
        let meta = match (name.parse::<Unid>(), name.parse::<i64>()) {
            (Ok(unid), _) => reader.note_by_unid(&unid)?,
            (_, Ok(id)) => reader.note_meta(NoteId(id))?,
            _ => None,
        };
        let Some(meta) = meta else { return Ok(None) };
        Ok(reader.note(meta.id)?.map(|note| (meta, note)))
    };
    let Some((meta, note)) = site.store.read(database, read)?.value else {
        let path = database.path();
        return Err(Failure::Refused(format!("{path} has no note {name} (a UNID or note id)")));
    };
    let mut row = head(&meta);
    row["items"] = note.items.iter().map(shown_item).collect();
    Ok(row)
}

fn shown_item(item: &Item) -> Value {
    let (kind, value) = match &item.value {
        ItemValue::Text(text) => ("text", json!(text)),
        ItemValue::TextList(list) => ("text list", json!(list)),
        ItemValue::Number(number) => ("number", json!(number)),
        ItemValue::NumberList(list) => ("number list", json!(list)),
        ItemValue::Time(time) => ("time", json!(time.to_string())),
        ItemValue::TimeList(list) => {
            ("time list", list.iter().map(|time| json!(time.to_string())).collect())
        }
        ItemValue::Binary(bytes) => ("binary", binary(bytes)),
        ItemValue::Pieces(pieces) => ("pieces", pieces.iter().map(piece).collect()),
    };
    json!({
        "name": item.name,
        "type": kind,
        "flags": item.flags.0,
        "sequence": item.sequence,
        "value": value,
    })
}

fn binary(bytes: &[u8]) -> Value {
    let shown = &bytes[..bytes.len().min(BINARY_BYTES_MAX)];
    json!({ "bytes": bytes.len(), "begins": String::from_utf8_lossy(shown) })
}

fn piece(piece: &Piece) -> Value {
    match piece {
        Piece::Inline(bytes) => json!({ "inline": binary(bytes) }),
        Piece::Object { ticket, recipe } => json!({
            "object": ticket.hash.to_string(),
            "bytes": ticket.length,
            "recipe": format!("{recipe:?}"),
        }),
    }
}
