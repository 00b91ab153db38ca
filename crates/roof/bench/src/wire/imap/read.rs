//! Rows of a folder, messages, searches.

use std::ops::RangeInclusive;

use super::dialogue::Untagged;
use super::fetch::Items;
use super::scan::Scan;
use super::{Imap, within};
use crate::wire::tail::Tail;
use crate::wire::{Error, LIST_ENTRIES_MAX, Read};

/// A row of a folder, as a mail reader shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// The message's number.
    pub seq: u32,
    /// Its uid.
    pub uid: u32,
    /// Its flags.
    pub flags: Vec<String>,
    /// Its size.
    pub octets: u64,
    /// Its Message-ID, or empty.
    pub message_id: String,
}

/// What tells a message from others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    /// Its uid.
    pub uid: u32,
    /// Its Message-ID, or empty.
    pub message_id: String,
    /// Its size.
    pub octets: u64,
    /// When the server got it, in seconds since 1970.
    pub internal_date: i64,
    /// Its flags.
    pub flags: Vec<String>,
}

/// How much of a message is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All, in one piece.
    Whole,
    /// The header and the first part.
    Text,
    /// The header, the first part and the second.
    TextAndAttachments,
}

impl Part {
    fn items(self, peek: bool) -> &'static str {
        match (self, peek) {
            (Self::Whole, false) => "(UID BODY[])",
            (Self::Whole, true) => "(UID BODY.PEEK[])",
            (Self::Text, false) => "(UID BODY.PEEK[HEADER] BODY[1])",
            (Self::Text, true) => "(UID BODY.PEEK[HEADER] BODY.PEEK[1])",
            (Self::TextAndAttachments, false) => "(UID BODY.PEEK[HEADER] BODY[1] BODY[2])",
            (Self::TextAndAttachments, true) => "(UID BODY.PEEK[HEADER] BODY.PEEK[1] BODY.PEEK[2])",
        }
    }
}

const ROW_ITEMS: &str = "(UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE BODYSTRUCTURE)";
const MARK_ITEMS: &str =
    "(UID FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])";

impl Imap {
    /// Rows by number; numbers beyond the last message are left out, and an empty range asks
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn list_rows(&mut self, numbers: RangeInclusive<u32>) -> Result<Vec<Row>, Error> {
        let (first, last) = (*numbers.start(), (*numbers.end()).min(self.exists()));
        if first == 0 || first > last {
            return Ok(Vec::new());
        }
        let command = format!("FETCH {first}:{last} {ROW_ITEMS}");
        let mut rows: Vec<Row> = Vec::with_capacity((last - first) as usize % 1024 + 1);
        self.call("FETCH", &command, |imap, said| {
            let Some(row) = imap.row(said)? else { return Ok(()) };
            if !numbers.contains(&row.seq) {
                return Err(Error::protocol("a row that nobody asked for", said.rest));
            }
            push(&mut rows, row)
        })
        .await?;
        rows.sort_by_key(|row| row.seq);
        self.picture.know(rows.iter().map(|row| (row.seq, row.uid)));
        Ok(rows)
    }

