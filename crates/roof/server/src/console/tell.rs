//! `tell TASK VERB`: orders to single tasks.

use std::sync::Arc;

use super::Act::{self, Config, Load, Long, Quick};
use super::{Shown, after, command, queue};
use crate::programs;
use crate::progress::Progress;
use crate::server::Running;

/// One order.
pub struct Tell {
    /// The task; `*` stands for every task that can be stopped.
    pub task: &'static str,
    /// The words of the order.
    pub words: &'static str,
    /// What may follow.
    pub arguments: &'static str,
    /// What it does.
    pub help: &'static str,
    act: Act,
}

macro_rules! tells {
    ($($task:literal, $words:literal, $arguments:literal, $act:expr, $help:literal;)*) => {
        /// Every order, beside `tell TASK quit` and `tell TASK help`.
        pub static TELLS: &[Tell] = &[$(Tell {
            task: $task, words: $words, arguments: $arguments, help: $help, act: $act,
        },)*];
    };
}

tells! {
    "Router", "show queues", "", Quick(queue::destinations),
        "Destinations with the mail that waits for them, and mail that waits here";
    "Router", "hold", "ID …", Quick(queue::hold),
        "Keeps messages back";
    "Router", "resend", "ID [RECIPIENT …]", Quick(queue::resend),
        "Routes a message again, to other recipients when some are given";
    "Router", "show messages", "[TEXT]", Quick(queue::list),
        "Messages in mail.box, all or those that name TEXT";
    "Router", "delivery stats", "", Quick(queue::stats),
        "Statistics of mail";
    "Router", "release", "ID …", Quick(queue::release),
        "Routes messages that were held or are dead";
    "Router", "delete", "ID …", Quick(queue::delete),
        "Deletes messages; nobody is told";
    "Router", "update config", "", Quick(command::reload),
        "Reads the settings again";
    "Router", "compact", "", Long(compact_mail_boxes),
        "Compacts every mail.box";
    "SMTP", "show config", "", Config("SMTP", &["listen.s", "smtp.", "limits.", "tls."]),
        "Settings of the door";
    "SMTP", "update config", "", Quick(command::reload),
        "Reads the settings again";
    "IMAP", "show config", "", Config("IMAP", &["listen.imap", "limits.", "tls."]),
        "Settings of the door";
    "IMAP", "refreshconfig", "", Quick(command::reload),
        "Reads the settings again";
    "POP3", "show config", "", Config("POP3", &["listen.pop3", "pop3.", "limits.", "tls."]),
        "Settings of the door";
    "POP3", "refreshconfig", "", Quick(command::reload),
        "Reads the settings again";
    "DAOSMgr", "status", "", Load("DAOSMgr status"),
        "Totals of the object store";
    "DAOSMgr", "prune", "[DAYS]", Load("DAOSMgr prune"),
        "Deletes objects that nobody has referred to for DAYS, or for the time of the settings";
    "DAOSMgr", "resync", "", Load("DAOSMgr resync"),
        "Compares the counts of the object store with the databases, and mends them";
    "DAOSMgr", "verify", "", Load("DAOSMgr verify"),
        "Reads every object and checks it";
}

/// Runs what follows `tell`.
pub(super) fn run(running: &Arc<Running>, line: &str, progress: &mut dyn Progress) -> Shown {
    let (name, order) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let order = order.trim();
    if name.is_empty() {
        return Err("tell whom? Give the name of a task; show tasks lists them".to_owned());
    }
    let program = programs::find(name).ok_or_else(|| format!("there is no task {name}"))?;
    if ["quit", "exit"].contains(&order.to_lowercase().as_str()) {
        return programs::quit(running, program.name);
    }
    let orders = || TELLS.iter().filter(|tell| tell.task == program.name);
    if order.is_empty() || order.eq_ignore_ascii_case("help") {
        let quit = format!("{:36}Stops it", format!("tell {} quit", program.name));
        let lines: Vec<String> = orders().map(self::line).chain([quit]).collect();
        return Ok(lines.join("\n"));
    }
    let found = orders().find_map(|tell| after(order, tell.words).map(|rest| (tell.act, rest)));
    match found {
        Some((act, rest)) => act.run(running, rest, progress),
        None => Err(format!("{name} does not know {order}; tell {name} help lists what it knows")),
    }
}

/// An order as a line of help.
pub(super) fn line(tell: &Tell) -> String {
    let usage = format!("tell {} {} {}", tell.task, tell.words, tell.arguments);
    format!("{:36}{}", usage.trim_end(), tell.help)
}

fn compact_mail_boxes(running: &Arc<Running>, _: &str, progress: &mut dyn Progress) -> Shown {
    let paths = running.site.store.paths();
    let boxes = paths.iter().filter(|path| crate::admin::is_mail_box(path));
    let line = boxes.fold("Compact".to_owned(), |line, path| format!("{line} {path}"));
    programs::load(running, &line, progress)
}
