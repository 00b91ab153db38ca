//! Fills the mail files as a workload expects them: counts what is there and adds the rest, over
//! several connections at once. Begun again, it goes on where it ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::Stop;
use super::fault::Trouble;
use crate::letters::{Author, Kind, Letter, Letters, Order, PoolOptions, Profile};
use crate::target::{Endpoint, Target};
use crate::wire::{Error, Imap, Pop3, Smtp, Timeouts};
use crate::workload::{Folder, Workload};

/// Letters that are handed in with one stroke.
const BATCH_LETTERS_MAX: u32 = 32;
/// Octets of letters at which a batch ends.
const BATCH_OCTETS_MAX: u64 = 4 << 20;
/// Waits between two looks at whether mail has arrived.
const SETTLE_STEP: Duration = Duration::from_millis(200);

/// How mail files are to be filled.
#[derive(Debug, Clone)]
pub struct Populate {
    /// Folders, messages and sizes are taken from it.
    pub workload: Arc<Workload>,
    /// People from 1 to this.
    pub users: u32,
    /// Another number of messages in each INBOX than that of the workload; other folders follow
    /// it in proportion.
    pub messages: Option<u32>,
    /// Sends each letter by SMTP to so many people, instead of an APPEND for each.
    pub share: Option<u32>,
    /// Connections at once.
    pub connections: u32,
    /// From which the letters are drawn.
    pub seed: u64,
    /// Names this population in the Message-IDs.
    pub run_id: String,
    /// How attachments repeat.
    pub pool: PoolOptions,
    /// How long the clients wait.
    pub timeouts: Timeouts,
    /// How long mail that was sent may take to arrive.
    pub settle: Duration,
}

/// How far it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filled {
    /// People whose mail files are as they should be.
    pub people: u32,
    /// Messages that were there.
    pub there: u64,
    /// Messages that were added, each counted once for each mail file.
    pub added: u64,
    /// Octets that were handed in.
    pub octets: u64,
    /// Mail files that hold more than they should; nothing is taken away.
    pub surplus: u32,
}

#[derive(Debug, Default)]
struct Counts {
    people: AtomicU32,
    there: AtomicU64,
    added: AtomicU64,
    octets: AtomicU64,
    surplus: AtomicU32,
}

impl Counts {
    fn filled(&self) -> Filled {
        Filled {
            people: self.people.load(Ordering::Relaxed),
            there: self.there.load(Ordering::Relaxed),
            added: self.added.load(Ordering::Relaxed),
            octets: self.octets.load(Ordering::Relaxed),
            surplus: self.surplus.load(Ordering::Relaxed),
        }
    }
}

/// What the fillers share.
struct Work {
    order: Populate,
    target: Arc<Target>,
    letters: Letters,
    counts: Counts,
    next: AtomicU32,
    stop: Stop,
    progress: Box<dyn Fn(&Filled) + Send + Sync>,
}

/// Fills the mail files; `progress` is called now and then from any task.
///
/// # Errors
/// A door is missing, a letter cannot be made, or the server refuses. What is there stays; another
/// call goes on.
pub async fn populate(
    order: Populate,
    target: Arc<Target>,
    progress: impl Fn(&Filled) + Send + Sync + 'static,
    stop: Stop,
) -> Result<Filled, Trouble> {
    check(&order, &target)?;
    let profile = Profile::named(&order.workload.profile)?;
    let letters = Letters::new(order.seed, &order.run_id, &profile, order.pool)?;
    let connections = order.connections.clamp(1, order.users);
    let work = Arc::new(Work {
        order,
        target,
        letters,
        counts: Counts::default(),
        next: AtomicU32::new(1),
        stop,
        progress: Box::new(progress),
    });
    let mut fillers = JoinSet::new();
    for _ in 0..connections {
        fillers.spawn(Arc::clone(&work).fill());
    }
    let mut result = Ok(());
    while let Some(ended) = fillers.join_next().await {
        let ended = ended.unwrap_or_else(|error| Err(Trouble::Value(error.to_string())));
        if ended.is_err() && result.is_ok() {
            work.stop_early();
            result = ended;
        }
    }
    (work.progress)(&work.counts.filled());
    result.map(|()| work.counts.filled())
}

fn check(order: &Populate, target: &Target) -> Result<(), Trouble> {
    let no_door =
        |door, option| Err(Trouble::NoDoor { workload: order.workload.name.clone(), door, option });
    if order.users == 0 || order.users > target.people.count {
        return Err(Trouble::Value("--users: from 1 to the number of people".to_owned()));
    }
    if order.share == Some(0) {
        return Err(Trouble::Value("--share: at least 1".to_owned()));
    }
    if target.imap.is_none() && target.pop3.is_none() {
        return no_door("IMAP or POP3", "imap-port");
    }
    let sends = order.share.is_some() || target.imap.is_none();
    if sends && target.smtp.is_none() {
        return no_door("SMTP", "smtp-port");
    }
    Ok(())
}

