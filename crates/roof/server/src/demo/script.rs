//! The messages of the demo, as they stand in text files.

/// One message as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// Name of the message, unique.
    pub id: &'static str,
    /// Short name of the sender, or an address outside.
    pub from: &'static str,
    /// Name of a sender outside.
    pub from_name: &'static str,
    /// Recipients: short names, local parts of groups, addresses outside.
    pub to: Vec<&'static str>,
    /// The same for Cc.
    pub cc: Vec<&'static str>,
    /// The message this one answers.
    pub reply: Option<&'static str>,
    /// Seconds before the demo is made, or day and time of day.
    pub age: Age,
    /// Subject.
    pub subject: &'static str,
    /// Names of files in `demo/files`.
    pub attach: Vec<&'static str>,
    /// Has an HTML form beside the text.
    pub html: bool,
    /// The calendar invitation it carries.
    pub invite: Option<&'static str>,
    /// The mailing list it comes from.
    pub list: Option<&'static str>,
    /// What people did with it.
    pub marks: Vec<Mark>,
    /// The text.
    pub body: &'static str,
}

/// When a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// Seconds before now.
    Before(i64),
    /// Days before today, and seconds after midnight (UTC).
    Day(i64, i64),
}

impl Default for Age {
    fn default() -> Self {
        Self::Before(0)
    }
}

/// What one person (or everybody, `*`) did with a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Short name or `*`.
    pub who: &'static str,
    /// Looked at.
    pub read: bool,
    /// Flagged.
    pub flagged: bool,
    /// Answered.
    pub answered: bool,
}

const FILES: &[&str] = &[
    include_str!("../../demo/mail/collection.txt"),
    include_str!("../../demo/mail/daily.txt"),
    include_str!("../../demo/mail/drawings.txt"),
    include_str!("../../demo/mail/heating.txt"),
    include_str!("../../demo/mail/meeting.txt"),
    include_str!("../../demo/mail/newsletter.txt"),
    include_str!("../../demo/mail/opening.txt"),
];

/// Contents of a file that messages carry, with its media type.
pub(super) fn file(name: &str) -> Option<(&'static [u8], &'static str)> {
    macro_rules! files {
        ($($name:literal as $kind:literal),* $(,)?) => {
            match name {
                $($name => {
                    Some((&include_bytes!(concat!("../../demo/files/", $name))[..], $kind))
                })*
                _ => None,
            }
        };
    }
    files! {
        "basin-log.csv" as "text/csv",
        "basin-plan.png" as "image/png",
        "budget.csv" as "text/csv",
        "germination.csv" as "text/csv",
        "invoice-4711.pdf" as "application/pdf",
        "offer-2231.pdf" as "application/pdf",
        "varieties.csv" as "text/csv",
        "walk-through.ics" as "text/calendar",
    }
}

/// All messages. A line that cannot be understood is an error that names it.
pub(super) fn scripts() -> Result<Vec<Script>, String> {
    let mut all = Vec::new();
    for text in FILES {
        let messages = text.split("=== ").skip(1);
        for message in messages {
            all.push(script(message)?);
        }
    }
    Ok(all)
}

fn script(text: &'static str) -> Result<Script, String> {
    let (head, body) = text.split_once("\n---\n").ok_or_else(|| format!("no body: {text}"))?;
    let mut lines = head.lines();
    let id = lines.next().unwrap_or_default().trim();
    let mut script = Script { id, body, ..Script::default() };
    for line in lines {
        let (name, value) = line.split_once(": ").ok_or_else(|| format!("{id}: {line}"))?;
        set(&mut script, name, value.trim()).ok_or_else(|| format!("{id}: {line}"))?;
    }
    Ok(script)
}

fn set(script: &mut Script, name: &str, value: &'static str) -> Option<()> {
    match name {
        "from" => script.from = value,
        "from-name" => script.from_name = value,
        "to" => script.to = list(value),
        "cc" => script.cc = list(value),
        "reply" => script.reply = Some(value),
        "age" => script.age = age(value)?,
        "subject" => script.subject = value,
        "attach" => script.attach = list(value),
        "html" => script.html = value == "yes",
        "invite" => script.invite = Some(value),
        "list" => script.list = Some(value),
        "flags" => script.marks = value.split(' ').map(mark).collect::<Option<_>>()?,
        _ => return None,
    }
    Some(())
}

fn list(value: &'static str) -> Vec<&'static str> {
    value.split(',').map(str::trim).collect()
}

/// `24d 08:42`, `18h` or `20m`.
fn age(value: &str) -> Option<Age> {
    if let Some((days, clock)) = value.split_once("d ") {
        let (hours, minutes) = clock.split_once(':')?;
        let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
        return Some(Age::Day(days.parse().ok()?, seconds));
    }
    if let Some(hours) = value.strip_suffix('h') {
        return Some(Age::Before(hours.parse::<i64>().ok()? * 3600));
    }
    let minutes: i64 = value.strip_suffix('m')?.parse().ok()?;
    Some(Age::Before(minutes * 60))
}

/// `ben=read,flagged`.
fn mark(value: &'static str) -> Option<Mark> {
    let (who, what) = value.split_once('=')?;
    let mut mark = Mark { who, ..Mark::default() };
    for word in what.split(',') {
        match word {
            "read" => mark.read = true,
            "flagged" => mark.flagged = true,
            "answered" => mark.answered = true,
            "unread" => mark.read = false,
            _ => return None,
        }
    }
    mark.read |= mark.answered;
    Some(mark)
}
