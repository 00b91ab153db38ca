//! Rules and blocked senders as notes: one note for each rule, one for all blocked senders.
//!
//! They have universal ids of their own, the same in every mail file, so that they are found
//! without a search and replicas agree about them.

use note::{ItemFlags, Note, NoteClass, TimeDate, Unid};
use store::{Database, PreparedNote, Reader, StoreError, Stub, Writer, Written};

use super::{Action, Condition, RULES_MAX, Rule, blocked_of, faults_of};
use crate::{MailError, MailFile};

/// The first bytes of the universal ids of notes that belong to the mail file itself.
const OWN_UNID: [u8; 14] = *b"nelumbo.mail\0\0";
/// The note of the blocked senders; rules have the numbers from 1 on.
const BLOCKED_SLOT: u16 = 0xFFFF;

/// The universal id of one of the notes that belong to the mail file itself: below 0x8000 rules.
pub(crate) fn slot_unid(slot: u16) -> Unid {
    let mut bytes = [0; 16];
    bytes[..14].copy_from_slice(&OWN_UNID);
    bytes[14..].copy_from_slice(&slot.to_be_bytes());
    Unid(bytes)
}

/// Reads the note of a slot. One that is damaged is there without items: the rule is not followed,
/// and mail still comes in.
pub(crate) fn load(rows: &Reader<'_>, slot: u16) -> Result<Option<Note>, StoreError> {
    let meta = match rows.note_by_unid(&slot_unid(slot))? {
        Some(meta) if meta.deleted.is_none() => meta,
        _ => return Ok(None),
    };
    match rows.note(meta.id) {
        Err(error @ (StoreError::Damage { .. } | StoreError::Decode(_))) => {
            tracing::error!(slot, %error, "a note of a mail file's own cannot be read");
            let mut note = Note::new(meta.unid, meta.class, meta.modified);
            note.oid.sequence = meta.sequence;
            Ok(Some(note))
        }
        note => note,
    }
}

/// All rules in order, also those that are not enabled.
pub(super) fn load_rules(rows: &Reader<'_>) -> Result<Vec<Rule>, StoreError> {
    let mut rules = Vec::new();
    for slot in 1..=RULES_MAX as u16 {
        match load(rows, slot)? {
            Some(note) => rules.push(read_rule(&note)),
            None => break,
        }
    }
    Ok(rules)
}

/// The blocked senders as they are compared.
pub(super) fn load_blocked(rows: &Reader<'_>) -> Result<Vec<String>, StoreError> {
    let note = load(rows, BLOCKED_SLOT)?;
    let given = note.as_ref().map(|note| note.texts("BlockedSenders")).unwrap_or_default();
    Ok(given.into_iter().map(str::to_owned).collect())
}

/// A rule with a part that cannot be read is not followed.
fn read_rule(note: &Note) -> Rule {
    let conditions: Result<Vec<_>, _> =
        note.texts("ConditionList").into_iter().map(Condition::parse).collect();
    let actions: Result<Vec<_>, _> =
        note.texts("ActionList").into_iter().map(Action::parse).collect();
    let name = note.text("Subject").unwrap_or_default().to_owned();
    let enabled = note.text("Enable") == Some("1");
    let any = note.text("MatchAny") == Some("1");
    match (conditions, actions) {
        (Ok(conditions), Ok(actions)) => Rule { name, enabled, any, conditions, actions },
        (conditions, actions) => {
            let errors = [conditions.err(), actions.err()];
            let error = errors.into_iter().flatten().map(|error| error.to_string());
            let error = error.collect::<Vec<_>>().join("; ");
            tracing::warn!(rule = name, error, "a mail rule cannot be read and is not followed");
            Rule { name, enabled: false, any, conditions: Vec::new(), actions: Vec::new() }
        }
    }
}

