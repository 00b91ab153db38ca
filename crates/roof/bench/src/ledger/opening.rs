//! Before a run: what lies in every mailbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::task::JoinSet;

use super::look::{Depth, Visit, reading};
use super::{Ledger, Place, Sight};
use crate::target::Target;
use crate::wire::{Error, Timeouts};

/// What was there before the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Opening {
    /// Folders of all people.
    pub folders: u64,
    /// Messages in them.
    pub messages: u64,
}

/// The mailboxes cannot be read before the run.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// There is neither IMAP nor POP3.
    #[error("the mailboxes cannot be read: the server has neither an IMAP nor a POP3 port")]
    NoDoor,
    /// One mailbox cannot be read.
    #[error("the mailbox of {address} cannot be read")]
    Mailbox {
        /// Whose.
        address: String,
        /// Why.
        #[source]
        source: Error,
    },
}

/// Enters into the ledger what lies in every mailbox, over so many connections at once.
///
/// # Errors
/// No door to read mailboxes by, or a mailbox that cannot be read: then no run can be judged.
pub async fn opening(
    ledger: &Arc<Ledger>,
    target: &Target,
    connections: usize,
) -> Result<Opening, Trouble> {
    reading(target).ok_or(Trouble::NoDoor)?;
    let next = Arc::new(AtomicU32::new(1));
    let sums = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    for _ in 0..connections.clamp(1, ledger.people.len().max(1)) {
        let (ledger, target) = (ledger.clone(), target.clone());
        let (next, sums) = (next.clone(), sums.clone());
        tasks.spawn(async move {
            loop {
                let person = next.fetch_add(1, Ordering::Relaxed);
                if person > ledger.people() {
                    return Ok(());
                }
                let began = begin(&ledger, &target, person).await.map_err(|source| {
                    Trouble::Mailbox { address: target.people.address(person), source }
                })?;
                sums.0.fetch_add(began.folders, Ordering::Relaxed);
                sums.1.fetch_add(began.messages, Ordering::Relaxed);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        if let Ok(result) = ended {
            result?;
        }
    }
    let (folders, messages) = (sums.0.load(Ordering::Relaxed), sums.1.load(Ordering::Relaxed));
    Ok(Opening { folders, messages })
}

async fn begin(ledger: &Ledger, target: &Target, person: u32) -> Result<Opening, Error> {
    let mut visit = Visit::begin(target, person, Timeouts::default()).await?;
    let mut sum = Opening::default();
    for folder in visit.folders().await? {
        let place = Place::new(person, &folder);
        let shelf = visit.look(ledger, place, Depth::Begin).await?;
        let mut sights: Vec<Sight> = shelf.marks.iter().map(|mark| mark.sight).collect();
        if sights.len() < shelf.uids.len() {
            let unread = |&uid: &u32| Sight { uid, key: super::Key::NONE };
            sights = shelf.uids.iter().map(unread).collect();
        }
        ledger.baseline(place, &shelf.view, &sights);
        sum.folders += 1;
        sum.messages += sights.len() as u64;
    }
    visit.end().await;
    Ok(sum)
}
