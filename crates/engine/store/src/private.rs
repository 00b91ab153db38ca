//! Private files beside a database: copies that are worked on without its lock.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use parking_lot::MutexGuard;
use rusqlite::Connection;
use txlog::Lsn;

use crate::database::State;
use crate::handle::{Handle, remove_files, wal_path};
use crate::progress::tell;
use crate::{Database, Progress, Result, Store, StoreError};

/// Ending of a copy that is only read.
pub(crate) const WORK: &str = "work";
/// Ending of a file that is being made.
pub(crate) const NEW: &str = "new";
/// Private files with these endings are removed at the next start.
pub(crate) const LEFTOVERS: [&str; 2] = [WORK, NEW];
/// How often a lock is given back to wait for the log, before the wait happens with it.
const TRIES: usize = 3;
/// Bytes copied between two looks at whether to go on.
const COPY_BYTES: u64 = 8 << 20;
/// What copying a file is called.
const COPYING: &str = "copying the file (locked)";
/// How often long work of SQLite is looked at.
const LOOK_WAIT: Duration = Duration::from_millis(100);

/// The path of a private file of a database.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// A private file, removed when it is dropped unless it was renamed.
pub(crate) struct Private(pub PathBuf);

impl Private {
    /// Names a private file; what an earlier attempt left is removed.
    pub fn new(path: &Path, ending: &str) -> Result<Private> {
        let path = beside(path, ending);
        remove_files(&path).map_err(|error| StoreError::io(&path, error))?;
        Ok(Private(path))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        if is_cut_off() {
            return;
        }
        if let Err(error) = remove_files(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "private file stays");
        }
    }
}

impl Store {
    /// Locks a database whose file says everything that was applied, with the log durable up to
    /// it. Nothing of it is synced.
    pub(crate) fn lock_committed<'a>(
        &self,
        database: &'a Database,
    ) -> Result<MutexGuard<'a, State>> {
        for _ in 0..TRIES {
            let applied = self.lock_open(database)?.applied;
            if applied <= self.log.durable_lsn() {
                break;
            }
            self.durable(applied).wait()?;
        }
        let mut state = self.lock_open(database)?;
        self.durable(state.applied).wait()?;
        if self.commit(&database.0, &mut state) {
            return Ok(state);
        }
        Err(if self.is_disk_full() { StoreError::DiskFull } else { StoreError::Aborted })
    }

    /// Copies the file of a database as it is at its last change, which is given. From there on
    /// its records are kept until [`Store::keep_no_longer`].
    pub(crate) fn copy_kept(
        &self,
        database: &Database,
        to: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<Lsn> {
        let mut state = self.lock_committed(database)?;
        self.drop_handle(&database.0, &mut state);
        self.copy_files(&self.file_path(&database.0.path()), to, progress)?;
        state.kept_from = Some(state.applied);
        Ok(state.applied)
    }

    /// Copies a closed database file and its -wal, which is locked meanwhile.
    pub(crate) fn copy_files(
        &self,
        from: &Path,
        to: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        let wal = wal_path(from);
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |facts| facts.len());
        let total = length(from) + length(&wal);
        self.need_room(to, total)?;
        let mut done = 0;
        copy_file(from, to, &mut |more| {
            done += more;
            tell(progress, COPYING, done, total)
        })?;
        if wal.exists() {
            copy_file(&wal, &wal_path(to), &mut |more| {
                done += more;
                tell(progress, COPYING, done, total)
            })?;
        }
        Ok(())
    }

    pub(crate) fn keep_no_longer(&self, database: &Database) {
        database.0.state.lock().kept_from = None;
    }
}

fn copy_file(from: &Path, to: &Path, told: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
    let read = |error| StoreError::io(from, error);
    let write = |error| StoreError::io(to, error);
    let source = File::open(from).map_err(read)?;
    let mut target = File::create(to).map_err(write)?;
    target.set_permissions(source.metadata().map_err(read)?.permissions()).map_err(write)?;
    loop {
        let copied = std::io::copy(&mut (&source).take(COPY_BYTES), &mut target).map_err(write)?;
        if copied == 0 {
            return Ok(());
        }
        told(copied)?;
    }
}

/// Does something long with a private connection on a thread of its own, while `look` tells now
/// and then how far it is; when that wants to stop, SQLite is interrupted.
pub(crate) fn watched<T: Send>(
    conn: &mut Connection,
    look: &mut dyn FnMut() -> Result<()>,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send,
) -> Result<T> {
    look()?;
    let interrupt = conn.get_interrupt_handle();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(sender.send(work(conn))));
        loop {
            match receiver.recv_timeout(LOOK_WAIT) {
                Ok(done) => return Ok(done?),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(StoreError::Aborted),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if let Err(stopped) = look() {
                interrupt.interrupt();
                return Err(stopped);
            }
        }
    })
}

/// Makes a file whole by itself and synced, so that it can be renamed: everything is in the file,
/// and there is no -wal.
pub(crate) fn finish_file(mut handle: Handle, path: &Path) -> Result<()> {
    handle.commit()?;
    handle.settle()?;
    drop(handle);
    let failed = |error| StoreError::io(path, error);
    std::fs::File::open(path).and_then(|file| file.sync_all()).map_err(failed)?;
    match std::fs::remove_file(wal_path(path)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}

/// Whether a test lets the process end here: nothing is tidied up then.
pub(crate) fn is_cut_off() -> bool {
    #[cfg(test)]
    return steps::is_stopped();
    #[cfg(not(test))]
    false
}

/// A place at which a crash must do no harm.
#[cfg(test)]
pub(crate) fn step() -> Result<()> {
    if steps::pass() { Ok(()) } else { Err(StoreError::Aborted) }
}

/// A place at which a crash must do no harm.
#[cfg(not(test))]
pub(crate) fn step() -> Result<()> {
    Ok(())
}

/// Places at which tests let a process end.
#[cfg(test)]
pub(crate) mod steps {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// The process ends at the step after `count` steps; `None`: not at all.
    pub fn stop_after(count: Option<u32>) {
        LEFT.set(count);
    }

    pub fn is_stopped() -> bool {
        LEFT.get() == Some(0)
    }

    pub(super) fn pass() -> bool {
        LEFT.set(LEFT.get().map(|left| left.saturating_sub(1)));
        !is_stopped()
    }
}
