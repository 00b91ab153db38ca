//! The index in memory: every name form and address of every document. Pure: no database here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use note::{DistinguishedName, Unid};

use crate::address::Mailbox;
use crate::document::{DOMAINS_SETTING, EVERY_SERVER, Entry, PersonEntry, common};
use crate::types::{GroupRef, Person, Resolved};

/// Nesting of groups followed when administrators are looked up.
const GROUP_DEPTH_MAX: usize = 16;

/// How well a name form identifies: the best rank wins, equals are ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Full name (canonical or abbreviated) or list name.
    Full,
    Short,
    Alias,
    Common,
}

/// All documents and the names that lead to them.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Everything up to this change of the database is in here.
    pub change_seq: u64,
    /// Canonical name of this server (first Server document, unless configured).
    pub server: String,
    entries: HashMap<Unid, Arc<Entry>>,
    names: HashMap<String, Vec<(Rank, Unid)>>,
    addresses: HashMap<String, Vec<Unid>>,
    mail_files: HashMap<String, Vec<Unid>>,
    domains: Vec<String>,
    administrators: Vec<String>,
    admins: HashSet<Unid>,
}

/// What a name leads to.
#[derive(Debug, Clone)]
pub(crate) enum Match {
    One(Arc<Entry>),
    Several(Vec<Arc<Entry>>),
    None,
}

impl Index {
    /// Puts a document in, in place of an earlier revision.
    pub(crate) fn put(&mut self, unid: Unid, entry: Entry) {
        self.remove(&unid);
        let keys = Keys::of(&entry);
        for (rank, name) in keys.names {
            self.names.entry(name).or_default().push((rank, unid));
        }
        for address in keys.addresses {
            self.addresses.entry(address).or_default().push(unid);
        }
        if let Some(path) = keys.mail_file {
            self.mail_files.entry(path).or_default().push(unid);
        }
        self.entries.insert(unid, Arc::new(entry));
    }

    /// Takes a document out.
    pub(crate) fn remove(&mut self, unid: &Unid) {
        let Some(entry) = self.entries.remove(unid) else {
            return;
        };
        let keys = Keys::of(&entry);
        for (_, name) in keys.names {
            drop_from(&mut self.names, &name, |(_, other)| other != unid);
        }
        for address in keys.addresses {
            drop_from(&mut self.addresses, &address, |other| other != unid);
        }
        if let Some(path) = keys.mail_file {
            drop_from(&mut self.mail_files, &path, |other| other != unid);
        }
    }

    /// Computes what follows from several documents; call it after a batch of changes.
    pub(crate) fn settle(&mut self) {
        if self.server.is_empty() {
            let names = self.entries.values().filter_map(|entry| match &**entry {
                Entry::Server(server) => Some(&server.name),
                _ => None,
            });
            self.server = names.min().cloned().unwrap_or_default();
        }
        let listed = self.settings().remove(DOMAINS_SETTING).unwrap_or_default();
        self.domains = listed.iter().map(|domain| domain_key(domain)).collect();
        self.administrators = self.server_administrators();
        let mut admins = HashSet::new();
        let mut seen = HashSet::new();
        let names = self.administrators.clone();
        self.gather(&names, 0, &mut seen, &mut admins);
        self.admins = admins;
    }

    fn server_administrators(&self) -> Vec<String> {
        let own = self.entries.values().filter_map(|entry| match &**entry {
            Entry::Server(server) if name_key(&server.name) == name_key(&self.server) => {
                Some(server)
            }
            _ => None,
        });
        own.flat_map(|server| server.administrators.clone()).collect()
    }

    fn gather(
        &self,
        names: &[String],
        depth: usize,
        seen: &mut HashSet<Unid>,
        admins: &mut HashSet<Unid>,
    ) {
        for name in names {
            match self.find(name) {
                Match::One(entry) => match &*entry {
                    Entry::Person(found) => {
                        admins.insert(found.person.unid);
                    }
                    Entry::Group(found)
                        if depth < GROUP_DEPTH_MAX && seen.insert(found.group.unid) =>
                    {
                        self.gather(&found.members, depth + 1, seen, admins);
                    }
                    _ => {}
                },
                Match::Several(_) | Match::None => {}
            }
        }
    }

    /// Local internet domains in lower case.
    pub(crate) fn domains(&self) -> &[String] {
        &self.domains
    }

    /// Names in the Administrator item of this server.
    pub(crate) fn administrators(&self) -> &[String] {
        &self.administrators
    }

