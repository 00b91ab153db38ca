//! A disk that fails as planned.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Call, Operation, Watch, Watched};
use crate::Disk;

struct Fault {
    operation: Operation,
    below: PathBuf,
    skip: u64,
    times: u64,
    kind: ErrorKind,
}

impl Fault {
    fn concerns(&self, call: &Call<'_>) -> bool {
        let is_sync = self.operation == Operation::Sync && call.operation == Operation::SyncAll;
        let is_below = call.path.starts_with(&self.below)
            || call.to.is_some_and(|to| to.starts_with(&self.below));
        (call.operation == self.operation || is_sync) && is_below
    }
}

/// What a [`FailingDisk`] is to fail.
#[derive(Default)]
pub struct Plan(Mutex<Vec<Fault>>);

/// Passes everything on to another disk, except what is planned to fail.
pub type FailingDisk = Watched<Plan>;

impl Watched<Plan> {
    /// Fails nothing until told so.
    pub fn new(inner: Arc<dyn Disk>) -> FailingDisk {
        Watched::by(inner, Plan::default())
    }

    /// Lets `skip` operations of this sort pass, then fails the next `times` of them. A planned
    /// [`Operation::Sync`] meets `sync_all` too.
    pub fn fail(&self, operation: Operation, skip: u64, times: u64, kind: ErrorKind) {
        self.fail_below("", (operation, kind), skip, times);
    }

    /// As [`FailingDisk::fail`], but only for files and directories below `below`.
    pub fn fail_below(
        &self,
        below: impl Into<PathBuf>,
        (operation, kind): (Operation, ErrorKind),
        skip: u64,
        times: u64,
    ) {
        let fault = Fault { operation, below: below.into(), skip, times, kind };
        self.watch().0.lock().push(fault);
    }

    /// Fails nothing from here on.
    pub fn clear(&self) {
        self.watch().0.lock().clear();
    }
}

impl Watch for Plan {
    fn before(&self, call: &Call<'_>) -> io::Result<()> {
        for fault in self.0.lock().iter_mut().filter(|fault| fault.concerns(call)) {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if fault.times > 0 {
                fault.times -= 1;
                return Err(fault.kind.into());
            }
        }
        Ok(())
    }
}
