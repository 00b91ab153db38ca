//! What the log's handles and its writer hold in common.

use std::path::PathBuf;
use std::sync::Arc;
use std::task::Waker;

use note::TimeDate;

use crate::control::{Control, SaveFailure};
use crate::record::Draft;
use crate::segments::segment_file_name;
use crate::state::{Attempt, Rules, State};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::{
    AppendError, Clock, Damage, Disk, DiskFile, Head, LogError, LogOptions, Lsn, Space, Style,
};

/// After a failed attempt to make a segment, appends are refused this long without another.
pub(crate) const RETRY_WAIT_MS: i64 = 250;
/// Segment files kept open.
const OPEN_FILES_MAX: usize = 80;

pub(crate) struct Shared {
    pub options: LogOptions,
    pub rules: Rules,
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub state: Mutex<State>,
    /// The writer waits here.
    pub work: Condvar,
    /// Appenders wait here.
    pub room: Condvar,
    /// Who archives waits here.
    pub sealed: Condvar,
    durable: AtomicU64,
    pub control: Mutex<Control>,
    /// Held while segments are released.
    pub releasing: Mutex<()>,
    /// Held while segments are copied to the archive.
    pub archiving: Mutex<()>,
    /// The salts follow from it.
    salts: Control,
    /// Damage found when the log was opened.
    pub damage: Vec<Damage>,
    /// Where the log begins.
    pub oldest: Lsn,
}

/// The parts of a log that is about to start.
pub(crate) struct Parts {
    pub options: LogOptions,
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub control: Control,
    pub state: State,
    pub damage: Vec<Damage>,
    pub oldest: Lsn,
}

impl Shared {
    pub fn new(parts: Parts) -> Shared {
        Shared {
            rules: Rules::new(&parts.options),
            options: parts.options,
            disk: parts.disk,
            clock: parts.clock,
            durable: AtomicU64::new(parts.state.durable.0),
            state: Mutex::new(parts.state),
            work: Condvar::new(),
            room: Condvar::new(),
            sealed: Condvar::new(),
            salts: parts.control.clone(),
            control: Mutex::new(parts.control),
            releasing: Mutex::new(()),
            archiving: Mutex::new(()),
            damage: parts.damage,
            oldest: parts.oldest,
        }
    }

    /// Everything before this position is durable.
    pub fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::Acquire))
    }

    /// Notes how far the log is durable, with the lock held.
    pub fn set_durable(&self, state: &mut State, durable: Lsn) {
        state.durable = durable;
        self.durable.store(durable.0, Ordering::Release);
    }

    /// The salt of a segment.
    pub fn salt(&self, segment: u32) -> u64 {
        self.salts.salt(segment)
    }

    /// Where this log is archived, if it is.
    pub fn archive_dir(&self) -> Option<PathBuf> {
        let dir = self.options.archive_dir.as_ref();
        let dir = dir.filter(|_| self.options.style == Style::Archive)?;
        Some(crate::archive::subdirectory(dir, self.salts.log_id))
    }

    pub fn segment_path(&self, segment: u32) -> PathBuf {
        self.options.dir.join(segment_file_name(segment))
    }

    /// Appends, waiting for room and segments where that helps.
    pub fn append(&self, draft: &Draft<'_>, space: Space) -> Result<Head, AppendError> {
        let mut state = self.state.lock();
        let mut asked = None;
        loop {
            match state.append(draft, space, &self.rules) {
                Ok(Attempt::Done(head)) => {
                    state.full &= space == Space::Reserved;
                    self.call_writer(&mut state);
                    return Ok(head);
                }
                Ok(Attempt::Pending) => state.hurry = true,
                Ok(Attempt::NeedsSegment) => {
                    let failures = *asked.get_or_insert(state.segment_failures);
                    self.check_segment_trouble(&mut state, failures)?;
                    state.segment_wanted = true;
                }
                Err(error) => return Err(error),
            }
            self.work.notify_one();
            self.room.wait(&mut state);
        }
    }

    /// Refuses when an attempt to make a segment failed since `failures` were counted, or shortly
    /// before.
    fn check_segment_trouble(&self, state: &mut State, failures: u64) -> Result<(), AppendError> {
        let Some(trouble) = &state.segment_trouble else { return Ok(()) };
        let retry_at = trouble.at.0.saturating_add(RETRY_WAIT_MS * 1000);
        let now = self.clock.now().0;
        let is_recent = (trouble.at.0..retry_at).contains(&now);
        if state.segment_failures > failures || is_recent {
            let error = trouble.error();
            state.full = true;
            return Err(error);
        }
        Ok(())
    }

    /// The writer has to set its timer at the first unsynced record, and has work when a group is
    /// closed or somebody waits already.
    fn call_writer(&self, state: &mut State) {
        let is_awaited = state.is_awaited() && !state.company.is_gathering;
        if std::mem::take(&mut state.is_fresh) || is_awaited || state.has_sealed() {
            self.work.notify_one();
        }
    }

    /// Stops everything: nothing more becomes durable.
    pub fn fail(&self, reason: String) {
        let mut wakers = Vec::new();
        let mut state = self.state.lock();
        if state.failed.is_none() {
            tracing::error!(reason, "the transaction log has stopped");
            state.failed = Some(reason);
        }
        self.finish(state, &mut wakers);
    }

    /// Wakes everybody, for what they wait for will not come.
    pub fn finish(&self, mut state: MutexGuard<'_, State>, wakers: &mut Vec<Waker>) {
        state.waiters.take_all(wakers);
        drop(state);
        self.room.notify_all();
        self.work.notify_all();
        self.sealed.notify_all();
        wakers.drain(..).for_each(Waker::wake);
    }

    /// Writes the control file; on a full disk a spare segment makes way for it.
    pub fn save_control(&self, control: &mut Control) -> Result<(), SaveFailure> {
        let dir = &self.options.dir;
        control.durable = self.durable();
        let Err(failure) = control.save(&*self.disk, dir) else { return Ok(()) };
        if !failure.may_retry {
            return Err(failure);
        }
        let Some(spare) = self.state.lock().spares.pop() else { return Err(failure) };
        if self.disk.remove(&spare.path(dir)).is_err() {
            return Err(failure);
        }
        drop(spare);
        control.save(&*self.disk, dir)
    }

    /// The file of a segment.
    pub fn file(&self, lsn: Lsn) -> Result<Arc<dyn DiskFile>, LogError> {
        let segment = lsn.segment();
        let known = self.state.lock().segments.get(&segment).map(|one| one.file.clone());
        if let Some(file) = known.ok_or(LogError::NotInLog { lsn })? {
            return Ok(file);
        }
        let path = self.segment_path(segment);
        let file = match self.disk.open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(LogError::NotInLog { lsn });
            }
            other => other.map_err(LogError::disk("open", path))?,
        };
        let mut state = self.state.lock();
        let open = state.segments.values().filter(|segment| segment.file.is_some()).count();
        if open < OPEN_FILES_MAX
            && let Some(entry) = state.segments.get_mut(&segment)
        {
            entry.file = Some(Arc::clone(&file));
        }
        Ok(file)
    }

    /// The time now.
    pub fn now(&self) -> TimeDate {
        self.clock.now()
    }
}
