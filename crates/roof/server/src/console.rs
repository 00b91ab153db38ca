//! The console of a running server: verbs as rows of a table.

mod load;
mod show;
#[cfg(test)]
mod tests;

use serde_json::json;

use crate::request::{Reply, chain};
use crate::server::Running;

/// One verb.
pub struct Verb {
    /// The words it begins with.
    pub words: &'static str,
    /// What may follow.
    pub arguments: &'static str,
    /// What it does.
    pub help: &'static str,
    run: fn(&Running, &str) -> Result<String, String>,
}

/// Every verb.
pub static VERBS: &[Verb] = &[
    Verb {
        words: "show server",
        arguments: "",
        help: "Name, version, uptime, sessions and mail of this server",
        run: show::server,
    },
    Verb {
        words: "show tasks",
        arguments: "",
        help: "Listeners, worker pool, router and other tasks",
        run: show::tasks,
    },
    Verb {
        words: "show stat",
        arguments: "[GROUP]",
        help: "Statistics, all or those whose name begins with GROUP",
        run: show::stat,
    },
    Verb {
        words: "show users",
        arguments: "",
        help: "Who is connected, from where, doing what",
        run: show::users,
    },
    Verb {
        words: "show database",
        arguments: "[PATH]",
        help: "Databases with their size and state",
        run: show::database,
    },
    Verb {
        words: "show dbcache",
        arguments: "",
        help: "The cache of open databases",
        run: show::dbcache,
    },
    Verb {
        words: "show config",
        arguments: "[NAME]",
        help: "Settings with their values",
        run: show::config,
    },
    Verb {
        words: "load compact",
        arguments: "PATH",
        help: "Frees the space of deleted documents in a database, a directory or a list",
        run: load::compact,
    },
    Verb {
        words: "load fixup",
        arguments: "PATH",
        help: "Checks a database, a directory or a list, and saves what can be saved",
        run: load::fixup,
    },
    Verb {
        words: "load updall",
        arguments: "PATH",
        help: "Rebuilds indexes and counters of a database, a directory or a list",
        run: load::updall,
    },
    Verb {
        words: "dbcache flush",
        arguments: "",
        help: "Writes every change into the database files and empties the log",
        run: flush,
    },
    Verb {
        words: "drop",
        arguments: "USER|all",
        help: "Ends the sessions of a user",
        run: drop_user,
    },
    Verb { words: "quit", arguments: "", help: "Stops the server in order", run: quit },
    Verb { words: "exit", arguments: "", help: "Leaves the console", run: leave },
    Verb { words: "help", arguments: "", help: "This list", run: help },
];

/// Runs one line.
pub fn run(running: &Running, line: &str) -> Reply {
    let Some((verb, rest)) = find(line) else {
        return Reply::refused(format!("{}: no such verb; try help", line.trim()));
    };
    match (verb.run)(running, rest) {
        Ok(text) => Reply::Done { value: json!({ "text": text }) },
        Err(reason) => Reply::refused(reason),
    }
}

/// Finds the verb of a line, and what follows it. Case does not matter.
fn find(line: &str) -> Option<(&'static Verb, &str)> {
    VERBS.iter().find_map(|verb| after(line, verb.words).map(|rest| (verb, rest)))
}

fn after<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    let mut rest = line.trim();
    for word in words.split(' ') {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if !rest[..end].eq_ignore_ascii_case(word) {
            return None;
        }
        rest = rest[end..].trim_start();
    }
    Some(rest)
}

fn flush(running: &Running, _: &str) -> Result<String, String> {
    running.site.store.flush().map_err(|error| chain(&error))?;
    Ok("every change is in the database files".to_owned())
}

fn drop_user(running: &Running, name: &str) -> Result<String, String> {
    if name.is_empty() {
        return Err("drop whom? Give a name, or all".to_owned());
    }
    let full = match running.site.directory.find(name) {
        Ok(directory::Found::Person(person)) => person.full_name,
        _ => name.to_owned(),
    };
    let mut count = running.registry.drop_user(&full);
    if !full.eq_ignore_ascii_case(name) {
        count += running.registry.drop_user(name);
    }
    Ok(format!("{count} sessions were told to end"))
}

fn quit(running: &Running, _: &str) -> Result<String, String> {
    running.stop();
    Ok("the server stops".to_owned())
}

fn leave(_: &Running, _: &str) -> Result<String, String> {
    Ok(String::new())
}

fn help(_: &Running, _: &str) -> Result<String, String> {
    let line = |verb: &Verb| {
        let usage = format!("{} {}", verb.words, verb.arguments);
        format!("{:24}{}", usage.trim_end(), verb.help)
    };
    Ok(VERBS.iter().map(line).collect::<Vec<_>>().join("\n"))
}
