//! Mail of all kinds while hosts fail at random and the server is started anew in between: at the
//! end everybody has what was for him, or its sender has been told.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use super::transfer::{Fake, said, with_courier};
use super::*;
use crate::{Answer, Trouble};

/// Seeds that are played; `ROUTER_STORM_SEED` plays one alone.
const SEEDS: u64 = 6;
const ROUNDS: usize = 5;
const MESSAGES: usize = 8;
const NAMES: [&str; 5] = ["ada", "bob", "eve", "joe", "kim"];

#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % sides
    }
}

/// What was sent, and so what has to come true.
#[derive(Default)]
struct Expected {
    /// Queue id to the names whose mail files must hold it once.
    local: BTreeMap<note::Unid, BTreeSet<&'static str>>,
    /// Addresses that another host must have.
    taken: BTreeSet<String>,
    /// Addresses that a report must name.
    refused: BTreeSet<String>,
    /// Queue ids of what goes to anybody, and so into the journal.
    journaled: BTreeSet<note::Unid>,
}

/// A host that answers as the dice say; who is refused is refused for good.
fn moody(fake: &Fake, mut dice: Dice) {
    let dice = Mutex::new({
        dice.roll(2);
        dice
    });
    fake.behave(move |got| {
        let mut dice = dice.lock();
        match dice.roll(10) {
            0 => return Err(Trouble { text: "cut".to_owned(), destination: false }),
            1 => return Err(Trouble { text: "421 off".to_owned(), destination: true }),
            2 => panic!("announced"),
            _ => {}
        }
        let answer = |recipient: &Recipient| match recipient.address.as_bytes()[0] {
            b'r' => Answer::Refused(said(550, "5.1.1")),
            _ if dice.roll(3) == 0 => Answer::NotNow(said(451, "4.3.0")),
            _ => Answer::Taken { reports: true },
        };
        Ok(got.recipients.iter().map(answer).collect())
    });
}

fn deposit(place: &Place, dice: &mut Dice, number: &mut usize, expected: &mut Expected) {
    let (mut to, mut local) = (Vec::new(), BTreeSet::new());
    for _ in 0..=dice.roll(5) {
        *number += 1;
        match dice.roll(6) {
            0 => {
                to.push("team@demo.test".to_owned());
                local.extend(["bob", "eve"]);
            }
            1 => {
                let name = NAMES[1 + dice.roll(4)];
                to.push(format!("{name}@demo.test"));
                local.insert(name);
            }
            2 => {
                let address = format!("ghost{number}@demo.test");
                expected.refused.insert(address.clone());
                to.push(address);
            }
            kind => {
                let refused = kind == 5;
                let host = ["one", "two", "three"][dice.roll(3)];
                let address = format!("{}{number}@{host}.hop", if refused { "r" } else { "x" });
                let all = if refused { &mut expected.refused } else { &mut expected.taken };
                all.insert(address.clone());
                to.push(address);
            }
        }
    }
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    let written = place.router.deposit(letter("ada@demo.test", &to)).unwrap();
    place.store.durable(written.lsn).wait().unwrap();
    expected.local.insert(written.value.0, local);
    if to.iter().any(|address| !address.starts_with("ghost")) {
        expected.journaled.insert(written.value.0);
    }
}

fn journaled(fake: &Fake) -> RouterOptions {
    RouterOptions { journal: Some(super::journal::into_database()), ..with_courier(fake) }
}

/// The server ends without a word and is started anew.
fn crash(place: Place, fake: &Fake) -> Place {
    let Place { router, directory, store, dir } = place;
    router.stop();
    drop((router, directory, store));
    let (store, directory) = open(dir.path());
    let router = Router::start(store.clone(), directory.clone(), journaled(fake)).unwrap();
    Place { router, directory, store, dir }
}

fn check(place: &Place, fake: &Fake, expected: &Expected, seed: u64) {
    for name in &NAMES[1..] {
        let mut got: Vec<_> = unids(&inbox(&place.store, name));
        got.sort_unstable();
        let wanted = expected.local.iter().filter(|(_, names)| names.contains(name));
        let wanted: Vec<_> = wanted.map(|(unid, _)| *unid).collect();
        assert_eq!(got, wanted, "seed {seed}: {name}");
    }
    let reports = inbox(&place.store, "ada");
    let reports: Vec<String> = reports.iter().map(|note| text(&place.store, note)).collect();
    let lines = reports.iter().flat_map(|report| report.lines());
    let named = lines.filter_map(|line| line.strip_prefix("Final-Recipient: rfc822; "));
    let mut named: Vec<String> = named.map(str::to_owned).collect();
    named.sort();
    let refused: Vec<String> = expected.refused.iter().cloned().collect();
    assert_eq!(named, refused, "seed {seed}: each failure is told once");
    let seen: BTreeSet<String> = fake.seen().into_iter().flat_map(|(_, to)| to).collect();
    let lost: Vec<_> = expected.taken.iter().filter(|address| !seen.contains(*address)).collect();
    assert!(lost.is_empty(), "seed {seed}: {lost:?} never left");
    assert_eq!(left(place), [], "seed {seed}");
    let copies = unids(&super::journal::journal(&place.store));
    let apart: BTreeSet<_> = copies.iter().copied().collect();
    assert!(apart.is_superset(&expected.journaled), "seed {seed}: journaled");
    let all = expected.journaled.len() + reports.len();
    assert_eq!((copies.len(), apart.len()), (all, all), "seed {seed}: journaled once");
}

#[test]
fn nobody_is_forgotten_and_nobody_is_told_twice() {
    let one = std::env::var("ROUTER_STORM_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in one.map_or(0..SEEDS, |seed: u64| seed..seed + 1) {
        let (fake, mut dice) = (Fake::default(), Dice(seed.wrapping_mul(7_919).wrapping_add(1)));
        let mut place = super::transfer::far_place(&NAMES, &fake);
        place.router.configure(journaled(&fake)).unwrap();
        group(&place.directory, "Team", &["bob", "eve"]);
        let (mut expected, mut number) = (Expected::default(), 0);
        for _ in 0..ROUNDS {
            moody(&fake, dice.clone());
            for host in ["one.hop", "two.hop", "three.hop"] {
                fake.set_down(host, dice.roll(3) == 0);
            }
            for _ in 0..MESSAGES {
                deposit(&place, &mut dice, &mut number, &mut expected);
            }
            if dice.roll(2) == 0 {
                place.router.wait_idle();
                place.router.route_now(None);
            }
            place = crash(place, &fake);
        }
        for host in ["one.hop", "two.hop", "three.hop"] {
            fake.set_down(host, false);
        }
        fake.behave(|got| {
            let refused = |recipient: &Recipient| recipient.address.starts_with('r');
            let answer = |recipient: &Recipient| match refused(recipient) {
                true => Answer::Refused(said(550, "5.1.1")),
                false => Answer::Taken { reports: true },
            };
            Ok(got.recipients.iter().map(answer).collect())
        });
        for _ in 0..4 {
            // Those that ended threads twice are held: an administrator lets them go.
            let held = Filter { state: Some(QueueState::Held), text: None };
            for message in place.router.messages(&held, 1_000).unwrap() {
                place.router.release(message.id).unwrap();
            }
            place.router.route_now(None);
            place.router.wait_idle();
        }
        check(&place, &fake, &expected, seed);
    }
}
