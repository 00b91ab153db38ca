//! Ids: newtypes over their bytes, printed and parsed as upper-case hexadecimal.

use std::fmt;
use std::str::FromStr;

use crate::TimeDate;

/// A text that is not the hexadecimal form of an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {digits} hexadecimal digits")]
pub struct IdError {
    /// How many digits the id has.
    pub digits: usize,
}

/// Universal id of a note: the same in all replicas, never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Unid(pub [u8; 16]);

/// Id that all replicas of one database share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ReplicaId(pub u64);

/// Id of one database instance (one file with one history); random, 0 means "none".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dbiid(pub u64);

/// BLAKE3 of the stored content of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ObjectHash(pub [u8; 32]);

/// Identity and revision of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct OriginatorId {
    /// Which note.
    pub unid: Unid,
    /// Revision, 1 for a new note.
    pub sequence: u32,
    /// When this revision was made.
    pub sequence_time: TimeDate,
}

impl Dbiid {
    /// No database.
    pub const NONE: Dbiid = Dbiid(0);

    /// Whether this is the id of no database.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

fn parse_hex<const N: usize>(text: &str) -> Result<[u8; N], IdError> {
    let wrong = IdError { digits: N * 2 };
    let digits = text.as_bytes();
    if digits.len() != N * 2 {
        return Err(wrong);
    }
    let mut out = [0_u8; N];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let high = (pair[0] as char).to_digit(16).ok_or_else(|| wrong.clone())?;
        let low = (pair[1] as char).to_digit(16).ok_or_else(|| wrong.clone())?;
        *byte = (high << 4 | low) as u8;
    }
    Ok(out)
}

fn print_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = [0_u8; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    f.pad(std::str::from_utf8(&text[..bytes.len() * 2]).unwrap_or_default())
}

macro_rules! hex_id {
    ($name:ident, $to:expr, $from:expr) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print_hex(&$to(self.0), f)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }
        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                parse_hex(text).map(|bytes| $name($from(bytes)))
            }
        }
    };
}

hex_id!(Unid, std::convert::identity, std::convert::identity);
hex_id!(ObjectHash, std::convert::identity, std::convert::identity);
hex_id!(ReplicaId, u64::to_be_bytes, u64::from_be_bytes);
hex_id!(Dbiid, u64::to_be_bytes, u64::from_be_bytes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_upper_case_hex_and_parse_back() {
        let unid = Unid(*b"\x00\x01\xab\xcd\xefghijklmnopq");
        assert_eq!(unid.to_string(), "0001ABCDEF6768696A6B6C6D6E6F7071");
        assert_eq!(unid.to_string().parse(), Ok(unid));
        assert_eq!(ReplicaId(0xAB).to_string(), "00000000000000AB");
        assert_eq!("00000000000000ab".parse(), Ok(ReplicaId(0xAB)));
        assert_eq!(ObjectHash([0xF0; 32]).to_string(), "F0".repeat(32));
        assert_eq!(format!("{:?}", Dbiid(1)), "Dbiid(0000000000000001)");
    }

    #[test]
    fn what_is_not_hex_is_refused() {
        for text in ["", "0", "00000000000000AG", "00000000000000ABC", "+0000000000000AB"] {
            assert_eq!(text.parse::<ReplicaId>(), Err(IdError { digits: 16 }), "{text}");
        }
    }
}
