//! Lockout: after too many failed sign-ins a name is refused for a while.
//!
//! Names that nobody has are counted alike, so that nothing can be learned from it. Everything is
//! in memory and forgotten at a restart.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use note::TimeDate;
use parking_lot::Mutex;

use crate::types::{LockedOut, Options};

/// Names and addresses that are counted; the oldest half is forgotten when it is full.
const COUNTED_MAX: usize = 65_536;
/// Failures from all addresses together, as a multiple of those from one.
const EVERYWHERE: u32 = 10;
/// Longest name that is kept for people, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// Whom failures are counted for: somebody the directory knows, or a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Known(note::Unid),
    Nobody(String),
}

type Key = (Who, Option<Option<IpAddr>>);

/// The counts.
#[derive(Default)]
pub(crate) struct Lockout(Mutex<HashMap<Key, Tally>>);

struct Tally {
    failures: u32,
    /// Of the first one that counts.
    since: TimeDate,
    last: TimeDate,
    until: Option<TimeDate>,
    name: String,
}

impl Who {
    /// A name that nobody has, cut to a bounded length.
    pub(crate) fn nobody(key: &str) -> Who {
        Who::Nobody(key[..key.floor_char_boundary(NAME_BYTES_MAX)].to_owned())
    }
}

/// The pair of name and address, and the name from everywhere.
fn keys(who: &Who, address: Option<IpAddr>) -> [Key; 2] {
    [(who.clone(), Some(address.map(network))), (who.clone(), None)]
}

/// An address that somebody has alone: of IPv6 the 64 bits that a network is given.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let bits = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(bits))
        }
        address => address,
    }
}

impl Lockout {
    /// Until when sign-in is refused, if it is.
    pub(crate) fn until(
        &self,
        who: &Who,
        address: Option<IpAddr>,
        now: TimeDate,
    ) -> Option<TimeDate> {
        let tallies = self.0.lock();
        if tallies.is_empty() {
            return None;
        }
        let found = keys(who, address).into_iter().filter_map(|key| tallies.get(&key)?.until);
        found.filter(|until| *until > now).max()
    }

    /// Counts a failure. `Some`: with this one sign-in is refused from now on.
    pub(crate) fn failed(
        &self,
        (who, name): (&Who, &str),
        address: Option<IpAddr>,
        options: &Options,
        now: TimeDate,
    ) -> Option<TimeDate> {
        if options.lockout_failures == 0 {
            return None;
        }
        let window = i64::from(options.lockout_minutes.max(1)) * 60;
        let until = now.plus_seconds(window);
        let limits = [1, EVERYWHERE].map(|times| options.lockout_failures.saturating_mul(times));
        let mut locked = None;
        let mut tallies = self.0.lock();
        if tallies.len() + 2 > COUNTED_MAX {
            shrink(&mut tallies);
        }
        for (key, limit) in keys(who, address).into_iter().zip(limits) {
            let tally = tallies.entry(key).or_insert_with(|| Tally::new(now));
            if now.plus_seconds(-window) > tally.since || now < tally.since {
                *tally = Tally::new(now);
            }
            tally.failures += 1;
            tally.last = now;
            tally.name = name[..name.floor_char_boundary(NAME_BYTES_MAX)].to_owned();
            if tally.failures >= limit {
                locked = if tally.until.is_none() { Some(until) } else { locked };
                tally.until = Some(until);
            }
        }
        locked
    }

    /// The right password was given: failures from this address are forgotten.
    pub(crate) fn succeeded(&self, who: &Who, address: Option<IpAddr>) {
        let mut tallies = self.0.lock();
        if !tallies.is_empty() {
            tallies.remove(&(who.clone(), Some(address.map(network))));
        }
    }

    /// Those who are locked out now.
    pub(crate) fn list(&self, now: TimeDate) -> Vec<LockedOut> {
        let tallies = self.0.lock();
        let locked = tallies.iter().filter_map(|((_, address), tally)| {
            let until = tally.until.filter(|until| *until > now)?;
            let (name, failures) = (tally.name.clone(), tally.failures);
            Some(LockedOut { name, address: address.flatten(), failures, until })
        });
        let mut locked: Vec<LockedOut> = locked.collect();
        locked.sort_by(|a, b| (&a.name, a.address).cmp(&(&b.name, b.address)));
        locked
    }

