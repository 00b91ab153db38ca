//! A disk with a directory on another file system.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use super::{Call, Watch, Watched};
use crate::Disk;

/// Where another file system is mounted.
pub struct Mounted(PathBuf);

/// Passes everything on to another disk, but files cannot be renamed into a directory or out of
/// it, as if another file system were mounted there.
pub type SplitDisk = Watched<Mounted>;

impl Watched<Mounted> {
    /// What lies below `mounted` is on a file system of its own.
    pub fn new(inner: Arc<dyn Disk>, mounted: impl Into<PathBuf>) -> SplitDisk {
        Watched::by(inner, Mounted(mounted.into()))
    }
}

impl Watch for Mounted {
    fn before(&self, call: &Call<'_>) -> io::Result<()> {
        let crosses =
            call.to.is_some_and(|to| to.starts_with(&self.0) != call.path.starts_with(&self.0));
        if crosses { Err(ErrorKind::CrossesDevices.into()) } else { Ok(()) }
    }
}
