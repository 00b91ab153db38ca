//! A load driver in the manner of NotesBench: many people who read, write and delete mail with the
//! pauses of people, a model of what every mailbox must then hold, and a report of what it cost the
//! server. It speaks only wire protocols and can be pointed at any mail server.

pub mod args;
pub mod ledger;
pub mod letters;
pub mod meters;
pub mod outcome;
pub mod page;
pub mod published;
pub mod run;
pub mod target;
pub mod variant;
pub mod wire;
pub mod workload;
