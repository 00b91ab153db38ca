//! `user rule`, `user block` and `mail restore`: what a person's mail file does with mail.

use mailfile::rules::{Action, Condition, Rule};
use mailfile::{MailError, MailFile, MailFiles};
use note::Unid;
use serde_json::{Value, json};
use store::StoreError;

use super::{Failure, Shown, people};
use crate::progress::Progress;
use crate::request::{RuleText, chain};
use crate::site::Site;

/// Messages restored in one order.
const RESTORED_MAX: usize = 10_000;

impl From<MailError> for Failure {
    fn from(error: MailError) -> Self {
        match error {
            MailError::Store(error) => error.into(),
            error => Self::Refused(chain(&error)),
        }
    }
}

fn open(site: &Site, name: &str) -> Result<(String, MailFile), Failure> {
    let person = people::find(site, name)?;
    if person.mail_file.is_empty() {
        return Err(Failure::Refused(format!("{} has no mail file", person.full_name)));
    }
    let file = MailFiles::new(site.store.clone()).open(&person.mail_file)?;
    Ok((person.full_name, file))
}

fn durable(site: &Site, lsn: txlog::Lsn) -> Result<(), Failure> {
    Ok(site.store.durable(lsn).wait().map_err(StoreError::from)?)
}

fn shown(rule: &Rule) -> Value {
    let texts = |list: Vec<String>| list.join("; ");
    let glue = if rule.any { " or " } else { " and " };
    let conditions: Vec<String> = rule.conditions.iter().map(ToString::to_string).collect();
    json!({
        "name": rule.name,
        "enabled": rule.enabled,
        "any": rule.any,
        "conditions": conditions,
        "actions": rule.actions.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "if": conditions.join(glue),
        "then": texts(rule.actions.iter().map(ToString::to_string).collect()),
    })
}

pub(super) fn list(site: &Site, name: &str) -> Result<Value, Failure> {
    let (_, file) = open(site, name)?;
    Ok(file.rules_list()?.value.iter().map(shown).collect())
}

