//! Directory documents: notes of `names.nsf` read into entries, and entries written as notes.

use std::collections::BTreeMap;
use std::sync::Arc;

use note::{ItemFlags, ItemValue, Note, OriginatorId, TimeDate, Unid};

use crate::keys::Keys;
use crate::types::{Group, GroupKind, MailIn, Person};

/// Value of CheckPassword that locks a person out.
const LOCKED_OUT: &str = "2";
/// Item of a person: the largest message to hand in, in bytes.
const MESSAGE_BYTES_MAX: &str = "MessageSizeMax";
/// Items of a Configuration document that are no settings.
const NO_SETTINGS: [&str; 3] = ["Form", "Type", "ServerName"];
/// The Configuration document that holds for all servers.
pub(crate) const EVERY_SERVER: &str = "*";
/// Setting that lists the local internet domains.
pub(crate) const DOMAINS_SETTING: &str = "LocalInternetDomains";

/// Setting that says who gets the mail for names that nobody has: `domain=name` each.
pub(crate) const CATCH_ALL_SETTING: &str = "CatchAll";
/// Memory that a document takes beside its texts, about.
const DOCUMENT_BYTES: usize = 600;

/// A document as it is kept in memory.
#[derive(Debug)]
pub(crate) struct Document {
    pub unid: Unid,
    pub entry: Entry,
    pub keys: Keys,
    /// Memory it takes, about.
    pub bytes: usize,
}

impl Document {
    /// Reads a note; `None` when it is none of the documents known here.
    pub(crate) fn of(note: &Note) -> Option<Document> {
        let entry = entry(note)?;
        let keys = Keys::of(&entry);
        let members = match &entry {
            Entry::Group(group) => group.members.iter().map(|name| 2 * (name.len() + 24)).sum(),
            _ => 0,
        };
        let bytes = DOCUMENT_BYTES + 3 * keys.bytes() + members;
        Some(Document { unid: note.oid.unid, entry, keys, bytes })
    }
}

/// A document of the directory, as far as the server uses it.
#[derive(Debug)]
pub(crate) enum Entry {
    /// A Person document.
    Person(PersonEntry),
    /// A Group document.
    Group(GroupEntry),
    /// A Mail-In Database document.
    MailIn(MailInEntry),
    /// A Server document.
    Server(ServerEntry),
    /// A Configuration document.
    Configuration(ConfigurationEntry),
}

/// A Person document; `person.admin` is filled in when it is given out.
#[derive(Debug)]
pub(crate) struct PersonEntry {
    pub person: Person,
    pub path: Arc<str>,
    pub name: Arc<str>,
    /// The Argon2 PHC string of item HTTPPassword.
    pub credential: Option<String>,
    /// Revision of the document: a remembered sign-in holds for this one only.
    pub version: OriginatorId,
}

#[derive(Debug)]
pub(crate) struct GroupEntry {
    pub group: Group,
    pub name: Arc<str>,
    pub members: Arc<[String]>,
}

#[derive(Debug)]
pub(crate) struct MailInEntry {
    pub mail_in: MailIn,
    pub path: Arc<str>,
    pub name: Arc<str>,
}

