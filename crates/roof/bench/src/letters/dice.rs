//! Seeded randomness: the same seed and person give the same actions, recipients and letters on
//! every machine.

/// The randomness of one person (xoshiro256++, seeded by splitmix64).
#[derive(Debug, Clone)]
pub struct Dice {
    state: [u64; 4],
}

/// One step of splitmix64.
fn split(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Dice {
    /// The dice of person `person` under `seed`.
    #[must_use]
    pub fn of(seed: u64, person: u32) -> Self {
        let mut start = seed;
        let mut start = split(&mut start) ^ u64::from(person).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Self { state: std::array::from_fn(|_| split(&mut start)) }
    }

    /// 64 random bits.
    pub fn word(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let word = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        word
    }

    /// A number in `0..n`; 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(n)) >> 64) as u64
    }

    /// A number in `first..=last`; `first` when that is empty.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first.saturating_add(self.below(last.saturating_sub(first).saturating_add(1)))
    }

    /// A number from 0 up to, not including, 1.
    pub fn share(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability (0 to 1).
    pub fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }
}
