//! What the server is doing beside its sessions: tasks that run for a while and can be stopped.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use crate::progress::{Pace, Progress, Step};

/// Tasks that may run at once.
const TASKS_MAX: usize = 64;

/// All tasks that run now.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<Board>);

#[derive(Default)]
struct Board {
    next: AtomicU64,
    tasks: Mutex<Vec<Arc<Task>>>,
}

struct Task {
    id: u64,
    name: &'static str,
    what: String,
    begun: Instant,
    step: Mutex<Option<Step>>,
    is_stopped: AtomicBool,
}

/// A row of `show tasks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskInfo {
    pub name: &'static str,
    /// What it was asked to do.
    pub what: String,
    /// How far it is.
    pub step: Option<Step>,
    pub age_s: u64,
}

impl Tasks {
    /// Enters a task; it is listed until the seat is dropped. `None` when too many run.
    pub(crate) fn begin(&self, name: &'static str, what: &str) -> Option<Seat> {
        let mut tasks = self.0.tasks.lock();
        if tasks.len() >= TASKS_MAX {
            return None;
        }
        let task = Arc::new(Task {
            id: self.0.next.fetch_add(1, Ordering::Relaxed),
            name,
            what: what.to_owned(),
            begun: Instant::now(),
            step: Mutex::default(),
            is_stopped: AtomicBool::new(false),
        });
        tasks.push(task.clone());
        Some(Seat { board: self.0.clone(), task })
    }

    /// Those that run, oldest first.
    pub(crate) fn list(&self) -> Vec<TaskInfo> {
        let tasks = self.0.tasks.lock();
        let info = |task: &Arc<Task>| TaskInfo {
            name: task.name,
            what: task.what.clone(),
            step: task.step.lock().clone(),
            age_s: task.begun.elapsed().as_secs(),
        };
        tasks.iter().map(info).collect()
    }

    /// Asks the tasks of a name (none: every task) to stop in order; how many were asked.
    pub(crate) fn stop(&self, name: Option<&str>) -> usize {
        let tasks = self.0.tasks.lock();
        let meant = tasks.iter().filter(|task| name.is_none_or(|name| name == task.name));
        meant.map(|task| task.is_stopped.store(true, Ordering::Relaxed)).count()
    }
}

/// A task's entry among the [`Tasks`].
pub(crate) struct Seat {
    board: Arc<Board>,
    task: Arc<Task>,
}

impl Seat {
    /// Where the task tells how far it is; `other` hears of it too, and may stop it as well.
    pub(crate) fn with<'a>(&'a self, other: &'a mut dyn Progress) -> Heard<'a> {
        Heard { task: &self.task, other, pace: Pace::default() }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.board.tasks.lock().retain(|task| task.id != self.task.id);
    }
}

/// Progress of a task.
pub(crate) struct Heard<'a> {
    task: &'a Task,
    other: &'a mut dyn Progress,
    pace: Pace,
}

impl Heard<'_> {
    fn answer(&self, other: ControlFlow<()>) -> ControlFlow<()> {
        match self.task.is_stopped.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => other,
        }
    }
}

impl Progress for Heard<'_> {
    fn step(&mut self, what: &str, done: u64, total: u64) -> ControlFlow<()> {
        if self.pace.is_due() {
            *self.task.step.lock() = Some(Step::new(what, done, total));
        }
        let other = self.other.step(what, done, total);
        self.answer(other)
    }

    fn look(&mut self) -> ControlFlow<()> {
        let other = self.other.look();
        self.answer(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Unheard;

    #[test]
    fn a_task_is_listed_and_stopped_by_its_name() {
        let tasks = Tasks::default();
        let (mut one, mut two) = (Unheard, Unheard);
        let compact = tasks.begin("Compact", "mail").unwrap();
        let fixup = tasks.begin("Fixup", "names.nsf").unwrap();
        let (mut first, mut second) = (compact.with(&mut one), fixup.with(&mut two));
        assert!(first.step("mail/ada.nsf", 1, 2).is_continue());
        let listed = tasks.list();
        assert_eq!(listed[0].step, Some(Step::new("mail/ada.nsf", 1, 2)));
        assert_eq!(tasks.stop(Some("Compact")), 1);
        assert!(first.look().is_break() && first.step("x", 2, 2).is_break());
        assert!(second.look().is_continue());
        drop((compact, fixup));
        assert!(tasks.list().is_empty());
    }

    #[test]
    fn their_number_is_bounded() {
        let tasks = Tasks::default();
        let seats: Vec<Seat> = (0..TASKS_MAX).map_while(|_| tasks.begin("Compact", "")).collect();
        assert_eq!(seats.len(), TASKS_MAX);
        assert!(tasks.begin("Compact", "").is_none());
        assert_eq!(tasks.stop(None), TASKS_MAX);
    }
}
