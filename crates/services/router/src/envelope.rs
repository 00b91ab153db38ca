//! The envelope of a message: who sent it, who gets it, what reports are wanted; and its items.

use std::fmt;
use std::str::FromStr;

use note::{Item, ItemFlags, ItemValue, Note, Unid};

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
    let mut count = 0;
    for line in message.split(|&byte| byte == b'\n') {
        if line.is_empty() || line == b"\r" {
            break;
        }
        if line.len() >= 9 && line[..9].eq_ignore_ascii_case(b"received:") {
            count += 1;
        }
    }
    count
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
pub(crate) const STATE: &str = "RoutingState";
pub(crate) const CAUSE: &str = "FailureReason";
const ROUTER_ITEMS: [&str; 10] = [
    SENDER,
    RECIPIENTS,
    ORIGINALS,
    NOTIFIES,
    ENVELOPE_ID,
    RETURN,
    AUTHENTICATED,
    HOPS,
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
    /// Received lines the message came with.
    pub hops: u32,
}

impl Envelope {
    pub(crate) fn of(deposit: &Deposit<'_>) -> Envelope {
        Envelope {
            sender: deposit.sender.clone().filter(|sender| !sender.is_empty()),
            recipients: deposit.recipients.clone(),
            envelope_id: deposit.envelope_id.clone(),
            ret: deposit.ret,
            authenticated: deposit.authenticated.clone(),
            hops: received_count(deposit.message),
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
        items
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
    strip_items(&mut note);
    note.items.extend(envelope.items().into_iter().map(|mut item| {
        item.sequence = note.oid.sequence;
        item
    }));
    note
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
        !matches!(first, b'$' | b'S' | b'R' | b'F')
            || !ROUTER_ITEMS.iter().any(|name| name.eq_ignore_ascii_case(&item.name))
    });
}

#[cfg(test)]
mod tests;