/// Reads a rule as people write it; every mistake is told.
fn parse(text: RuleText) -> Result<Rule, Failure> {
    let mut wrong = Vec::new();
    let (mut conditions, mut actions) = (Vec::new(), Vec::new());
    for condition in &text.conditions {
        match Condition::parse(condition) {
            Ok(condition) => conditions.push(condition),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    for action in &text.actions {
        match Action::parse(action) {
            Ok(action) => actions.push(action),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    match wrong.is_empty() {
        true => {
            Ok(Rule { name: text.name, enabled: text.enabled, any: text.any, conditions, actions })
        }
        false => Err(Failure::Refused(wrong.join("\n"))),
    }
}

pub(super) fn add(site: &Site, name: &str, text: RuleText, first: bool) -> Result<Value, Failure> {
    let rule = parse(text)?;
    let actions = rule.actions.clone();
    let (_, file) = open(site, name)?;
    let mut rules = file.rules_list()?.value;
    let same = |other: &Rule| other.name.eq_ignore_ascii_case(&rule.name);
    match rules.iter().position(same) {
        Some(at) if !first => rules[at] = rule,
        at => {
            if let Some(at) = at {
                rules.remove(at);
            }
            let at = if first { 0 } else { rules.len() };
            rules.insert(at, rule);
        }
    }
    durable(site, file.set_rules(&rules)?.lsn)?;
    make_folders(site, &file, &actions)?;
    Ok(rules.iter().map(shown).collect())
}

/// Makes the folders that a rule names and that are missing: their mail would go to INBOX.
fn make_folders(site: &Site, file: &MailFile, actions: &[Action]) -> Result<(), Failure> {
    for action in actions {
        let (Action::Move(name) | Action::Copy(name)) = action else { continue };
        let (folders, wanted) = (file.folders()?.value, name.to_lowercase());
        let is_there = folders.iter().any(|folder| folder.name.to_lowercase() == wanted);
        if !is_there && !name.starts_with('\\') {
            durable(site, file.create_folder(name, None)?.lsn)?;
        }
    }
    Ok(())
}

pub(super) fn remove(site: &Site, name: &str, rule: &str) -> Result<Value, Failure> {
    let (person, file) = open(site, name)?;
    let mut rules = file.rules_list()?.value;
    let before = rules.len();
    rules.retain(|other| !other.name.eq_ignore_ascii_case(rule));
    if rules.len() == before {
        return Err(Failure::Refused(format!("{person} has no rule named {rule}")));
    }
    durable(site, file.set_rules(&rules)?.lsn)?;
    Ok(rules.iter().map(shown).collect())
}

pub(super) fn block(
    site: &Site,
    name: &str,
    add: Vec<String>,
    remove: &[String],
) -> Result<Value, Failure> {
    let (full_name, file) = open(site, name)?;
    let mut senders = file.blocked_senders()?.value;
    for gone in remove {
        let before = senders.len();
        senders.retain(|sender| !sender.eq_ignore_ascii_case(gone));
        if senders.len() == before {
            return Err(Failure::Refused(format!("{gone} is not blocked for {full_name}")));
        }
    }
    if let Some(wrong) = add.iter().find(|new| !is_sender(new)) {
        let problem = "neither an address nor @domain, whose mail could be blocked";
        return Err(Failure::Refused(format!("{wrong}: {problem}")));
    }
    for new in &add {
        if !senders.iter().any(|sender| sender.eq_ignore_ascii_case(new)) {
            senders.push(new.clone());
        }
    }
    if !add.is_empty() || !remove.is_empty() {
        durable(site, file.set_blocked_senders(&senders)?.lsn)?;
    }
    Ok(json!({ "full_name": full_name, "blocked": senders }))
}

/// Whether it can be blocked: `name@domain` or `@domain`.
fn is_sender(text: &str) -> bool {
    let domain = text.trim().rsplit_once('@').map_or("", |(_, domain)| domain);
    !domain.is_empty() && !text.trim().contains(|c: char| c.is_whitespace() || c.is_control())
}

pub(super) fn deleted(site: &Site, name: &str, limit: usize) -> Result<Value, Failure> {
    let (_, file) = open(site, name)?;
    let rows = file.deleted(limit)?.value;
    let row = |row: &mailfile::trash::Deleted| {
        json!({
            "unid": row.unid.to_string(),
            "from": row.from,
            "subject": row.subject,
            "size": row.size,
            "date": row.date.to_string(),
            "deleted": row.deleted.to_string(),
        })
    };
    Ok(rows.iter().map(row).collect())
}

/// Which deleted messages are meant.
pub(super) struct Chosen<'a> {
    pub unids: &'a [String],
    pub since_s: Option<u64>,
    pub folder: Option<&'a str>,
}

pub(super) fn restore(
    site: &Site,
    name: &str,
    chosen: &Chosen<'_>,
    progress: &mut dyn Progress,
) -> Result<Shown, Failure> {
    let (_, file) = open(site, name)?;
    let unids = meant(site, &file, chosen)?;
    let (mut rows, mut clean) = (Vec::with_capacity(unids.len()), true);
    for (done, unid) in unids.iter().enumerate() {
        if progress.step("messages restored", done as u64, unids.len() as u64).is_break() {
            clean = false;
            break;
        }
        match file.restore(unid, chosen.folder) {
            Ok(written) => {
                durable(site, written.lsn)?;
                rows.push(json!({ "unid": unid.to_string(), "folder": written.value.folder }));
            }
            Err(MailError::Store(error)) => return Err(error.into()),
            Err(error) => {
                clean = false;
                rows.push(json!({ "unid": unid.to_string(), "error": chain(&error) }));
            }
        }
    }
    Ok(Shown { value: Value::Array(rows), clean })
}

fn meant(site: &Site, file: &MailFile, chosen: &Chosen<'_>) -> Result<Vec<Unid>, Failure> {
    if !chosen.unids.is_empty() {
        let parse = |text: &String| {
            text.parse().map_err(|error| Failure::Refused(format!("{text}: {error}")))
        };
        return chosen.unids.iter().map(parse).collect();
    }
    let Some(since_s) = chosen.since_s else {
        let problem = "which ones? Give UNIDs (mail deleted lists them), or --since".to_owned();
        return Err(Failure::Refused(problem));
    };
    let back = i64::try_from(since_s).unwrap_or(i64::MAX / 2_000_000);
    let since = site.store.now().plus_seconds(-back);
    let rows = file.deleted(RESTORED_MAX)?.value;
    Ok(rows.iter().filter(|row| row.deleted >= since).map(|row| row.unid).collect())
}
