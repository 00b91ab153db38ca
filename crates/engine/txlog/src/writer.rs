//! The thread that writes groups, syncs them, and provides segments.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::error::is_full;
use crate::segments::Spare;
use crate::shared::{RETRY_WAIT_MS, Shared};
use crate::state::{Group, Opening, State, Trouble};
use crate::sync::Instant;
use crate::{DiskFile, Lsn, Style};

/// Segment ids reserved at a time.
pub(crate) const IDS_AHEAD: u32 = 32;
/// More are reserved when fewer than this are left.
const IDS_LOW: usize = 8;

/// What the writer does next.
enum Task {
    Write { sync: bool },
    MakeSpare,
    ReserveIds,
    End,
}

/// When there is something to do.
enum Due {
    Now(Task),
    At(Instant),
    Later,
}

/// Why a group was not made durable.
enum WriteFailure {
    /// No space: tried again later.
    Full(io::Error),
    /// The log stops.
    Fatal(String),
}

impl WriteFailure {
    fn of(action: &str, error: io::Error) -> WriteFailure {
        if is_full(&error) {
            WriteFailure::Full(error)
        } else {
            WriteFailure::fatal(action, &error)
        }
    }

    fn fatal(action: &str, error: &io::Error) -> WriteFailure {
        WriteFailure::Fatal(format!("{action} failed: {error}"))
    }
}

/// Runs the writer until the log stops.
pub(crate) fn run(shared: Arc<Shared>) {
    let farewell = Farewell(Arc::clone(&shared));
    let mut writer = Writer {
        written: shared.durable(),
        shared,
        queue: VecDeque::new(),
        openings: VecDeque::new(),
        current: None,
        unsynced: Vec::new(),
        names_unsynced: false,
        wakers: Vec::new(),
    };
    loop {
        match writer.next_task() {
            Task::Write { sync } => writer.write(sync),
            Task::MakeSpare => writer.make_spare(),
            Task::ReserveIds => writer.reserve_ids(),
            Task::End => break,
        }
    }
    writer.sign_off();
    drop(farewell);
}

/// However the writer ends, nobody waits for it afterwards.
struct Farewell(Arc<Shared>);

impl Drop for Farewell {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail("the log's writer has panicked".to_owned());
        }
        let mut state = self.0.state.lock();
        state.ended = true;
        self.0.finish(state, &mut Vec::new());
    }
}

struct Writer {
    shared: Arc<Shared>,
    /// Groups to write.
    queue: VecDeque<Arc<Group>>,
    /// Segments to open, in the order of their groups.
    openings: VecDeque<Opening>,
    /// The segment last opened.
    current: Option<(u32, Arc<dyn DiskFile>)>,
    /// Files with writes that no sync has covered.
    unsynced: Vec<(u32, Arc<dyn DiskFile>)>,
    /// A segment got its name and the directory is not synced yet.
    names_unsynced: bool,
    /// Behind the last written record.
    written: Lsn,
    wakers: Vec<Waker>,
}

impl Writer {
    /// Waits for something to do. Takes the groups when that is to write.
    fn next_task(&mut self) -> Task {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state.lock();
        loop {
            match self.due(&mut state) {
                Due::Now(Task::Write { sync }) => {
                    self.take_groups(&mut state, sync);
                    return Task::Write { sync };
                }
                Due::Now(task) => return task,
                Due::At(instant) => {
                    shared.work.wait_until(&mut state, instant);
                    state.company.is_gathering = false;
                }
                Due::Later => shared.work.wait(&mut state),
            }
        }
    }

    fn take_groups(&mut self, state: &mut State, sync: bool) {
        let known = self.queue.len();
        let all = sync || state.hurry;
        state.take_groups(all, self.shared.now(), |segment| self.shared.salt(segment));
        self.queue.extend(state.writing.iter().skip(known).cloned());
        self.openings.append(&mut state.openings);
        state.hurry = false;
        if sync {
            state.unsynced_since = None;
            let waiting = state.waiters.len();
            state.company.leaves(waiting);
        }
    }

