//! Looks at all mailboxes over IMAP and at the bytes in them.

use super::dice::Dice;
use super::imap::{Imap, ImapError};
use super::letter::{Way, letter, parse_message_id};
use super::load::{DESKS, PASSWORD, Shared, address, header_value, lock};
use super::model::{Found, User};
use std::collections::BTreeMap;

/// Bodies fetched with one command.
const BATCH: usize = 50;

/// How closely a round looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every message that was not read before, and one in twenty of the others.
    Usual,
    /// Every message.
    Everything,
}

/// What user `index` has now.
pub fn find(shared: &Shared, index: usize) -> Result<BTreeMap<String, Found>, String> {
    let words = |e: ImapError| format!("{}: {e:?}", address(index));
    let mut imap = Imap::connect(shared.ports.imap, &address(index), PASSWORD).map_err(words)?;
    let mut all = BTreeMap::new();
    for name in imap.list().map_err(words)? {
        let validity = imap.select(&name).map_err(words)?;
        let item = "BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]";
        let fetched = imap.fetch("1:*", item).map_err(words)?;
        let messages = fetched.into_iter().map(|m| {
            let flags = m.flags.into_iter().collect();
            (m.uid, (header_value(&m.literal), flags))
        });
        all.insert(name, Found { validity, messages: messages.collect() });
    }
    Ok(all)
}

/// Compares everybody with the model; what is wrong goes to the list of `shared`.
pub fn check_everybody(shared: &Shared, depth: Depth) {
    std::thread::scope(|scope| {
        for part in 0..DESKS {
            scope.spawn(move || {
                for index in (part..shared.users.len()).step_by(DESKS) {
                    let wrong = check(shared, index, depth);
                    lock(&shared.wrong).extend(wrong);
                }
            });
        }
    });
    // one note in mail.box carries a message to all of its recipients
    for (key, recipients) in lock(&shared.letters).iter() {
        let has = |index: &&usize| lock(&shared.users[**index]).arrived.contains(key);
        let arrived = recipients.iter().filter(has).count();
        if arrived != 0 && arrived != recipients.len() {
            let all = recipients.len();
            shared.complain(format!("{key} reached {arrived} of {all} recipients"));
        }
    }
}

/// Compares user `index` with its model and its bytes with what was sent; gives what is wrong.
fn check(shared: &Shared, index: usize, depth: Depth) -> Vec<String> {
    let found = match find(shared, index) {
        Ok(found) => found,
        Err(trouble) => return vec![trouble],
    };
    let mut user = lock(&shared.users[index]);
    let mut wrong = user.reconcile(shared.seed, &found);
    match check_bytes(shared, &mut user, index, depth) {
        Ok(more) => wrong.extend(more),
        Err(e) => wrong.push(format!("{}: {e:?}", address(index))),
    }
    wrong
}

fn check_bytes(
    shared: &Shared,
    user: &mut User,
    index: usize,
    depth: Depth,
) -> Result<Vec<String>, ImapError> {
    let mut imap = Imap::connect(shared.ports.imap, &address(index), PASSWORD)?;
    let mut dice = Dice::new(shared.seed, 900 + index as u64);
    let mut wrong = Vec::new();
    for (name, mailbox) in &mut user.mailboxes {
        let copies = mailbox.copies.iter();
        let wanted =
            copies.filter(|(_, c)| depth == Depth::Everything || !c.read || dice.chance(5));
        let uids: Vec<u32> = wanted.map(|(uid, _)| *uid).collect();
        if uids.is_empty() {
            continue;
        }
        imap.select(name)?;
        for batch in uids.chunks(BATCH) {
            let set: Vec<String> = batch.iter().map(u32::to_string).collect();
            let fetched = imap.fetch(&set.join(","), "BODY.PEEK[]")?;
            if fetched.len() != batch.len() {
                let (got, asked) = (fetched.len(), batch.len());
                wrong.push(format!("{} {name}: {got} of {asked} bodies came", user.name));
            }
            for message in fetched {
                let Some(copy) = mailbox.copies.get_mut(&message.uid) else { continue };
                copy.read = true;
                if !right_bytes(shared.seed, &copy.key, &message.literal) {
                    let (uid, key) = (message.uid, &copy.key);
                    wrong.push(format!("{} {name}: uid {uid} {key} has wrong bytes", user.name));
                }
            }
        }
    }
    Ok(wrong)
}

/// Whether these are the bytes that were sent: a delivery has trace headers in front of them.
fn right_bytes(seed: u64, key: &str, bytes: &[u8]) -> bool {
    match parse_message_id(seed, key) {
        Some((Way::Append, number)) => bytes == letter(seed, Way::Append, number),
        Some((way, number)) => bytes.ends_with(&letter(seed, way, number)),
        None => true, // the demo's own mail
    }
}
