//! Tasks by the names of the field: what each of them is here, and how it is started and stopped.

mod care;
mod objects;

use std::sync::Arc;

use crate::doors;
use crate::progress::{Progress, Unheard};
use crate::server::Running;
use crate::settings::{Key, Settings};

/// What came of it, for people.
pub(crate) type Told = Result<String, String>;

/// Does the work of a task that ends by itself.
pub(crate) type Work = fn(&Running, &str, &mut dyn Progress) -> Told;

/// One task.
pub(crate) struct Program {
    /// Its name.
    pub name: &'static str,
    /// What it is here.
    pub kind: Kind,
}

/// What a task is here.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Lets clients in; can be stopped and started.
    Door,
    /// Routes mail; can be stopped and started.
    Router,
    /// Does something and ends.
    Work(Work),
    /// Nothing to start, for this reason.
    Moot(&'static str),
}

impl Program {
    /// Whether there is nothing to start.
    pub(crate) fn is_moot(&self) -> bool {
        matches!(self.kind, Kind::Moot(_))
    }
}

const ABSENT: &str = "this server has no such task";
const ITSELF: &str = "the server does this by itself";

const fn program(name: &'static str, kind: Kind) -> Program {
    Program { name, kind }
}

/// Every task whose name is known.
pub(crate) static PROGRAMS: &[Program] = &[
    program("Router", Kind::Router),
    program("SMTP", Kind::Door),
    program("IMAP", Kind::Door),
    program("POP3", Kind::Door),
    program("Compact", Kind::Work(care::compact)),
    program("Fixup", Kind::Work(care::fixup)),
    program("UpdAll", Kind::Work(care::updall)),
    program("DAOSMgr", Kind::Work(objects::run)),
    program("Update", Kind::Moot("indexes are kept up to date by every change")),
    program("Statlog", Kind::Moot("statistics are served on the metrics port")),
    program("Collect", Kind::Moot("statistics are served on the metrics port")),
    program("Stats", Kind::Moot("statistics are served on the metrics port")),
    program("Event", Kind::Moot("events go to the server's log")),
    program("Object", Kind::Moot(ITSELF)),
    program("AdminP", Kind::Moot(ABSENT)),
    program("AMgr", Kind::Moot(ABSENT)),
    program("CalConn", Kind::Moot(ABSENT)),
    program("Catalog", Kind::Moot(ABSENT)),
    program("CLDBDIR", Kind::Moot(ABSENT)),
    program("CLREPL", Kind::Moot(ABSENT)),
    program("Design", Kind::Moot(ABSENT)),
    program("HTTP", Kind::Moot(ABSENT)),
    program("LDAP", Kind::Moot(ABSENT)),
    program("Replica", Kind::Moot(ABSENT)),
    program("RnRMgr", Kind::Moot(ABSENT)),
    program("Sched", Kind::Moot(ABSENT)),
];

/// Finds a task, without regard to case.
pub(crate) fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name.eq_ignore_ascii_case(name))
}

/// Whether the settings start a task with the server.
pub(crate) fn is_started(settings: &Settings, name: &str) -> bool {
    let list = settings.text(Key::Tasks);
    list.trim().is_empty() || words(list).any(|word| word.eq_ignore_ascii_case(name))
}

/// The names in a list of tasks, without their arguments.
fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter_map(|part| part.split_whitespace().next())
}

