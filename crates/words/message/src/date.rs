//! Dates in headers (RFC 5322 §3.3, §4.3), read tolerantly and printed strictly.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
/// Bytes of a date header that are looked at.
const DATE_BYTES_MAX: usize = 256;

/// Named zones (RFC 5322 §4.3) in minutes east of Greenwich.
const ZONES: [(&str, i64); 12] = [
    ("UT", 0),
    ("GMT", 0),
    ("UTC", 0),
    ("Z", 0),
    ("EST", -300),
    ("EDT", -240),
    ("CST", -360),
    ("CDT", -300),
    ("MST", -420),
    ("MDT", -360),
    ("PST", -480),
    ("PDT", -420),
];

#[derive(Default)]
struct Reading {
    day: Option<i64>,
    month: Option<i64>,
    year: Option<i64>,
    seconds: Option<i64>,
    zone_minutes: Option<i64>,
}

/// The time that a date header names, in seconds since 1970-01-01T00:00:00Z; `None` when there is
/// no sense in it. Comments, missing weekday, missing seconds, two-digit years, named zones and the
/// order of `ctime` are understood; an unknown or missing zone is Greenwich.
pub fn parse_date(raw: &[u8]) -> Option<i64> {
    Reading::of(raw).seconds_since_1970()
}

/// The day that a date header names as it is written, without regard to time and zone (RFC 3501
/// §6.4.4 SENTON), in days since 1970-01-01; `None` when there is no sense in it.
pub fn parse_day(raw: &[u8]) -> Option<i64> {
    let reading = Reading::of(raw);
    let (day, month, year) = reading.date()?;
    Some(days_since_1970(year, month, day))
}

fn without_comments(raw: &[u8]) -> String {
    let mut depth = 0usize;
    let mut text = String::with_capacity(raw.len());
    for &byte in raw {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && byte.is_ascii() => text.push(char::from(byte)),
            _ => {}
        }
        if matches!(byte, b'(' | b')') {
            text.push(' ');
        }
    }
    text
}

impl Reading {
    fn of(raw: &[u8]) -> Reading {
        let text = without_comments(&raw[..raw.len().min(DATE_BYTES_MAX)]);
        let mut reading = Reading::default();
        let separators = |c: char| c.is_ascii_whitespace() || c == ',';
        for token in text.split(separators).filter(|t| !t.is_empty()) {
            reading.take(token);
        }
        reading
    }

    fn take(&mut self, token: &str) {
        let first = token.as_bytes()[0];
        if token.contains(':') && first.is_ascii_digit() {
            self.take_time(token);
        } else if matches!(first, b'+' | b'-') {
            self.zone_minutes = self.zone_minutes.or_else(|| offset(token));
        } else if first.is_ascii_digit() && token.contains('-') {
            self.take_dashed(token);
        } else if first.is_ascii_digit() {
            self.take_number(token);
        } else {
            self.take_name(token);
        }
    }

    fn take_number(&mut self, token: &str) {
        let Some(number) = digits(token) else { return };
        if self.day.is_none() && token.len() <= 2 {
            self.day = Some(number);
        } else if self.year.is_none() {
            self.year = Some(full_year(number, token.len()));
        }
    }

    /// `03-Mar-2026`, or `2026-03-03`, perhaps with a time behind a `T`.
    fn take_dashed(&mut self, token: &str) {
        let mut fields = token.splitn(3, '-');
        let (Some(first), Some(month), Some(last)) = (fields.next(), fields.next(), fields.next())
        else {
            return;
        };
        self.month = month_number(month).or_else(|| digits(month));
        if first.len() == 4 {
            self.year = digits(first);
            self.day = digits(last);
        } else {
            self.day = digits(first);
            self.year = digits(last).map(|year| full_year(year, last.len()));
        }
    }

    fn take_time(&mut self, token: &str) {
        if let Some((date, time)) = token.split_once('T') {
            self.take_dashed(date);
            return self.take_time(time);
        }
        let zone = token.find(['+', '-', 'Z', 'z']);
        let (time, zone) = token.split_at(zone.unwrap_or(token.len()));
        if !zone.is_empty() {
            self.take_name_or_offset(zone);
        }
        let mut fields = time.split(':').map(|f| f.split('.').next().and_then(digits));
        let hour = fields.next().flatten();
        let minute = fields.next().flatten();
        let second = fields.next().map_or(Some(0), |s| s);
        if let (Some(h @ 0..=23), Some(m @ 0..=59), Some(s @ 0..=60)) = (hour, minute, second) {
            self.seconds = self.seconds.or(Some(h * 3600 + m * 60 + s));
        }
    }

    fn take_name(&mut self, token: &str) {
        if let Some(month) = month_number(token).filter(|_| self.month.is_none()) {
            self.month = Some(month);
        } else if self.seconds.is_some() && self.zone_minutes.is_none() {
            self.take_name_or_offset(token);
        }
    }

    fn take_name_or_offset(&mut self, token: &str) {
        let letters = token.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (name, rest) = token.split_at(letters);
        let named = ZONES.iter().find(|zone| zone.0.eq_ignore_ascii_case(name)).map(|zone| zone.1);
        self.zone_minutes = offset(rest).or(named);
    }

    /// Day, month and year, when there is such a day.
    fn date(&self) -> Option<(i64, i64, i64)> {
        let (day, month, year) = (self.day?, self.month?, self.year?);
        let there = (1..=12).contains(&month) && (1..=month_days(year, month)).contains(&day);
        there.then_some((day, month, year))
    }

    fn seconds_since_1970(&self) -> Option<i64> {
        let (day, month, year) = self.date()?;
        let zone = self.zone_minutes.unwrap_or(0) * 60;
        Some(days_since_1970(year, month, day) * 86_400 + self.seconds? - zone)
    }
}

/// At most four digits.
fn digits(text: &str) -> Option<i64> {
    let plain = text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

fn full_year(number: i64, digits: usize) -> i64 {
    match (digits, number) {
        (..=2, ..=49) => number + 2000,
        (..=3, _) => number + 1900,
        _ => number,
    }
}

fn month_number(name: &str) -> Option<i64> {
    let name = name.get(..3)?;
    let at = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name))?;
    Some(at as i64 + 1)
}

/// `+0200`, `-05:30` in minutes.
fn offset(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let text: String = text[1..].chars().filter(|&c| c != ':').collect();
    let number = digits(&text)?;
    let minutes = if text.len() <= 2 { number * 60 } else { number / 100 * 60 + number % 100 };
    (minutes < 24 * 60).then_some(sign * minutes)
}

fn month_days(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar; years begin in March, so that the leap day is
/// last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn date_of_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// A date header value in Greenwich time, such as `Tue, 03 Mar 2026 09:15:00 +0000`; years outside
/// 0000 to 9999 are clamped.
pub fn print_date(seconds: i64) -> String {
    let seconds = seconds.clamp(-62_167_219_200, 253_402_300_799);
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date_of_days(days);
    let weekday = WEEKDAYS[days.rem_euclid(7) as usize];
    let month = MONTHS[(month - 1) as usize];
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} +0000")
}

#[cfg(test)]
mod tests;
