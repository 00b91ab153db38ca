//! The mailbox that a session has open: what the client was told of it, and what is news.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mailfile::{Flagged, MailFile, Polled, Snapshot, UidList};
use store::{Entry, FolderId, Watch};
use tokio::sync::Notify;

use crate::grammar::{Selection, SequenceSet};
use crate::text;

/// The last change of a mail file, set from the thread that made it.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    latest: AtomicU64,
    notify: Notify,
}

impl Signal {
    fn set(&self, change_seq: u64) {
        self.latest.fetch_max(change_seq, Ordering::AcqRel);
        self.notify.notify_one();
    }

    fn is_beyond(&self, change_seq: u64) -> bool {
        self.latest.load(Ordering::Acquire) > change_seq
    }

    /// Resolves when there is a change after this one.
    pub(crate) async fn wait_beyond(&self, change_seq: u64) {
        while !self.is_beyond(change_seq) {
            self.notify.notified().await;
        }
    }
}

/// Which news may be told now (RFC 3501 §5.5, §7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tell {
    /// Everything.
    All,
    /// Everything but EXPUNGE, which would shift the numbers under the client's feet.
    NoExpunge,
}

/// What a client switched on (RFC 5161, RFC 7162 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Enabled {
    /// Modseqs are told.
    pub condstore: bool,
    /// VANISHED is told in place of EXPUNGE.
    pub qresync: bool,
}

/// The mailbox that a session has open.
pub(crate) struct Selected {
    /// The mail file.
    pub file: MailFile,
    /// The folder.
    pub folder: FolderId,
    /// Opened by EXAMINE: nothing may be changed.
    pub read_only: bool,
    /// The messages that the client knows, in the order of their sequence numbers.
    pub view: UidList,
    /// Tells when the mail file changes.
    pub signal: Arc<Signal>,
    /// Everything up to this modseq was told, except expunges when `owes_expunge`.
    modseq: u64,
    /// The same, as a change of the whole mail file.
    change_seq: u64,
    /// The uid that the next message gets, as far as the client was told.
    uidnext: u32,
    owes_expunge: bool,
    /// Uids that are \Recent for this session: ranges with both ends.
    recent: Ranges,
    /// Changes that this session made itself, so that it is not told of them: modseq, uids.
    own: Vec<(u64, Ranges)>,
    /// Keywords that the client was told of in FLAGS.
    keywords: Vec<String>,
    /// What the client switched on.
    pub enabled: Enabled,
    /// What the last search saved (RFC 5182).
    pub saved: Ranges,
    _watch: Watch,
}

/// Ascending ranges of uids, both ends included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(pub Vec<(u32, u32)>);

impl Ranges {
    /// The ranges that hold exactly these numbers (ascending).
    pub(crate) fn of(numbers: impl IntoIterator<Item = u32>) -> Ranges {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for number in numbers {
            match ranges.last_mut().filter(|last| last.1.checked_add(1) == Some(number)) {
                Some(last) => last.1 = number,
                None => ranges.push((number, number)),
            }
        }
        Ranges(ranges)
    }

    /// Whether the number lies in one of them.
    pub(crate) fn contains(&self, number: u32) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < number);
        self.0.get(at).is_some_and(|(first, _)| *first <= number)
    }
}

impl Selected {
    /// A mailbox as it was just opened, with a watch that was set before.
    pub(crate) fn new(
        file: MailFile,
        snapshot: Snapshot,
        watched: (Watch, Arc<Signal>),
    ) -> Selected {
        let Snapshot { folder, uids, change_seq, .. } = snapshot;
        Selected {
            file,
            folder: folder.id,
            read_only: false,
            view: uids,
            signal: watched.1,
            modseq: folder.modseq,
            change_seq,
            uidnext: folder.uidnext,
            owes_expunge: false,
            recent: Ranges::default(),
            own: Vec::new(),
            keywords: Vec::new(),
            enabled: Enabled::default(),
            saved: Ranges::default(),
            _watch: watched.0,
        }
    }

    /// A watch on a mail file.
    pub(crate) fn watch(file: &MailFile) -> (Watch, Arc<Signal>) {
        let signal = Arc::new(Signal::default());
        let wake = signal.clone();
        (file.watch(move |changed| wake.set(changed.change_seq)), signal)
    }

    /// Notes mail that is recent for this session: from `first` up to below `next`.
    pub(crate) fn add_recent(&mut self, first: u32, next: u32) {
        if first < next {
            self.recent.0.push((first, next - 1));
        }
    }

    /// What a set of a command selects; `uid`: its numbers are uids.
    pub(crate) fn select(&self, set: &SequenceSet, uid: bool) -> Selection {
        match uid {
            _ if set.is_saved => Selection::of_uids(&self.view, &self.saved.0),
            true => set.by_uid(&self.view),
            false => set.by_sequence(&self.view),
        }
    }

