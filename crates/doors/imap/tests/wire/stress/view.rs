//! What a session was told of the mailbox that it has open.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::Replies;
use crate::grammar::{Fetched, fetched};

/// Flags without \Recent, which is each session's own.
pub type Flags = BTreeSet<String>;

/// What a session has switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Plain,
    Condstore,
    Qresync,
}

/// What may be told in the replies to a command.
#[derive(Clone, Copy, Debug)]
pub struct May {
    /// Numbers may shift (RFC 3501 §7.4.1).
    pub expunge: bool,
    /// Messages may be told gone that went before (RFC 7162 §3.2.10).
    pub earlier: bool,
}

pub fn flags_of(row: &Fetched) -> Flags {
    let flags = row.flags.clone().unwrap_or_default();
    flags.into_iter().filter(|flag| flag != "\\Recent").collect()
}

/// The uids of `1:3,7`.
pub fn uids(set: &str) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().unwrap_or_else(|_| panic!("{set}: no uids"));
    let range = |text: &str| match text.split_once(':') {
        Some((from, to)) => (number(from).min(number(to)), number(from).max(number(to))),
        None => (number(text), number(text)),
    };
    set.split(',').map(range).flat_map(|(from, to)| from..=to).collect()
}

/// The text behind a response code in any of the replies, the last one.
pub fn code(replies: &Replies, name: &str) -> Option<String> {
    let start = format!("[{name} ");
    let lines = replies.lines().into_iter().chain([format!("* {}", replies.tagged)]);
    let mut found = lines.filter_map(|line| {
        let (_, rest) = line.split_once(&start)?;
        Some(rest.split(']').next()?.to_owned())
    });
    found.next_back()
}

/// What is known of a message.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub flags: Option<Flags>,
    pub modseq: u64,
    /// The MODSEQ to which the flags belong; 0 while the session is being told.
    pub told_at: u64,
}

/// What a session was told.
#[derive(Clone, Debug)]
pub struct View {
    pub mode: Mode,
    /// The uid of each number, where it is known.
    pub numbers: Vec<Option<u32>>,
    /// What is known of messages by their uids.
    pub known: BTreeMap<u32, Known>,
    pub uidvalidity: u64,
    /// The last HIGHESTMODSEQ.
    pub highest: u64,
}

/// The number in front of `word` in `* number word`.
fn number(line: &str, word: &str) -> Option<usize> {
    line.strip_prefix("* ")?.strip_suffix(word)?.trim_end().parse().ok()
}

impl View {
    pub fn new(mode: Mode) -> View {
        let (numbers, known) = (Vec::new(), BTreeMap::new());
        View { mode, numbers, known, uidvalidity: 0, highest: 0 }
    }

    /// Takes the replies to a command in.
    pub fn hear(&mut self, replies: &Replies, may: May) {
        for unit in &replies.untagged {
            self.hear_one(unit, may);
        }
        if let Some(highest) = code(replies, "HIGHESTMODSEQ") {
            let highest = highest.parse().unwrap();
            assert!(highest >= self.highest, "HIGHESTMODSEQ {highest} after {}", self.highest);
            self.highest = highest;
        }
    }

    pub fn hear_one(&mut self, unit: &[u8], may: May) {
        let line = String::from_utf8_lossy(unit).into_owned();
        if let Some(count) = number(&line, "EXISTS") {
            assert!(count >= self.numbers.len(), "{line} after {}", self.numbers.len());
            self.numbers.resize(count, None);
        } else if let Some(count) = number(&line, "RECENT") {
            assert!(count <= self.numbers.len(), "{line} of {}", self.numbers.len());
        } else if let Some(gone) = number(&line, "EXPUNGE") {
            assert!(may.expunge, "{line} shifts numbers here");
            assert!(self.mode != Mode::Qresync, "{line} in spite of QRESYNC");
            assert!((1..=self.numbers.len()).contains(&gone), "{line} of {}", self.numbers.len());
            if let Some(uid) = self.numbers.remove(gone - 1) {
                self.known.remove(&uid);
            }
        } else if let Some(set) = line.strip_prefix("* VANISHED ") {
            self.vanished(set, may);
        } else if line.contains(" FETCH (") {
            self.fetched(&fetched(unit));
        }
    }

    fn vanished(&mut self, set: &str, may: May) {
        assert_eq!(self.mode, Mode::Qresync, "VANISHED without QRESYNC");
        let (earlier, set) = match set.strip_prefix("(EARLIER) ") {
            Some(set) => (true, set),
            None => (false, set),
        };
        assert!(if earlier { may.earlier } else { may.expunge }, "VANISHED {set} shifts numbers");
        for uid in uids(set) {
            self.known.remove(&uid);
            // What went earlier was not counted (RFC 7162 §3.2.10).
            if !earlier {
                self.lose(uid);
            }
        }
    }

