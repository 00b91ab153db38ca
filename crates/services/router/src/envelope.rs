//! The envelope of a message: who sent it, who gets it, what reports are wanted; and its items.

use std::fmt;
use std::str::FromStr;

use note::{Item, ItemFlags, ItemValue, Note, TimeDate, Unid};

use crate::status::QueueState;

/// Envelope sender; `None` is the null sender `<>`.
pub type ReversePath = Option<String>;

/// The id of a message in mail.box; the UNID of its note and of every delivered copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub Unid);

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for QueueId {
    type Err = note::IdError;
    fn from_str(text: &str) -> Result<QueueId, note::IdError> {
        text.parse().map(QueueId)
    }
}

/// NOTIFY of RFC 3461 section 4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notify {
    /// Report a failure.
    pub failure: bool,
    /// Report a delay.
    pub delay: bool,
    /// Report a success.
    pub success: bool,
}

impl Default for Notify {
    /// Without NOTIFY failures (and delays) are reported.
    fn default() -> Notify {
        Notify { failure: true, delay: true, success: false }
    }
}

impl Notify {
    /// NOTIFY=NEVER.
    pub const NEVER: Notify = Notify { failure: false, delay: false, success: false };

    /// The value of an item: empty for the default, else as in NOTIFY.
    fn print(self) -> String {
        if self == Notify::default() {
            return String::new();
        }
        let words = [(self.success, "SUCCESS"), (self.failure, "FAILURE"), (self.delay, "DELAY")];
        let said: Vec<_> = words.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
        if said.is_empty() { "NEVER".to_owned() } else { said.join(",") }
    }

    fn parse(text: &str) -> Notify {
        if text.is_empty() {
            return Notify::default();
        }
        let says = |word| text.split(',').any(|said| said == word);
        Notify { failure: says("FAILURE"), delay: says("DELAY"), success: says("SUCCESS") }
    }
}

/// RET of RFC 3461 section 4.3.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ret {
    /// Not said: failures return the headers.
    #[default]
    Unset,
    /// The whole message.
    Full,
    /// Headers only.
    Hdrs,
}

/// One envelope recipient.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recipient {
    /// Address as given at RCPT, without brackets.
    pub address: String,
    /// ORCPT, decoded, `rfc822;bob@example.test`.
    pub original: Option<String>,
    /// Which reports are wanted.
    pub notify: Notify,
}

/// A message to be routed.
#[derive(Debug, Clone)]
pub struct Deposit<'a> {
    /// Envelope sender.
    pub sender: ReversePath,
    /// Envelope recipients, at least one.
    pub recipients: Vec<Recipient>,
    /// The message with its trace header lines in front ([`return_path`], Received).
    pub message: &'a [u8],
    /// ENVID, decoded from xtext.
    pub envelope_id: Option<String>,
    /// RET.
    pub ret: Ret,
    /// Canonical name of the signed-in sender.
    pub authenticated: Option<String>,
}

/// The `Return-Path:` line (RFC 5321 section 4.4) with CRLF, to stand before Received.
pub fn return_path(sender: &ReversePath) -> String {
    format!("Return-Path: <{}>\r\n", sender.as_deref().unwrap_or(""))
}

/// Number of Received lines in the header (RFC 5321 section 6.3).
pub fn received_count(message: &[u8]) -> u32 {
    HeaderFacts::of(message).hops
}

/// In which order messages are taken up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Before the others.
    High,
    /// The usual.
    #[default]
    Normal,
    /// Behind the others; transferred within the window for low priority when there is one.
    Low,
}

impl Priority {
    /// The value of the item `DeliveryPriority`.
    fn print(self) -> &'static str {
        match self {
            Priority::High => "H",
            Priority::Normal => "N",
            Priority::Low => "L",
        }
    }

    pub(crate) fn parse(text: Option<&str>) -> Priority {
        match text {
            Some("H") => Priority::High,
            Some("L") => Priority::Low,
            _ => Priority::Normal,
        }
    }
}

