//! The log: what other crates call.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use note::Dbiid;

use crate::archive::Archiving;
use crate::company::Company;
use crate::control::Control;
use crate::record::{Draft, RECORD_HEADER_BYTES, decode_head, read_known, read_record};
use crate::recover::{Recovered, recover};
use crate::segments::{Listing, Spare, next_spare_number};
use crate::shared::{Parts, Shared};
use crate::state::{SPARES_MAX, State};
use crate::sync::Mutex;
use crate::sync::thread::{self, JoinHandle};
use crate::waiters::Durable;
use crate::writer::IDS_AHEAD;
use crate::{
    AppendError, ArchiveReport, ArchiveStatus, Clock, Disk, DiskFile, Head, LogError, LogOptions,
    LogStatus, Lsn, Opened, Payload, RecordKind, Released, Space, Style,
};

/// The transaction log.
///
/// One thread of its own writes and syncs, in the archive style another one copies segments;
/// everything else happens in the caller's.
pub struct Log {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Log {
    /// Opens the log in `options.dir`, or makes a new one.
    ///
    /// Finds the end: a missing or bad group is *damage* when a later group says that its place was
    /// durable, else the log ends before it. What was found is made durable, and the log goes on in
    /// a new segment.
    pub fn open(
        options: LogOptions,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
    ) -> Result<(Arc<Log>, Opened), LogError> {
        options.check()?;
        let dir = options.dir.clone();
        disk.create_dir_all(&dir).map_err(LogError::disk("create", &dir))?;
        let listing = Listing::load(&*disk, &dir)?;
        let mut control = load_control(&*disk, &options, &listing)?;
        let recovered = recover(&*disk, &dir, &control, &listing.segments)?;
        let mut spares = listing.spares(&*disk, &dir, u64::from(options.segment_bytes))?;
        let first = control.next_segment;
        control.next_segment = first.saturating_add(IDS_AHEAD);
        control.durable = Lsn::new(first, 0);
        control.add_void(recovered.end, control.durable);
        save_control(&*disk, &options, &mut control, &mut spares)?;
        bury(&*disk, &options, &recovered.dead, &mut spares)?;
        let opened = Opened {
            oldest: recovered.oldest,
            end: recovered.end,
            damage: recovered.damage.clone(),
            discarded_bytes: recovered.discarded_bytes,
        };
        let mut state = start_state(&control, first, recovered, spares);
        state.company = Company::new(&options);
        let damage = opened.damage.clone();
        let oldest = opened.oldest;
        let parts = Parts { options, disk, clock, control, state, damage, oldest };
        let shared = Arc::new(Shared::new(parts));
        let log = Arc::new(Log { shared, threads: Mutex::new(Vec::new()) });
        log.start("txlog", crate::writer::run)?;
        if log.shared.options.style == Style::Archive {
            log.start("txlog archive", crate::archive::run)?;
        }
        Ok((log, opened))
    }

    fn start(&self, name: &str, run: fn(Arc<Shared>)) -> Result<(), LogError> {
        let shared = Arc::clone(&self.shared);
        let started = thread::Builder::new().name(name.to_owned()).spawn(move || run(shared));
        let failed = LogError::disk("start a thread of", &self.shared.options.dir);
        self.threads.lock().push(started.map_err(failed)?);
        Ok(())
    }

    /// Sets what makes the payload of the checkpoint record that begins each segment.
    ///
    /// Called with the append lock held: it must not call the log.
    pub fn set_segment_head(&self, make: Box<dyn Fn() -> Vec<u8> + Send + Sync>) {
        self.shared.state.lock().segment_head = Some(make.into());
    }

    /// Visits the records from `from` on that are durable now, in order.
    ///
    /// Begins where the log begins when `from` is older (compare [`Opened::oldest`]). Stretches
    /// reported in [`Opened::damage`] are passed over; others are [`LogError::DamagedRange`].
    pub fn scan(
        &self,
        from: Lsn,
        visit: &mut dyn FnMut(&Head, &mut dyn Payload) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        crate::scan::scan(&self.shared, from, visit)
    }

    /// Visits the records of one segment as far as they can be read, in order: of `file`, one that
    /// has left the log, or of the log's own. Tells how many stretches could not be read. For those
    /// who rebuild what they knew.
    ///
    /// # Errors
    /// The file cannot be opened or read at all.
    pub fn scan_segment(
        &self,
        segment: u32,
        file: Option<&dyn DiskFile>,
        visit: &mut dyn FnMut(&Head, &mut dyn Payload),
    ) -> Result<u64, LogError> {
        crate::scan::scan_segment(&self.shared, segment, file, visit)
    }

    /// Ids of the segments in the log, ascending; those that await their release among them.
    pub fn segments(&self) -> Vec<u32> {
        self.shared.state.lock().segments.keys().copied().collect()
    }

