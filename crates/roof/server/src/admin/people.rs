//! `user` commands.

use directory::{Found, NewName, NewPassword, NewPerson, Person, PersonChange};
use serde_json::{Value, json};
use store::Quota;

use super::Failure;
use crate::request::{Secret, UserAdd, UserSet};
use crate::site::Site;
use crate::table::counted;

fn shown(person: &Person) -> Value {
    json!({
        "full_name": person.full_name,
        "short_name": person.short_name,
        "internet_address": person.internet_address,
        "mail_file": person.mail_file,
        "aliases": person.aliases,
        "forward": person.forward,
        "admin": person.admin,
        "disabled": person.disabled,
        "message_bytes_max": person.message_bytes_max,
    })
}

fn plain(secret: Secret) -> Result<NewPassword, Failure> {
    if secret.0.is_empty() {
        return Err(Failure::Refused("an empty password is not accepted".to_owned()));
    }
    Ok(NewPassword::Plain(secret.0.into_bytes()))
}

pub(super) fn add(site: &Site, add: UserAdd) -> Result<Value, Failure> {
    let person = NewPerson {
        full_name: add.full_name,
        short_name: add.short_name,
        aliases: add.aliases,
        forward: add.forward,
        password: add.password.map(plain).transpose()?,
        ..NewPerson::default()
    };
    let made = site.directory.add_person(person)?;
    if add.admin {
        set_admin(site, &made.full_name, true)?;
    }
    show(site, &made.short_name)
}

pub(super) fn set(site: &Site, set: UserSet) -> Result<Value, Failure> {
    let forward = set.forward.map(|address| Some(address).filter(|text| !text.is_empty()));
    let change = PersonChange {
        aliases: set.aliases,
        forward,
        disabled: set.disabled,
        message_bytes_max: set.message_bytes_max,
        ..PersonChange::default()
    };
    let person = site.directory.change_person(&set.name, change)?;
    set_quota(site, &person, set.quota_bytes, set.warn_bytes)?;
    if let Some(admin) = set.admin {
        set_admin(site, &person.full_name, admin)?;
    }
    show(site, &person.full_name)
}

pub(super) fn rename(site: &Site, name: &str, full_name: String) -> Result<Value, Failure> {
    let before = find(site, name)?;
    let new = NewName { full_name: Some(full_name), ..NewName::default() };
    let after = site.directory.rename_person(name, new)?;
    if before.admin && !after.admin {
        set_admin(site, &before.full_name, false)?;
        set_admin(site, &after.full_name, true)?;
    }
    show(site, &after.full_name)
}

pub(super) fn set_password(site: &Site, name: &str, secret: Secret) -> Result<Value, Failure> {
    site.directory.set_password(name, plain(secret)?)?;
    show(site, name)
}

pub(super) fn remove(site: &Site, name: &str, with_mail: bool) -> Result<Value, Failure> {
    let person = site.directory.remove_person(name)?;
    if person.admin {
        set_admin(site, &person.full_name, false)?;
    }
    if with_mail && !person.mail_file.is_empty() {
        site.store.delete(&person.mail_file)?;
    }
    Ok(shown(&person))
}

pub(super) fn list(site: &Site) -> Result<Value, Failure> {
    let people = site.directory.people()?;
    Ok(people.iter().map(|person| with_quota(site, person)).collect())
}

/// A person with what the mail file holds and may hold.
fn with_quota(site: &Site, person: &Person) -> Value {
    let mut row = shown(person);
    // A person without a mail file, or with one in trouble, is listed all the same.
    if let Ok(info) = site.store.info(&person.mail_file) {
        row["used_bytes"] = json!(info.logical_bytes);
        row["quota_bytes"] = json!(info.quota.limit_bytes);
        row["warn_bytes"] = json!(info.quota.warn_bytes);
    }
    row
}

/// Changes the quota of a mail file; `None` leaves as it is.
fn set_quota(
    site: &Site,
    person: &Person,
    limit: Option<u64>,
    warn: Option<u64>,
) -> Result<(), Failure> {
    if limit.is_none() && warn.is_none() {
        return Ok(());
    }
    if person.mail_file.is_empty() {
        return Err(Failure::Refused(format!("{} has no mail file", person.full_name)));
    }
    let database = site.store.database(&person.mail_file)?;
    let before = site.store.info(&person.mail_file)?.quota;
    let quota = Quota {
        limit_bytes: limit.unwrap_or(before.limit_bytes),
        warn_bytes: warn.unwrap_or(before.warn_bytes),
    };
    if quota.limit_bytes > 0 && quota.warn_bytes > quota.limit_bytes {
        let problem = "the warning lies above the quota; give both, or 0 for none".to_owned();
        return Err(Failure::Refused(problem));
    }
    let written = site.store.write(&[&database], |writer| writer.set_quota(&database, quota))?;
    Ok(site.store.durable(written.lsn).wait().map_err(store::StoreError::from)?)
}

/// Lets somebody sign in again.
pub(super) fn unlock(site: &Site, name: Option<&str>) -> Result<Value, Failure> {
    let count = site.directory.clear_lockout(name)?;
    if let (Some(name), 0) = (name, count) {
        // Names that nobody has are locked out as well.
        let person = find(site, name)?;
        return Ok(json!(format!("{} was not locked out", person.full_name)));
    }
    Ok(json!(format!("{} may sign in again", counted(count as u64, "name"))))
}

pub(super) fn find(site: &Site, name: &str) -> Result<Person, Failure> {
    match site.directory.find(name)? {
        Found::Person(person) => Ok(person),
        Found::Ambiguous(names) => {
            Err(Failure::Refused(format!("{name} is ambiguous: {}", names.join(", "))))
        }
        Found::Group(_) | Found::MailIn(_) | Found::Unknown => {
            Err(Failure::Refused(format!("there is no person named {name}")))
        }
    }
}

fn show(site: &Site, name: &str) -> Result<Value, Failure> {
    find(site, name).map(|person| with_quota(site, &person))
}

fn set_admin(site: &Site, full_name: &str, admin: bool) -> Result<(), Failure> {
    let mut names = site.directory.administrators()?;
    names.retain(|name| !name.eq_ignore_ascii_case(full_name));
    if admin {
        names.push(full_name.to_owned());
    }
    Ok(site.directory.set_administrators(names)?)
}
