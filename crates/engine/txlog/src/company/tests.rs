use std::collections::BinaryHeap;

use super::*;
use crate::faults::Dice;

/// A window that does not end within a test, at any rate.
fn company() -> Company {
    with(3_600_000, 0)
}

fn with(gather_ms: u64, gather_above_per_s: u64) -> Company {
    Company::new(&LogOptions { gather_ms, gather_above_per_s, ..LogOptions::new("/log") })
}

#[test]
fn one_alone_is_never_held_back() {
    for mut company in [company(), with(10, 50)] {
        let mut now = Instant::now();
        for _ in 0..1_000 {
            now += Duration::from_millis(1);
            company.came(0, now);
            assert!(company.open_until(1, now).is_none());
            company.leaves(1);
        }
    }
}

#[test]
fn as_many_are_waited_for_as_lately_shared_a_sync() {
    let (mut company, now) = (company(), Instant::now());
    company.leaves(3);
    for _ in 0..100 {
        company.came(0, now);
        assert!(company.open_until(1, now).is_some());
        assert!(company.open_until(2, now).is_some());
        assert!(company.open_until(3, now).is_none());
        company.leaves(3);
    }
}

#[test]
fn others_who_no_longer_come_are_forgotten() {
    let (mut company, now) = (company(), Instant::now());
    company.leaves(50);
    let mut held_back = 0;
    while company.open_until(1, now).is_some() {
        company.leaves(1);
        held_back += 1;
    }
    assert!((20..80).contains(&held_back), "{held_back}");
}

#[test]
fn a_window_ends_and_can_be_turned_off() {
    let (mut company, now) = (with(10, 0), Instant::now());
    company.leaves(9);
    company.came(0, now);
    let end = now + Duration::from_millis(10);
    assert_eq!(company.open_until(1, now), Some(end));
    assert_eq!(company.open_until(1, end - Duration::from_micros(1)), Some(end));
    assert_eq!(company.open_until(1, end), None);
    company.leaves(2);
    assert!(company.open_until(1, end).is_some());
    let mut off = with(0, 0);
    off.leaves(9);
    off.came(0, now);
    assert!(off.open_until(1, now).is_none());
}

#[test]
fn who_came_lately_is_counted() {
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let mut pace = Pace::default();
    assert_eq!(pace.gap(start), None);
    (0..400).for_each(|number| pace.came(at(number * 5)));
    assert_eq!(pace.gap(at(1_999)), Some(Duration::from_millis(5)));
    assert_eq!(pace.gap(at(3_000)), Some(Duration::from_millis(10)));
    assert_eq!(pace.gap(at(4_000)), None);
    pace.came(at(60_000));
    assert_eq!(pace.gap(at(60_000)), Some(SPAN));
}

/// How long a sync takes.
const SYNC_MICROS: u64 = 800;
/// How long the scenes last. The first seconds, in which the rate becomes known, do not count.
const SCENE_MICROS: u64 = 60_000_000;
const KNOWN_MICROS: u64 = 4_000_000;

/// Those who want syncs, and a log that serves them, in a time of its own.
struct Scene {
    company: Company,
    dice: Dice,
    /// Mean time from the end of somebody's wait to his next one; `None`: he does not come again.
    think_micros: Option<u64>,
    /// When somebody comes; the negative, so that the first is the greatest.
    coming: BinaryHeap<i64>,
    /// When those who wait came.
    waiting: Vec<u64>,
    syncs: u64,
    served: u64,
    waited_micros: u64,
}

/// What a scene came to.
#[derive(Debug)]
struct Figures {
    syncs_per_s: f64,
    served_per_sync: f64,
    mean_wait_ms: f64,
}

impl Scene {
    fn new(company: Company, seed: u64) -> Scene {
        Scene {
            company,
            dice: Dice::new(seed),
            think_micros: None,
            coming: BinaryHeap::new(),
            waiting: Vec::new(),
            syncs: 0,
            served: 0,
            waited_micros: 0,
        }
    }

    fn gap(&mut self, mean_micros: u64) -> u64 {
        let even = (self.dice.below(1 << 32) + 1) as f64 / (1_u64 << 32) as f64;
        (-even.ln() * mean_micros as f64) as u64
    }

    /// Many come independently of each other, `per_s` in all.
    fn independent(company: Company, per_s: u64) -> Figures {
        let mut scene = Scene::new(company, per_s);
        let mut at = 0;
        while at < SCENE_MICROS {
            at += scene.gap(1_000_000 / per_s);
            scene.coming.push(-(at as i64));
        }
        scene.play()
    }

