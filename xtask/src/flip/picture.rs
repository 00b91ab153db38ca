//! What a client sees of one person's mail, and how two such pictures differ.

use crate::crash::imap::{Fetched, Imap, ImapError};
use crate::crash::load::{PASSWORD, address};
use crate::crash::server::Place;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// One message: a hash of its bytes, and its flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub bytes: u64,
    pub flags: Vec<String>,
}

/// One mailbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mailbox {
    pub validity: u32,
    pub messages: BTreeMap<u32, Message>,
}

/// All mailboxes of one person, as far as they could be read.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    pub mailboxes: BTreeMap<String, Mailbox>,
    /// What was refused or broke off.
    pub trouble: Vec<String>,
}

/// How a picture differs from the truth.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Messages and mailboxes that are not shown.
    pub withheld: Vec<String>,
    /// Messages shown with other bytes.
    pub false_bytes: Vec<String>,
    /// Flags, UIDVALIDITY, messages or mailboxes that were not there.
    pub changed: Vec<String>,
}

impl Difference {
    /// Whether the pictures are the same.
    pub fn is_none(&self) -> bool {
        *self == Difference::default()
    }
}

/// Looks at everything that user `index` has.
pub fn take(place: &Place, index: usize) -> Picture {
    let mut picture = Picture::default();
    if let Err(error) = fill(place, index, &mut picture) {
        picture.trouble.push(format!("{}: {error:?}", address(index)));
    }
    picture
}

fn fill(place: &Place, index: usize, picture: &mut Picture) -> Result<(), ImapError> {
    let connect = || Imap::connect(place.imap(), &address(index), PASSWORD);
    let mut imap = connect()?;
    for name in imap.list()? {
        let validity = match imap.select(&name) {
            Ok(validity) => validity,
            Err(ImapError::Broken(e)) => return Err(e.into()),
            Err(ImapError::Refused(text)) => {
                picture.trouble.push(text);
                continue;
            }
        };
        let mailbox = picture.mailboxes.entry(name.clone()).or_default();
        mailbox.validity = validity;
        let Err(error) = read(&mut imap, "1:*", mailbox) else { continue };
        picture.trouble.push(format!("{name}: {error:?}"));
        one_by_one(&connect, &name, mailbox)?;
        imap = connect()?;
    }
    Ok(())
}

/// Reads what can be read around a damaged message.
fn one_by_one(
    connect: &dyn Fn() -> Result<Imap, ImapError>,
    name: &str,
    mailbox: &mut Mailbox,
) -> Result<(), ImapError> {
    let mut imap = connect()?;
    imap.select(name)?;
    let Ok(lines) = imap.command("UID SEARCH ALL") else { return Ok(()) };
    let found = lines.iter().filter_map(|line| line.text.strip_prefix("* SEARCH "));
    let uids: Vec<String> = found.flat_map(|l| l.split(' ')).map(str::to_owned).collect();
    for uid in uids {
        if let Err(ImapError::Broken(_)) = read(&mut imap, &uid, mailbox) {
            imap = connect()?;
            imap.select(name)?;
        }
    }
    Ok(())
}

fn read(imap: &mut Imap, set: &str, mailbox: &mut Mailbox) -> Result<(), ImapError> {
    for Fetched { uid, mut flags, literal } in imap.fetch(set, "BODY.PEEK[]")? {
        let mut hasher = DefaultHasher::new();
        literal.hash(&mut hasher);
        flags.retain(|flag| flag != "\\Recent");
        flags.sort();
        mailbox.messages.insert(uid, Message { bytes: hasher.finish(), flags });
    }
    Ok(())
}

/// Compares what is seen with what is true.
pub fn compare(truth: &Picture, now: &Picture) -> Difference {
    let mut found = Difference::default();
    for (name, then) in &truth.mailboxes {
        let Some(now) = now.mailboxes.get(name) else {
            found.withheld.push(name.clone());
            continue;
        };
        if now.validity != then.validity {
            found.changed.push(format!("{name}: UIDVALIDITY"));
        }
        for (uid, message) in &then.messages {
            match now.messages.get(uid) {
                None => found.withheld.push(format!("{name}/{uid}")),
                Some(shown) if shown.bytes != message.bytes => {
                    found.false_bytes.push(format!("{name}/{uid}"));
                }
                Some(shown) if shown.flags != message.flags => {
                    let (is, was) = (&shown.flags, &message.flags);
                    found.changed.push(format!("{name}/{uid}: {is:?} instead of {was:?}"));
                }
                Some(_) => {}
            }
        }
        for uid in now.messages.keys().filter(|uid| !then.messages.contains_key(uid)) {
            found.changed.push(format!("{name}/{uid} is new"));
        }
    }
    for name in now.mailboxes.keys().filter(|name| !truth.mailboxes.contains_key(*name)) {
        found.changed.push(format!("{name} is new"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Difference, Mailbox, Message, Picture, compare};

    fn picture(rows: &[(u32, u64, &str)]) -> Picture {
        let row = |(uid, bytes, flag): &(u32, u64, &str)| {
            (*uid, Message { bytes: *bytes, flags: vec![(*flag).to_owned()] })
        };
        let mailbox = Mailbox { validity: 3, messages: rows.iter().map(row).collect() };
        Picture { mailboxes: [("INBOX".to_owned(), mailbox)].into(), trouble: Vec::new() }
    }

    #[test]
    fn differences_are_told_apart() {
        let truth = picture(&[(1, 10, "a"), (2, 20, "b")]);
        let kinds = |now: &Picture| {
            let Difference { withheld, false_bytes, changed } = compare(&truth, now);
            (withheld.len(), false_bytes.len(), changed.len())
        };
        assert_eq!(kinds(&truth), (0, 0, 0));
        assert_eq!(kinds(&picture(&[(1, 10, "a")])), (1, 0, 0));
        assert_eq!(kinds(&picture(&[(1, 10, "a"), (2, 21, "b")])), (0, 1, 0));
        assert_eq!(kinds(&picture(&[(1, 10, "a"), (2, 20, "c"), (3, 1, "")])), (0, 0, 2));
        assert_eq!(kinds(&Picture::default()), (1, 0, 0));
    }
}
