//! Where a message goes: a pure function of the tables, the recipients and the attempt.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use directory::Resolved;
use note::Unid;

use crate::envelope::Recipient;

/// Groups in groups and forwards of forwards followed from one recipient.
pub(crate) const DEPTH_MAX: usize = 16;
/// Most recipients after expansion; what goes beyond fails.
pub(crate) const EXPANDED_MAX: usize = 100_000;
/// How long delivery is tried before the sender is told, in seconds: one day.
pub(crate) const EXPIRY_S: i64 = 86_400;
/// First and longest wait before a further attempt.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_LAST: Duration = Duration::from_secs(60);

/// What the router asks the directory.
pub(crate) trait Tables {
    /// Where mail for an address or name goes; `Err` says why nobody can tell now.
    fn resolve(&self, name: &str) -> Result<Resolved, String>;
}

/// Which attempt this is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Attempt {
    /// Seconds since the deposit.
    pub age_s: i64,
    /// Received lines the message came with, and how many are too many.
    pub hops: u32,
    pub hop_limit: u32,
}

/// Why a recipient cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Unknown,
    Ambiguous,
    OtherDomain,
    Syntax,
    Loop,
    Hops,
    Empty,
    TooMany,
    Expired,
}

impl Failure {
    /// Enhanced status code (RFC 3463).
    pub(crate) fn status(self) -> &'static str {
        match self {
            Failure::Unknown => "5.1.1",
            Failure::Ambiguous => "5.1.4",
            Failure::OtherDomain => "5.7.1",
            Failure::Syntax => "5.1.3",
            Failure::Loop | Failure::Hops => "5.4.6",
            Failure::Empty => "5.2.4",
            Failure::TooMany => "5.5.3",
            Failure::Expired => "4.4.7",
        }
    }

    /// A sentence for people.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Failure::Unknown => "There is no such mail user here.",
            Failure::Ambiguous => "Several entries of the directory answer to this name.",
            Failure::OtherDomain => "This server does not send to other domains.",
            Failure::Syntax => "The address is malformed.",
            Failure::Loop => "Forwarding goes round in a circle.",
            Failure::Hops => "The message has passed through too many servers.",
            Failure::Empty => "The group has no members.",
            Failure::TooMany => "The group has too many members.",
            Failure::Expired => "The message could not be delivered for too long.",
        }
    }
}

/// A delivery into one mail file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub path: Arc<str>,
    /// Whom it is for, as reports name it.
    pub recipient: Recipient,
    /// What stays in mail.box until it is done: the recipient before forwards.
    pub kept: Recipient,
}

/// A recipient that cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed {
    /// As reports name it.
    pub recipient: Recipient,
    /// The recipient before forwards.
    pub kept: Recipient,
    pub why: Failure,
}

/// What is to be done with a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub deliveries: Vec<Delivery>,
    pub failures: Vec<Failed>,
    /// Recipients nobody can tell about now, and why.
    pub later: Vec<(Recipient, String)>,
}

/// The wait before the attempt after this many failed ones.
pub(crate) fn backoff(attempts: u32) -> Duration {
    RETRY_FIRST.saturating_mul(1 << attempts.min(6)).min(RETRY_LAST)
}

/// Plans a message: groups expanded, forwards followed, each mail file once.
pub(crate) fn route(tables: &dyn Tables, recipients: &[Recipient], attempt: Attempt) -> Plan {
    if attempt.hops > attempt.hop_limit {
        let failed = recipients.iter().map(|recipient| failed(recipient, recipient, Failure::Hops));
        return Plan { failures: failed.collect(), ..Plan::default() };
    }
    let mut expansion = Expansion { tables, plan: Plan::default(), seen: Seen::default(), work: 0 };
    for recipient in recipients {
        expansion.follow(recipient, recipient, &mut Vec::new());
    }
    let mut plan = expansion.plan;
    if attempt.age_s > EXPIRY_S {
        let expired = plan.later.drain(..).map(|(r, _)| failed(&r, &r, Failure::Expired));
        plan.failures.extend(expired);
    }
    plan
}

