//! Pins: objects that must not be pruned because a referring record is still to be appended.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use note::{ObjectHash, Ticket};
use txlog::sync::Mutex;

/// Every pinned hash and how many pins hold it.
///
/// Who looks an object up to refer to it pins it first, and looks inside the checkpoint gate; who
/// removes one holds the gate exclusively while it asks and removes.
#[derive(Default)]
pub(crate) struct Pins(Mutex<HashMap<ObjectHash, usize>>);

impl Pins {
    pub(crate) fn pin(self: &Arc<Self>, ticket: Ticket) -> Pin {
        *self.0.lock().entry(ticket.hash).or_insert(0) += 1;
        Pin { ticket, pins: Arc::clone(self) }
    }

    pub(crate) fn is_pinned(&self, hash: &ObjectHash) -> bool {
        self.0.lock().contains_key(hash)
    }

    fn unpin(&self, hash: &ObjectHash) {
        let mut pins = self.0.lock();
        if let Some(count) = pins.get_mut(hash) {
            *count -= 1;
            if *count == 0 {
                pins.remove(hash);
            }
        }
    }
}

/// Keeps an object from being pruned until it is dropped.
///
/// Hold it until the change record that refers to the object is appended and counted.
pub struct Pin {
    /// Names the stored content.
    pub ticket: Ticket,
    pins: Arc<Pins>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.unpin(&self.ticket.hash);
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pin").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}