    /// Takes a uid out of the numbers: the one that it has, or one of those that are unknown.
    fn lose(&mut self, uid: u32) {
        if let Some(at) = self.numbers.iter().position(|known| *known == Some(uid)) {
            self.numbers.remove(at);
            return;
        }
        let below = self.numbers.iter().rposition(|known| known.is_some_and(|k| k < uid));
        let from = below.map_or(0, |at| at + 1);
        let unknown = self.numbers[from..].iter().take_while(|known| known.is_none()).count();
        assert!(unknown > 0, "VANISHED {uid}, which has no number: {:?}", self.numbers);
        self.numbers.remove(from);
        // Which of the numbers it was does not matter as long as none of them is known.
        self.numbers[from..from + unknown - 1].fill(None);
    }

    fn fetched(&mut self, row: &Fetched) {
        let at = row.number as usize;
        let count = self.numbers.len();
        assert!((1..=count).contains(&at), "FETCH of number {at}, there are {count}");
        if let Some(uid) = row.uid {
            self.name(at, uid);
        }
        let Some(uid) = self.numbers[at - 1] else { return };
        let known = self.known.entry(uid).or_default();
        let told = row.flags.is_some();
        match (self.mode, row.modseq) {
            (Mode::Plain, Some(_)) => panic!("MODSEQ is told without being wanted"),
            (Mode::Plain, None) => {}
            (_, None) => assert!(!told, "flags of {uid} are told without MODSEQ"),
            (_, Some(modseq)) => {
                assert!(modseq >= known.modseq, "MODSEQ {modseq} of {uid}, was {}", known.modseq);
                if let (true, Some(before)) = (told && known.told_at == modseq, &known.flags) {
                    assert_eq!(*before, flags_of(row), "uid {uid}, MODSEQ {modseq}");
                }
                known.modseq = modseq;
            }
        }
        assert!(self.mode != Mode::Qresync || row.uid.is_some(), "a FETCH of {at} without UID");
        if told {
            known.flags = Some(flags_of(row));
            known.told_at = row.modseq.unwrap_or(0);
        }
    }

    /// Learns the uids of numbers, as far as replies that shift none tell them.
    pub fn learn(&mut self, replies: &Replies) {
        for unit in &replies.untagged {
            let line = String::from_utf8_lossy(unit).into_owned();
            if line.ends_with(" EXPUNGE") || line.starts_with("* VANISHED") {
                return;
            }
            if !line.contains(" FETCH (") {
                continue;
            }
            let row = fetched(unit);
            if let Some(uid) = row.uid {
                self.name(row.number as usize, uid);
            }
        }
    }

    /// A number has this uid: the same as before, and between those of its neighbours.
    fn name(&mut self, at: usize, uid: u32) {
        let before = self.numbers[at - 1];
        assert!(before.is_none_or(|known| known == uid), "{at} was {before:?} and is {uid}");
        let lower = self.numbers[..at - 1].iter().rev().flatten().next();
        let upper = self.numbers[at..].iter().flatten().next();
        assert!(lower.is_none_or(|lower| *lower < uid), "{at} is {uid}, behind {lower:?}");
        assert!(upper.is_none_or(|upper| *upper > uid), "{at} is {uid}, before {upper:?}");
        self.numbers[at - 1] = Some(uid);
    }

    /// The uids of a range of numbers, where they are known.
    pub fn uids_of(&self, from: usize, to: usize) -> Vec<u32> {
        let to = to.min(self.numbers.len());
        let from = from.clamp(1, to + 1);
        self.numbers[from - 1..to].iter().flatten().copied().collect()
    }

    /// The replies are all there: what is known now belongs to the MODSEQs that were told.
    pub fn believe(&mut self) {
        self.known.values_mut().for_each(|known| known.told_at = known.modseq);
    }

    /// A change that the session makes without being told of the outcome.
    pub fn change(&mut self, uid: u32, sign: char, words: &[&str]) {
        let Some(known) = self.known.get_mut(&uid) else { return };
        known.told_at = 0;
        let Some(flags) = known.flags.as_mut() else { return };
        let words = words.iter().map(|word| (*word).to_owned());
        match sign {
            '+' => flags.extend(words),
            '-' => words.for_each(|word| {
                flags.remove(&word);
            }),
            _ => *flags = words.collect(),
        }
    }
}
