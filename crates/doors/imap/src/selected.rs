//! The mailbox that a session has open: what the client was told of it, and what is news.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mailfile::{Flagged, MailFile, Polled, Snapshot, UidList};
use store::{Entry, FolderId, Watch};
use tokio::sync::Notify;

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
    owes_expunge: bool,
    /// Uids that are \Recent for this session: ranges with both ends.
    recent: Ranges,
    /// Changes that this session made itself, so that it is not told of them: modseq, uids.
    own: Vec<(u64, Ranges)>,
    /// Keywords that the client was told of in FLAGS.
    keywords: Vec<String>,
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
        let Snapshot { folder, uids, change_seq } = snapshot;
        Selected {
            file,
            folder: folder.id,
            read_only: false,
            view: uids,
            signal: watched.1,
            modseq: folder.modseq,
            change_seq,
            owes_expunge: false,
            recent: Ranges::default(),
            own: Vec::new(),
            keywords: Vec::new(),
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
        if let Some(own) = own {
            // One write gives one modseq, the number of the change, to all that it changes.
            if own.modseq == self.change_seq + 1 && !flagged.elsewhere {
                self.change_seq = own.modseq;
                self.modseq = own.modseq;
                return;
            }
            self.own.push((own.modseq, Ranges::of(changed.iter().copied())));
        }
    }

    fn is_own(&self, entry: &Entry) -> bool {
        self.own.iter().any(|(at, uids)| *at == entry.modseq && uids.contains(entry.uid))
    }

    /// Whether there may be something to tell.
    pub(crate) fn may_have_news(&self, tell: Tell) -> bool {
        self.signal.is_beyond(self.change_seq) || (self.owes_expunge && tell == Tell::All)
    }

    /// The last change of the mail file that the client was told of.
    pub(crate) fn change_seq(&self) -> u64 {
        self.change_seq
    }

    /// From which modseq on news are wanted.
    pub(crate) fn modseq(&self) -> u64 {
        self.modseq
    }

    /// Tells of messages that came and went, and takes the polled state over.
    pub(crate) fn tell_numbers(&mut self, polled: &Polled, tell: Tell, out: &mut Vec<u8>) {
        let news = self.view.difference(&polled.uids);
        if tell == Tell::All {
            // From the last to the first, so that each number is right when it is read.
            for uid in news.gone.iter().rev() {
                let number = self.view.lower_bound(*uid) + 1;
                numbered(number, "EXPUNGE", out);
            }
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
        self.change_seq = polled.change_seq;
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
            flags_line(index + 1, entry, self.recent.contains(entry.uid), out);
        }
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

/// Appends `* number FETCH (UID uid FLAGS (…))`.
pub(crate) fn flags_line(number: u32, entry: &Entry, recent: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"* ");
    text::number(number.into(), out);
    out.extend_from_slice(b" FETCH (UID ");
    text::number(entry.uid.into(), out);
    out.extend_from_slice(b" FLAGS ");
    flags(entry, recent, out);
    out.extend_from_slice(b")\r\n");
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
