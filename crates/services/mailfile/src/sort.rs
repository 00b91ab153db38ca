//! The order of messages (RFC 5256 SORT, RFC 5957 SORT=DISPLAY), from the facts stored beside them.

use std::cmp::Ordering;

use message::{AddressView, AddressesView, EnvelopeView};
use store::{Entry, FolderId, Read, StoreError};

use crate::MailFile;

/// By what messages are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// The internal date.
    Arrival,
    /// The mailbox of the first `Cc` address.
    Cc,
    /// The date in the message, or the internal date.
    Date,
    /// The shown name of the first `From` address.
    DisplayFrom,
    /// The shown name of the first `To` address.
    DisplayTo,
    /// The mailbox of the first `From` address.
    From,
    /// The size in bytes.
    Size,
    /// The base subject.
    Subject,
    /// The mailbox of the first `To` address.
    To,
}

/// One criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// By what.
    pub key: SortKey,
    /// The greatest first.
    pub reverse: bool,
}

/// Bytes of a text that are compared.
const TEXT_BYTES_MAX: usize = 300;

/// A value that is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Number(i64),
    Text(Box<str>),
}

/// Takes messages in and gives them in order.
#[derive(Clone, Debug)]
pub struct Sorter {
    criteria: Vec<Criterion>,
    uids: Vec<u32>,
    /// As many as there are criteria for each uid.
    values: Vec<Value>,
}

impl Sorter {
    /// Orders by the first criterion, then the second, at last by uid. A key that comes again
    /// decides nothing more, and is left out.
    pub fn new(criteria: Vec<Criterion>) -> Sorter {
        let mut each: Vec<Criterion> = Vec::with_capacity(criteria.len());
        for criterion in criteria {
            if !each.iter().any(|known| known.key == criterion.key) {
                each.push(criterion);
            }
        }
        Sorter { criteria: each, uids: Vec::new(), values: Vec::new() }
    }

    /// Whether the messages have to be looked into, not only their entries.
    pub fn needs_summary(&self) -> bool {
        let of_entry = |c: &Criterion| matches!(c.key, SortKey::Arrival | SortKey::Size);
        !self.criteria.iter().all(of_entry)
    }

    /// Takes a message in; `envelope`: `None` when it cannot be read.
    pub fn add(&mut self, entry: &Entry, envelope: Option<&EnvelopeView<'_>>) {
        self.uids.push(entry.uid);
        for criterion in &self.criteria {
            self.values.push(value(criterion.key, entry, envelope));
        }
    }

    /// The uids in order. N log N.
    pub fn finish(self) -> Vec<u32> {
        let width = self.criteria.len();
        let row = |at: u32| &self.values[at as usize * width..][..width];
        let mut order: Vec<u32> = (0..self.uids.len() as u32).collect();
        order.sort_unstable_by(|a, b| {
            let compared = self.criteria.iter().zip(row(*a).iter().zip(row(*b)));
            let first = compared
                .map(|(criterion, (a, b))| match criterion.reverse {
                    true => b.cmp(a),
                    false => a.cmp(b),
                })
                .find(|ordering| ordering.is_ne());
            first.unwrap_or(Ordering::Equal).then(a.cmp(b))
        });
        order.into_iter().map(|at| self.uids[at as usize]).collect()
    }
}

impl MailFile {
    /// Takes the first of `uids` (ascending) into the sorter, as many as one slice of time allows:
    /// gives how many were gone through. Uids that are gone are left out.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn sort_step(
        &self,
        folder: FolderId,
        uids: &[u32],
        sorter: &mut Sorter,
    ) -> Result<Read<usize>, StoreError> {
        let with_summary = sorter.needs_summary();
        self.visit(folder, uids, with_summary, &mut |entry, summary| {
            let envelope = summary.and_then(|summary| summary.envelope_view().ok());
            sorter.add(entry, envelope.as_ref());
        })
    }
}

fn value(key: SortKey, entry: &Entry, envelope: Option<&EnvelopeView<'_>>) -> Value {
    let text = |make: fn(&EnvelopeView<'_>) -> String| {
        let text = envelope.map(make).unwrap_or_default();
        let cut = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        Value::Text(message::casemap(cut).into())
    };
    match key {
        SortKey::Arrival => Value::Number(entry.date.0),
        SortKey::Size => Value::Number(i64::try_from(entry.size).unwrap_or(i64::MAX)),
        SortKey::Date => Value::Number(sent(entry, envelope)),
        SortKey::Subject => text(|envelope| subject(envelope).text),
        SortKey::Cc => text(|envelope| mailbox(envelope.cc)),
        SortKey::From => text(|envelope| mailbox(envelope.from)),
        SortKey::To => text(|envelope| mailbox(envelope.to)),
        SortKey::DisplayFrom => text(|envelope| display(envelope.from)),
        SortKey::DisplayTo => text(|envelope| display(envelope.to)),
    }
}

/// The sent date (RFC 5256 §2.2) in seconds since 1970: that in the message, or the internal date.
pub(crate) fn sent(entry: &Entry, envelope: Option<&EnvelopeView<'_>>) -> i64 {
    let sent = envelope.and_then(|envelope| envelope.sent);
    sent.unwrap_or_else(|| entry.date.0.div_euclid(1_000_000))
}

/// The base subject.
pub(crate) fn subject(envelope: &EnvelopeView<'_>) -> message::BaseSubject {
    let raw = envelope.subject.unwrap_or_default();
    message::base_subject(&message::decode_words(raw))
}

fn lossy(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

/// Local part of the first address, or the name of the group that comes first.
fn mailbox(addresses: AddressesView<'_>) -> String {
    lossy(addresses.iter().next().and_then(|first| first.mailbox))
}

/// What is shown of the first address: its name, or the address itself (RFC 5957 §3).
fn display(addresses: AddressesView<'_>) -> String {
    let Some(first) = addresses.iter().next() else { return String::new() };
    let AddressView { name, mailbox, host, .. } = first;
    let name = name.map(message::decode_words).unwrap_or_default();
    match host {
        _ if !name.is_empty() => name,
        Some(host) if !host.is_empty() => format!("{}@{}", lossy(mailbox), lossy(Some(host))),
        _ => lossy(mailbox),
    }
}

#[cfg(test)]
mod tests;
