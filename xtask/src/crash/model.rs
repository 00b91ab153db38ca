//! What one user's mailboxes must hold: told by the load as the server acknowledges, and compared
//! with what is found after a crash.

use super::letter::{Way, is_to_be_filed, parse_message_id};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Flags that belong to a mailbox entry; `\Seen` belongs to the message and is kept apart.
pub const ENTRY_FLAGS: [&str; 4] = ["\\Flagged", "\\Answered", "\\Draft", "\\Deleted"];

/// Mailboxes into which mail comes: the INBOX, and that of the people with a rule.
pub const HOMES: [&str; 2] = ["INBOX", FILED];
/// Where a rule puts letters to be filed.
pub const FILED: &str = "Filed";

/// One message in one mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The Message-ID.
    pub key: String,
    /// Acknowledged flags out of [`ENTRY_FLAGS`].
    pub flags: BTreeSet<String>,
    /// Whether its bytes were fetched and found right.
    pub read: bool,
}

/// One mailbox of the user.
#[derive(Debug, Clone, Default)]
pub struct Mailbox {
    pub validity: u32,
    pub copies: BTreeMap<u32, Copy>,
    /// Every UID that was ever seen or promised, and the message it stands for.
    pub ever: HashMap<u32, String>,
}

/// How far a delivery to this user has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// No answer yet, or none before the crash: it may come, once.
    InFlight,
    /// Answered 250: it must come, once.
    Acknowledged,
}

/// A change that was asked for and not answered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Append { mailbox: String, key: String },
    Flag { mailbox: String, uid: u32, flag: String },
    Seen { key: String },
    Copy { mailbox: String, uid: u32, to: String },
    Move { mailbox: String, uid: u32, to: String },
    Expunge { mailbox: String, uid: u32 },
    Create { mailbox: String },
}

/// What is found in a mailbox: UIDVALIDITY and, by UID, Message-ID and flags.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub validity: u32,
    pub messages: BTreeMap<u32, (String, BTreeSet<String>)>,
}

/// The model of one user.
#[derive(Debug, Clone, Default)]
pub struct User {
    pub name: String,
    pub mailboxes: BTreeMap<String, Mailbox>,
    /// Deliveries that nobody has seen in the mailbox yet.
    pub due: BTreeMap<String, Due>,
    /// Deliveries that were seen: another one of the same message would be a duplicate.
    pub arrived: HashSet<String>,
    pub seen: BTreeSet<String>,
    pub in_flight: Option<Op>,
    /// Whether a rule puts letters to be filed into [`FILED`].
    pub files: bool,
}

