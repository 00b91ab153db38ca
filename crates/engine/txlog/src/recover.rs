//! Finding the end of the log, and what is damaged before it.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use note::Dbiid;

use crate::control::Control;
use crate::group::{GROUP_HEADER_BYTES, GroupHeader, align};
use crate::segments::{Segment, segment_file_name};
use crate::sync::thread;
use crate::walk::Walk;
use crate::{Damage, Disk, DiskFile, LogError, Lsn, RecordKind};

/// A log shorter than this is not read ahead.
const AHEAD_BYTES_MIN: u64 = 32 << 20;

/// What the segments say.
pub(crate) struct Recovered {
    /// Where the log begins.
    pub oldest: Lsn,
    /// Behind the last record that is part of the log.
    pub end: Lsn,
    /// The number for the next group.
    pub next_number: u64,
    /// Durable stretches that cannot be read.
    pub damage: Vec<Damage>,
    /// Bytes of groups behind the end.
    pub discarded_bytes: u64,
    /// The segments of the log.
    pub segments: BTreeMap<u32, Segment>,
    /// Segments that hold nothing of it.
    pub dead: Vec<u32>,
}

/// Reads the segments `ids` (ascending) and applies the rule of damage and end: a group that is
/// missing or bad is damage when a later group or the control file says that its place was durable;
/// else the log ends. What is found at the end is made durable.
pub(crate) fn recover(
    disk: &dyn Disk,
    dir: &Path,
    control: &Control,
    ids: &[u32],
) -> Result<Recovered, LogError> {
    let mut survey = Survey { dir, control, files: BTreeMap::new(), groups: Vec::new() };
    for id in ids {
        survey.open(disk, *id)?;
    }
    survey.read_ahead();
    for id in ids {
        survey.collect(*id)?;
    }
    let durable = survey.groups.iter().map(|group| group.durable).max();
    let durable = durable.unwrap_or(Lsn::ZERO).max(control.durable);
    let chain = survey.follow(durable)?;
    survey.sync_tail(disk, durable, chain.end)?;
    Ok(survey.finish(chain))
}

struct Survey<'a> {
    dir: &'a Path,
    control: &'a Control,
    files: BTreeMap<u32, Surveyed>,
    groups: Vec<GroupHeader>,
}

struct Surveyed {
    file: Arc<dyn DiskFile>,
    bytes: u64,
    /// Groups behind this offset are not part of the log.
    limit: u64,
}

/// The groups that are part of the log.
struct Chain {
    oldest: Lsn,
    end: Lsn,
    next_number: u64,
    damage: Vec<Damage>,
    discarded_bytes: u64,
    /// Behind the last record, by segment.
    ends: BTreeMap<u32, u32>,
}

