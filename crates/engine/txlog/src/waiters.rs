//! Who waits for the log to become durable.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::shared::Shared;
use crate::sync::thread::{self, Thread};
use crate::sync::{Instant, thread_local};
use crate::{LogError, Lsn};

/// The wakers of those who wait, by position.
#[derive(Default)]
pub(crate) struct Waiters {
    wakers: BTreeMap<(Lsn, u64), Waker>,
    last_key: u64,
}

impl Waiters {
    /// The first position somebody waits for.
    pub fn first(&self) -> Option<Lsn> {
        self.wakers.first_key_value().map(|((lsn, _), _)| *lsn)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.wakers.len()
    }

    fn enter(&mut self, lsn: Lsn, key: Option<u64>, waker: &Waker) -> u64 {
        let key = key.unwrap_or_else(|| {
            self.last_key += 1;
            self.last_key
        });
        let slot = self.wakers.entry((lsn, key)).or_insert_with(|| waker.clone());
        slot.clone_from(waker);
        key
    }

    fn leave(&mut self, lsn: Lsn, key: u64) {
        self.wakers.remove(&(lsn, key));
    }

    /// Moves the wakers of those who wait for `durable` or less to `out`.
    pub fn take_ready(&mut self, durable: Lsn, out: &mut Vec<Waker>) {
        while let Some(first) = self.wakers.first_entry() {
            if first.key().0 > durable {
                break;
            }
            out.push(first.remove());
        }
    }

    /// Moves all wakers to `out`.
    pub fn take_all(&mut self, out: &mut Vec<Waker>) {
        out.extend(std::mem::take(&mut self.wakers).into_values());
    }
}

/// Resolves when the log is durable up to a position, or with the reason why it never will be.
///
/// A future, and a blocking wait. The first poll or the wait makes the log sync, at once or after
/// [`crate::LogOptions::gather_ms`]; dropping it gives up the wait.
#[must_use = "nothing is promised before it resolves"]
pub struct Durable {
    shared: Arc<Shared>,
    lsn: Lsn,
    key: Option<u64>,
}

impl Durable {
    pub(crate) fn new(shared: Arc<Shared>, lsn: Lsn) -> Durable {
        Durable { shared, lsn, key: None }
    }

    /// The position waited for.
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }

    /// Blocks until the log is durable up to the position.
    pub fn wait(mut self) -> Result<(), LogError> {
        if self.shared.durable() >= self.lsn {
            return Ok(());
        }
        WAKER.with(|waker| {
            let mut context = Context::from_waker(waker);
            loop {
                match Pin::new(&mut self).poll(&mut context) {
                    Poll::Ready(outcome) => return outcome,
                    Poll::Pending => thread::park(),
                }
            }
        })
    }

    fn leave(&mut self) {
        if let Some(key) = self.key.take() {
            self.shared.state.lock().waiters.leave(self.lsn, key);
        }
    }
}

impl Future for Durable {
    type Output = Result<(), LogError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.shared.durable() >= self.lsn {
            self.leave();
            return Poll::Ready(Ok(()));
        }
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state.lock();
        let lost = state.failed.is_some() || state.ended;
        if lost || state.durable >= self.lsn {
            let is_durable = state.durable >= self.lsn;
            let reason = state.stop_reason().unwrap_or_default();
            drop(state);
            self.leave();
            let outcome = if is_durable { Ok(()) } else { Err(LogError::Stopped { reason }) };
            return Poll::Ready(outcome);
        }
        if self.key.is_none() {
            let others = state.waiters.len();
            state.company.came(others, Instant::now());
        }
        self.key = Some(state.waiters.enter(self.lsn, self.key, context.waker()));
        let is_told = state.company.is_gathering;
        let is_complete = state.company.is_complete(state.waiters.len());
        drop(state);
        if is_complete || !is_told {
            shared.work.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        self.leave();
    }
}

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    static WAKER: Waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
}
