//! A file system of its own for the data, whose power can be cut: what was not written to the block
//! device is gone, which a kill alone does not show. Needs root and a loop device.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Size of the image; only used blocks take space.
const IMAGE_BYTES: &str = "4G";

/// An ext4 file system in a file, mounted while this lives.
pub struct Volume {
    image: PathBuf,
    mount: PathBuf,
}

impl Volume {
    /// Makes and mounts an empty file system below `scratch`.
    pub fn create(scratch: &Path) -> Result<Volume, String> {
        let volume = Volume { image: scratch.join("image"), mount: scratch.join("volume") };
        std::fs::create_dir_all(&volume.mount)
            .map_err(|e| format!("{}: {e}", volume.mount.display()))?;
        run("truncate", &["-s", IMAGE_BYTES], &[&volume.image])?;
        run("mkfs.ext4", &["-q", "-F"], &[&volume.image])?;
        volume.attach()?;
        Ok(volume)
    }

    /// Where the data go.
    pub fn data(&self) -> PathBuf {
        self.mount.join("data")
    }

    /// Copies the block device as it is now. The server must be paused, so that the copy shows one
    /// moment: what lies only in the page cache of the mounted file system is not in it.
    pub fn photograph(&self) -> Result<(), String> {
        run("cp", &["--sparse=always"], &[&self.image, &self.photo()])
    }

    /// Goes on with what was photographed. The server must have ended.
    pub fn go_back(&self) -> Result<(), String> {
        run("umount", &[], &[&self.mount])?;
        std::fs::rename(self.photo(), &self.image).map_err(|e| format!("the photograph: {e}"))?;
        self.attach()
    }

    fn photo(&self) -> PathBuf {
        self.image.with_extension("photo")
    }

    fn attach(&self) -> Result<(), String> {
        run("mount", &["-o", "loop,noatime"], &[&self.image, &self.mount])
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = run("umount", &[], &[&self.mount]); // the image stays for a look
    }
}

fn run(program: &str, options: &[&str], paths: &[&Path]) -> Result<(), String> {
    let output = Command::new(program).args(options).args(paths).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            Err(format!("{program} {paths:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(e) => Err(format!("{program}: {e}")),
    }
}
