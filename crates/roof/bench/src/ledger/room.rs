//! One folder of one person: what must lie in it, and what was seen.

use std::fmt;

use super::{Clock, Facts, Key, Kind, Ledger, Place, Sight, Strangers, View};

/// Findings that are remembered for each folder, so that each is counted once.
const STRANGE_MAX: usize = 10_000;
/// Octets that a server may put in front of a message.
pub(super) const TRACE_OCTETS_MAX: u64 = 64 * 1024;

/// Who put a message where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It lay there before the run.
    Before,
    /// It was sent.
    Mail,
    /// The owner put it there, one after the other: uids must follow that order.
    Owner,
}

/// What the server has said of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is being handed in.
    Sending,
    /// It must be there, or come.
    There,
    /// It may be there.
    Maybe,
    /// It was refused and must not be there.
    Refused,
    /// It was deleted or moved away and must not be there.
    Gone,
    /// It may have been deleted.
    MaybeGone,
    /// It may have been moved away; it is somewhere.
    MaybeMoved,
}

/// One message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) key: Key,
    /// As handed in; 0 when the bytes are not known.
    pub(super) octets: u64,
    pub(super) sum: u32,
    /// 0 until it was seen.
    pub(super) uid: u32,
    /// The highest uid that had been seen when it was handed in.
    pub(super) floor: u32,
    /// When it was accepted, in ms since the start of the ledger.
    pub(super) at_ms: u32,
    /// Flags that must be set, and those that must not.
    pub(super) on: u16,
    pub(super) off: u16,
    pub(super) state: State,
    pub(super) origin: Origin,
    /// It was read whole and was right.
    pub(super) compared: bool,
    /// It was found to be late.
    pub(super) late: bool,
}

impl Entry {
    fn before(sight: Sight) -> Self {
        Self {
            key: sight.key,
            octets: 0,
            sum: 0,
            uid: sight.uid,
            floor: 0,
            at_ms: 0,
            on: 0,
            off: 0,
            state: State::There,
            origin: Origin::Before,
            compared: false,
            late: false,
        }
    }

    /// Whether a message with this uid may be seen.
    pub(super) fn may_be_there(&self) -> bool {
        !matches!(self.state, State::Gone | State::Refused)
    }
}

/// Takes what is found wrong in one folder, and knows what the folder needs of the ledger.
pub(super) struct Found<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) place: Place<'a>,
    now_ms: u32,
}

impl<'a> Found<'a> {
    pub(super) fn new(ledger: &'a Ledger, place: Place<'a>) -> Self {
        Self { ledger, place, now_ms: ledger.ms(std::time::Instant::now()) }
    }

    pub(super) fn add(&self, kind: Kind, what: impl fmt::Display) {
        let Place { person, folder } = self.place;
        self.ledger.add(kind, || format!("person {person}, {folder}: {what}"));
    }

    fn late_after_ms(&self) -> u32 {
        u32::try_from(self.ledger.options.late_after.as_millis()).unwrap_or(u32::MAX)
    }

    pub(super) fn vanishing(&self) -> bool {
        let folders = &self.ledger.options.vanishing;
        folders.iter().any(|folder| super::same_folder(folder, self.place.folder))
    }

    fn foreign(&self, key: Key) -> bool {
        self.ledger.options.strangers == Strangers::Allowed && !self.ledger.is_sent(key)
    }
}

/// One folder.
#[derive(Debug, Default)]
pub(super) struct Room {
    uid_validity: u32,
    /// What lay there before and was not touched, in the order of uids.
    pub(super) before: Vec<Sight>,
    pub(super) entries: Vec<Entry>,
    /// What was seen and is a finding.
    pub(super) strange: Vec<Sight>,
    /// Mail from elsewhere.
    pub(super) foreign: u32,
    /// Messages taken out of a maildrop of which nobody knows which of those before they were.
    pub(super) taken: usize,
    /// The same, but the answer did not come.
    pub(super) maybe_taken: usize,
    /// No uid up to this may be given again.
    high: u32,
    /// The last look with another `high` than the one after it, and the last.
    looks: [Option<Look>; 2],
}

/// That no message was there above a uid.
#[derive(Debug, Clone, Copy)]
struct Look {
    high: u32,
    /// In ms since the start of the ledger.
    at_ms: u32,
}

