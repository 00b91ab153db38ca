//! `group` commands.

use directory::{Found, Group, GroupChange, GroupKind, Mailbox, NewGroup, Resolved};
use serde_json::{Value, json};

use super::Failure;
use crate::site::Site;

/// What a group may be for.
pub const GROUP_TYPES: &[&str] = &["multi", "mail", "acl", "deny", "servers"];

fn shown_group(group: &Group) -> Value {
    json!({
        "name": group.name,
        "internet_address": group.internet_address,
        "type": group.kind.name(),
        "members": group.members,
    })
}

pub(super) fn add_group(
    site: &Site,
    name: String,
    address: Option<String>,
    kind: Option<&str>,
    members: Vec<String>,
) -> Result<Value, Failure> {
    let kind = kind.map(kind_named).transpose()?.unwrap_or_default();
    let own = [name.as_str(), address.as_deref().unwrap_or_default()];
    refuse_itself(&own, &members)?;
    let group = NewGroup { name, internet_address: address, members: members.clone(), kind };
    with_strangers(site, &site.directory.add_group(group)?, &members)
}

pub(super) fn set_group(
    site: &Site,
    name: &str,
    address: Option<String>,
    kind: Option<&str>,
) -> Result<Value, Failure> {
    let kind = kind.map(kind_named).transpose()?;
    let change = GroupChange { internet_address: address, kind, members: None };
    Ok(shown_group(&site.directory.set_group(name, change)?))
}

fn kind_named(name: &str) -> Result<GroupKind, Failure> {
    let short = if name.eq_ignore_ascii_case("multi") { "multi-purpose" } else { name };
    GroupKind::parse(short).ok_or_else(|| {
        Failure::Refused(format!("{name}: a group is one of {}", GROUP_TYPES.join(", ")))
    })
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
    for gone in remove {
        if !group.members.iter().any(|member| same(member, gone)) {
            return Err(Failure::Refused(format!("{gone} is not written in {}", group.name)));
        }
    }
    refuse_itself(&[&group.name, &group.internet_address], &add)?;
    let mut members = group.members;
    members.retain(|member| !remove.iter().any(|gone| same(member, gone)));
    for new in &add {
        if !members.iter().any(|member| same(member, new)) {
            members.push(new.clone());
        }
    }
    with_strangers(site, &site.directory.set_members(&group.name, members)?, &add)
}

/// Refuses a group as its own member.
fn refuse_itself(own: &[&str], members: &[String]) -> Result<(), Failure> {
    let is_same = |own: &&str, member: &str| !own.trim().is_empty() && same(own.trim(), member);
    let is_own = |member: &&String| own.iter().any(|own| is_same(own, member.trim()));
    match members.iter().find(is_own) {
        Some(member) => Err(Failure::Refused(format!("{member} cannot be a member of itself"))),
        None => Ok(()),
    }
}

/// A group, with those of the new members whom mail cannot reach: that is told, since they may
/// come later. Groups that take no mail name people and servers of other organizations too.
fn with_strangers(site: &Site, group: &Group, new: &[String]) -> Result<Value, Failure> {
    let mut shown = shown_group(group);
    let mut strangers = Vec::new();
    for member in new {
        if is_stranger(site, group.kind, member.trim())? {
            strangers.push(member.trim());
        }
    }
    if !strangers.is_empty() {
        shown["unknown_members"] = json!(strangers);
    }
    Ok(shown)
}

fn is_stranger(site: &Site, kind: GroupKind, name: &str) -> Result<bool, Failure> {
    let takes_mail = matches!(kind, GroupKind::Mail | GroupKind::MultiPurpose);
    let is_foreign = kind == GroupKind::MultiPurpose && name.contains(['/', '*']);
    if !takes_mail || is_foreign {
        return Ok(false);
    }
    match Mailbox::parse(name) {
        Ok(address) if !address.domain.is_empty() => {
            Ok(site.directory.resolve(&address)? == Resolved::Unknown)
        }
        _ => Ok(site.directory.find(name)? == Found::Unknown),
    }
}

/// Whether two names are the same.
fn same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}
