//! A disk whose syncs of files wait at a gate.

use std::io;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::{Call, Operation, Watch, Watched};
use crate::Disk;

/// The gate of a [`GatedDisk`].
#[derive(Default)]
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    is_shut: bool,
    reached: u64,
    passed: u64,
}

/// Passes everything on to another disk; while the gate is shut, syncs of files wait at it.
pub type GatedDisk = Watched<Gate>;

impl Watched<Gate> {
    /// The gate is open.
    pub fn new(inner: Arc<dyn Disk>) -> GatedDisk {
        Watched::by(inner, Gate::default())
    }

    /// Holds the syncs that come from now on.
    pub fn shut(&self) {
        self.watch().state.lock().is_shut = true;
    }

    /// Lets everything pass.
    pub fn open_gate(&self) {
        self.watch().state.lock().is_shut = false;
        self.watch().changed.notify_all();
    }

    /// Syncs that have reached the gate.
    pub fn syncs(&self) -> u64 {
        self.watch().state.lock().reached
    }

    /// Syncs that have passed it.
    pub fn passed(&self) -> u64 {
        self.watch().state.lock().passed
    }

    /// Waits until so many syncs have reached the gate.
    pub fn wait_for_syncs(&self, count: u64) {
        let mut state = self.watch().state.lock();
        while state.reached < count {
            self.watch().changed.wait(&mut state);
        }
    }
}

impl Watch for Gate {
    fn before(&self, call: &Call<'_>) -> io::Result<()> {
        if !matches!(call.operation, Operation::Sync | Operation::SyncAll) {
            return Ok(());
        }
        let mut state = self.state.lock();
        state.reached += 1;
        self.changed.notify_all();
        while state.is_shut {
            self.changed.wait(&mut state);
        }
        state.passed += 1;
        Ok(())
    }
}
