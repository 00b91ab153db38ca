//! A message on its way out: read and written in pieces, so that a client that reads slowly costs
//! one piece of memory and no thread.

use std::ops::Range;

use mailfile::{MailError, MailFile};
use note::Piece;
use store::FolderId;
use txlog::Lsn;

use crate::lines::Lines;

/// Bytes of content read at once.
const PIECE_BYTES: u64 = 64 * 1024;
/// Bytes of content read first when only the beginning is wanted.
const TOP_BYTES: u64 = 8 * 1024;

/// A message on its way out.
pub(crate) struct Sending {
    file: MailFile,
    pieces: Vec<Piece>,
    left: Range<u64>,
    step: u64,
    lines: Lines,
    /// What is told is durable from here on.
    pub lsn: Lsn,
}

impl Sending {
    /// Finds a message; `top`: only the header and that many lines. `None` when it is gone.
    ///
    /// # Errors
    /// The mail file is in trouble, or the message is damaged.
    pub(crate) fn open(
        file: MailFile,
        (folder, uid): (FolderId, u32),
        top: Option<u64>,
    ) -> Result<Option<Sending>, MailError> {
        let read = file.load(folder, &[uid], usize::MAX)?;
        let (loaded, _) = read.value;
        let Some(loaded) = loaded.first() else { return Ok(None) };
        let pieces = loaded.open()?.content()?;
        let bytes = pieces.iter().map(Piece::wire_len).sum();
        let (step, lines) = match top {
            None => (PIECE_BYTES, Lines::whole()),
            Some(lines) => (TOP_BYTES, Lines::top(lines)),
        };
        Ok(Some(Sending { file, pieces, left: 0..bytes, step, lines, lsn: read.lsn }))
    }

    /// Appends the next piece. Gives the sending back as long as there is more.
    ///
    /// # Errors
    /// The content cannot be read.
    pub(crate) fn next(mut self, out: &mut Vec<u8>) -> Result<Option<Sending>, MailError> {
        let end = self.left.end.min(self.left.start.saturating_add(self.step));
        let mut bytes = Vec::with_capacity((end - self.left.start) as usize);
        self.file.read_content(&self.pieces, self.left.start..end, &mut bytes)?;
        self.left.start = end;
        self.step = (self.step * 2).min(PIECE_BYTES);
        let wants_more = self.lines.put(&bytes, out);
        if wants_more && !self.left.is_empty() {
            return Ok(Some(self));
        }
        self.lines.finish(out);
        Ok(None)
    }
}