    /// Number of recent messages.
    pub(crate) fn recent_count(&self) -> u32 {
        let below = |uid: u32| self.view.lower_bound(uid);
        let count = |(first, last): &(u32, u32)| {
            last.checked_add(1).map_or(self.view.len(), below) - below(*first)
        };
        self.recent.0.iter().map(count).sum()
    }

    /// The uids that are recent for this session.
    pub(crate) fn recent(&self) -> &Ranges {
        &self.recent
    }

    /// Notes entries that this session changed itself and told the client of.
    pub(crate) fn made(&mut self, flagged: &Flagged) {
        let changed = &flagged.changed;
        let own = flagged.entries.iter().find(|entry| changed.binary_search(&entry.uid).is_ok());
        let Some(own) = own else { return };
        // One write gives one modseq, the number of the change, to all that it changes.
        if own.modseq == self.change_seq + 1 && !flagged.elsewhere {
            self.change_seq = own.modseq;
            self.modseq = own.modseq;
            return;
        }
        self.own.push((own.modseq, Ranges::of(changed.iter().copied())));
    }

    /// Those among the entries whose flags somebody else changed before, unknown to the client:
    /// what this session did to them does not tell the client what they are.
    pub(crate) fn strangers(&self, flagged: &Flagged) -> Vec<u32> {
        let is_known = |entry: &Entry| match flagged.changed.binary_search(&entry.uid) {
            Ok(at) => self.knows(entry.uid, flagged.previous.get(at).copied().unwrap_or(0)),
            Err(_) => self.knows(entry.uid, entry.modseq),
        };
        let strangers = flagged.entries.iter().filter(|entry| !is_known(entry));
        strangers.map(|entry| entry.uid).collect()
    }

    /// Whether the client knows what an entry was at that modseq.
    fn knows(&self, uid: u32, modseq: u64) -> bool {
        let is_own = |(at, uids): &(u64, Ranges)| *at == modseq && uids.contains(uid);
        modseq <= self.modseq || self.own.iter().any(is_own)
    }

    fn is_own(&self, entry: &Entry) -> bool {
        let is_own = |(at, uids): &(u64, Ranges)| *at == entry.modseq && uids.contains(entry.uid);
        self.own.iter().any(is_own)
    }

    /// Whether there may be something to tell.
    pub(crate) fn may_have_news(&self, tell: Tell) -> bool {
        self.signal.is_beyond(self.change_seq) || (self.owes_expunge && tell == Tell::All)
    }

    /// The last change of the mail file that the client was told of.
    pub(crate) fn change_seq(&self) -> u64 {
        self.change_seq
    }

    /// The highest uid that any message had so far, whether it is still there or not.
    pub(crate) fn highest_uid(&self) -> u32 {
        self.uidnext.saturating_sub(1)
    }

    /// From which modseq on news are wanted.
    pub(crate) fn modseq(&self) -> u64 {
        self.modseq
    }

    /// Tells of messages that came and went, and takes the polled state over.
    pub(crate) fn tell_numbers(&mut self, polled: &Polled, tell: Tell, out: &mut Vec<u8>) {
        let news = self.view.difference(&polled.uids);
        if tell == Tell::All {
            self.tell_gone(&news.gone, out);
            self.view = polled.uids.clone();
            self.owes_expunge = false;
        } else {
            self.view = self.view.appended(&news.came);
            self.owes_expunge = !news.gone.is_empty();
        }
        if !news.came.is_empty() {
            self.take_recent(polled);
            numbered(self.view.len(), "EXISTS", out);
            numbered(self.recent_count(), "RECENT", out);
        }
        self.modseq = polled.folder.modseq;
        self.uidnext = polled.folder.uidnext;
        self.change_seq = polled.change_seq;
    }

    fn tell_gone(&self, gone: &[u32], out: &mut Vec<u8>) {
        if self.enabled.qresync && !gone.is_empty() {
            return vanished("", gone, out);
        }
        // From the last to the first, so that each number is right when it is read.
        for uid in gone.iter().rev() {
            numbered(self.view.lower_bound(*uid) + 1, "EXPUNGE", out);
        }
    }

    fn take_recent(&mut self, polled: &Polled) {
        let folder = &polled.folder;
        let first = match self.read_only {
            true => self.file.recent_from(folder),
            false => self.file.claim_recent(folder),
        };
        let told = self.recent.0.last().map_or(0, |(_, last)| last.saturating_add(1));
        self.add_recent(first.max(told), folder.uidnext);
    }

    /// Tells of the flags of entries that somebody else changed; `known` is the list that the
    /// client knew before.
    pub(crate) fn tell_flags(&mut self, known: &UidList, changed: &[Entry], out: &mut Vec<u8>) {
        for entry in changed {
            if entry.uid > known.last() || self.is_own(entry) {
                continue;
            }
            let Some(index) = self.view.position(entry.uid) else { continue };
            self.announce(entry, out);
            self.flags_line(index + 1, entry, out);
        }
    }