    /// Appends a record. Waits for the disk only when too much is pending already, or when the
    /// next segment has to be made.
    pub fn append(
        &self,
        kind: RecordKind,
        dbiid: Dbiid,
        payload: &[u8],
        space: Space,
    ) -> Result<Head, AppendError> {
        self.shared.rules.check_length(payload)?;
        self.shared.append(&Draft::new(kind, dbiid, payload), space)
    }

    /// The longest payload that a record may have, in bytes.
    pub fn payload_bytes_max(&self) -> u64 {
        self.shared.rules.payload_max
    }

    /// Behind the last appended record; after an open, where the log goes on.
    pub fn appended(&self) -> Lsn {
        self.shared.state.lock().appended
    }

    /// Everything before this position is durable.
    pub fn durable_lsn(&self) -> Lsn {
        self.shared.durable()
    }

    /// Waits until everything before `lsn` is durable; see [`Durable`].
    pub fn durable(&self, lsn: Lsn) -> Durable {
        Durable::new(Arc::clone(&self.shared), lsn)
    }

    /// Reads one record, from memory while it is on its way to the disk.
    pub fn read(&self, lsn: Lsn) -> Result<(Head, Vec<u8>), LogError> {
        let mut payload = Vec::new();
        if let Some(head) = self.read_pending(lsn, &mut payload)? {
            payload.drain(..RECORD_HEADER_BYTES);
            return Ok((head, payload));
        }
        let file = self.shared.file(lsn)?;
        let read = read_record(&*file, lsn.segment(), lsn.offset(), &mut payload);
        Ok((self.or_gone(read)?, payload))
    }

    /// Reads one record whose payload is known to have `length` bytes, as [`read_known`] does.
    ///
    /// # Errors
    /// Also [`LogError::NotInLog`] when the log holds no record of that position any more.
    pub fn read_known(
        &self,
        lsn: Lsn,
        length: u32,
        record: &mut Vec<u8>,
    ) -> Result<Head, LogError> {
        let Some(head) = self.read_pending(lsn, record)? else {
            let file = self.shared.file(lsn)?;
            return self.or_gone(read_known(&*file, lsn, length, record));
        };
        if head.length == length { Ok(head) } else { Err(LogError::Damaged { lsn }) }
    }

    /// A segment that left while it was read is no damage.
    fn or_gone(&self, read: Result<Head, LogError>) -> Result<Head, LogError> {
        match read {
            Err(LogError::Damaged { lsn }) if !Log::holds(&self.shared.state.lock(), lsn) => {
                Err(LogError::NotInLog { lsn })
            }
            other => other,
        }
    }

    /// Is there a record of this position in the log?
    fn holds(state: &State, lsn: Lsn) -> bool {
        let segment = state.segments.get(&lsn.segment());
        let is_before_end =
            segment.is_some_and(|segment| segment.end.is_none_or(|end| lsn.offset() < end));
        is_before_end && lsn < state.appended
    }

    /// The bytes of a record that is on its way to the disk, in place of those in `record`.
    fn read_pending(&self, lsn: Lsn, record: &mut Vec<u8>) -> Result<Option<Head>, LogError> {
        let state = self.shared.state.lock();
        if !Log::holds(&state, lsn) {
            return Err(LogError::NotInLog { lsn });
        }
        let Some(bytes) = state.find_pending(lsn) else { return Ok(None) };
        let (head, _) = decode_head(bytes, lsn).ok_or(LogError::NotInLog { lsn })?;
        let Some(bytes) = bytes.get(..RECORD_HEADER_BYTES + head.length as usize) else {
            return Ok(None);
        };
        record.clear();
        record.extend_from_slice(bytes);
        Ok(Some(head))
    }

    /// Gives up the segments before the one that holds `oldest_needed` (which is taken as no more
    /// than what is durable, and in the archive style as no more than what is archived). Tells
    /// which have left, also when it was stopped half-way.
    ///
    /// `keep` names the path a segment moves to, or `None` to use its space again. The control
    /// file says first that they are not needed; at the end the directories are synced. Segments
    /// that a crash has kept from leaving are offered again.
    pub fn give_up(&self, oldest_needed: Lsn, keep: &dyn Fn(u32) -> Option<PathBuf>) -> Released {
        crate::release::give_up(&self.shared, oldest_needed, keep)
    }

    /// As [`Log::give_up`], for those who only ask which segments have left.
    ///
    /// # Errors
    /// What kept a segment from leaving; others may have left before.
    pub fn release(
        &self,
        oldest_needed: Lsn,
        keep: &dyn Fn(u32) -> Option<PathBuf>,
    ) -> Result<Vec<u32>, LogError> {
        let released = self.give_up(oldest_needed, keep);
        let segments = released.segments();
        released.trouble.map_or(Ok(segments), Err)
    }

