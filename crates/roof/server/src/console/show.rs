//! The `show` verbs.

use crate::request::chain;
use crate::server::Running;
use crate::settings::{KEYS, Key, ROWS};
use crate::stats;
use crate::table::columns;

type Shown = Result<String, String>;

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// Rows of names and values.
fn pairs(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: Vec<String> =
        rows.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect();
    lines.join("\n")
}

pub(super) fn server(running: &Running, _: &str) -> Shown {
    let settings = &running.site.settings;
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
    Ok(pairs(&[
        ("server", settings.text(Key::ServerName).to_owned()),
        ("version", format!("nelumbo {}", env!("CARGO_PKG_VERSION"))),
        ("host name", settings.text(Key::HostName).to_owned()),
        ("domains", domains.join(", ")),
        ("data directory", running.site.dir.root().display().to_string()),
        ("running for", clock),
        ("sessions", running.registry.len().to_string()),
        ("transactions", running.pool.status().done.to_string()),
        ("mail waiting", pending.to_string()),
        ("mail dead, held", format!("{}, {}", mail.dead, mail.held)),
        ("databases", databases),
        ("log", format!("{} segments, durable to {}", log.segments, log.durable_lsn)),
    ]))
}

pub(super) fn tasks(running: &Running, _: &str) -> Shown {
    let mut rows = vec![row(["task", "state"])];
    let seats = running.registry.list();
    for (name, address) in &running.addresses {
        rows.push(row([&format!("{name} listener"), &format!("listening on {address}")]));
    }
    for door in ["smtp", "imap"] {
        let count = seats.iter().filter(|seat| seat.door == door).count();
        rows.push(row([&door.to_uppercase(), &format!("{count} sessions")]));
    }
    let pool = running.pool.status();
    let state = format!("{} threads, {} busy, {} jobs wait", pool.threads, pool.busy, pool.waiting);
    rows.push(row(["Worker pool", &state]));
    let pending = running.router.pending();
    let state = if pending == 0 { "idle".to_owned() } else { format!("{pending} messages") };
    rows.push(row(["Router", &state]));
    rows.push(row(["Chores", "checkpoints, expired deletions"]));
    Ok(columns(&rows).trim_end().to_owned())
}

pub(super) fn stat(running: &Running, group: &str) -> Shown {
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

pub(super) fn users(running: &Running, _: &str) -> Shown {
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

pub(super) fn database(running: &Running, path: &str) -> Shown {
    let store = &running.site.store;
    let infos = match path {
        "" => store.list(),
        path => vec![store.info(path).map_err(|error| chain(&error))?],
    };
    let mut rows = vec![row(["path", "title", "notes", "bytes", "state"])];
    for info in infos {
        let state = match &info.fenced {
            Some(reason) => format!("fenced: {reason}"),
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

pub(super) fn dbcache(running: &Running, _: &str) -> Shown {
    stat(running, "Database.DbCache")
}

pub(super) fn config(running: &Running, name: &str) -> Shown {
    let name = name.trim_end_matches('*').to_lowercase();
    let settings = &running.site.settings;
    let mut rows = vec![row(["setting", "value", "from", "range", "takes effect"])];
    for (key, setting) in KEYS.iter().zip(ROWS) {
        if setting.name.starts_with(&name) {
            let from = if settings.is_given(*key) { "file" } else { "default" };
            let effect = format!("{:?}", setting.effect).to_lowercase();
            rows.push(row([
                setting.name,
                &settings.value(*key).to_string(),
                from,
                &setting.kind.to_string(),
                &effect,
            ]));
        }
    }
    if rows.len() == 1 {
        return Err(format!("no setting begins with {name}"));
    }
    Ok(columns(&rows).trim_end().to_owned())
}