/// What the router wants to know of a message's header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeaderFacts {
    /// Received lines.
    pub hops: u32,
    /// What Priority, X-Priority and Importance say; high wins over low.
    pub priority: Priority,
}

impl HeaderFacts {
    pub(crate) fn of(message: &[u8]) -> HeaderFacts {
        let mut facts = HeaderFacts::default();
        let (mut high, mut low) = (false, false);
        for line in message.split(|&byte| byte == b'\n') {
            match line.first().map(u8::to_ascii_lowercase) {
                None | Some(b'\r') => break,
                Some(b'r') if value_of(line, "received:").is_some() => facts.hops += 1,
                Some(b'p' | b'x' | b'i') => match priority_of(line) {
                    Priority::High => high = true,
                    Priority::Low => low = true,
                    Priority::Normal => {}
                },
                Some(_) => {}
            }
        }
        facts.priority = match (high, low) {
            (true, _) => Priority::High,
            (false, true) => Priority::Low,
            (false, false) => Priority::Normal,
        };
        facts
    }
}

/// What stands behind the name of a header line; `name` is in lower case with its colon.
fn value_of<'a>(line: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let (front, value) = line.split_at_checked(name.len())?;
    front.eq_ignore_ascii_case(name.as_bytes()).then(|| value.trim_ascii())
}

/// What one header line says of the priority (RFC 2156, RFC 4021, and what programs write).
fn priority_of(line: &[u8]) -> Priority {
    let word = value_of(line, "priority:").or_else(|| value_of(line, "importance:"));
    if let Some(word) = word {
        let is = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
        return match () {
            () if is("urgent") || is("high") => Priority::High,
            () if is("non-urgent") || is("low") => Priority::Low,
            () => Priority::Normal,
        };
    }
    match value_of(line, "x-priority:").and_then(|value| value.first()) {
        Some(b'1' | b'2') => Priority::High,
        Some(b'4' | b'5') => Priority::Low,
        _ => Priority::Normal,
    }
}

/// Items that only a note in mail.box has.
const SENDER: &str = "SMTPOriginator";
const RECIPIENTS: &str = "Recipients";
const ORIGINALS: &str = "$RecipientOriginal";
const NOTIFIES: &str = "$RecipientNotify";
const ENVELOPE_ID: &str = "$EnvelopeId";
const RETURN: &str = "$EnvelopeReturn";
const AUTHENTICATED: &str = "$EnvelopeAuth";
const HOPS: &str = "RouteHops";
const FORWARDED: &str = "$RouteForwarded";
const DELAY_TOLD: &str = "$RouteDelayTold";
const CRASHES: &str = "$RouteCrashes";
const OWN: &str = "$RouteOwn";
const JOURNALED: &str = "$RouteJournaled";
const ATTEMPTS: &str = "$RouteAttempts";
const NEXT_TRY: &str = "$RouteNextTry";
pub(crate) const PRIORITY: &str = "DeliveryPriority";
pub(crate) const STATE: &str = "RoutingState";
pub(crate) const CAUSE: &str = "FailureReason";
const ROUTER_ITEMS: [&str; 18] = [
    SENDER,
    RECIPIENTS,
    ORIGINALS,
    NOTIFIES,
    ENVELOPE_ID,
    RETURN,
    AUTHENTICATED,
    HOPS,
    FORWARDED,
    DELAY_TOLD,
    CRASHES,
    OWN,
    JOURNALED,
    ATTEMPTS,
    NEXT_TRY,
    PRIORITY,
    STATE,
    CAUSE,
];