#[derive(Debug)]
pub(crate) struct ServerEntry {
    pub name: String,
    pub administrators: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct ConfigurationEntry {
    pub server: String,
    pub settings: BTreeMap<String, Vec<String>>,
}

/// Reads a note; `None` when it is none of the documents known here.
pub(crate) fn entry(note: &Note) -> Option<Entry> {
    let kind = note.text("Type").or_else(|| note.text("Form")).unwrap_or_default();
    match kind {
        "Person" => person(note).map(Entry::Person),
        "Group" => group(note).map(Entry::Group),
        "Database" => mail_in(note).map(Entry::MailIn),
        "Server" => Some(Entry::Server(ServerEntry {
            name: note.text("ServerName").unwrap_or_default().to_owned(),
            administrators: filled(note, "Administrator"),
        })),
        "ServerConfig" => Some(Entry::Configuration(ConfigurationEntry {
            server: note.text("ServerName").unwrap_or_default().to_owned(),
            settings: settings(note),
        })),
        _ => None,
    }
}

fn person(note: &Note) -> Option<PersonEntry> {
    let full_names = filled(note, "FullName");
    let short_names = filled(note, "ShortName");
    let full_name = full_names.first()?.clone();
    let aliases = full_names.iter().skip(1).chain(short_names.iter().skip(1));
    let person = Person {
        unid: note.oid.unid,
        short_name: short_names.first().cloned().unwrap_or_default(),
        internet_address: text(note, "InternetAddress"),
        aliases: aliases.cloned().collect(),
        mail_file: mail_file(note.text("MailFile").unwrap_or_default()),
        forward: Some(text(note, "MailAddress")).filter(|address| !address.is_empty()),
        admin: false,
        disabled: note.text("CheckPassword") == Some(LOCKED_OUT),
        message_bytes_max: note.number(MESSAGE_BYTES_MAX).unwrap_or_default() as u64,
        full_name,
    };
    Some(PersonEntry {
        path: person.mail_file.as_str().into(),
        name: person.full_name.as_str().into(),
        credential: Some(text(note, "HTTPPassword")).filter(|hash| !hash.is_empty()),
        version: note.oid,
        person,
    })
}

fn group(note: &Note) -> Option<GroupEntry> {
    let name = filled(note, "ListName").into_iter().next()?;
    let members = filled(note, "Members");
    let number = note.number("GroupType").map(|number| number.to_string());
    // A type that nobody knows is not one that mail goes to.
    let kind = match note.text("GroupType").or(number.as_deref()) {
        Some(number) => GroupKind::parse(number).unwrap_or(GroupKind::AccessControl),
        None => GroupKind::MultiPurpose,
    };
    Some(GroupEntry {
        name: name.as_str().into(),
        members: members.clone().into(),
        group: Group {
            unid: note.oid.unid,
            name,
            internet_address: text(note, "InternetAddress"),
            members,
            kind,
        },
    })
}

fn mail_in(note: &Note) -> Option<MailInEntry> {
    let names = filled(note, "FullName");
    let addresses = filled(note, "ShortName");
    let name = names.first()?.clone();
    let mail_in = MailIn {
        unid: note.oid.unid,
        internet_address: text(note, "InternetAddress"),
        aliases: names.iter().skip(1).chain(&addresses).cloned().collect(),
        path: mail_file(note.text("MailFile").unwrap_or_default()),
        name,
    };
    Some(MailInEntry {
        path: mail_in.path.as_str().into(),
        name: mail_in.name.as_str().into(),
        mail_in,
    })
}

fn settings(note: &Note) -> BTreeMap<String, Vec<String>> {
    let named = note.items.iter().filter(|item| {
        !item.name.starts_with('$')
            && !NO_SETTINGS.iter().any(|no| no.eq_ignore_ascii_case(&item.name))
    });
    let values = named.filter_map(|item| {
        let values = match &item.value {
            ItemValue::Text(value) => vec![value.clone()],
            ItemValue::TextList(values) => values.clone(),
            ItemValue::Number(number) => vec![number.to_string()],
            _ => return None,
        };
        Some((item.name.clone(), values))
    });
    values.collect()
}

/// MailFile may be written with backslashes and without the extension.
fn mail_file(written: &str) -> String {
    let path = written.trim().replace('\\', "/");
    if path.is_empty() || path.to_ascii_lowercase().ends_with(".nsf") {
        path
    } else {
        path + ".nsf"
    }
}

fn text(note: &Note, name: &str) -> String {
    note.text(name).unwrap_or_default().trim().to_owned()
}

fn filled(note: &Note, name: &str) -> Vec<String> {
    let texts = note.texts(name).into_iter().map(str::trim);
    texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// What the directory writes into a Person document.
#[derive(Debug, Clone)]
pub(crate) struct PersonItems {
    pub person: Person,
    pub server: String,
    pub domain: String,
    pub credential: Option<String>,
}

impl PersonItems {
    /// Puts the items into a note; items not named here stay as they are.
    pub(crate) fn write(&self, note: &mut Note) {
        let person = &self.person;
        let common = common(&person.full_name);
        let (first, last) = common.rsplit_once(' ').unwrap_or(("", common.as_str()));
        let (addresses, names): (Vec<_>, Vec<_>) =
            person.aliases.iter().cloned().partition(|alias| alias.contains('@'));
        let mut full_names = vec![person.full_name.clone()];
        full_names.extend(names);
        let mut short_names = vec![person.short_name.clone()];
        short_names.extend(addresses);
        summary(note, "Form", "Person".to_owned());
        summary(note, "Type", "Person".to_owned());
        summary(note, "FirstName", first.to_owned());
        summary(note, "LastName", last.to_owned());
        note.set_with("FullName", full_names, ItemFlags::SUMMARY | ItemFlags::NAMES);
        note.set_with("ShortName", short_names, ItemFlags::SUMMARY);
        summary(note, "InternetAddress", person.internet_address.clone());
        summary(note, "MailSystem", "1".to_owned());
        summary(note, "MailServer", self.server.clone());
        summary(note, "MailDomain", self.domain.clone());
        summary(note, "MailFile", person.mail_file.clone());
        summary(note, "MailAddress", person.forward.clone().unwrap_or_default());
        summary(note, "CheckPassword", if person.disabled { LOCKED_OUT } else { "0" }.to_owned());
        match person.message_bytes_max {
            0 => {
                note.remove(MESSAGE_BYTES_MAX);
            }
            max => note.set_with(MESSAGE_BYTES_MAX, max as f64, ItemFlags::SUMMARY),
        }
        note.set_with("HTTPPassword", self.credential.clone().unwrap_or_default(), ItemFlags::NONE);
    }
}

/// Puts the items of a group into a note.
pub(crate) fn write_group(note: &mut Note, group: &Group) {
    summary(note, "Form", "Group".to_owned());
    summary(note, "Type", "Group".to_owned());
    summary(note, "ListName", group.name.clone());
    summary(note, "GroupType", group.kind.number().to_owned());
    summary(note, "InternetAddress", group.internet_address.clone());
    note.set_with("Members", group.members.clone(), ItemFlags::SUMMARY | ItemFlags::NAMES);
}

/// Puts the items of a Mail-In Database document into a note.
pub(crate) fn write_mail_in(note: &mut Note, mail_in: &MailIn, (server, domain): (&str, &str)) {
    let (addresses, mut names): (Vec<_>, Vec<_>) =
        mail_in.aliases.iter().cloned().partition(|alias| alias.contains('@'));
    names.insert(0, mail_in.name.clone());
    summary(note, "Form", "Database".to_owned());
    summary(note, "Type", "Database".to_owned());
    note.set_with("FullName", names, ItemFlags::SUMMARY | ItemFlags::NAMES);
    note.set_with("ShortName", addresses, ItemFlags::SUMMARY);
    summary(note, "InternetAddress", mail_in.internet_address.clone());
    summary(note, "MailServer", server.to_owned());
    summary(note, "MailDomain", domain.to_owned());
    summary(note, "MailFile", mail_in.path.clone());
}

/// Puts the items of a new Server document into a note.
pub(crate) fn write_server(note: &mut Note, server: &str, domain: &str) {
    summary(note, "Form", "Server".to_owned());
    summary(note, "Type", "Server".to_owned());
    summary(note, "ServerName", server.to_owned());
    summary(note, "Domain", domain.to_owned());
    note.set_with("Administrator", Vec::new(), ItemFlags::SUMMARY | ItemFlags::NAMES);
}

/// Puts the items of a new Configuration document into a note.
pub(crate) fn write_configuration(note: &mut Note, server: &str) {
    summary(note, "Form", "ServerConfig".to_owned());
    summary(note, "Type", "ServerConfig".to_owned());
    summary(note, "ServerName", server.to_owned());
}

fn summary(note: &mut Note, name: &str, value: String) {
    note.set_with(name, value, ItemFlags::SUMMARY);
}

/// The common name in a full name.
pub(crate) fn common(full_name: &str) -> String {
    match note::DistinguishedName::parse(full_name) {
        Ok(name) if !name.common().is_empty() => name.common().to_owned(),
        _ => full_name.to_owned(),
    }
}

/// A note for a new document.
pub(crate) fn new_note(unid: note::Unid, now: TimeDate) -> Note {
    Note::new(unid, note::NoteClass::DOCUMENT, now)
}
