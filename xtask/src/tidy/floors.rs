//! The floor rule: a crate leans only on floors below it and on the sisters listed here.

use std::path::Path;

/// The floors from the ground up, each with the folder its crates stand in.
const FLOORS: [&str; 5] = ["words", "engine", "services", "doors", "roof"];

/// Crates that may lean on a crate of their own floor.
const SISTERS: [(&str, &str); 13] = [
    ("message", "note"),
    ("objects", "txlog"),
    ("store", "txlog"),
    ("store", "objects"),
    ("directory", "mailfile"),
    ("router", "mailfile"),
    ("router", "directory"),
    ("migrate", "mailfile"),
    ("smtp", "session"),
    ("imap", "session"),
    ("pop3", "session"),
    ("nelumbo", "server"),
    ("nelumbo", "bench"),
];

/// Crates from outside that a floor keeps away from, so that it stays what it is.
const FOREIGN: [(&str, &[&str]); 3] = [
    ("words", &["tokio", "tracing", "rusqlite", "libc", "parking_lot", "getrandom"]),
    ("engine", &["tokio", "rustls", "tokio-rustls"]),
    ("services", &["tokio", "rustls", "tokio-rustls", "rusqlite"]),
];

/// A member of the workspace: its name, its floor if it has one, and what it depends on.
#[derive(Debug)]
pub struct Member {
    pub name: String,
    pub folder: String,
    pub dependencies: Vec<String>,
}

impl Member {
    /// Reads a manifest; `folder` is the path below the workspace.
    pub fn parse(folder: &str, manifest: &str) -> Result<Member, String> {
        let table: toml::Table = manifest.parse().map_err(|e: toml::de::Error| e.to_string())?;
        let name = table.get("package").and_then(|p| p.get("name")).and_then(|n| n.as_str());
        let mut dependencies = Vec::new();
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let listed = table.get(section).and_then(|t| t.as_table());
            dependencies.extend(listed.into_iter().flat_map(|t| t.keys().cloned()));
        }
        Ok(Member {
            name: name.ok_or("no package name")?.to_owned(),
            folder: folder.to_owned(),
            dependencies,
        })
    }

    fn floor(&self) -> Option<usize> {
        let mut steps = self.folder.split('/');
        if steps.next() != Some("crates") {
            return None;
        }
        let floor = steps.next()?;
        FLOORS.iter().position(|f| *f == floor)
    }
}

/// Reads the manifests of all members that the workspace manifest names.
pub fn members(root: &Path) -> Result<Vec<Member>, String> {
    let read =
        |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let manifest = read(&root.join("Cargo.toml"))?;
    let table: toml::Table = manifest.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let listed = table.get("workspace").and_then(|w| w.get("members")).and_then(|m| m.as_array());
    let mut members = Vec::new();
    for folder in listed.into_iter().flatten().filter_map(|m| m.as_str()) {
        let manifest = read(&root.join(folder).join("Cargo.toml"))?;
        members.push(Member::parse(folder, &manifest).map_err(|e| format!("{folder}: {e}"))?);
    }
    Ok(members)
}

/// Every dependency that climbs, goes sideways unlisted, or does not belong on its floor.
pub fn check(members: &[Member]) -> Vec<String> {
    let mut complaints = Vec::new();
    for member in members {
        let path = format!("{}/Cargo.toml", member.folder);
        if member.folder.starts_with("crates/") && member.floor().is_none() {
            complaints.push(format!("{path}: the folder is none of the floors {FLOORS:?}"));
        }
        for dependency in &member.dependencies {
            if let Some(reason) = refuse(members, member, dependency) {
                let name = &member.name;
                complaints.push(format!("{path}: {name} must not lean on {dependency}: {reason}"));
            }
        }
    }
    complaints
}

fn refuse(members: &[Member], member: &Member, dependency: &str) -> Option<String> {
    let floor = member.floor();
    let Some(other) = members.iter().find(|m| m.name == *dependency) else {
        let floor = FLOORS[floor?];
        let (_, foreign) = FOREIGN.iter().find(|(f, _)| *f == floor)?;
        return foreign.contains(&dependency).then(|| format!("not on the floor {floor}"));
    };
    match (floor, other.floor()) {
        (None, _) => Some(format!("{} speaks to the product over the wire only", member.name)),
        (Some(_), None) => Some(format!("{dependency} stands beside the house")),
        (Some(mine), Some(its)) if its > mine => Some("it is on a floor above".to_owned()),
        (Some(mine), Some(its)) if its == mine => {
            let listed = SISTERS.contains(&(member.name.as_str(), dependency));
            (!listed).then(|| "it is a sister that the table of xtask does not list".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, check};

    fn member(folder: &str, dependencies: &[&str]) -> Member {
        let name = folder.rsplit('/').next().unwrap();
        let lines: String =
            dependencies.iter().map(|d| format!("{d}.workspace = true\n")).collect();
        let manifest = format!("[package]\nname = \"{name}\"\n[dependencies]\n{lines}");
        Member::parse(folder, &manifest).unwrap()
    }

    #[test]
    fn what_a_crate_may_lean_on() {
        let cases: [(&str, &str, usize); 8] = [
            ("crates/engine/store", "note", 0),
            ("crates/engine/store", "txlog", 0),
            ("crates/engine/txlog", "store", 1),
            ("crates/words/note", "store", 1),
            ("crates/engine/txlog", "tokio", 1),
            ("crates/doors/imap", "tokio", 0),
            ("xtask", "note", 1),
            ("crates/attic/odd", "serde", 1),
        ];
        for (folder, dependency, complaints) in cases {
            let mut all = vec![
                member("crates/words/note", &[]),
                member("crates/engine/txlog", &[]),
                member("crates/engine/store", &[]),
            ];
            all.retain(|m| m.folder != folder);
            all.push(member(folder, &[dependency]));
            assert_eq!(check(&all).len(), complaints, "{folder} -> {dependency}");
        }
    }
}