impl Room {
    pub(super) fn begin(&mut self, view: &View, sights: &[Sight]) {
        self.uid_validity = view.uid_validity;
        self.before = sights.to_vec();
        self.before.sort_unstable_by_key(|sight| sight.uid);
        if view.uid_validity == 0 {
            return;
        }
        let last = self.before.last().map_or(0, |sight| sight.uid);
        self.high = view.uid_next.map_or(last, |next| last.max(next.saturating_sub(1)));
    }

    pub(super) fn enter(&mut self, facts: &Facts, origin: Origin) {
        self.entries.push(Entry {
            octets: facts.octets,
            sum: facts.sum,
            floor: self.high,
            state: State::Sending,
            origin,
            ..Entry::before(Sight { uid: 0, key: facts.key })
        });
    }

    /// Takes a message that was moved here.
    pub(super) fn receive(&mut self, moved: Entry) {
        self.entries.push(Entry { uid: 0, floor: self.high, origin: Origin::Owner, ..moved });
    }

    /// Whether nothing is known of it.
    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.entries.is_empty()
    }

    /// The lowest uid that an accepted message can have that was not seen yet.
    pub(super) fn awaited_from(&self) -> u32 {
        let awaited = self.entries.iter().filter(|e| e.state == State::There && e.uid == 0);
        awaited.map(|entry| entry.floor.saturating_add(1)).min().unwrap_or(1)
    }

    /// Whether a message lay there before and was not touched.
    pub(super) fn had(&self, uid: u32) -> bool {
        self.before.binary_search_by_key(&uid, |sight| sight.uid).is_ok()
    }

    /// The message that is being handed in and has this key.
    pub(super) fn sending(&mut self, key: Key) -> Option<&mut Entry> {
        let wanted = |entry: &&mut Entry| entry.key == key && entry.state == State::Sending;
        self.entries.iter_mut().rev().find(wanted)
    }

    /// A message that was seen; one that lay there before becomes an entry.
    pub(super) fn entry(&mut self, uid: u32) -> Option<&mut Entry> {
        if let Some(at) = self.entries.iter().rposition(|entry| entry.uid == uid) {
            return self.entries.get_mut(at);
        }
        let at = self.before.binary_search_by_key(&uid, |sight| sight.uid).ok()?;
        let sight = self.before.remove(at);
        self.entries.push(Entry::before(sight));
        self.entries.last_mut()
    }

    pub(super) fn key_of(&self, uid: u32) -> Option<Key> {
        self.entries.iter().rev().find(|entry| entry.uid == uid).map(|entry| entry.key)
    }

    /// Removes the message with this key, as a maildrop does, which has no uids.
    pub(super) fn take(&mut self, key: Key, state: State, found: &Found<'_>) {
        let wanted = |entry: &&mut Entry| entry.key == key && entry.may_be_there();
        if let Some(entry) = self.entries.iter_mut().find(wanted) {
            entry.state = state;
        } else if let Some(at) = self.before.iter().position(|sight| sight.key == key) {
            let sight = self.before.remove(at);
            self.entries.push(Entry { state, ..Entry::before(sight) });
        } else if self.entries.iter().any(|e| e.key == key && e.state == State::Gone) {
            found.add(Kind::Doubled, format_args!("{key} was there once more"));
        } else if self.before.iter().any(|s| s.key == Key::NONE) && !found.ledger.is_sent(key) {
            // POP3 did not tell the keys of those that lay there before
            match state {
                State::Gone => self.taken += 1,
                _ => self.maybe_taken += 1,
            }
        }
    }

    /// A message was fetched from the maildrop, where only its key is known.
    pub(super) fn fetch(&mut self, read: &Facts, found: &Found<'_>) {
        let wanted = |entry: &&mut Entry| entry.key == read.key && entry.may_be_there();
        if let Some(entry) = self.entries.iter_mut().find(wanted) {
            compare(entry, read.octets, read.sum, found);
            return;
        }
        if self.entries.iter().any(|e| e.key == read.key && e.state == State::Gone) {
            found.add(Kind::Returned, format_args!("{} was deleted and fetched again", read.key));
            return;
        }
        let is_sent = found.ledger.is_sent(read.key);
        let unread = |s: &Sight| (s.key == Key::NONE && !is_sent) || s.key == read.key;
        if !self.before.iter().any(unread) && !found.foreign(read.key) {
            found.add(Kind::Unexpected, format_args!("{} was fetched", read.key));
        }
    }

    /// Uids of what was seen and must still be read whole, with the octets of each.
    pub(super) fn unread(&self) -> Vec<(u32, u64)> {
        let unread = |e: &&Entry| !e.compared && e.octets > 0 && e.uid != 0 && e.may_be_there();
        self.entries.iter().filter(unread).map(|entry| (entry.uid, entry.octets)).collect()
    }

    pub(super) fn facts(&self, uid: u32) -> Option<Facts> {
        let entry = self.entries.iter().rev().find(|entry| entry.uid == uid)?;
        let Entry { key, octets, sum, .. } = *entry;
        (octets > 0).then_some(Facts { key, octets, sum })
    }

    pub(super) fn compare(&mut self, uid: u32, octets: u64, sum: u32, found: &Found<'_>) {
        if let Some(entry) = self.entries.iter_mut().rev().find(|entry| entry.uid == uid) {
            compare(entry, octets, sum, found);
        }
    }

    pub(super) fn observe(&mut self, view: &View, sights: &[Sight], found: &Found<'_>) {
        if view.uid_validity != 0 {
            if self.uid_validity != 0 && self.uid_validity != view.uid_validity {
                let (old, new) = (self.uid_validity, view.uid_validity);
                found.add(Kind::Reordered, format_args!("UIDVALIDITY {old} became {new}"));
            }
            self.uid_validity = view.uid_validity;
        }
        for sight in sights {
            self.see(*sight, found);
        }
        let highest = sights.iter().map(|sight| sight.uid).max().unwrap_or(0);
        let next = view.uid_next.unwrap_or(0).saturating_sub(1);
        // the numbers that stand for the messages of a maildrop do not rise
        if self.uid_validity != 0 {
            self.high = self.high.max(highest).max(next);
        }
        if view.uid_next.is_some() {
            self.look(found.now_ms);
        }
        if let Some(exists) = view.exists {
            self.count(exists, found);
        }
    }

    fn look(&mut self, at_ms: u32) {
        let high = self.high;
        if self.looks[1].is_some_and(|look| look.high < high) {
            self.looks[0] = self.looks[1];
        }
        self.looks[1] = Some(Look { high, at_ms });
    }

    /// The last time at which this uid was not there.
    fn absent_ms(&self, uid: u32) -> Option<u32> {
        let looks = self.looks.iter().rev().flatten();
        // the numbers of a maildrop do not rise: what was not seen at the last look was not there
        let before = |look: &&Look| look.high < uid || self.uid_validity == 0;
        looks.into_iter().find(before).map(|look| look.at_ms)
    }

    fn see(&mut self, sight: Sight, found: &Found<'_>) {
        if sight.uid == 0 || self.strange.iter().any(|strange| strange.uid == sight.uid) {
            return;
        }
        if let Some(entry) = self.entries.iter_mut().rev().find(|e| e.uid == sight.uid) {
            if see_known(entry, sight, found) {
                self.remember(sight);
            }
        } else if let Ok(at) = self.before.binary_search_by_key(&sight.uid, |s| s.uid) {
            let known = &mut self.before[at].key;
            if *known == Key::NONE {
                *known = sight.key;
            } else if sight.key != Key::NONE && *known != sight.key {
                let text = format_args!("uid {} was {known}, is {}", sight.uid, sight.key);
                found.add(Kind::Reordered, text);
                self.remember(sight);
            }
        } else if sight.key != Key::NONE || !self.expects_more() {
            self.see_new(sight, found);
        }
    }

    fn expects_more(&self) -> bool {
        self.entries.iter().any(|entry| entry.uid == 0)
    }

    fn see_new(&mut self, sight: Sight, found: &Found<'_>) {
        let absent_ms = self.absent_ms(sight.uid);
        let wanted = |e: &&mut Entry| e.key == sight.key && e.uid == 0 && e.state != State::Gone;
        if let Some(entry) = self.entries.iter_mut().find(wanted) {
            entry.uid = sight.uid;
            bind(entry, absent_ms, found);
        } else if found.foreign(sight.key) {
            self.foreign += 1;
            self.remember(sight);
        } else {
            self.tell_stranger(sight, found);
            self.remember(sight);
        }
    }

    /// A message that is not awaited here: what is wrong with it.
    fn tell_stranger(&self, Sight { uid, key }: Sight, found: &Found<'_>) {
        let known = key != Key::NONE;
        let here = |entry: &Entry| entry.key == key && entry.may_be_there();
        let gone = |entry: &Entry| entry.key == key && entry.state == State::Gone;
        if known && (self.entries.iter().any(here) || self.before.iter().any(|s| s.key == key)) {
            found.add(Kind::Doubled, format_args!("uid {uid} is {key} once more"));
        } else if known && self.entries.iter().any(gone) {
            found.add(Kind::Returned, format_args!("uid {uid} is {key}, which was deleted"));
        } else if found.ledger.is_sent(key) {
            let text = format_args!("uid {uid} is {key}, which was sent to others");
            found.add(Kind::Unexpected, text);
        } else {
            found.add(Kind::Unexpected, format_args!("uid {uid}: nobody sent it"));
        }
    }

    fn remember(&mut self, sight: Sight) {
        if self.strange.len() < STRANGE_MAX {
            self.strange.push(sight);
        }
    }

    /// Compares a count with what must be there at least and can be there at most.
    pub(super) fn count(&self, exists: u32, found: &Found<'_>) {
        let mut least = self.before.len().saturating_sub(self.taken + self.maybe_taken);
        let mut most = self.before.len() + self.strange.len();
        for entry in &self.entries {
            least += usize::from(entry.uid != 0 && entry.state == State::There);
            most += usize::from(entry.may_be_there());
        }
        if found.vanishing() {
            least = 0;
        }
        let exists = exists as usize;
        let foreign_ok = found.ledger.options.strangers == Strangers::Allowed;
        if exists < least || exists > most && !foreign_ok {
            let text = format_args!("{exists} messages told, {least} to {most} can be there");
            found.add(Kind::WrongCount, text);
        }
    }
}

