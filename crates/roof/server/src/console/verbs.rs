//! The table of verbs.

use super::Act::{self, Long, Quick};
use super::{command, show, tell};

/// One verb.
pub struct Verb {
    /// The words it begins with.
    pub words: &'static str,
    /// What may follow.
    pub arguments: &'static str,
    /// What it does.
    pub help: &'static str,
    pub(super) act: Act,
}

macro_rules! verbs {
    ($($words:literal, $arguments:literal, $act:expr, $help:literal;)*) => {
        /// Every verb.
        pub static VERBS: &[Verb] = &[
            $(Verb { words: $words, arguments: $arguments, help: $help, act: $act },)*
        ];
    };
}

verbs! {
    "show server", "", Quick(show::server),
        "Name, version, uptime, sessions and mail of this server";
    "show tasks", "", Quick(show::tasks),
        "Listeners, worker pool, router and other tasks";
    "show stat", "[GROUP]", Quick(show::stat),
        "Statistics, all or those whose name begins with GROUP";
    "show users", "", Quick(show::users),
        "Who is connected, from where, doing what";
    "show database", "[PATH]", Quick(show::database),
        "Databases with their size and state";
    "show dbcache", "", Quick(show::dbcache),
        "The cache of open databases, and the memory they take";
    "show nlcache", "", Quick(show::nlcache),
        "The cache of names that were looked up";
    "nlcache reset", "", Quick(command::reset_names),
        "Empties the cache of names";
    "show config", "[NAME]", Quick(show::config),
        "Settings with their values";
    "show schedule", "", Quick(show::schedule),
        "What runs at which hour, and when mail is tried again";
    "show performance", "", Quick(show::performance),
        "Transactions, users and mail of the last minutes";
    "show transactions", "", Quick(show::transactions),
        "Jobs of the worker pool: number, least, greatest and average time";
    "show queue", "[TEXT]", Quick(super::queue::list),
        "Messages in mail.box, all or those that name TEXT";
    "load", "TASK [ARGUMENTS]", Long(command::load),
        "Starts a task; Compact, Fixup and UpdAll take databases, directories or lists (none: all)";
    "tell", "TASK VERB", Long(tell::run),
        "Gives a task an order; tell TASK help lists its verbs";
    "restart task", "TASK", Quick(command::restart),
        "Stops a task and starts it again";
    "set config", "NAME=VALUE", Quick(command::set_config),
        "Changes a setting for good (an empty VALUE: back to the default)";
    "reload", "", Quick(command::reload),
        "Reads nelumbo.toml and the certificate again";
    "route", "[DESTINATION]", Quick(super::queue::route),
        "Tries waiting mail now, all or that for a destination";
    "trace", "", Quick(command::trace),
        "Tries the connection to the smart host";
    "dbcache flush", "", Quick(command::flush),
        "Writes every change into the database files and empties the log";
    "dbcache disable", "", Quick(command::disable_cache),
        "Closes databases as soon as nobody uses them, until dbcache enable or a restart";
    "dbcache enable", "", Quick(command::enable_cache),
        "Keeps databases open for their next use, as at the start";
    "dbcache show", "", Quick(show::dbcache),
        "The cache of open databases, and the memory they take";
    "drop", "USER|all", Quick(command::drop_user),
        "Ends the sessions of a user";
    "broadcast", "TEXT", Quick(command::broadcast),
        "Shows a text to everybody who is connected and can be told";
    "quit", "[-y]", Quick(command::quit),
        "Stops the server in order; -y asks nothing";
    "exit", "", Quick(command::leave),
        "Leaves the console";
    "help", "[VERB]", Quick(command::help),
        "This list, or one verb";
}
