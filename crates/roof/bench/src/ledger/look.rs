//! Mailboxes are read: what is in each folder of a person.

use super::judge::{Mark, Shelf};
use super::terms::fold;
use super::{Key, Ledger, Place, Sight, View};
use crate::target::{Endpoint, Target};
use crate::wire::{Error, Imap, Part, Pop3, Timeouts};

/// Folders with at most so many messages are read in full, not only from the first new uid on.
const WHOLE_MAX: usize = 1000;
/// Times that a folder is read again because something arrived meanwhile.
const AGAIN_MAX: usize = 5;

/// How much of the messages is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// What lies there, for the beginning.
    Begin,
    /// Everything the model wants to know.
    Check,
}

/// A way to a person's mailboxes.
pub(super) enum Visit {
    Imap(Imap),
    Pop3(Pop3),
}

/// The endpoint that mailboxes are read at: IMAP, or POP3 when there is no IMAP.
pub(super) fn reading(target: &Target) -> Option<&Endpoint> {
    target.imap.as_ref().or(target.pop3.as_ref())
}

impl Visit {
    /// Signs in as a person.
    pub(super) async fn begin(
        target: &Target,
        person: u32,
        timeouts: Timeouts,
    ) -> Result<Self, Error> {
        let (address, password) = (target.people.address(person), &target.people.password);
        if let Some(endpoint) = &target.imap {
            let mut imap = Imap::connect(endpoint, timeouts).await?;
            imap.login(&address, password).await?;
            return Ok(Self::Imap(imap));
        }
        let Some(endpoint) = &target.pop3 else { return Err(Error::Closed) };
        let mut pop3 = Pop3::connect(endpoint, timeouts).await?;
        pop3.login(&address, password).await?;
        Ok(Self::Pop3(pop3))
    }

    /// The folders that can be looked into.
    pub(super) async fn folders(&mut self) -> Result<Vec<String>, Error> {
        let Self::Imap(imap) = self else { return Ok(vec!["INBOX".to_owned()]) };
        let folders = imap.list("*").await?.into_iter().filter(|folder| {
            let closed = ["\\noselect", "\\nonexistent"];
            !folder.attributes.iter().any(|a| closed.contains(&a.to_ascii_lowercase().as_str()))
        });
        Ok(folders.map(|folder| folder.name).collect())
    }

    /// What is in a folder.
    pub(super) async fn look(
        &mut self,
        ledger: &Ledger,
        place: Place<'_>,
        depth: Depth,
    ) -> Result<Shelf, Error> {
        match self {
            Self::Imap(imap) => {
                let mut shelf = look_imap(imap, ledger, place, depth).await?;
                for _ in 0..AGAIN_MAX {
                    let empty = shelf.view.exists == Some(0);
                    if empty || imap.noop().await?.exists == shelf.view.exists.unwrap_or(0) {
                        break;
                    }
                    shelf = look_imap(imap, ledger, place, depth).await?;
                }
                Ok(shelf)
            }
            Self::Pop3(pop3) => look_pop3(pop3, ledger, place, depth).await,
        }
    }

    /// Reads a message of the folder that was looked into last: octets from its Message-ID on, and
    /// their sum. `None` when it is not there.
    pub(super) async fn read(&mut self, uid: u32) -> Result<Option<(u64, u32)>, Error> {
        let Self::Imap(imap) = self else { return Ok(None) };
        let read = imap.peek(uid, Part::Whole).await?;
        Ok(read.map(|read| (read.tail_octets, read.tail_sum)))
    }

