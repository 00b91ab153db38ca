//! What appenders and the writer share: the gathering group, groups on their way to the disk,
//! segments and spares. All of it is under one short lock.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use note::{Dbiid, TimeDate};

use crate::archive::Archiving;
use crate::company::Company;
use crate::group::{GROUP_HEADER_BYTES, GroupHeader, align};
use crate::record::Draft;
use crate::segments::{Segment, Spare, next_spare_number};
use crate::sync::Instant;
use crate::waiters::Waiters;
use crate::{AppendError, Head, LogOptions, Lsn, RecordKind, Space, Style};

/// Segments that only reserved records may use.
pub(crate) const RESERVE_SEGMENTS: usize = 2;
/// Spares the writer keeps ready: the reserve and the next segment.
pub(crate) const SPARES_READY: usize = RESERVE_SEGMENTS + 1;
/// More spares than this are not kept; what is released beyond is removed.
pub(crate) const SPARES_MAX: usize = 8;
/// The head of a segment is written twice when it takes no more than this share of it.
const HEAD_COPY_SHARE: u64 = 8;
/// Buffers kept for the next groups.
const FREE_BUFFERS_MAX: usize = 4;

/// Bounds that follow from the options.
pub(crate) struct Rules {
    pub segment_bytes: u64,
    pub group_bytes_max: u64,
    pub pending_bytes_max: u64,
    /// Segments that ordinary records may fill.
    pub ordinary_max: u64,
    /// Segments and spares in all.
    pub segments_max: u64,
    /// The longest payload, so that a segment's head and one more record always fit.
    pub payload_max: u64,
}

impl Rules {
    pub fn new(options: &LogOptions) -> Rules {
        let segment_bytes = u64::from(options.segment_bytes);
        let segments_max = match options.style {
            Style::Circular | Style::Archive => (options.bytes_max / segment_bytes).max(4),
            Style::Linear => u64::MAX,
        };
        Rules {
            segment_bytes,
            group_bytes_max: u64::from(options.group_bytes_max),
            pending_bytes_max: options.pending_bytes_max,
            ordinary_max: segments_max - RESERVE_SEGMENTS as u64,
            segments_max,
            payload_max: segment_bytes / 2 - 256,
        }
    }

    /// Refuses a payload that is too long.
    pub fn check_length(&self, payload: &[u8]) -> Result<(), AppendError> {
        let length = payload.len() as u64;
        if length <= self.payload_max {
            return Ok(());
        }
        Err(AppendError::TooLong { length, length_max: self.payload_max })
    }
}

/// The group that takes the next records. It is closed while it has none.
#[derive(Default)]
struct Gathering {
    start: Lsn,
    previous_end: Lsn,
    records: u32,
    /// Room for the header, then the records.
    buffer: Vec<u8>,
}

/// A group that takes no more records.
pub(crate) struct Group {
    pub header: GroupHeader,
    /// Header, records, padding.
    pub buffer: Vec<u8>,
}

/// The segment that groups are appended to.
struct Place {
    segment: u32,
    /// Offset of the next group.
    next: u64,
    /// It was taken from the reserve: ordinary records wait until that is whole again.
    from_reserve: bool,
}

/// A spare that becomes a segment when its first group is written.
pub(crate) struct Opening {
    pub segment: u32,
    pub spare: Spare,
}

/// Trouble with space, and when it was met.
pub(crate) struct Trouble {
    kind: io::ErrorKind,
    text: String,
    pub at: TimeDate,
}

impl Trouble {
    pub fn new(error: &io::Error, at: TimeDate) -> Trouble {
        Trouble { kind: error.kind(), text: error.to_string(), at }
    }

    pub fn error(&self) -> AppendError {
        AppendError::Disk(io::Error::new(self.kind, self.text.clone()))
    }
}

/// How an attempt to append went.
pub(crate) enum Attempt {
    Done(Head),
    /// Too much waits for the disk.
    Pending,
    /// The writer has to provide a spare or segment ids.
    NeedsSegment,
}

/// Counts since the log was opened.
#[derive(Default)]
pub(crate) struct Tally {
    pub groups: u64,
    pub syncs: u64,
    pub bytes_written: u64,
    pub records: u64,
}

/// Makes the payload of the record that heads a segment.
pub(crate) type SegmentHead = Arc<dyn Fn() -> Vec<u8> + Send + Sync>;