    /// `people` of whom each comes again some time after he was served.
    fn in_turns(company: Company, people: u64, think_micros: u64) -> Figures {
        let mut scene = Scene::new(company, people);
        scene.think_micros = Some(think_micros);
        (0..people).for_each(|number| scene.coming.push(-(number as i64)));
        scene.play()
    }

    /// Lets in who came until `now`.
    fn admit(&mut self, now: u64, served: usize, start: Instant) {
        while let Some(at) = self.coming.peek().map(|at| at.unsigned_abs()).filter(|at| *at <= now)
        {
            self.coming.pop();
            let others = self.waiting.len() + served;
            self.company.came(others, start + Duration::from_micros(at));
            self.waiting.push(at);
        }
    }

    fn play(mut self) -> Figures {
        let start = Instant::now();
        let mut now = 0;
        while now < SCENE_MICROS {
            if self.waiting.is_empty() {
                let Some(next) = self.coming.peek() else { break };
                now = now.max(next.unsigned_abs());
                self.admit(now, 0, start);
            }
            let moment = start + Duration::from_micros(now);
            if let Some(until) = self.company.open_until(self.waiting.len(), moment) {
                let until = until.saturating_duration_since(start).as_micros() as u64;
                now = self.coming.peek().map_or(until, |at| at.unsigned_abs().min(until));
                self.admit(now, 0, start);
                continue;
            }
            self.sync(&mut now, start);
        }
        let seconds = (SCENE_MICROS - KNOWN_MICROS) as f64 / 1e6;
        Figures {
            syncs_per_s: self.syncs as f64 / seconds,
            served_per_sync: self.served as f64 / self.syncs as f64,
            mean_wait_ms: self.waited_micros as f64 / self.served as f64 / 1e3,
        }
    }

    fn sync(&mut self, now: &mut u64, start: Instant) {
        self.company.leaves(self.waiting.len());
        let served = std::mem::take(&mut self.waiting);
        *now += SYNC_MICROS;
        if *now > KNOWN_MICROS {
            self.syncs += 1;
            self.served += served.len() as u64;
            self.waited_micros += served.iter().map(|at| *now - at).sum::<u64>();
        }
        self.admit(*now, served.len(), start);
        if let Some(think) = self.think_micros {
            for _ in &served {
                let at = *now + self.gap(think);
                self.coming.push(-(at as i64));
            }
        }
    }
}

/// Up to the rate nobody is held back; above it the rate holds, as long as the longest wait
/// suffices for that, and no wait is longer than that.
#[test]
fn the_rate_of_syncs_is_held_where_it_can_be() {
    // wanted a second; so many syncs at most; mean wait at most, the sync itself included
    let cases = [
        (10, 11.0, 0.85),
        (40, 41.0, 0.85),
        (50, 53.0, 1.6),
        (65, 57.0, 4.2),
        (80, 58.0, 5.0),
        (100, 66.0, 5.5),
        (400, 125.0, 5.0),
        (3_000, 155.0, 5.0),
    ];
    for (per_s, syncs_per_s, mean_wait_ms) in cases {
        let figures = Scene::independent(with(10, 50), per_s);
        assert!(figures.syncs_per_s < syncs_per_s, "{per_s}: {figures:?}");
        assert!(figures.mean_wait_ms < mean_wait_ms, "{per_s}: {figures:?}");
        let always = Scene::independent(with(10, 0), per_s);
        assert!(figures.mean_wait_ms <= always.mean_wait_ms, "{per_s}: {always:?}");
    }
}

/// Who comes again after each answer is waited for together with the others, and is not kept when
/// they are all there.
#[test]
fn a_round_of_people_shares_its_syncs() {
    // people, their pause; so many of them share a sync at least; mean wait at most
    let cases = [
        (1, 100, 1.0, 0.81),
        (2, 500, 1.9, 1.2),
        (8, 500, 7.5, 1.8),
        (64, 2_000, 55.0, 7.5),
        (64, 20_000, 18.0, 5.5),
    ];
    for (people, pause_micros, served_per_sync, mean_wait_ms) in cases {
        let figures = Scene::in_turns(with(10, 50), people, pause_micros);
        assert!(figures.served_per_sync >= served_per_sync, "{people}: {figures:?}");
        assert!(figures.mean_wait_ms < mean_wait_ms, "{people}: {figures:?}");
    }
}
