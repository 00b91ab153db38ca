//! What the directory knows without opening documents: fingerprints of all keys, and the few
//! documents that hold for everybody.

use std::collections::{BTreeMap, HashMap};

use note::{Dbiid, TimeDate, Unid};
use parking_lot::Mutex;
use store::NoteId;

use crate::document::{
    CATCH_ALL_SETTING, ConfigurationEntry, DOMAINS_SETTING, Document, EVERY_SERVER, Entry,
    ServerEntry,
};
use crate::keys::{domain_key, name_key, same_domain};
use crate::lookup::Special;
use crate::table::Table;
use crate::types::GroupKind;

/// Documents with outdated keys from which on the table is made anew, beside a quarter of all.
const OUTDATED_MIN: usize = 2_000;

/// One line of news from the change feed.
pub(crate) enum News {
    /// A note that is there.
    Put(NoteId, Unid, Option<Box<Document>>),
    /// A note that cannot be read, and why.
    Damaged(Unid, String),
    /// A note that is gone for good.
    Gone(Unid),
}

/// All that is known at one point of the change feed.
#[derive(Default)]
pub(crate) struct State {
    /// The database that all this was read from.
    pub dbiid: Option<Dbiid>,
    /// Everything up to this change of the database is in here.
    pub change_seq: u64,
    /// Canonical name of this server (first Server document, unless configured).
    pub server: String,
    pub table: Table,
    servers: BTreeMap<Unid, ServerEntry>,
    configurations: BTreeMap<Unid, ConfigurationEntry>,
    groups: HashMap<Unid, (u32, GroupKind)>,
    mail_ins: HashMap<Unid, u32>,
    domains: Vec<String>,
    administrators: Vec<String>,
    catch_all: Vec<(String, String)>,
    /// Notes that cannot be read: nobody can tell whose they are.
    damaged: BTreeMap<Unid, String>,
    /// Who is an administrator or is denied access: worked out when somebody asks.
    pub special: Mutex<Option<std::sync::Arc<Special>>>,
}

impl State {
    /// Nothing yet of a database.
    pub(crate) fn of(dbiid: Dbiid) -> State {
        State { dbiid: Some(dbiid), ..State::default() }
    }

    /// Takes news in; call [`State::settle`] after a batch.
    pub(crate) fn take(&mut self, news: News) {
        match news {
            News::Gone(unid) => {
                self.table.forget_one();
                self.forget(&unid);
            }
            News::Damaged(unid, what) => {
                tracing::error!(%unid, what, "a document of the directory cannot be read");
                self.forget(&unid);
                self.damaged.insert(unid, what);
            }
            News::Put(id, unid, document) => {
                self.forget(&unid);
                match (u32::try_from(id.0), document) {
                    (Ok(id), Some(document)) => self.put(id, *document),
                    (Ok(_), None) => self.table.forget_one(),
                    (Err(_), _) => {
                        tracing::error!(%unid, id = id.0, "names.nsf has had too many notes");
                    }
                }
            }
        }
    }

    fn put(&mut self, id: u32, document: Document) {
        self.table.put(id, &document.keys);
        let unid = document.unid;
        match document.entry {
            Entry::Server(server) => {
                self.servers.insert(unid, server);
            }
            Entry::Configuration(configuration) => {
                self.configurations.insert(unid, configuration);
            }
            Entry::Group(group) => {
                self.groups.insert(unid, (id, group.group.kind));
            }
            Entry::MailIn(_) => {
                self.mail_ins.insert(unid, id);
            }
            Entry::Person(_) => {}
        }
    }

    fn forget(&mut self, unid: &Unid) {
        self.damaged.remove(unid);
        self.servers.remove(unid);
        self.configurations.remove(unid);
        self.groups.remove(unid);
        self.mail_ins.remove(unid);
    }

