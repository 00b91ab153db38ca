//! What a folder holds at the end, held against the model.

use std::collections::HashSet;

use super::room::{Entry, Found, Origin, Room, State, TRACE_OCTETS_MAX, judge_date};
use super::{Key, Kind, Looked, Sight, View};

/// A message as the check reads it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) sight: Sight,
    pub(super) octets: u64,
    /// INTERNALDATE in seconds since 1970, when there is one.
    pub(super) taken_s: Option<i64>,
    /// Its flags by their bits in the ledger, when they were told.
    pub(super) flags: Option<u16>,
}

/// A folder as the check reads it.
#[derive(Debug, Clone, Default)]
pub(super) struct Shelf {
    pub(super) view: View,
    /// Messages by STATUS, when it was asked.
    pub(super) status: Option<u32>,
    /// All uids.
    pub(super) uids: Vec<u32>,
    /// Messages from some uid on.
    pub(super) marks: Vec<Mark>,
}

impl Room {
    /// Takes in what is there now. Gives how many accepted messages have not come yet.
    pub(super) fn absorb(&mut self, shelf: &Shelf, found: &Found<'_>) -> usize {
        let sights: Vec<Sight> = shelf.marks.iter().map(|mark| mark.sight).collect();
        self.observe(&View { exists: None, ..shelf.view }, &sights, found);
        self.awaited()
    }

    /// How many accepted messages were not seen yet.
    pub(super) fn awaited(&self) -> usize {
        self.entries.iter().filter(|e| e.state == State::There && e.uid == 0).count()
    }

    /// The lowest uid from which the check must read more than that a message is there.
    pub(super) fn read_from(&self) -> u32 {
        let last = self.before.last().map_or(0, |sight| sight.uid);
        let seen = self.entries.iter().filter(|entry| entry.uid != 0).map(|entry| entry.uid);
        seen.min().unwrap_or(u32::MAX).min(last.saturating_add(1))
    }

    /// Compares the folder with the model, once, when everything has come that will come.
    pub(super) fn judge(&mut self, shelf: &Shelf, found: &Found<'_>) -> Looked {
        self.absorb(shelf, found);
        let there: HashSet<u32> = shelf.uids.iter().copied().collect();
        judge_counts(shelf, there.len(), found);
        let mut looked = Looked { folders: 1, ..Looked::default() };
        looked.messages = there.len() as u64;
        for entry in &self.entries {
            let told = entry.state == State::Gone
                && self.strange.iter().any(|strange| strange.uid == entry.uid);
            let is_there = entry.uid != 0 && there.contains(&entry.uid) && !told;
            judge_presence(entry, is_there, found, &mut looked);
            looked.compared += u64::from(entry.compared);
        }
        self.judge_before(&there, found);
        self.judge_unknown(&shelf.uids, found);
        self.judge_order(found);
        for mark in &shelf.marks {
            if let Some(at) = self.entries.iter().rposition(|e| e.uid == mark.sight.uid) {
                judge_mark(&mut self.entries[at], mark, found);
            }
        }
        looked
    }

    /// What lay there before and was not touched is there.
    fn judge_before(&self, there: &HashSet<u32>, found: &Found<'_>) {
        let (mut taken, mut maybe_taken) = (self.taken, self.maybe_taken);
        for sight in self.before.iter().filter(|s| !there.contains(&s.uid)) {
            if sight.key == Key::NONE && taken > 0 {
                taken -= 1;
            } else if sight.key == Key::NONE && maybe_taken > 0 {
                maybe_taken -= 1;
            } else if !found.vanishing() {
                let Sight { uid, key } = sight;
                found.add(Kind::Missing, format_args!("uid {uid}, {key}, lay there before"));
            }
        }
        for _ in 0..taken {
            found.add(Kind::Returned, "a message that lay there before was deleted");
        }
    }

    /// Messages that may have been moved out of this folder, and are not in it.
    pub(super) fn moved_out(&self, shelf: Option<&Shelf>) -> Vec<Key> {
        let is_there = |uid| shelf.is_some_and(|shelf| shelf.uids.contains(&uid));
        let gone = |e: &&Entry| e.state == State::MaybeMoved && !is_there(e.uid);
        self.entries.iter().filter(gone).map(|entry| entry.key).collect()
    }