pub(crate) struct State {
    gathering: Gathering,
    sealed: VecDeque<Group>,
    /// Groups the writer has taken, until they can be read from the disk.
    pub writing: VecDeque<Arc<Group>>,
    place: Option<Place>,
    pub appended: Lsn,
    pub durable: Lsn,
    next_number: u64,
    /// Bytes of records that are not written yet.
    pub pending_bytes: u64,
    /// When the first record that no sync will cover yet was appended.
    pub unsynced_since: Option<Instant>,
    /// `unsynced_since` was set and the writer was not told yet.
    pub is_fresh: bool,
    pub segments: BTreeMap<u32, Segment>,
    pub spares: Vec<Spare>,
    next_spare: u32,
    pub openings: VecDeque<Opening>,
    /// Segment ids that may be used.
    pub ids: Range<u32>,
    pub waiters: Waiters,
    pub company: Company,
    pub segment_head: Option<SegmentHead>,
    pub free_buffers: Vec<Vec<u8>>,
    /// An appender waits for pending bytes to be written.
    pub hurry: bool,
    /// An appender waits for a segment.
    pub segment_wanted: bool,
    /// Attempts to provide a segment that failed.
    pub segment_failures: u64,
    /// The last attempt, if it failed.
    pub segment_trouble: Option<Trouble>,
    /// A group could not be written for want of space; tried again at the instant.
    pub write_trouble: Option<(Trouble, Instant)>,
    pub full: bool,
    pub archiving: Archiving,
    pub oldest_needed: Lsn,
    pub stopping: bool,
    /// The writer has ended.
    pub ended: bool,
    /// Why the log failed.
    pub failed: Option<String>,
    pub tally: Tally,
}

impl State {
    /// The state of a log that goes on at the segment `ids.start`.
    pub fn new(ids: Range<u32>, next_number: u64, segments: BTreeMap<u32, Segment>) -> State {
        let start = Lsn::new(ids.start, 0);
        State {
            gathering: Gathering::default(),
            sealed: VecDeque::new(),
            writing: VecDeque::new(),
            place: None,
            appended: start,
            durable: start,
            next_number,
            pending_bytes: 0,
            unsynced_since: None,
            is_fresh: false,
            segments,
            spares: Vec::new(),
            next_spare: 0,
            openings: VecDeque::new(),
            ids,
            waiters: Waiters::default(),
            company: Company::default(),
            segment_head: None,
            free_buffers: Vec::new(),
            hurry: false,
            segment_wanted: false,
            segment_failures: 0,
            segment_trouble: None,
            write_trouble: None,
            full: false,
            archiving: Archiving::default(),
            oldest_needed: Lsn::ZERO,
            stopping: false,
            ended: false,
            failed: None,
            tally: Tally::default(),
        }
    }

    /// Why nothing is appended any more, if so.
    pub fn stop_reason(&self) -> Option<String> {
        match &self.failed {
            Some(reason) => Some(reason.clone()),
            None => (self.stopping || self.ended).then(|| "stopped in order".to_owned()),
        }
    }

    /// Appends a record if there is room.
    pub fn append(
        &mut self,
        draft: &Draft<'_>,
        space: Space,
        rules: &Rules,
    ) -> Result<Attempt, AppendError> {
        if let Some(reason) = self.stop_reason() {
            return Err(AppendError::Stopped { reason });
        }
        if let Some((trouble, _)) = &self.write_trouble {
            return Err(trouble.error());
        }
        if self.pending_bytes > 0 && self.pending_bytes + draft.bytes() > rules.pending_bytes_max {
            return Ok(Attempt::Pending);
        }
        if self.make_room(draft.bytes(), space, rules)? {
            Ok(Attempt::Done(self.put(draft)))
        } else {
            Ok(Attempt::NeedsSegment)
        }
    }

    /// Sees to it that the gathering group can take a record; false when that needs a segment
    /// that is not there yet.
    fn make_room(&mut self, bytes: u64, space: Space, rules: &Rules) -> Result<bool, AppendError> {
        if space == Space::Ordinary && !self.reserve_is_whole(rules)? {
            return Ok(false);
        }
        if self.gathering.records > 0 {
            let length = self.gathering.buffer.len() as u64 + bytes;
            let end = u64::from(self.gathering.start.offset()) + length;
            if length <= rules.group_bytes_max && end <= rules.segment_bytes {
                return Ok(true);
            }
            self.seal();
        }
        match &self.place {
            Some(place) if place.next + group_bytes(bytes) <= rules.segment_bytes => {
                let start = Lsn::new(place.segment, place.next as u32);
                self.open_group(start);
                Ok(true)
            }
            _ => self.open_segment(space, rules),
        }
    }