    /// New messages of INBOX, from a uid on.
    pub(super) async fn news(&mut self, ledger: &Ledger, person: u32) -> Result<(), Error> {
        let place = Place::new(person, "INBOX");
        match self {
            Self::Imap(imap) => {
                let selected = imap.select("INBOX").await?;
                let from = ledger.room(place, |room, _| room.awaited_from()).unwrap_or(1);
                let marks = imap.marks(from).await?;
                let view = View {
                    uid_validity: selected.uid_validity,
                    uid_next: selected.uid_next,
                    exists: None,
                };
                let sight =
                    |m: &crate::wire::Mark| Sight { uid: m.uid, key: Key::of(&m.message_id) };
                let sights: Vec<Sight> = marks.iter().map(sight).collect();
                ledger.observed(place, &view, &sights);
            }
            Self::Pop3(pop3) => {
                let shelf = look_pop3(pop3, ledger, place, Depth::Check).await?;
                ledger.room(place, |room, found| room.absorb(&shelf, found));
            }
        }
        Ok(())
    }

    /// Signs off.
    pub(super) async fn end(self) {
        // everything has been read; a server that does not say goodbye changes nothing
        let _ = match self {
            Self::Imap(imap) => imap.logout().await,
            Self::Pop3(pop3) => pop3.quit().await,
        };
    }
}

async fn look_imap(
    imap: &mut Imap,
    ledger: &Ledger,
    place: Place<'_>,
    depth: Depth,
) -> Result<Shelf, Error> {
    let status = imap.status(place.folder).await?;
    let mut shelf = Shelf { status: Some(status.messages), ..Shelf::default() };
    let known = ledger.room(place, |room, _| !room.is_empty()).unwrap_or(false);
    if status.messages == 0 && !known {
        shelf.view.uid_validity = status.uid_validity;
        shelf.view.uid_next = Some(status.uid_next);
        shelf.view.exists = Some(0);
        return Ok(shelf);
    }
    let selected = imap.select(place.folder).await?;
    shelf.view.uid_validity = selected.uid_validity;
    shelf.view.uid_next = selected.uid_next;
    shelf.view.exists = Some(selected.exists);
    shelf.uids = imap.search_all().await?;
    let from = match depth {
        _ if shelf.uids.len() <= WHOLE_MAX => 1,
        Depth::Begin => return Ok(shelf),
        Depth::Check => ledger.room(place, |room, _| room.read_from()).unwrap_or(1),
    };
    if shelf.uids.iter().any(|uid| *uid >= from) {
        let marks = imap.marks(from).await?;
        shelf.marks = marks.into_iter().map(|mark| told(ledger, &mark)).collect();
    }
    Ok(shelf)
}

fn told(ledger: &Ledger, mark: &crate::wire::Mark) -> Mark {
    let flags: Vec<&str> = mark.flags.iter().map(String::as_str).collect();
    Mark {
        sight: Sight { uid: mark.uid, key: Key::of(&mark.message_id) },
        octets: mark.octets,
        taken_s: Some(mark.internal_date),
        flags: Some(ledger.known_bits(&flags)),
    }
}

/// A maildrop: the numbers of its messages are made of their unique ids (RFC 1939 section 7).
async fn look_pop3(
    pop3: &mut Pop3,
    ledger: &Ledger,
    place: Place<'_>,
    depth: Depth,
) -> Result<Shelf, Error> {
    let (messages, _) = pop3.stat().await?;
    let view = View { uid_validity: 0, uid_next: Some(0), exists: Some(messages) };
    let mut shelf = Shelf { view, ..Shelf::default() };
    for (number, id) in pop3.uidl().await? {
        let uid = fold(&id) as u32;
        shelf.uids.push(uid);
        let is_known = ledger.room(place, |room, _| room.key_of(uid).is_some() || room.had(uid));
        if depth == Depth::Begin || is_known.unwrap_or(true) {
            continue;
        }
        let read = pop3.retrieve(number).await?;
        let sight = Sight { uid, key: Key::of(&read.message_id) };
        let octets = read.octets;
        shelf.marks.push(Mark { sight, octets, taken_s: None, flags: None });
        ledger.observed(place, &View { exists: None, ..view }, &[sight]);
        ledger.read_back(place, uid, read.tail_octets, read.tail_sum);
    }
    Ok(shelf)
}
