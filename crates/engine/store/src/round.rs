//! Checkpoint rounds: committing databases, one sync for all of them, releasing the log.

use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

use note::{Dbiid, TimeDate};
use txlog::{AppendError, LogStatus, Lsn, RecordKind, Space, Style};

use crate::database::{Shared, State};
use crate::handle::{Handle, wal_path};
use crate::register::{Extent, Row, encode_rows};
use crate::room::is_full;
use crate::{Database, Result, Store, StoreError};

/// How often a round tries to find a busy database durable before it waits with its lock held.
const TRIES: usize = 3;
/// Databases in a trickled round, at least; an eighth of the dirty ones when that is more.
const TRICKLE_MIN: usize = 16;
/// Databases that are not due yet are checkpointed so many at a time, or one of 64 of all that are
/// dirty: what a round costs beside its databases is paid for all of them once.
const TOGETHER_MAX: usize = 64;
/// With fewer changed databases none is checkpointed before it is due.
const PACED_MIN: usize = 256;
/// A database is not checkpointed before this share of its time has passed, in percent.
const PACED_AFTER_PERCENT: u64 = 20;
/// How many databases are checkpointed in their time, in percent of those that changed: all, with
/// some to spare.
const PACED_PERCENT: u64 = 125;
/// Long -wal files wait for each other until so many are, or one of 256 of all databases.
const LONG_TOGETHER_MAX: usize = 32;
/// Bytes of log that may stand between the catalog of objects and its end: behind the catalog a
/// start has to decode every change record.
const CATALOG_LAG_MAX: u64 = 256 << 20;
/// A -wal of this length is worth writing back when the database is no longer than that.
const WAL_BYTES_MIN: u64 = 1 << 20;

/// What the rounds remember.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// Why no round is possible any more.
    failed: Option<String>,
    /// Behind the last record of the last round: when the log ends here nothing has happened.
    settled: Lsn,
    /// When the object store was checkpointed last, in microseconds.
    catalog_time: i64,
    /// Databases with a long -wal that is to be written back.
    long: Vec<Database>,
    /// When databases that are not due yet were checkpointed last.
    paced: Moment,
}

/// A moment, by clock and by log.
#[derive(Debug, Clone, Copy)]
struct Moment {
    time: i64,
    log: Lsn,
}

/// How far the bounds are that make a database due.
struct Bounds {
    now: Moment,
    age_max: i64,
    lag_max: u64,
    records_max: usize,
    full: bool,
}

impl Rounds {
    /// At the start of the store.
    pub fn new(now: TimeDate) -> Rounds {
        let paced = Moment { time: now.0, log: Lsn::ZERO };
        let (settled, catalog_time, long) = (Lsn::ZERO, now.0, Vec::new());
        Rounds { failed: None, settled, catalog_time, long, paced }
    }
}

/// Which databases a round is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// Those that hold the log back too far or too long.
    Now,
    /// All that are dirty.
    All,
}

impl Store {
    /// Commits and syncs all changed databases and the catalog of objects, and releases the log.
    ///
    /// # Errors
    /// Trouble of log and file systems. A database that cannot be committed is left for later.
    pub fn checkpoint_round(&self) -> Result<()> {
        let mut rounds = self.rounds.lock();
        let due = self.due(Due::All, &mut rounds);
        self.round(&mut rounds, &due, true)
    }

    /// Does what is due; called every second. Cheap when nothing is.
    ///
    /// # Errors
    /// As [`Store::checkpoint_round`].
    pub fn tick(&self) -> Result<()> {
        self.look_for_room();
        let mut rounds = self.rounds.lock();
        let due = self.due(Due::Now, &mut rounds);
        let catalog = self.is_catalog_due(&rounds);
        if catalog || !due.is_empty() {
            self.round(&mut rounds, &due, catalog)?;
        }
        drop(rounds);
        self.trim_cache();
        self.ease_idle();
        if let Err(error) = self.objects.tend() {
            tracing::warn!(%error, "care of the object store did not end well");
        }
        Ok(())
    }