    fn due(&self, state: &mut State) -> Due {
        if state.failed.is_some() {
            return Due::Now(Task::End);
        }
        if state.stopping {
            return self.due_at_stop(state);
        }
        if let Some(task) = self.due_for_segments(state) {
            return Due::Now(task);
        }
        if let Some((_, retry_at)) = &state.write_trouble
            && Instant::now() < *retry_at
        {
            return Due::At(*retry_at);
        }
        let gathers_until = if state.is_awaited() {
            match state.company.open_until(state.waiters.len(), Instant::now()) {
                None => return Due::Now(Task::Write { sync: true }),
                until => until,
            }
        } else {
            None
        };
        if state.segment_trouble.is_none() && state.wants_spare(&self.shared.rules) {
            return Due::Now(Task::MakeSpare);
        }
        if let Due::Now(task) = self.due_lazily(state) {
            return Due::Now(task);
        }
        if state.hurry || state.has_sealed() || !self.queue.is_empty() {
            return Due::Now(Task::Write { sync: false });
        }
        match gathers_until {
            Some(instant) => {
                state.company.is_gathering = true;
                Due::At(instant)
            }
            None => self.due_lazily(state),
        }
    }

    /// Flushes, then ends; what a full disk does not take is given up.
    fn due_at_stop(&self, state: &mut State) -> Due {
        if state.appended > state.durable && state.write_trouble.is_none() {
            Due::Now(Task::Write { sync: true })
        } else {
            Due::Now(Task::End)
        }
    }

    fn due_for_segments(&self, state: &mut State) -> Option<Task> {
        let may_try = state.segment_trouble.is_none() || state.segment_wanted;
        if may_try && state.ids.len() < IDS_LOW {
            return Some(Task::ReserveIds);
        }
        if !std::mem::take(&mut state.segment_wanted) {
            return None;
        }
        if state.wants_spare(&self.shared.rules) {
            return Some(Task::MakeSpare);
        }
        // What was wanted has come by another way meanwhile.
        self.shared.room.notify_all();
        None
    }

    fn due_lazily(&self, state: &State) -> Due {
        let Some(since) = state.unsynced_since else { return Due::Later };
        let at = since + Duration::from_millis(self.shared.options.lazy_flush_ms);
        if at <= Instant::now() { Due::Now(Task::Write { sync: true }) } else { Due::At(at) }
    }

    /// Writes the queue and, if asked, makes everything written durable.
    fn write(&mut self, sync: bool) {
        let mut count = 0;
        let mut syncs = 0;
        let mut outcome = self.write_queue(&mut count);
        if outcome.is_ok() && sync {
            outcome = self.sync(&mut syncs);
        }
        match outcome {
            Ok(()) => self.report(count, syncs, sync, None),
            Err(WriteFailure::Full(error)) => self.report(count, syncs, false, Some(error)),
            Err(WriteFailure::Fatal(reason)) => self.shared.fail(reason),
        }
    }

    fn write_queue(&mut self, count: &mut usize) -> Result<(), WriteFailure> {
        while let Some(group) = self.queue.front() {
            let group = Arc::clone(group);
            let start = group.header.start();
            let file = self.segment_file(start.segment())?;
            file.write_at(&group.buffer, u64::from(start.offset()))
                .map_err(|error| WriteFailure::of("writing the log", error))?;
            if self.unsynced.last().is_none_or(|(segment, _)| *segment != start.segment()) {
                self.unsynced.push((start.segment(), file));
            }
            self.written = group.header.end();
            self.queue.pop_front();
            *count += 1;
        }
        Ok(())
    }

    /// The file of the segment a group belongs to; a spare gets its name now.
    fn segment_file(&mut self, segment: u32) -> Result<Arc<dyn DiskFile>, WriteFailure> {
        if let Some((current, file)) = &self.current
            && *current == segment
        {
            return Ok(Arc::clone(file));
        }
        let Some(opening) = self.openings.front().filter(|one| one.segment == segment) else {
            return Err(WriteFailure::Fatal(format!("segment {segment} was never opened")));
        };
        let from = opening.spare.path(&self.shared.options.dir);
        self.shared
            .disk
            .rename(&from, &self.shared.segment_path(segment))
            .map_err(|error| WriteFailure::of("naming a log segment", error))?;
        let file = Arc::clone(&opening.spare.file);
        self.openings.pop_front();
        self.names_unsynced = true;
        self.current = Some((segment, Arc::clone(&file)));
        Ok(file)
    }

