//! A FETCH under way: made in pieces of bounded size, each on the pool, so that a client that reads
//! slowly costs one piece of memory and no thread.

use std::collections::VecDeque;
use std::ops::Range;

use mailfile::{
    FlagChange, FlagMode, Flagged, Loaded, MailError, MailFile, Marks, Opened, UidList,
};
use message::{Parsed, SummaryView};
use note::Piece;
use store::{Entry, EntryFlags, FolderId};
use txlog::Lsn;

use super::items::{Item, Items, Section, What};
use super::section::{self, Place};
use super::{envelope, structure};
use crate::grammar::{Selection, print_date_time};
use crate::selected::{Ranges, Selected, announce, flags, flags_of_mailbox};
use crate::text;

/// A piece of output is handed over when it has this many bytes.
const PIECE_BYTES: usize = 64 * 1024;
/// What is made of a message without its content, about.
const ROW_BYTES: usize = 400;
/// Content above this size is made in several pieces.
const INLINE_BYTES: u64 = 128 * 1024;
/// Messages whose entries are read at once.
const ENTRIES: u32 = 1_000;
/// Messages whose notes are read at once.
const NOTES: u32 = 100;
/// Bytes of notes read at once.
const NOTE_BYTES: usize = 256 * 1024;

/// Whether there is more to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

/// A FETCH under way.
pub(crate) struct Run {
    pub file: MailFile,
    pub folder: FolderId,
    pub view: UidList,
    /// What is still to be read.
    pub left: Selection,
    pub items: Items,
    /// The structures of some messages are all that is wanted of their notes.
    pub brief: bool,
    /// Only messages that changed after this modseq.
    pub changed_since: Option<u64>,
    /// Mark messages as seen whose content is fetched.
    pub mark_seen: bool,
    pub recent: Ranges,
    /// Keywords that the client was told of.
    pub keywords: Vec<String>,
    /// Uids of the rest of the range that was taken out of `left`.
    pub pending: Vec<u32>,
    /// Messages that were read and not written.
    pub queue: VecDeque<Loaded>,
    /// The message whose content is written in pieces.
    pub open: Option<Unfinished>,
    /// What this run tells is durable from here on.
    pub lsn: Lsn,
    /// Flags that were set on the way.
    pub flagged: Vec<Flagged>,
    /// Content broke off in the middle of a message: nothing more can be said.
    pub torn: bool,
    /// Messages that are gone.
    pub missing: u32,
    /// Messages that cannot be read.
    pub damaged: u32,
    /// Messages written.
    pub written: u64,
}

/// A message in the middle of a large section.
pub(crate) struct Unfinished {
    loaded: Loaded,
    pieces: Vec<Piece>,
    left: Range<u64>,
    /// The item that comes behind it.
    next: usize,
}

impl Run {
    /// A run over what is `left`, with these items.
    pub(crate) fn new(selected: &mut Selected, left: Selection, items: Items) -> Run {
        Run {
            file: selected.file.clone(),
            folder: selected.folder,
            view: selected.view.clone(),
            brief: left.len() <= NOTES && items.need_note() && !items.need_content(),
            left,
            items,
            changed_since: None,
            mark_seen: false,
            recent: selected.recent().clone(),
            keywords: std::mem::take(selected.keywords_mut()),
            pending: Vec::new(),
            queue: VecDeque::new(),
            open: None,
            lsn: Lsn::ZERO,
            flagged: Vec::new(),
            torn: false,
            missing: 0,
            damaged: 0,
            written: 0,
        }
    }

