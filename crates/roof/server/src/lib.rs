//! The server: configuration, listeners, worker pool, console, statistics, control socket, the
//! demo domain, and what administrators' commands do with a data directory.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod admin;
mod agenda;
mod check;
mod console;
mod control;
mod demo;
mod descriptors;
mod doors;
mod gate;
mod layout;
mod listen;
mod logging;
mod loops;
mod metrics;
mod minutes;
mod options;
mod pool;
mod process;
mod programs;
pub mod progress;
mod reference;
mod request;
mod server;
mod settings;
mod setup;
mod site;
mod smart_host;
mod stats;
mod table;
mod tasks;
mod tls;

pub use admin::{GROUP_TYPES, care_for, perform};
pub use check::check;
pub use console::{TELLS, Tell, VERBS, Verb, beginnings as console_beginnings};
pub use control::{AskError, Reached, reach};
pub use demo::{
    Credentials, DOMAIN as DEMO_DOMAIN, DemoError, DemoOptions, PORTS as DEMO_PORTS,
    USERS_MAX as DEMO_USERS_MAX, check_place as check_demo_place, make as make_demo,
    settings as demo_settings,
};
pub use layout::{DataDir, Lock};
pub use logging::{remark as log_remark, start as start_log};
pub use process::notify_supervisor;
pub use reference::pages as reference_pages;
pub use request::{
    Care, ImapAccount, MailForm, MailOrigin, MailSecurity, MailWork, QueueDeed, QueueOrder, Reply,
    Request, RuleText, Secret, UserAdd, UserSet, chain,
};
pub use server::{Holding, Network, Outcome, Running, Server, StartError};
pub use settings::{
    Effect, Finding, INI_ROWS, IniRow, KEYS, Key, Kind, Loaded, Meaning, ROWS, Row, Settings,
    SettingsError, Value,
};
pub use setup::{NO_SHORT_NAME, SetupError, SetupOptions, setup, short_name};
pub use site::{Site, SiteError};
pub use table::{columns, harmless, nested};