impl Work {
    fn stop_early(&self) {
        self.next.store(u32::MAX / 2, Ordering::Relaxed);
    }

    /// How many go together, since they get the same letters.
    fn group(&self) -> u32 {
        self.order.share.unwrap_or(1).min(self.order.users)
    }

    /// Takes one group of people after the other.
    async fn fill(self: Arc<Self>) -> Result<(), Trouble> {
        loop {
            let first = self.next.fetch_add(self.group(), Ordering::Relaxed);
            if first > self.order.users || self.stop.asked() {
                return Ok(());
            }
            let last = (first + self.group() - 1).min(self.order.users);
            self.fill_group(first, last).await?;
            (self.progress)(&self.counts.filled());
        }
    }

    async fn fill_group(&self, first: u32, last: u32) -> Result<(), Trouble> {
        if self.by_mail() {
            self.send_to_group(first, last).await?;
        }
        if self.target.imap.is_some() {
            for person in first..=last {
                self.fill_person(person).await?;
            }
        }
        self.counts.people.fetch_add(last - first + 1, Ordering::Relaxed);
        Ok(())
    }

    /// Whether each INBOX is filled by mail, and not by its owner.
    fn by_mail(&self) -> bool {
        self.order.share.is_some() || self.target.imap.is_none()
    }

    fn goal(&self) -> u32 {
        self.order.messages.unwrap_or(self.order.workload.messages)
    }

    /// The folders beside INBOX and what they should hold.
    fn folders(&self) -> Vec<Folder> {
        let whole = u64::from(self.order.workload.messages.max(1));
        let scale = |messages: u32| {
            let scaled = u64::from(messages) * u64::from(self.goal());
            scaled.div_ceil(whole).min(u64::from(messages)) as u32
        };
        let mut folders = self.order.workload.folders_needed();
        folders.iter_mut().for_each(|folder| folder.messages = scale(folder.messages));
        folders
    }

    /// Makes the folders of a person and fills them by APPEND.
    async fn fill_person(&self, person: u32) -> Result<(), Trouble> {
        let mut imap = self.open(person).await?;
        let at = self.told(person, "filling the mail file");
        let there = imap.list("*").await.map_err(&at)?;
        let is_sent = |f: &&crate::wire::Folder| {
            f.attributes.iter().any(|attribute| attribute.eq_ignore_ascii_case("\\Sent"))
        };
        let sent = there.iter().find(is_sent).map(|folder| folder.name.clone());
        let mut author = self.letters.author(person);
        let mut surplus = false;
        let inbox = Folder { name: "INBOX".to_owned(), messages: self.goal() };
        for folder in std::iter::once(inbox).chain(self.folders()) {
            let name = match &sent {
                Some(sent) if folder.name == "Sent" => sent.as_str(),
                _ => &folder.name,
            };
            let known = name == "INBOX" || there.iter().any(|known| known.name == name);
            if !known {
                imap.create(name).await.map_err(&at)?;
            }
            let exists = imap.status(name).await.map_err(&at)?.messages;
            if name != "INBOX" || !self.by_mail() {
                self.counts.there.fetch_add(u64::from(exists), Ordering::Relaxed);
            }
            surplus |= folder.messages > 0 && exists > folder.messages;
            // What was there has these numbers, when this population put it there.
            author.skip_to(author.serial() + exists);
            let missing = folder.messages.saturating_sub(exists);
            self.append(&mut imap, &mut author, (person, name), missing).await?;
        }
        self.counts.surplus.fetch_add(u32::from(surplus), Ordering::Relaxed);
        imap.logout().await.map_err(&at).map(drop)
    }

    async fn append(
        &self,
        imap: &mut Imap,
        author: &mut Author,
        place: (u32, &str),
        missing: u32,
    ) -> Result<(), Trouble> {
        let (person, folder) = place;
        let address = self.target.people.address(person);
        let mut left = missing;
        while left > 0 && !self.stop.asked() {
            let batch = self.batch(author, &address, left);
            left -= batch.len() as u32;
            let appended = imap.append_many(folder, &["\\Seen"], &batch).await;
            appended.map_err(self.told(person, "adding messages"))?;
            let octets = batch.iter().map(|letter| letter.octets).sum();
            self.counts.added.fetch_add(batch.len() as u64, Ordering::Relaxed);
            self.counts.octets.fetch_add(octets, Ordering::Relaxed);
            (self.progress)(&self.counts.filled());
        }
        Ok(())
    }

    fn batch(&self, author: &mut Author, address: &str, left: u32) -> Vec<Letter> {
        let to = [address.to_owned()];
        let mut batch = Vec::new();
        let mut octets = 0;
        while batch.len() < left.min(BATCH_LETTERS_MAX) as usize && octets < BATCH_OCTETS_MAX {
            let letter = self.letters.letter(author, &Order::new(Kind::Memo, address, &to));
            octets += letter.octets;
            batch.push(letter);
        }
        batch
    }

