//! Reading the log in order.

use std::ops::ControlFlow;

use crate::group::{GROUP_HEADER_BYTES, GroupHeader};
use crate::shared::Shared;
use crate::walk::Walk;
use crate::{DiskFile, Head, LogError, Lsn};

/// The payload of a scanned record, read when asked for.
pub trait Payload {
    /// The payload, read and checked against its sum; [`LogError::Damaged`] when that fails.
    fn get(&mut self) -> Result<&[u8], LogError>;

    /// The payload as it stands, whatever its sum says: for those who can tell good parts of a
    /// damaged payload from bad ones.
    fn raw(&mut self) -> Result<&[u8], LogError>;
}

/// What `scan` calls for each record.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&Head, &mut dyn Payload) -> ControlFlow<()>;

/// One record under the eyes of a visitor.
struct Scanned<'a, 'b> {
    walk: &'a mut Walk<'b>,
    head: Head,
    crc: u32,
}

impl Payload for Scanned<'_, '_> {
    fn get(&mut self) -> Result<&[u8], LogError> {
        let (lsn, length, crc) = (self.head.lsn, self.head.length as usize, self.crc);
        let payload = self.raw()?;
        if payload.len() != length || crc32fast::hash(payload) != crc {
            return Err(LogError::Damaged { lsn });
        }
        Ok(payload)
    }

    fn raw(&mut self) -> Result<&[u8], LogError> {
        let lsn = self.head.lsn;
        self.walk.payload(&self.head).map_err(|source| LogError::Read { lsn, source })
    }
}

/// Where a scan is.
struct Scan<'a> {
    shared: &'a Shared,
    from: Lsn,
    /// Records behind this position are not visited.
    until: Lsn,
    /// Behind the last group.
    end: Lsn,
    next_number: Option<u64>,
}

/// Visits the durable records from `from` on.
pub(crate) fn scan(shared: &Shared, from: Lsn, visit: Visit<'_>) -> Result<(), LogError> {
    let oldest = {
        let state = shared.state.lock();
        shared.oldest.max(Lsn::new(state.oldest_needed.segment(), 0))
    };
    let until = shared.durable();
    let first = from.max(oldest).segment();
    if first > until.segment() {
        return Ok(());
    }
    let ids: Vec<u32> = {
        let state = shared.state.lock();
        state.segments.range(first..=until.segment()).map(|(id, _)| *id).collect()
    };
    let end = Lsn::new(ids.first().copied().unwrap_or(0), 0);
    let mut scan = Scan { shared, from, until, end, next_number: None };
    for id in &ids {
        if scan.segment(*id, visit)?.is_break() {
            return Ok(());
        }
    }
    scan.check_end(ids.last().copied())
}

/// Visits the records of one segment as far as they can be read.
pub(crate) fn scan_segment(
    shared: &Shared,
    id: u32,
    file: Option<&dyn DiskFile>,
    visit: &mut dyn FnMut(&Head, &mut dyn Payload),
) -> Result<u64, LogError> {
    let start = Lsn::new(id, 0);
    let own = if file.is_none() { Some(shared.file(start)?) } else { None };
    let Some(file) = file.or(own.as_deref()) else { return Err(LogError::NotInLog { lsn: start }) };
    let failed = |source| LogError::Read { lsn: start, source };
    let limit = file.len().map_err(failed)?;
    let salt = match Walk::new(file, id, shared.salt(id), limit).find_group(0).map_err(failed)? {
        Some(_) => shared.salt(id),
        None => foreign_salt(file).map_err(failed)?,
    };
    let mut walk = Walk::new(file, id, salt, limit);
    let (mut offset, mut number, mut unreadable) = (0, None, 0);
    while let Some(group) = walk.find_group(offset).map_err(failed)? {
        unreadable += u64::from(number.is_some_and(|number| number != group.number));
        number = Some(group.number.wrapping_add(1));
        offset = u64::from(group.end().offset());
        let mut lsn = group.first;
        for _ in 0..group.records {
            let record = walk.record_at(lsn, group.end());
            let Some((head, crc)) = record.map_err(|source| LogError::Read { lsn, source })? else {
                unreadable += 1;
                break;
            };
            lsn = head.end;
            visit(&head, &mut Scanned { walk: &mut walk, head, crc });
        }
    }
    Ok(unreadable)
}

/// The salt of a segment of another log, as its first group says.
fn foreign_salt(file: &dyn DiskFile) -> std::io::Result<u64> {
    let mut first = [0; GROUP_HEADER_BYTES];
    file.read_at(&mut first, 0)?;
    Ok(GroupHeader::decode(&first).map_or(0, |group| group.salt))
}

impl Scan<'_> {
    fn segment(&mut self, id: u32, visit: Visit<'_>) -> Result<ControlFlow<()>, LogError> {
        let start = Lsn::new(id, 0);
        let file = self.shared.file(start)?;
        let end = self.shared.state.lock().segments.get(&id).and_then(|segment| segment.end);
        let limit = match end {
            Some(end) => end,
            None if id == self.until.segment() => self.until.offset(),
            None => 0,
        };
        let mut walk = Walk::new(&*file, id, self.shared.salt(id), u64::from(limit));
        let mut offset = 0;
        loop {
            let group = walk.find_group(offset);
            let group = group.map_err(|source| LogError::Read { lsn: start, source })?;
            let Some(group) = group.filter(|group| group.end() <= self.until) else {
                return Ok(ControlFlow::Continue(()));
            };
            offset = u64::from(group.end().offset());
            self.check_order(&group)?;
            if group.end() > self.from && self.group(&mut walk, &group, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// A gap before a group is an error, unless it was reported when the log was opened.
    fn check_order(&mut self, group: &GroupHeader) -> Result<(), LogError> {
        let follows = match self.next_number {
            None => group.previous_end <= self.end,
            Some(number) => group.number == number,
        };
        let lost = self.end..group.previous_end;
        self.end = group.end();
        self.next_number = Some(group.number + 1);
        let is_known = |lost: &std::ops::Range<Lsn>| {
            let damage = &self.shared.damage;
            damage.iter().any(|one| lost.start <= one.range.start && one.range.end <= lost.end)
        };
        if follows || is_known(&lost) {
            Ok(())
        } else {
            Err(LogError::DamagedRange { range: lost })
        }
    }

    /// The last durable group must have been there.
    fn check_end(&self, last: Option<u32>) -> Result<(), LogError> {
        let is_short = last == Some(self.until.segment()) && self.end < self.until;
        if is_short && self.until.offset() > 0 {
            return Err(LogError::DamagedRange { range: self.end..self.until });
        }
        Ok(())
    }

    fn group(
        &self,
        walk: &mut Walk<'_>,
        group: &GroupHeader,
        visit: Visit<'_>,
    ) -> Result<ControlFlow<()>, LogError> {
        let mut lsn = group.first;
        for _ in 0..group.records {
            let record = walk.record_at(lsn, group.end());
            let record = record.map_err(|source| LogError::Read { lsn, source })?;
            let Some((head, crc)) = record else {
                let is_known = self.shared.damage.iter().any(|one| one.range.contains(&lsn));
                let range = lsn..group.end();
                return match is_known {
                    true => Ok(ControlFlow::Continue(())),
                    false => Err(LogError::DamagedRange { range }),
                };
            };
            lsn = head.end;
            if head.lsn >= self.from {
                let mut scanned = Scanned { walk, head, crc };
                if visit(&head, &mut scanned).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