    /// Copies to the archive what is whole and not there yet. The log does so by itself; this is
    /// for those who want it done now, and to hear what went wrong.
    ///
    /// # Errors
    /// `Options` when the log has another style; what kept a segment from being copied.
    pub fn archive(&self) -> Result<ArchiveReport, LogError> {
        crate::archive::archive(&self.shared)
    }

    /// Figures of the log.
    pub fn status(&self) -> LogStatus {
        let state = self.shared.state.lock();
        LogStatus {
            style: self.shared.options.style,
            segments: state.segments.len() as u64,
            bytes: state.segment_bytes(),
            spare_bytes: state.spares.len() as u64 * self.shared.rules.segment_bytes,
            durable_lsn: state.durable,
            appended_lsn: state.appended,
            oldest_needed_lsn: state.oldest_needed,
            groups: state.tally.groups,
            syncs: state.tally.syncs,
            bytes_written: state.tally.bytes_written,
            records: state.tally.records,
            waiters: state.waiters.len() as u64,
            full: state.full,
            archive: self.archive_status(&state),
            stopped: state.failed.clone(),
        }
    }

    fn archive_status(&self, state: &State) -> Option<ArchiveStatus> {
        let archiving = &state.archiving;
        (self.shared.options.style == Style::Archive).then(|| ArchiveStatus {
            archived: archiving.segments,
            bytes: archiving.bytes,
            waiting: Archiving::waiting(state),
            damaged: archiving.damaged,
            trouble: archiving.trouble.clone(),
        })
    }

    /// Writes and syncs what is appended, then ends the log's threads. Later appends are refused.
    pub fn stop(&self) {
        self.shared.state.lock().stopping = true;
        self.shared.work.notify_all();
        self.shared.room.notify_all();
        self.shared.sealed.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for one in threads {
            if one.thread().id() != thread::current().id() && one.join().is_err() {
                tracing::error!("a thread of the log has panicked");
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.stop();
    }
}

fn load_control(
    disk: &dyn Disk,
    options: &LogOptions,
    listing: &Listing,
) -> Result<Control, LogError> {
    let dir = &options.dir;
    match Control::load(disk, dir)? {
        Some(control) => {
            let is_too_old = listing.segments.last().is_some_and(|id| *id >= control.next_segment);
            if is_too_old {
                return Err(LogError::ControlDamaged { path: dir.join("CONTROL.TXN") });
            }
            Ok(control)
        }
        None if !listing.segments.is_empty() => Err(LogError::ControlMissing { dir: dir.clone() }),
        None => Ok(Control::new(crate::salt::random(), crate::salt::random())),
    }
}

/// Writes the control file; on a full disk a spare makes way for it.
fn save_control(
    disk: &dyn Disk,
    options: &LogOptions,
    control: &mut Control,
    spares: &mut Vec<Spare>,
) -> Result<(), LogError> {
    let Err(failure) = control.save(disk, &options.dir) else { return Ok(()) };
    let spare = if failure.may_retry { spares.pop() } else { None };
    let Some(spare) = spare else { return Err(failure.into()) };
    let path = spare.path(&options.dir);
    disk.remove(&path).map_err(LogError::disk("remove", path))?;
    drop(spare);
    Ok(control.save(disk, &options.dir)?)
}

/// Makes spares of segments that hold nothing of the log.
fn bury(
    disk: &dyn Disk,
    options: &LogOptions,
    dead: &[u32],
    spares: &mut Vec<Spare>,
) -> Result<(), LogError> {
    for id in dead {
        let path = options.dir.join(crate::segment_file_name(*id));
        let file = disk.open(&path).map_err(LogError::disk("open", &path))?;
        let bytes = file.len().map_err(LogError::disk("look at", &path))?;
        if bytes != u64::from(options.segment_bytes) || spares.len() >= SPARES_MAX {
            disk.remove(&path).map_err(LogError::disk("remove", path))?;
            continue;
        }
        let spare = Spare { number: next_spare_number(spares), file };
        let to = spare.path(&options.dir);
        disk.rename(&path, &to).map_err(LogError::disk("rename", path))?;
        spares.push(spare);
    }
    Ok(())
}

fn start_state(control: &Control, first: u32, found: Recovered, spares: Vec<Spare>) -> State {
    let mut state = State::new(first..control.next_segment, found.next_number, found.segments);
    state.set_spares(spares);
    state.oldest_needed = control.oldest_needed;
    state
}

#[cfg(all(test, feature = "schedules"))]
mod schedules;
#[cfg(all(test, not(feature = "schedules")))]
mod tests;