    /// Appends `* number FETCH (UID uid FLAGS (…))`, with the modseq where that is wanted.
    pub(crate) fn flags_line(&self, number: u32, entry: &Entry, out: &mut Vec<u8>) {
        fetch_head(number, entry, out);
        out.extend_from_slice(b" FLAGS ");
        flags(entry, self.recent.contains(entry.uid), out);
        if self.enabled.condstore {
            modseq(entry, out);
        }
        out.extend_from_slice(b")\r\n");
    }

    /// The same without flags, which the client knows.
    pub(crate) fn modseq_line(&self, number: u32, entry: &Entry, out: &mut Vec<u8>) {
        fetch_head(number, entry, out);
        modseq(entry, out);
        out.extend_from_slice(b")\r\n");
    }

    /// Forgets own changes that were passed.
    pub(crate) fn forget_own(&mut self) {
        let modseq = self.modseq;
        self.own.retain(|(at, _)| *at > modseq);
    }

    /// Tells of keywords that the client has not met in this mailbox (RFC 3501 §7.2.6).
    pub(crate) fn announce(&mut self, entry: &Entry, out: &mut Vec<u8>) {
        if announce(&mut self.keywords, entry) {
            flags_of_mailbox(&self.keywords, out);
        }
    }

    /// The keywords that the client was told of.
    pub(crate) fn keywords_mut(&mut self) -> &mut Vec<String> {
        &mut self.keywords
    }
}

/// Adds the entry's keywords to those known; whether there were new ones.
pub(crate) fn announce(known: &mut Vec<String>, entry: &Entry) -> bool {
    const KEYWORDS_MAX: usize = 500;
    let before = known.len();
    for word in &entry.keywords {
        let is = |other: &String| other.eq_ignore_ascii_case(word);
        if known.len() < KEYWORDS_MAX && !known.iter().any(is) {
            known.push(word.clone());
        }
    }
    known.len() > before
}

/// Appends `* number WORD`.
pub(crate) fn numbered(number: u32, word: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"* ");
    text::number(number.into(), out);
    out.push(b' ');
    out.extend_from_slice(word.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends the FLAGS of a mailbox.
pub(crate) fn flags_of_mailbox(keywords: &[String], out: &mut Vec<u8>) {
    out.extend_from_slice(b"* FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft");
    for word in keywords {
        out.push(b' ');
        out.extend_from_slice(word.as_bytes());
    }
    out.extend_from_slice(b")\r\n");
}

/// Appends a list of flags.
pub(crate) fn flags(entry: &Entry, recent: bool, out: &mut Vec<u8>) {
    out.push(b'(');
    let start = out.len();
    let add = |word: &[&[u8]], out: &mut Vec<u8>| {
        if out.len() > start {
            out.push(b' ');
        }
        word.iter().for_each(|part| out.extend_from_slice(part));
    };
    for (name, flag) in crate::grammar::SYSTEM_FLAGS {
        if entry.flags.contains(flag) {
            add(&[b"\\", name.as_bytes()], out);
        }
    }
    for word in &entry.keywords {
        add(&[word.as_bytes()], out);
    }
    if recent {
        add(&[b"\\Recent"], out);
    }
    out.push(b')');
}

/// Appends `* number FETCH (UID uid`.
fn fetch_head(number: u32, entry: &Entry, out: &mut Vec<u8>) {
    out.extend_from_slice(b"* ");
    text::number(number.into(), out);
    out.extend_from_slice(b" FETCH (UID ");
    text::number(entry.uid.into(), out);
}

/// Appends ` MODSEQ (modseq)`.
fn modseq(entry: &Entry, out: &mut Vec<u8>) {
    out.extend_from_slice(b" MODSEQ (");
    text::number(entry.modseq, out);
    out.push(b')');
}

/// Appends `* VANISHED uids` (RFC 7162 §3.2.10), `how` being empty or `(EARLIER) `.
pub(crate) fn vanished(how: &str, uids: &[u32], out: &mut Vec<u8>) {
    out.extend_from_slice(b"* VANISHED ");
    out.extend_from_slice(how.as_bytes());
    text::set(uids, out);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_their_numbers() {
        let ranges = Ranges::of([1, 2, 3, 7, u32::MAX]);
        assert_eq!(ranges.0, [(1, 3), (7, 7), (u32::MAX, u32::MAX)]);
        let inside = [1, 3, 7, u32::MAX].map(|n| ranges.contains(n));
        let outside = [0, 4, 6, 8].map(|n| ranges.contains(n));
        assert_eq!((inside, outside), ([true; 4], [false; 4]));
    }
}
