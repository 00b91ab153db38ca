//! Numbers and byte strings as they stand in notes, log records and catalogs
//! (`docs/formats/note.md`). The bytes that are read are not trusted.

use crate::{ObjectHash, TimeDate, Unid};

/// Bytes that do not say what they should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BytesError {
    /// The bytes end inside something.
    #[error("the bytes end early")]
    Short,
    /// A value outside its range.
    #[error("{0} out of range")]
    Range(&'static str),
    /// A text that is not UTF-8.
    #[error("text is not UTF-8")]
    Text,
    /// A later format, or something else.
    #[error("unknown format {0}")]
    Format(u8),
}

/// Appends an unsigned number, seven bits a byte, low bits first, the top bit set when more follow.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number so that small magnitudes are short: 0, -1, 1, -2 … as 0, 1, 2, 3 ….
#[inline]
pub fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_varint(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends a length and the bytes.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads from the front of a slice.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Begins at the front of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    /// Is nothing left?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// What is left.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// `Short` when there are fewer; so in all of these.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], BytesError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(BytesError::Short)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// The next `length` bytes.
    ///
    /// # Errors
    /// `Short`.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], BytesError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(BytesError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next byte.
    ///
    /// # Errors
    /// `Short`.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, BytesError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A byte that is 0 or 1.
    ///
    /// # Errors
    /// `Short`; `Range` for another byte.
    pub fn flag(&mut self) -> Result<bool, BytesError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BytesError::Range("flag")),
        }
    }

    /// A number of four bytes, little-endian.
    ///
    /// # Errors
    /// `Short`.
    pub fn u32(&mut self) -> Result<u32, BytesError> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number of eight bytes, little-endian.
    ///
    /// # Errors
    /// `Short`.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, BytesError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A time: eight bytes, little-endian.
    ///
    /// # Errors
    /// `Short`.
    pub fn time(&mut self) -> Result<TimeDate, BytesError> {
        self.array().map(|bytes| TimeDate(i64::from_le_bytes(bytes)))
    }

    /// A UNID: 16 bytes.
    ///
    /// # Errors
    /// `Short`.
    pub fn unid(&mut self) -> Result<Unid, BytesError> {
        self.array().map(Unid)
    }

    /// The hash of an object: 32 bytes.
    ///
    /// # Errors
    /// `Short`.
    pub fn hash(&mut self) -> Result<ObjectHash, BytesError> {
        self.array().map(ObjectHash)
    }

    /// What [`put_varint`] wrote.
    ///
    /// # Errors
    /// `Short`; `Range` when it passes 64 bits.
    #[inline]
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

    /// What [`put_signed`] wrote.
    ///
    /// # Errors
    /// As [`Cursor::varint`].
    #[inline]
    pub fn signed(&mut self) -> Result<i64, BytesError> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// A varint that fits into a `T`; `what` names it in the error.
    ///
    /// # Errors
    /// As [`Cursor::varint`]; `Range` when it does not fit.
    pub fn small<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, BytesError> {
        T::try_from(self.varint()?).map_err(|_| BytesError::Range(what))
    }

    /// What [`put_bytes`] wrote.
    ///
    /// # Errors
    /// As [`Cursor::varint`] and [`Cursor::take`].
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], BytesError> {
        let length = usize::try_from(self.varint()?).map_err(|_| BytesError::Short)?;
        self.take(length)
    }

    /// A length and a text.
    ///
    /// # Errors
    /// As [`Cursor::bytes`]; `Text` when it is not UTF-8.
    pub fn text(&mut self) -> Result<&'a str, BytesError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| BytesError::Text)
    }

    /// A count of things that take at least `bytes_each` (not 0) of the bytes that are left.
    ///
    /// # Errors
    /// As [`Cursor::varint`]; `Short` when they cannot all be there.
    pub fn count(&mut self, bytes_each: usize) -> Result<usize, BytesError> {
        let count = usize::try_from(self.varint()?).map_err(|_| BytesError::Short)?;
        if count > self.rest.len() / bytes_each.max(1) {
            return Err(BytesError::Short);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
