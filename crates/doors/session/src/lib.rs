//! What the sessions of every door share: the connection as a [`Wire`], the way to the worker
//! [`Pool`], the [`Budget`] of bytes in flight, the [`Sessions`] of a door in numbers, the
//! [`Registry`] of who is connected, the [`Stopping`] signal, and text as it is on its way. It
//! knows no protocol.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod ahead;
mod budget;
mod limits;
mod plain;
mod pool;
mod registry;
mod sessions;
mod stopping;
mod turns;
mod wire;

pub use budget::{Budget, Taken};
pub use limits::{Limits, TooMany};
pub use plain::{PLAIN_BYTES, is_plain};
pub use pool::{Broken, Job, Pool, Weight, run};
pub use registry::{Registry, Seat, SeatInfo};
pub use sessions::{Entered, Opening, Sessions};
pub use stopping::{Stopper, Stopping, stopping};
pub use turns::Turn;
pub use wire::{Wire, WireError};
