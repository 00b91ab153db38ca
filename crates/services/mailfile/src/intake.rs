//! Bytes of a message made into a note, and back.
//!
//! A message is parsed once, here. What is big becomes objects; structure, envelope and preview are
//! packed into the item [`SUMMARY`], so that nothing parses again when it is read.

use std::ops::Range;

use message::{Limits, Parsed, Planned};
use note::{Item, ItemFlags, ItemValue, Note, NoteClass, NoteView, Piece, Recipe, Ticket};
use note::{TimeDate, Unid};
use objects::{ObjectsError, Pin};
use store::{PreparedNote, Store};
use thiserror::Error;

/// Item with the packed result of the parse (`message::SummaryView` opens it).
pub const SUMMARY: &str = "$Summary";
/// Item with the bytes of the message as received, in pieces.
pub const CONTENT: &str = "$Content";
/// Item with the size of the message in bytes.
pub const SIZE: &str = "$Size";

/// Bytes on the wire that are rebuilt from an object at a time.
const REBUILD_BYTES: u64 = 1 << 20;

/// What the message itself does not tell.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Id of the note.
    pub unid: Unid,
    /// When the message came in (IMAP's internal date).
    pub date: TimeDate,
    /// Further items; they win over items of the same name made from the message.
    pub extra: Vec<Item>,
}

/// A message ready to be put into any number of databases.
pub struct Intake {
    /// The note that `prepared` was made of.
    pub note: Note,
    /// The note, ready to be stored.
    pub prepared: PreparedNote,
    /// Keep the objects until the note is in a database.
    pub pins: Vec<Pin>,
    /// Size of the message in bytes.
    pub size: u64,
    /// Id of the note.
    pub unid: Unid,
    /// Decoded subject, empty when there is none.
    pub subject: String,
}

