//! How much one address, and one user, may have at a time.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use thiserror::Error;

/// Addresses and users that are counted at once; when there are more, those that were quiet for
/// a minute are forgotten, and if none was, all.
const COUNTED_MAX: usize = 20_000;
const MINUTE: Duration = Duration::from_secs(60);

/// What one address or one user may have, at all doors together; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections of one address (of IPv6: of one /64).
    pub connections_per_address: usize,
    /// Signed-in connections of one user.
    pub connections_per_user: usize,
    /// Passwords that one address has checked in a minute; those remembered do not count.
    pub sign_ins_per_minute: u32,
    /// Messages that one user, or without sign-in one address, sends in a minute.
    pub messages_per_minute: u32,
    /// Recipients of those messages.
    pub recipients_per_minute: u32,
    /// Connections from this machine have no limits.
    pub exempt_loopback: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_per_address: 100,
            connections_per_user: 50,
            sign_ins_per_minute: 60,
            messages_per_minute: 300,
            recipients_per_minute: 3_000,
            exempt_loopback: true,
        }
    }
}

/// Which limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TooMany {
    /// Connections of the client's address.
    #[error("too many connections from this address")]
    FromAddress,
    /// Connections of the user.
    #[error("too many connections of this user")]
    OfUser,
    /// Messages in this minute.
    #[error("too many messages in a minute")]
    Messages,
    /// Recipients in this minute.
    #[error("too many recipients in a minute")]
    Recipients,
}

/// Whom a client counts as: its address, of IPv6 the /64 that one customer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source(IpAddr);

impl Source {
    /// `None` for a client without limits: within the process, or on this machine when that is
    /// exempt.
    pub(crate) fn of(peer: Option<SocketAddr>, limits: &Limits) -> Option<Source> {
        let address = peer?.ip().to_canonical();
        (!limits.exempt_loopback || !address.is_loopback()).then(|| Source::from(address))
    }
}

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Source {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let high = u128::from(address) & !u128::from(u64::MAX);
                Source(IpAddr::V6(Ipv6Addr::from(high)))
            }
            address => Source(address),
        }
    }
}

/// Counts per minute and key.
#[derive(Debug)]
pub(crate) struct Rate<K>(HashMap<K, (Instant, u32)>);

impl<K> Default for Rate<K> {
    fn default() -> Rate<K> {
        Rate(HashMap::new())
    }
}

impl<K: Hash + Eq> Rate<K> {
    /// Counts one more; false (and nothing counted) when `most` were in this minute.
    pub(crate) fn spend(&mut self, key: K, most: u32, now: Instant) -> bool {
        if most == 0 {
            return true;
        }
        if self.0.len() >= COUNTED_MAX && !self.0.contains_key(&key) {
            self.0.retain(|_, (since, _)| now.duration_since(*since) < MINUTE);
            if self.0.len() >= COUNTED_MAX {
                self.0.clear();
            }
        }
        let (since, count) = self.0.entry(key).or_insert((now, 0));
        if now.duration_since(*since) >= MINUTE {
            (*since, *count) = (now, 0);
        }
        if *count >= most {
            return false;
        }
        *count += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_refilled_after_a_minute() {
        let (mut rate, start) = (Rate::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let spent = [0, 10, 20, 59, 60, 61].map(|seconds| rate.spend("a", 2, at(seconds)));
        assert_eq!(spent, [true, true, false, false, true, true]);
        assert!(rate.spend("b", 2, start) && rate.spend("a", 0, start));
    }

    #[test]
    fn the_number_of_counted_is_bounded() {
        let (mut rate, start) = (Rate::default(), Instant::now());
        for number in 0..COUNTED_MAX + 10 {
            assert!(rate.spend(number, 1, start));
        }
        assert!(rate.0.len() <= COUNTED_MAX);
    }

    #[test]
    fn one_customer_of_ipv6_is_one_source() {
        let source = |text: &str| Source::of(Some(text.parse().unwrap()), &Limits::default());
        assert_eq!(source("[2001:db8::1]:25"), source("[2001:db8::ffff:2]:26"));
        assert_ne!(source("[2001:db8::1]:25"), source("[2001:db8:0:1::1]:25"));
        assert_eq!(source("[::ffff:192.0.2.1]:1"), source("192.0.2.1:2"));
        assert_eq!((source("127.0.0.1:1"), source("[::1]:1")), (None, None));
        let all = Limits { exempt_loopback: false, ..Limits::default() };
        assert!(Source::of(Some("127.0.0.1:1".parse().unwrap()), &all).is_some());
    }
}
