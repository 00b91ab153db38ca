//! Seeded random numbers, so that a run can be had again.

/// A SplitMix64 sequence.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The sequence of `seed`, told apart by `stream` from the others of the same run.
    pub fn new(seed: u64, stream: u64) -> Dice {
        let mut dice = Dice(seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03));
        dice.next();
        dice
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// Whether something that happens `percent` of the time happens now.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
