//! An open data directory: its store and its directory of people, with or without a server on top.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use directory::{Directory, DirectoryError};
use parking_lot::RwLock;
use store::{Recovery, Store, StoreError, StoreOptions};

use crate::descriptors::Descriptors;
use crate::layout::DataDir;
use crate::options;
use crate::process;
use crate::settings::{Effect, KEYS, Key, ROWS, Settings};

/// Least log that may have to be replayed: below it checkpoints would follow one another.
const REDO_BYTES_MIN: u64 = 16 << 20;

/// Least memory of all open databases: below it they would give back what they use again at once.
const BUFFER_POOL_MIN: u64 = 16 << 20;
/// Most memory of all open databases that they get without being told.
const BUFFER_POOL_MAX: u64 = 2 << 30;

/// A data directory that this process owns and has opened.
pub struct Site {
    /// Where it lies.
    pub dir: DataDir,
    /// The databases.
    pub store: Arc<Store>,
    /// The people.
    pub directory: Arc<Directory>,
    /// Whether a server serves it.
    pub(crate) is_served: AtomicBool,
    settings: RwLock<InForce>,
}

/// The settings in force, and those the file gives by now.
struct InForce {
    current: Arc<Settings>,
    given: Arc<Settings>,
}

/// What a change of the settings came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Names of the settings that have changed.
    pub live: Vec<&'static str>,
    /// Names of the settings that wait for a restart.
    pub waiting: Vec<&'static str>,
}

/// Why a data directory cannot be opened or closed.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The store is in trouble.
    #[error("the databases cannot be opened or closed")]
    Store(#[from] StoreError),
    /// The directory `names.nsf` is in trouble.
    #[error("the directory cannot be opened")]
    Directory(#[from] DirectoryError),
    /// The file of the directory is gone.
    #[error(
        "{0} is missing, and no server runs without its directory: put the file back, with the \
         one beside it that ends in -wal, or bring the whole data directory back from a backup"
    )]
    DirectoryGone(String),
    /// There are databases, and no log where the settings say; a new one would not fit them.
    #[error(
        "log.path = {log}: there is no transaction log, and the databases in {data} need theirs; \
         set log.path right, or bring the log back together with them"
    )]
    LogGone {
        /// Where the settings say it lies.
        log: String,
        /// Where the databases lie.
        data: String,
    },
}

/// Opens the store of a data directory that was set up before.
///
/// # Errors
/// The store cannot be opened, or [`SiteError::LogGone`], and nothing was made then.
pub(crate) fn open_store(
    dir: &DataDir,
    settings: &Settings,
) -> Result<(Arc<Store>, Recovery), SiteError> {
    let log = dir.resolve(settings.text(Key::LogPath));
    if is_empty(&log) && !is_empty(&dir.data()) {
        let (log, data) = (log.display().to_string(), dir.data().display().to_string());
        return Err(SiteError::LogGone { log, data });
    }
    Ok(Store::open(store_options(dir, settings))?)
}

