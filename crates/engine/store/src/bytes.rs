//! Numbers and byte strings as they stand in log records.

use note::{ObjectHash, TimeDate, Unid};

/// A log record of this store that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BytesError {
    /// The bytes end early.
    #[error("the record ends early")]
    Short,
    /// A value outside its range.
    #[error("{0} out of range")]
    Range(&'static str),
    /// A later format.
    #[error("unknown format {0}")]
    Format(u8),
}

/// Appends an unsigned number, seven bits a byte, low bits first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number so that small magnitudes are short.
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_varint(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends a length and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads from the front of a slice.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], BytesError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(BytesError::Short)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], BytesError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(BytesError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, BytesError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn flag(&mut self) -> Result<bool, BytesError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BytesError::Range("flag")),
        }
    }

    pub fn u64(&mut self) -> Result<u64, BytesError> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn time(&mut self) -> Result<TimeDate, BytesError> {
        self.array().map(|bytes| TimeDate(i64::from_le_bytes(bytes)))
    }

    pub fn unid(&mut self) -> Result<Unid, BytesError> {
        self.array().map(Unid)
    }

    pub fn hash(&mut self) -> Result<ObjectHash, BytesError> {
        self.array().map(ObjectHash)
    }

    pub fn varint(&mut self) -> Result<u64, BytesError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(BytesError::Range("number"))
    }

    pub fn signed(&mut self) -> Result<i64, BytesError> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub fn small<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, BytesError> {
        T::try_from(self.varint()?).map_err(|_| BytesError::Range(what))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], BytesError> {
        let length = usize::try_from(self.varint()?).map_err(|_| BytesError::Short)?;
        self.take(length)
    }

    pub fn text(&mut self) -> Result<&'a str, BytesError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| BytesError::Range("text"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(unsigned in any::<u64>(), signed in any::<i64>()) {
            let mut out = Vec::new();
            put_varint(&mut out, unsigned);
            put_signed(&mut out, signed);
            put_bytes(&mut out, b"x");
            let mut cursor = Cursor::new(&out);
            prop_assert_eq!(cursor.varint(), Ok(unsigned));
            prop_assert_eq!(cursor.signed(), Ok(signed));
            prop_assert_eq!(cursor.text(), Ok("x"));
            prop_assert!(cursor.is_empty());
        }
    }
}