/// What there is to say about the tasks of the settings: names that start nothing here.
pub(crate) fn remarks(settings: &Settings) -> Vec<String> {
    let mut remarks = Vec::new();
    let agenda = crate::agenda::Agenda::parse(settings.text(Key::TasksAt)).unwrap_or_default();
    let scheduled = agenda.entries().iter().flat_map(|entry| words(&entry.line));
    for name in words(settings.text(Key::Tasks)).chain(scheduled) {
        let remark = match find(name) {
            None => format!("task {name} is not known"),
            Some(Program { name, kind: Kind::Moot(why) }) => format!("task {name}: {why}"),
            Some(_) => continue,
        };
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    remarks
}

/// Starts what the settings start, and says in the log what they start in vain.
pub(crate) fn begin(running: &Arc<Running>) {
    let settings = running.site.settings();
    for remark in remarks(&settings) {
        tracing::warn!("{remark}");
    }
    for name in doors::NAMES {
        if !is_started(&settings, name) {
            tracing::info!("{name} is not among server.tasks and was not started");
        }
    }
    if !is_started(&settings, "Router") {
        tracing::warn!("Router is not among server.tasks: mail waits until load router");
    }
}

/// Starts a task by its name and arguments; work that ends is waited for.
pub(crate) fn load(running: &Arc<Running>, line: &str, progress: &mut dyn Progress) -> Told {
    let line = line.trim();
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let program = find(name).ok_or_else(|| unknown(name))?;
    match program.kind {
        Kind::Door => doors::open(running, program.name),
        Kind::Router if running.router.is_paused() => {
            running.router.resume();
            tracing::info!("Router was started again");
            Ok("Router started".to_owned())
        }
        Kind::Router => Err("Router is running already".to_owned()),
        Kind::Moot(why) => Err(format!("{}: {why}", program.name)),
        Kind::Work(work) => {
            let arguments = arguments.trim();
            let seat = running.tasks.begin(program.name, arguments);
            let seat = seat.ok_or_else(|| "too many tasks run; try again later".to_owned())?;
            let told = work(running, arguments, &mut seat.with(progress));
            drop(seat);
            told
        }
    }
}

/// Runs a line of the agenda; what comes of it goes to the log.
pub(crate) fn run(running: &Arc<Running>, line: &str) {
    let name = line.split_whitespace().next().unwrap_or_default();
    tracing::info!(task = name, "started as scheduled: {line}");
    match load(running, line, &mut Unheard) {
        Ok(told) => told.lines().for_each(|row| tracing::info!(task = name, "{row}")),
        Err(reason) => tracing::warn!(task = name, "{reason}"),
    }
}

/// Stops a task by its name.
pub(crate) fn quit(running: &Running, name: &str) -> Told {
    let program = find(name).ok_or_else(|| unknown(name))?;
    let not_running = || format!("{} is not running", program.name);
    match program.kind {
        Kind::Door => match running.doors.close(program.name) {
            true => {
                tracing::info!("{} was stopped by an administrator", program.name);
                Ok(format!("{} stopped", program.name))
            }
            false => Err(not_running()),
        },
        Kind::Router if running.router.is_paused() => Err(not_running()),
        Kind::Router => {
            running.router.pause();
            tracing::warn!("Router was stopped by an administrator: mail waits until load router");
            Ok("Router stopped: mail is taken and waits".to_owned())
        }
        Kind::Work(_) => match running.tasks.stop(Some(program.name)) {
            0 => Err(not_running()),
            1 => Ok("1 task was told to stop".to_owned()),
            count => Ok(format!("{count} tasks were told to stop")),
        },
        Kind::Moot(why) => Err(format!("{}: {why}", program.name)),
    }
}

/// Stops a task and starts it again.
pub(crate) fn restart(running: &Arc<Running>, name: &str) -> Told {
    let program = find(name).ok_or_else(|| unknown(name))?;
    if let Kind::Work(_) = program.kind {
        return Err(format!("{} ends by itself; use load", program.name));
    }
    // One that is not running is only started.
    let _ = quit(running, program.name);
    load(running, program.name, &mut Unheard)
}

fn unknown(name: &str) -> String {
    if name.is_empty() {
        return "which task? Give its name; show tasks lists those that run".to_owned();
    }
    format!("there is no task {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_once() {
        let mut names = std::collections::HashSet::new();
        for program in PROGRAMS {
            assert!(names.insert(program.name.to_lowercase()), "{}", program.name);
            assert!(find(&program.name.to_uppercase()).is_some());
        }
        assert!(doors::NAMES.iter().all(|name| matches!(find(name).unwrap().kind, Kind::Door)));
    }

    #[test]
    fn tasks_of_the_settings_are_started_and_the_others_remarked() {
        let mut settings = Settings::default();
        assert!(is_started(&settings, "IMAP") && remarks(&settings).is_empty());
        settings.set(Key::Tasks, "Update, Replica,router, smtp,Ghost,Replica").unwrap();
        settings.set(Key::TasksAt, "2=UpdAll list.ind; 5=Statlog, Ghost").unwrap();
        assert!(is_started(&settings, "Router") && is_started(&settings, "SMTP"));
        assert!(!is_started(&settings, "IMAP"));
        let remarks = remarks(&settings).join("; ");
        assert_eq!(remarks.matches("Ghost").count(), 1, "{remarks}");
        assert_eq!(remarks.matches("Replica").count(), 1, "{remarks}");
        assert!(!remarks.contains("UpdAll") && !remarks.contains("router"), "{remarks}");
    }
}