fn write_rule(note: &mut Note, rule: &Rule, order: usize) {
    let mark = |on: bool| if on { "1" } else { "0" };
    let conditions: Vec<String> = rule.conditions.iter().map(Condition::to_string).collect();
    let actions: Vec<String> = rule.actions.iter().map(Action::to_string).collect();
    note.set_with("Form", "MailRule", ItemFlags::SUMMARY);
    note.set_with("Subject", rule.name.trim(), ItemFlags::SUMMARY);
    note.set_with("OrderNum", note::ItemValue::Number(order as f64), ItemFlags::SUMMARY);
    note.set_with("Enable", mark(rule.enabled), ItemFlags::SUMMARY);
    note.set_with("MatchAny", mark(rule.any), ItemFlags::SUMMARY);
    note.set_with("ConditionList", conditions, ItemFlags::SUMMARY);
    note.set_with("ActionList", actions, ItemFlags::SUMMARY);
}

/// Puts what `fill` makes of the note of a slot, unless that changes nothing.
pub(crate) fn put_slot(
    w: &mut Writer<'_>,
    db: &Database,
    slot: u16,
    fill: impl FnOnce(&mut Note),
) -> Result<(), StoreError> {
    let now = w.now();
    let old = load(&w.reader(db)?, slot)?;
    let mut note = match &old {
        Some(old) => {
            let mut note = old.clone();
            note.touch(now.max(TimeDate(old.oid.sequence_time.0.saturating_add(1))));
            note
        }
        None => Note::new(slot_unid(slot), NoteClass::FILTER, now),
    };
    fill(&mut note);
    let same = old.as_ref().is_some_and(|old| {
        let pairs = || old.items.iter().zip(&note.items);
        old.items.len() == note.items.len() && pairs().all(|(a, b)| a.value == b.value)
    });
    if !same {
        w.put_note(db, &PreparedNote::new(&note, 0, now))?;
    }
    Ok(())
}

/// Deletes the note of a slot, if there is one.
fn drop_slot(w: &mut Writer<'_>, db: &Database, slot: u16) -> Result<bool, StoreError> {
    let meta = w.reader(db)?.note_by_unid(&slot_unid(slot))?;
    match &meta {
        Some(meta) => w.delete_note(db, meta.id, Stub::Keep)?,
        None => return Ok(false),
    }
    Ok(true)
}

impl MailFile {
    /// The rules in order, also those that are not enabled.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn rules_list(&self) -> Result<store::Read<Vec<Rule>>, StoreError> {
        self.read(load_rules)
    }

    /// Puts these rules in place of all.
    ///
    /// # Errors
    /// [`MailError::BadRules`] with everything that is wrong; the database is in trouble.
    pub fn set_rules(&self, rules: &[Rule]) -> Result<Written<()>, MailError> {
        let faults = faults_of(rules);
        if !faults.is_empty() {
            return Err(MailError::BadRules { faults });
        }
        let db = &self.db;
        let written = self.files.store.write::<_, StoreError>(&[db], |w| {
            for (number, rule) in rules.iter().enumerate() {
                put_slot(w, db, number as u16 + 1, |note| write_rule(note, rule, number + 1))?;
            }
            for slot in rules.len() as u16 + 1..=RULES_MAX as u16 {
                if !drop_slot(w, db, slot)? {
                    break;
                }
            }
            Ok(())
        })?;
        Ok(written)
    }

    /// The blocked senders: addresses, and domains with `@` in front.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn blocked_senders(&self) -> Result<store::Read<Vec<String>>, StoreError> {
        self.read(load_blocked)
    }

    /// Puts these blocked senders (addresses, and domains with or without `@` in front, which stand
    /// for the domains below them too) in place of all.
    ///
    /// # Errors
    /// [`MailError::BadRules`] with everything that is wrong; the database is in trouble.
    pub fn set_blocked_senders(&self, senders: &[String]) -> Result<Written<()>, MailError> {
        let blocked = blocked_of(senders).map_err(|faults| MailError::BadRules { faults })?;
        let db = &self.db;
        let written = self.files.store.write::<_, StoreError>(&[db], |w| {
            if blocked.is_empty() {
                return drop_slot(w, db, BLOCKED_SLOT).map(|_| ());
            }
            put_slot(w, db, BLOCKED_SLOT, |note| {
                note.set_with("Form", "BlockedSenders", ItemFlags::SUMMARY);
                note.set("BlockedSenders", blocked);
            })
        })?;
        Ok(written)
    }
}
