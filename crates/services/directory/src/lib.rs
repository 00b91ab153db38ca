//! The directory `names.nsf`: people, groups, servers, settings; name lookup and sign-in.
//!
//! Lookups are answered from an index in memory that the change feed of the database keeps right.
//! Everything here is synchronous; what may block for long (a hash, a change) says so.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod address;
mod change;
mod create;
mod document;
mod index;
mod password;
mod types;
mod validate;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use note::{OriginatorId, Unid};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use store::{Change, Database, Reader, Store, StoreError, Watch};

pub use address::{AddressError, DOMAIN_BYTES_MAX, LOCAL_BYTES_MAX, Mailbox};
pub use types::{
    DirectoryError, Found, Group, GroupRef, NewGroup, NewPassword, NewPerson, Person, PersonChange,
    Resolved,
};

use document::{Entry, PersonEntry};
use index::{Index, Match};
use password::{Hasher, PASSWORD_BYTES_MAX, Remembered};

/// Where the directory lies below `data/`.
pub const DIRECTORY_PATH: &str = "names.nsf";
/// Changes read from the feed at a time.
const CHANGES_AT_ONCE: usize = 512;

/// The open directory of this server.
pub struct Directory {
    store: Arc<Store>,
    database: Database,
    index: RwLock<Index>,
    /// The latest change the feed told of.
    latest: Arc<AtomicU64>,
    /// Held while the index is brought up to date.
    refreshing: Mutex<()>,
    /// Held during a change, so that what was validated stays true until it is written.
    changing: Mutex<()>,
    hasher: Hasher,
    remembered: Remembered,
    _watch: Watch,
}

/// What the feed brought: documents put in or taken out, and up to which change.
type News = (Vec<(Unid, Option<Entry>)>, u64);

impl Directory {
    /// Opens the existing `names.nsf` and builds the index.
    ///
    /// # Errors
    /// [`DirectoryError::Store`] when it is missing or cannot be read.
    pub fn open(store: Arc<Store>) -> Result<Arc<Directory>, DirectoryError> {
        let database = store.database(DIRECTORY_PATH)?;
        let latest = Arc::new(AtomicU64::new(0));
        let told = latest.clone();
        let watch = database.on_change(Box::new(move |changed| {
            told.fetch_max(changed.change_seq, Ordering::AcqRel);
        }));
        let seq = store.read(&database, |reader| Ok(reader.change_seq()))?.value;
        latest.fetch_max(seq, Ordering::AcqRel);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let directory = Arc::new(Directory {
            store,
            database,
            index: RwLock::new(Index::default()),
            latest,
            refreshing: Mutex::new(()),
            changing: Mutex::new(()),
            hasher: Hasher::new(cores)?,
            remembered: Remembered::new()?,
            _watch: watch,
        });
        directory.refresh(true)?;
        Ok(directory)
    }