    /// Computes what follows from several documents.
    pub(crate) fn settle(&mut self) {
        *self.special.get_mut() = None;
        if self.server.is_empty() {
            let names = self.servers.values().map(|server| &server.name);
            self.server = names.min().cloned().unwrap_or_default();
        }
        let mut settings = self.settings();
        let listed = settings.remove(DOMAINS_SETTING).unwrap_or_default();
        self.domains = listed.iter().map(|domain| domain_key(domain)).collect();
        let caught = settings.remove(CATCH_ALL_SETTING).unwrap_or_default();
        let pairs = caught.iter().filter_map(|pair| pair.split_once('='));
        self.catch_all = pairs
            .map(|(domain, name)| (domain_key(domain), name.trim().to_owned()))
            .filter(|(_, name)| !name.is_empty())
            .collect();
        let own = name_key(&self.server);
        let own = self.servers.values().filter(|server| name_key(&server.name) == own);
        self.administrators = own.flat_map(|server| server.administrators.clone()).collect();
    }

    /// All documents have been taken in, each once: nothing is outdated.
    pub(crate) fn begin(&mut self) {
        self.table.begin();
    }

    /// Whether so many documents changed that the table is to be made anew.
    pub(crate) fn is_outdated(&self) -> bool {
        self.table.outdated() > OUTDATED_MIN + self.table.documents() / 4
    }

    /// What is wrong with a document that cannot be read, if there is one.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damaged.values().next().map(String::as_str)
    }

    /// Local internet domains in lower case.
    pub(crate) fn domains(&self) -> &[String] {
        &self.domains
    }

    /// Names in the Administrator item of this server.
    pub(crate) fn administrators(&self) -> &[String] {
        &self.administrators
    }

    /// Domains and who gets the mail for names there that nobody has.
    pub(crate) fn catch_all(&self) -> &[(String, String)] {
        &self.catch_all
    }

    /// Whether mail for this domain is ours; the empty domain of `<postmaster>` is.
    pub(crate) fn is_local(&self, domain: &str) -> bool {
        domain.is_empty() || self.domains.iter().any(|local| same_domain(local, domain))
    }

    /// Settings for every server, overlaid with those for this one.
    pub(crate) fn settings(&self) -> BTreeMap<String, Vec<String>> {
        let mut settings = BTreeMap::new();
        for wanted in [EVERY_SERVER, self.server.as_str()] {
            let wanted = name_key(wanted);
            let found = self.configurations.values();
            for found in found.filter(|found| name_key(&found.server) == wanted) {
                settings.extend(found.settings.clone());
            }
        }
        settings
    }

    /// UNID of the Server or Configuration document of a server.
    pub(crate) fn document_of(&self, server: &str, configuration: bool) -> Option<Unid> {
        let wanted = name_key(server);
        let servers = self.servers.iter().map(|(unid, found)| (unid, &found.name));
        let others = self.configurations.iter().map(|(unid, found)| (unid, &found.server));
        let mut found: Box<dyn Iterator<Item = (&Unid, &String)>> =
            if configuration { Box::new(others) } else { Box::new(servers) };
        found.find(|(_, name)| name_key(name) == wanted).map(|(unid, _)| *unid)
    }

    /// Local ids of all groups, or of those of one kind, in order.
    pub(crate) fn groups(&self, kind: Option<GroupKind>) -> Vec<u32> {
        let wanted = self.groups.values().filter(|(_, found)| kind.is_none_or(|k| k == *found));
        let mut ids: Vec<u32> = wanted.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// Local ids of all mail-in databases, in order.
    pub(crate) fn mail_ins(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.mail_ins.values().copied().collect();
        ids.sort_unstable();
        ids
    }
}

/// The time of the next revision of a note: later than the last one also when the clock went back.
pub(crate) fn next_time(note: &note::Note, now: TimeDate) -> TimeDate {
    now.max(TimeDate(note.oid.sequence_time.0.saturating_add(1)))
}
