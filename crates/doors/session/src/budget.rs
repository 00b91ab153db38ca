//! A server-wide bound of bytes that sessions hold in memory: message bodies and literals.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bound. Cheap to clone; all clones share one account.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit: AtomicU64,
    used: AtomicU64,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Budget {
        Budget(Arc::new(Account { limit: AtomicU64::new(limit), used: AtomicU64::new(0) }))
    }

    /// Takes `bytes` out of the budget until the answer is dropped; `None` when they do not fit.
    pub fn try_take(&self, bytes: u64) -> Option<Taken> {
        let limit = self.limit();
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= limit);
        let taken = self.0.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits);
        taken.ok().map(|_| Taken { budget: self.clone(), bytes })
    }

    /// Bytes taken now.
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Acquire)
    }

    /// The bound in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit.load(Ordering::Acquire)
    }

    /// Another bound from now on; what is taken beyond it stays taken until it comes back.
    pub fn set_limit(&self, limit: u64) {
        self.0.limit.store(limit, Ordering::Release);
    }
}

/// Bytes taken out of a [`Budget`]; they go back when this is dropped.
#[derive(Debug)]
pub struct Taken {
    budget: Budget,
    bytes: u64,
}

impl Taken {
    /// Takes `more` bytes in addition; `false` (and nothing taken) when they do not fit.
    pub fn grow(&mut self, more: u64) -> bool {
        let Some(extra) = self.budget.try_take(more) else { return false };
        self.bytes += extra.bytes;
        std::mem::forget(extra);
        true
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.0.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_the_bound_holds() {
        let budget = Budget::new(100);
        let mut first = budget.try_take(60).unwrap();
        assert!(budget.try_take(41).is_none());
        assert!(first.grow(40));
        assert!(!first.grow(1));
        assert_eq!((budget.used(), first.bytes()), (100, 100));
        drop(first);
        assert_eq!(budget.used(), 0);
        assert!(budget.try_take(u64::MAX).is_none());
        let kept = budget.try_take(80).unwrap();
        budget.set_limit(50);
        assert!(budget.try_take(1).is_none());
        drop(kept);
        assert!(budget.try_take(50).is_some());
    }
}