    /// Makes the next piece of output.
    ///
    /// # Errors
    /// The database is in trouble. When content breaks off in the middle of a message, `torn` is
    /// set, and the connection cannot go on.
    pub(crate) fn fill(&mut self, out: &mut Vec<u8>) -> Result<Progress, MailError> {
        while out.len() < PIECE_BYTES || self.is_done() {
            if let Some(open) = self.open.take() {
                self.torn = true;
                self.go_on(open, out)?;
                self.torn = false;
            } else if let Some(loaded) = self.queue.pop_front() {
                self.message(loaded, out)?;
            } else if self.read_more()? {
                // Once for all, where growing by and by copies what is there again and again.
                out.reserve((self.queue.len() * ROW_BYTES).min(PIECE_BYTES));
            } else {
                return Ok(Progress::Done);
            }
        }
        Ok(Progress::More)
    }

    fn is_done(&self) -> bool {
        self.open.is_none()
            && self.queue.is_empty()
            && self.pending.is_empty()
            && self.left.is_empty()
    }

    /// Reads the next messages; `false` when there are none.
    fn read_more(&mut self) -> Result<bool, MailError> {
        if self.pending.is_empty() {
            let count = if self.items.need_note() { NOTES } else { ENTRIES };
            let Some((start, end)) = self.left.take(count) else { return Ok(false) };
            self.pending = self.view.slice(start..end).collect();
        }
        let mut uids = std::mem::take(&mut self.pending);
        if let Some(since) = self.changed_since.filter(|_| self.items.need_note()) {
            let read = self.file.entries(self.folder, &uids)?;
            self.lsn = self.lsn.max(read.lsn);
            let changed = read.value.into_iter().filter(|entry| entry.modseq > since);
            uids = changed.map(|entry| entry.uid).collect();
            if uids.is_empty() {
                return Ok(true);
            }
        }
        let done = if self.items.need_note() {
            let read = match self.brief {
                true => self.file.load_summaries(self.folder, &uids, NOTE_BYTES)?,
                false => self.file.load(self.folder, &uids, NOTE_BYTES)?,
            };
            self.lsn = self.lsn.max(read.lsn);
            let (loaded, done) = read.value;
            self.queue.extend(loaded);
            done
        } else {
            let read = self.file.entries(self.folder, &uids)?;
            self.lsn = self.lsn.max(read.lsn);
            let without = |entry| Loaded { entry, note: Vec::new(), summary: None };
            self.queue.extend(read.value.into_iter().map(without));
            uids.len()
        };
        self.missing += (done - self.queue.len()) as u32;
        if let Some(since) = self.changed_since {
            self.queue.retain(|loaded| loaded.entry.modseq > since);
        }
        self.pending = uids[done..].to_vec();
        if self.mark_seen {
            self.mark()?;
        }
        Ok(true)
    }

    /// Marks the messages in the queue as seen.
    fn mark(&mut self) -> Result<(), MailError> {
        let unseen = self.queue.iter().filter(|l| !l.entry.flags.contains(EntryFlags::SEEN));
        let uids: Vec<u32> = unseen.map(|loaded| loaded.entry.uid).collect();
        if uids.is_empty() {
            return Ok(());
        }
        let marks = Marks { flags: EntryFlags::SEEN, keywords: Vec::new() };
        let change = FlagChange::new(FlagMode::Add, marks);
        let written = self.file.change_flags(self.folder, &uids, &change)?;
        self.lsn = self.lsn.max(written.lsn);
        for entry in &written.value.entries {
            let queued = self.queue.iter_mut().find(|loaded| loaded.entry.uid == entry.uid);
            if let Some(queued) = queued {
                queued.entry = entry.clone();
            }
        }
        self.flagged.push(written.value);
        Ok(())
    }

    /// Writes a message, or its beginning. One that cannot be read is left out.
    fn message(&mut self, loaded: Loaded, out: &mut Vec<u8>) -> Result<(), MailError> {
        let Some(index) = self.view.position(loaded.entry.uid) else { return Ok(()) };
        if announce(&mut self.keywords, &loaded.entry) {
            flags_of_mailbox(&self.keywords, out);
        }
        let start = out.len();
        out.extend_from_slice(b"* ");
        text::number(u64::from(index) + 1, out);
        out.extend_from_slice(b" FETCH (");
        match self.items_from(loaded, 0, out) {
            Ok(()) => self.written += 1,
            Err(error) => {
                out.truncate(start);
                self.open = None;
                self.damaged += 1;
                let db = self.file.database().path();
                tracing::error!(%db, %error, "a message cannot be fetched");
            }
        }
        Ok(())
    }