    /// Settings for every server, overlaid with those for this one.
    pub(crate) fn settings(&self) -> BTreeMap<String, Vec<String>> {
        let mut settings = BTreeMap::new();
        for wanted in [EVERY_SERVER, self.server.as_str()] {
            for entry in self.entries.values() {
                if let Entry::Configuration(found) = &**entry
                    && name_key(&found.server) == name_key(wanted)
                {
                    settings.extend(found.settings.clone());
                }
            }
        }
        settings
    }

    /// The document with this UNID.
    pub(crate) fn get(&self, unid: &Unid) -> Option<&Arc<Entry>> {
        self.entries.get(unid)
    }

    /// UNID of the Server or Configuration document of a server.
    pub(crate) fn document_of(&self, server: &str, configuration: bool) -> Option<Unid> {
        let wanted = name_key(server);
        let found = self.entries.iter().find(|(_, entry)| match &***entry {
            Entry::Server(found) => !configuration && name_key(&found.name) == wanted,
            Entry::Configuration(found) => configuration && name_key(&found.server) == wanted,
            _ => false,
        });
        found.map(|(unid, _)| *unid)
    }

    /// All documents.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// A person as the outside sees it.
    pub(crate) fn person(&self, entry: &PersonEntry) -> Person {
        let admin = self.admins.contains(&entry.person.unid);
        Person { admin, ..entry.person.clone() }
    }

    /// Looks any name form up: full, short or common name, alias, internet address, list name.
    pub(crate) fn find(&self, name: &str) -> Match {
        let name = name.trim();
        if let Some(address) = as_address(name) {
            return self.find_address(&address);
        }
        self.find_name(name)
    }

    fn find_name(&self, name: &str) -> Match {
        let Some(ranked) = self.names.get(&name_key(name)) else {
            return Match::None;
        };
        let best = ranked.iter().map(|(rank, _)| *rank).min();
        let found = ranked.iter().filter(|(rank, _)| Some(*rank) == best);
        self.matched(found.map(|(_, unid)| *unid))
    }

    /// The entry of an address at a local domain: by address, else by its local part as a name.
    fn find_address(&self, address: &Mailbox) -> Match {
        if let Some(unids) = self.addresses.get(&address.key()) {
            return self.matched(unids.iter().copied());
        }
        if self.is_local(&address.domain) { self.find_name(&address.local) } else { Match::None }
    }

    /// The first name, address or mail file of `entry` that another document has, and its owner.
    /// Common names may be shared.
    pub(crate) fn conflict(&self, entry: &Entry, except: &Unid) -> Option<(String, String)> {
        let keys = Keys::of(entry);
        let mut names = keys.names.iter().filter(|(rank, _)| *rank < Rank::Common);
        let named = names.find_map(|(_, name)| {
            let ranked = self.names.get(name)?;
            let other =
                ranked.iter().find(|(rank, unid)| *rank < Rank::Common && unid != except)?;
            Some((name.clone(), other.1))
        });
        let held = |map: &HashMap<String, Vec<Unid>>, key: &String| {
            let other = map.get(key)?.iter().find(|unid| *unid != except)?;
            Some((key.clone(), *other))
        };
        let found = named
            .or_else(|| keys.addresses.iter().find_map(|key| held(&self.addresses, key)))
            .or_else(|| keys.mail_file.iter().find_map(|key| held(&self.mail_files, key)))?;
        Some((found.0, self.title(&found.1)))
    }

    fn title(&self, unid: &Unid) -> String {
        match self.entries.get(unid).map(|entry| &**entry) {
            Some(Entry::Person(found)) => found.person.full_name.clone(),
            Some(Entry::Group(found)) => found.group.name.clone(),
            _ => "another document".to_owned(),
        }
    }

    fn matched(&self, unids: impl Iterator<Item = Unid>) -> Match {
        let mut unids: Vec<Unid> = unids.collect();
        unids.sort_unstable();
        unids.dedup();
        let mut found: Vec<_> =
            unids.iter().filter_map(|unid| self.entries.get(unid).cloned()).collect();
        match found.len() {
            0 => Match::None,
            1 => found.pop().map_or(Match::None, Match::One),
            _ => Match::Several(found),
        }
    }

    /// Whether mail for this domain is ours; the empty domain of `<postmaster>` is.
    pub(crate) fn is_local(&self, domain: &str) -> bool {
        domain.is_empty() || self.domains.iter().any(|local| same_domain(local, domain))
    }

    /// Where mail for an address goes.
    pub(crate) fn resolve(&self, address: &Mailbox) -> Resolved {
        if !self.is_local(&address.domain) {
            return Resolved::OtherDomain;
        }
        match self.find_address(address) {
            Match::None if address.local.eq_ignore_ascii_case("postmaster") => self.postmaster(),
            found => resolved(found),
        }
    }

