//! How each act is done over IMAP, SMTP and LDAP.

use std::sync::Arc;

use super::fault::Fault;
use super::person::Person;
use crate::ledger::{Flagging, Place};
use crate::wire::{Change, Found, Ldap, Part};
use crate::workload::{Act, Step};

const INBOX: &str = "INBOX";
/// Keywords that documents are stamped with.
const CATEGORIES: [&str; 8] =
    ["Red", "Blue", "Green", "Travel", "Sales", "Family", "Later", "Done"];

impl Person {
    /// Does step number `at` once.
    pub(super) async fn act(&mut self, at: usize, step: &Step) -> Result<(), Fault> {
        match step.act {
            Act::Open => self.select(INBOX).await,
            Act::Refresh => self.refresh(step.count).await,
            Act::Scroll => self.scroll(step.count).await,
            Act::Switch => self.switch(&step.folder, step.count).await,
            Act::Read => self.read().await,
            Act::Send | Act::Reply => self.send(at, step).await,
            Act::Invite => self.invite(at, step).await,
            Act::Rsvp => self.rsvp(at).await,
            Act::Appointment => self.appoint(at).await,
            Act::Poll => self.poll().await,
            Act::Delete => self.delete(step.count).await,
            Act::Stamp => self.stamp(step.count).await,
            Act::Add => self.add(at, &step.folder).await,
            Act::Move => self.file(step.count, &step.folder).await,
            Act::Lookup => self.look_up().await,
            Act::List => self.desk.imap()?.list("*").await.map(drop).map_err(Fault::from),
            Act::Retrieve => self.retrieve().await,
            Act::SignOut => self.sign_out().await,
        }
    }

    async fn refresh(&mut self, count: u32) -> Result<(), Fault> {
        if self.desk.selected == INBOX {
            self.ask_news().await?;
        } else {
            self.select(INBOX).await?;
        }
        self.show_last(count).await
    }

    async fn scroll(&mut self, count: u32) -> Result<(), Fault> {
        self.be_in(INBOX).await?;
        let exists = self.desk.imap()?.exists();
        if exists == 0 {
            return Err(Fault::Nothing("scroll: the folder is empty"));
        }
        let first_max = exists.saturating_sub(count).saturating_add(1);
        let first = self.dice.between(1, u64::from(first_max)) as u32;
        let last = first.saturating_add(count - 1).min(exists);
        let rows = self.desk.imap()?.list_rows(first..=last).await?;
        self.see(&rows);
        Ok(())
    }

    async fn switch(&mut self, folder: &str, count: u32) -> Result<(), Fault> {
        self.select(folder).await?;
        self.show_last(count).await
    }

    async fn read(&mut self) -> Result<(), Fault> {
        self.be_in(INBOX).await?;
        let Some(mut kept) = self.desk.next_to_read(&mut self.dice) else {
            return Err(Fault::Nothing("read: no message"));
        };
        let uid = kept.uid;
        let whole = self.dice.chance(self.world.plan.workload.read_attachments);
        let part = if whole { Part::Whole } else { Part::Text };
        let place = Place::new(self.number, INBOX);
        let read = match self.desk.imap()?.read(uid, part).await {
            Ok(Some(read)) => read,
            Ok(None) => {
                self.desk.forget(&[uid]);
                return Err(Fault::Wrong(format!("uid {uid} is not there any more")));
            }
            Err(error) => {
                self.world.ledger.unsure_flagged(place, uid, &["\\Seen"]);
                return Err(error.into());
            }
        };
        self.world.ledger.flagged(place, uid, Flagging::Add, &["\\Seen"]);
        if whole {
            self.world.ledger.read_back(place, uid, read.tail_octets, read.tail_sum);
        }
        if let Some(shown) = self.desk.inbox.iter_mut().find(|shown| shown.uid == uid) {
            shown.seen = true;
        }
        kept.seen = true;
        self.desk.open = Some(kept);
        Ok(())
    }

    async fn poll(&mut self) -> Result<(), Fault> {
        if self.desk.selected == INBOX {
            return self.ask_news().await;
        }
        let status = self.desk.imap()?.status(INBOX).await?;
        self.world.ledger.counted(Place::new(self.number, INBOX), status.messages);
        Ok(())
    }

