//! What may stand in the directory: names, addresses, passwords, and no two of the same.

use note::{DistinguishedName, Unid};

use crate::address::is_dot_string;
use crate::document::Document;
use crate::keys::name_key;
use crate::lookup::Lookup;
use crate::password::{self, PASSWORD_BYTES_MAX};
use crate::state::State;
use crate::{DirectoryError, Mailbox, NewPassword, Person};

/// Longest name of a group, in bytes.
const GROUP_NAME_BYTES_MAX: usize = 256;
/// Longest short name, in bytes.
const SHORT_NAME_BYTES_MAX: usize = 64;
/// Most members of one group.
const MEMBERS_MAX: usize = 50_000;

/// Most aliases of one person or database.
const ALIASES_MAX: usize = 100;
/// Faults told of at once.
const FAULTS_MAX: usize = 50;

/// A value that may stand in the directory, or what is wrong with it.
pub(crate) type Checked<T> = Result<T, String>;

/// Everything that is wrong with what was given, so that it is told at once.
#[derive(Default)]
pub(crate) struct Faults(Vec<String>);

impl Faults {
    /// The value; when it is wrong some value, and the fault is kept.
    pub(crate) fn take<T: Default>(&mut self, checked: Checked<T>) -> T {
        checked.unwrap_or_else(|fault| {
            self.add(fault);
            T::default()
        })
    }

