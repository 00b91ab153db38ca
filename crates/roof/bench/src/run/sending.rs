//! Letters on their way: by SMTP to others, by APPEND into one's own folders.

use std::sync::Arc;
use std::time::Instant;

use super::fault::Fault;
use super::person::Person;
use crate::ledger::{Facts, Key, Place};
use crate::letters::{Kind, Letter, Order};
use crate::wire::{Accepted, Error, Smtp};
use crate::workload::{Act, Step};

const CALENDAR: &str = "Calendar";

/// What the model has to know of a letter.
pub(super) fn facts(letter: &Letter) -> Facts {
    Facts { key: Key::of(letter.message_id()), octets: letter.octets, sum: letter.sum }
}

impl Person {
    /// Writes a letter of step number `at`.
    pub(super) fn write(&mut self, at: usize, kind: Kind<'_>, to: &[u32]) -> Letter {
        let people = &self.world.target.people;
        let to: Vec<String> = to.iter().map(|person| people.address(*person)).collect();
        let order = Order::new(kind, &self.address, &to);
        self.world.letters[at].letter(&mut self.author, &order)
    }

    /// Something that one keeps for oneself.
    pub(super) fn note_to_self(&mut self, at: usize) -> Letter {
        self.write(at, Kind::Memo, &[self.number])
    }

    pub(super) async fn send(&mut self, at: usize, step: &Step) -> Result<(), Fault> {
        let (letter, to) = self.compose(at, step);
        self.submit(&letter, &to).await?;
        self.keep_copy(letter).await
    }

    /// A new letter, or an answer to the one that was read last.
    fn compose(&mut self, at: usize, step: &Step) -> (Letter, Vec<u32>) {
        let world = Arc::clone(&self.world);
        let read = self.desk.open.clone().filter(|_| step.act == Act::Reply);
        let mut to = Vec::new();
        if let Some(author) = read.as_ref().and_then(|kept| kept.author())
            && (1..=world.target.people.count).contains(&author)
            && author != self.number
        {
            to.push(author);
        }
        world.recipients.fill(&mut to, step.recipients, self.number, &mut self.dice);
        let kind = match &read {
            Some(kept) => Kind::Reply { message_id: &kept.message_id },
            None => Kind::Memo,
        };
        (self.write(at, kind, &to), to)
    }

    pub(super) async fn invite(&mut self, at: usize, step: &Step) -> Result<(), Fault> {
        let mut to = Vec::new();
        let recipients = self.world.recipients;
        recipients.fill(&mut to, step.recipients, self.number, &mut self.dice);
        let letter = self.write(at, Kind::Invitation, &to);
        self.submit(&letter, &to).await?;
        self.put(CALENDAR, letter).await
    }

    pub(super) async fn rsvp(&mut self, at: usize) -> Result<(), Fault> {
        let world = Arc::clone(&self.world);
        let shown = self.desk.open.clone().or_else(|| self.desk.inbox.last().cloned());
        let Some(read) = shown else {
            return Err(Fault::Nothing("rsvp: no message"));
        };
        let mut to: Vec<u32> = read.author().into_iter().collect();
        to.retain(|author| (1..=world.target.people.count).contains(author));
        world.recipients.fill(&mut to, 1, self.number, &mut self.dice);
        let letter = self.write(at, Kind::Rsvp { message_id: &read.message_id }, &to);
        self.submit(&letter, &to).await
    }

    pub(super) async fn appoint(&mut self, at: usize) -> Result<(), Fault> {
        let letter = self.write(at, Kind::Appointment, &[self.number]);
        self.put(CALENDAR, letter).await
    }

    async fn keep_copy(&mut self, letter: Letter) -> Result<(), Fault> {
        if !self.world.plan.workload.keeps_copies() {
            return Ok(());
        }
        let world = Arc::clone(&self.world);
        self.put(world.sent(), letter).await
    }

    /// Puts a letter into an own folder: at once, or with the next synchronisation.
    async fn put(&mut self, folder: &str, letter: Letter) -> Result<(), Fault> {
        if let Some(replica) = &mut self.replica {
            replica.add(folder, letter);
            return Ok(());
        }
        self.append(folder, &["\\Seen"], &letter).await
    }

    /// Puts a letter into an own folder of the server.
    pub(super) async fn append(
        &mut self,
        folder: &str,
        flags: &[&str],
        letter: &Letter,
    ) -> Result<(), Fault> {
        let world = Arc::clone(&self.world);
        let token = world.ledger.appending(Place::new(self.number, folder), &facts(letter));
        match self.desk.imap()?.append(folder, flags, letter).await {
            Ok(uid) => world.ledger.appended(token, uid),
            Err(error) if error.is_refusal() => {
                world.ledger.refused(token);
                return Err(error.into());
            }
            Err(error) => {
                world.ledger.unsure(token);
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Hands a letter in by SMTP, over a connection of its own.
    pub(super) async fn submit(&mut self, letter: &Letter, to: &[u32]) -> Result<(), Fault> {
        let world = Arc::clone(&self.world);
        let token = world.ledger.sending(&facts(letter), to);
        let mut smtp = match self.reach_post_office().await {
            Ok(smtp) => smtp,
            Err(fault) => {
                world.ledger.refused(token);
                return Err(fault);
            }
        };
        let people = &world.target.people;
        let addresses: Vec<String> = to.iter().map(|person| people.address(*person)).collect();
        let sent = smtp.send(&self.address, &addresses, letter).await;
        self.traffic += smtp.take_traffic();
        match sent {
            Ok(Accepted { refused }) => {
                let is_refused = |at: &usize| refused.iter().any(|(who, _)| *who == addresses[*at]);
                let persons: Vec<u32> = (0..to.len()).filter(is_refused).map(|at| to[at]).collect();
                world.ledger.accepted(token, Instant::now(), &persons);
                smtp.quit().await?;
                refused.first().map_or(Ok(()), |(who, why)| {
                    Err(Fault::Wrong(format!("recipient {who} refused: {why}")))
                })
            }
            Err(error) => {
                if error.is_refusal() {
                    world.ledger.refused(token);
                } else {
                    world.ledger.unsure(token);
                }
                Err(Fault::Wrong(format!("sending: {error}")))
            }
        }
    }

    async fn reach_post_office(&mut self) -> Result<Smtp, Fault> {
        let world = Arc::clone(&self.world);
        let endpoint = world.door(&world.target.smtp)?;
        let failed = |error: Error| Fault::Wrong(format!("SMTP: {error}"));
        let people = &world.target.people;
        let mut smtp =
            Smtp::connect(endpoint, "driver.invalid", world.plan.timeouts).await.map_err(failed)?;
        if smtp.offers_auth() {
            smtp.auth(&self.address, &people.password).await.map_err(failed)?;
        }
        Ok(smtp)
    }
}
