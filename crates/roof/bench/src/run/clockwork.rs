//! When things happen: pauses divided by the speed, the phase in which a person joins, and how
//! late the driver itself wakes up.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::letters::Dice;

/// A wait ended because the run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending;

/// Seconds of the workload as time of this run.
pub(super) fn scaled(seconds: f64, speed: f64) -> Duration {
    Duration::from_secs_f64((seconds / speed).clamp(0.0, 1e9))
}

/// A pause between its least and its most, in seconds of the workload.
pub(super) fn draw(pause_s: [f64; 2], dice: &mut Dice) -> f64 {
    let [least, most] = pause_s;
    least + (most - least) * dice.share()
}

/// Sleeps until `at`; gives by how much the driver woke up too late.
pub(super) async fn rest(
    at: Instant,
    ending: &mut watch::Receiver<bool>,
) -> Result<Duration, Ending> {
    if *ending.borrow_and_update() {
        return Err(Ending);
    }
    if at <= Instant::now() {
        return Ok(Duration::ZERO);
    }
    tokio::select! {
        () = sleep_until(at) => Ok(Instant::now().saturating_duration_since(at)),
        _ = ending.changed() => Err(Ending),
    }
}

/// Where a person is within an iteration, in seconds of the workload. Who joins does so anywhere
/// within one, as if it had begun before: so the load is even from the first minute on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phase {
    /// What counts as past.
    past_s: f64,
    /// How far the steps are.
    at_s: f64,
}

impl Phase {
    pub(super) fn new(past_s: f64) -> Self {
        Self { past_s, at_s: 0.0 }
    }

    /// Whether the step at this place is past.
    pub(super) fn is_past(&self) -> bool {
        self.at_s < self.past_s
    }

    /// Goes on by a pause, and gives what of it is still to come, in seconds.
    pub(super) fn pass(&mut self, seconds: f64) -> f64 {
        let before = self.at_s;
        self.at_s += seconds;
        self.at_s - before.max(self.past_s.min(self.at_s))
    }
}

/// The beginnings of a person's iterations: fixed, so that who is late goes on at once. Who is
/// later than a whole iteration leaves out what cannot be made up for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beat {
    next: Instant,
    period: Duration,
}

/// How late an iteration begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lateness {
    pub(super) by: Duration,
    pub(super) left_out: u64,
}

impl Beat {
    pub(super) fn new(first_end: Instant, period: Duration) -> Self {
        Self { next: first_end, period }
    }

    /// When the next iteration begins.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Begins it at `now`.
    pub(super) fn begin(&mut self, now: Instant) -> Lateness {
        let by = now.saturating_duration_since(self.next);
        let period = self.period.max(Duration::from_millis(1));
        let left_out = (by.as_nanos() / period.as_nanos()) as u64;
        let steps = u32::try_from(left_out.saturating_add(1)).unwrap_or(u32::MAX);
        self.next += period.saturating_mul(steps);
        Lateness { by, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_leaves_out_what_is_past() {
        let mut phase = Phase::new(25.0);
        let mut seen = Vec::new();
        for pause in [10.0, 10.0, 10.0, 10.0] {
            let past = phase.is_past();
            seen.push((past, phase.pass(pause)));
        }
        assert_eq!(seen, [(true, 0.0), (true, 0.0), (true, 5.0), (false, 10.0)]);
        let mut whole = Phase::new(0.0);
        assert!(!whole.is_past());
        assert_eq!(whole.pass(3.0), 3.0);
    }

    #[test]
    fn who_is_late_goes_on_at_once_and_who_is_too_late_leaves_out() {
        let start = Instant::now();
        let s = Duration::from_secs;
        let mut beat = Beat::new(start, s(10));
        assert_eq!(beat.begin(start), Lateness { by: s(0), left_out: 0 });
        assert_eq!(beat.next(), start + s(10));
        assert_eq!(beat.begin(start + s(14)), Lateness { by: s(4), left_out: 0 });
        assert_eq!(beat.next(), start + s(20));
        assert_eq!(beat.begin(start + s(55)), Lateness { by: s(35), left_out: 3 });
        assert_eq!(beat.next(), start + s(60));
    }

    #[tokio::test]
    async fn a_rest_ends_at_its_time_or_with_the_run() {
        let (ending, mut seen) = watch::channel(false);
        assert_eq!(rest(Instant::now(), &mut seen).await, Ok(Duration::ZERO));
        let far = Instant::now() + Duration::from_secs(3600);
        let (slept, ()) = tokio::join!(rest(far, &mut seen), async {
            let _ = ending.send(true);
        });
        assert_eq!(slept, Err(Ending));
        assert_eq!(rest(far, &mut seen).await, Err(Ending));
    }
}
