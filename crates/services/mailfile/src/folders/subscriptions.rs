//! Subscriptions that outlived their folders (RFC 3501 §6.3.6: a server must not drop them), as one
//! list in one note of the mail file.

use note::{ItemFlags, ItemValue, Note, NoteClass, Unid};
use store::{Database, PreparedNote, Reader, StoreError, Writer};

/// Id of the note, the same in every mail file.
const UNID: Unid = Unid(*b"nl-subscriptions");
/// Its item.
const NAMES: &str = "$Subscriptions";
/// Names kept at most; further ones are dropped with their folder.
const NAMES_MAX: usize = 1_000;

/// The names, in order.
pub(super) fn load(rows: &Reader<'_>) -> Result<Vec<String>, StoreError> {
    let Some(meta) = rows.note_by_unid(&UNID)? else { return Ok(Vec::new()) };
    let note = rows.note(meta.id)?;
    Ok(match note.as_ref().and_then(|note| note.get(NAMES)) {
        Some(ItemValue::TextList(names)) => names.clone(),
        _ => Vec::new(),
    })
}

fn store(w: &mut Writer<'_>, db: &Database, names: Vec<String>) -> Result<(), StoreError> {
    let mut note = Note::new(UNID, NoteClass::PRIVATE, w.now());
    note.set_with(NAMES, ItemValue::TextList(names), ItemFlags::NONE);
    w.put_note(db, &PreparedNote::new(&note, 0, w.now()))?;
    Ok(())
}

/// Whether the name is among them.
pub(super) fn has(w: &Writer<'_>, db: &Database, name: &str) -> Result<bool, StoreError> {
    Ok(load(&w.reader(db)?)?.iter().any(|known| known == name))
}

/// Adds a name.
pub(super) fn keep(w: &mut Writer<'_>, db: &Database, name: &str) -> Result<(), StoreError> {
    let mut names = load(&w.reader(db)?)?;
    match names.binary_search_by(|known| known.as_str().cmp(name)) {
        Err(at) if names.len() < NAMES_MAX => {
            names.insert(at, name.to_owned());
            store(w, db, names)
        }
        _ => Ok(()),
    }
}

/// Takes a name out; whether it was there.
pub(super) fn drop(w: &mut Writer<'_>, db: &Database, name: &str) -> Result<bool, StoreError> {
    let mut names = load(&w.reader(db)?)?;
    let Some(at) = names.iter().position(|known| known == name) else { return Ok(false) };
    names.remove(at);
    store(w, db, names)?;
    Ok(true)
}
