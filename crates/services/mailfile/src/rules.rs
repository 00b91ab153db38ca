//! What the owner of a mail file wants to happen to mail that comes in: rules and blocked senders.
//!
//! They lie as notes in the mail file ([`stored`]) and are kept in memory in the form in which a
//! delivery asks them ([`RuleSet`]). [`judge`] is pure: it says what is to be done with a
//! [`Letter`]; [`crate::deliver()`] does it.

mod judge;
mod kept;
mod set;
mod stored;
mod text;

pub use judge::{Letter, Verdict, judge};
pub(crate) use kept::RuleShelf;
pub use set::RuleSet;
pub(crate) use stored::{load as load_slot, put_slot, slot_unid};
pub use text::RuleTextError;

/// Rules of one mail file.
pub const RULES_MAX: usize = 100;
/// Conditions of one rule.
pub const CONDITIONS_MAX: usize = 50;
/// Actions of one rule.
pub const ACTIONS_MAX: usize = 20;
/// Longest name of a rule, text of a condition and address of an action, in bytes.
pub const TEXT_BYTES_MAX: usize = 1_024;
/// Blocked addresses and domains of one mail file.
pub const BLOCKED_MAX: usize = 20_000;
/// Addresses that one message is forwarded to by rules of one mail file.
pub const FORWARDS_MAX: usize = 20;
/// Folders that one message is copied to by rules of one mail file.
pub const COPIES_MAX: usize = 20;
/// Where mail of blocked senders goes: the folder of this special use.
pub const BLOCKED_FOLDER: &str = "\\Junk";

/// A rule: when its conditions hold, its actions are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// For people; need not be unique.
    pub name: String,
    /// Whether it is looked at.
    pub enabled: bool,
    /// One condition that holds is enough; else all must. Without conditions it always holds.
    pub any: bool,
    /// When.
    pub conditions: Vec<Condition>,
    /// What.
    pub actions: Vec<Action>,
}

/// What a text condition looks at. Letter case never matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// The From field; *is* compares the bare address too. The envelope's sender counts as well.
    Sender,
    /// The decoded subject.
    Subject,
    /// The To field: one of its addresses.
    To,
    /// The Cc field: one of its addresses.
    Cc,
    /// One of the addresses of To and Cc.
    ToOrCc,
    /// Any header field of this name, decoded.
    Header(String),
}

/// How a text condition compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The text is part of it.
    Contains,
    /// The text is no part of it (of any of several).
    ContainsNot,
    /// It is the text.
    Is,
    /// It is not the text (none of several is).
    IsNot,
    /// It begins with the text.
    Begins,
}

/// Importance of a message, as its Importance or X-Priority field says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// High.
    High,
    /// Normal, or nothing said.
    Normal,
    /// Low.
    Low,
}

/// A condition of a rule. Its text form is what people write: see [`Condition::parse`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A field compared with a text.
    Text {
        /// What is looked at.
        field: Field,
        /// How.
        test: Test,
        /// With what.
        value: String,
    },
    /// The message has more bytes.
    SizeOver(u64),
    /// The message has fewer bytes.
    SizeUnder(u64),
    /// The message has this importance.
    Importance(Importance),
}

/// What a rule does. Its text form is what people write: see [`Action::parse`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Into this folder instead of INBOX; the first one counts. `\Junk` and its like mean the
    /// folder of that special use. A folder that is gone: INBOX.
    Move(String),
    /// Into this folder as well.
    Copy(String),
    /// Into no folder (copies aside), and no more rules: the message can be restored for as long
    /// as deleted mail is kept.
    Delete,
    /// To this address as well.
    Forward(String),
    /// Marked as read.
    MarkRead,
    /// Flagged.
    Flag,
    /// No more rules.
    Stop,
}

/// Everything that is wrong with rules or blocked senders, in words.
pub(crate) fn faults_of(rules: &[Rule]) -> Vec<String> {
    let mut faults = Vec::new();
    if rules.len() > RULES_MAX {
        faults.push(format!("there are {} rules, and may be {RULES_MAX}", rules.len()));
    }
    for (number, rule) in rules.iter().enumerate() {
        let at = format!("rule {} ({:?})", number + 1, short(&rule.name));
        faults.extend(rule_faults(rule).into_iter().map(|fault| format!("{at}: {fault}")));
    }
    faults
}

fn rule_faults(rule: &Rule) -> Vec<String> {
    let mut faults = Vec::new();
    if rule.name.trim().is_empty() || !is_plain(&rule.name) {
        faults.push("the name is empty, too long or holds control characters".to_owned());
    }
    if rule.conditions.len() > CONDITIONS_MAX {
        faults.push(format!("it has more than {CONDITIONS_MAX} conditions"));
    }
    if rule.actions.is_empty() || rule.actions.len() > ACTIONS_MAX {
        faults.push(format!("it has no actions, or more than {ACTIONS_MAX}"));
    }
    for condition in &rule.conditions {
        if let Condition::Text { field, value, .. } = condition {
            let name = match field {
                Field::Header(name) => is_field_name(name),
                _ => true,
            };
            if value.trim().is_empty() || !is_plain(value) || !name {
                faults.push(format!(
                    "the condition {:?} is not possible",
                    short(&condition.to_string())
                ));
            }
        }
    }
    for action in &rule.actions {
        let fine = match action {
            Action::Move(folder) | Action::Copy(folder) => is_folder(folder),
            Action::Forward(address) => !address.trim().is_empty() && is_plain(address),
            Action::Delete | Action::MarkRead | Action::Flag | Action::Stop => true,
        };
        if !fine {
            faults.push(format!("the action {:?} is not possible", short(&action.to_string())));
        }
    }
    faults
}

/// Blocked senders as they are compared: addresses and, with `@` in front, domains; lower case,
/// each once, sorted. `Err`: what cannot be one.
pub(crate) fn blocked_of(given: &[String]) -> Result<Vec<String>, Vec<String>> {
    let mut faults = Vec::new();
    let mut blocked = Vec::with_capacity(given.len());
    for text in given {
        match blocked_one(text) {
            Some(one) => blocked.push(one),
            None => faults.push(format!("{:?} is neither an address nor a domain", short(text))),
        }
    }
    blocked.sort_unstable();
    blocked.dedup();
    if blocked.len() > BLOCKED_MAX {
        faults
            .push(format!("there are {} blocked senders, and may be {BLOCKED_MAX}", blocked.len()));
    }
    if faults.is_empty() { Ok(blocked) } else { Err(faults) }
}

fn blocked_one(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    let odd = |c: char| c.is_control() || c.is_whitespace() || "<>,;\"".contains(c);
    let (local, domain) = text.rsplit_once('@').unwrap_or(("", &text));
    let domain = domain.strip_prefix("*.").unwrap_or(domain);
    let fine = !domain.is_empty() && text.len() <= TEXT_BYTES_MAX && !text.contains(odd);
    fine.then(|| format!("{local}@{domain}"))
}

fn is_plain(text: &str) -> bool {
    text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control)
}

fn is_field_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= TEXT_BYTES_MAX
        && name.bytes().all(|b| (33..=126).contains(&b) && b != b':')
}

fn is_folder(name: &str) -> bool {
    let special = name.strip_prefix('\\');
    let named = special.unwrap_or(name);
    let level = special.is_none() || !named.contains('/');
    level && crate::names::check_name(named).is_ok()
}

/// The first characters of a text, for messages.
fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(80)]
}

#[cfg(test)]
mod tests;
