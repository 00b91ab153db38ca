//! Conversations (RFC 5256 THREAD), from the facts stored beside the messages: by subject, or by
//! references. The time is N log N, whatever the shape of the conversations.

mod gather;
mod links;
mod references;

use std::collections::HashMap;

use message::EnvelopeView;
use store::{Entry, FolderId, Read, StoreError};

use crate::MailFile;
use crate::sort::{sent, subject};
use references::References;

/// How conversations are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Messages of one base subject, all below the first.
    OrderedSubject,
    /// By `References` and `In-Reply-To`, then by base subject.
    References,
}

/// Bytes of a base subject that are compared.
const SUBJECT_BYTES_MAX: usize = 300;

/// Stands for no node.
const NONE: u32 = u32::MAX;

/// Messages in conversations: trees in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forest {
    /// The topmost nodes.
    pub roots: Vec<u32>,
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    /// 0: no message.
    uid: u32,
    children: Vec<u32>,
}

impl Forest {
    /// The uid of a node; `None` for one that only holds its children together.
    pub fn uid(&self, node: u32) -> Option<u32> {
        self.nodes.get(node as usize).map(|node| node.uid).filter(|uid| *uid > 0)
    }

    /// The nodes below a node, in order.
    pub fn children(&self, node: u32) -> &[u32] {
        self.nodes.get(node as usize).map_or(&[], |node| &node.children)
    }
}

/// What is known of one message.
#[derive(Clone, Debug)]
struct Item {
    /// 0: known by references alone.
    uid: u32,
    /// Seconds since 1970.
    sent: i64,
    /// Number of the base subject; 0: empty.
    subject: u32,
    is_reply: bool,
}

/// Takes messages in (ascending uids) and gives their conversations.
#[derive(Debug)]
pub struct Threader {
    algorithm: Algorithm,
    items: Vec<Item>,
    subjects: HashMap<Box<str>, u32>,
    references: References,
}

impl Threader {
    /// Of no message yet.
    pub fn new(algorithm: Algorithm) -> Threader {
        let subjects = HashMap::from([(Box::from(""), 0)]);
        Threader { algorithm, items: Vec::new(), subjects, references: References::default() }
    }

    /// Takes a message in; `envelope`: `None` when it cannot be read.
    pub fn add(&mut self, entry: &Entry, envelope: Option<&EnvelopeView<'_>>) {
        let base = envelope.map(subject).unwrap_or_default();
        let cut = &base.text[..base.text.floor_char_boundary(SUBJECT_BYTES_MAX)];
        let next = self.subjects.len() as u32;
        let subject = *self.subjects.entry(message::casemap(cut).into()).or_insert(next);
        let (uid, sent, is_reply) = (entry.uid, sent(entry, envelope), base.is_reply);
        let item = Item { uid, sent, subject, is_reply };
        match self.algorithm {
            Algorithm::OrderedSubject => self.items.push(item),
            Algorithm::References => self.references.add(&mut self.items, item, envelope),
        }
    }

    /// The conversations.
    pub fn finish(self) -> Forest {
        match self.algorithm {
            Algorithm::OrderedSubject => by_subject(&self.items),
            Algorithm::References => gather::forest(&self.items, self.references.parents()),
        }
    }
}

impl MailFile {
    /// Takes the first of `uids` (ascending) into the threader, as many as one slice of time
    /// allows: gives how many were gone through. Uids that are gone are left out.
    ///
    /// # Errors
    /// The database is in trouble.
    pub fn thread_step(
        &self,
        folder: FolderId,
        uids: &[u32],
        threader: &mut Threader,
    ) -> Result<Read<usize>, StoreError> {
        self.visit(folder, uids, true, &mut |entry, summary| {
            let envelope = summary.and_then(|summary| summary.envelope_view().ok());
            threader.add(entry, envelope.as_ref());
        })
    }
}

/// Messages of one subject in order of their dates, all but the first below the first; the
/// conversations in order of their first messages.
fn by_subject(items: &[Item]) -> Forest {
    let mut order: Vec<u32> = (0..items.len() as u32).collect();
    order.sort_unstable_by_key(|at| {
        let item = &items[*at as usize];
        (item.sent, item.uid)
    });
    let node = |item: &Item| Node { uid: item.uid, children: Vec::new() };
    let mut forest = Forest { roots: Vec::new(), nodes: items.iter().map(node).collect() };
    let mut first_of: HashMap<u32, u32> = HashMap::new();
    for at in order {
        match first_of.get(&items[at as usize].subject) {
            Some(first) => forest.nodes[*first as usize].children.push(at),
            None => {
                first_of.insert(items[at as usize].subject, at);
                forest.roots.push(at);
            }
        }
    }
    forest
}

#[cfg(test)]
mod tests;
