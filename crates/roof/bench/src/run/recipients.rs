//! Who gets mail: anybody, or mostly a part of the people.

use crate::letters::Dice;
use crate::workload::Spread;

/// Tries to find one more person that is not yet among the recipients.
const TRIES_MAX: u32 = 64;

/// Chooses recipients.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipients {
    people: u32,
    spread: Option<(u32, f64)>,
}

impl Recipients {
    /// Of `people`; with a spread the first of them get most of the mail.
    pub(super) fn new(people: u32, spread: Option<Spread>) -> Self {
        let hot = |spread: Spread| {
            let hot = (f64::from(people) * spread.people).ceil() as u32;
            (hot.clamp(1, people.max(1)), spread.mail)
        };
        Self { people, spread: spread.map(hot) }
    }

    /// Adds people until there are `count`: all different, and not `author` when there are enough.
    pub(super) fn fill(&self, to: &mut Vec<u32>, count: u32, author: u32, dice: &mut Dice) {
        let others = self.people.saturating_sub(1).max(1);
        let count = count.min(others) as usize;
        let mut tries = 0;
        while to.len() < count && tries < TRIES_MAX * count as u32 {
            let person = self.one(dice);
            tries += 1;
            let alone = self.people == 1;
            if (alone || person != author) && !to.contains(&person) {
                to.push(person);
            }
        }
    }

    fn one(&self, dice: &mut Dice) -> u32 {
        let all = u64::from(self.people.max(1));
        let drawn = match self.spread {
            Some((hot, mail)) if u64::from(hot) < all => {
                if dice.chance(mail) {
                    dice.below(u64::from(hot))
                } else {
                    u64::from(hot) + dice.below(all - u64::from(hot))
                }
            }
            _ => dice.below(all),
        };
        drawn as u32 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_are_different_and_not_the_author() {
        let recipients = Recipients::new(5, None);
        let mut dice = Dice::of(7, 1);
        for _ in 0..200 {
            let mut to = Vec::new();
            recipients.fill(&mut to, 3, 2, &mut dice);
            let mut sorted = to.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), 3, "{to:?}");
            assert!(to.iter().all(|p| (1..=5).contains(p) && *p != 2), "{to:?}");
        }
    }

    #[test]
    fn few_people_are_enough() {
        let mut dice = Dice::of(7, 1);
        for (people, expected) in [(1, 1), (2, 1), (3, 2)] {
            let mut to = Vec::new();
            Recipients::new(people, None).fill(&mut to, 3, 1, &mut dice);
            assert_eq!(to.len(), expected, "{people}");
        }
    }

    #[test]
    fn a_fifth_of_the_people_gets_four_fifths_of_the_mail() {
        let spread = Spread { people: 0.2, mail: 0.8 };
        let recipients = Recipients::new(100, Some(spread));
        let mut dice = Dice::of(7, 1);
        let hot = (0..20_000).filter(|_| recipients.one(&mut dice) <= 20).count();
        assert!((15_700..16_300).contains(&hot), "{hot}");
    }
}