fn compare(entry: &mut Entry, octets: u64, sum: u32, found: &Found<'_>) {
    if entry.octets == 0 || entry.compared {
        return;
    }
    entry.compared = true;
    let Entry { key, uid, octets: sent, sum: right, .. } = *entry;
    if octets != sent {
        let text = format_args!("{key}, uid {uid}: {octets} octets read for {sent} sent");
        found.add(Kind::Damaged, text);
    } else if sum != right {
        found.add(Kind::Damaged, format_args!("{key}, uid {uid}: other bytes than sent"));
    }
}

/// A message whose uid is known is seen again. Gives whether that is a finding.
fn see_known(entry: &mut Entry, sight: Sight, found: &Found<'_>) -> bool {
    let Sight { uid, key } = sight;
    if key != Key::NONE && entry.key != Key::NONE && key != entry.key {
        found.add(Kind::Reordered, format_args!("uid {uid} was {}, is {key}", entry.key));
        return true;
    }
    if entry.key == Key::NONE {
        entry.key = key;
    }
    if entry.state == State::Gone {
        found.add(Kind::Returned, format_args!("uid {uid}, {}, was deleted", entry.key));
        return true;
    }
    false
}

/// A message is seen for the first time: judges its uid and its time. At `absent_ms` it had not
/// been there.
fn bind(entry: &mut Entry, absent_ms: Option<u32>, found: &Found<'_>) {
    let Entry { key, uid, floor, at_ms, .. } = *entry;
    if uid <= floor {
        let text = format_args!("{key} got uid {uid}, but uid {floor} had been given before");
        found.add(Kind::Reordered, text);
    }
    let latest_ms = at_ms.saturating_add(found.late_after_ms());
    if let Some(absent_ms) = absent_ms.filter(|absent_ms| *absent_ms > latest_ms)
        && entry.state == State::There
    {
        entry.late = true;
        let waited_ms = absent_ms - at_ms;
        let text = format_args!("{key} was not there {waited_ms} ms after it was accepted");
        found.add(Kind::Late, text);
    }
}

/// Judges the time at which the server says it took a message in, in seconds since 1970.
pub(super) fn judge_date(entry: &mut Entry, taken_s: i64, found: &Found<'_>) {
    let ledger = found.ledger;
    let judged = entry.state == State::There && entry.origin == Origin::Mail;
    if entry.late || !judged || ledger.options.clock == Clock::Apart {
        return;
    }
    let accepted_s = ledger.started_s + i64::from(entry.at_ms / 1000);
    // both are cut to seconds
    let late_s = i64::from(found.late_after_ms().div_ceil(1000)) + 1;
    if taken_s > accepted_s + late_s {
        entry.late = true;
        let text = format_args!("{} came in {} s late", entry.key, taken_s - accepted_s);
        found.add(Kind::Late, text);
    }
}

#[cfg(test)]
impl Room {
    /// As if the folder had been looked at then.
    pub(super) fn look_at(&mut self, ms: u32) {
        self.look(ms);
    }
}
