//! Parents by `References` and `In-Reply-To` (RFC 5256, REFERENCES, step 1).

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use message::EnvelopeView;

use super::links::Links;
use super::{Item, NONE};

/// Bytes of references followed in one command; of later messages only the nearest one counts.
const REFERENCES_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Bytes of memory that a message costs beside its id.
const NODE_BYTES: usize = 100;
/// Longest message id that is compared, in bytes.
const ID_BYTES_MAX: usize = 300;

/// Who answers whom, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct References {
    by_id: HashMap<Box<[u8]>, u32>,
    parents: Vec<u32>,
    links: Links,
    followed_bytes: usize,
}

impl References {
    /// The parent of each item.
    pub(super) fn parents(self) -> Vec<u32> {
        self.parents
    }

    /// Takes a message in.
    pub(super) fn add(
        &mut self,
        items: &mut Vec<Item>,
        item: Item,
        envelope: Option<&EnvelopeView<'_>>,
    ) {
        let id = envelope.and_then(|envelope| first_id(envelope.message_id?));
        let node = self.of_message(items, item, id.as_deref());
        let Some(envelope) = envelope else { return };
        let mut last = NONE;
        let count = envelope.references().count();
        let too_many = self.followed_bytes > REFERENCES_BYTES_MAX;
        let skipped = if too_many { count.saturating_sub(1) } else { 0 };
        for reference in envelope.references().skip(skipped) {
            let Some(id) = whole_id(reference) else { continue };
            let next = self.of_reference(items, &id);
            if last != NONE && self.parents[next as usize] == NONE {
                self.set_parent(next, last);
            }
            last = next;
        }
        if last == NONE
            && let Some(id) = envelope.in_reply_to.and_then(first_id)
        {
            last = self.of_reference(items, &id);
        }
        // What the message says itself counts more than what others said of it.
        if self.parents[node as usize] != NONE {
            self.links.cut(node);
            self.parents[node as usize] = NONE;
        }
        if last != NONE {
            self.set_parent(node, last);
        }
    }

    /// Puts a node without parent below another one, unless that makes a loop.
    fn set_parent(&mut self, node: u32, parent: u32) {
        if self.links.root(parent) != node {
            self.links.link(node, parent);
            self.parents[node as usize] = parent;
        }
    }

    fn push(&mut self, items: &mut Vec<Item>, item: Item) -> u32 {
        items.push(item);
        self.parents.push(NONE);
        self.links.push();
        items.len() as u32 - 1
    }

    /// The node of a message. One without an id, or with that of another message, is known by
    /// nobody.
    fn of_message(&mut self, items: &mut Vec<Item>, item: Item, id: Option<&[u8]>) -> u32 {
        let Some(id) = id else { return self.push(items, item) };
        match self.by_id.get(id) {
            Some(node) if items[*node as usize].uid == 0 => {
                items[*node as usize] = item;
                *node
            }
            Some(_) => self.push(items, item),
            None => {
                let node = self.push(items, item);
                self.by_id.insert(id.into(), node);
                node
            }
        }
    }

    /// The node of a message that is referred to.
    fn of_reference(&mut self, items: &mut Vec<Item>, id: &[u8]) -> u32 {
        let next = items.len() as u32;
        match self.by_id.entry(id.into()) {
            Slot::Occupied(known) => *known.get(),
            Slot::Vacant(free) => {
                self.followed_bytes += id.len() + NODE_BYTES;
                free.insert(next);
                self.push(items, Item { uid: 0, sent: 0, subject: 0, is_reply: false })
            }
        }
    }
}

/// The first message id of a header field, as [`whole_id`].
fn first_id(raw: &[u8]) -> Option<Cow<'_, [u8]>> {
    let start = raw.iter().position(|byte| *byte == b'<')?;
    let length = raw[start..].iter().position(|byte| *byte == b'>')?;
    whole_id(&raw[start..=start + length])
}

/// A message id without its brackets, and without quotes and white space, which make no difference.
fn whole_id(raw: &[u8]) -> Option<Cow<'_, [u8]>> {
    let id = raw.strip_prefix(b"<")?.strip_suffix(b">")?;
    if id.is_empty() || id.len() > ID_BYTES_MAX {
        return None;
    }
    let is_noise = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\\');
    Some(match id.iter().any(is_noise) {
        true => id.iter().copied().filter(|byte| !is_noise(byte)).collect::<Vec<u8>>().into(),
        false => id.into(),
    })
}