impl Survey<'_> {
    fn open(&mut self, disk: &dyn Disk, id: u32) -> Result<(), LogError> {
        let path = self.dir.join(segment_file_name(id));
        let file = disk.open(&path).map_err(LogError::disk("open", &path))?;
        let bytes = file.len().map_err(LogError::disk("look at", &path))?;
        let limit = self.limit(id, bytes);
        self.files.insert(id, Surveyed { file, bytes, limit });
        Ok(())
    }

    /// Lets the system read a long log ahead of who walks through it, in the order of the walk.
    fn read_ahead(&self) {
        let files: Vec<_> = self
            .files
            .values()
            .filter(|surveyed| surveyed.limit > 0)
            .map(|surveyed| (Arc::clone(&surveyed.file), surveyed.limit))
            .collect();
        if files.iter().map(|(_, limit)| limit).sum::<u64>() < AHEAD_BYTES_MIN {
            return;
        }
        let ahead = move || files.iter().for_each(|(file, limit)| file.read_ahead(*limit));
        let started = thread::Builder::new().name("txlog ahead".to_owned()).spawn(ahead);
        if let Err(error) = started {
            tracing::debug!(%error, "the log is not read ahead");
        }
    }

    /// Collects the groups of a segment.
    fn collect(&mut self, id: u32) -> Result<(), LogError> {
        let Some(surveyed) = self.files.get(&id) else { return Ok(()) };
        let path = self.dir.join(segment_file_name(id));
        let failed = |source| LogError::disk("read", &path)(source);
        let mut walk = Walk::new(&*surveyed.file, id, self.control.salt(id), surveyed.limit);
        let mut offset = 0;
        while let Some(group) = walk.find_group(offset).map_err(failed)? {
            offset = u64::from(group.end().offset());
            self.groups.push(group);
        }
        Ok(())
    }

    /// Where a void cuts a segment, else its length. A segment before the oldest needed position
    /// awaits its release and is not read.
    fn limit(&self, id: u32, bytes: u64) -> u64 {
        if id < self.control.oldest_needed.segment() {
            return 0;
        }
        let start = Lsn::new(id, 0);
        let inside = self.control.voids.iter().find(|void| void.from <= start && start < void.to);
        let cut = self.control.voids.iter().find(|void| void.from.segment() == id);
        match (inside, cut) {
            (Some(_), _) => 0,
            (None, Some(void)) => bytes.min(u64::from(void.from.offset())),
            (None, None) => bytes,
        }
    }

    fn walk(&self, id: u32) -> Option<Walk<'_>> {
        let surveyed = self.files.get(&id)?;
        Some(Walk::new(&*surveyed.file, id, self.control.salt(id), surveyed.limit))
    }

    /// Goes from group to group up to the end. Everything before `durable` was durable once.
    fn follow(&self, durable: Lsn) -> Result<Chain, LogError> {
        let start = Lsn::new(self.control.oldest_needed.segment(), 0);
        let start = self.control.skip_void(start);
        let mut chain = Chain {
            oldest: start,
            end: start,
            next_number: 0,
            damage: Vec::new(),
            discarded_bytes: 0,
            ends: BTreeMap::new(),
        };
        for (index, group) in self.groups.iter().enumerate() {
            if !self.take(&mut chain, group, durable, index == 0)? {
                let rest = self.groups[index..].iter().map(|group| u64::from(group.length));
                chain.discarded_bytes = rest.sum();
                return Ok(chain);
            }
        }
        self.close(&mut chain, durable)?;
        Ok(chain)
    }

    /// Ends the chain behind the last group found. What was durable behind it is lost.
    fn close(&self, chain: &mut Chain, durable: Lsn) -> Result<(), LogError> {
        if self.control.skip_void(chain.end) < durable {
            let lost = self.lost_range(chain.end, durable);
            let dbiids = self.name_databases(&lost, None)?;
            chain.end = lost.end;
            chain.next_number += 1;
            chain.damage.push(Damage { range: lost, dbiids });
        }
        Ok(())
    }

    /// Takes the next group found into the chain; false when the log ends before it.
    fn take(
        &self,
        chain: &mut Chain,
        group: &GroupHeader,
        durable: Lsn,
        is_first: bool,
    ) -> Result<bool, LogError> {
        let follows = match is_first {
            true => group.previous_end <= chain.end,
            false => group.number == chain.next_number,
        };
        if !follows {
            if self.control.skip_void(chain.end) >= durable {
                return Ok(false);
            }
            let is_counted = !is_first && group.previous_end <= durable;
            let groups = is_counted.then(|| group.number.wrapping_sub(chain.next_number));
            let lost = self.lost_range(chain.end, group.previous_end.min(durable));
            let dbiids = self.name_databases(&lost, groups)?;
            chain.damage.push(Damage { range: lost, dbiids });
            if group.previous_end > durable {
                chain.end = durable;
                chain.next_number += 1;
                return Ok(false);
            }
        }
        let mut walk = self.walk(group.segment).ok_or(LogError::NotInLog { lsn: group.start() })?;
        let failed = |source| LogError::Read { lsn: group.start(), source };
        if group.end() > durable {
            if !walk.is_whole(group).map_err(failed)? {
                return Ok(false);
            }
        } else if let Err(lsn) = walk.check_headers(group).map_err(failed)? {
            let dbiids = is_head(&mut walk, group).map_err(failed)?.then(Vec::new);
            chain.damage.push(Damage { range: lsn..group.end(), dbiids });
        }
        chain.end = group.end();
        chain.next_number = group.number + 1;
        chain.ends.insert(group.segment, group.end().offset());
        Ok(true)
    }

    /// A lost stretch without the voids at its borders.
    fn lost_range(&self, from: Lsn, to: Lsn) -> Range<Lsn> {
        let from = self.control.skip_void(from);
        let cut = self.control.voids.iter().find(|void| from <= void.from && to <= void.to);
        let to = cut.map_or(to, |void| void.from.min(to));
        from..to.max(from)
    }

    /// The databases named in a lost stretch, when the headers of all its records are valid;
    /// `groups` is the number of groups in it, if known.
    fn name_databases(
        &self,
        lost: &Range<Lsn>,
        groups: Option<u64>,
    ) -> Result<Option<Vec<Dbiid>>, LogError> {
        let id = lost.end.segment();
        let Some(mut walk) = self.walk(id) else { return Ok(None) };
        let starts_here = lost.start.segment() == id;
        if !starts_here && groups.is_none() {
            return Ok(None);
        }
        let mut start = if starts_here { align(u64::from(lost.start.offset())) } else { 0 };
        let mut dbiids = Vec::new();
        let mut count = 0;
        let mut end = lost.start;
        while end != lost.end {
            let Ok(first) = u32::try_from(start + GROUP_HEADER_BYTES as u64) else {
                return Ok(None);
            };
            let first = Lsn::new(id, first);
            end = name_group(&mut walk, first, lost.end, &mut dbiids)?;
            if end == first {
                return Ok(None);
            }
            start = align(u64::from(end.offset()));
            count += 1;
        }
        dbiids.sort_unstable_by_key(|dbiid| dbiid.0);
        dbiids.dedup();
        Ok(groups.is_none_or(|groups| groups == count).then_some(dbiids))
    }

    /// Syncs what may only be in the system's memory: after a crash of the process alone, the last
    /// groups can be read although no sync has covered them.
    fn sync_tail(&self, disk: &dyn Disk, durable: Lsn, end: Lsn) -> Result<(), LogError> {
        for (id, surveyed) in self.files.range(durable.segment()..) {
            if *id <= end.segment() {
                let path = self.dir.join(segment_file_name(*id));
                surveyed.file.sync_data().map_err(LogError::disk("sync", path))?;
            }
        }
        disk.sync_dir(self.dir).map_err(LogError::disk("sync", self.dir))
    }

    fn finish(self, chain: Chain) -> Recovered {
        let oldest_needed = self.control.oldest_needed.segment();
        let mut segments = BTreeMap::new();
        let mut dead = Vec::new();
        for (id, surveyed) in self.files {
            let awaits_release = id < oldest_needed;
            let is_dead = surveyed.limit == 0 || Lsn::new(id, 0) >= chain.end;
            if is_dead && !awaits_release {
                dead.push(id);
                continue;
            }
            let end = chain.ends.get(&id).copied();
            let end = if awaits_release { None } else { Some(end.unwrap_or(0)) };
            segments.insert(id, Segment { bytes: surveyed.bytes, end, file: Some(surveyed.file) });
        }
        Recovered {
            oldest: chain.oldest,
            end: chain.end,
            next_number: chain.next_number,
            damage: chain.damage,
            discarded_bytes: chain.discarded_bytes,
            segments,
            dead,
        }
    }
}

/// Is this the group of the record that heads a segment? Then the next one begins with a copy.
fn is_head(walk: &mut Walk<'_>, group: &GroupHeader) -> io::Result<bool> {
    if group.start().offset() != 0 || group.records != 1 {
        return Ok(false);
    }
    let Some(next) = walk.find_group(u64::from(group.end().offset()))? else { return Ok(false) };
    let copy = walk.record_at(next.first, next.end())?;
    Ok(copy.is_some_and(|(head, _)| head.kind == RecordKind::Checkpoint))
}

/// Notes the databases of the records from `first` on; gives the end of the last valid one.
fn name_group(
    walk: &mut Walk<'_>,
    first: Lsn,
    end: Lsn,
    dbiids: &mut Vec<Dbiid>,
) -> Result<Lsn, LogError> {
    let mut lsn = first;
    loop {
        let record = walk.record_at(lsn, end).map_err(|source| LogError::Read { lsn, source })?;
        let Some((head, _)) = record else { return Ok(lsn) };
        // The others change no database.
        if matches!(head.kind, RecordKind::Change | RecordKind::Life) {
            dbiids.push(head.dbiid);
        }
        lsn = head.end;
    }
}
