//! A figure that was taken several times: its middle and its spread.

use std::fmt;

/// The middle value with the least and the greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub middle: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    /// Of these values; `None` when there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (&least, &most) = (sorted.first()?, sorted.last()?);
        let half = sorted.len() / 2;
        let middle = match sorted.len() % 2 {
            1 => sorted[half],
            _ => f64::midpoint(sorted[half - 1], sorted[half]),
        };
        Some(Self { middle, least, most })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { middle, least, most } = *self;
        write!(f, "{} ({}..{})", short(middle), short(least), short(most))
    }
}

/// Three digits that mean something.
pub fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_ends_are_found() {
        let cases: [(&[f64], &str); 5] = [
            (&[3.0], "3.00 (3.00..3.00)"),
            (&[3.0, 1.0, 2.0], "2.00 (1.00..3.00)"),
            (&[4.0, 1.0], "2.50 (1.00..4.00)"),
            (&[0.5, f64::NAN], "0.500 (0.500..0.500)"),
            (&[1234.4, 0.0], "617 (0..1234)"),
        ];
        for (values, text) in cases {
            assert_eq!(Spread::of(values).unwrap().to_string(), text);
        }
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[f64::INFINITY]), None);
        assert_eq!(short(0.01234), "0.0123");
    }
}
