//! The mailbox of a person as its mail reader holds it: one connection, the selected folder, and
//! the rows that are on the screen.

use super::fault::Fault;
use super::person::Person;
use crate::ledger::{Key, Place, Sight, View};
use crate::letters::{Dice, LetterId};
use crate::wire::{Error, Folder, Imap, News, Row, Traffic};

/// Rows on the screen after the sign-in.
const ROWS_AT_FIRST: u32 = 20;

/// A message on the screen.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) uid: u32,
    pub(super) seen: bool,
    pub(super) message_id: Box<str>,
}

impl Kept {
    pub(super) fn of(row: &Row) -> Self {
        let seen = row.flags.iter().any(|flag| flag.eq_ignore_ascii_case("\\Seen"));
        Self { uid: row.uid, seen, message_id: row.message_id.as_str().into() }
    }

    /// Who wrote it, when it is one of the driver's letters.
    pub(super) fn author(&self) -> Option<u32> {
        let (_, LetterId(number)) = LetterId::parse(&self.message_id)?;
        u32::try_from(number >> 18).ok()
    }
}

/// A mailbox as a mail reader holds it.
#[derive(Default)]
pub(super) struct Desk {
    imap: Option<Box<Imap>>,
    /// The selected folder; empty for none.
    pub(super) selected: String,
    /// The last messages of INBOX, oldest first.
    pub(super) inbox: Vec<Kept>,
    /// What was read last.
    pub(super) open: Option<Kept>,
    /// What went over connections that are closed.
    traffic: Traffic,
}

impl Desk {
    pub(super) fn is_open(&self) -> bool {
        self.imap.is_some()
    }

    pub(super) fn imap(&mut self) -> Result<&mut Imap, Fault> {
        self.imap.as_deref_mut().ok_or(Fault::Wire(Error::Closed))
    }

    pub(super) fn take(&mut self) -> Option<Imap> {
        self.selected.clear();
        self.imap.take().map(|imap| *imap)
    }

    pub(super) fn hang_up(&mut self) {
        if let Some(mut imap) = self.imap.take() {
            self.traffic += imap.take_traffic();
        }
        self.selected.clear();
    }

    pub(super) fn take_traffic(&mut self) -> Traffic {
        let mut traffic = std::mem::take(&mut self.traffic);
        if let Some(imap) = &mut self.imap {
            traffic += imap.take_traffic();
        }
        traffic
    }

    /// The next message to read: the newest unread one, else any.
    pub(super) fn next_to_read(&self, dice: &mut Dice) -> Option<Kept> {
        let unread = self.inbox.iter().rev().find(|kept| !kept.seen);
        let any = || self.inbox.get(dice.below(self.inbox.len() as u64) as usize);
        unread.or_else(any).cloned()
    }

    /// Takes up to `count` messages by lot, read ones first.
    pub(super) fn choose(&self, count: u32, dice: &mut Dice) -> Vec<u32> {
        let (read, unread): (Vec<&Kept>, Vec<&Kept>) = self.inbox.iter().partition(|k| k.seen);
        let mut chosen = Vec::new();
        for mut pool in [read, unread] {
            while !pool.is_empty() && chosen.len() < count as usize {
                let at = dice.below(pool.len() as u64) as usize;
                chosen.push(pool.swap_remove(at).uid);
            }
        }
        chosen.sort_unstable();
        chosen
    }

    pub(super) fn forget(&mut self, uids: &[u32]) {
        self.inbox.retain(|kept| !uids.contains(&kept.uid));
    }
}

impl Person {
    /// Connects, signs in, looks at the folders, and opens the inbox.
    pub(super) async fn sign_in(&mut self) -> Result<(), Fault> {
        match self.sign_in_once().await {
            Ok(()) => Ok(()),
            Err(fault) => {
                self.desk.hang_up();
                Err(fault)
            }
        }
    }

    async fn sign_in_once(&mut self) -> Result<(), Fault> {
        let world = std::sync::Arc::clone(&self.world);
        let endpoint = world.door(&world.target.imap)?;
        let imap = Imap::connect(endpoint, world.plan.timeouts).await?;
        self.desk.imap = Some(Box::new(imap));
        let password = &world.target.people.password;
        self.desk.imap()?.login(&self.address, password).await?;
        let folders = self.desk.imap()?.list("*").await?;
        self.learn_sent(&folders);
        self.make_folders(&folders).await?;
        self.select("INBOX").await?;
        self.show_last(ROWS_AT_FIRST).await?;
        if let Some(replica) = &mut self.replica {
            replica.begin(&self.desk.inbox);
        }
        Ok(())
    }

    /// Where the server wants copies of sent mail (RFC 6154).
    fn learn_sent(&self, folders: &[Folder]) {
        let is_sent = |folder: &&Folder| {
            folder.attributes.iter().any(|attribute| attribute.eq_ignore_ascii_case("\\Sent"))
        };
        if let Some(folder) = folders.iter().find(is_sent) {
            self.world.sent.get_or_init(|| folder.name.clone());
        }
    }

    async fn make_folders(&mut self, there: &[Folder]) -> Result<(), Fault> {
        let world = std::sync::Arc::clone(&self.world);
        for name in &world.folders {
            let name = if name == "Sent" { world.sent() } else { name };
            if there.iter().all(|folder| folder.name != name) {
                self.desk.imap()?.create(name).await?;
            }
        }
        Ok(())
    }

    /// Opens a folder, also when it is open already.
    pub(super) async fn select(&mut self, folder: &str) -> Result<(), Fault> {
        self.desk.selected.clear();
        let selected = self.desk.imap()?.select(folder).await?;
        self.desk.selected.push_str(folder);
        let view = View {
            uid_validity: selected.uid_validity,
            uid_next: selected.uid_next,
            exists: Some(selected.exists),
        };
        self.world.ledger.observed(Place::new(self.number, folder), &view, &[]);
        Ok(())
    }

    /// Opens a folder unless it is open.
    pub(super) async fn be_in(&mut self, folder: &str) -> Result<(), Fault> {
        if self.desk.selected == folder {
            return Ok(());
        }
        self.select(folder).await
    }

    /// Asks for news of the open folder.
    pub(super) async fn ask_news(&mut self) -> Result<(), Fault> {
        let news = self.desk.imap()?.noop().await?;
        self.take_news(&news);
        Ok(())
    }

    fn take_news(&mut self, news: &News) {
        let place = Place::new(self.number, &self.desk.selected);
        self.world.ledger.counted(place, news.exists);
        if self.desk.selected == "INBOX" {
            let gone: Vec<u32> = news.expunged.iter().filter_map(|gone| gone.uid).collect();
            self.desk.forget(&gone);
        }
    }

    /// Lists the last messages of the open folder.
    pub(super) async fn show_last(&mut self, count: u32) -> Result<(), Fault> {
        let rows = self.desk.imap()?.rows_of_last(count).await?;
        self.see(&rows);
        if self.desk.selected == "INBOX" {
            self.desk.inbox = rows.iter().map(Kept::of).collect();
        }
        Ok(())
    }

    /// Tells the model what was shown.
    pub(super) fn see(&self, rows: &[Row]) {
        let sight = |row: &Row| Sight { uid: row.uid, key: Key::of(&row.message_id) };
        let sights: Vec<Sight> = rows.iter().map(sight).collect();
        let place = Place::new(self.number, &self.desk.selected);
        self.world.ledger.observed(place, &View::default(), &sights);
    }
}