impl User {
    /// Into which mailbox a message is delivered.
    fn home(&self, key: &str) -> &'static str {
        if self.files && is_to_be_filed(key) { FILED } else { "INBOX" }
    }

    /// Takes over what is there before any load, as it is.
    pub fn adopt(&mut self, found: BTreeMap<String, Found>) {
        for (name, found) in found {
            let mailbox = self.mailboxes.entry(name).or_default();
            mailbox.validity = found.validity;
            for (uid, (key, flags)) in found.messages {
                if flags.contains("\\Seen") {
                    self.seen.insert(key.clone());
                }
                mailbox.ever.insert(uid, key.clone());
                mailbox.copies.insert(uid, Copy { key, flags: entry_flags(&flags), read: false });
            }
        }
    }

    /// A sender is about to send `key` to this user.
    pub fn sending(&mut self, key: &str) {
        self.due.insert(key.to_owned(), Due::InFlight);
    }

    /// The sender was told 250; the message may have been seen already.
    pub fn sent(&mut self, key: &str) {
        if let Some(due) = self.due.get_mut(key) {
            *due = Due::Acknowledged;
        }
    }

    /// The sender was told no: it must not come.
    pub fn refused(&mut self, key: &str) {
        self.due.remove(key);
    }

    /// A message nobody put there by IMAP is seen in a mailbox.
    pub fn arrive(&mut self, mailbox: &str, uid: u32, key: &str) -> Result<(), String> {
        let name = self.name.clone();
        if self.due.remove(key).is_none() {
            let again = if self.arrived.contains(key) { "a second time" } else { "unannounced" };
            return Err(format!("{name} {mailbox}: {key} arrived {again} as uid {uid}"));
        }
        self.arrived.insert(key.to_owned());
        if mailbox != self.home(key) {
            return Err(format!("{name} {mailbox}: {key} was not to be delivered here"));
        }
        self.put(mailbox, uid, key, BTreeSet::new())
    }

    /// An entry is there for good. An error when its UID meant something else before.
    pub fn put(
        &mut self,
        mailbox: &str,
        uid: u32,
        key: &str,
        flags: BTreeSet<String>,
    ) -> Result<(), String> {
        let place = self.mailboxes.entry(mailbox.to_owned()).or_default();
        if let Some(before) = place.ever.insert(uid, key.to_owned()) {
            let name = &self.name;
            return Err(format!("{name} {mailbox}: uid {uid} was {before} and is now {key}"));
        }
        place.copies.insert(uid, Copy { key: key.to_owned(), flags, read: false });
        Ok(())
    }

    /// The server has acknowledged the operation that was in flight; `uid` is the new entry's.
    pub fn done(&mut self, uid: Option<u32>) -> Result<(), String> {
        let Some(op) = self.in_flight.take() else { return Ok(()) };
        match (op, uid) {
            (Op::Append { mailbox, key }, Some(uid)) => {
                self.put(&mailbox, uid, &key, BTreeSet::new())
            }
            (Op::Flag { mailbox, uid, flag }, _) => {
                if let Some(copy) = self.copy_mut(&mailbox, uid) {
                    copy.flags.insert(flag);
                }
                Ok(())
            }
            (Op::Seen { key }, _) => {
                self.seen.insert(key);
                Ok(())
            }
            (Op::Copy { mailbox, uid, to }, Some(new)) => {
                let copy = self.copy_mut(&mailbox, uid).cloned();
                copy.map_or(Ok(()), |c| self.put(&to, new, &c.key, c.flags))
            }
            (Op::Move { mailbox, uid, to }, Some(new)) => {
                let copy = self.take(&mailbox, uid);
                copy.map_or(Ok(()), |c| self.put(&to, new, &c.key, c.flags))
            }
            (Op::Expunge { mailbox, uid }, _) => {
                self.take(&mailbox, uid);
                Ok(())
            }
            (Op::Create { mailbox }, _) => {
                self.mailboxes.entry(mailbox).or_default();
                Ok(())
            }
            (op, None) => Err(format!("{}: no uid in the answer to {op:?}", self.name)),
        }
    }

    fn copy_mut(&mut self, mailbox: &str, uid: u32) -> Option<&mut Copy> {
        self.mailboxes.get_mut(mailbox)?.copies.get_mut(&uid)
    }

    fn take(&mut self, mailbox: &str, uid: u32) -> Option<Copy> {
        self.mailboxes.get_mut(mailbox)?.copies.remove(&uid)
    }

    /// Compares with what a restarted server shows, gives what is wrong, and goes on from there.
    pub fn reconcile(&mut self, seed: u64, found: &BTreeMap<String, Found>) -> Vec<String> {
        let mut reconcile = Reconcile { user: self, seed, moved_away: false, wrong: Vec::new() };
        let extra = reconcile.compare(found);
        reconcile.explain(extra);
        reconcile.settle_due();
        reconcile.wrong
    }
}

/// The flags out of `flags` that belong to the entry.
pub fn entry_flags(flags: &BTreeSet<String>) -> BTreeSet<String> {
    flags.iter().filter(|f| ENTRY_FLAGS.contains(&f.as_str())).cloned().collect()
}

struct Reconcile<'a> {
    user: &'a mut User,
    seed: u64,
    /// The entry that a move in flight was about is no longer where it was.
    moved_away: bool,
    wrong: Vec<String>,
}

/// A message that stands where the model has none.
struct Extra {
    mailbox: String,
    uid: u32,
    key: String,
    flags: BTreeSet<String>,
}

