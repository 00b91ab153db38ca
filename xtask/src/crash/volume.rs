//! A file system of its own for the data, whose power can be cut and whose space can run out.
//! Needs root and a loop device.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// `FS_IOC_SHUTDOWN`, `_IOR('X', 125, __u32)`.
const SHUTDOWN: libc::Ioctl = 0x8004_587D_u32 as libc::Ioctl;
/// Go down at once: neither data nor journal are written.
const NO_LOG_FLUSH: u32 = 2;
/// Tries of an umount, a tenth of a second apart.
const UMOUNT_TRIES: u32 = 50;

/// An ext4 file system in a file, mounted while this lives.
pub struct Volume {
    image: PathBuf,
    mount: PathBuf,
}

impl Volume {
    /// Why there can be no volume here, if so.
    pub fn impossible() -> Option<&'static str> {
        let root = std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0);
        match (root, Path::new("/dev/loop-control").exists()) {
            (false, _) => Some("only root may mount file systems"),
            (_, false) => Some("there are no loop devices here"),
            _ => None,
        }
    }

    /// Makes and mounts an empty file system of `size` (as `truncate -s` takes it) below `scratch`;
    /// only used blocks take space.
    pub fn create(scratch: &Path, size: &str) -> Result<Volume, String> {
        let volume = Volume { image: scratch.join("image"), mount: scratch.join("volume") };
        std::fs::create_dir_all(&volume.mount)
            .map_err(|e| format!("{}: {e}", volume.mount.display()))?;
        run("truncate", &["-s", size], &[&volume.image])?;
        run("mkfs.ext4", &["-q", "-F", "-m", "0"], &[&volume.image])?;
        volume.attach("noatime")?;
        Ok(volume)
    }

    /// Where it is mounted.
    pub fn folder(&self) -> &Path {
        &self.mount
    }

    /// Where the data go.
    pub fn data(&self) -> PathBuf {
        self.mount.join("data")
    }

    /// Cuts the power: from now on nothing reaches the block device any more, and what the file
    /// system holds in memory alone is lost. Programs get EIO.
    pub fn cut(&self) -> Result<(), String> {
        let words = |e: std::io::Error| format!("cutting the power: {e}");
        let folder = File::open(&self.mount).map_err(words)?;
        shut_down(&folder).map_err(words)
    }

    /// Mounts again what the block device held at the cut; a copy of that is kept beside it. The
    /// server must have ended.
    pub fn restore(&self, options: &str) -> Result<(), String> {
        self.detach()?;
        let photo = self.image.with_extension("photo");
        run("cp", &["--sparse=always"], &[&self.image, &photo])?;
        self.attach(options)
    }

    fn attach(&self, options: &str) -> Result<(), String> {
        run("mount", &["-o", &format!("loop,{options}")], &[&self.image, &self.mount])
    }

    fn detach(&self) -> Result<(), String> {
        let mut outcome = Ok(());
        for _ in 0..UMOUNT_TRIES {
            outcome = run("umount", &[], &[&self.mount]);
            if outcome.is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100)); // a killed process lets go late
        }
        outcome
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = self.detach(); // the image stays for a look
    }
}

#[allow(unsafe_code)]
fn shut_down(folder: &File) -> std::io::Result<()> {
    let how = NO_LOG_FLUSH;
    // SAFETY: the descriptor is open, and the request reads the one u32 that the pointer is for.
    let done = unsafe { libc::ioctl(folder.as_raw_fd(), SHUTDOWN, &raw const how) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Runs a program of the system.
pub fn run(program: &str, options: &[&str], paths: &[&Path]) -> Result<(), String> {
    let output = Command::new(program).args(options).args(paths).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            Err(format!("{program} {paths:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(e) => Err(format!("{program}: {e}")),
    }
}
