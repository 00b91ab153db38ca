//! The worker pool (`Server_Pool_Tasks`): a bounded number of threads for the work of all sessions.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use session::Job;

#[cfg(test)]
mod tests;

/// Stack of a worker in bytes; parsing nests at most 100 levels.
const STACK_BYTES: usize = 2 << 20;

/// Threads with one queue of jobs.
pub struct WorkerPool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    queue_max: usize,
    threads: u64,
    counts: Counts,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    stopping: bool,
}

#[derive(Default)]
struct Counts {
    busy: AtomicU64,
    busy_peak: AtomicU64,
    done: AtomicU64,
    panics: AtomicU64,
    refused: AtomicU64,
    micros: AtomicU64,
    micros_min: AtomicU64,
    micros_max: AtomicU64,
}

/// What the pool did and does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatus {
    /// Threads.
    pub threads: u64,
    /// Threads with a job now.
    pub busy: u64,
    /// Most threads that had a job at once.
    pub busy_peak: u64,
    /// Jobs that wait.
    pub waiting: u64,
    /// Jobs done since the start.
    pub done: u64,
    /// Jobs that panicked.
    pub panics: u64,
    /// Jobs thrown away because the queue was full.
    pub refused: u64,
    /// Time that all jobs took, in microseconds.
    pub micros: u64,
    /// The shortest job, in microseconds; 0 before the first.
    pub micros_min: u64,
    /// The longest job, in microseconds.
    pub micros_max: u64,
}

impl Counts {
    fn took(&self, begun: Instant) {
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.micros_min.fetch_min(micros, Ordering::Relaxed);
        self.micros_max.fetch_max(micros, Ordering::Relaxed);
    }
}

impl WorkerPool {
    /// Starts `threads` threads whose queue holds at most `queue_max` jobs.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(threads: usize, queue_max: usize) -> io::Result<Arc<Self>> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            queue_max,
            threads: threads as u64,
            counts: Counts { micros_min: AtomicU64::new(u64::MAX), ..Counts::default() },
        });
        let pool = Arc::new(Self { shared, threads: Mutex::default() });
        for number in 0..threads {
            let shared = pool.shared.clone();
            let builder =
                std::thread::Builder::new().name(format!("pool-{number}")).stack_size(STACK_BYTES);
            pool.threads.lock().push(builder.spawn(move || shared.work())?);
        }
        Ok(pool)
    }

    /// What the pool did and does.
    pub fn status(&self) -> PoolStatus {
        let counts = &self.shared.counts;
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        PoolStatus {
            threads: self.shared.threads,
            busy: get(&counts.busy),
            busy_peak: get(&counts.busy_peak),
            waiting: self.shared.queue.lock().jobs.len() as u64,
            done: get(&counts.done),
            panics: get(&counts.panics),
            refused: get(&counts.refused),
            micros: get(&counts.micros),
            micros_min: match get(&counts.done) {
                0 => 0,
                _ => get(&counts.micros_min),
            },
            micros_max: get(&counts.micros_max),
        }
    }

    /// Takes no more jobs, does those that wait, and ends the threads.
    pub fn stop(&self) {
        self.shared.queue.lock().stopping = true;
        self.shared.wake.notify_all();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A worker catches every panic of its jobs; there is nothing to learn here.
            let _ = thread.join();
        }
    }
}

impl session::Pool for WorkerPool {
    fn submit(&self, job: Job) {
        let mut queue = self.shared.queue.lock();
        if queue.stopping || queue.jobs.len() >= self.shared.queue_max {
            self.shared.counts.refused.fetch_add(1, Ordering::Relaxed);
            // Dropping the job answers its session with `Broken`, outside the lock.
            drop(queue);
            drop(job);
            return;
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.shared.wake.notify_one();
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next() {
            let busy = self.counts.busy.fetch_add(1, Ordering::Relaxed) + 1;
            self.counts.busy_peak.fetch_max(busy, Ordering::Relaxed);
            let begun = Instant::now();
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                self.counts.panics.fetch_add(1, Ordering::Relaxed);
            }
            self.counts.took(begun);
            self.counts.busy.fetch_sub(1, Ordering::Relaxed);
            self.counts.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.stopping {
                return None;
            }
            self.wake.wait(&mut queue);
        }
    }
}
