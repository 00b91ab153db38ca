//! The SMTP door: takes mail in (RFC 5321) from other servers and from the mail programs of the
//! server's own people (RFC 6409). It verifies recipients, reads the message, hands it to the
//! router and answers 250 only when the transaction log holds it. And it carries mail out to other
//! hosts, as the router's courier.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod accept;
mod body;
mod cmd;
mod courier;
mod data;
mod door;
mod grammar;
mod reply;
mod session;
mod settings;
mod stats;
mod trace;

pub use courier::{Courier, CourierError, CourierSettings, Route, TlsMode};
pub use door::{Door, Listener, Parts};
pub use settings::Settings;
pub use stats::Stats;
