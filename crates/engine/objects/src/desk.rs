//! Where a thread takes blocks apart: buffers it keeps, and the block it was at last.

use std::cell::Cell;

use note::ObjectHash;

use crate::squeeze::{self, UnpackError};

/// A block by its content: whose it is, and its first byte there.
type Place = (ObjectHash, u64);

/// Buffers of a thread; each as long as the largest block so far needed.
#[derive(Default)]
pub(crate) struct Desk {
    /// A record as it came from the log.
    pub record: Vec<u8>,
    /// The block of which a part was wanted last.
    pub raw: Raw,
}

/// The raw bytes of one block. Whoever reads a long content by and by, in slices that do not end
/// where blocks do, wants the rest of it next.
#[derive(Default)]
pub(crate) struct Raw {
    bytes: Vec<u8>,
    place: Option<Place>,
}

thread_local! {
    /// Taken out while in use, so that a nested use makes one of its own.
    static DESK: Cell<Option<Box<Desk>>> = const { Cell::new(None) };
}

/// Hands the thread's desk to `f`.
pub(crate) fn with_desk<T>(f: impl FnOnce(&mut Desk) -> T) -> T {
    let mut desk = DESK.take().unwrap_or_default();
    let result = f(&mut desk);
    DESK.set(Some(desk));
    result
}

impl Raw {
    /// The bytes of a block of `length` bytes, if it is the one that was unpacked last.
    pub(crate) fn get(&self, place: Place, length: usize) -> Option<&[u8]> {
        (self.place == Some(place) && self.bytes.len() == length).then_some(&self.bytes)
    }

    /// Unpacks the payload of a block of `length` bytes.
    pub(crate) fn unpack(
        &mut self,
        place: Place,
        length: usize,
        payload: &[u8],
    ) -> Result<&[u8], UnpackError> {
        self.place = None;
        self.bytes.clear();
        squeeze::unpack(payload, length, &mut self.bytes)?;
        self.place = Some(place);
        Ok(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::squeeze::Packer;

    #[test]
    fn desks_nest() {
        let kept = with_desk(|outer| {
            outer.record = vec![1; 10];
            with_desk(|inner| inner.record = vec![2; 20]);
            outer.record.clone()
        });
        assert_eq!(kept, [1; 10]);
        with_desk(|desk| assert_eq!(desk.record, [1; 10]));
    }

    #[test]
    fn only_the_block_that_was_unpacked_last_is_known() {
        let mut raw = Raw::default();
        let (one, other) = ((ObjectHash([1; 32]), 0), (ObjectHash([1; 32]), 7));
        assert_eq!(raw.get(one, 0), None);
        let payload = Packer::new(1).pack(b"content", <[u8]>::to_vec).unwrap();
        assert_eq!(raw.unpack(one, 7, &payload), Ok(&b"content"[..]));
        assert_eq!(raw.get(one, 7), Some(&b"content"[..]));
        assert_eq!((raw.get(other, 7), raw.get(one, 6)), (None, None));
        assert!(raw.unpack(other, 6, &payload).is_err());
        assert_eq!((raw.get(other, 6), raw.get(one, 7)), (None, None));
    }
}
