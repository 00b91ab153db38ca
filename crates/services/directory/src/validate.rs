//! What may stand in the directory: names, addresses, passwords, and no two of the same.

use note::{DistinguishedName, Unid};

use crate::address::is_dot_string;
use crate::index::Index;
use crate::password::{self, PASSWORD_BYTES_MAX};
use crate::{DirectoryError, Mailbox, NewPassword};

/// Longest name of a group, in bytes.
const GROUP_NAME_BYTES_MAX: usize = 256;
/// Longest short name, in bytes.
const SHORT_NAME_BYTES_MAX: usize = 64;
/// Most members of one group.
const MEMBERS_MAX: usize = 50_000;

pub(crate) fn refused<T>(text: String) -> Result<T, DirectoryError> {
    Err(DirectoryError::Refused(text))
}

/// The canonical full name; a common name alone is completed with the server's organization.
pub(crate) fn full_name(name: &str, server: &str) -> Result<String, DirectoryError> {
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

pub(crate) fn short_name(name: &str) -> Result<String, DirectoryError> {
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
pub(crate) fn local_address(address: &str, index: &Index) -> Result<String, DirectoryError> {
    let parsed = any_address(address)?;
    if parsed.domain.is_empty() || !index.is_local(&parsed.domain) {
        let domains = index.domains().join(", ");
        return refused(format!("{address} is not at a domain of this server ({domains})"));
    }
    let domain = parsed.domain.to_lowercase();
    Ok(Mailbox { domain, ..parsed }.to_string())
}

pub(crate) fn any_address(address: &str) -> Result<Mailbox, DirectoryError> {
    match Mailbox::parse(address.trim()) {
        Ok(parsed) => Ok(parsed),
        Err(error) => refused(format!("{address:?} is not an internet address: {error}")),
    }
}

/// An alias: another full name or another internet address.
pub(crate) fn alias(alias: &str, index: &Index) -> Result<String, DirectoryError> {
    let alias = alias.trim();
    if alias.contains('@') {
        return local_address(alias, index);
    }
    if alias.is_empty() || alias.len() > GROUP_NAME_BYTES_MAX || alias.contains(char::is_control) {
        return refused(format!("{alias:?} cannot be an alias"));
    }
    Ok(alias.to_owned())
}

pub(crate) fn group_name(name: &str) -> Result<String, DirectoryError> {
    let name = name.trim();
    let odd = |c: char| c.is_control() || "@\"<>,;".contains(c);
    if name.is_empty() || name.len() > GROUP_NAME_BYTES_MAX || name.contains(odd) {
        return refused(format!("{name:?} cannot be the name of a group"));
    }
    Ok(name.to_owned())
}

/// Members: names, known or not (they may come later), and addresses.
pub(crate) fn members(members: &[String]) -> Result<Vec<String>, DirectoryError> {
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
        if seen.insert(crate::index::name_key(member)) {
            kept.push(member.to_owned());
        }
    }
    Ok(kept)
}

pub(crate) fn password(password: &[u8]) -> Result<(), DirectoryError> {
    match password.len() {
        0 => refused("the password is empty".to_owned()),
        1..=PASSWORD_BYTES_MAX => Ok(()),
        _ => refused(format!("the password is longer than {PASSWORD_BYTES_MAX} bytes")),
    }
}

pub(crate) fn new_password(given: &NewPassword) -> Result<(), DirectoryError> {
    match given {
        NewPassword::Plain(plain) => password(plain),
        NewPassword::Hashed(phc) if password::is_phc(phc) => Ok(()),
        NewPassword::Hashed(_) => {
            refused("the password hash is not an Argon2 PHC string".to_owned())
        }
    }
}

/// A path of a mail file: relative, below `data/`, no odd parts.
pub(crate) fn mail_file(path: &str) -> Result<String, DirectoryError> {
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

/// Refuses a document whose names or addresses somebody else has.
pub(crate) fn unique(
    index: &Index,
    entry: &crate::document::Entry,
    except: &Unid,
) -> Result<(), DirectoryError> {
    match index.conflict(entry, except) {
        Some((name, owner)) => refused(format!("{name} belongs to {owner} already")),
        None => Ok(()),
    }
}