    /// The index, up to date with every change the feed told of.
    fn index(&self) -> Result<RwLockReadGuard<'_, Index>, DirectoryError> {
        if let Some(reason) = self.database.fenced() {
            let path = DIRECTORY_PATH.to_owned();
            return Err(StoreError::Fenced { path, reason }.into());
        }
        let index = self.index.read();
        if index.change_seq >= self.latest.load(Ordering::Acquire) {
            return Ok(index);
        }
        drop(index);
        self.refresh(false)?;
        Ok(self.index.read())
    }

    /// Reads the changes since the last time. They are shown when they are durable.
    fn refresh(&self, first: bool) -> Result<(), DirectoryError> {
        let _one = self.refreshing.lock();
        let since = self.index.read().change_seq;
        if !first && since >= self.latest.load(Ordering::Acquire) {
            return Ok(());
        }
        let read = self.store.read(&self.database, |reader| news(reader, since))?;
        self.store.durable(read.lsn).wait().map_err(StoreError::from)?;
        let (changes, change_seq) = read.value;
        let mut index = self.index.write();
        for (unid, entry) in changes {
            match entry {
                Some(entry) => index.put(unid, entry),
                None => index.remove(&unid),
            }
        }
        index.settle();
        index.change_seq = change_seq;
        Ok(())
    }

    /// The internet domains this server takes mail for, in lower case, the primary one first.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn domains(&self) -> Result<Vec<String>, DirectoryError> {
        Ok(self.index()?.domains().to_vec())
    }

    /// The canonical name of this server.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn server_name(&self) -> Result<String, DirectoryError> {
        Ok(self.index()?.server.clone())
    }

    /// Where mail for an address goes (the local part in any case, RFC 5321 section 2.4).
    ///
    /// # Errors
    /// The directory is in trouble: nobody can tell now; this never means "unknown".
    pub fn resolve(&self, address: &Mailbox) -> Result<Resolved, DirectoryError> {
        Ok(self.index()?.resolve(address))
    }

    /// Where mail for a group member or a forwarding address goes: an address or any name form.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn resolve_name(&self, name: &str) -> Result<Resolved, DirectoryError> {
        Ok(self.index()?.resolve_name(name))
    }

    /// Looks a person or group up by any name form: canonical, abbreviated or short name, alias,
    /// list name, internet address; the common name too, when it is unambiguous.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn find(&self, name: &str) -> Result<Found, DirectoryError> {
        let index = self.index()?;
        Ok(match index.find(name) {
            Match::None => Found::Unknown,
            Match::Several(entries) => {
                Found::Ambiguous(entries.iter().filter_map(|entry| title(entry)).collect())
            }
            Match::One(entry) => match &*entry {
                Entry::Person(found) => Found::Person(index.person(found)),
                Entry::Group(found) => Found::Group(found.group.clone()),
                Entry::Server(_) | Entry::Configuration(_) => Found::Unknown,
            },
        })
    }

    /// Checks a password; `None` means refused. A right password is remembered for an hour against
    /// the revision of the Person document; else a hash of about 20 ms is computed: call it on the
    /// pool. Names that nobody has cost the same hash.
    ///
    /// # Errors
    /// The directory is in trouble, or too many sign-ins wait ([`DirectoryError::Busy`]).
    pub fn sign_in(&self, name: &str, password: &[u8]) -> Result<Option<Person>, DirectoryError> {
        if password.is_empty() || password.len() > PASSWORD_BYTES_MAX {
            return Ok(None);
        }
        let Some((version, credential)) = self.credential(name)? else {
            self.hasher.verify_nobody(password)?;
            return Ok(None);
        };
        let now = self.store.now();
        if !self.remembered.knows(&version, password, now) {
            match self.hasher.verify(password, &credential) {
                Ok(true) => self.remembered.remember(&version, password, now),
                Ok(false) => return Ok(None),
                Err(password::NoHash::Failed) => {
                    tracing::warn!(name, "the stored password cannot be verified");
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.unchanged(&version)
    }

    /// Whom a password belongs to that was right not long ago: no hash is computed. `None`: ask
    /// [`Directory::sign_in`].
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn remembered(
        &self,
        name: &str,
        password: &[u8],
    ) -> Result<Option<Person>, DirectoryError> {
        match self.credential(name)? {
            Some((version, _)) if self.remembered.knows(&version, password, self.store.now()) => {
                self.unchanged(&version)
            }
            _ => Ok(None),
        }
    }

    /// The person, unless something changed while the password was looked at.
    fn unchanged(&self, version: &OriginatorId) -> Result<Option<Person>, DirectoryError> {
        let index = self.index()?;
        Ok(match index.get(&version.unid).map(|entry| &**entry) {
            Some(Entry::Person(found)) if found.version == *version => Some(index.person(found)),
            _ => None,
        })
    }

    /// Revision and hash of somebody who may sign in.
    fn credential(&self, name: &str) -> Result<Option<(OriginatorId, String)>, DirectoryError> {
        let index = self.index()?;
        let Match::One(entry) = index.find(name) else {
            return Ok(None);
        };
        Ok(match &*entry {
            Entry::Person(PersonEntry { person, credential: Some(hash), version, .. })
                if !person.disabled =>
            {
                Some((*version, hash.clone()))
            }
            _ => None,
        })
    }

    /// All people, by full name.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn people(&self) -> Result<Vec<Person>, DirectoryError> {
        let index = self.index()?;
        let people = index.entries().filter_map(|entry| match &**entry {
            Entry::Person(found) => Some(index.person(found)),
            _ => None,
        });
        let mut people: Vec<_> = people.collect();
        people.sort_by_cached_key(|person| person.full_name.to_lowercase());
        Ok(people)
    }

    /// All groups, by name.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn groups(&self) -> Result<Vec<Group>, DirectoryError> {
        let index = self.index()?;
        let groups = index.entries().filter_map(|entry| match &**entry {
            Entry::Group(found) => Some(found.group.clone()),
            _ => None,
        });
        let mut groups: Vec<_> = groups.collect();
        groups.sort_by_cached_key(|group| group.name.to_lowercase());
        Ok(groups)
    }

    /// Names of people and groups in the Server document's Administrator item.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn administrators(&self) -> Result<Vec<String>, DirectoryError> {
        Ok(self.index()?.administrators().to_vec())
    }

    /// Settings of the Configuration documents: those for every server, overlaid with this one's.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn settings(&self) -> Result<BTreeMap<String, Vec<String>>, DirectoryError> {
        Ok(self.index()?.settings())
    }

    /// Statistics: password hashes computed since the start, and documents known.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn rows(&self) -> Result<Vec<(&'static str, u64)>, DirectoryError> {
        let index = self.index()?;
        let entries = index.entries().count() as u64;
        Ok(vec![("Directory.Hashes", self.hasher.made()), ("Directory.Documents", entries)])
    }

    /// The Argon2id hash of a password, to be given to many people at once. Takes about 20 ms.
    ///
    /// # Errors
    /// The password is empty or too long, or too many hashes are wanted at once.
    pub fn hash_password(&self, password: &[u8]) -> Result<NewPassword, DirectoryError> {
        validate::password(password)?;
        Ok(NewPassword::Hashed(self.hasher.hash(password)?))
    }
}

/// All changes since one, read in batches.
fn news(reader: &Reader<'_>, since: u64) -> Result<News, StoreError> {
    let mut news = Vec::new();
    let mut seen = since;
    loop {
        let changes = reader.changes(seen, CHANGES_AT_ONCE)?;
        for change in &changes {
            news.push(match change {
                Change::Note(meta) if meta.deleted.is_none() => {
                    let note = reader.note(meta.id)?;
                    (meta.unid, note.as_ref().and_then(document::entry))
                }
                Change::Note(meta) => (meta.unid, None),
                Change::Stub(stub) => (stub.unid, None),
            });
        }
        match changes.last() {
            Some(last) if changes.len() >= CHANGES_AT_ONCE => seen = last.change_seq(),
            _ => return Ok((news, reader.change_seq())),
        }
    }
}

fn title(entry: &Entry) -> Option<String> {
    match entry {
        Entry::Person(found) => Some(found.person.full_name.clone()),
        Entry::Group(found) => Some(found.group.name.clone()),
        Entry::Server(_) | Entry::Configuration(_) => None,
    }
}

#[cfg(test)]
mod tests;