impl Reconcile<'_> {
    fn complain(&mut self, text: String) {
        self.wrong.push(format!("{} {text}", self.user.name));
    }

    /// Checks all that must be there; gives what is there besides.
    fn compare(&mut self, found: &BTreeMap<String, Found>) -> Vec<Extra> {
        let mut extra = Vec::new();
        let names: Vec<String> = self.user.mailboxes.keys().cloned().collect();
        for name in names.iter().filter(|n| !found.contains_key(*n)) {
            self.complain(format!("{name}: the mailbox is gone"));
        }
        for (name, found) in found {
            if !self.user.mailboxes.contains_key(name) {
                let asked = Op::Create { mailbox: name.clone() };
                let by_rule = self.user.files && name == FILED;
                if self.user.in_flight != Some(asked) && !by_rule {
                    self.complain(format!("{name}: nobody made this mailbox"));
                }
                self.user.mailboxes.insert(name.clone(), Mailbox::default());
            }
            self.compare_mailbox(name, found, &mut extra);
        }
        extra
    }

    fn compare_mailbox(&mut self, name: &str, found: &Found, extra: &mut Vec<Extra>) {
        let mailbox = self.user.mailboxes.get(name).cloned().unwrap_or_default();
        if mailbox.validity != 0 && mailbox.validity != found.validity {
            let (was, is) = (mailbox.validity, found.validity);
            self.complain(format!("{name}: UIDVALIDITY was {was} and is {is}"));
        }
        if let Some(mailbox) = self.user.mailboxes.get_mut(name) {
            mailbox.validity = found.validity;
        }
        for (uid, copy) in &mailbox.copies {
            match found.messages.get(uid) {
                Some((key, flags)) => {
                    if *key != copy.key {
                        self.complain(format!("{name}: uid {uid} was {} and is {key}", copy.key));
                    }
                    self.compare_flags(name, *uid, copy, flags);
                }
                None => self.missing(name, *uid, copy),
            }
        }
        for (uid, (key, flags)) in &found.messages {
            if !mailbox.copies.contains_key(uid) {
                let (mailbox, key, flags) = (name.to_owned(), key.clone(), flags.clone());
                extra.push(Extra { mailbox, uid: *uid, key, flags });
            }
        }
    }

    fn compare_flags(&mut self, name: &str, uid: u32, copy: &Copy, flags: &BTreeSet<String>) {
        let mut expected = copy.flags.clone();
        if self.user.seen.contains(&copy.key) {
            expected.insert("\\Seen".into());
        }
        let mut actual = entry_flags(flags);
        if flags.contains("\\Seen") {
            actual.insert("\\Seen".into());
        }
        let asked = match &self.user.in_flight {
            Some(Op::Flag { mailbox, uid: u, flag }) if mailbox == name && *u == uid => {
                Some(flag.clone())
            }
            Some(Op::Seen { key }) if *key == copy.key => Some("\\Seen".to_owned()),
            _ => None,
        };
        if let Some(flag) = asked.filter(|f| actual.contains(f)) {
            expected.insert(flag);
        }
        if expected != actual {
            let key = &copy.key;
            self.complain(format!(
                "{name}: uid {uid} {key} has {actual:?} instead of {expected:?}"
            ));
        }
        if actual.contains("\\Seen") {
            self.user.seen.insert(copy.key.clone());
        }
        if let Some(copy) = self.user.copy_mut(name, uid) {
            copy.flags = entry_flags(&actual);
        }
    }

    /// An entry is gone: right only for an expunge or move that was in flight.
    fn missing(&mut self, name: &str, uid: u32, copy: &Copy) {
        match &self.user.in_flight {
            Some(Op::Expunge { mailbox, uid: u }) if mailbox == name && *u == uid => {}
            Some(Op::Move { mailbox, uid: u, .. }) if mailbox == name && *u == uid => {
                self.moved_away = true; // explain() looks for where it went
                return;
            }
            _ => self.complain(format!("{name}: uid {uid} {} is lost", copy.key)),
        }
        self.user.take(name, uid);
    }

    /// What is there besides must come from a delivery or from the operation in flight, once.
    fn explain(&mut self, extra: Vec<Extra>) {
        let mut from_op = self.user.in_flight.clone();
        for e in extra {
            let Extra { mailbox, uid, key, flags } = e;
            let by_op = from_op.as_ref().is_some_and(|op| self.makes(op, &mailbox, &key));
            let by_mail = mailbox == self.user.home(&key) && self.user.due.contains_key(&key);
            let outcome = if by_op {
                from_op = None;
                self.user.put(&mailbox, uid, &key, entry_flags(&flags))
            } else if by_mail {
                self.user.arrive(&mailbox, uid, &key)
            } else {
                let ours = parse_message_id(self.seed, &key).map(|(way, _)| way);
                let sent = matches!(ours, Some(Way::Smtp | Way::Filed));
                let again = sent && self.user.arrived.contains(&key);
                let what = if again { "is a duplicate" } else { "has no reason to be here" };
                Err(format!("{} {mailbox}: uid {uid} {key} {what}", self.user.name))
            };
            self.wrong.extend(outcome.err());
        }
        if let Some(Op::Move { mailbox, uid, to }) = self.user.in_flight.take() {
            self.settle_move(&mailbox, uid, &to, from_op.is_none());
        }
    }

    fn makes(&self, op: &Op, mailbox: &str, key: &str) -> bool {
        match op {
            Op::Append { mailbox: m, key: k } => m == mailbox && k == key,
            Op::Copy { mailbox: from, uid, to } | Op::Move { mailbox: from, uid, to } => {
                let copy = self.user.mailboxes.get(from).and_then(|m| m.copies.get(uid));
                to == mailbox && copy.is_some_and(|c| c.key == key)
            }
            _ => false,
        }
    }

    /// A move that was in flight happened wholly or not at all.
    fn settle_move(&mut self, mailbox: &str, uid: u32, to: &str, put_down: bool) {
        let gone = self.moved_away;
        if gone != put_down {
            let state = if gone { "left and did not arrive" } else { "arrived and did not leave" };
            self.complain(format!("{mailbox}: uid {uid} on its way to {to} {state}"));
        }
        if gone {
            self.user.take(mailbox, uid);
        }
    }

    /// With mail.box empty, what was acknowledged has arrived; the rest never will.
    fn settle_due(&mut self) {
        let due = std::mem::take(&mut self.user.due);
        for (key, _) in due.iter().filter(|(_, due)| **due == Due::Acknowledged) {
            self.complain(format!("INBOX: {key} was acknowledged and is not there"));
        }
    }
}

#[cfg(test)]
mod tests;
