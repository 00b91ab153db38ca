//! What is shown while a run goes: one line a second on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::ledger::Ledger;
use crate::meters::Row;
use crate::outcome::number;

/// Time between two plain lines.
pub(super) const LINE_EVERY_S: f64 = 10.0;

/// The line of a run.
pub(super) struct Live {
    users: u32,
    ledger: Arc<Ledger>,
    terminal: bool,
    /// Whether the cursor is behind a line that is to be overwritten.
    open: Arc<AtomicBool>,
}

impl Live {
    pub(super) fn new(users: u32, ledger: Arc<Ledger>) -> Self {
        let terminal = io::stderr().is_terminal();
        Self { users, ledger, terminal, open: Arc::default() }
    }

    /// What is done now.
    pub(super) fn stage(&self, what: &str) {
        if self.terminal {
            overwrite(&format!("{what} …"));
            self.open.store(true, Ordering::Relaxed);
        } else {
            eprintln!("{what}");
        }
    }

    /// Takes the rows of a run.
    pub(super) fn rows(&self, ramp: Duration) -> impl FnMut(&Row) + Send + 'static + use<> {
        let (users, ledger) = (self.users, Arc::clone(&self.ledger));
        let (terminal, open) = (self.terminal, Arc::clone(&self.open));
        let mut next_s = LINE_EVERY_S;
        let mut sum = Sum::default();
        move |row| {
            sum.add(row);
            if terminal {
                overwrite(&line(row, users, ledger.faults(), ramp));
                open.store(true, Ordering::Relaxed);
            } else if row.t_s >= next_s {
                next_s = row.t_s + LINE_EVERY_S;
                eprintln!("{}", line(&sum.take(row), users, ledger.faults(), ramp));
            }
        }
    }

    /// Leaves the line.
    pub(super) fn end(&self) {
        if self.open.swap(false, Ordering::Relaxed) {
            overwrite("");
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}

/// Writes over the line at the cursor.
pub(super) fn overwrite(text: &str) {
    let mut err = io::stderr().lock();
    // Nobody may be looking.
    let _ = write!(err, "\r\x1b[K{text}").and_then(|()| err.flush());
}

/// Several rows as one.
#[derive(Debug, Default)]
struct Sum {
    rows: u32,
    transactions: u64,
    errors: u64,
    took_ms: f64,
    p99_ms: f64,
    cpu_percent: f64,
    driver_percent: f64,
}

impl Sum {
    fn add(&mut self, row: &Row) {
        self.rows += 1;
        self.transactions += row.transactions;
        self.errors += row.errors;
        self.took_ms += row.mean_ms * row.transactions as f64;
        self.p99_ms = self.p99_ms.max(row.p99_ms);
        self.cpu_percent += row.server_cpu_percent.unwrap_or_default();
        self.driver_percent += row.driver_cpu_percent.unwrap_or_default();
    }

    /// The sum as a row like `last`.
    fn take(&mut self, last: &Row) -> Row {
        let sum = std::mem::take(self);
        let rows = f64::from(sum.rows.max(1));
        Row {
            transactions: sum.transactions,
            errors: sum.errors,
            per_min: sum.transactions as f64 * 60.0 / rows,
            mean_ms: sum.took_ms / sum.transactions.max(1) as f64,
            p99_ms: sum.p99_ms,
            server_cpu_percent: last.server_cpu_percent.map(|_| sum.cpu_percent / rows),
            driver_cpu_percent: last.driver_cpu_percent.map(|_| sum.driver_percent / rows),
            ..last.clone()
        }
    }
}

/// A row as a line of less than 100 characters.
fn line(row: &Row, users: u32, faults: u64, ramp: Duration) -> String {
    let phase = match (row.steady, row.t_s <= ramp.as_secs_f64() + 1.0) {
        (true, _) => "steady",
        (false, true) => "ramp",
        (false, false) => "ending",
    };
    let mut out = format!(
        "{:>4.0} s {phase:6} {}/{users} users  {:>6}/min  {:.1} ms (p99 {:.0})  {} errors",
        row.t_s,
        row.joined,
        number(row.per_min, 0),
        row.mean_ms,
        row.p99_ms,
        row.errors,
    );
    if faults > 0 {
        out.push_str(&format!("  {faults} faults"));
    }
    if let Some(percent) = row.server_cpu_percent {
        out.push_str(&format!("  CPU {percent:.0} %"));
    }
    if let Some(writes) = row.device_writes_per_s {
        out.push_str(&format!("  {writes:.0} w/s"));
    }
    if let Some(percent) = row.driver_cpu_percent {
        out.push_str(&format!("  driver {percent:.0} %"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_a_terminal() {
        let row = Row {
            t_s: 3599.2,
            steady: true,
            joined: 6000,
            per_min: 123_456.0,
            mean_ms: 27.25,
            p99_ms: 299.0,
            server_cpu_percent: Some(123.4),
            device_writes_per_s: Some(199.9),
            driver_cpu_percent: Some(50.0),
            ..Row::default()
        };
        let shown = line(&row, 6000, 0, Duration::from_secs(60));
        let wanted = "3599 s steady 6000/6000 users  123,456/min  27.2 ms (p99 299)  0 errors  \
                      CPU 123 %  200 w/s  driver 50 %";
        assert_eq!(shown, wanted);
        let early = Row { t_s: 1.0, ..Row::default() };
        let shown = line(&early, 5, 2, Duration::from_secs(60));
        assert_eq!(
            shown,
            "   1 s ramp   0/5 users       0/min  0.0 ms (p99 0)  0 errors  2 faults"
        );
    }

    #[test]
    fn several_rows_make_one() {
        let mut sum = Sum::default();
        let row = |transactions, mean_ms, cpu| Row {
            transactions,
            mean_ms,
            p99_ms: mean_ms * 2.0,
            server_cpu_percent: Some(cpu),
            ..Row::default()
        };
        sum.add(&row(10, 10.0, 10.0));
        sum.add(&row(30, 20.0, 30.0));
        let one = sum.take(&row(30, 20.0, 30.0));
        assert_eq!((one.transactions, one.per_min, one.mean_ms), (40, 1200.0, 17.5));
        assert_eq!((one.p99_ms, one.server_cpu_percent), (40.0, Some(20.0)));
        assert_eq!(one.driver_cpu_percent, None);
    }
}