    /// Writes more of a large section, and what comes behind it.
    fn go_on(&mut self, mut open: Unfinished, out: &mut Vec<u8>) -> Result<(), MailError> {
        let end = open.left.end.min(open.left.start + INLINE_BYTES);
        content(&self.file, &open.pieces, open.left.start..end, out)?;
        open.left.start = end;
        if open.left.is_empty() {
            return self.items_from(open.loaded, open.next, out);
        }
        self.open = Some(open);
        Ok(())
    }

    /// Writes the items from number `from` on, up to the end of the message or a large section.
    fn items_from(
        &mut self,
        loaded: Loaded,
        from: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), MailError> {
        let mut large = None;
        {
            let mut source = Source::new(&self.file, &loaded);
            for (at, item) in self.items.0.iter().enumerate().skip(from) {
                if at > 0 {
                    out.push(b' ');
                }
                let recent = self.recent.contains(loaded.entry.uid);
                if let Some(left) = source.item(item, recent, out)? {
                    large = Some((source.pieces()?.to_vec(), left, at + 1));
                    break;
                }
            }
        }
        match large {
            Some((pieces, left, next)) => {
                self.open = Some(Unfinished { loaded, pieces, left, next });
            }
            None => out.extend_from_slice(b")\r\n"),
        }
        Ok(())
    }
}

/// Appends a range of a message's content.
fn content(
    file: &MailFile,
    pieces: &[Piece],
    range: Range<u64>,
    out: &mut Vec<u8>,
) -> Result<(), MailError> {
    let before = out.len();
    // At once, since growing copies what is there again and again; with what follows, too.
    let bytes = range.end.saturating_sub(range.start).min(INLINE_BYTES);
    out.reserve(bytes as usize + ROW_BYTES);
    file.read_content(pieces, range, out)?;
    text::without_nul(&mut out[before..]);
    Ok(())
}

/// One message as the source of its items; opened only as far as they need it.
struct Source<'a> {
    file: &'a MailFile,
    entry: &'a Entry,
    loaded: &'a Loaded,
    opened: Option<Opened<'a>>,
    structure: Option<Parsed>,
    pieces: Option<Vec<Piece>>,
}

