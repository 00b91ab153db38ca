//! Ids of imported messages, made of what they are.

use std::collections::HashMap;

use note::Unid;

/// Contents of one folder whose occurrences are counted.
const CONTENTS_MAX: usize = 4_000_000;

/// An id made of parts that belong together.
fn id_of(purpose: &str, parts: &[&[u8]]) -> Unid {
    let mut hasher = blake3::Hasher::new_derive_key(purpose);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Unid(id)
}

/// The id of a message on an IMAP server.
pub(crate) fn of_place(host: &str, user: &str, folder: &str, uid: (u32, u32)) -> Unid {
    let (uidvalidity, uid) = (uid.0.to_le_bytes(), uid.1.to_le_bytes());
    let host = host.to_ascii_lowercase();
    let parts = [host.as_bytes(), user.as_bytes(), folder.as_bytes(), &uidvalidity, &uid];
    id_of("nelumbo import of mail 1: place on a server", &parts)
}

/// Ids of messages by their contents; equal ones of a folder are told apart by their order.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// How often the content that begins with these bytes of its hash occurred.
    seen: HashMap<u64, u32>,
}

impl Contents {
    /// Another folder begins.
    pub(crate) fn clear(&mut self) {
        self.seen = HashMap::new();
    }

    /// The id of the next message with these bytes.
    pub(crate) fn next(&mut self, folder: &str, bytes: &[u8]) -> Unid {
        let hash = blake3::hash(bytes);
        let mut short = [0; 8];
        short.copy_from_slice(&hash.as_bytes()[..8]);
        let short = u64::from_le_bytes(short);
        let room = self.seen.len() < CONTENTS_MAX || self.seen.contains_key(&short);
        let before = match room {
            true => self.seen.entry(short).or_insert(0),
            // Beyond the bound equal messages count as one.
            false => &mut 0,
        };
        let occurrence = *before;
        *before += 1;
        let parts = [folder.as_bytes(), hash.as_bytes(), &occurrence.to_le_bytes()];
        id_of("nelumbo import of mail 1: content in a folder", &parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_messages_in_the_same_order_have_the_same_ids() {
        let messages: [&[u8]; 4] = [b"a", b"b", b"a", b"a"];
        let ids = |folder: &str| {
            let mut contents = Contents::default();
            messages.map(|bytes| contents.next(folder, bytes))
        };
        let first = ids("INBOX");
        assert_eq!(first, ids("INBOX"));
        let mut all = [first.to_vec(), ids("Sent").to_vec()].concat();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 8);
    }

    #[test]
    fn places_are_told_apart() {
        let id = |folder, uid| of_place("Mail.Example", "ada", folder, uid);
        assert_eq!(id("a", (1, 2)), of_place("mail.example", "ada", "a", (1, 2)));
        assert_ne!(id("a", (1, 2)), id("a", (2, 1)));
        assert_ne!(of_place("h", "ab", "c", (1, 1)), of_place("h", "a", "bc", (1, 1)));
    }
}