/// Whether nothing is in a directory, or there is none.
fn is_empty(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// That a database is fenced, and what to do about it.
pub(crate) fn fenced(path: &str, reason: &str) -> String {
    let advice = match reason {
        NO_FILE => {
            "put the file back, or give it up with nelumbo db remove and bring a copy back with \
             nelumbo db copy --from-file"
        }
        _ => "look at it with: nelumbo db fixup",
    };
    format!("database {path} is fenced: {reason}; {advice}")
}

/// What the store says of a database whose file is gone.
pub(crate) const NO_FILE: &str = "there is no file";

impl Site {
    /// Opens the store, recovers what a crash left, and opens the directory. The caller holds
    /// the lock of the data directory.
    ///
    /// # Errors
    /// The store or `names.nsf` cannot be opened.
    pub fn open(dir: &DataDir, settings: &Settings) -> Result<(Self, Recovery), SiteError> {
        let (store, recovery) = open_store(dir, settings)?;
        let directory = match Directory::open(store.clone()) {
            Ok(directory) => directory,
            Err(error) => {
                // The first error is the one to tell.
                let _ = store.close();
                let names = dir.data().join("names.nsf");
                return Err(match names.try_exists() {
                    Ok(false) => SiteError::DirectoryGone(names.display().to_string()),
                    _ => error.into(),
                });
            }
        };
        Ok((Self::new(dir, settings, store, directory), recovery))
    }

    /// A site of parts that are open already.
    pub(crate) fn new(
        dir: &DataDir,
        settings: &Settings,
        store: Arc<Store>,
        directory: Arc<Directory>,
    ) -> Self {
        let current = Arc::new(settings.clone());
        directory.set_options(options::directory(settings));
        Self {
            dir: dir.clone(),
            store,
            directory,
            is_served: AtomicBool::new(false),
            settings: RwLock::new(InForce { given: current.clone(), current }),
        }
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().current.clone()
    }

    /// The settings that the next start will find.
    pub(crate) fn given_settings(&self) -> Arc<Settings> {
        self.settings.read().given.clone()
    }

    /// Puts the live ones among the settings in force; the others wait for a restart.
    pub(crate) fn take_settings(&self, given: Settings) -> Changes {
        let mut in_force = self.settings.write();
        let mut current = Settings::clone(&in_force.current);
        let mut changes = Changes::default();
        for (key, row) in KEYS.iter().zip(ROWS) {
            if given.value(*key) == in_force.current.value(*key) {
                continue;
            }
            match row.effect {
                Effect::Live => {
                    current.copy_row(&given, *key);
                    changes.live.push(row.name);
                }
                Effect::Restart => changes.waiting.push(row.name),
            }
        }
        *in_force = InForce { current: Arc::new(current), given: Arc::new(given) };
        changes
    }

    /// Opens the store of a new data directory and makes its directory.
    ///
    /// # Errors
    /// The store cannot be opened, or `names.nsf` is there already.
    pub fn create(dir: &DataDir, settings: &Settings) -> Result<Self, SiteError> {
        let (store, _) = Store::open(store_options(dir, settings))?;
        let (domain, name) = (settings.text(Key::Domain), settings.text(Key::ServerName));
        let directory = match Directory::create(store.clone(), domain, name) {
            Ok(directory) => directory,
            Err(error) => {
                // The first error is the one to tell.
                let _ = store.close();
                return Err(error.into());
            }
        };
        Ok(Self::new(dir, settings, store, directory))
    }

    /// Checkpoints everything and ends the log.
    ///
    /// # Errors
    /// A checkpoint failed; nothing acknowledged is lost, the next start replays the log.
    pub fn close(&self) -> Result<(), SiteError> {
        Ok(self.store.close()?)
    }
}

/// The settings as the store takes them.
pub fn store_options(dir: &DataDir, settings: &Settings) -> StoreOptions {
    let mut options = StoreOptions::new(dir.root());
    options.log.dir = dir.resolve(settings.text(Key::LogPath));
    options.log.bytes_max = settings.number(Key::LogBytesMax);
    // Within the range of the setting, which 32 bits hold.
    options.log.segment_bytes = (settings.number(Key::LogSegmentBytes) as u32) / 4096 * 4096;
    options.log.gather_ms = settings.number(Key::LogGather);
    options.log.gather_above_per_s = settings.number(Key::LogGatherAbove);
    options.log.style = match settings.text(Key::LogStyle) {
        "linear" => txlog::Style::Linear,
        "archive" => txlog::Style::Archive,
        _ => txlog::Style::Circular,
    };
    let archive = settings.text(Key::LogArchivePath);
    options.log.archive_dir = (!archive.is_empty()).then(|| dir.resolve(archive));
    options.buffer_pool_bytes =
        buffer_pool_bytes(settings.number(Key::BufferPool), process::physical_memory_bytes());
    options.unwritten_bytes_max = settings.number(Key::UnwrittenBytes);
    options.objects.defer_s = settings.number(Key::PruneDefer);
    options.objects.care_interval_s = settings.number(Key::ObjectCare);
    options.objects.rewrite_live_percent =
        u8::try_from(settings.number(Key::RewriteLive)).unwrap_or(100);
    options.objects.rewrite_segments_min = settings.size(Key::RewriteSegments);
    options.redo_bytes_max = redo_bytes_max(settings).min(options.log.bytes_max / 2);
    options.objects.dedupe_bytes_min = settings.number(Key::DedupeBytesMin);
    options.objects.level = i32::try_from(settings.number(Key::CompressionLevel)).unwrap_or(1);
    options.object_bytes_min = settings.number(Key::ObjectBytesMin);
    let databases_max = Descriptors::of_process().databases_max(0);
    options.open_databases_max = settings.size(Key::CacheEntries).min(databases_max);
    options
}

/// Memory of all open databases in bytes: what is set, or else what suits the machine, whose
/// memory is 0 when it is not known.
fn buffer_pool_bytes(set: u64, memory_bytes: u64) -> u64 {
    let bytes = match (set, memory_bytes) {
        (0, 0) => BUFFER_POOL_MAX,
        (0, memory_bytes) => (memory_bytes / 4).min(BUFFER_POOL_MAX),
        (bytes, _) => bytes,
    };
    bytes.max(BUFFER_POOL_MIN)
}

/// Log that may have to be replayed after a crash, in bytes.
fn redo_bytes_max(settings: &Settings) -> u64 {
    match (settings.number(Key::RedoBytesMax), settings.text(Key::LogPerformance)) {
        (0, "favor-runtime") => 4 << 30,
        (0, "favor-restart") => 128 << 20,
        (0, _) => 1 << 30,
        (bytes, _) => bytes.max(REDO_BYTES_MIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data directory that was set up and closed, and its settings.
    fn closed(dir: &tempfile::TempDir) -> (DataDir, Settings) {
        let data = DataDir::new(dir.path().join("server"));
        data.make().unwrap();
        let mut settings = Settings::default();
        settings.set(Key::ServerName, "mail1/Example").unwrap();
        settings.set(Key::Domain, "example.test").unwrap();
        Site::create(&data, &settings).unwrap().close().unwrap();
        (data, settings)
    }

    #[test]
    fn no_log_is_made_where_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let (data, mut settings) = closed(&dir);
        std::fs::create_dir(data.root().join("empty")).unwrap();
        for path in ["gone", "empty"] {
            settings.set(Key::LogPath, path).unwrap();
            let Err(error) = Site::open(&data, &settings) else { panic!("{path}") };
            assert!(error.to_string().contains("there is no transaction log"), "{error}");
            let made =
                std::fs::read_dir(data.root().join(path)).is_ok_and(|mut d| d.next().is_some());
            assert!(!made, "{path}");
        }
        settings.set(Key::LogPath, "txlog").unwrap();
        Site::open(&data, &settings).unwrap().0.close().unwrap();
    }

    #[test]
    fn a_missing_directory_is_told_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let (data, settings) = closed(&dir);
        let (names, away) = (data.data().join("names.nsf"), data.root().join("away.nsf"));
        std::fs::rename(&names, &away).unwrap();
        let Err(error) = Site::open(&data, &settings) else { panic!("it was opened") };
        assert!(error.to_string().contains("names.nsf is missing"), "{error}");
        std::fs::rename(&away, &names).unwrap();
        Site::open(&data, &settings).unwrap().0.close().unwrap();
    }

    #[test]
    fn the_buffer_pool_fits_the_machine_unless_it_is_set() {
        let cases = [
            (0, 24 << 30, 2 << 30),
            (0, 2 << 30, 512 << 20),
            (0, 32 << 20, 16 << 20),
            (0, 0, 2 << 30),
            (1, 24 << 30, 16 << 20),
            (8 << 30, 24 << 30, 8 << 30),
        ];
        for (set, memory, bytes) in cases {
            assert_eq!(buffer_pool_bytes(set, memory), bytes, "{set} {memory}");
        }
    }

    #[test]
    fn the_run_modes_bound_the_redo() {
        let cases = [
            ("favor-runtime", "0", 16 << 30, 4 << 30),
            ("favor-runtime", "0", 4 << 30, 2 << 30),
            ("standard", "0", 4 << 30, 1 << 30),
            ("standard", "0", 1 << 30, 512 << 20),
            ("favor-restart", "0", 4 << 30, 128 << 20),
            ("favor-runtime", "33554432", 4 << 30, 32 << 20),
            ("standard", "1", 4 << 30, 16 << 20),
        ];
        for (mode, bytes, log, expected) in cases {
            let mut settings = Settings::default();
            settings.set(Key::LogPerformance, mode).unwrap();
            settings.set(Key::RedoBytesMax, bytes).unwrap();
            settings.set(Key::LogBytesMax, &u64::to_string(&log)).unwrap();
            let options = store_options(&DataDir::new("/somewhere"), &settings);
            assert_eq!(options.redo_bytes_max, expected, "{mode} {bytes} {log}");
        }
    }

    #[test]
    fn half_of_the_log_bounds_the_redo() {
        let mut settings = Settings::default();
        settings.set(Key::LogBytesMax, "268435456").unwrap();
        settings.set(Key::LogStyle, "linear").unwrap();
        let options = store_options(&DataDir::new("/somewhere"), &settings);
        assert_eq!(options.redo_bytes_max, 134_217_728);
        assert_eq!(options.log.style, txlog::Style::Linear);
        assert_eq!(options.log.dir, std::path::Path::new("/somewhere/txlog"));
    }
}
