//! Reads workload files. Everything is checked here, so that a run does not stumble over a file.

use serde::Deserialize;
use thiserror::Error as ThisError;

use crate::letters::{BODY_OCTETS_MAX, Profile};

use super::{Act, Folder, Rate, SECONDS_MAX, STEPS_MAX, Spread, Step, Template, Workload};

/// The longest workload file.
const FILE_BYTES_MAX: usize = 256 * 1024;
/// Times in a row, recipients, messages at once.
const COUNT_MAX: u32 = 1000;
/// Messages in a folder at the start.
const MESSAGES_MAX: u32 = 1_000_000;
/// The longest name.
const NAME_BYTES_MAX: usize = 64;

/// Why a workload cannot be used.
#[derive(Debug, ThisError)]
pub enum Error {
    /// None of this name is built in.
    #[error("there is no workload \"{name}\"; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Not TOML, or not these keys.
    #[error("the workload file cannot be read: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A value that makes no sense.
    #[error("{place}: {why}")]
    Value {
        /// Where in the file.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// Too long to be a workload file.
    #[error("the workload file has {bytes} bytes, more than {FILE_BYTES_MAX}")]
    Long {
        /// Its length.
        bytes: usize,
    },
    /// Not a door.
    #[error("\"{word}\" is no door; choose imap or http")]
    Via {
        /// What was asked for.
        word: String,
    },
    /// The driver has no client for it.
    #[error("the driver does not speak RPC; run the workload over IMAP and SMTP with --via imap")]
    NoRpc,
}

fn wrong(place: impl Into<String>, why: impl Into<String>) -> Error {
    Error::Value { place: place.into(), why: why.into() }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Sizes {
    Profile(String),
    Octets(u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    name: String,
    title: String,
    door: String,
    #[serde(default)]
    origin: Vec<String>,
    period_s: u32,
    messages: u32,
    profile: Sizes,
    #[serde(default)]
    replicas: f64,
    #[serde(default)]
    read_attachments: f64,
    spread: Option<RawSpread>,
    #[serde(default)]
    folder: Vec<RawFolder>,
    step: Vec<RawStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSpread {
    people: f64,
    mail: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFolder {
    name: String,
    #[serde(default)]
    messages: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    act: String,
    name: Option<String>,
    times: Option<u32>,
    every: Option<u32>,
    per_24: Option<u32>,
    pause_s: Option<[f64; 2]>,
    recipients: Option<u32>,
    count: Option<u32>,
    folder: Option<String>,
    profile: Option<Sizes>,
    http: Option<RawTemplate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTemplate {
    method: String,
    path: String,
    body: Option<String>,
    #[serde(rename = "type")]
    media_type: Option<String>,
}

/// Reads a workload file.
///
/// # Errors
/// It is not TOML, has unknown keys, or values that make no sense; the place is told.
pub fn parse(text: &str) -> Result<Workload, Error> {
    if text.len() > FILE_BYTES_MAX {
        return Err(Error::Long { bytes: text.len() });
    }
    let raw: RawFile = toml::from_str(text)?;
    check_head(&raw)?;
    let profile = sizes("profile", raw.profile)?;
    let mut actions = vec!["sign in".to_owned()];
    let mut steps = Vec::with_capacity(raw.step.len());
    for (at, step) in raw.step.into_iter().enumerate() {
        steps.push(read_step(at + 1, step, &profile, &mut actions)?);
    }
    actions.push("replicate".to_owned());
    let folders = raw.folder.into_iter().map(read_folder).collect::<Result<Vec<_>, _>>()?;
    Ok(Workload {
        name: raw.name,
        title: raw.title,
        door: raw.door,
        origin: raw.origin,
        period_s: raw.period_s,
        messages: raw.messages,
        profile,
        replicas: raw.replicas,
        read_attachments: raw.read_attachments,
        spread: raw.spread.map(|s| Spread { people: s.people, mail: s.mail }),
        folders,
        steps,
        actions,
    })
}

fn check_head(raw: &RawFile) -> Result<(), Error> {
    name_is_good("name", &raw.name)?;
    within("period_s", raw.period_s, SECONDS_MAX)?;
    if raw.messages > MESSAGES_MAX {
        return Err(wrong("messages", format!("at most {MESSAGES_MAX}")));
    }
    if !["notes-rpc", "http", "imap", "pop3"].contains(&raw.door.as_str()) {
        return Err(wrong("door", "choose notes-rpc, http, imap or pop3"));
    }
    share("replicas", raw.replicas)?;
    share("read_attachments", raw.read_attachments)?;
    if let Some(spread) = &raw.spread {
        share("spread.people", spread.people)?;
        share("spread.mail", spread.mail)?;
        if spread.people == 0.0 {
            return Err(wrong("spread.people", "somebody has to get the mail"));
        }
    }
    if raw.step.is_empty() || raw.step.len() > STEPS_MAX {
        return Err(wrong("step", format!("from 1 to {STEPS_MAX} steps")));
    }
    let pauses: f64 = raw.step.iter().map(mean_pause_s).sum();
    if pauses > f64::from(raw.period_s) {
        let why =
            format!("the pauses of the steps take {pauses:.0} s on the average, which is more");
        return Err(wrong("period_s", why));
    }
    Ok(())
}

fn mean_pause_s(step: &RawStep) -> f64 {
    let [least, most] = step.pause_s.unwrap_or_default();
    (least + most) / 2.0 * f64::from(step.times.unwrap_or(1))
}

fn name_is_good(place: &str, name: &str) -> Result<(), Error> {
    let good = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.chars().all(|c| !c.is_control() && c != '"' && c != '\\');
    if good {
        return Ok(());
    }
    let why = format!("1 to {NAME_BYTES_MAX} bytes without quotes, backslashes and controls");
    Err(wrong(place, why))
}

fn within(place: impl Into<String>, value: u32, most: u32) -> Result<u32, Error> {
    if (1..=most).contains(&value) {
        return Ok(value);
    }
    Err(wrong(place, format!("{value} is not from 1 to {most}")))
}

fn share(place: &str, value: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(wrong(place, format!("{value} is not a share from 0 to 1")))
}

fn sizes(place: &str, sizes: Sizes) -> Result<String, Error> {
    match sizes {
        Sizes::Octets(octets) if octets <= BODY_OCTETS_MAX => Ok(format!("fixed:{octets}")),
        Sizes::Octets(octets) => Err(wrong(place, format!("{octets} octets are too many"))),
        Sizes::Profile(name) => {
            Profile::named(&name).map_err(|trouble| wrong(place, trouble.to_string()))?;
            Ok(name)
        }
    }
}

fn read_folder(raw: RawFolder) -> Result<Folder, Error> {
    name_is_good("folder.name", &raw.name)?;
    if raw.messages > MESSAGES_MAX {
        return Err(wrong("folder.messages", format!("at most {MESSAGES_MAX}")));
    }
    Ok(Folder { name: raw.name, messages: raw.messages })
}

fn read_step(
    number: usize,
    raw: RawStep,
    profile: &str,
    actions: &mut Vec<String>,
) -> Result<Step, Error> {
    let place = |key: &str| format!("step {number} ({}), {key}", raw.act);
    let act = Act::ALL.iter().copied().find(|act| act.word() == raw.act);
    let act = act.ok_or_else(|| {
        let known: Vec<&str> = Act::ALL.iter().map(|act| act.word()).collect();
        wrong(place("act"), format!("not known; there are: {}", known.join(", ")))
    })?;
    let times = within(place("times"), raw.times.unwrap_or(1), COUNT_MAX)?;
    let rows = matches!(act, Act::Refresh | Act::Switch | Act::Scroll);
    let count = within(place("count"), raw.count.unwrap_or(if rows { 20 } else { 1 }), COUNT_MAX)?;
    let recipients = within(place("recipients"), raw.recipients.unwrap_or(1), COUNT_MAX)?;
    let rate = rate(&place("every"), raw.every, raw.per_24)?;
    let pause_s = pause(&place("pause_s"), raw.pause_s)?;
    let folder = raw.folder.clone().unwrap_or_else(|| "INBOX".to_owned());
    name_is_good(&place("folder"), &folder)?;
    let needs_folder = matches!(act, Act::Switch | Act::Move);
    if needs_folder && raw.folder.is_none() {
        return Err(wrong(place("folder"), "is missing"));
    }
    let name = raw.name.clone().unwrap_or_else(|| default_name(act, recipients, count, &folder));
    name_is_good(&place("name"), &name)?;
    let own = raw.profile.map(|raw| sizes("step.profile", raw)).transpose()?;
    let http = raw.http.map(read_template).transpose()?;
    let action = index(actions, &name);
    let profile = own.unwrap_or_else(|| profile.to_owned());
    Ok(Step { act, action, times, rate, pause_s, recipients, count, folder, profile, http })
}

fn default_name(act: Act, recipients: u32, count: u32, folder: &str) -> String {
    match act {
        Act::Send | Act::Invite | Act::Reply => format!("{act} to {recipients}"),
        Act::Delete | Act::Stamp | Act::Move if count > 1 => format!("{act} {count}"),
        Act::Switch => format!("switch to {folder}"),
        _ => act.word().to_owned(),
    }
}

fn index(actions: &mut Vec<String>, name: &str) -> usize {
    let known = actions.iter().position(|action| action == name);
    known.unwrap_or_else(|| {
        actions.push(name.to_owned());
        actions.len() - 1
    })
}

fn rate(place: &str, every: Option<u32>, per_24: Option<u32>) -> Result<Rate, Error> {
    match (every, per_24) {
        (Some(_), Some(_)) => Err(wrong(place, "give every or per_24, not both")),
        (None, Some(part)) => Ok(Rate { part: within(place, part, 24)?, of: 24 }),
        (every, None) => Ok(Rate { part: 1, of: within(place, every.unwrap_or(1), COUNT_MAX)? }),
    }
}

fn pause(place: &str, pause_s: Option<[f64; 2]>) -> Result<[f64; 2], Error> {
    let [least, most] = pause_s.unwrap_or_default();
    if least >= 0.0 && least <= most && most <= f64::from(SECONDS_MAX) {
        return Ok([least, most]);
    }
    Err(wrong(place, format!("[{least}, {most}] is not least and most, in seconds")))
}

fn read_template(raw: RawTemplate) -> Result<Template, Error> {
    let method = raw.method.to_ascii_uppercase();
    if method.is_empty() || !method.bytes().all(|b| b.is_ascii_uppercase()) {
        return Err(wrong("http.method", format!("\"{method}\" is no method")));
    }
    let clean = |text: &str| text.bytes().all(|b| b > b' ' && b != 0x7f);
    if !raw.path.starts_with('/') || !clean(&raw.path) {
        return Err(wrong("http.path", "begins with / and has no spaces"));
    }
    let media_type = raw.media_type.unwrap_or_else(|| "application/json".to_owned());
    if media_type.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err(wrong("http.type", "has no controls"));
    }
    Ok(Template { method, path: raw.path, body: raw.body, media_type })
}
