//! Rules and blocked senders in the form in which deliveries ask them.

use std::collections::HashSet;

use super::{Action, Condition, Rule};

/// Longest domain (RFC 5321 §4.5.3.1.2); longer ones are nobody's.
const DOMAIN_BYTES_MAX: usize = 255;

/// The enabled rules and the blocked senders of one mail file, made ready for comparing.
#[derive(Debug, Default)]
pub struct RuleSet {
    pub(super) rules: Vec<Ready>,
    /// `local@domain` and `@domain`, in lower case.
    pub(super) blocked: HashSet<Box<str>>,
    bytes: usize,
}

/// A rule with its texts in lower case.
#[derive(Debug)]
pub(super) struct Ready {
    pub any: bool,
    pub conditions: Vec<Condition>,
    pub actions: Vec<Action>,
}

impl RuleSet {
    /// Makes rules and blocked senders (as [`super::blocked_of`] gives them) ready.
    pub(crate) fn new(rules: Vec<Rule>, blocked: Vec<String>) -> RuleSet {
        let enabled = rules.into_iter().filter(|rule| rule.enabled);
        let rules: Vec<Ready> = enabled.map(ready).collect();
        let blocked: HashSet<Box<str>> = blocked.into_iter().map(String::into_boxed_str).collect();
        let texts = rules.iter().flat_map(|rule| &rule.conditions).map(|_| 80).sum::<usize>();
        let senders = blocked.iter().map(|one| one.len() + 24).sum::<usize>();
        RuleSet { bytes: texts + senders + rules.len() * 160, rules, blocked }
    }

    /// Nothing is to be asked: everything goes to INBOX.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.blocked.is_empty()
    }

    /// Memory it takes, about, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether an address (lower case) or its domain or a domain above that is blocked.
    pub(super) fn blocks(&self, address: &str) -> bool {
        if self.blocked.contains(address) {
            return true;
        }
        let Some((_, mut domain)) = address.rsplit_once('@') else { return false };
        if domain.len() > DOMAIN_BYTES_MAX {
            return false;
        }
        let mut key = String::with_capacity(domain.len() + 1);
        loop {
            key.clear();
            key.push('@');
            key.push_str(domain);
            if self.blocked.contains(key.as_str()) {
                return true;
            }
            let Some((_, above)) = domain.split_once('.') else { return false };
            domain = above;
        }
    }
}

fn ready(rule: Rule) -> Ready {
    let conditions = rule.conditions.into_iter().map(|condition| match condition {
        Condition::Text { field, test, value } => {
            Condition::Text { field, test, value: value.trim().to_lowercase() }
        }
        other => other,
    });
    Ready { any: rule.any, conditions: conditions.collect(), actions: rule.actions }
}