/// Why a message cannot be taken in.
#[derive(Debug, Error)]
pub enum IntakeError {
    /// The object store is in trouble.
    #[error("cannot store the message's content")]
    Objects(#[from] ObjectsError),
}

/// Why the bytes of a message cannot be given.
#[derive(Debug, Error)]
pub enum ContentError {
    /// The note holds no message.
    #[error("the note has no message content")]
    NoContent,
    /// The note is damaged.
    #[error("the note cannot be read")]
    Note(#[from] note::DecodeError),
    /// An object is damaged, missing or cannot be read.
    #[error("an object of the message cannot be read")]
    Objects(#[from] ObjectsError),
}

/// Takes a message in: parse, objects for what is big, note. Nothing refers to the objects yet, so
/// the pins must live until the note was put into a database.
///
/// # Errors
/// [`IntakeError`] when an object cannot be stored; then nothing refers to those already stored.
pub fn intake(store: &Store, message: &[u8], facts: &Facts) -> Result<Intake, IntakeError> {
    let parsed = message::parse(message, &Limits::default());
    let mut pins = Vec::new();
    let planned = message::plan(message, &parsed, store.object_bytes_min());
    let mut pieces = Vec::with_capacity(planned.len());
    for piece in planned {
        pieces.push(keep(store, message, piece, &mut pins)?);
    }
    let size = message.len() as u64;
    let note = make_note(&parsed, message, pieces, facts);
    let subject = note.text("Subject").unwrap_or_default().to_owned();
    let prepared = PreparedNote::new(&note, size, facts.date);
    Ok(Intake { note, prepared, pins, size, unid: facts.unid, subject })
}

/// The note of a message whose pieces are known already: they have to be the bytes of `message`.
/// Nothing is stored.
pub fn compose(message: &[u8], pieces: Vec<Piece>, facts: &Facts) -> Note {
    let parsed = message::parse(message, &Limits::default());
    make_note(&parsed, message, pieces, facts)
}

/// The items of a message that say by which server and when it was taken in and delivered, for
/// [`Facts::extra`]: `RouteServers`, `RouteTimes`, `DeliveredDate`. All who get the message share
/// its note, so the date is the one of its arrival here.
pub fn route_items(server: &str, at: TimeDate) -> Vec<Item> {
    let item = |name: &str, value| Item::new(name, value, ItemFlags::SUMMARY);
    vec![
        item("RouteServers", ItemValue::TextList(vec![server.to_owned()])),
        item("RouteTimes", ItemValue::TimeList(vec![at])),
        item("DeliveredDate", ItemValue::Time(at)),
    ]
}

fn keep(
    store: &Store,
    message: &[u8],
    piece: Planned,
    pins: &mut Vec<Pin>,
) -> Result<Piece, ObjectsError> {
    let mut put = |content: &[u8], recipe| {
        let pin = store.objects().put(content)?;
        let ticket = pin.ticket;
        pins.push(pin);
        Ok(Piece::Object { ticket, recipe })
    };
    match piece {
        Planned::Inline(range) => Ok(Piece::Inline(message[range].to_vec())),
        Planned::Raw(range) => put(&message[range], Recipe::Raw),
        Planned::Base64 { recipe, decoded, .. } => put(&decoded, recipe),
    }
}

fn make_note(parsed: &Parsed, message: &[u8], pieces: Vec<Piece>, facts: &Facts) -> Note {
    let mut note = Note::new(facts.unid, NoteClass::DOCUMENT, facts.date);
    for item in message::note_items(parsed, message) {
        note.put(item);
    }
    note.set_with(SIZE, ItemValue::Number(message.len() as f64), ItemFlags::SUMMARY);
    note.set(SUMMARY, ItemValue::Binary(message::summary_encode(parsed)));
    note.set(CONTENT, ItemValue::Pieces(pieces));
    for item in &facts.extra {
        note.put(item.clone());
    }
    note
}

/// The pieces of a message's bytes, from a note that is open without decoding it.
///
/// # Errors
/// [`ContentError::NoContent`] when the note is no message, [`ContentError::Note`] when it is
/// damaged.
pub fn content(view: &NoteView<'_>) -> Result<Vec<Piece>, ContentError> {
    if view.item(CONTENT).is_none() {
        return Err(ContentError::NoContent);
    }
    Ok(view.pieces(CONTENT)?)
}

/// The same of a decoded note.
///
/// # Errors
/// [`ContentError::NoContent`] when the note is no message.
pub fn content_of(note: &Note) -> Result<Vec<Piece>, ContentError> {
    match note.get(CONTENT) {
        Some(ItemValue::Pieces(pieces)) => Ok(pieces.clone()),
        _ => Err(ContentError::NoContent),
    }
}

/// Appends bytes `range` of the message as received to `out`, pulling only the parts of the objects
/// that are needed. A range beyond the end is cut.
///
/// # Errors
/// [`ContentError::Objects`] when an object cannot be read; then nothing is appended.
pub fn read_range(
    store: &Store,
    pieces: &[Piece],
    range: Range<u64>,
    out: &mut Vec<u8>,
) -> Result<(), ContentError> {
    let before = out.len();
    let mut start = 0u64;
    for piece in pieces {
        let end = start.saturating_add(piece.wire_len());
        let from = range.start.max(start);
        let to = range.end.min(end);
        if from < to
            && let Err(error) = read_piece(store, piece, from - start..to - start, out)
        {
            out.truncate(before);
            return Err(error.into());
        }
        if end >= range.end {
            break;
        }
        start = end;
    }
    Ok(())
}

/// Appends `wire`, which lies within the piece.
fn read_piece(
    store: &Store,
    piece: &Piece,
    wire: Range<u64>,
    out: &mut Vec<u8>,
) -> Result<(), ObjectsError> {
    match piece {
        Piece::Inline(bytes) => {
            out.extend_from_slice(&bytes[wire.start as usize..wire.end as usize]);
            Ok(())
        }
        Piece::Object { ticket, recipe: Recipe::Raw } => store.objects().read(ticket, wire, out),
        Piece::Object { ticket, recipe } => rebuild(store, ticket, *recipe, wire, out),
    }
}

fn rebuild(
    store: &Store,
    ticket: &Ticket,
    recipe: Recipe,
    wire: Range<u64>,
    out: &mut Vec<u8>,
) -> Result<(), ObjectsError> {
    let mut stored = Vec::new();
    let mut from = wire.start;
    while from < wire.end {
        let to = wire.end.min(from.saturating_add(REBUILD_BYTES));
        let needed = message::stored_range(recipe, from..to);
        stored.clear();
        let needed = needed.start.min(ticket.length)..needed.end.min(ticket.length);
        store.objects().read(ticket, needed, &mut stored)?;
        message::write_wire(&stored, recipe, from..to, out);
        from = to;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
