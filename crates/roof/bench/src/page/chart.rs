//! A chart of lines over time as SVG.

use super::escaped;
use crate::outcome::number;

/// Points of a line; more are averaged.
const POINTS_MAX: usize = 150;
/// Lines that have a colour of their own.
pub(super) const COLOURS: usize = 8;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 30.0;

/// A line: its name, and (seconds, value) in the order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// A chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) unit: &'static str,
    pub(super) lines: Vec<Line>,
    /// The steady window of a run, in seconds.
    pub(super) steady: Option<(f64, f64)>,
}

impl Chart {
    /// It with its heading and legend; nothing when there is nothing to draw.
    pub(super) fn html(&self) -> String {
        let lines: Vec<Line> =
            self.lines.iter().filter(|line| !line.points.is_empty()).cloned().collect();
        if lines.is_empty() {
            return String::new();
        }
        let mut legend = String::new();
        for (at, line) in lines.iter().enumerate() {
            let colour = at % COLOURS;
            let name = escaped(&line.name);
            legend.push_str(&format!("<span><i class=\"k{colour}\"></i>{name}</span>"));
        }
        format!(
            "<figure><figcaption>{} <small>{}</small></figcaption>{}<div class=\"legend\">{legend}\
             </div></figure>\n",
            escaped(&self.title),
            escaped(self.unit),
            self.svg(&lines),
        )
    }

    fn svg(&self, lines: &[Line]) -> String {
        let points = || lines.iter().flat_map(|line| &line.points);
        let most_s = points().map(|(t, _)| *t).fold(1.0, f64::max);
        let top = points().map(|(_, value)| *value).fold(0.0, f64::max);
        let step = step(top, 4.0);
        let top = (top / step).ceil().max(1.0) * step;
        let x = |t: f64| LEFT + t / most_s * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM);
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escaped(&self.title)
        );
        if let Some((from, to)) = self.steady {
            let (from, to) = (x(from.clamp(0.0, most_s)), x(to.clamp(0.0, most_s)));
            out.push_str(&format!(
                "<rect class=\"steady\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" \
                 height=\"{:.1}\"/>",
                to - from,
                HEIGHT - TOP - BOTTOM,
            ));
        }
        out.push_str(&levels(top, step, y));
        out.push_str(&times(most_s, x));
        for (at, line) in lines.iter().enumerate() {
            let path: Vec<String> = thinned(&line.points)
                .iter()
                .map(|(t, value)| format!("{:.1},{:.1}", x(*t), y(*value)))
                .collect();
            let class = at % COLOURS;
            out.push_str(&format!("<polyline class=\"l{class}\" points=\"{}\"/>", path.join(" ")));
        }
        out + "</svg>"
    }
}

fn levels(top: f64, step: f64, y: impl Fn(f64) -> f64) -> String {
    let digits = if step >= 1.0 { 0 } else { (-step.log10()).ceil().clamp(1.0, 6.0) as usize };
    let mut out = String::new();
    let count = (top / step).round() as u32;
    for at in 0..=count {
        let value = f64::from(at) * step;
        let level = y(value);
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{level:.1}\" y2=\"{level:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            level + 4.0,
            number(value, digits),
        ));
    }
    out
}

fn times(most_s: f64, x: impl Fn(f64) -> f64) -> String {
    let (unit_s, unit) = match most_s {
        s if s > 3.0 * 3600.0 => (3600.0, "h"),
        s if s > 180.0 => (60.0, "min"),
        _ => (1.0, "s"),
    };
    let step = step(most_s / unit_s, 6.0);
    let count = (most_s / unit_s / step).floor() as u32;
    let digits = usize::from(step < 1.0);
    let mut out = String::new();
    for at in 0..=count {
        let value = f64::from(at) * step;
        let unit = if at == count { format!(" {unit}") } else { String::new() };
        out.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}{unit}</text>",
            x(value * unit_s),
            HEIGHT - 10.0,
            number(value, digits),
        ));
    }
    out
}

/// A round step of which about `count` make `whole`: 1, 2 or 5 times a power of ten.
fn step(whole: f64, count: f64) -> f64 {
    let rough = (whole / count).max(1e-6);
    let power = 10_f64.powf(rough.log10().floor());
    let factor = match rough / power {
        f if f <= 1.0 => 1.0,
        f if f <= 2.0 => 2.0,
        f if f <= 5.0 => 5.0,
        _ => 10.0,
    };
    factor * power
}

/// At most [`POINTS_MAX`] points, each the mean of its neighbours.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(POINTS_MAX).max(1);
    let mean = |part: &[(f64, f64)]| {
        let count = part.len() as f64;
        let sum = part.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (sum.0 / count, sum.1 / count)
    };
    points.chunks(each).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        let cases = [(100.0, 4.0, 50.0), (80.0, 4.0, 20.0), (0.9, 4.0, 0.5), (7.0, 4.0, 2.0)];
        for (whole, count, wanted) in cases {
            assert!((step(whole, count) - wanted).abs() < 1e-9, "{whole}: {}", step(whole, count));
        }
        assert!(step(0.0, 4.0) > 0.0);
    }

    #[test]
    fn many_points_become_their_means() {
        let points: Vec<(f64, f64)> = (0..3600).map(|at| (f64::from(at), 7.0)).collect();
        let few = thinned(&points);
        assert_eq!((few.len(), few[0]), (150, (11.5, 7.0)));
        assert_eq!(thinned(&points[..3]), points[..3]);
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(Chart::default().html(), "");
        let line = Line { name: "a".into(), points: vec![(0.0, 0.0)] };
        let flat = Chart { lines: vec![line], ..Chart::default() }.html();
        assert!(flat.contains("<polyline") && !flat.contains("NaN") && !flat.contains("inf"));
    }
}
