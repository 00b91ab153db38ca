//! The search for the most people that the server can bear: the number is doubled until a probe
//! fails, then the gap is halved.

/// How the search goes.
#[derive(Debug, Clone, Copy)]
pub struct PeakOptions {
    /// People of the first probe.
    pub from: u32,
    /// People at the most.
    pub users_max: u32,
    /// The search ends when the gap is this share of the best, such as 0.05.
    pub within: f64,
    /// Probes at the most.
    pub probes_max: u32,
}

/// What a probe said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The server kept the limits.
    Held,
    /// It did not, or something broke, or the driver could not keep up: why.
    Failed(String),
}

/// One probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// People.
    pub users: u32,
    /// What came out.
    pub verdict: Verdict,
}

/// What the search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peak {
    /// The most people with whom a probe held; 0 when none did.
    pub users: u32,
    /// Whether `users_max` held, so that the server may bear more.
    pub at_most: bool,
    /// All probes in their order.
    pub probes: Vec<Probe>,
}

/// Searches. `probe` runs one with so many people.
///
/// # Errors
/// What `probe` could not do at all.
pub async fn peak<E>(
    options: PeakOptions,
    mut probe: impl AsyncFnMut(u32) -> Result<Verdict, E>,
) -> Result<Peak, E> {
    let mut found = Peak { users: 0, at_most: false, probes: Vec::new() };
    let mut next = options.from.clamp(1, options.users_max.max(1));
    let mut broken: Option<u32> = None;
    while (found.probes.len() as u32) < options.probes_max {
        let verdict = probe(next).await?;
        let held = verdict == Verdict::Held;
        found.probes.push(Probe { users: next, verdict });
        if held {
            found.users = found.users.max(next);
            found.at_most = next >= options.users_max;
        } else {
            broken = Some(broken.map_or(next, |known| known.min(next)));
        }
        match following(found.users, broken, &options) {
            Some(users) => next = users,
            None => break,
        }
    }
    Ok(found)
}

/// The number of the next probe; none when the search is at its end.
fn following(held: u32, broken: Option<u32>, options: &PeakOptions) -> Option<u32> {
    let Some(broken) = broken else {
        return (held < options.users_max)
            .then(|| held.saturating_mul(2).clamp(1, options.users_max));
    };
    let gap = broken.saturating_sub(held);
    let enough = (f64::from(held) * options.within).max(1.0);
    (f64::from(gap) > enough).then(|| held + gap / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn search(bears: u32, from: u32, users_max: u32) -> Peak {
        let options = PeakOptions { from, users_max, within: 0.05, probes_max: 40 };
        let probe = async |users: u32| -> Result<Verdict, ()> {
            Ok(if users <= bears { Verdict::Held } else { Verdict::Failed("slow".into()) })
        };
        peak(options, probe).await.unwrap()
    }

    #[tokio::test]
    async fn the_peak_is_found_within_the_gap() {
        for (bears, from, users_max) in [(700, 100, 10_000), (1, 100, 10_000), (99, 100, 400)] {
            let found = search(bears, from, users_max).await;
            assert!(found.users <= bears);
            let gap = f64::from(bears - found.users);
            assert!(gap <= (f64::from(found.users) * 0.05).max(1.0), "{bears}: {}", found.users);
            assert!(!found.at_most);
            assert!(found.probes.len() < 15, "{}", found.probes.len());
        }
    }

    #[tokio::test]
    async fn a_server_that_bears_all_is_not_asked_further() {
        let found = search(u32::MAX, 100, 450).await;
        assert_eq!((found.users, found.at_most), (450, true));
        let users: Vec<u32> = found.probes.iter().map(|probe| probe.users).collect();
        assert_eq!(users, [100, 200, 400, 450]);
    }

    #[tokio::test]
    async fn nobody_at_all_is_an_answer() {
        let found = search(0, 8, 100).await;
        assert_eq!(found.users, 0);
        let users: Vec<u32> = found.probes.iter().map(|probe| probe.users).collect();
        assert_eq!(users, [8, 4, 2, 1]);
    }
}
