//! Files and directories, behind traits so that tests can stand in for a failing disk.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Linux reads no more ahead for one hint than the device's `read_ahead_kb`, 128 KiB by default.
const AHEAD_PIECE_BYTES: libc::off_t = 128 << 10;

/// Reserves space that counts as written, all zeros, where the device can do so without a transfer
/// (Linux 6.17): syncs of what is written there later need not note that it is in use now. What
/// the file holds already would be lost.
const FALLOC_FL_WRITE_ZEROES: libc::c_int = 0x80;

/// The file operations that the engine needs.
///
/// A created, renamed or removed name is durable once [`Disk::sync_dir`] of its directory returned.
pub trait Disk: Send + Sync + 'static {
    /// Opens an existing file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates a file, or empties the one that is there.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Gives a file another name, replacing what has it; atomic within one file system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Names of the files in a directory, in no particular order; subdirectories are left out.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Creates a directory and its missing parents, durably.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Is there a file or directory of this name?
    fn exists(&self, path: &Path) -> io::Result<bool>;
}

/// An open file. Reads and writes carry their offset; there is no cursor.
pub trait DiskFile: Send + Sync {
    /// Fills `buf` from `offset`; gives the bytes read, fewer than asked only at the end of file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `buf` at `offset`.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Makes the written bytes durable, with the length needed to read them.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes the written bytes and all attributes durable.
    fn sync_all(&self) -> io::Result<()>;

    /// Reserves disk space for the first `len` bytes and makes the file at least that long.
    fn allocate(&self, len: u64) -> io::Result<()>;

    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Cuts or extends (with zeros) the file.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Says that the first `len` bytes will be read soon; at best they are in memory by then.
    fn read_ahead(&self, _len: u64) {}

    /// Is the file empty?
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }
}

/// The disk of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                continue;
            }
            if let Ok(name) = entry.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        if dir.as_os_str().is_empty() || dir.is_dir() {
            return Ok(());
        }
        let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        self.create_dir_all(parent)?;
        match fs::create_dir(dir) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => {}
            other => other?,
        }
        self.sync_dir(parent)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }
}

/// Free bytes that an ordinary user may still fill on the file system that holds `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut facts = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` is a NUL-terminated string and `facts` is room for one `statvfs`; both live
    // through the call. `facts` is read only when the call reports success, that is, filled it.
    #[allow(unsafe_code)]
    let facts = unsafe {
        if libc::statvfs(path.as_ptr(), facts.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        facts.assume_init()
    };
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.0.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        if self.0.metadata()?.len() == 0 {
            match self.fallocate(FALLOC_FL_WRITE_ZEROES, len) {
                Err(error) if is_unsupported(&error) => {}
                outcome => return outcome,
            }
        }
        match self.fallocate(0, len) {
            Err(error) if is_unsupported(&error) => self.extend(len),
            outcome => outcome,
        }
    }

    fn read_ahead(&self, len: u64) {
        let (mut at, end) = (0, libc::off_t::try_from(len).unwrap_or(libc::off_t::MAX));
        while at < end {
            let wanted = AHEAD_PIECE_BYTES.min(end - at);
            // SAFETY: the descriptor belongs to `self.0`, which outlives the call. It is a hint:
            // what it answers does not matter.
            #[allow(unsafe_code)]
            unsafe {
                libc::posix_fadvise(self.0.as_raw_fd(), at, wanted, libc::POSIX_FADV_WILLNEED);
            }
            at += wanted;
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

impl RealFile {
    fn fallocate(&self, mode: libc::c_int, len: u64) -> io::Result<()> {
        let wanted = libc::off_t::try_from(len).map_err(io::Error::other)?;
        loop {
            // SAFETY: the descriptor belongs to `self.0`, which outlives the call.
            #[allow(unsafe_code)]
            let outcome = unsafe { libc::fallocate(self.0.as_raw_fd(), mode, 0, wanted) };
            if outcome == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// For file systems without `fallocate`: the length alone.
    fn extend(&self, len: u64) -> io::Result<()> {
        if self.0.metadata()?.len() < len { self.0.set_len(len) } else { Ok(()) }
    }
}

/// The system, the file system or the device does not know such a call.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS))
}

#[cfg(test)]
mod tests;
