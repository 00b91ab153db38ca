//! Mailbox names: modified UTF-7 on the wire (RFC 3501 §5.1.3), UTF-8 inside, and LIST patterns.

mod pattern;
mod utf7;

pub(crate) use pattern::Pattern;

/// The delimiter of the hierarchy.
pub(crate) const DELIMITER: char = '/';

/// A mailbox name as a client gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// The name in UTF-8; `INBOX` in capitals.
    Good(String),
    /// Not in the canonical form of modified UTF-7.
    Bad,
}

impl Name {
    /// The name that `raw` spells.
    pub(crate) fn of_client(raw: &[u8]) -> Name {
        match utf7::decode(raw) {
            Some(name) => Name::Good(mailfile::canonical_name(&name)),
            None => Name::Bad,
        }
    }
}

/// Appends a name as a quoted string in modified UTF-7.
pub(crate) fn print(name: &str, out: &mut Vec<u8>) {
    crate::text::quoted(utf7::encode(name).as_bytes(), out);
}
