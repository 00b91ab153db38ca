//! What is counted beside the response times: iterations, lateness, errors, what was left out.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::clockwork::Lateness;

/// Errors that are kept in words; the rest are counted.
pub const ERROR_TEXTS_MAX: usize = 20;
/// Kinds of things left out that are told apart.
const LEFT_OUT_MAX: usize = 64;
/// An iteration that begins later than this is counted as late.
const LATE: Duration = Duration::from_millis(100);

/// The counts of a run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) joined: AtomicU32,
    iterations: AtomicU64,
    late: AtomicU64,
    lateness_max_us: AtomicU64,
    missed: AtomicU64,
    errors: AtomicU64,
    texts: Mutex<Vec<String>>,
    left_out: Mutex<BTreeMap<String, u64>>,
}

/// What a run came to, beside response times and the model's findings.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// People who should take part.
    pub users: u32,
    /// People who signed in.
    pub joined: u32,
    /// Iterations that were begun.
    pub iterations: u64,
    /// Iterations that began more than 100 ms late.
    pub late: u64,
    /// The most that one began late.
    pub lateness_max: Duration,
    /// Iterations that were left out because the person was a whole one behind.
    pub missed: u64,
    /// Errors, sign-ins before the steady window included.
    pub errors: u64,
    /// The first of them in words.
    pub first_errors: Vec<String>,
    /// What was not done, and why, with how often.
    pub left_out: Vec<String>,
    /// Whether the run was ended early by its user.
    pub stopped: bool,
}

impl Tally {
    pub(super) fn iteration(&self, lateness: Lateness) {
        self.iterations.fetch_add(1, Ordering::Relaxed);
        if lateness.by > LATE {
            self.late.fetch_add(1, Ordering::Relaxed);
        }
        let us = u64::try_from(lateness.by.as_micros()).unwrap_or(u64::MAX);
        self.lateness_max_us.fetch_max(us, Ordering::Relaxed);
        self.missed.fetch_add(lateness.left_out, Ordering::Relaxed);
    }

    pub(super) fn error(&self, text: impl FnOnce() -> String) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.len() < ERROR_TEXTS_MAX {
            texts.push(text());
        }
    }

    pub(super) fn left_out(&self, what: impl fmt::Display) {
        let what = what.to_string();
        let mut all = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < LEFT_OUT_MAX || all.contains_key(&what) {
            *all.entry(what).or_default() += 1;
        }
    }

    pub(super) fn done(&self, users: u32, stopped: bool) -> Done {
        let all = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        let left_out = all.iter().map(|(what, times)| format!("{what} ({times} times)")).collect();
        Done {
            users,
            joined: self.joined.load(Ordering::Relaxed),
            iterations: self.iterations.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
            lateness_max: Duration::from_micros(self.lateness_max_us.load(Ordering::Relaxed)),
            missed: self.missed.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            first_errors: self.texts.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            left_out,
            stopped,
        }
    }
}
