//! Where a message goes: a pure function of the tables, the recipients and the attempt.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use directory::{GroupRef, Resolved};
use note::Unid;

use crate::courier::Said;
use crate::envelope::Recipient;

/// Groups in groups and forwards of forwards followed from one recipient.
pub(crate) const DEPTH_MAX: usize = 16;
/// Most recipients after expansion; what goes beyond fails.
pub(crate) const EXPANDED_MAX: usize = 100_000;
/// First and longest wait before a further attempt.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_LAST: Duration = Duration::from_secs(60);

/// What the router asks the directory.
pub(crate) trait Tables {
    /// Where mail for an address or name goes; `Err` says why nobody can tell now.
    fn resolve(&self, name: &str) -> Result<Resolved, String>;

    /// The destination of mail for a domain (in lower case) that is not one of ours.
    fn destination(&self, domain: &str) -> Option<Arc<str>>;
}

/// Which attempt this is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Attempt {
    /// Seconds since the deposit.
    pub age_s: i64,
    /// After how many seconds who cannot be reached here fails.
    pub expiry_s: i64,
    /// Received lines the message came with, and how many are too many.
    pub hops: u32,
    pub hop_limit: u32,
    /// Bytes of the message, and how many it may have; 0: any number.
    pub size: u64,
    pub size_max: u64,
}

/// Why a recipient cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    Unknown,
    Ambiguous,
    OtherDomain,
    Syntax,
    Loop,
    Hops,
    Empty,
    TooMany,
    TooBig,
    OverQuota,
    /// Tried for too long; why it did not work.
    Expired(String),
    /// Another host said no.
    Refused {
        host: Arc<str>,
        said: Said,
    },
}

impl Failure {
    /// Enhanced status code (RFC 3463).
    pub(crate) fn status(&self) -> &str {
        match self {
            Failure::Unknown => "5.1.1",
            Failure::Ambiguous => "5.1.4",
            Failure::OtherDomain => "5.7.1",
            Failure::Syntax => "5.1.3",
            Failure::Loop | Failure::Hops => "5.4.6",
            Failure::Empty => "5.2.4",
            Failure::TooMany => "5.5.3",
            Failure::TooBig => "5.3.4",
            Failure::OverQuota => "5.2.2",
            Failure::Expired(_) => "4.4.7",
            Failure::Refused { said, .. } => &said.status,
        }
    }

    /// A sentence for people.
    pub(crate) fn sentence(&self) -> &'static str {
        match self {
            Failure::Unknown => "There is no such mail user here.",
            Failure::Ambiguous => "Several entries of the directory answer to this name.",
            Failure::OtherDomain => "This server does not send to other domains.",
            Failure::Syntax => "The address is malformed.",
            Failure::Loop => "Forwarding goes round in a circle.",
            Failure::Hops => "The message has passed through too many servers.",
            Failure::Empty => "The group has no members.",
            Failure::TooMany => "The group has too many members.",
            Failure::TooBig => "The message is larger than this server passes on.",
            Failure::OverQuota => "The mail file of the recipient is full.",
            Failure::Expired(_) => "The message could not be delivered for too long.",
            Failure::Refused { .. } => "Another server refused the message.",
        }
    }
}

/// For a log line: what was said, or the sentence.
impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Refused { host, said } => write!(f, "{host} says {said}"),
            Failure::Expired(cause) => write!(f, "{} {cause}", self.sentence()),
            _ => f.write_str(self.sentence()),
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

/// A transfer to another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub destination: Arc<str>,
    /// The address the other host is told.
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
    pub transfers: Vec<Transfer>,
    /// Groups whose sender wants to hear of a success: their members are not told of one by one
    /// (RFC 3461 section 5.2.7.3).
    pub expanded: Vec<Recipient>,
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
    let refusal = match () {
        () if attempt.hops > attempt.hop_limit => Some(Failure::Hops),
        () if attempt.size_max > 0 && attempt.size > attempt.size_max => Some(Failure::TooBig),
        () => None,
    };
    if let Some(why) = refusal {
        let failed = recipients.iter().map(|recipient| failed(recipient, recipient, why.clone()));
        return Plan { failures: failed.collect(), ..Plan::default() };
    }
    let mut expansion = Expansion { tables, plan: Plan::default(), seen: Seen::default(), work: 0 };
    for recipient in recipients {
        expansion.follow(recipient, recipient, &mut Vec::new());
    }
    let mut plan = expansion.plan;
    if attempt.age_s > attempt.expiry_s {
        let later = plan.later.drain(..);
        let expired = later.map(|(r, cause)| failed(&r, &r, Failure::Expired(cause)));
        plan.failures.extend(expired);
    }
    plan
}

#[derive(Default)]
struct Seen {
    groups: HashSet<Unid>,
    paths: HashSet<Arc<str>>,
    addresses: HashSet<String>,
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
            Ok(Resolved::Group(group)) => self.expand(recipient, &group, chain),
            Ok(Resolved::Forward(address)) => self.forward(recipient, kept, &address, chain),
            Ok(Resolved::OtherDomain) => self.transfer(recipient, kept),
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

    fn expand(&mut self, recipient: &Recipient, group: &GroupRef, chain: &mut Vec<String>) {
        if !self.seen.groups.insert(group.unid) {
            return;
        }
        if recipient.notify.success {
            self.plan.expanded.push(recipient.clone());
        }
        chain.push(String::new());
        for member in group.members.iter() {
            let mut member = renamed(recipient, member);
            member.notify.success = false;
            self.follow(&member, &member, chain);
        }
        chain.pop();
    }

    fn transfer(&mut self, recipient: &Recipient, kept: &Recipient) {
        let domain = recipient.address.rsplit_once('@').map(|(_, domain)| domain.to_lowercase());
        let Some(destination) = domain.and_then(|domain| self.tables.destination(&domain)) else {
            return self.fail(recipient, kept, Failure::OtherDomain);
        };
        if self.seen.addresses.insert(recipient.address.to_lowercase()) {
            let (recipient, kept) = (recipient.clone(), kept.clone());
            self.plan.transfers.push(Transfer { destination, recipient, kept });
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