    async fn delete(&mut self, count: u32) -> Result<(), Fault> {
        self.be_in(INBOX).await?;
        let uids = self.desk.choose(count, &mut self.dice);
        if uids.is_empty() {
            return Err(Fault::Nothing("delete: no message"));
        }
        self.expunge(&uids).await
    }

    /// Deletes messages of INBOX, which is open.
    pub(super) async fn expunge(&mut self, uids: &[u32]) -> Result<(), Fault> {
        let world = Arc::clone(&self.world);
        let place = Place::new(self.number, INBOX);
        self.flag(uids, &["\\Deleted"]).await?;
        let result = self.desk.imap()?.expunge_uids(uids).await;
        for &uid in uids {
            match &result {
                Ok(_) => world.ledger.deleted(place, uid),
                Err(_) => world.ledger.unsure_deleted(place, uid),
            }
        }
        self.desk.forget(uids);
        Ok(result.map(drop)?)
    }

    async fn stamp(&mut self, count: u32) -> Result<(), Fault> {
        self.be_in(INBOX).await?;
        let uids = self.desk.choose(count, &mut self.dice);
        if uids.is_empty() {
            return Err(Fault::Nothing("stamp: no message"));
        }
        let category = CATEGORIES[self.dice.below(CATEGORIES.len() as u64) as usize];
        self.flag(&uids, &[category]).await
    }

    /// Sets flags of messages of INBOX, which is open.
    pub(super) async fn flag(&mut self, uids: &[u32], flags: &[&str]) -> Result<(), Fault> {
        let world = Arc::clone(&self.world);
        let place = Place::new(self.number, INBOX);
        let result = self.desk.imap()?.store_flags(uids, Change::Add, flags).await;
        for &uid in uids {
            match &result {
                Ok(_) => world.ledger.flagged(place, uid, Flagging::Add, flags),
                Err(_) => world.ledger.unsure_flagged(place, uid, flags),
            }
        }
        Ok(result.map(drop)?)
    }

    async fn add(&mut self, at: usize, folder: &str) -> Result<(), Fault> {
        let letter = self.note_to_self(at);
        self.append(folder, &[], &letter).await
    }

    /// Puts messages of INBOX into another folder.
    async fn file(&mut self, count: u32, folder: &str) -> Result<(), Fault> {
        self.be_in(INBOX).await?;
        let uids = self.desk.choose(count, &mut self.dice);
        if uids.is_empty() {
            return Err(Fault::Nothing("move: no message"));
        }
        let world = Arc::clone(&self.world);
        let place = Place::new(self.number, INBOX);
        let result = self.desk.imap()?.move_uids(&uids, folder).await;
        for &uid in &uids {
            match &result {
                Ok(pairs) => {
                    let new = pairs.iter().find(|(old, _)| *old == uid).map(|(_, new)| *new);
                    world.ledger.moved(place, uid, folder, new);
                }
                Err(_) => world.ledger.unsure_moved(place, uid, folder),
            }
        }
        self.desk.forget(&uids);
        Ok(result.map(drop)?)
    }

    async fn look_up(&mut self) -> Result<(), Fault> {
        let world = Arc::clone(&self.world);
        let Some(endpoint) = &world.target.ldap else {
            return Err(Fault::Nothing("lookup: no LDAP port was given"));
        };
        if self.ldap.is_none() {
            let mut ldap = Ldap::connect(endpoint, world.plan.timeouts).await?;
            ldap.bind("", "").await?;
            self.ldap = Some(Box::new(ldap));
        }
        let mut to = Vec::new();
        world.recipients.fill(&mut to, 1, self.number, &mut self.dice);
        let address = world.target.people.address(to.first().copied().unwrap_or(1));
        let Some(ldap) = &mut self.ldap else { return Ok(()) };
        let Found { entries, fitting } =
            ldap.search(&world.target.ldap_base, "mail", &address).await?;
        match entries {
            0 => Err(Fault::Wrong(format!("{address} is not in the directory"))),
            _ if fitting < entries => {
                Err(Fault::Wrong(format!("{address} was asked for, others were found")))
            }
            _ => Ok(()),
        }
    }

    async fn sign_out(&mut self) -> Result<(), Fault> {
        self.traffic += self.desk.take_traffic();
        match self.desk.take() {
            Some(imap) => Ok(imap.logout().await.map(drop)?),
            None => Ok(()),
        }
    }
}
