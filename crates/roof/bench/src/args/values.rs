//! Values of options: times, shares, patterns of addresses.

use std::path::PathBuf;
use std::time::Duration;

use crate::target::{People, Tls};

/// The longest time that an option takes.
const TIME_MAX: Duration = Duration::from_secs(30 * 86_400);
/// Digits of a number in an address.
const DIGITS_MAX: usize = 9;

/// A time such as `60s`, `15min`, `1.5h`, `250ms`.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (number, unit) = text.split_at(text.len() - digits.len());
    let unit_s = match unit.trim_start() {
        "ms" => 0.001,
        "s" | "sec" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        "" => return Err(format!("{text:?} needs a unit: ms, s, min or h, such as 60s or 15min")),
        other => return Err(format!("{other:?} is no unit of time; there are ms, s, min and h")),
    };
    let number: f64 = number.parse().map_err(|_| format!("{number:?} is no number"))?;
    let time = Duration::try_from_secs_f64(number * unit_s).map_err(|error| error.to_string())?;
    if time > TIME_MAX {
        return Err("more than 30 days".to_owned());
    }
    Ok(time)
}

/// A time that is not nothing.
pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("must be more than 0".to_owned()),
        time => Ok(time),
    }
}

/// A share such as `30%` or `0.3`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let (number, part) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim(), 0.01),
        None => (text.trim(), 1.0),
    };
    let share = number.parse::<f64>().map(|number| number * part).ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("{text:?} is no share from 0% to 100%, such as 30% or 0.3"))
}

/// By what pauses are divided.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let speed = text.trim().trim_end_matches('x').parse::<f64>().ok();
    speed
        .filter(|speed| (0.001..=1_000_000.0).contains(speed))
        .ok_or_else(|| format!("{text:?} is no speed; 1 is the pauses of people, 30 is thirtyfold"))
}

/// How an address is made of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    before: String,
    digits: usize,
    after: String,
}

impl Pattern {
    pub(super) fn people(&self, password: String, count: u32) -> People {
        let Self { before, digits, after } = self.clone();
        People { before, digits, after, password, count }
    }
}

/// A pattern such as `u{:04}@bench.test`: `{}` is the number, `{:04}` the number with four digits.
pub(super) fn pattern(text: &str) -> Result<Pattern, String> {
    let wrong = |why: &str| Err(format!("{why}, such as u{{:04}}@bench.test"));
    let Some((before, rest)) = text.split_once('{') else {
        return wrong("must have {} or {:04} where the number stands");
    };
    let Some((form, after)) = rest.split_once('}') else {
        return wrong("has { without }");
    };
    if after.contains(['{', '}']) {
        return wrong("has more than one place for the number");
    }
    let digits = match form.strip_prefix(":0") {
        _ if form.is_empty() => Some(0),
        Some(digits) => digits.parse().ok().filter(|digits| *digits <= DIGITS_MAX),
        None => None,
    };
    let Some(digits) = digits else {
        return wrong("must say {} or {:0N} with N from 1 to 9");
    };
    let domain = after.rsplit_once('@').map(|(_, domain)| domain).unwrap_or_default();
    if domain.is_empty() {
        return wrong("must be an address, with @ and a domain behind the number");
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return wrong("must have no spaces");
    }
    Ok(Pattern { before: before.to_owned(), digits, after: after.to_owned() })
}

/// How connections are secured.
pub(super) fn tls(text: &str) -> Result<Tls, String> {
    match text {
        "none" => Ok(Tls::None),
        "starttls" => Ok(Tls::Upgrade),
        "implicit" => Ok(Tls::Implicit),
        _ => Err("must be none, starttls or implicit".to_owned()),
    }
}

/// The word for it.
pub(super) fn tls_word(tls: Tls) -> &'static str {
    match tls {
        Tls::None => "none",
        Tls::Upgrade => "starttls",
        Tls::Implicit => "implicit",
    }
}

/// A directory that is there.
pub(super) fn directory(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_dir() { Ok(path) } else { Err("there is no such directory".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let good = [
            ("60s", 60.0),
            ("15min", 900.0),
            ("2m", 120.0),
            ("1.5h", 5400.0),
            ("250ms", 0.25),
            ("0s", 0.0),
            (" 3 s", 3.0),
        ];
        for (text, seconds) in good {
            assert_eq!(time(text).unwrap().as_secs_f64(), seconds, "{text}");
        }
        let wrong = [
            ("60", "needs a unit"),
            ("", "needs a unit"),
            ("s", "is no number"),
            ("-5s", "is no unit of time"),
            ("5 days", "is no unit of time"),
            ("1.2.3s", "is no number"),
            ("1000h", "more than 30 days"),
            ("99999999999999999999999h", "too"),
        ];
        for (text, why) in wrong {
            let told = time(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
        assert!(some_time("0s").is_err());
    }

    #[test]
    fn shares_and_speeds_have_bounds() {
        assert_eq!((share("30%"), share("0.3"), share("100 %")), (Ok(0.3), Ok(0.3), Ok(1.0)));
        for wrong in ["", "30", "-1%", "101%", "x", "nan"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!((speed("30"), speed("1x"), speed("0.5")), (Ok(30.0), Ok(1.0), Ok(0.5)));
        for wrong in ["0", "-1", "fast", "inf", "nan", ""] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn patterns_make_addresses() {
        let cases = [
            ("u{:04}@bench.test", "u0007@bench.test"),
            ("mail{}@x.org", "mail7@x.org"),
            ("{:02}.a@x.org", "07.a@x.org"),
        ];
        for (text, address) in cases {
            assert_eq!(pattern(text).unwrap().people(String::new(), 9).address(7), address);
        }
        let wrong = ["u@x", "u{@x", "u{}x", "u{}@", "u{:4}@x", "u{:099}@x", "{}{}@x", "u {}@x"];
        for text in wrong {
            assert!(pattern(text).unwrap_err().contains("such as u{:04}@bench.test"), "{text}");
        }
    }
}
