//! Groups: the header in front of the records that one write carries.

use note::TimeDate;

use crate::Lsn;

/// Groups begin at multiples of this.
pub(crate) const GROUP_ALIGN: u32 = 4096;
/// Length of a group header.
pub(crate) const GROUP_HEADER_BYTES: usize = 80;

const MAGIC: [u8; 4] = *b"NTXG";
const FORMAT: u16 = 1;
const CRC_AT: usize = 76;

/// What a group header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupHeader {
    /// The segment the group was written for.
    pub segment: u32,
    /// Records in the group.
    pub records: u32,
    /// The salt of the segment in this log.
    pub salt: u64,
    /// Groups are numbered without a gap.
    pub number: u64,
    /// The first record, right behind the header.
    pub first: Lsn,
    /// Behind the last record of the group before; of the first group of a run: its own segment.
    pub previous_end: Lsn,
    /// What was durable when the header was written.
    pub durable: Lsn,
    /// When the header was written.
    pub time: TimeDate,
    /// Header and records, without the padding behind them.
    pub length: u32,
}

impl GroupHeader {
    /// Where the group begins.
    pub fn start(&self) -> Lsn {
        Lsn(self.first.0 - GROUP_HEADER_BYTES as u64)
    }

    /// Behind the last record.
    pub fn end(&self) -> Lsn {
        Lsn(self.start().0 + u64::from(self.length))
    }

    pub fn encode(&self) -> [u8; GROUP_HEADER_BYTES] {
        let mut out = [0; GROUP_HEADER_BYTES];
        out[0..4].copy_from_slice(&MAGIC);
        out[4..6].copy_from_slice(&FORMAT.to_le_bytes());
        out[6..8].copy_from_slice(&(GROUP_HEADER_BYTES as u16).to_le_bytes());
        out[8..12].copy_from_slice(&self.segment.to_le_bytes());
        out[12..16].copy_from_slice(&self.records.to_le_bytes());
        out[16..24].copy_from_slice(&self.salt.to_le_bytes());
        out[24..32].copy_from_slice(&self.number.to_le_bytes());
        out[32..40].copy_from_slice(&self.first.0.to_le_bytes());
        out[40..48].copy_from_slice(&self.previous_end.0.to_le_bytes());
        out[48..56].copy_from_slice(&self.durable.0.to_le_bytes());
        out[56..64].copy_from_slice(&self.time.0.to_le_bytes());
        out[64..68].copy_from_slice(&self.length.to_le_bytes());
        let crc = crc32fast::hash(&out[..CRC_AT]);
        out[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// The header in the first bytes of `bytes`; `None` when they are none.
    pub fn decode(bytes: &[u8]) -> Option<GroupHeader> {
        let bytes = bytes.get(..GROUP_HEADER_BYTES)?;
        if bytes[..4] != MAGIC || crc32fast::hash(&bytes[..CRC_AT]) != u32_at(bytes, CRC_AT) {
            return None;
        }
        let shape = [bytes[4], bytes[5], bytes[6], bytes[7]];
        if shape != [FORMAT as u8, 0, GROUP_HEADER_BYTES as u8, 0] {
            return None;
        }
        let header = GroupHeader {
            segment: u32_at(bytes, 8),
            records: u32_at(bytes, 12),
            salt: u64_at(bytes, 16),
            number: u64_at(bytes, 24),
            first: Lsn(u64_at(bytes, 32)),
            previous_end: Lsn(u64_at(bytes, 40)),
            durable: Lsn(u64_at(bytes, 48)),
            time: TimeDate(u64_at(bytes, 56) as i64),
            length: u32_at(bytes, 64),
        };
        header.is_sound().then_some(header)
    }

    fn is_sound(&self) -> bool {
        self.first.segment() == self.segment
            && self.first.offset() % GROUP_ALIGN == GROUP_HEADER_BYTES as u32
            && self.length as usize >= GROUP_HEADER_BYTES
            && self.start().offset().checked_add(self.length).is_some()
    }
}

/// The next multiple of the group alignment.
pub(crate) fn align(offset: u64) -> u64 {
    offset.next_multiple_of(u64::from(GROUP_ALIGN))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> GroupHeader {
        GroupHeader {
            segment: 7,
            records: 3,
            salt: 0x0123_4567_89ab_cdef,
            number: 99,
            first: Lsn::new(7, 8192 + 80),
            previous_end: Lsn::new(7, 5000),
            durable: Lsn::new(6, 100),
            time: TimeDate(-5),
            length: 480,
        }
    }

    #[test]
    fn header_round_trips() {
        let header = sample();
        assert_eq!(GroupHeader::decode(&header.encode()), Some(header));
        assert_eq!((header.start(), header.end()), (Lsn::new(7, 8192), Lsn::new(7, 8672)));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = sample().encode();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(GroupHeader::decode(&flipped), None, "bit {bit}");
        }
        assert_eq!(GroupHeader::decode(&bytes[..79]), None);
    }

    #[test]
    fn contradictions_are_refused() {
        let other_segment = GroupHeader { segment: 8, ..sample() };
        let unaligned = GroupHeader { first: Lsn::new(7, 8000), ..sample() };
        let too_short = GroupHeader { length: 79, ..sample() };
        let too_long = GroupHeader { length: u32::MAX, ..sample() };
        for header in [other_segment, unaligned, too_short, too_long] {
            assert_eq!(GroupHeader::decode(&header.encode()), None, "{header:?}");
        }
    }
}
