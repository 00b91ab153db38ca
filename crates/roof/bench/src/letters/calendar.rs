//! Calendar messages (RFC 5545, RFC 6047): appointment, invitation, answer; and dates as text.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Dice, Kind, Order};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Octets of a line at the most, without its end (RFC 5545 section 3.1).
const LINE_OCTETS_MAX: usize = 75;
const HOUR: u64 = 3600;

/// A moment in the calendar, UTC.
struct Moment {
    year: u64,
    month: u64,
    day: u64,
    second: u64,
    weekday: u64,
}

impl Moment {
    /// The civil date of a day of the Gregorian calendar, counted from March so that the leap day
    /// comes last.
    fn of(unix: u64) -> Self {
        let days = unix / 86_400 + 719_468;
        let era = days / 146_097;
        let of_era = days % 146_097;
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        Self {
            year: year + era * 400 + u64::from(month <= 2),
            month,
            day: of_year - (153 * shifted + 2) / 5 + 1,
            second: unix % 86_400,
            weekday: unix / 86_400 % 7,
        }
    }
}

pub(super) fn unix_seconds(time: SystemTime) -> u64 {
    // Up to the year 9999.
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()).min(253_402_300_799)
}

/// As in a `Date:` field (RFC 5322 section 3.3).
pub(super) fn mail_date(unix: u64) -> String {
    let Moment { year, month, day, second, weekday } = Moment::of(unix);
    let (hours, minutes, seconds) = (second / HOUR, second / 60 % 60, second % 60);
    let (weekday, month) = (DAYS[weekday as usize], MONTHS[month as usize - 1]);
    format!("{weekday}, {day} {month} {year} {hours:02}:{minutes:02}:{seconds:02} +0000")
}

/// As in an event (RFC 5545 section 3.3.5).
fn event_date(unix: u64) -> String {
    let Moment { year, month, day, second, .. } = Moment::of(unix);
    let (hours, minutes, seconds) = (second / HOUR, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hours:02}{minutes:02}{seconds:02}Z")
}

/// The method of a calendar message; `None` for mail.
pub(super) fn method(kind: &Kind<'_>) -> Option<&'static str> {
    match kind {
        Kind::Memo | Kind::Reply { .. } => None,
        Kind::Appointment => Some("PUBLISH"),
        Kind::Invitation => Some("REQUEST"),
        Kind::Rsvp { .. } => Some("REPLY"),
    }
}

/// The `text/calendar` body. `uid` is the letter's own id, used unless it answers another.
pub(super) fn event(order: &Order<'_>, uid: &str, subject: &str, dice: &mut Dice) -> String {
    let stamp = unix_seconds(order.date);
    let start = stamp - stamp % HOUR + (24 + dice.below(24 * 28)) * HOUR;
    let end = start + (1 + dice.below(4)) * HOUR / 2;
    let answered = match order.kind {
        Kind::Rsvp { message_id } => super::bare(message_id),
        _ => uid.to_owned(),
    };
    let mut lines = vec![
        "BEGIN:VCALENDAR".to_owned(),
        "PRODID:-//load//mail//EN".to_owned(),
        "VERSION:2.0".to_owned(),
        format!("METHOD:{}", method(&order.kind).unwrap_or("PUBLISH")),
        "BEGIN:VEVENT".to_owned(),
        format!("UID:{answered}"),
        format!("DTSTAMP:{}", event_date(stamp)),
        format!("DTSTART:{}", event_date(start)),
        format!("DTEND:{}", event_date(end)),
        format!("SUMMARY:{subject}"),
        format!("LOCATION:Room {}", 100 + dice.below(900)),
        "SEQUENCE:0".to_owned(),
    ];
    lines.extend(people(order));
    lines.extend(["END:VEVENT".to_owned(), "END:VCALENDAR".to_owned()]);
    lines.iter().fold(String::new(), |mut text, line| {
        fold_line(line, &mut text);
        text
    })
}

/// Who calls and who comes.
fn people(order: &Order<'_>) -> Vec<String> {
    let calls = |who: &str| format!("ORGANIZER:mailto:{}", super::clean(who));
    match order.kind {
        Kind::Invitation => {
            let comes = |who: &String| {
                let who = super::clean(who);
                format!(
                    "ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:{who}"
                )
            };
            std::iter::once(calls(order.from)).chain(order.to.iter().map(comes)).collect()
        }
        Kind::Rsvp { .. } => {
            let organizer = order.to.first().map_or(order.from, String::as_str);
            let who = super::clean(order.from);
            vec![calls(organizer), format!("ATTENDEE;PARTSTAT=ACCEPTED:mailto:{who}")]
        }
        _ => Vec::new(),
    }
}

fn fold_line(line: &str, text: &mut String) {
    let mut columns = 0;
    for letter in line.chars() {
        if columns + letter.len_utf8() > LINE_OCTETS_MAX {
            text.push_str("\r\n ");
            columns = 1;
        }
        text.push(letter);
        columns += letter.len_utf8();
    }
    let _ = write!(text, "\r\n");
}
