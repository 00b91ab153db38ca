//! Looking names and addresses up: fingerprints say which documents may be meant, the documents say
//! whether they are.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use note::Unid;
use parking_lot::RwLockReadGuard;
use store::{NoteId, StoreError};

use crate::address::Mailbox;
use crate::document::{Document, Entry, PersonEntry};
use crate::feed::Source;
use crate::keys::{Keys, Kind, Rank, as_address, name_key, notes_name};
use crate::state::State;
use crate::types::{GroupKind, GroupRef, Person, Resolved};
use crate::{Directory, DirectoryError};

/// Nesting of groups followed when administrators and those denied access are looked up.
const GROUP_DEPTH_MAX: usize = 16;
/// Documents opened for one name; more than these have no common key by chance.
const CANDIDATES_MAX: usize = 1_000;

/// The state and the documents, at one point of the change feed.
pub(crate) struct Lookup<'a> {
    pub directory: &'a Directory,
    pub source: Arc<Source>,
    pub state: RwLockReadGuard<'a, State>,
}

/// What a name leads to.
#[derive(Debug, Clone)]
pub(crate) enum Match {
    One(Arc<Document>),
    Several(Vec<Arc<Document>>),
    None,
}

/// Those whom groups make special.
#[derive(Debug, Default)]
pub(crate) struct Special {
    administrators: HashSet<Unid>,
    /// Keys of names and addresses in groups that deny access.
    denied: HashSet<(Kind, String)>,
}

type Found<T> = Result<T, DirectoryError>;

