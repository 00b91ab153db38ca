//! Positions in the log.

use std::fmt;

/// A position in the log: segment id in the upper 32 bits, byte offset in the segment below.
///
/// Positions order as the log does. Records never stand at [`Lsn::ZERO`], so it can mean "none".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// The position before everything.
    pub const ZERO: Lsn = Lsn(0);

    /// The position `offset` bytes into the segment `segment`.
    pub const fn new(segment: u32, offset: u32) -> Lsn {
        Lsn(((segment as u64) << 32) | offset as u64)
    }

    /// Id of the segment.
    pub const fn segment(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Byte offset in the segment.
    pub const fn offset(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08X}:{:08X}", self.segment(), self.offset())
    }
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_text() {
        let lsn = Lsn::new(0x2a, 0x1000);
        assert_eq!((lsn.segment(), lsn.offset()), (0x2a, 0x1000));
        assert_eq!(lsn.to_string(), "0000002A:00001000");
        assert!(Lsn::new(1, 0) > Lsn::new(0, u32::MAX));
    }
}
