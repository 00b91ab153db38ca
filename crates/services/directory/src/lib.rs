//! The directory `names.nsf`: people, groups, mail-in databases, servers, settings; name lookup
//! and sign-in.
//!
//! Fingerprints of all names and addresses lie in memory, kept right by the change feed of the
//! database; documents are read when they are asked for and kept in a cache of bounded size.
//! Everything here is synchronous; what may block for long (a hash, a change) says so.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod address;
mod cache;
mod change;
mod create;
mod document;
mod feed;
mod groups;
mod keys;
mod lockout;
mod lookup;
mod password;
mod rename;
mod signin;
mod state;
mod table;
mod types;
mod validate;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};
use store::{NoteId, Store, StoreError};

pub use address::{AddressError, DOMAIN_BYTES_MAX, LOCAL_BYTES_MAX, Mailbox};
pub use types::{
    DirectoryError, Found, Group, GroupChange, GroupKind, GroupRef, LockedOut, MailIn, NewGroup,
    NewMailIn, NewName, NewPassword, NewPerson, Options, Person, PersonChange, Resolved,
};

use cache::Cache;
use document::{Document, Entry};
use feed::Source;
use lockout::Lockout;
use lookup::{Lookup, Match, title};
use password::{Hasher, Remembered};
use state::State;

/// Where the directory lies below `data/`.
pub const DIRECTORY_PATH: &str = "names.nsf";
/// Documents read at a time when all are gone through.
const READ_AT_ONCE: usize = 256;
/// Names told of when several answer to one.
const CANDIDATES_TOLD_MAX: usize = 20;

/// The open directory of this server.
pub struct Directory {
    store: Arc<Store>,
    source: RwLock<Arc<Source>>,
    state: RwLock<State>,
    cache: Cache,
    lookups: Lookups,
    options: RwLock<Options>,
    /// Held while the state is brought up to date.
    refreshing: Mutex<()>,
    /// Held during a change, so that what was validated stays true until it is written.
    changing: Mutex<()>,
    hasher: Hasher,
    remembered: Remembered,
    lockout: Lockout,
}

/// What was looked up since the start.
#[derive(Default)]
struct Lookups {
    /// Names and addresses asked of the table.
    total: AtomicU64,
    /// Of these, those for which no document had to be looked at: nobody has them.
    nobody: AtomicU64,
    /// Questions from outside (resolve, find), those without an answer, and their time.
    asked: AtomicU64,
    unknown: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Directory {
    /// Opens the existing `names.nsf` and goes through its documents once.
    ///
    /// # Errors
    /// [`DirectoryError::Store`] when it is missing or cannot be read.
    pub fn open(store: Arc<Store>) -> Result<Arc<Directory>, DirectoryError> {
        let source = Source::open(&store)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let options = Options::default();
        let directory = Arc::new(Directory {
            store,
            source: RwLock::new(source),
            state: RwLock::new(State::default()),
            cache: Cache::new(options.cache_bytes),
            lookups: Lookups::default(),
            options: RwLock::new(options),
            refreshing: Mutex::new(()),
            changing: Mutex::new(()),
            hasher: Hasher::new(cores)?,
            remembered: Remembered::new()?,
            lockout: Lockout::default(),
        });
        directory.refresh()?;
        Ok(directory)
    }

    /// Changes how the directory answers, at once.
    pub fn set_options(&self, options: Options) {
        self.cache.set_bytes_max(options.cache_bytes);
        *self.options.write() = options;
    }

    /// How the directory answers.
    pub fn options(&self) -> Options {
        self.options.read().clone()
    }

    /// Forgets the documents kept in memory; they are read again when they are asked for.
    pub fn reset_cache(&self) {
        self.cache.clear();
    }

    /// The internet domains this server takes mail for, in lower case, the primary one first.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn domains(&self) -> Result<Vec<String>, DirectoryError> {
        Ok(self.lookup()?.state.domains().to_vec())
    }