    /// Where mail for a group member or a forwarding address goes.
    pub(crate) fn resolve_name(&self, name: &str) -> Resolved {
        match as_address(name.trim()) {
            Some(address) => self.resolve(&address),
            None => resolved(self.find_name(notes_name(name.trim()))),
        }
    }

    /// Every domain has a postmaster (RFC 5321 section 4.5.1): the administrators, unless listed.
    fn postmaster(&self) -> Resolved {
        if self.administrators.is_empty() {
            return Resolved::Unknown;
        }
        let members = self.administrators.clone().into();
        Resolved::Group(GroupRef { unid: Unid::default(), name: "Postmaster".into(), members })
    }
}

fn resolved(found: Match) -> Resolved {
    let entry = match found {
        Match::One(entry) => entry,
        Match::Several(_) => return Resolved::Ambiguous,
        Match::None => return Resolved::Unknown,
    };
    match &*entry {
        Entry::Person(found) => match &found.person.forward {
            Some(address) => Resolved::Forward(address.clone()),
            None if found.path.is_empty() => Resolved::Unknown,
            None => Resolved::MailFile { path: found.path.clone(), name: found.name.clone() },
        },
        Entry::Group(found) if found.group.mail => Resolved::Group(GroupRef {
            unid: found.group.unid,
            name: found.name.clone(),
            members: found.members.clone(),
        }),
        _ => Resolved::Unknown,
    }
}

/// `Ada Lovelace/Demo@DOMAIN` is the name before the `@`.
fn notes_name(name: &str) -> &str {
    match name.split_once('@') {
        Some((before, _)) if before.contains('/') => before,
        _ => name,
    }
}

fn as_address(name: &str) -> Option<Mailbox> {
    let (before, _) = name.split_once('@')?;
    let quoted = before.starts_with('"');
    if before.contains('/') && !quoted { None } else { Mailbox::parse(name).ok() }
}

/// The key a name is found under: the abbreviated form in lower case.
pub(crate) fn name_key(name: &str) -> String {
    let name = name.trim();
    if name.contains(['/', '='])
        && let Ok(parsed) = DistinguishedName::parse(name)
    {
        return parsed.abbreviated().to_lowercase();
    }
    name.to_lowercase()
}

pub(crate) fn domain_key(domain: &str) -> String {
    domain.trim().trim_end_matches('.').to_lowercase()
}

fn same_domain(local: &str, domain: &str) -> bool {
    let domain = domain.strip_suffix('.').unwrap_or(domain);
    local.eq_ignore_ascii_case(domain) || (!domain.is_ascii() && local == domain_key(domain))
}

/// What a document is found under.
#[derive(Default)]
struct Keys {
    names: Vec<(Rank, String)>,
    addresses: Vec<String>,
    mail_file: Option<String>,
}

impl Keys {
    fn of(entry: &Entry) -> Keys {
        let mut keys = Keys::default();
        match entry {
            Entry::Person(found) => {
                let person = &found.person;
                keys.name(Rank::Full, &person.full_name);
                keys.name(Rank::Short, &person.short_name);
                keys.address(&person.internet_address);
                for alias in &person.aliases {
                    keys.either(alias);
                }
                keys.name(Rank::Common, &common(&person.full_name));
                let path = person.mail_file.to_lowercase();
                keys.mail_file = Some(path).filter(|path| !path.is_empty());
            }
            Entry::Group(found) => {
                keys.name(Rank::Full, &found.group.name);
                keys.address(&found.group.internet_address);
            }
            Entry::Server(_) | Entry::Configuration(_) => {}
        }
        keys
    }

    fn name(&mut self, rank: Rank, name: &str) {
        let key = name_key(name);
        if !key.is_empty() && !self.names.iter().any(|(_, known)| *known == key) {
            self.names.push((rank, key));
        }
    }

    fn address(&mut self, address: &str) {
        if let Ok(parsed) = Mailbox::parse(address) {
            let key = parsed.key();
            if !self.addresses.contains(&key) {
                self.addresses.push(key);
            }
        }
    }

    fn either(&mut self, alias: &str) {
        if as_address(alias).is_some() {
            self.address(alias);
        } else {
            self.name(Rank::Alias, alias);
        }
    }
}

fn drop_from<T>(map: &mut HashMap<String, Vec<T>>, key: &str, keep: impl Fn(&T) -> bool) {
    if let Some(list) = map.get_mut(key) {
        list.retain(keep);
        if list.is_empty() {
            map.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
