//! The way from an async session to the synchronous engine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use thiserror::Error;
use tokio::sync::oneshot;

/// One piece of synchronous work.
pub type Job = Box<dyn FnOnce() + Send>;

/// A bounded pool of worker threads. The server builds it (`Server_Pool_Tasks`).
pub trait Pool: Send + Sync {
    /// Queues a job. A job that panics must end neither the pool nor its thread's place in it.
    fn submit(&self, job: Job);
}

/// The job did not come to its end: it panicked, or the pool is stopping.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the work for this session was broken off")]
pub struct Broken;

/// How much a piece of work is, and so where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Some rows, some ten kilobytes: it takes less time than handing it to another thread and
    /// back, so it runs where the session runs.
    Light,
    /// Anything else: it runs on the pool.
    Heavy,
}

impl Weight {
    /// Work on this many messages.
    pub fn of_messages(count: usize) -> Weight {
        if count <= LIGHT_MESSAGES_MAX { Weight::Light } else { Weight::Heavy }
    }

    /// Work on this many bytes.
    pub fn of_bytes(count: usize) -> Weight {
        if count <= LIGHT_BYTES_MAX { Weight::Light } else { Weight::Heavy }
    }
}

/// Messages that a light piece of work touches at most.
const LIGHT_MESSAGES_MAX: usize = 100;
/// Bytes that a light piece of work reads or writes at most.
const LIGHT_BYTES_MAX: usize = 128 * 1024;

/// Runs `work` where its weight says, and waits for what it returns. Whatever the weight, a panic
/// ends this work alone.
///
/// # Errors
/// [`Broken`] when the work panicked or was thrown away by a stopping pool.
pub async fn run<T: Send + 'static>(
    pool: &dyn Pool,
    weight: Weight,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Broken> {
    if weight == Weight::Light {
        return catch_unwind(AssertUnwindSafe(work)).map_err(|_| Broken);
    }
    let (answer, answered) = oneshot::channel();
    pool.submit(Box::new(move || {
        // A session that ended meanwhile does not want the answer any more.
        let _ = answer.send(work());
    }));
    answered.await.map_err(|_| Broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Threads;
    impl Pool for Threads {
        fn submit(&self, job: Job) {
            std::thread::spawn(job);
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_its_own_job_only() {
        for weight in [Weight::Light, Weight::Heavy] {
            assert_eq!(run(&Threads, weight, || 7).await, Ok(7));
            let panicking = run(&Threads, weight, || -> u8 { panic!("announced") });
            assert_eq!(panicking.await, Err(Broken));
            assert_eq!(run(&Threads, weight, || 8).await, Ok(8));
        }
    }

    #[tokio::test]
    async fn light_work_stays_on_the_thread_of_its_session() {
        let here = std::thread::current().id();
        let light = run(&Threads, Weight::of_messages(1), || std::thread::current().id()).await;
        assert_eq!(light, Ok(here));
        let heavy = run(&Threads, Weight::of_bytes(1 << 20), || std::thread::current().id()).await;
        assert_ne!(heavy, Ok(here));
    }
}
