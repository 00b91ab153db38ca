//! Dates as IMAP writes them (RFC 3501 §9 `date`, `date-time`).

use super::{Bad, Cursor, Parse};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const DAY_S: i64 = 86_400;

/// A day as the number of days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(pub i64);

impl Day {
    /// Parses `date`: `1-Feb-2026`, quoted or not.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Parse<Day> {
        let quoted = cursor.eat(b'"');
        let day = cursor.number()?;
        let day = civil(cursor, day)?;
        if quoted {
            cursor.expect(b'"', "a date does not end")?;
        }
        Ok(day)
    }

    /// Microseconds since 1970 at which the day begins (UTC).
    pub(crate) fn start_us(self) -> i64 {
        self.0 * DAY_S * 1_000_000
    }
}

/// The rest of a date behind its day of the month: `-Feb-2026`.
fn civil(cursor: &mut Cursor<'_>, day: u32) -> Parse<Day> {
    const WRONG: Bad = Bad("a date is wrong");
    cursor.expect(b'-', WRONG.0)?;
    let name = cursor.rest().get(..3).ok_or(WRONG)?;
    let is = |known: &&str| known.as_bytes().eq_ignore_ascii_case(name);
    let month = MONTHS.iter().position(is).ok_or(WRONG)? as u32 + 1;
    for byte in name {
        cursor.expect(*byte, WRONG.0)?;
    }
    cursor.expect(b'-', WRONG.0)?;
    let year = cursor.number()?;
    let valid = (1..=9999).contains(&year) && (1..=month_days(year, month)).contains(&day);
    if valid { Ok(Day(days_of(year.into(), month.into(), day.into()))) } else { Err(WRONG) }
}

fn month_days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month, day of a number of days since 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let part = (5 * of_year + 2) / 153;
    let month = if part < 10 { part + 3 } else { part - 9 };
    (year + era * 400 + i64::from(month <= 2), month, of_year - (153 * part + 2) / 5 + 1)
}

/// Parses `date-time`, `" 1-Feb-2026 10:00:00 +0100"`, to microseconds since 1970.
pub(crate) fn parse_date_time(cursor: &mut Cursor<'_>) -> Parse<i64> {
    const WRONG: &str = "a date with time is wrong";
    cursor.expect(b'"', WRONG)?;
    cursor.eat(b' ');
    let day = cursor.number()?;
    let day = civil(cursor, day)?;
    cursor.expect(b' ', WRONG)?;
    let hour = cursor.number()?;
    cursor.expect(b':', WRONG)?;
    let minute = cursor.number()?;
    cursor.expect(b':', WRONG)?;
    let second = cursor.number()?;
    cursor.expect(b' ', WRONG)?;
    let zone = zone(cursor)?;
    cursor.expect(b'"', WRONG)?;
    if hour > 23 || minute > 59 || second > 60 {
        return Err(Bad(WRONG));
    }
    let of_day = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    Ok((day.0 * DAY_S + of_day - zone) * 1_000_000)
}

/// `zone`, in seconds east of Greenwich.
fn zone(cursor: &mut Cursor<'_>) -> Parse<i64> {
    let west = cursor.eat(b'-');
    if !west {
        cursor.expect(b'+', "a time zone is missing")?;
    }
    let before = cursor.offset();
    let number = i64::from(cursor.number()?);
    if cursor.offset() - before != 4 || number % 100 > 59 {
        return Err(Bad("a time zone is wrong"));
    }
    let seconds = number / 100 * 3_600 + number % 100 * 60;
    Ok(if west { -seconds } else { seconds })
}

/// Prints `date-time` in UTC, with its quotes.
pub(crate) fn print_date_time(micros: i64, out: &mut Vec<u8>) {
    let seconds = micros.div_euclid(1_000_000);
    let (year, month, day) = date_of(seconds.div_euclid(DAY_S));
    let of_day = seconds.rem_euclid(DAY_S);
    let year = year.clamp(0, 9999);
    let mut text = *b"\" d-mmm-yyyy hh:mm:ss +0000\"";
    put_two(day, &mut text[1..]);
    if day < 10 {
        text[1] = b' ';
    }
    text[4..7].copy_from_slice(MONTHS[(month - 1) as usize].as_bytes());
    put_two(year / 100, &mut text[8..]);
    put_two(year % 100, &mut text[10..]);
    put_two(of_day / 3_600, &mut text[13..]);
    put_two(of_day / 60 % 60, &mut text[16..]);
    put_two(of_day % 60, &mut text[19..]);
    out.extend_from_slice(&text);
}

/// Writes a number below 100 with two digits.
fn put_two(number: i64, text: &mut [u8]) {
    text[0] = b'0' + (number / 10) as u8;
    text[1] = b'0' + (number % 10) as u8;
}

#[cfg(test)]
mod tests;