    pub(crate) fn add(&mut self, fault: String) {
        if self.0.len() < FAULTS_MAX && !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn append(&mut self, other: Faults) {
        other.0.into_iter().for_each(|fault| self.add(fault));
    }

    /// Refuses with all faults, if there are any.
    pub(crate) fn finish(self) -> Result<(), DirectoryError> {
        if self.0.is_empty() { Ok(()) } else { Err(DirectoryError::Refused(self.0.join("; "))) }
    }

    /// Adds the names and addresses of a document that other documents have.
    pub(crate) fn unique(
        &mut self,
        lookup: &Lookup<'_>,
        document: &Document,
        except: &Unid,
    ) -> Result<(), DirectoryError> {
        for (name, owner) in lookup.conflicts(&document.keys, except)? {
            self.add(format!("{name} belongs to {owner} already"));
        }
        Ok(())
    }
}

pub(crate) fn refused<T>(text: String) -> Checked<T> {
    Err(text)
}

/// The canonical full name; a common name alone is completed with the server's organization.
pub(crate) fn full_name(name: &str, server: &str) -> Checked<String> {
    let name = name.trim();
    if name.contains(|c: char| c.is_control() || "@\"<>,;".contains(c)) {
        return refused(format!("the full name {name:?} has characters that names cannot have"));
    }
    let parsed = match DistinguishedName::parse(name) {
        Ok(parsed) if !parsed.common().is_empty() => parsed,
        Ok(_) => return refused(format!("the full name {name:?} has no common name")),
        Err(error) => return refused(format!("the full name {name:?}: {error}")),
    };
    let organization = DistinguishedName::parse(server).ok().map(|s| s.organization().to_owned());
    match organization {
        Some(organization) if parsed.is_flat() && !organization.is_empty() => {
            Ok(format!("CN={}/O={organization}", parsed.common()))
        }
        _ => Ok(parsed.canonical()),
    }
}

pub(crate) fn short_name(name: &str) -> Checked<String> {
    let name = name.trim();
    if !name.is_ascii() {
        return refused(format!(
            "{name:?} is not a short name: mail addresses are made of ASCII characters here"
        ));
    }
    if is_dot_string(name) && name.len() <= SHORT_NAME_BYTES_MAX && !name.contains(['/', '=']) {
        return Ok(name.to_owned());
    }
    refused(format!("{name:?} is not a short name: it must fit before the @ of an address"))
}

/// An internet address at one of the local domains; the domain in lower case.
pub(crate) fn local_address(address: &str, state: &State) -> Checked<String> {
    let parsed = any_address(address)?;
    if parsed.domain.is_empty() || !state.is_local(&parsed.domain) {
        let domains = state.domains().join(", ");
        return refused(format!("{address} is not at a domain of this server ({domains})"));
    }
    let domain = parsed.domain.to_lowercase();
    Ok(Mailbox { domain, ..parsed }.to_string())
}

pub(crate) fn any_address(address: &str) -> Checked<Mailbox> {
    match Mailbox::parse(address.trim()) {
        Ok(parsed) => Ok(parsed),
        Err(error) => refused(format!("{address:?} is not an internet address: {error}")),
    }
}

/// An alias: another full name or another internet address.
pub(crate) fn alias(alias: &str, state: &State) -> Checked<String> {
    let alias = alias.trim();
    if alias.contains('@') {
        return local_address(alias, state);
    }
    if alias.is_empty() || alias.len() > GROUP_NAME_BYTES_MAX || alias.contains(char::is_control) {
        return refused(format!("{alias:?} cannot be an alias"));
    }
    Ok(alias.to_owned())
}

/// Aliases, with everything that is wrong with them.
pub(crate) fn aliases(aliases: &[String], state: &State, faults: &mut Faults) -> Vec<String> {
    if aliases.len() > ALIASES_MAX {
        faults.add(format!("there are {} aliases, and may be {ALIASES_MAX}", aliases.len()));
    }
    let mut kept: Vec<String> = Vec::with_capacity(aliases.len());
    for given in aliases.iter().take(ALIASES_MAX) {
        let one = faults.take(alias(given, state));
        if !one.is_empty() && !kept.iter().any(|known| name_key(known) == name_key(&one)) {
            kept.push(one);
        }
    }
    kept
}

pub(crate) fn group_name(name: &str) -> Checked<String> {
    let name = name.trim();
    let odd = |c: char| c.is_control() || "@\"<>,;".contains(c);
    if name.is_empty() || name.len() > GROUP_NAME_BYTES_MAX || name.contains(odd) {
        return refused(format!("{name:?} cannot be the name of a group"));
    }
    Ok(name.to_owned())
}

/// Members: names, known or not (they may come later), and addresses.
pub(crate) fn members(members: &[String]) -> Checked<Vec<String>> {
    if members.len() > MEMBERS_MAX {
        return refused(format!("a group has at most {MEMBERS_MAX} members"));
    }
    let mut kept: Vec<String> = Vec::with_capacity(members.len());
    let mut seen = std::collections::HashSet::new();
    for member in members {
        let member = member.trim();
        if member.is_empty() || member.contains(char::is_control) {
            return refused(format!("{member:?} cannot be a member of a group"));
        }
        if member.contains('@') && !member.contains('/') {
            any_address(member)?;
        }
        if seen.insert(name_key(member)) {
            kept.push(member.to_owned());
        }
    }
    Ok(kept)
}

pub(crate) fn password(password: &[u8]) -> Checked<()> {
    match password.len() {
        0 => refused("the password is empty".to_owned()),
        1..=PASSWORD_BYTES_MAX => Ok(()),
        _ => refused(format!("the password is longer than {PASSWORD_BYTES_MAX} bytes")),
    }
}

pub(crate) fn new_password(given: &NewPassword) -> Checked<()> {
    match given {
        NewPassword::Plain(plain) => password(plain),
        NewPassword::Hashed(phc) if password::is_phc(phc) => Ok(()),
        NewPassword::Hashed(_) => {
            refused("the password hash is not an Argon2 PHC string".to_owned())
        }
    }
}

/// A forwarding address; an empty one ends forwarding.
pub(crate) fn forward(address: Option<String>) -> Checked<Option<String>> {
    match address.filter(|address| !address.trim().is_empty()) {
        Some(address) => any_address(&address).map(|parsed| Some(parsed.to_string())),
        None => Ok(None),
    }
}

/// A forwarding address that is the person's own leads nowhere.
pub(crate) fn not_to_itself(person: &Person, state: &State, faults: &mut Faults) {
    let Some(to) = person.forward.as_deref().and_then(|to| Mailbox::parse(to).ok()) else {
        return;
    };
    let mut own = person.aliases.iter().chain([&person.internet_address]);
    let is_own = own.any(|own| Mailbox::parse(own).is_ok_and(|own| own.key() == to.key()));
    let is_named =
        state.is_local(&to.domain) && name_key(&to.local) == name_key(&person.short_name);
    if is_own || is_named {
        faults.add(format!("{to} is an address of the same person: mail cannot go on to it"));
    }
}

/// A path of a mail file: relative, below `data/`, no odd parts.
pub(crate) fn mail_file(path: &str) -> Checked<String> {
    let path = path.trim().replace('\\', "/");
    let fine = |part: &str| !part.is_empty() && part != "." && part != "..";
    if path.split('/').all(fine) && path.to_ascii_lowercase().ends_with(".nsf") {
        return Ok(path);
    }
    refused(format!("{path:?} is not a path of a mail file such as mail/ada.nsf"))
}

/// The mail file of somebody who asked for none.
pub(crate) fn default_mail_file(short_name: &str) -> String {
    let fine = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = short_name.to_lowercase().chars().map(fine).collect();
    format!("mail/{name}.nsf")
}