/// What mail.box keeps of a message besides the message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Envelope {
    pub sender: ReversePath,
    /// Recipients that are not done.
    pub recipients: Vec<Recipient>,
    pub envelope_id: Option<String>,
    pub ret: Ret,
    pub authenticated: Option<String>,
    /// Received lines the message came with, and the rules that forwarded it.
    pub hops: u32,
    pub priority: Priority,
    /// Mail files whose rules forwarded it.
    pub forwarded: Vec<String>,
    /// The sender was told that it is late.
    pub delay_told: bool,
    /// How many delivery threads it has ended.
    pub crashes: u32,
    /// Made by the router: a report or a warning.
    pub own: bool,
    /// The journal has it, or is not to have it.
    pub journaled: bool,
    /// How often another host put it off, and when it is tried again.
    pub retry: Option<(u32, TimeDate)>,
}

impl Envelope {
    pub(crate) fn of(deposit: &Deposit<'_>) -> Envelope {
        let facts = HeaderFacts::of(deposit.message);
        Envelope {
            sender: deposit.sender.clone().filter(|sender| !sender.is_empty()),
            recipients: deposit.recipients.clone(),
            envelope_id: deposit.envelope_id.clone(),
            ret: deposit.ret,
            authenticated: deposit.authenticated.clone(),
            hops: facts.hops,
            priority: facts.priority,
            ..Envelope::default()
        }
    }

    /// The items for mail.box; what is at its default has none.
    pub(crate) fn items(&self) -> Vec<Item> {
        let mut items = vec![
            item(SENDER, self.sender.clone().unwrap_or_default()),
            item(RECIPIENTS, self.column(|recipient| recipient.address.clone())),
            item(HOPS, f64::from(self.hops)),
        ];
        if self.recipients.iter().any(|recipient| recipient.original.is_some()) {
            items.push(item(ORIGINALS, self.column(|r| r.original.clone().unwrap_or_default())));
        }
        if self.recipients.iter().any(|recipient| recipient.notify != Notify::default()) {
            items.push(item(NOTIFIES, self.column(|recipient| recipient.notify.print())));
        }
        if let Some(id) = &self.envelope_id {
            items.push(item(ENVELOPE_ID, id.clone()));
        }
        match self.ret {
            Ret::Unset => {}
            Ret::Full => items.push(item(RETURN, "FULL")),
            Ret::Hdrs => items.push(item(RETURN, "HDRS")),
        }
        if let Some(name) = &self.authenticated {
            items.push(item(AUTHENTICATED, name.clone()));
        }
        self.add_course(&mut items);
        items
    }

    /// What became of it so far.
    fn add_course(&self, items: &mut Vec<Item>) {
        if self.priority != Priority::Normal {
            items.push(item(PRIORITY, self.priority.print()));
        }
        if !self.forwarded.is_empty() {
            items.push(item(FORWARDED, self.forwarded.clone()));
        }
        if self.delay_told {
            items.push(item(DELAY_TOLD, 1.0));
        }
        if self.crashes > 0 {
            items.push(item(CRASHES, f64::from(self.crashes)));
        }
        if self.own {
            items.push(item(OWN, 1.0));
        }
        if self.journaled {
            items.push(item(JOURNALED, 1.0));
        }
        if let Some((attempts, at)) = self.retry {
            items.push(item(ATTEMPTS, f64::from(attempts)));
            items.push(item(NEXT_TRY, at));
        }
    }

    fn column(&self, of: impl Fn(&Recipient) -> String) -> Vec<String> {
        self.recipients.iter().map(of).collect()
    }

