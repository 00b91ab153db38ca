//! `user` and `group` commands.

use directory::{Found, Group, NewGroup, NewPassword, NewPerson, Person, PersonChange};
use serde_json::{Value, json};

use super::Failure;
use crate::request::{Secret, UserAdd, UserSet};
use crate::site::Site;

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
    })
}

fn shown_group(group: &Group) -> Value {
    json!({
        "name": group.name,
        "internet_address": group.internet_address,
        "members": group.members,
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
        ..PersonChange::default()
    };
    let person = site.directory.change_person(&set.name, change)?;
    if let Some(admin) = set.admin {
        set_admin(site, &person.full_name, admin)?;
    }
    show(site, &person.full_name)
}

pub(super) fn rename(site: &Site, name: &str, full_name: String) -> Result<Value, Failure> {
    let before = find(site, name)?;
    let change = PersonChange { full_name: Some(full_name), ..PersonChange::default() };
    let after = site.directory.change_person(name, change)?;
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
    Ok(site.directory.people()?.iter().map(shown).collect())
}

fn find(site: &Site, name: &str) -> Result<Person, Failure> {
    match site.directory.find(name)? {
        Found::Person(person) => Ok(person),
        Found::Ambiguous(names) => {
            Err(Failure::Refused(format!("{name} is ambiguous: {}", names.join(", "))))
        }
        Found::Group(_) | Found::Unknown => {
            Err(Failure::Refused(format!("there is no person named {name}")))
        }
    }
}

fn show(site: &Site, name: &str) -> Result<Value, Failure> {
    find(site, name).map(|person| shown(&person))
}

fn set_admin(site: &Site, full_name: &str, admin: bool) -> Result<(), Failure> {
    let mut names = site.directory.administrators()?;
    names.retain(|name| !name.eq_ignore_ascii_case(full_name));
    if admin {
        names.push(full_name.to_owned());
    }
    Ok(site.directory.set_administrators(names)?)
}

pub(super) fn add_group(
    site: &Site,
    name: String,
    address: Option<String>,
    members: Vec<String>,
) -> Result<Value, Failure> {
    let group = NewGroup { name, internet_address: address, members };
    Ok(shown_group(&site.directory.add_group(group)?))
}

pub(super) fn remove_group(site: &Site, name: &str) -> Result<Value, Failure> {
    Ok(shown_group(&site.directory.remove_group(name)?))
}

pub(super) fn list_groups(site: &Site) -> Result<Value, Failure> {
    Ok(site.directory.groups()?.iter().map(shown_group).collect())
}

pub(super) fn change_members(
    site: &Site,
    name: &str,
    add: Vec<String>,
    remove: &[String],
) -> Result<Value, Failure> {
    let Found::Group(group) = site.directory.find(name)? else {
        return Err(Failure::Refused(format!("there is no group named {name}")));
    };
    if add.is_empty() && remove.is_empty() {
        return Ok(shown_group(&group));
    }
    let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
    for gone in remove {
        if !group.members.iter().any(|member| same(member, gone)) {
            return Err(Failure::Refused(format!("{gone} is not written in {}", group.name)));
        }
    }
    let mut members = group.members;
    members.retain(|member| !remove.iter().any(|gone| same(member, gone)));
    for new in add {
        if !members.iter().any(|member| same(member, &new)) {
            members.push(new);
        }
    }
    Ok(shown_group(&site.directory.set_members(&group.name, members)?))
}