    /// Uids below those that were read: they must be known.
    fn judge_unknown(&self, uids: &[u32], found: &Found<'_>) {
        let mut known: HashSet<u32> = self.entries.iter().map(|entry| entry.uid).collect();
        known.extend(self.before.iter().map(|sight| sight.uid));
        known.extend(self.strange.iter().map(|sight| sight.uid));
        for uid in uids.iter().filter(|uid| !known.contains(uid)) {
            if self.foreign == 0 {
                found.add(Kind::Unexpected, format_args!("uid {uid} was not there before"));
            }
        }
    }

    /// Uids of what one owner put there rise with time.
    fn judge_order(&self, found: &Found<'_>) {
        let own = |e: &&Entry| e.origin == Origin::Owner && e.uid != 0 && e.state == State::There;
        let own: Vec<&Entry> = self.entries.iter().filter(own).collect();
        for pair in own.windows(2) {
            if pair[1].uid <= pair[0].uid {
                let (key, uid, before) = (pair[1].key, pair[1].uid, pair[0].uid);
                let text = format_args!("{key} has uid {uid}, the one put before it {before}");
                found.add(Kind::Reordered, text);
            }
        }
    }
}

fn judge_counts(shelf: &Shelf, there: usize, found: &Found<'_>) {
    let told = [("EXISTS", shelf.view.exists), ("STATUS", shelf.status)];
    for (what, told) in told.into_iter().filter_map(|(what, told)| Some((what, told?))) {
        if told as usize != there {
            found.add(Kind::WrongCount, format_args!("{what} says {told}, {there} are there"));
        }
    }
    if shelf.uids.len() != there {
        let twice = shelf.uids.len() - there;
        found.add(Kind::Reordered, format_args!("{twice} uids are given to two messages"));
    }
}

fn judge_presence(entry: &Entry, is_there: bool, found: &Found<'_>, looked: &mut Looked) {
    let Entry { key, uid, .. } = entry;
    let from_run = entry.octets > 0;
    match (entry.state, is_there) {
        (State::There, there) => {
            looked.expected += u64::from(from_run);
            if !there && !found.vanishing() {
                match uid {
                    0 => found.add(Kind::Missing, format_args!("{key} never came")),
                    _ => found.add(Kind::Missing, format_args!("{key}, uid {uid}, is gone")),
                }
            }
        }
        (State::Sending | State::Maybe, true) => looked.unsure_there += 1,
        (State::Sending | State::Maybe, false) if *uid == 0 || found.vanishing() => {
            looked.unsure_absent += 1;
        }
        (State::Sending | State::Maybe, false) => {
            found.add(Kind::Missing, format_args!("{key}, uid {uid}, was seen and is gone"));
        }
        (State::Refused, true) => {
            found.add(Kind::Unexpected, format_args!("{key}, uid {uid}, was refused"));
        }
        (State::Gone, true) => {
            found.add(Kind::Returned, format_args!("{key}, uid {uid}, was deleted"));
        }
        (State::Refused | State::Gone | State::MaybeGone | State::MaybeMoved, _) => {}
    }
}

fn judge_mark(entry: &mut Entry, mark: &Mark, found: &Found<'_>) {
    let Entry { key, uid, octets, .. } = *entry;
    let wrong = mark.octets < octets || mark.octets - octets > TRACE_OCTETS_MAX;
    if octets > 0 && wrong && !entry.compared {
        let text = format_args!("{key}, uid {uid}: {} octets for {octets} sent", mark.octets);
        found.add(Kind::Damaged, text);
        entry.compared = true;
    }
    if let Some(flags) = mark.flags {
        let (lost, stayed) = (entry.on & !flags, entry.off & flags);
        if lost != 0 {
            let names = found.ledger.flag_names(lost);
            found.add(Kind::LostFlag, format_args!("{key}, uid {uid}: {names} is not set"));
        }
        if stayed != 0 {
            let names = found.ledger.flag_names(stayed);
            found.add(Kind::LostFlag, format_args!("{key}, uid {uid}: {names} is still set"));
        }
    }
    if let Some(taken_s) = mark.taken_s {
        judge_date(entry, taken_s, found);
    }
}
