//! The tables of people and groups.

/// A person of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DemoPerson {
    /// Short name and local part.
    pub short: &'static str,
    /// Full name without organisation.
    pub full: &'static str,
    /// Further local parts, separated by commas.
    pub aliases: &'static str,
}

/// A group of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DemoGroup {
    /// List name.
    pub name: &'static str,
    /// Local part of its address.
    pub local: &'static str,
    /// Short names of people and names of groups, separated by commas.
    pub members: &'static str,
}

/// The administrator.
pub(super) const ADMIN: DemoPerson =
    DemoPerson { short: "admin", full: "Demo Administrator", aliases: "postmaster" };

const PEOPLE: &str = include_str!("../../demo/people.txt");
const GROUPS: &str = include_str!("../../demo/groups.txt");

/// The twelve people and the administrator.
pub(super) fn people() -> impl Iterator<Item = DemoPerson> {
    let twelve = rows(PEOPLE).map(|[short, full, aliases]| DemoPerson { short, full, aliases });
    std::iter::once(ADMIN).chain(twelve)
}

/// The groups, those without groups inside first.
pub(super) fn groups() -> impl Iterator<Item = DemoGroup> {
    rows(GROUPS).map(|[name, local, members]| DemoGroup { name, local, members })
}

/// Members of a list with commas.
pub(super) fn members(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(',').map(str::trim).filter(|member| !member.is_empty())
}

/// Finds a person by short name or alias.
pub(super) fn person(name: &str) -> Option<DemoPerson> {
    people().find(|person| person.short == name || members(person.aliases).any(|a| a == name))
}

/// Finds a group by name or local part.
pub(super) fn group(name: &str) -> Option<DemoGroup> {
    groups().find(|group| group.name == name || group.local == name)
}

/// The people a name stands for: a person, or everybody in a group and the groups within.
pub(super) fn expand(name: &str, into: &mut Vec<DemoPerson>) {
    if let Some(person) = person(name) {
        if !into.contains(&person) {
            into.push(person);
        }
    } else if let Some(group) = group(name) {
        for member in members(group.members) {
            expand(member, into);
        }
    }
}

fn rows(table: &'static str) -> impl Iterator<Item = [&'static str; 3]> {
    table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut cells = line.split('|').map(str::trim);
        Some([cells.next()?, cells.next()?, cells.next()?])
    })
}
