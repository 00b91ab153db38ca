//! The shared transaction log: append, group commit, recovery, release of segments.
//!
//! All databases of a server share one sequential log of fixed-length segments. Records are
//! gathered into groups; a group is one write, and one sync makes all groups before it durable.
//! The byte layout is described in `docs/formats/log-segment.md`.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod archive;
mod clock;
mod company;
mod control;
mod disk;
mod error;
mod group;
mod log;
mod lsn;
mod options;
mod record;
mod recover;
mod release;
mod salt;
mod scan;
mod segments;
mod shared;
mod state;
mod waiters;
mod walk;
mod writer;

pub mod faults;
pub mod sync;

pub use clock::{Clock, ManualClock, SystemClock};
pub use disk::{Disk, DiskFile, RealDisk, free_bytes};
pub use error::{AppendError, LogError};
pub use log::Log;
pub use lsn::Lsn;
pub use options::{
    ArchiveReport, ArchiveStatus, Damage, LogOptions, LogStatus, Opened, Space, Style,
};
pub use record::{Head, RecordKind, read_known, read_record};
pub use release::Released;
pub use scan::Payload;
pub use segments::{segment_file_name, segment_of_file_name};
pub use waiters::Durable;