    /// Reads the envelope of a note of mail.box.
    pub(crate) fn read(note: &Note) -> Envelope {
        let originals = note.texts(ORIGINALS);
        let notifies = note.texts(NOTIFIES);
        let recipient = |(at, address): (usize, &str)| Recipient {
            address: address.to_owned(),
            original: originals.get(at).filter(|o| !o.is_empty()).map(|o| (*o).to_owned()),
            notify: Notify::parse(notifies.get(at).copied().unwrap_or_default()),
        };
        let text = |name| note.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        Envelope {
            sender: text(SENDER),
            recipients: note.texts(RECIPIENTS).into_iter().enumerate().map(recipient).collect(),
            envelope_id: text(ENVELOPE_ID),
            ret: match note.text(RETURN) {
                Some("FULL") => Ret::Full,
                Some("HDRS") => Ret::Hdrs,
                _ => Ret::Unset,
            },
            authenticated: text(AUTHENTICATED),
            hops: note.number(HOPS).unwrap_or_default() as u32,
            priority: Priority::parse(note.text(PRIORITY)),
            forwarded: note.texts(FORWARDED).into_iter().map(str::to_owned).collect(),
            delay_told: note.number(DELAY_TOLD).is_some(),
            crashes: note.number(CRASHES).unwrap_or_default() as u32,
            own: note.number(OWN).is_some(),
            journaled: note.number(JOURNALED).is_some(),
            retry: note.number(ATTEMPTS).map(|attempts| attempts as u32).zip(note.time(NEXT_TRY)),
        }
    }
}

/// A router item: not protected, not signed, seen by views.
fn item(name: &str, value: impl Into<ItemValue>) -> Item {
    Item::new(name, value, ItemFlags::SUMMARY)
}

/// State of a note in mail.box.
pub(crate) fn state(text: Option<&str>) -> QueueState {
    match text {
        Some("DEAD") => QueueState::Dead,
        Some("HOLD") => QueueState::Held,
        _ => QueueState::Waiting,
    }
}

/// Notes how many delivery threads a message has ended.
pub(crate) fn set_crashes(note: &mut Note, crashes: u32) {
    match crashes {
        0 => {
            note.remove(CRASHES);
        }
        crashes => note.put(item(CRASHES, f64::from(crashes))),
    }
}

/// Notes how often another host put a message off, and when it is tried again.
pub(crate) fn set_retry(note: &mut Note, retry: Option<(u32, TimeDate)>) {
    match retry {
        Some((attempts, at)) => {
            note.put(item(ATTEMPTS, f64::from(attempts)));
            note.put(item(NEXT_TRY, at));
        }
        None => {
            note.remove(ATTEMPTS);
            note.remove(NEXT_TRY);
        }
    }
}

/// Puts the state and its cause into a note of mail.box.
pub(crate) fn set_state(note: &mut Note, state: QueueState, cause: Option<&str>) {
    match state {
        QueueState::Waiting => {
            note.remove(STATE);
        }
        QueueState::Held => note.put(item(STATE, "HOLD")),
        QueueState::Dead => note.put(item(STATE, "DEAD")),
    }
    match cause {
        Some(cause) => note.put(item(CAUSE, cause)),
        None => {
            note.remove(CAUSE);
        }
    }
}

/// The note of mail.box for a message: the message's items and the envelope's.
pub(crate) fn wrap(mut note: Note, envelope: &Envelope) -> Note {
    rewrap(&mut note, envelope);
    note
}

/// Replaces the envelope's items of a note of mail.box.
pub(crate) fn rewrap(note: &mut Note, envelope: &Envelope) {
    strip_items(note);
    let sequence = note.oid.sequence;
    note.items.extend(envelope.items().into_iter().map(|mut item| {
        item.sequence = sequence;
        item
    }));
}

/// The note as recipients get it: without router items, at its first revision.
pub(crate) fn unwrap_message(mut note: Note) -> Note {
    strip_items(&mut note);
    note.oid.sequence = 1;
    for item in &mut note.items {
        item.sequence = 1;
    }
    note
}

fn strip_items(note: &mut Note) {
    note.items.retain(|item| {
        let first = item.name.as_bytes().first().map_or(0, u8::to_ascii_uppercase);
        !matches!(first, b'$' | b'S' | b'R' | b'F' | b'D')
            || !ROUTER_ITEMS.iter().any(|name| name.eq_ignore_ascii_case(&item.name))
    });
}

#[cfg(test)]
mod tests;
