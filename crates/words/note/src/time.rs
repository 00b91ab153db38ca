//! Points in time.

use std::fmt;

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TimeDate(pub i64);

const MICROS: i64 = 1_000_000;
const DAY_SECONDS: i64 = 86_400;

impl TimeDate {
    /// The point `seconds` after the epoch (saturating).
    pub fn from_unix_seconds(seconds: i64) -> TimeDate {
        TimeDate(seconds.saturating_mul(MICROS))
    }

    /// Whole seconds since the epoch, rounded down.
    pub fn unix_seconds(self) -> i64 {
        self.0.div_euclid(MICROS)
    }

    /// This point moved by `seconds` (saturating).
    pub fn plus_seconds(self, seconds: i64) -> TimeDate {
        TimeDate(self.0.saturating_add(seconds.saturating_mul(MICROS)))
    }
}

/// Year, month and day of a day number counted from 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years start in March, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl fmt::Display for TimeDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.unix_seconds();
        let (year, month, day) = civil(seconds.div_euclid(DAY_SECONDS));
        let rest = seconds.rem_euclid(DAY_SECONDS);
        let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
        let micros = self.0.rem_euclid(MICROS);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_as_iso_8601() {
        let cases = [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_796_083_199_123_456, "2026-11-30T23:59:59.123456Z"),
        ];
        for (micros, text) in cases {
            assert_eq!(TimeDate(micros).to_string(), text);
        }
    }

    #[test]
    fn the_ends_of_time_print_without_overflow() {
        assert!(TimeDate(i64::MIN).to_string().starts_with('-'));
        assert!(TimeDate(i64::MAX).to_string().ends_with('Z'));
        assert_eq!(TimeDate::from_unix_seconds(i64::MAX), TimeDate(i64::MAX));
    }

    #[test]
    fn seconds_round_down() {
        assert_eq!(TimeDate(-1).unix_seconds(), -1);
        assert_eq!(TimeDate(1_999_999).unix_seconds(), 1);
        assert_eq!(TimeDate(0).plus_seconds(2), TimeDate(2_000_000));
    }
}
