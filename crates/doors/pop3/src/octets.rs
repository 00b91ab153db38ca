//! How many octets a message has when it is sent: as many as are stored, unless lines of it do not
//! end with CRLF. Which ones these are is found out once for each message, and remembered.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mailfile::{Loaded, MailError, MailFile};
use memchr::memchr_iter;
use note::{Dbiid, Eol, Piece, Recipe};
use parking_lot::Mutex;

/// Bytes of content looked at together.
const PIECE_BYTES: u64 = 128 * 1024;
/// Maildrops remembered.
const MAILDROPS_MAX: usize = 100_000;

/// A maildrop: instance of the mail file and UIDVALIDITY of the folder.
pub(crate) type Key = (Dbiid, u32);

/// What is known of a maildrop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Messages up to this uid were looked at.
    pub upto: u32,
    /// How many octets more than stored those have that have more.
    pub extra: Arc<BTreeMap<u32, u64>>,
}

/// What is known of all maildrops. All of it can be found out again.
#[derive(Debug, Default)]
pub(crate) struct Octets(Mutex<HashMap<Key, Known>>);

impl Octets {
    /// What is known of a maildrop.
    pub(crate) fn known(&self, key: Key) -> Known {
        self.0.lock().get(&key).cloned().unwrap_or_default()
    }

    /// Remembers what was found.
    pub(crate) fn remember(&self, key: Key, known: Known) {
        let mut all = self.0.lock();
        if all.len() >= MAILDROPS_MAX && !all.contains_key(&key) {
            all.clear();
        }
        all.insert(key, known);
    }
}

/// Counts the octets that sending adds.
#[derive(Debug, Default)]
pub(crate) struct Measure {
    last: Option<u8>,
    bare: u64,
}

impl Measure {
    /// Looks at the next bytes of the message.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        for at in memchr_iter(b'\n', bytes) {
            let before = if at == 0 { self.last } else { Some(bytes[at - 1]) };
            self.bare += u64::from(before != Some(b'\r'));
        }
        self.last = bytes.last().copied().or(self.last);
    }

    /// Octets that are sent more than stored: a CR for each LF without one, and the end of the
    /// last line.
    pub(crate) fn extra(&self) -> u64 {
        let end = match self.last {
            None | Some(b'\n') => 0,
            Some(b'\r') => 1,
            Some(_) => 2,
        };
        self.bare + end
    }

    fn piece(&mut self, file: &MailFile, piece: &Piece) -> Result<(), MailError> {
        if let Piece::Object { ticket, recipe: recipe @ Recipe::Base64 { eol, final_eol, .. } } =
            piece
        {
            // Lines of base64 with these ends and nothing else: there is no need to make them.
            let length = recipe.wire_len(ticket.length);
            let chars = ticket.length.div_ceil(3).saturating_mul(4);
            if *eol == Eol::Lf {
                self.bare += length.saturating_sub(chars);
            }
            self.last = Some(if *final_eol { b'\n' } else { b'=' });
            return Ok(());
        }
        if let Piece::Inline(bytes) = piece {
            self.take(bytes);
            return Ok(());
        }
        let (mut from, end, mut bytes) = (0, piece.wire_len(), Vec::new());
        while from < end {
            let to = end.min(from + PIECE_BYTES);
            bytes.clear();
            file.read_content(std::slice::from_ref(piece), from..to, &mut bytes)?;
            self.take(&bytes);
            from = to;
        }
        Ok(())
    }
}

/// How many octets more than stored a message has when it is sent.
///
/// # Errors
/// The message is damaged, or no message.
pub(crate) fn extra(file: &MailFile, loaded: &Loaded) -> Result<u64, MailError> {
    let mut measure = Measure::default();
    for piece in loaded.open()?.content()? {
        measure.piece(file, &piece)?;
    }
    Ok(measure.extra())
}
