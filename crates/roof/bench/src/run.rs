//! The run: people join on a ramp, work with pauses, and are counted in the steady window.
//!
//! Each person is one task that lives until the end of the run. All that it draws by lot comes from
//! (seed, person), so the same seed gives the same actions, recipients and letters. Whatever is
//! about to change a mailbox is told to the [`Ledger`] before, and what the server answered after.

mod acts;
mod clockwork;
mod desk;
mod fault;
mod limits;
mod maildrop;
mod peak;
mod person;
mod populate;
mod recipients;
mod replica;
mod sending;
mod tally;
#[cfg(test)]
mod tests;
mod web;
mod world;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::ledger::Ledger;
use crate::letters::{Dice, PoolOptions};
use crate::meters::Meters;
use crate::target::Target;
use crate::wire::Timeouts;
use crate::workload::{Via, Workload};
use person::Person;
use world::World;

pub use fault::Trouble;
pub use limits::raise_open_files;
pub use peak::{Peak, PeakOptions, Probe, Verdict, peak};
pub use populate::{Filled, Populate, populate};
pub use tally::{Done, ERROR_TEXTS_MAX};
pub use world::check;

/// What keeps the lots of joining apart from the lots of the people.
const JOINING: u32 = 0;
/// Time beyond the longest call in which everybody has to be gone at the end.
const FAREWELL: Duration = Duration::from_secs(10);

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What people do.
    pub workload: Arc<Workload>,
    /// Over which door.
    pub via: Via,
    /// How many people.
    pub users: u32,
    /// Time in which they join.
    pub ramp: Duration,
    /// Time that counts.
    pub steady: Duration,
    /// By what pauses and periods are divided.
    pub speed: f64,
    /// From which all lots are drawn.
    pub seed: u64,
    /// Names this run in the Message-IDs; another for each run against the same mail files.
    pub run_id: String,
    /// Another share of people with local replicas than that of the workload.
    pub replicas: Option<f64>,
    /// How attachments repeat.
    pub pool: PoolOptions,
    /// How long the clients wait.
    pub timeouts: Timeouts,
}

impl Plan {
    /// The share of the people with a local replica.
    #[must_use]
    pub fn replicas_share(&self) -> f64 {
        self.replicas.unwrap_or(self.workload.replicas).clamp(0.0, 1.0)
    }
}

/// Ends a run early. All clones are one.
#[derive(Debug, Clone)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}

impl Stop {
    /// Nobody asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Asks for the end.
    pub fn ask(&self) {
        self.0.send_replace(true);
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until somebody asks.
    pub async fn wait(&self) {
        let mut seen = self.0.subscribe();
        if seen.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Runs: ramp, steady window, orderly end. What people did is in `meters` and `ledger` afterwards.
///
/// # Errors
/// The plan does not fit the target (a door is missing), or letters cannot be made.
pub async fn run(
    plan: Arc<Plan>,
    target: Arc<Target>,
    meters: Arc<Meters>,
    ledger: Arc<Ledger>,
    stop: Stop,
) -> Result<Done, Trouble> {
    let users = plan.users;
    let world = Arc::new(World::new(plan, target, meters, ledger)?);
    let ending = watch::Sender::new(false);
    let mut people = JoinSet::new();
    let begun = Instant::now();
    let mut stopped = join_all(&world, &ending, &mut people, &stop).await;
    if !stopped {
        stopped = !wait_until(begun + world.plan.ramp, &stop).await;
    }
    if !stopped {
        world.meters.window_start();
        stopped = !wait_until(Instant::now() + world.plan.steady, &stop).await;
        world.meters.window_end();
    }
    ending.send_replace(true);
    say_goodbye(&world, people).await;
    Ok(world.tally.done(users, stopped))
}

/// Lets people join, each at its time on the ramp; gives whether that was stopped.
async fn join_all(
    world: &Arc<World>,
    ending: &watch::Sender<bool>,
    people: &mut JoinSet<()>,
    stop: &Stop,
) -> bool {
    let begun = Instant::now();
    let users = world.plan.users;
    let mut dice = Dice::of(world.plan.seed, JOINING);
    for (rank, number) in order_of_joining(users, &mut dice).into_iter().enumerate() {
        let share = (rank as f64 + dice.share()) / f64::from(users);
        if !wait_until(begun + world.plan.ramp.mul_f64(share), stop).await {
            return true;
        }
        people.spawn(Person::new(world, number, ending.subscribe()).live());
    }
    false
}

/// A shuffle, so that neighbours in the directory do not join one after the other.
fn order_of_joining(users: u32, dice: &mut Dice) -> Vec<u32> {
    let mut order: Vec<u32> = (1..=users).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, dice.below(last as u64 + 1) as usize);
    }
    order
}

/// Waits; gives false when somebody asked for the end.
async fn wait_until(at: Instant, stop: &Stop) -> bool {
    tokio::select! {
        () = sleep_until(at) => !stop.asked(),
        () = stop.wait() => false,
    }
}

/// Everybody finishes the action that they are in. Who hangs is counted as an error.
async fn say_goodbye(world: &World, mut people: JoinSet<()>) {
    let longest = world.plan.timeouts.bulk.max(world.plan.timeouts.call) + FAREWELL;
    let all_gone = async {
        while let Some(gone) = people.join_next().await {
            if let Err(error) = gone {
                world.tally.error(|| format!("a person ended in the middle: {error}"));
            }
        }
    };
    if timeout(longest, all_gone).await.is_err() {
        let left = people.len();
        world.tally.error(|| format!("{left} people did not end within {longest:?}"));
        people.shutdown().await;
    }
}
