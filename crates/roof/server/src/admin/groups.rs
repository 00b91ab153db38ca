//! `group` commands.

use directory::{Found, Group, GroupChange, GroupKind, NewGroup};
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
    let group = NewGroup { name, internet_address: address, members, kind };
    Ok(shown_group(&site.directory.add_group(group)?))
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
