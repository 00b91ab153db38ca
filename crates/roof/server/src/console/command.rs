//! Verbs that change something.

use std::sync::Arc;

use super::{Shown, TELLS, VERBS, Verb};
use crate::programs;
use crate::progress::Progress;
use crate::request::chain;
use crate::server::Running;
use crate::table::counted;

/// Longest text that is broadcast, in characters.
const BROADCAST_CHARS_MAX: usize = 500;

pub(super) fn load(running: &Arc<Running>, line: &str, progress: &mut dyn Progress) -> Shown {
    programs::load(running, line, progress)
}

pub(super) fn restart(running: &Arc<Running>, name: &str) -> Shown {
    programs::restart(running, name)
}

pub(super) fn set_config(running: &Arc<Running>, text: &str) -> Shown {
    let usage = || "give NAME=VALUE; show config lists the names".to_owned();
    let (name, value) = text.split_once('=').ok_or_else(usage)?;
    let name = name.trim();
    if name.is_empty() {
        return Err(usage());
    }
    running.set_config(name, unquoted(value.trim()))
}

/// A value in quotes is meant without them; the empty one stays, to tell it from none.
fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.is_empty()).unwrap_or(value)
}

pub(super) fn reload(running: &Arc<Running>, _: &str) -> Shown {
    running.reload()
}

pub(super) fn flush(running: &Arc<Running>, _: &str) -> Shown {
    running.site.store.flush().map_err(|error| chain(&error))?;
    Ok("every change is in the database files".to_owned())
}

pub(super) fn disable_cache(running: &Arc<Running>, _: &str) -> Shown {
    running.site.store.set_cache_enabled(false);
    tracing::warn!("an administrator switched the cache of open databases off");
    Ok("databases are closed as soon as nobody uses them, until dbcache enable or a restart"
        .to_owned())
}

pub(super) fn enable_cache(running: &Arc<Running>, _: &str) -> Shown {
    running.site.store.set_cache_enabled(true);
    tracing::info!("an administrator switched the cache of open databases on");
    Ok("databases stay open for their next use".to_owned())
}

pub(super) fn reset_names(running: &Arc<Running>, _: &str) -> Shown {
    running.site.directory.reset_cache();
    Ok("names are looked up anew".to_owned())
}

pub(super) fn drop_user(running: &Arc<Running>, name: &str) -> Shown {
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
    if count == 0 && !name.eq_ignore_ascii_case("all") {
        return Ok(format!("{full} has no session"));
    }
    if count > 0 {
        tracing::info!("an administrator ended {} of {full}", counted(count as u64, "session"));
    }
    let (sessions, were) =
        (counted(count as u64, "session"), if count == 1 { "was" } else { "were" });
    Ok(format!("{sessions} {were} told to end"))
}

pub(super) fn broadcast(running: &Arc<Running>, text: &str) -> Shown {
    let text = text.trim().trim_matches('"');
    let fits = text.chars().count() <= BROADCAST_CHARS_MAX;
    if text.is_empty() || !fits || text.chars().any(char::is_control) {
        return Err(format!("give a text of one line, at most {BROADCAST_CHARS_MAX} characters"));
    }
    tracing::info!("broadcast: {text}");
    let count = running.registry.broadcast(text);
    let are = if count == 1 { "is" } else { "are" };
    Ok(format!("{} {are} told", counted(count as u64, "session")))
}

pub(super) fn trace(running: &Arc<Running>, _: &str) -> Shown {
    running.smart_host.trace()
}

pub(super) fn quit(running: &Arc<Running>, _: &str) -> Shown {
    running.stop();
    Ok("the server stops".to_owned())
}

pub(super) fn leave(_: &Arc<Running>, _: &str) -> Shown {
    Ok(String::new())
}

pub(super) fn help(_: &Arc<Running>, word: &str) -> Shown {
    let word = word.trim().to_lowercase();
    let meant = |verb: &&Verb| verb.words.starts_with(&word) || word.starts_with(verb.words);
    let mut lines: Vec<String> = VERBS.iter().filter(meant).map(line).collect();
    if word == "tell" || word.starts_with("tell ") {
        lines.extend(TELLS.iter().map(super::tell::line));
    }
    match lines.is_empty() {
        true => Err(format!("{word}: no such verb; help lists all of them")),
        false => Ok(lines.join("\n")),
    }
}

fn line(verb: &Verb) -> String {
    let usage = format!("{} {}", verb.words, verb.arguments);
    format!("{:26}{}", usage.trim_end(), verb.help)
}