    /// May ordinary records use the current segment? An error when the log is full.
    fn reserve_is_whole(&mut self, rules: &Rules) -> Result<bool, AppendError> {
        if self.segments.len() as u64 > rules.ordinary_max {
            return Err(self.refuse_full());
        }
        let is_short = self.spares.len() < RESERVE_SEGMENTS;
        match &mut self.place {
            Some(place) if place.from_reserve => {
                place.from_reserve = is_short;
                Ok(!is_short)
            }
            _ => Ok(true),
        }
    }

    fn refuse_full(&mut self) -> AppendError {
        self.full = true;
        AppendError::Full { bytes: self.segment_bytes() }
    }

    /// Bytes of all segments.
    pub fn segment_bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.bytes).sum()
    }

    /// Goes on in a new segment, headed by its checkpoint record; false when there is no spare for
    /// it or no id.
    fn open_segment(&mut self, space: Space, rules: &Rules) -> Result<bool, AppendError> {
        let (segments_max, spares_kept) = match space {
            Space::Ordinary => (rules.ordinary_max, RESERVE_SEGMENTS),
            Space::Reserved => (rules.segments_max, 0),
        };
        if self.segments.len() as u64 >= segments_max {
            return Err(self.refuse_full());
        }
        if self.ids.is_empty() || self.spares.len() <= spares_kept {
            return Ok(false);
        }
        let head = self.segment_head.as_ref().map(|make| make());
        if let Some(payload) = &head {
            rules.check_length(payload)?;
        }
        let Some(spare) = self.spares.pop() else { return Ok(false) };
        let segment = self.ids.start;
        self.ids.start += 1;
        self.enter_segment(segment, spare, rules);
        if let Some(payload) = &head {
            self.put_head(&Draft::new(RecordKind::Checkpoint, Dbiid(0), payload), rules);
        }
        Ok(true)
    }

    /// Puts the record that heads a segment, and a copy of it into a group of its own: no single
    /// damaged place makes both unreadable.
    fn put_head(&mut self, head: &Draft<'_>, rules: &Rules) {
        self.put(head);
        if head.bytes() > rules.segment_bytes / HEAD_COPY_SHARE {
            return;
        }
        self.seal();
        if let Some(place) = &self.place {
            let start = Lsn::new(place.segment, place.next as u32);
            self.open_group(start);
            self.put(head);
        }
    }

    fn enter_segment(&mut self, segment: u32, spare: Spare, rules: &Rules) {
        if let Some(place) = &self.place
            && let Some(last) = self.segments.get_mut(&place.segment)
        {
            last.end = Some(self.appended.offset());
        }
        let file = Some(Arc::clone(&spare.file));
        self.segments.insert(segment, Segment { bytes: rules.segment_bytes, end: None, file });
        self.openings.push_back(Opening { segment, spare });
        let from_reserve = self.spares.len() < RESERVE_SEGMENTS;
        self.place = Some(Place { segment, next: 0, from_reserve });
        self.open_group(Lsn::new(segment, 0));
    }

    /// Fixes the position of the next group.
    fn open_group(&mut self, start: Lsn) {
        let mut buffer = self.free_buffers.pop().unwrap_or_default();
        buffer.clear();
        buffer.resize(GROUP_HEADER_BYTES, 0);
        self.gathering = Gathering { start, previous_end: self.appended, records: 0, buffer };
    }

    fn put(&mut self, draft: &Draft<'_>) -> Head {
        let lsn = Lsn(self.gathering.start.0 + self.gathering.buffer.len() as u64);
        let head = draft.put(lsn, &mut self.gathering.buffer);
        self.gathering.records += 1;
        self.appended = head.end;
        self.pending_bytes += draft.bytes();
        self.tally.records += 1;
        if self.unsynced_since.is_none() {
            self.unsynced_since = Some(Instant::now());
            self.is_fresh = true;
        }
        head
    }

    /// Closes the gathering group.
    fn seal(&mut self) {
        let gathering = std::mem::take(&mut self.gathering);
        if gathering.records == 0 {
            return;
        }
        let length = gathering.buffer.len();
        let segment = gathering.start.segment();
        let header = GroupHeader {
            segment,
            records: gathering.records,
            salt: 0,
            number: self.next_number,
            first: Lsn(gathering.start.0 + GROUP_HEADER_BYTES as u64),
            previous_end: gathering.previous_end,
            durable: Lsn::ZERO,
            time: TimeDate(0),
            length: length as u32,
        };
        self.next_number += 1;
        if let Some(place) = &mut self.place {
            place.next = align(u64::from(header.end().offset()));
        }
        self.sealed.push_back(Group { header, buffer: gathering.buffer });
    }

    /// Hands the closed groups to the writer, their headers filled in; with `all` the gathering
    /// one too.
    pub fn take_groups(&mut self, all: bool, now: TimeDate, salt_of: impl Fn(u32) -> u64) {
        if all {
            self.seal();
        }
        while let Some(mut group) = self.sealed.pop_front() {
            group.header.durable = self.durable;
            group.header.time = now;
            group.header.salt = salt_of(group.header.segment);
            group.buffer[..GROUP_HEADER_BYTES].copy_from_slice(&group.header.encode());
            group.buffer.resize(align(group.buffer.len() as u64) as usize, 0);
            self.writing.push_back(Arc::new(group));
        }
    }

    /// Does somebody wait for records that were appended?
    pub fn is_awaited(&self) -> bool {
        self.waiters.first().is_some_and(|lsn| lsn <= self.appended)
    }

    /// Are closed groups waiting for the writer?
    pub fn has_sealed(&self) -> bool {
        !self.sealed.is_empty()
    }

    /// Forgets a group that can be read from the disk, keeping its buffer for another.
    pub fn forget_written(&mut self, buffer_bytes_max: usize) {
        let Some(group) = self.writing.pop_front() else { return };
        let records = u64::from(group.header.length) - GROUP_HEADER_BYTES as u64;
        self.pending_bytes = self.pending_bytes.saturating_sub(records);
        self.tally.groups += 1;
        self.tally.bytes_written += group.buffer.len() as u64;
        if let Ok(group) = Arc::try_unwrap(group)
            && self.free_buffers.len() < FREE_BUFFERS_MAX
            && group.buffer.capacity() <= buffer_bytes_max
        {
            self.free_buffers.push(group.buffer);
        }
    }

    /// The bytes from `lsn` on, when its group is not known to be written.
    pub fn find_pending(&self, lsn: Lsn) -> Option<&[u8]> {
        let gathering = (self.gathering.start, &self.gathering.buffer);
        let sealed = self.sealed.iter().map(|group| (group.header.start(), &group.buffer));
        let writing = self.writing.iter().map(|group| (group.header.start(), &group.buffer));
        let mut groups = writing.chain(sealed).chain([gathering]);
        groups.find_map(|(start, buffer)| {
            let offset = lsn.0.checked_sub(start.0)?;
            buffer.get(usize::try_from(offset).ok()?..).filter(|bytes| !bytes.is_empty())
        })
    }

    /// Takes the spares found at the start.
    pub fn set_spares(&mut self, spares: Vec<Spare>) {
        self.next_spare = next_spare_number(&spares);
        self.spares = spares;
    }

    /// A number that no spare has had since the start.
    pub fn next_spare_number(&mut self) -> u32 {
        self.next_spare += 1;
        self.next_spare - 1
    }

    /// The segment groups are appended to.
    pub fn current_segment(&self) -> Option<u32> {
        self.place.as_ref().map(|place| place.segment)
    }

    /// Should the writer make another spare?
    pub fn wants_spare(&self, rules: &Rules) -> bool {
        let files = (self.segments.len() + self.spares.len()) as u64;
        self.spares.len() < SPARES_READY && files < rules.segments_max
    }
}

/// Bytes a group with one record of `bytes` takes, before padding.
fn group_bytes(bytes: u64) -> u64 {
    GROUP_HEADER_BYTES as u64 + bytes
}

const _: () = {
    // A head and another record of the greatest length fit into the smallest segment.
    let segment: u64 = 16 << 10;
    let record = segment / 2 - 256 + 24 + 8;
    assert!(GROUP_HEADER_BYTES as u64 + 2 * record <= segment);
    // So do two copies of a head that are not too long for that, the first in a group of its own.
    let copy = segment / HEAD_COPY_SHARE;
    let first = (GROUP_HEADER_BYTES as u64 + copy).next_multiple_of(4096);
    assert!(first + GROUP_HEADER_BYTES as u64 + copy + record <= segment);
};
