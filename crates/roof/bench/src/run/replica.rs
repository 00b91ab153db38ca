//! A local replica: its owner reads and changes messages without the server, and both are brought
//! together every iteration: new messages are read whole, deletions, flags and copies are pushed.

use std::collections::VecDeque;

use super::desk::Kept;
use super::fault::Fault;
use super::person::Person;
use crate::ledger::{Key, Place, Sight, View};
use crate::letters::{Kind, Letter};
use crate::wire::Part;
use crate::workload::{Act, Step};

const INBOX: &str = "INBOX";
/// Letters that wait for the synchronisation at the most; further ones are not written.
const WAITING_MAX: usize = 64;
/// Messages on the screen.
const ROWS_MAX: usize = 20;

/// What of a local replica the server does not know yet, and where it left off.
#[derive(Default)]
pub(super) struct Replica {
    /// The first uid that was not fetched yet; 0 before the first sign-in.
    next_uid: u32,
    seen: Vec<u32>,
    deleted: Vec<u32>,
    added: VecDeque<(Box<str>, Letter)>,
}

impl Replica {
    /// Whether an act touches the replica only.
    pub(super) fn keeps(act: Act) -> bool {
        !act.sends() && !matches!(act, Act::Lookup | Act::Retrieve | Act::SignOut)
    }

    /// The replica is as the server at the first sign-in.
    pub(super) fn begin(&mut self, rows: &[Kept]) {
        if self.next_uid == 0 {
            self.next_uid = rows.last().map_or(1, |kept| kept.uid + 1);
        }
    }

    pub(super) fn add(&mut self, folder: &str, letter: Letter) {
        if self.added.len() < WAITING_MAX {
            self.added.push_back((folder.into(), letter));
        }
    }
}

impl Person {
    /// Does a step in the replica.
    pub(super) fn act_locally(&mut self, at: usize, step: &Step) {
        match step.act {
            Act::Read => self.read_locally(),
            Act::Delete => {
                let uids = self.desk.choose(step.count, &mut self.dice);
                self.desk.forget(&uids);
                if let Some(replica) = &mut self.replica {
                    replica.seen.retain(|uid| !uids.contains(uid));
                    replica.deleted.extend(uids);
                }
            }
            Act::Appointment => {
                let letter = self.write(at, Kind::Appointment, &[self.number]);
                self.keep_locally("Calendar", letter);
            }
            Act::Add => {
                let letter = self.note_to_self(at);
                self.keep_locally(&step.folder, letter);
            }
            _ => {}
        }
    }

    fn keep_locally(&mut self, folder: &str, letter: Letter) {
        if let Some(replica) = &mut self.replica {
            replica.add(folder, letter);
        }
    }

    fn read_locally(&mut self) {
        let Some(mut kept) = self.desk.next_to_read(&mut self.dice) else { return };
        if !kept.seen
            && let Some(replica) = &mut self.replica
        {
            replica.seen.push(kept.uid);
        }
        kept.seen = true;
        if let Some(shown) = self.desk.inbox.iter_mut().find(|shown| shown.uid == kept.uid) {
            shown.seen = true;
        }
        self.desk.open = Some(kept);
    }

    /// Brings replica and server together.
    pub(super) async fn replicate(&mut self) -> Result<(), Fault> {
        if self.desk.selected == INBOX {
            self.ask_news().await?;
        } else {
            self.select(INBOX).await?;
        }
        self.push_changes().await?;
        self.pull_new().await
    }

    async fn push_changes(&mut self) -> Result<(), Fault> {
        let Some(replica) = &mut self.replica else { return Ok(()) };
        let seen = std::mem::take(&mut replica.seen);
        let deleted = std::mem::take(&mut replica.deleted);
        if !seen.is_empty() {
            self.flag(&seen, &["\\Seen"]).await?;
        }
        if !deleted.is_empty() {
            self.expunge(&deleted).await?;
        }
        while let Some((folder, letter)) = self.replica.as_mut().and_then(|r| r.added.pop_front()) {
            self.append(&folder, &["\\Seen"], &letter).await?;
        }
        Ok(())
    }

    async fn pull_new(&mut self) -> Result<(), Fault> {
        let Some(from) = self.replica.as_ref().map(|replica| replica.next_uid) else {
            return Ok(());
        };
        let marks = self.desk.imap()?.marks(from).await?;
        let sight = |uid, id: &str| Sight { uid, key: Key::of(id) };
        let sights: Vec<Sight> = marks.iter().map(|m| sight(m.uid, &m.message_id)).collect();
        let place = Place::new(self.number, INBOX);
        self.world.ledger.observed(place, &View::default(), &sights);
        for mark in marks {
            let Some(read) = self.desk.imap()?.peek(mark.uid, Part::Whole).await? else {
                return Err(Fault::Wrong(format!("uid {} is not there any more", mark.uid)));
            };
            self.world.ledger.read_back(place, mark.uid, read.tail_octets, read.tail_sum);
            let message_id = mark.message_id.as_str().into();
            self.desk.inbox.push(Kept { uid: mark.uid, seen: false, message_id });
            if let Some(replica) = &mut self.replica {
                replica.next_uid = mark.uid + 1;
            }
        }
        let surplus = self.desk.inbox.len().saturating_sub(ROWS_MAX);
        self.desk.inbox.drain(..surplus);
        Ok(())
    }
}