    /// The canonical name of this server.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn server_name(&self) -> Result<String, DirectoryError> {
        Ok(self.lookup()?.state.server.clone())
    }

    /// Where mail for an address goes (the local part in any case, RFC 5321 section 2.4).
    ///
    /// # Errors
    /// The directory is in trouble: nobody can tell now; this never means "unknown".
    pub fn resolve(&self, address: &Mailbox) -> Result<Resolved, DirectoryError> {
        self.timed(|lookup| lookup.resolve(address), |found| *found == Resolved::Unknown)
    }

    /// Where mail for a group member or a forwarding address goes: an address or any name form.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn resolve_name(&self, name: &str) -> Result<Resolved, DirectoryError> {
        self.timed(|lookup| lookup.resolve_name(name), |found| *found == Resolved::Unknown)
    }

    /// Looks a person, group or mail-in database up by any name form: canonical, abbreviated or
    /// short name, alias, list name, internet address; the common name too, when it is unambiguous.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn find(&self, name: &str) -> Result<Found, DirectoryError> {
        self.timed(|lookup| found(lookup, name), |found| *found == Found::Unknown)
    }

    fn timed<T>(
        &self,
        ask: impl FnOnce(&Lookup<'_>) -> Result<T, DirectoryError>,
        is_unknown: impl FnOnce(&T) -> bool,
    ) -> Result<T, DirectoryError> {
        let begun = Instant::now();
        let answer = ask(&self.lookup()?)?;
        let counts = &self.lookups;
        counts.asked.fetch_add(1, Ordering::Relaxed);
        counts.unknown.fetch_add(u64::from(is_unknown(&answer)), Ordering::Relaxed);
        let spent = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        counts.nanoseconds.fetch_add(spent, Ordering::Relaxed);
        Ok(answer)
    }

    /// All people, by full name. Reads the whole directory.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn people(&self) -> Result<Vec<Person>, DirectoryError> {
        let mut people = Vec::new();
        self.each_document(&mut |lookup, document| {
            if let Entry::Person(found) = &document.entry {
                people.push(lookup.person(found)?);
            }
            Ok(())
        })?;
        people.sort_by_cached_key(|person| person.full_name.to_lowercase());
        Ok(people)
    }

    /// Calls `visit` with every document, in order of local id; documents that are changed
    /// meanwhile may be seen before or after the change.
    fn each_document(
        &self,
        visit: &mut dyn FnMut(&Lookup<'_>, &Document) -> Result<(), DirectoryError>,
    ) -> Result<(), DirectoryError> {
        let mut after = NoteId(0);
        let database = self.database();
        loop {
            let read = self.store.read(&database, |rows| {
                let metas = rows.notes(note::NoteClass::DOCUMENT, after, READ_AT_ONCE)?;
                let notes: Result<Vec<_>, StoreError> =
                    metas.iter().map(|meta| readable(rows.note(meta.id))).collect();
                Ok((metas.last().map(|meta| meta.id), notes?))
            })?;
            self.store.durable(read.lsn).wait().map_err(StoreError::from)?;
            let (last, notes): (_, Vec<Option<note::Note>>) = read.value;
            let Some(last) = last else { return Ok(()) };
            after = last;
            let lookup = self.lookup()?;
            for document in notes.iter().flatten().filter_map(Document::of) {
                visit(&lookup, &document)?;
            }
        }
    }

    /// All groups, by name.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn groups(&self) -> Result<Vec<Group>, DirectoryError> {
        let lookup = self.lookup()?;
        let mut groups = Vec::new();
        for id in lookup.state.groups(None) {
            if let Some(Entry::Group(found)) = lookup.read(id)?.as_deref().map(|found| &found.entry)
            {
                groups.push(found.group.clone());
            }
        }
        groups.sort_by_cached_key(|group| group.name.to_lowercase());
        Ok(groups)
    }

    /// All mail-in databases, by name.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn mail_ins(&self) -> Result<Vec<MailIn>, DirectoryError> {
        let lookup = self.lookup()?;
        let mut mail_ins = Vec::new();
        for id in lookup.state.mail_ins() {
            if let Some(Entry::MailIn(found)) =
                lookup.read(id)?.as_deref().map(|found| &found.entry)
            {
                mail_ins.push(found.mail_in.clone());
            }
        }
        mail_ins.sort_by_cached_key(|mail_in| mail_in.name.to_lowercase());
        Ok(mail_ins)
    }

    /// Names of people and groups in the Server document's Administrator item.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn administrators(&self) -> Result<Vec<String>, DirectoryError> {
        Ok(self.lookup()?.state.administrators().to_vec())
    }

    /// Settings of the Configuration documents: those for every server, overlaid with this one's.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn settings(&self) -> Result<BTreeMap<String, Vec<String>>, DirectoryError> {
        Ok(self.lookup()?.state.settings())
    }

    /// Local domains and who gets the mail for names there that nobody has.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn catch_alls(&self) -> Result<Vec<(String, String)>, DirectoryError> {
        Ok(self.lookup()?.state.catch_all().to_vec())
    }

    /// Statistics since the start, under the names of the field.
    ///
    /// # Errors
    /// The directory is in trouble.
    pub fn rows(&self) -> Result<Vec<(&'static str, u64)>, DirectoryError> {
        let documents = self.store.read(&self.database(), |rows| Ok(rows.note_count()))?.value;
        let fingerprints = self.lookup()?.state.table.len() as u64;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (counts, cache) = (&self.lookups, &self.cache.counts);
        let (_, used, peak) = self.cache.size();
        Ok(vec![
            ("Directory.Hashes", self.hasher.made()),
            ("Directory.Documents", documents),
            ("Directory.LockedOut", self.lockouts().len() as u64),
            ("Database.NAMELookupTotal", of(&counts.asked)),
            ("Database.NAMELookupMisses", of(&counts.unknown)),
            ("Database.NAMELookupTotalLookupTime", of(&counts.nanoseconds) / 1_000_000),
            ("Database.NAMELookupCacheLookups", of(&counts.total)),
            ("Database.NAMELookupCacheHits", of(&cache.hits)),
            ("Database.NAMELookupCacheMisses", of(&cache.misses)),
            ("Database.NAMELookupCacheNoHitHits", of(&counts.nobody)),
            ("Database.NAMELookupCacheResets", of(&cache.resets)),
            ("Database.NAMELookupCacheHashSize", fingerprints),
            ("Database.NAMELookupCacheMaxSize", self.cache.bytes_max() as u64),
            ("Database.NAMELookupCachePool.Used", used),
            ("Database.NAMELookupCachePool.Peak", peak),
        ])
    }

    /// The Argon2id hash of a password, to be given to many people at once. Takes about 20 ms.
    ///
    /// # Errors
    /// The password is empty or too long, or too many hashes are wanted at once.
    pub fn hash_password(&self, password: &[u8]) -> Result<NewPassword, DirectoryError> {
        validate::password(password).map_err(DirectoryError::Refused)?;
        Ok(NewPassword::Hashed(self.hasher.hash(password)?))
    }
}

/// A list goes on past a note that cannot be read.
fn readable(
    note: Result<Option<note::Note>, StoreError>,
) -> Result<Option<note::Note>, StoreError> {
    match note {
        Err(StoreError::Damage { .. } | StoreError::Decode(_)) => Ok(None),
        note => note,
    }
}

fn found(lookup: &Lookup<'_>, name: &str) -> Result<Found, DirectoryError> {
    Ok(match lookup.find(name)? {
        Match::None => {
            lookup.undamaged()?;
            Found::Unknown
        }
        Match::Several(documents) => {
            let mut names: Vec<String> = documents
                .iter()
                .filter_map(|found| title(&found.entry))
                .map(str::to_owned)
                .collect();
            names.sort_unstable();
            names.truncate(CANDIDATES_TOLD_MAX);
            Found::Ambiguous(names)
        }
        Match::One(document) => match &document.entry {
            Entry::Person(found) => Found::Person(lookup.person(found)?),
            Entry::Group(found) => Found::Group(found.group.clone()),
            Entry::MailIn(found) => Found::MailIn(found.mail_in.clone()),
            Entry::Server(_) | Entry::Configuration(_) => Found::Unknown,
        },
    })
}

#[cfg(test)]
mod tests;