impl<'a> Source<'a> {
    fn new(file: &'a MailFile, loaded: &'a Loaded) -> Source<'a> {
        let entry = &loaded.entry;
        Source { file, entry, loaded, opened: None, structure: None, pieces: None }
    }

    fn opened(&mut self) -> Result<&Opened<'a>, MailError> {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => self.loaded.open()?,
        };
        Ok(self.opened.insert(opened))
    }

    fn summary(&mut self) -> Result<SummaryView<'a>, MailError> {
        match self.loaded.summary {
            Some(_) => self.loaded.summary(),
            None => self.opened()?.summary(),
        }
    }

    /// The parts of the message, without its envelope.
    fn structure(&mut self) -> Result<&Parsed, MailError> {
        let parsed = match self.structure.take() {
            Some(parsed) => parsed,
            None => self.summary()?.structure()?,
        };
        Ok(self.structure.insert(parsed))
    }

    fn pieces(&mut self) -> Result<&[Piece], MailError> {
        let pieces = match self.pieces.take() {
            Some(pieces) => pieces,
            None => self.opened()?.content()?,
        };
        Ok(self.pieces.insert(pieces))
    }

    /// Appends an item. For a large section only the head of its literal: then the range of the
    /// message that has to follow is given.
    fn item(
        &mut self,
        item: &Item,
        recent: bool,
        out: &mut Vec<u8>,
    ) -> Result<Option<Range<u64>>, MailError> {
        match item {
            Item::Flags => {
                out.extend_from_slice(b"FLAGS ");
                flags(self.entry, recent, out);
            }
            Item::Uid => {
                out.extend_from_slice(b"UID ");
                text::number(self.entry.uid.into(), out);
            }
            Item::InternalDate => {
                out.extend_from_slice(b"INTERNALDATE ");
                print_date_time(self.entry.date.0, out);
            }
            Item::ModSeq => {
                out.extend_from_slice(b"MODSEQ (");
                text::number(self.entry.modseq, out);
                out.push(b')');
            }
            Item::Size => {
                out.extend_from_slice(b"RFC822.SIZE ");
                text::number(self.entry.size, out);
            }
            Item::Envelope => {
                out.extend_from_slice(b"ENVELOPE ");
                envelope::print_view(&self.summary()?.envelope_view()?, out);
            }
            Item::Body => {
                out.extend_from_slice(b"BODY ");
                structure::print(self.structure()?, false, out);
            }
            Item::BodyStructure => {
                out.extend_from_slice(b"BODYSTRUCTURE ");
                structure::print(self.structure()?, true, out);
            }
            Item::Section(section) => return self.section(section, out),
        }
        Ok(None)
    }

    fn section(
        &mut self,
        section: &Section,
        out: &mut Vec<u8>,
    ) -> Result<Option<Range<u64>>, MailError> {
        let place = self.place(section)?;
        out.extend_from_slice(section.label.as_bytes());
        if let Some((origin, _)) = section.partial {
            out.push(b'<');
            text::number(origin, out);
            out.push(b'>');
        }
        out.push(b' ');
        match place {
            Place::Nowhere => out.extend_from_slice(b"NIL"),
            Place::Range(whole) => return self.range(whole, section.partial, out),
            Place::Fields(range) => self.fields(range, section, out)?,
        }
        Ok(None)
    }

    fn place(&mut self, section: &Section) -> Result<Place, MailError> {
        if !section.path.is_empty() {
            return Ok(section::locate(section, self.structure()?));
        }
        // The whole, its header and its text need no structure.
        if section.what == What::Whole {
            let bytes = self.pieces()?.iter().map(Piece::wire_len).sum();
            return Ok(Place::Range(0..bytes));
        }
        let (header, body) = self.summary()?.root()?;
        Ok(match section.what {
            What::Fields { .. } => Place::Fields(header),
            What::Text => Place::Range(body),
            _ => Place::Range(header),
        })
    }

    fn range(
        &mut self,
        whole: Range<u64>,
        partial: Option<(u64, u64)>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Range<u64>>, MailError> {
        let wanted = section::clamp(whole, partial);
        let bytes = wanted.end - wanted.start;
        if bytes == 0 {
            out.extend_from_slice(b"\"\"");
            return Ok(None);
        }
        text::literal_head(bytes, out);
        if bytes > INLINE_BYTES {
            return Ok(Some(wanted));
        }
        let file = self.file;
        content(file, self.pieces()?, wanted, out)?;
        Ok(None)
    }

    fn fields(
        &mut self,
        range: Range<u64>,
        section: &Section,
        out: &mut Vec<u8>,
    ) -> Result<(), MailError> {
        let What::Fields { names, not } = &section.what else { return Ok(()) };
        let mut header = Vec::new();
        let file = self.file;
        content(file, self.pieces()?, range, &mut header)?;
        let picked = section::pick_fields(&header, names, *not);
        let wanted = section::clamp(0..picked.len() as u64, section.partial);
        if wanted.is_empty() {
            out.extend_from_slice(b"\"\"");
            return Ok(());
        }
        text::literal_head(wanted.end - wanted.start, out);
        out.extend_from_slice(&picked[wanted.start as usize..wanted.end as usize]);
        Ok(())
    }
}
