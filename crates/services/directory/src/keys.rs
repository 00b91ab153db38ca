//! Under which names, addresses and paths a document is found.

use note::DistinguishedName;

use crate::address::Mailbox;
use crate::document::{Entry, common};

/// How well a name form identifies: the best rank wins, equals are ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Full name (canonical or abbreviated) or list name.
    Full,
    Short,
    Alias,
    Common,
}

/// What a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Name,
    Address,
    MailFile,
}

/// What a document is found under, each key in the form in which it is looked up.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    pub names: Vec<(Rank, String)>,
    pub addresses: Vec<String>,
    pub mail_file: Option<String>,
}

impl Keys {
    pub(crate) fn of(entry: &Entry) -> Keys {
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
            Entry::MailIn(found) => {
                keys.name(Rank::Full, &found.mail_in.name);
                keys.address(&found.mail_in.internet_address);
                for alias in &found.mail_in.aliases {
                    keys.either(alias);
                }
            }
            Entry::Server(_) | Entry::Configuration(_) => {}
        }
        keys
    }

    /// All of them with their kind.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Kind, &str)> {
        let names = self.names.iter().map(|(_, name)| (Kind::Name, name.as_str()));
        let addresses = self.addresses.iter().map(|address| (Kind::Address, address.as_str()));
        let mail_file = self.mail_file.iter().map(|path| (Kind::MailFile, path.as_str()));
        names.chain(addresses).chain(mail_file)
    }

    /// The rank with which a name is one of them.
    pub(crate) fn rank(&self, name: &str) -> Option<Rank> {
        self.names.iter().find(|(_, known)| known == name).map(|(rank, _)| *rank)
    }

    /// Whether the document has this key. Common names may be shared and do not count.
    pub(crate) fn owns(&self, kind: Kind, key: &str) -> bool {
        match kind {
            Kind::Name => self.rank(key).is_some_and(|rank| rank < Rank::Common),
            Kind::Address => self.addresses.iter().any(|known| known == key),
            Kind::MailFile => self.mail_file.as_deref() == Some(key),
        }
    }

    /// Bytes of all texts, about.
    pub(crate) fn bytes(&self) -> usize {
        self.all().map(|(_, key)| key.len() + 48).sum()
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

/// `Ada Lovelace/Demo@DOMAIN` is the name before the `@`.
pub(crate) fn notes_name(name: &str) -> &str {
    match name.split_once('@') {
        Some((before, _)) if before.contains('/') => before,
        _ => name,
    }
}

pub(crate) fn as_address(name: &str) -> Option<Mailbox> {
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

/// Whether `domain`, as somebody wrote it, is the local one.
pub(crate) fn same_domain(local: &str, domain: &str) -> bool {
    let domain = domain.strip_suffix('.').unwrap_or(domain);
    local.eq_ignore_ascii_case(domain) || (!domain.is_ascii() && local == domain_key(domain))
}
