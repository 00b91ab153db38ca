//! Disks for tests: one that loses power, one that fails, one that counts, one of two parts.

mod counting;
mod dice;
mod failing;
mod memory;
mod split;

pub use counting::{CountingDisk, Counts};
pub use dice::Dice;
pub use failing::{FailingDisk, Operation};
pub use memory::MemoryDisk;
pub use split::SplitDisk;