    /// Sends letters until nobody of a group lacks any, as far as all of them lack the same.
    async fn send_to_group(&self, first: u32, last: u32) -> Result<(), Trouble> {
        let mut lacks = BTreeMap::new();
        for person in first..=last {
            let exists = self.count(person).await?;
            self.counts.there.fetch_add(u64::from(exists), Ordering::Relaxed);
            lacks.insert(person, (exists, self.goal().saturating_sub(exists)));
        }
        let alone = self.target.imap.is_none();
        while let Some(least) = lacks.values().map(|(_, lack)| *lack).filter(|n| *n > 0).min() {
            let to: Vec<u32> = lacks.iter().filter(|(_, (_, n))| *n > 0).map(|(p, _)| *p).collect();
            if to.len() < lacks.len() && !alone {
                break;
            }
            self.send(&to, least).await?;
            for person in &to {
                if let Some((exists, lack)) = lacks.get_mut(person) {
                    (*exists, *lack) = (*exists + least, *lack - least);
                }
            }
            if self.stop.asked() {
                return Ok(());
            }
        }
        for (person, (exists, _)) in lacks {
            self.await_mail(person, exists).await?;
        }
        Ok(())
    }

    /// Sends so many letters to these people over one connection.
    async fn send(&self, to: &[u32], letters: u32) -> Result<(), Trouble> {
        let Some(&first) = to.first() else { return Ok(()) };
        let people = &self.target.people;
        let from = people.address(first);
        let addresses: Vec<String> = to.iter().map(|person| people.address(*person)).collect();
        let at = self.told(first, "sending mail");
        let mut author = self.letters.author(first);
        author.skip_to(self.count(first).await?);
        let endpoint = self.door(&self.target.smtp)?;
        let mut smtp =
            Smtp::connect(endpoint, "driver.invalid", self.order.timeouts).await.map_err(&at)?;
        if smtp.offers_auth() {
            smtp.auth(&from, &people.password).await.map_err(&at)?;
        }
        for _ in 0..letters {
            if self.stop.asked() {
                break;
            }
            let order = Order::new(Kind::Memo, &from, &addresses);
            let letter = self.letters.letter(&mut author, &order);
            let accepted = smtp.send(&from, &addresses, &letter).await.map_err(&at)?;
            if let Some((who, why)) = accepted.refused.first() {
                return Err(Trouble::Value(format!("recipient {who} refused: {why}")));
            }
            self.counts.added.fetch_add(to.len() as u64, Ordering::Relaxed);
            self.counts.octets.fetch_add(letter.octets, Ordering::Relaxed);
            (self.progress)(&self.counts.filled());
        }
        smtp.quit().await.map_err(&at).map(drop)
    }

    /// Waits until a person has so many messages.
    async fn await_mail(&self, person: u32, messages: u32) -> Result<(), Trouble> {
        let begun = Instant::now();
        loop {
            let exists = self.count(person).await?;
            if exists >= messages {
                return Ok(());
            }
            let waited = begun.elapsed();
            if waited > self.order.settle || self.stop.asked() {
                let missing = u64::from(messages - exists);
                return Err(Trouble::Unsettled { missing, waited_s: waited.as_secs() });
            }
            sleep(SETTLE_STEP).await;
        }
    }

    /// How many messages the INBOX of a person holds.
    async fn count(&self, person: u32) -> Result<u32, Trouble> {
        let at = self.told(person, "counting messages");
        if self.target.imap.is_some() {
            let mut imap = self.open(person).await?;
            let messages = imap.status("INBOX").await.map_err(&at)?.messages;
            imap.logout().await.map_err(&at)?;
            return Ok(messages);
        }
        let endpoint = self.door(&self.target.pop3)?;
        let people = &self.target.people;
        let mut pop3 = Pop3::connect(endpoint, self.order.timeouts).await.map_err(&at)?;
        pop3.login(&people.address(person), &people.password).await.map_err(&at)?;
        let (messages, _) = pop3.stat().await.map_err(&at)?;
        pop3.quit().await.map_err(&at)?;
        Ok(messages)
    }

    async fn open(&self, person: u32) -> Result<Imap, Trouble> {
        let at = self.told(person, "signing in");
        let endpoint = self.door(&self.target.imap)?;
        let mut imap = Imap::connect(endpoint, self.order.timeouts).await.map_err(&at)?;
        let people = &self.target.people;
        imap.login(&people.address(person), &people.password).await.map_err(&at)?;
        Ok(imap)
    }

    fn door<'a>(&self, door: &'a Option<Endpoint>) -> Result<&'a Endpoint, Trouble> {
        door.as_ref().ok_or_else(|| Trouble::Value("a port is missing".to_owned()))
    }

    fn told(&self, person: u32, what: &'static str) -> impl Fn(Error) -> Trouble + use<> {
        let who = self.target.people.address(person);
        move |source| Trouble::Wire { who: who.clone(), what, source }
    }
}
