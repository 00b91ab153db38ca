//! Whose password is checked next: in turn by address, and within an address by name, so that a
//! flood of guesses delays itself and not the others.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::limits::Source;

/// Longest wait for a turn.
const TURN_WAIT: Duration = Duration::from_secs(30);
/// Sign-ins that wait at once.
const WAITING_MAX: usize = 4_096;
/// Of those, of one address.
const WAITING_EACH_MAX: usize = 1_024;
/// A name is told apart by so many bytes.
const NAME_BYTES: usize = 128;

/// The turn to have a password checked; the next one is called when it is dropped.
#[derive(Debug)]
pub struct Turn(Option<Arc<Turns>>);

#[derive(Debug)]
pub(crate) struct Turns(Mutex<Queue>);

#[derive(Debug)]
struct Queue {
    free: usize,
    waiting: usize,
    /// Who is called next stands in front.
    sources: VecDeque<(Option<Source>, Names)>,
}

/// The names of one address, the next in front.
#[derive(Debug, Default)]
struct Names {
    waiting: usize,
    names: VecDeque<(String, VecDeque<oneshot::Sender<Turn>>)>,
}

impl Turns {
    pub(crate) fn new(at_once: usize) -> Arc<Turns> {
        Arc::new(Turns(Mutex::new(Queue { free: at_once, waiting: 0, sources: VecDeque::new() })))
    }

    /// Waits for a turn. `None` when it took too long, or too many wait.
    pub(crate) async fn wait(
        self: &Arc<Turns>,
        source: Option<Source>,
        name: &str,
    ) -> Option<Turn> {
        let called = {
            let mut queue = self.0.lock();
            if queue.free > 0 {
                queue.free -= 1;
                return Some(Turn(Some(self.clone())));
            }
            queue.join(source, name)?
        };
        tokio::time::timeout(TURN_WAIT, called).await.ok()?.ok()
    }

    /// A turn ended: somebody who still waits is called.
    fn next(self: Arc<Turns>) {
        let mut queue = self.0.lock();
        while let Some(caller) = queue.call() {
            match caller.send(Turn(Some(self.clone()))) {
                Ok(()) => return,
                // It does not wait any more; this turn is given to another one.
                Err(mut unwanted) => unwanted.0 = None,
            }
        }
        queue.free += 1;
    }

    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.0.lock().free
    }
}

impl Queue {
    fn join(&mut self, source: Option<Source>, name: &str) -> Option<oneshot::Receiver<Turn>> {
        if self.waiting >= WAITING_MAX {
            return None;
        }
        let at = self.sources.iter().position(|(known, _)| *known == source);
        let at = at.unwrap_or_else(|| {
            self.sources.push_back((source, Names::default()));
            self.sources.len() - 1
        });
        let names = &mut self.sources[at].1;
        if names.waiting >= WAITING_EACH_MAX {
            return None;
        }
        let key: String = name.chars().take(NAME_BYTES).flat_map(char::to_lowercase).collect();
        let (call, called) = oneshot::channel();
        match names.names.iter_mut().find(|(known, _)| *known == key) {
            Some((_, waiting)) => waiting.push_back(call),
            None => names.names.push_back((key, VecDeque::from([call]))),
        }
        names.waiting += 1;
        self.waiting += 1;
        Some(called)
    }

    /// Takes the next out: of the next address its next name.
    fn call(&mut self) -> Option<oneshot::Sender<Turn>> {
        let (source, mut names) = self.sources.pop_front()?;
        let caller = names.names.pop_front().and_then(|(name, mut waiting)| {
            let caller = waiting.pop_front();
            if !waiting.is_empty() {
                names.names.push_back((name, waiting));
            }
            caller
        });
        names.waiting -= 1;
        self.waiting -= 1;
        if !names.names.is_empty() {
            self.sources.push_back((source, names));
        }
        caller
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn source(last: u8) -> Option<Source> {
        Some(Source::from(IpAddr::from([192, 0, 2, last])))
    }

    /// Lets tasks run until they all wait.
    async fn settle() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_flood_delays_itself_and_not_the_others() {
        let turns = Turns::new(1);
        let order = Arc::new(Mutex::new(Vec::new()));
        let first = turns.wait(source(1), "x").await.unwrap();
        let mut tasks = Vec::new();
        let mut ask = |from: u8, name: &'static str| {
            let (turns, order) = (turns.clone(), order.clone());
            tasks.push(tokio::spawn(async move {
                let _turn = turns.wait(source(from), name).await.unwrap();
                order.lock().push((from, name));
            }));
        };
        for _ in 0..20 {
            ask(1, "x");
        }
        settle().await;
        ask(2, "ada");
        ask(1, "bob");
        settle().await;
        drop(first);
        settle().await;
        let order = order.lock().clone();
        assert_eq!(order.len(), 22);
        assert!(order[..4].contains(&(2, "ada")) && order[..4].contains(&(1, "bob")), "{order:?}");
        assert_eq!(turns.free(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gave_up_is_passed_over_and_no_turn_is_lost() {
        let turns = Turns::new(1);
        let held = turns.wait(None, "a").await.unwrap();
        assert!(turns.wait(source(1), "late").await.is_none(), "after {TURN_WAIT:?}");
        let (one, two) = (turns.clone(), turns.clone());
        let gone = tokio::spawn(async move { one.wait(source(1), "gone").await });
        let stays = tokio::spawn(async move { two.wait(source(1), "stays").await.is_some() });
        settle().await;
        gone.abort();
        settle().await;
        drop(held);
        assert!(stays.await.unwrap());
        settle().await;
        assert_eq!((turns.free(), turns.0.lock().waiting), (1, 0));
    }

    #[tokio::test]
    async fn those_who_wait_are_bounded() {
        let turns = Turns::new(0);
        let mut kept = Vec::new();
        for number in 0..WAITING_EACH_MAX {
            kept.push(turns.0.lock().join(source(1), &format!("n{number}")).unwrap());
        }
        assert!(turns.0.lock().join(source(1), "more").is_none());
        assert!(turns.0.lock().join(source(2), "other").is_some());
    }
}
