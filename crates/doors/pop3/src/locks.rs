//! One session for each mail file (RFC 1939 §4).

use std::collections::HashSet;
use std::sync::Arc;

use note::Dbiid;
use parking_lot::Mutex;

/// The maildrops that have a session.
#[derive(Debug, Default)]
pub(crate) struct Locks(Mutex<HashSet<Dbiid>>);

/// Keeps a maildrop for one session until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    locks: Arc<Locks>,
    dbiid: Dbiid,
}

impl Locks {
    /// Takes a maildrop; `None` when another session has it.
    pub(crate) fn take(self: &Arc<Self>, dbiid: Dbiid) -> Option<Lock> {
        let taken = self.0.lock().insert(dbiid);
        taken.then(|| Lock { locks: self.clone(), dbiid })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.locks.0.lock().remove(&self.dbiid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maildrop_has_one_session_at_a_time() {
        let locks = Arc::new(Locks::default());
        let first = locks.take(Dbiid(1));
        assert!(first.is_some());
        assert!(locks.take(Dbiid(1)).is_none());
        assert!(locks.take(Dbiid(2)).is_some());
        drop(first);
        assert!(locks.take(Dbiid(1)).is_some());
    }
}