impl Lookup<'_> {
    /// The document of a local id, out of the cache or the database.
    pub(crate) fn document(&self, id: u32) -> Found<Option<Arc<Document>>> {
        let cache = &self.directory.cache;
        if let Some(found) = cache.get(id) {
            return Ok(Some(found));
        }
        let document = self.read(id)?;
        if let Some(document) = &document {
            cache.put(id, document.clone());
        }
        Ok(document)
    }

    /// The document as the database has it; it is shown when it is durable.
    pub(crate) fn read(&self, id: u32) -> Found<Option<Arc<Document>>> {
        let store = &self.directory.store;
        let read = store.read(&self.source.database, |rows| rows.note(NoteId(i64::from(id))))?;
        store.durable(read.lsn).wait().map_err(StoreError::from)?;
        Ok(read.value.as_ref().and_then(Document::of).map(Arc::new))
    }

    /// The document with this UNID.
    pub(crate) fn get(&self, unid: &Unid) -> Found<Option<Arc<Document>>> {
        let store = &self.directory.store;
        let meta = store.read(&self.source.database, |rows| rows.note_by_unid(unid))?.value;
        match meta.and_then(|meta| u32::try_from(meta.id.0).ok()) {
            Some(id) => self.document(id),
            None => Ok(None),
        }
    }

    /// Looks any name form up: full, short or common name, alias, internet address, list name.
    pub(crate) fn find(&self, name: &str) -> Found<Match> {
        let name = name.trim();
        match as_address(name) {
            Some(address) => self.find_address(&address),
            None => self.find_name(name),
        }
    }

    pub(crate) fn find_name(&self, name: &str) -> Found<Match> {
        let key = name_key(name);
        if key.is_empty() {
            return Ok(Match::None);
        }
        let mut ranked: Vec<(Rank, Arc<Document>)> = Vec::new();
        for document in self.candidates(Kind::Name, &key)? {
            if let Some(rank) = document.keys.rank(&key) {
                ranked.push((rank, document));
            }
        }
        let best = ranked.iter().map(|(rank, _)| *rank).min();
        let best = ranked.into_iter().filter(|(rank, _)| Some(*rank) == best);
        Ok(matched(best.map(|(_, document)| document).collect()))
    }

    /// The entry of an address at a local domain: by address, else by its local part as a name.
    pub(crate) fn find_address(&self, address: &Mailbox) -> Found<Match> {
        let key = address.key();
        let mut found = self.candidates(Kind::Address, &key)?;
        found.retain(|document| document.keys.owns(Kind::Address, &key));
        if !found.is_empty() {
            return Ok(matched(found));
        }
        match self.state.is_local(&address.domain) {
            true => self.find_name(&address.local),
            false => Ok(Match::None),
        }
    }

    fn candidates(&self, kind: Kind, key: &str) -> Found<Vec<Arc<Document>>> {
        let mut ids: Vec<u32> =
            self.state.table.candidates(kind, key).take(CANDIDATES_MAX).collect();
        if ids.len() > 1 {
            ids.sort_unstable();
            ids.dedup();
        }
        let counts = &self.directory.lookups;
        counts.total.fetch_add(1, Ordering::Relaxed);
        if ids.is_empty() {
            counts.nobody.fetch_add(1, Ordering::Relaxed);
        }
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.extend(self.document(id)?);
        }
        Ok(found)
    }

    /// All keys of `keys` that other documents have, each with its owner.
    pub(crate) fn conflicts(&self, keys: &Keys, except: &Unid) -> Found<Vec<(String, String)>> {
        let mut conflicts = Vec::new();
        for (kind, key) in keys.all().filter(|(kind, key)| keys.owns(*kind, key)) {
            let mut others = self.candidates(kind, key)?;
            others.retain(|other| other.unid != *except && other.keys.owns(kind, key));
            if let Some(other) = others.first() {
                let owner = title(&other.entry).unwrap_or("another document");
                conflicts.push((key.to_owned(), owner.to_owned()));
            }
        }
        Ok(conflicts)
    }

    /// Where mail for an address goes.
    pub(crate) fn resolve(&self, address: &Mailbox) -> Found<Resolved> {
        if !self.state.is_local(&address.domain) {
            return Ok(Resolved::OtherDomain);
        }
        let found = match self.find_address(address)? {
            Match::None => self.without_detail(address)?,
            found => found,
        };
        match resolved(found) {
            Resolved::Unknown if address.local.eq_ignore_ascii_case("postmaster") => {
                Ok(self.postmaster())
            }
            Resolved::Unknown => {
                self.undamaged()?;
                self.caught(&address.domain)
            }
            resolved => Ok(resolved),
        }
    }

    /// While there is a document that cannot be read, nobody can tell that a name is nobody's.
    pub(crate) fn undamaged(&self) -> Found<()> {
        match self.state.damage() {
            Some(what) => {
                let (path, what) = (crate::DIRECTORY_PATH.to_owned(), what.to_owned());
                Err(StoreError::Damage { path, what }.into())
            }
            None => Ok(()),
        }
    }

    /// `ada+news@` is `ada@`.
    fn without_detail(&self, address: &Mailbox) -> Found<Match> {
        let options = self.directory.options.read();
        let separator = options.subaddress.as_str();
        if separator.is_empty() {
            return Ok(Match::None);
        }
        match address.local.find(separator).filter(|at| *at > 0) {
            Some(at) => {
                let (local, domain) = (address.local[..at].to_owned(), address.domain.clone());
                self.find_address(&Mailbox { local, domain })
            }
            None => Ok(Match::None),
        }
    }

    /// Who gets the mail for names at a domain that nobody has.
    fn caught(&self, domain: &str) -> Found<Resolved> {
        let domain = crate::keys::domain_key(domain);
        let caught = self.state.catch_all().iter().find(|(own, _)| *own == domain);
        match caught {
            Some((_, name)) => Ok(resolved(self.find(name)?)),
            None => Ok(Resolved::Unknown),
        }
    }

    /// Where mail for a group member or a forwarding address goes.
    pub(crate) fn resolve_name(&self, name: &str) -> Found<Resolved> {
        match as_address(name.trim()) {
            Some(address) => self.resolve(&address),
            None => match resolved(self.find_name(notes_name(name.trim()))?) {
                Resolved::Unknown => self.undamaged().map(|()| Resolved::Unknown),
                resolved => Ok(resolved),
            },
        }
    }

    /// Every domain has a postmaster (RFC 5321 section 4.5.1): the administrators, unless listed.
    fn postmaster(&self) -> Resolved {
        if self.state.administrators().is_empty() {
            return Resolved::Unknown;
        }
        let members = self.state.administrators().to_vec().into();
        Resolved::Group(GroupRef { unid: Unid::default(), name: "Postmaster".into(), members })
    }

    /// A person as the outside sees it.
    pub(crate) fn person(&self, entry: &PersonEntry) -> Found<Person> {
        let admin = self.special()?.administrators.contains(&entry.person.unid);
        Ok(Person { admin, ..entry.person.clone() })
    }

    /// Whether a group denies access to a document's names.
    pub(crate) fn is_denied(&self, document: &Document) -> Found<bool> {
        let special = self.special()?;
        if special.denied.is_empty() {
            return Ok(false);
        }
        let mut keys = document.keys.all();
        Ok(keys.any(|(kind, key)| special.denied.contains(&(kind, key.to_owned()))))
    }

    /// Administrators and those denied access, worked out once after a change.
    fn special(&self) -> Found<Arc<Special>> {
        if let Some(known) = &*self.state.special.lock() {
            return Ok(known.clone());
        }
        let mut special = Special::default();
        let names = self.state.administrators();
        self.gather(names, 0, &mut HashSet::new(), &mut special.administrators)?;
        let deny = self.state.groups(Some(GroupKind::Deny));
        if !deny.is_empty() {
            let all: HashSet<u32> = self.state.groups(None).into_iter().collect();
            let mut seen = HashSet::new();
            for id in deny {
                self.deny(id, (0, &all), &mut seen, &mut special.denied)?;
            }
        }
        let special = Arc::new(special);
        *self.state.special.lock() = Some(special.clone());
        Ok(special)
    }

    fn gather(
        &self,
        names: &[String],
        depth: usize,
        seen: &mut HashSet<Unid>,
        admins: &mut HashSet<Unid>,
    ) -> Found<()> {
        for name in names {
            let Match::One(found) = self.find(name)? else { continue };
            match &found.entry {
                Entry::Person(person) => {
                    admins.insert(person.person.unid);
                }
                Entry::Group(group) if depth < GROUP_DEPTH_MAX && seen.insert(found.unid) => {
                    self.gather(&group.members, depth + 1, seen, admins)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds the members of a group, and of groups in it, without opening the people.
    fn deny(
        &self,
        group: u32,
        (depth, groups): (usize, &HashSet<u32>),
        seen: &mut HashSet<u32>,
        denied: &mut HashSet<(Kind, String)>,
    ) -> Found<()> {
        if depth > GROUP_DEPTH_MAX || !seen.insert(group) {
            return Ok(());
        }
        let Some(document) = self.document(group)? else { return Ok(()) };
        let Entry::Group(found) = &document.entry else { return Ok(()) };
        for member in found.members.iter() {
            let (kind, key) = match as_address(member) {
                Some(address) => (Kind::Address, address.key()),
                None => (Kind::Name, name_key(notes_name(member))),
            };
            let inner = self.state.table.candidates(kind, &key).filter(|id| groups.contains(id));
            for id in inner.collect::<Vec<_>>() {
                let meant = self.document(id)?.is_some_and(|found| found.keys.owns(kind, &key));
                if meant {
                    self.deny(id, (depth + 1, groups), seen, denied)?;
                }
            }
            denied.insert((kind, key));
        }
        Ok(())
    }
}

fn matched(mut found: Vec<Arc<Document>>) -> Match {
    match found.len() {
        0 => Match::None,
        1 => found.pop().map_or(Match::None, Match::One),
        _ => Match::Several(found),
    }
}

fn resolved(found: Match) -> Resolved {
    let document = match found {
        Match::One(document) => document,
        Match::Several(_) => return Resolved::Ambiguous,
        Match::None => return Resolved::Unknown,
    };
    match &document.entry {
        Entry::Person(found) => match &found.person.forward {
            Some(address) => Resolved::Forward(address.clone()),
            None if found.path.is_empty() => Resolved::Unknown,
            None => Resolved::MailFile { path: found.path.clone(), name: found.name.clone() },
        },
        Entry::MailIn(found) if !found.path.is_empty() => {
            Resolved::MailFile { path: found.path.clone(), name: found.name.clone() }
        }
        Entry::Group(found) if found.group.kind.takes_mail() => Resolved::Group(GroupRef {
            unid: found.group.unid,
            name: found.name.clone(),
            members: found.members.clone(),
        }),
        _ => Resolved::Unknown,
    }
}

/// The name by which people know a document.
pub(crate) fn title(entry: &Entry) -> Option<&str> {
    match entry {
        Entry::Person(found) => Some(&found.person.full_name),
        Entry::Group(found) => Some(&found.group.name),
        Entry::MailIn(found) => Some(&found.mail_in.name),
        Entry::Server(_) | Entry::Configuration(_) => None,
    }
}

#[cfg(test)]
mod tests;