    /// Rows of the last `count` messages.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn rows_of_last(&mut self, count: u32) -> Result<Vec<Row>, Error> {
        self.list_rows(self.last(count)).await
    }

    /// The row in a response; `None` when it is something else, or only tells flags.
    fn row(&mut self, said: &Untagged<'_>) -> Result<Option<Row>, Error> {
        if !said.is(b"FETCH") {
            return self.hear(said).map(|()| None);
        }
        self.picture.check(said.number)?;
        let items = Items::parse(said.rest)?;
        let (Some(octets), Some(message_id)) = (items.octets, items.message_id) else {
            return self.picture.touch(said.number).map(|()| None);
        };
        let uid = items.uid.ok_or_else(|| Error::protocol("a row without uid", said.rest))?;
        let flags = items.flags.unwrap_or_default();
        Ok(Some(Row { seq: said.number, uid, flags, octets, message_id }))
    }

    /// Reads a message, which gets \Seen by it. Nothing of it is kept but its sum. `None`: there is
    /// no such message.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn read(&mut self, uid: u32, part: Part) -> Result<Option<Read>, Error> {
        self.fetch_body(uid, part.items(false)).await
    }

    /// The same without \Seen.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn peek(&mut self, uid: u32, part: Part) -> Result<Option<Read>, Error> {
        self.fetch_body(uid, part.items(true)).await
    }

    async fn fetch_body(&mut self, uid: u32, items: &str) -> Result<Option<Read>, Error> {
        self.channel.begin()?;
        let limit = self.channel.timeouts.bulk;
        let result = within(limit, "UID FETCH", self.stream_body(uid, items)).await;
        self.end(result)
    }

    async fn stream_body(&mut self, uid: u32, items: &str) -> Result<Option<Read>, Error> {
        let tag = self.send_command(&format!("UID FETCH {uid} {items}")).await?;
        let mut tail = Tail::default();
        let mut found: Option<u64> = None;
        self.await_end(tag, Some(&mut tail), &mut |imap: &mut Self, said: &Untagged<'_>| {
            if !said.is(b"FETCH") {
                return imap.hear(said);
            }
            imap.picture.check(said.number)?;
            let items = Items::parse(said.rest)?;
            let Some(inline) = items.section_octets else { return Ok(()) };
            match items.uid {
                Some(told) if told != uid => {
                    return Err(Error::protocol("another message was asked for", said.rest));
                }
                _ if found.is_some() => {
                    return Err(Error::protocol("the message came twice", said.rest));
                }
                _ => found = Some(inline),
            }
            Ok(())
        })
        .await?;
        Ok(found.map(|inline| {
            let mut read = tail.finish();
            read.octets += inline;
            read
        }))
    }

    /// The uids of all messages, ascending.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn search_all(&mut self) -> Result<Vec<u32>, Error> {
        let mut uids = Vec::new();
        self.call_long("UID SEARCH", "UID SEARCH ALL", |imap, said| {
            if !said.is(b"SEARCH") {
                return imap.hear(said);
            }
            let mut scan = Scan::new(said.rest);
            while !scan.is_at_end() {
                push(&mut uids, scan.number32()?)?;
                scan.skip_spaces();
                if scan.peek() == Some(b'(') {
                    // (MODSEQ n), RFC 7162 section 3.1.5.
                    scan.skip_value()?;
                }
            }
            Ok(())
        })
        .await?;
        uids.sort_unstable();
        Ok(uids)
    }

    /// What tells the messages from `first` on from others, uids ascending.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub async fn marks(&mut self, first: u32) -> Result<Vec<Mark>, Error> {
        if self.exists() == 0 {
            return Ok(Vec::new());
        }
        let command = format!("UID FETCH {first}:* {MARK_ITEMS}");
        let mut marks: Vec<Mark> = Vec::new();
        self.call_long("UID FETCH", &command, |imap, said| {
            let Some(mark) = imap.mark(said)? else { return Ok(()) };
            // `first:*` names the last message even when its uid is less.
            if mark.uid < first { Ok(()) } else { push(&mut marks, mark) }
        })
        .await?;
        marks.sort_by_key(|mark| mark.uid);
        if marks.windows(2).any(|pair| pair[0].uid == pair[1].uid) {
            return Err(Error::protocol("a uid came twice", b""));
        }
        Ok(marks)
    }

    fn mark(&mut self, said: &Untagged<'_>) -> Result<Option<Mark>, Error> {
        if !said.is(b"FETCH") {
            return self.hear(said).map(|()| None);
        }
        self.picture.check(said.number)?;
        let items = Items::parse(said.rest)?;
        let (Some(octets), Some(internal_date)) = (items.octets, items.internal_date) else {
            return self.picture.touch(said.number).map(|()| None);
        };
        let uid = items.uid.ok_or_else(|| Error::protocol("no uid", said.rest))?;
        let (message_id, flags) =
            (items.message_id.unwrap_or_default(), items.flags.unwrap_or_default());
        Ok(Some(Mark { uid, message_id, octets, internal_date, flags }))
    }
}

fn push<T>(list: &mut Vec<T>, entry: T) -> Result<(), Error> {
    if list.len() >= LIST_ENTRIES_MAX {
        return Err(Error::Limit { what: "a list", limit: LIST_ENTRIES_MAX as u64 });
    }
    list.push(entry);
    Ok(())
}