    /// Forgets the failures of somebody, or all; gives how many were locked out.
    pub(crate) fn clear(&self, who: Option<&Who>, now: TimeDate) -> usize {
        let mut cleared = 0;
        self.0.lock().retain(|(found, _), tally| {
            let meant = who.is_none_or(|who| who == found);
            let locked = tally.until.is_some_and(|until| until > now);
            cleared += usize::from(meant && locked);
            !meant
        });
        cleared
    }
}

impl Tally {
    fn new(now: TimeDate) -> Tally {
        Tally { failures: 0, since: now, last: now, until: None, name: String::new() }
    }
}

/// Forgets the half that failed longest ago.
fn shrink(tallies: &mut HashMap<Key, Tally>) {
    let mut times: Vec<TimeDate> = tallies.values().map(|tally| tally.last).collect();
    times.sort_unstable();
    let Some(middle) = times.get(times.len() / 2).copied() else { return };
    tallies.retain(|_, tally| tally.last > middle);
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: TimeDate = TimeDate(1_000_000_000_000);

    fn options() -> Options {
        Options { lockout_failures: 3, lockout_minutes: 10, ..Options::default() }
    }

    fn fail(lockout: &Lockout, who: &Who, address: u8, seconds: i64) -> bool {
        let address = Some(IpAddr::from([10, 0, 0, address]));
        lockout.failed((who, "x"), address, &options(), AT.plus_seconds(seconds)).is_some()
    }

    fn locked(lockout: &Lockout, who: &Who, address: u8, seconds: i64) -> bool {
        let address = Some(IpAddr::from([10, 0, 0, address]));
        lockout.until(who, address, AT.plus_seconds(seconds)).is_some()
    }

    #[test]
    fn too_many_failures_from_one_address_lock_that_pair_for_a_while() {
        let lockout = Lockout::default();
        let ada = Who::Known(note::Unid([1; 16]));
        assert!(!fail(&lockout, &ada, 1, 0) && !fail(&lockout, &ada, 1, 1));
        assert!(!locked(&lockout, &ada, 1, 2));
        assert!(fail(&lockout, &ada, 1, 2));
        assert!(locked(&lockout, &ada, 1, 3) && !locked(&lockout, &ada, 2, 3));
        assert!(!locked(&lockout, &Who::nobody("eve"), 1, 3));
        assert_eq!(lockout.list(AT)[0].failures, 3);
        assert!(!locked(&lockout, &ada, 1, 602));
        assert!(!fail(&lockout, &ada, 1, 700), "counting begins anew");
    }

    #[test]
    fn old_failures_do_not_count_and_a_success_forgets() {
        let lockout = Lockout::default();
        let who = Who::nobody("ghost");
        assert!(!fail(&lockout, &who, 1, 0) && !fail(&lockout, &who, 1, 300));
        assert!(!fail(&lockout, &who, 1, 700));
        assert!(!fail(&lockout, &who, 1, 701));
        lockout.succeeded(&who, Some(IpAddr::from([10, 0, 0, 1])));
        assert!(!fail(&lockout, &who, 1, 702) && !fail(&lockout, &who, 1, 703));
        assert!(fail(&lockout, &who, 1, 704));
    }

    #[test]
    fn guessing_from_many_addresses_locks_the_name_and_an_administrator_clears_it() {
        let lockout = Lockout::default();
        let who = Who::nobody("ada");
        let last = (0..30).map(|n| fail(&lockout, &who, n as u8, 0)).collect::<Vec<_>>();
        assert!(last[29] && !last[..29].contains(&true));
        assert!(locked(&lockout, &who, 200, 1));
        assert_eq!(lockout.clear(Some(&Who::nobody("bob")), AT), 0);
        assert_eq!(lockout.clear(Some(&who), AT), 1);
        assert!(!locked(&lockout, &who, 200, 1));
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let lockout = Lockout::default();
        let who = Who::nobody("ada");
        let from = |host: u16| Some(IpAddr::from([0x2001, 0xdb8, 0, 7, 0, 0, 0, host]));
        for host in 1..=3 {
            lockout.failed((&who, "ada"), from(host), &options(), AT);
        }
        assert!(lockout.until(&who, from(9), AT).is_some());
        let mapped = "::ffff:10.0.0.1".parse().unwrap();
        assert_eq!(network(mapped), IpAddr::from([10, 0, 0, 1]));
    }

    #[test]
    fn memory_is_bounded() {
        let lockout = Lockout::default();
        for n in 0..40_000_u32 {
            fail(&lockout, &Who::nobody(&n.to_string()), 1, i64::from(n));
        }
        assert!(lockout.0.lock().len() <= COUNTED_MAX);
    }
}