    /// Checkpoints everything, writes all -wal files back and cuts them, releases the log.
    ///
    /// # Errors
    /// As [`Store::checkpoint_round`].
    pub fn flush(&self) -> Result<()> {
        let mut rounds = self.rounds.lock();
        let due = self.due(Due::All, &mut rounds);
        self.round(&mut rounds, &due, true)?;
        let with_wal: Vec<Database> =
            self.all().into_iter().filter(|database| self.wal_bytes(database) > 0).collect();
        self.write_back(&mut rounds, &with_wal)?;
        rounds.long.clear();
        self.objects.truncate_wal()?;
        self.sync(&mut rounds)
    }

    /// Checkpoints everything, closes all files, stops the log. Does nothing the second time.
    ///
    /// # Errors
    /// As [`Store::checkpoint_round`]; the log is stopped all the same.
    pub fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let result = self.checkpoint_round();
        for database in self.all() {
            let mut state = database.0.state.lock();
            self.drop_handle(&database.0, &mut state);
            state.gone = true;
        }
        self.log.stop();
        result
    }

    /// Distance in bytes of log between two positions.
    pub(crate) fn lag(&self, from: Lsn, to: Lsn) -> u64 {
        let segments = u64::from(to.segment().saturating_sub(from.segment()));
        let segment_bytes = u64::from(self.options.log.segment_bytes);
        (segments * segment_bytes + u64::from(to.offset())).saturating_sub(u64::from(from.offset()))
    }

    /// Bytes of log that may stand between a database and its last record: a quarter less than may
    /// have to be replayed, since rounds take their time.
    fn lag_max(&self) -> u64 {
        let redo = match self.options.log.style {
            Style::Circular | Style::Archive => {
                self.options.redo_bytes_max.min(self.options.log.bytes_max / 2)
            }
            Style::Linear => self.options.redo_bytes_max,
        };
        redo - redo / 4
    }

    /// Databases that are due, the oldest first.
    fn due(&self, which: Due, rounds: &mut Rounds) -> Vec<Database> {
        let mut dirty: Vec<(Lsn, Database)> = self
            .all()
            .into_iter()
            .filter_map(|database| Some((database.0.needed()?, database)))
            .collect();
        dirty.sort_by_key(|(needed, _)| *needed);
        if which == Due::Now {
            self.keep_due(&mut dirty, &mut rounds.paced);
        }
        dirty.into_iter().map(|(_, database)| database).collect()
    }

    /// Leaves those of the dirty databases that are due now, or whose turn it is. `dirty` begins
    /// with the oldest.
    fn keep_due(&self, dirty: &mut Vec<(Lsn, Database)>, paced: &mut Moment) {
        let bounds = self.bounds();
        let turn = self.turn_of(dirty.len(), &bounds, paced);
        let most = TRICKLE_MIN.max(dirty.len() / 8).max(turn);
        let far = dirty.first().map_or(0, |(needed, _)| self.lag(*needed, bounds.now.log));
        let mut place = 0;
        dirty.retain(|(needed, database)| {
            let percent = self.percent_of(*needed, database, &bounds);
            place += 1;
            percent >= 100 || (place <= turn && percent >= PACED_AFTER_PERCENT)
        });
        if far <= bounds.lag_max + bounds.lag_max / 4 && !bounds.full {
            dirty.truncate(most);
        }
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            now: Moment { time: self.now().0, log: self.log.appended() },
            age_max: self.age_max().max(1),
            lag_max: self.lag_max().max(1),
            records_max: self.options.redo_records_max,
            full: self.log.status().full,
        }
    }

    /// How much of the time until a database is due has passed, in percent: by age, by the length
    /// of the log, or by the number of its changes.
    fn percent_of(&self, needed: Lsn, database: &Database, bounds: &Bounds) -> u64 {
        if bounds.full || database.0.unsaved.load(Ordering::Relaxed) > bounds.records_max {
            return 100;
        }
        let since = Moment { time: database.0.dirty_since(), log: needed };
        self.share_passed(since, bounds, 100)
    }

    /// What part of the bounds has passed since a moment, times `whole`.
    fn share_passed(&self, since: Moment, bounds: &Bounds, whole: u64) -> u64 {
        let part = |passed: u64, max: u64| {
            u64::try_from(u128::from(passed) * u128::from(whole) / u128::from(max))
                .unwrap_or(u64::MAX)
        };
        let age = u64::try_from(bounds.now.time.saturating_sub(since.time)).unwrap_or(0);
        let lag = self.lag(since.log, bounds.now.log);
        part(age, bounds.age_max.unsigned_abs()).max(part(lag, bounds.lag_max + 1))
    }

    /// How many databases are checkpointed now although they are not due: so many that all of them
    /// are within their time, a few together, and never thousands at once.
    fn turn_of(&self, dirty: usize, bounds: &Bounds, paced: &mut Moment) -> usize {
        if dirty < PACED_MIN {
            *paced = bounds.now;
            return 0;
        }
        let whole = dirty as u64 * PACED_PERCENT / 100;
        let turn = self.share_passed(*paced, bounds, whole);
        let together = (dirty / 64).min(TOGETHER_MAX);
        let turn = usize::try_from(turn).unwrap_or(usize::MAX).min(2 * TOGETHER_MAX);
        if turn < together {
            return 0;
        }
        *paced = bounds.now;
        turn
    }

    fn age_max(&self) -> i64 {
        i64::try_from(self.options.checkpoint_age_s)
            .unwrap_or(i64::MAX / 2)
            .saturating_mul(1_000_000)
    }

    fn is_catalog_due(&self, rounds: &Rounds) -> bool {
        if self.objects.wants_checkpoint() {
            return true;
        }
        let end = self.log.appended();
        if end == rounds.settled {
            return false;
        }
        let LogStatus { full, .. } = self.log.status();
        let lag_max = self.lag_max().min(CATALOG_LAG_MAX);
        full || self.lag(self.objects.checkpointed_lsn(), end) > lag_max
            || rounds.catalog_time <= self.now().0 - self.age_max()
    }

    fn round(&self, rounds: &mut Rounds, due: &[Database], catalog: bool) -> Result<()> {
        if let Some(reason) = &rounds.failed {
            return Err(StoreError::NotSynced { reason: reason.clone() });
        }
        self.wait_applied(due)?;
        let committed: Vec<(&Database, Lsn)> = due
            .iter()
            .filter_map(|database| {
                let lsn = self.commit_due(database);
                self.trim_cache();
                Some((database, lsn?))
            })
            .collect();
        let catalog = catalog && self.has_room_for_catalog();
        if committed.is_empty() && !catalog && self.is_disk_full() {
            return Ok(());
        }
        let catalog_lsn =
            if catalog { self.objects.checkpoint()? } else { self.objects.checkpointed_lsn() };
        self.sync(rounds)?;
        if catalog && let Err(error) = self.objects.synced(catalog_lsn) {
            tracing::warn!(%error, "segments of the object store that are not needed stay");
        }
        let rows: Vec<(Dbiid, Row)> =
            committed.iter().filter_map(|(database, lsn)| self.synced(database, *lsn)).collect();
        let pairs: Vec<(&Dbiid, &Row)> = rows.iter().map(|(dbiid, row)| (dbiid, row)).collect();
        let payload = encode_rows(Extent::Round, self.complete(), pairs.into_iter());
        match self.log.append(RecordKind::Checkpoint, Dbiid::NONE, &payload, Space::Reserved) {
            // The register at the head of a segment must be safe before older ones may go.
            Ok(head) if self.log.durable_lsn().offset() == 0 => {
                self.durable(head.end).wait()?;
            }
            Ok(_) => {}
            Err(stopped @ AppendError::Stopped { .. }) => return Err(stopped.into()),
            // The record only spares work at the next start; releasing the log makes room.
            Err(error) => tracing::warn!(%error, "round is not in the log"),
        }
        self.statistics.rounds.add(1);
        if catalog {
            rounds.catalog_time = self.now().0;
        }
        self.release(catalog_lsn)?;
        rounds.settled = self.log.appended();
        self.write_back_long(rounds, due)
    }

    /// Waits until the log is durable up to what the databases hold.
    fn wait_applied(&self, databases: &[Database]) -> Result<()> {
        let applied = databases.iter().map(|database| database.0.state.lock().applied).max();
        Ok(self.durable(applied.unwrap_or(Lsn::ZERO)).wait()?)
    }

    /// Commits one database; tells the LSN its file says now, if it does.
    pub(crate) fn commit_due(&self, database: &Database) -> Option<Lsn> {
        for attempt in 0..=TRIES {
            let mut state = database.0.state.lock();
            if state.gone || database.fenced().is_some() {
                return None;
            }
            if state.handle.as_ref().is_some_and(Handle::is_lost) {
                self.lost(&database.0, &mut state);
            }
            if state.is_behind() && self.open_file(database, &mut state).is_err() {
                return None;
            }
            let applied = state.applied;
            if applied <= self.log.durable_lsn() || attempt == TRIES {
                // Under the lock nothing is added, so this wait ends with one sync of the log.
                self.durable(applied).wait().ok()?;
                return self.commit(&database.0, &mut state).then_some(state.committed);
            }
            drop(state);
            self.durable(applied).wait().ok()?;
        }
        None
    }

    /// Commits a locked database whose applied LSN is durable; false when it could not.
    pub(crate) fn commit(&self, shared: &Shared, state: &mut State) -> bool {
        let Some(handle) = state.handle.as_mut() else {
            return !state.is_behind();
        };
        if handle.is_lost() {
            // A header written now would promise results that are gone.
            self.lost(shared, state);
            return false;
        }
        if !handle.in_transaction {
            return true;
        }
        if !self.has_room(handle) {
            return false;
        }
        match handle.commit() {
            Ok(()) => {
                state.committed = state.applied;
                self.note_memory(shared, Some(handle));
                self.statistics.commits.add(1);
                true
            }
            Err(error) => {
                if is_full(&error) {
                    self.commit_met_full();
                }
                tracing::warn!(path = %shared.path(), %error, "commit failed");
                self.lost(shared, state);
                false
            }
        }
    }

    /// One sync for everything that was written before. After a failure no round is possible.
    fn sync(&self, rounds: &mut Rounds) -> Result<()> {
        for file in &self.file_systems {
            self.statistics.syncs.add(1);
            if let Err(error) = sync_file_system(file) {
                rounds.failed = Some(error.to_string());
                return Err(StoreError::NotSynced { reason: error.to_string() });
            }
        }
        Ok(())
    }

    /// Syncs the file systems of databases and objects.
    pub(crate) fn sync_all(&self) -> Result<()> {
        self.sync(&mut self.rounds.lock())
    }

    /// After the sync: what the database no longer needs; its row for the checkpoint record.
    fn synced(&self, database: &Database, lsn: Lsn) -> Option<(Dbiid, Row)> {
        let shared = &database.0;
        let mut state = shared.state.lock();
        if state.gone || database.fenced().is_some() {
            return None;
        }
        state.checkpointed = lsn;
        state.forget_records(lsn);
        shared.unsaved.store(state.records.len(), Ordering::Relaxed);
        shared.set_needed(state.records.first().copied(), self.now().0);
        let title = database.title();
        let row = self.register.update(shared.dbiid, |row| {
            row.checkpointed_lsn = row.checkpointed_lsn.max(lsn);
            row.title = title;
        })?;
        Some((shared.dbiid, row))
    }

    /// Everything before this position is in the synced files of the databases it concerns.
    fn complete(&self) -> Lsn {
        // The end is asked first: who appends behind it has said before what he needs.
        let mut oldest = self.log.durable_lsn();
        oldest = oldest.min(Lsn(self.life_needed.load(Ordering::SeqCst)));
        for database in self.all() {
            oldest = oldest.min(database.0.needed().unwrap_or(oldest));
        }
        oldest
    }

    /// Lets go of the segments that nobody needs. `catalog_lsn` is synced.
    fn release(&self, catalog_lsn: Lsn) -> Result<()> {
        let durable = self.log.durable_lsn();
        if durable.offset() == 0 {
            // Right after a start: nothing of the segment that begins here is durable, its head
            // with the whole register neither.
            return Ok(());
        }
        let oldest = catalog_lsn.min(self.complete());
        if oldest.segment() == self.oldest_lsn().segment() {
            return Ok(());
        }
        let keep = |segment| {
            let is_live = self.objects.is_live_segment(segment);
            is_live.then(|| self.objects.adopted_path(segment))
        };
        let released = self.log.give_up(oldest, &keep);
        // Also when it stopped half-way the object store must know what it has got.
        released.adopted.iter().for_each(|segment| self.objects.adopted(*segment));
        self.oldest.fetch_max(released.oldest.0, Ordering::SeqCst);
        self.statistics.segments_adopted.add(released.adopted.len() as u64);
        self.statistics.segments_released.add(released.segments().len() as u64);
        released.trouble.map_or(Ok(()), |trouble| Err(trouble.into()))
    }

    /// Writes back the -wal files that have grown long, when they are enough to do so together.
    fn write_back_long(&self, rounds: &mut Rounds, committed: &[Database]) -> Result<()> {
        let mut is_pressing = false;
        for database in committed {
            let (bytes, max) = (self.wal_bytes(database), self.wal_bytes_max(database));
            if bytes > max {
                is_pressing |= bytes > 2 * max;
                let dbiid = database.dbiid();
                if rounds.long.iter().all(|known| known.dbiid() != dbiid) {
                    rounds.long.push(database.clone());
                }
            }
        }
        let enough = (self.databases.read().len() / 256).clamp(1, LONG_TOGETHER_MAX);
        if rounds.long.is_empty() || (!is_pressing && rounds.long.len() < enough) {
            return Ok(());
        }
        let long = std::mem::take(&mut rounds.long);
        self.write_back(rounds, &long)
    }

    /// The length of a -wal above which it is written back. A longer one makes the file dear to
    /// open, a shorter one is written back for few commits.
    fn wal_bytes_max(&self, database: &Database) -> u64 {
        let path = self.file_path(&database.0.path());
        let file_bytes = std::fs::metadata(path).map_or(0, |facts| facts.len());
        file_bytes.max(WAL_BYTES_MIN).min(self.options.wal_bytes_max)
    }

    fn wal_bytes(&self, database: &Database) -> u64 {
        let path = wal_path(&self.file_path(&database.0.path()));
        std::fs::metadata(path).map_or(0, |facts| facts.len())
    }

    /// Writes -wal files back into their databases and cuts them. Between the steps everything is
    /// synced, with the databases locked, so that a -wal is never cut before its pages are safe.
    fn write_back(&self, rounds: &mut Rounds, databases: &[Database]) -> Result<()> {
        for batch in databases.chunks(64) {
            let mut batch: Vec<&Database> = batch.iter().collect();
            batch.sort_by_key(|database| database.dbiid());
            self.write_back_batch(rounds, &batch)?;
        }
        Ok(())
    }

    fn write_back_batch(&self, rounds: &mut Rounds, databases: &[&Database]) -> Result<()> {
        let mut locked = Vec::new();
        for database in databases {
            if !self.has_room_to_write_back(self.wal_bytes(database)) {
                continue;
            }
            let Ok(mut state) = self.lock_open(database) else { continue };
            self.durable(state.applied).wait()?;
            if self.commit(&database.0, &mut state) {
                locked.push((*database, state));
            }
        }
        self.sync(rounds)?;
        for (_, state) in &mut locked {
            if let Some(handle) = &mut state.handle {
                handle.write_back()?;
            }
        }
        self.sync(rounds)?;
        for (_, state) in &mut locked {
            if let Some(handle) = &mut state.handle {
                handle.truncate()?;
                self.statistics.write_backs.add(1);
            }
        }
        Ok(())
    }
}

/// Writes everything of a file system to its device.
#[allow(unsafe_code)]
fn sync_file_system(file: &std::fs::File) -> std::io::Result<()> {
    // SAFETY: the descriptor is open for as long as `file` lives, and syncfs reads no memory.
    match unsafe { libc::syncfs(file.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