    /// Makes everything written durable: names first, then the segments in order.
    fn sync(&mut self, syncs: &mut u64) -> Result<(), WriteFailure> {
        let failed = |error: io::Error| WriteFailure::fatal("syncing the log", &error);
        if self.names_unsynced {
            self.shared.disk.sync_dir(&self.shared.options.dir).map_err(failed)?;
            self.names_unsynced = false;
        }
        for (_, file) in &self.unsynced {
            file.sync_data().map_err(failed)?;
            *syncs += 1;
        }
        self.unsynced.clear();
        Ok(())
    }

    /// Tells what became of the groups, and wakes who waited for it.
    fn report(&mut self, count: usize, syncs: u64, synced: bool, full: Option<io::Error>) {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state.lock();
        let buffer_bytes_max = 2 * shared.options.group_bytes_max as usize;
        for _ in 0..count {
            state.forget_written(buffer_bytes_max);
        }
        state.tally.syncs += syncs;
        if synced {
            shared.set_durable(&mut state, self.written);
            state.waiters.take_ready(self.written, &mut self.wakers);
        } else if state.appended > state.durable {
            // A sync that did not come about stays due.
            state.unsynced_since.get_or_insert_with(Instant::now);
        }
        if full.is_some() != state.write_trouble.is_some() {
            tracing::warn!(trouble = ?full, "space for the transaction log");
            // What was refused for this reason alone is taken again.
            state.full = false;
        }
        state.write_trouble = full.map(|error| {
            let retry = Duration::from_millis(RETRY_WAIT_MS as u64);
            (Trouble::new(&error, shared.now()), Instant::now() + retry)
        });
        state.full |= state.write_trouble.is_some();
        drop(state);
        if count > 0 || synced {
            shared.room.notify_all();
        }
        if synced && shared.options.style == Style::Archive {
            shared.sealed.notify_one();
        }
        self.wakers.drain(..).for_each(Waker::wake);
    }

    /// After a stop in order the control file says how far the log is durable, so that damage to
    /// its last groups is told from its end.
    fn sign_off(&self) {
        let shared = &self.shared;
        if shared.state.lock().failed.is_some() {
            return;
        }
        let mut control = shared.control.lock();
        if control.durable == shared.durable() {
            return;
        }
        if let Err(failure) = shared.save_control(&mut control) {
            let (action, path) = (failure.action, failure.path.display());
            tracing::warn!(action, %path, error = %failure.source, "control file at the stop");
        }
    }

    /// Makes one spare segment.
    fn make_spare(&mut self) {
        let shared = &self.shared;
        let number = shared.state.lock().next_spare_number();
        let dir = &shared.options.dir;
        let made = Spare::create(&*shared.disk, dir, number, shared.rules.segment_bytes);
        let mut state = shared.state.lock();
        let mut surplus = None;
        match made {
            Ok(spare) => {
                state.segment_trouble = None;
                if state.wants_spare(&shared.rules) {
                    state.spares.push(spare);
                } else {
                    // A release has given enough of them meanwhile.
                    surplus = Some(spare.path(dir));
                }
            }
            Err(error) => self.note_segment_trouble(&mut state, &error),
        }
        drop(state);
        shared.room.notify_all();
        if let Some(path) = surplus
            && let Err(error) = shared.disk.remove(&path)
        {
            tracing::warn!(%error, path = %path.display(), "a surplus log segment stays");
        }
    }

    /// Reserves more segment ids in the control file.
    fn reserve_ids(&mut self) {
        let shared = &self.shared;
        let saved = {
            let mut control = shared.control.lock();
            let before = control.next_segment;
            control.next_segment = before.saturating_add(IDS_AHEAD);
            let saved = shared.save_control(&mut control);
            if saved.is_err() {
                control.next_segment = before;
            }
            saved.map(|()| control.next_segment)
        };
        match saved {
            Ok(end) => {
                let mut state = shared.state.lock();
                state.ids.end = end;
            }
            Err(failure) if failure.may_retry => {
                let mut state = shared.state.lock();
                state.segment_wanted = false;
                self.note_segment_trouble(&mut state, &failure.source);
            }
            Err(failure) => {
                let path = failure.path.display();
                shared.fail(format!("{} {path} failed: {}", failure.action, failure.source));
            }
        }
        shared.room.notify_all();
    }

    fn note_segment_trouble(&self, state: &mut State, error: &io::Error) {
        if state.segment_trouble.is_none() {
            tracing::warn!(%error, "cannot make a log segment");
        }
        state.segment_failures += 1;
        state.segment_trouble = Some(Trouble::new(error, self.shared.now()));
    }
}