#[derive(Default)]
struct Seen {
    groups: HashSet<Unid>,
    paths: HashSet<Arc<str>>,
    failed: HashSet<String>,
}

struct Expansion<'a> {
    tables: &'a dyn Tables,
    plan: Plan,
    seen: Seen,
    /// Members looked at.
    work: usize,
}

impl Expansion<'_> {
    /// `kept` is the recipient before forwards, `chain` holds the forwards that led here.
    fn follow(&mut self, recipient: &Recipient, kept: &Recipient, chain: &mut Vec<String>) {
        self.work += 1;
        if self.work > EXPANDED_MAX {
            return self.fail(recipient, kept, Failure::TooMany);
        }
        match self.tables.resolve(&recipient.address) {
            Ok(Resolved::MailFile { path, .. }) => self.deliver(recipient, kept, path),
            Ok(Resolved::Group(_)) if chain.len() >= DEPTH_MAX => {
                self.fail(recipient, kept, Failure::Loop);
            }
            // A message to nobody would vanish without a word.
            Ok(Resolved::Group(group)) if group.members.is_empty() && chain.is_empty() => {
                self.fail(recipient, kept, Failure::Empty);
            }
            Ok(Resolved::Group(group)) => {
                if self.seen.groups.insert(group.unid) {
                    chain.push(String::new());
                    for member in group.members.iter() {
                        let member = renamed(recipient, member);
                        self.follow(&member, &member, chain);
                    }
                    chain.pop();
                }
            }
            Ok(Resolved::Forward(address)) => self.forward(recipient, kept, &address, chain),
            Ok(Resolved::OtherDomain) => self.fail(recipient, kept, Failure::OtherDomain),
            Ok(Resolved::Unknown) => self.fail(recipient, kept, unknown(&recipient.address)),
            Ok(Resolved::Ambiguous) => self.fail(recipient, kept, Failure::Ambiguous),
            Err(cause) => self.plan.later.push((kept.clone(), cause)),
        }
    }

    fn deliver(&mut self, recipient: &Recipient, kept: &Recipient, path: Arc<str>) {
        if self.seen.paths.insert(path.clone()) {
            let (recipient, kept) = (recipient.clone(), kept.clone());
            self.plan.deliveries.push(Delivery { path, recipient, kept });
        }
    }

    fn forward(
        &mut self,
        recipient: &Recipient,
        kept: &Recipient,
        address: &str,
        chain: &mut Vec<String>,
    ) {
        let key = address.to_lowercase();
        if chain.len() >= DEPTH_MAX || chain.contains(&key) {
            return self.fail(recipient, kept, Failure::Loop);
        }
        chain.push(key);
        self.follow(&renamed(recipient, address), kept, chain);
        chain.pop();
    }

    fn fail(&mut self, recipient: &Recipient, kept: &Recipient, why: Failure) {
        if self.seen.failed.insert(recipient.address.to_lowercase()) {
            self.plan.failures.push(failed(recipient, kept, why));
        }
    }
}

fn failed(recipient: &Recipient, kept: &Recipient, why: Failure) -> Failed {
    Failed { recipient: recipient.clone(), kept: kept.clone(), why }
}

/// An address that cannot be one is told apart from one that nobody has.
fn unknown(address: &str) -> Failure {
    let malformed = address.contains('@')
        && !address.contains('/')
        && directory::Mailbox::parse(address).is_err();
    if malformed { Failure::Syntax } else { Failure::Unknown }
}

/// The same recipient under another address; the original one is kept for reports.
fn renamed(recipient: &Recipient, address: &str) -> Recipient {
    let original = recipient.original.clone();
    Recipient {
        address: address.to_owned(),
        original: original.or_else(|| Some(format!("rfc822;{}", recipient.address))),
        notify: recipient.notify,
    }
}

#[cfg(test)]
mod tests;
