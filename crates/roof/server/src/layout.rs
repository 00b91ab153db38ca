//! Where everything lies in a data directory, and who owns the directory.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two looks at a lock that somebody else holds.
const LOOK_AGAIN_MS: u64 = 50;

/// Directories of a data directory.
const PARTS: [&str; 6] = ["data", "txlog", "objects", "certs", "run", "spool"];
/// The lock file.
const LOCK: &str = "nelumbo.lock";

/// A data directory.
#[derive(Clone, Debug)]
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// Names a data directory; nothing is looked at.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its full path, for people.
    pub(crate) fn absolute(&self) -> String {
        let path = std::path::absolute(&self.root);
        path.unwrap_or_else(|_| self.root.clone()).display().to_string()
    }

    /// `nelumbo.toml`.
    pub fn config(&self) -> PathBuf {
        self.root.join("nelumbo.toml")
    }

    /// Databases.
    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Certificates and keys.
    pub fn certs(&self) -> PathBuf {
        self.root.join("certs")
    }

    /// Control socket and log files.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// A path of the configuration, relative ones below the data directory.
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Whether a server may be made here: nothing but empty parts of a data directory and
    /// certificates is there.
    ///
    /// # Errors
    /// The directory is there and cannot be read.
    pub fn is_vacant(&self) -> io::Result<bool> {
        let list = match std::fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            list => list.map_err(|error| told(&self.root, &error))?,
        };
        let known = |name: &OsStr| PARTS.iter().any(|part| name == *part) || name == LOCK;
        for entry in list {
            if !known(&entry?.file_name()) {
                return Ok(false);
            }
        }
        let filled = |name: &str| {
            let list = std::fs::read_dir(self.root.join(name));
            list.is_ok_and(|mut list| list.next().is_some())
        };
        Ok(!["data", "txlog", "objects"].into_iter().any(filled))
    }

    /// Makes the directories that are missing, readable by the owner alone.
    ///
    /// # Errors
    /// The system's reason, with the directory.
    pub fn make(&self) -> io::Result<()> {
        let parts = std::iter::once("").chain(PARTS).map(|name| self.root.join(name));
        for path in parts {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(|error| told(&path, &error))?;
        }
        Ok(())
    }

    /// Takes the lock of the directory; `None` when somebody else holds it.
    ///
    /// # Errors
    /// The lock file cannot be opened or locked.
    pub fn lock(&self) -> io::Result<Option<Lock>> {
        let path = self.root.join(LOCK);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(|error| told(&path, &error))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Lock { _file: file })),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(told(&path, &error)),
            }
        }
    }

    /// Takes the lock, waiting up to `wait` for another holder to go; `None` when it stayed.
    ///
    /// # Errors
    /// As [`DataDir::lock`].
    pub fn lock_within(&self, wait: Duration) -> io::Result<Option<Lock>> {
        let begun = Instant::now();
        loop {
            let lock = self.lock()?;
            if lock.is_some() || begun.elapsed() >= wait {
                return Ok(lock);
            }
            std::thread::sleep(Duration::from_millis(LOOK_AGAIN_MS));
        }
    }
}

/// Writes a file anew, readable by the owner alone, so that it is whole whatever happens.
///
/// # Errors
/// The system's reason, with the path; the old file then stays.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = (|| {
        let mut new = path.to_owned().into_os_string();
        new.push(".new");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        File::open(path.parent().unwrap_or(path))?.sync_all()
    })();
    written.map_err(|error| told(path, &error))
}

/// Adds the path to an error of the system.
pub(crate) fn told(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The right to write in a data directory; given back on drop, or by the system when the process
/// ends in whatever way.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn one_holder_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::new(dir.path());
        let first = data.lock().unwrap();
        assert!(first.is_some());
        assert!(data.lock().unwrap().is_none());
        assert!(data.lock_within(Duration::ZERO).unwrap().is_none());
        drop(first);
        assert!(data.lock().unwrap().is_some());
    }

    #[test]
    fn an_error_names_the_path() {
        let error = DataDir::new("/nowhere/at/all").lock().unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all/nelumbo.lock"), "{error}");
    }

    #[test]
    fn only_a_vacant_place_takes_a_server() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::new(dir.path().join("place"));
        assert!(data.is_vacant().unwrap());
        data.make().unwrap();
        let lock = data.lock().unwrap();
        assert!(lock.is_some() && data.is_vacant().unwrap());
        std::fs::write(data.certs().join("server.pem"), "x").unwrap();
        assert!(data.is_vacant().unwrap());
        std::fs::write(data.data().join("precious.nsf"), "x").unwrap();
        assert!(!data.is_vacant().unwrap());
        assert!(!DataDir::new("/etc").is_vacant().unwrap());
    }

    #[test]
    fn files_are_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.toml");
        for text in ["a longer first text", "short"] {
            write_whole(&path, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let error = write_whole(&dir.path().join("no/where"), b"x").unwrap_err();
        assert!(error.to_string().contains("no/where"), "{error}");
    }

    #[test]
    fn directories_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::new(dir.path().join("new/place"));
        data.make().unwrap();
        data.make().unwrap();
        for path in [data.root().to_owned(), data.data(), data.run(), data.certs()] {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", path.display());
        }
    }
}
