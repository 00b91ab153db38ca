//! The `show` verbs.

use std::sync::Arc;

use super::Shown;
use crate::agenda::Agenda;
use crate::doors;
use crate::request::chain;
use crate::server::Running;
use crate::settings::{Effect, KEYS, Key, ROWS};
use crate::stats;
use crate::table::{columns, counted, pairs};

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

pub(super) fn server(running: &Arc<Running>, _: &str) -> Shown {
    let settings = running.site.settings();
    let domains = running.site.directory.domains().map_err(|error| chain(&error))?;
    let mail = running.router.stats();
    let log = running.site.store.log().status();
    let uptime = running.started.elapsed().as_secs();
    let (days, rest) = (uptime / 86_400, uptime % 86_400);
    let clock = format!("{days} d {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    let pending = running.router.pending();
    let databases = running.site.store.paths().len();
    let databases = match running.site.store.pending() {
        0 => databases.to_string(),
        behind => format!("{databases}, {behind} of them to be replayed from the log"),
    };
    let alarms = running.alarms();
    let state = if alarms.is_empty() { "all is well".to_owned() } else { alarms.join("; ") };
    let rows = [
        ("server", settings.text(Key::ServerName).to_owned()),
        ("version", format!("nelumbo {}", env!("CARGO_PKG_VERSION"))),
        ("host name", settings.text(Key::HostName).to_owned()),
        ("domains", domains.join(", ")),
        ("data directory", running.site.dir.absolute()),
        ("running for", clock),
        ("sessions", running.registry.len().to_string()),
        ("transactions", running.pool.status().done.to_string()),
        ("mail waiting", pending.to_string()),
        ("mail dead, held", format!("{}, {}", mail.dead, mail.held)),
        ("databases", databases),
        ("log", format!("{}, durable to {}", counted(log.segments, "segment"), log.durable_lsn)),
        ("state", state),
    ];
    Ok(pairs(&rows.map(|(name, value)| (name.to_owned(), value))))
}

pub(super) fn tasks(running: &Arc<Running>, _: &str) -> Shown {
    let mut rows = vec![row(["task", "state"])];
    let seats = running.registry.list();
    for (name, address) in &running.addresses {
        let task = name.split(' ').next().unwrap_or(name);
        let state = match running.doors.is_open(task) {
            true => format!("listening on {address}"),
            false => "stopped".to_owned(),
        };
        rows.push(row([&format!("{name} listener"), &state]));
    }
    for door in doors::NAMES {
        let count = seats.iter().filter(|seat| seat.door.eq_ignore_ascii_case(door)).count();
        rows.push(row([door, &counted(count as u64, "session")]));
    }
    let pool = running.pool.status();
    let (threads, wait) = (counted(pool.threads, "thread"), counted(pool.waiting, "job"));
    let state = format!("{threads}, {} busy, {wait} waiting", pool.busy);
    rows.push(row(["Worker pool", &state]));
    rows.push(row(["Router", &router(running)]));
    for task in running.tasks.list() {
        let far = task.step.map_or_else(String::new, |step| match step.total {
            0 => format!(", {}: {}", step.what, step.done),
            total => format!(", {}: {} of {total}", step.what, step.done),
        });
        let what = if task.what.is_empty() { "everything" } else { &task.what };
        rows.push(row([task.name, &format!("{what}, for {} s{far}", task.age_s)]));
    }
    rows.push(row(["Chores", "checkpoints, expired deletions, unused objects"]));
    Ok(columns(&rows).trim_end().to_owned())
}

fn router(running: &Running) -> String {
    match running.router.pending() {
        0 => "idle".to_owned(),
        pending => counted(pending as u64, "message"),
    }
}

pub(super) fn stat(running: &Arc<Running>, group: &str) -> Shown {
    let group = group.trim_end_matches('*').to_lowercase();
    let lines: Vec<String> = stats::collect(running)
        .iter()
        .filter(|stat| stat.name.to_lowercase().starts_with(&group))
        .map(|stat| format!("{} = {}", stat.name, stat.value))
        .collect();
    if lines.is_empty() {
        return Err(format!("no statistic begins with {group}"));
    }
    Ok(lines.join("\n"))
}

pub(super) fn users(running: &Arc<Running>, _: &str) -> Shown {
    let mut rows = vec![row(["id", "user", "door", "from", "state", "seconds"])];
    for seat in running.registry.list() {
        let from = seat.peer.map_or_else(|| "here".to_owned(), |peer| peer.to_string());
        rows.push(row([
            &seat.id.to_string(),
            seat.user.as_deref().unwrap_or("-"),
            seat.door,
            &from,
            seat.state,
            &seat.age_s.to_string(),
        ]));
    }
    Ok(columns(&rows).trim_end().to_owned())
}

pub(super) fn database(running: &Arc<Running>, path: &str) -> Shown {
    let store = &running.site.store;
    let infos = match path {
        "" => store.list(),
        path => vec![store.info(path).map_err(|error| chain(&error))?],
    };
    let mut rows = vec![row(["path", "title", "notes", "bytes", "state"])];
    for info in infos {
        let state = match &info.fenced {
            Some(reason) => format!("fenced: {reason}"),
            None if running.missing.holds(&info.path) => "its file was taken away".to_owned(),
            None if info.applied_lsn > info.checkpointed_lsn => "changed".to_owned(),
            None => "clean".to_owned(),
        };
        rows.push(row([
            &info.path,
            &info.title,
            &info.notes.to_string(),
            &info.size_bytes.to_string(),
            &state,
        ]));
    }
    Ok(columns(&rows).trim_end().to_owned())
}

pub(super) fn dbcache(running: &Arc<Running>, _: &str) -> Shown {
    let state = if running.site.store.is_cache_enabled() { "on" } else { "switched off" };
    let (files, memory) =
        (stat(running, "Database.DbCache")?, stat(running, "Database.BufferPool")?);
    Ok(format!("the cache is {state}\n{files}\n{memory}"))
}

pub(super) fn nlcache(running: &Arc<Running>, _: &str) -> Shown {
    stat(running, "Database.NAMELookup")
}

pub(super) fn config(running: &Arc<Running>, name: &str) -> Shown {
    let name = name.trim_end_matches('*').to_lowercase();
    let shown = settings(running, &[&name]);
    match shown.lines().count() {
        0 | 1 => Err(format!("no setting begins with {name}")),
        _ => Ok(shown),
    }
}

/// Whether a door is open, and the settings whose names begin with one of `names`.
pub(super) fn door(running: &Running, door: &str, names: &[&str]) -> String {
    let state = if running.doors.is_open(door) { "running" } else { "stopped" };
    format!("{door} is {state}\n{}", settings(running, names))
}

/// The settings whose names begin with one of `names`, as a table.
fn settings(running: &Running, names: &[&str]) -> String {
    let (current, given) = (running.site.settings(), running.site.given_settings());
    let mut rows = vec![row(["setting", "value", "from", "range", "takes effect"])];
    for (key, setting) in KEYS.iter().zip(ROWS) {
        if !names.iter().any(|name| setting.name.starts_with(name)) {
            continue;
        }
        let from = if current.is_given(*key) { "file" } else { "default" };
        let effect = match setting.effect {
            Effect::Live => "live".to_owned(),
            Effect::Restart if given.value(*key) != current.value(*key) => {
                format!("restart: then {}", given.value(*key))
            }
            Effect::Restart => "restart".to_owned(),
        };
        let value = current.value(*key).to_string();
        rows.push(row([setting.name, &value, from, &setting.kind.to_string(), &effect]));
    }
    columns(&rows).trim_end().to_owned()
}

pub(super) fn schedule(running: &Arc<Running>, _: &str) -> Shown {
    let settings = running.site.settings();
    let agenda = Agenda::parse(settings.text(Key::TasksAt)).unwrap_or_default();
    let mut rows = vec![row(["when", "what"])];
    for hour in 0..24 {
        for entry in agenda.at(hour) {
            rows.push(row([&format!("at {hour:02}:00"), &entry.line]));
        }
    }
    let window = settings.text(Key::LowPriorityWindow);
    if !window.is_empty() {
        rows.push(row([&format!("{window} UTC"), "Router: transfer of mail of low priority"]));
    }
    rows.push(row(["every second", "checkpoints that are due, expired deletions"]));
    Ok(columns(&rows).trim_end().to_owned())
}

pub(super) fn performance(running: &Arc<Running>, _: &str) -> Shown {
    let mut rows = vec![row(["minute", "transactions", "users", "delivered"])];
    for minute in running.minutes.lock().last() {
        rows.push(row([
            &minute.at.to_string(),
            &minute.transactions.to_string(),
            &minute.users.to_string(),
            &minute.delivered.to_string(),
        ]));
    }
    match rows.len() {
        1 => Ok("the first minute is not over yet".to_owned()),
        _ => Ok(columns(&rows).trim_end().to_owned()),
    }
}

pub(super) fn transactions(running: &Arc<Running>, _: &str) -> Shown {
    let pool = running.pool.status();
    let millis = |micros: u64| format!("{:.3}", micros as f64 / 1000.0);
    let mean = pool.micros.checked_div(pool.done).unwrap_or(0);
    let rows = [
        row(["function", "count", "min ms", "max ms", "total ms", "average ms"]),
        row([
            "worker pool",
            &pool.done.to_string(),
            &millis(pool.micros_min),
            &millis(pool.micros_max),
            &millis(pool.micros),
            &millis(mean),
        ]),
    ];
    Ok(columns(&rows).trim_end().to_owned())
}
