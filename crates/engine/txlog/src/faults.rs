//! Disks for tests: one that loses power, one that fails, one that counts.

mod counting;
mod dice;
mod failing;
mod memory;

pub use counting::{CountingDisk, Counts};
pub use dice::Dice;
pub use failing::{FailingDisk, Operation};
pub use memory::MemoryDisk;
