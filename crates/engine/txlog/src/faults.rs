//! Disks for tests: one that loses power, and others that stand before another disk: one that
//! fails, one that counts, one of two parts, one with a gate.

mod counting;
mod dice;
mod failing;
mod gated;
mod memory;
mod split;
mod watched;

pub use counting::{Counters, CountingDisk, Counts};
pub use dice::Dice;
pub use failing::{FailingDisk, Plan};
pub use gated::{Gate, GatedDisk};
pub use memory::MemoryDisk;
pub use split::{Mounted, SplitDisk};
pub use watched::{Call, Operation, Watch, Watched};
