//! How far long work is, shown while it runs: a bar on a terminal, plain lines elsewhere. Ctrl-C
//! asks the work to stop in order; a second one ends the command at once.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use server::progress::{Pace, Progress};

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Work shorter than this shows nothing.
const QUIET: Duration = Duration::from_millis(500);
/// Width of the bar in characters.
const BAR_CHARS: u64 = 24;
/// Room for the name of what is done, in characters.
const WHAT_CHARS: usize = 36;

/// Set by Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn interrupted(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on the first Ctrl-C only asks; the next one ends the process as ever.
#[allow(unsafe_code)]
fn catch_interrupt() {
    // SAFETY: the action is plain old data that is filled before it is used; the handler only
    // stores to an atomic, which is allowed in a signal handler.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int) = interrupted;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESETHAND;
        libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut());
    }
}

/// Shows progress on standard error.
pub(crate) struct Bar {
    is_terminal: bool,
    begun: Instant,
    pace: Pace,
    last_line: Option<Instant>,
    is_shown: bool,
    is_asked: bool,
}

impl Bar {
    /// Begins to listen for Ctrl-C, too.
    pub(crate) fn begin() -> Self {
        catch_interrupt();
        Self {
            is_terminal: io::stderr().is_terminal(),
            begun: Instant::now(),
            pace: Pace::default(),
            last_line: None,
            is_shown: false,
            is_asked: false,
        }
    }

    fn show(&mut self, what: &str, done: u64, total: u64) {
        let now = Instant::now();
        if now.duration_since(self.begun) < QUIET {
            return;
        }
        // Nobody is kept from working because nobody can be told.
        let mut out = io::stderr();
        if self.is_terminal {
            if self.pace.is_due() {
                self.is_shown = true;
                let _ = write!(out, "\r\x1b[K{}", bar(what, done, total));
                let _ = out.flush();
            }
        } else if self.last_line.is_none_or(|last| now.duration_since(last) >= LINE_EVERY) {
            self.last_line = Some(now);
            let _ = writeln!(out, "{}", plain(what, done, total));
        }
    }
}

impl Progress for Bar {
    fn step(&mut self, what: &str, done: u64, total: u64) -> ControlFlow<()> {
        self.show(what, done, total);
        self.look()
    }

    fn look(&mut self) -> ControlFlow<()> {
        if !INTERRUPTED.load(Ordering::Relaxed) {
            return ControlFlow::Continue(());
        }
        if !self.is_asked {
            self.is_asked = true;
            let _ = writeln!(io::stderr(), "\nstopping in order; Ctrl-C again ends at once");
        }
        ControlFlow::Break(())
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn percent(done: u64, total: u64) -> u64 {
    // Within 100 after the division, for any two numbers.
    u64::try_from(u128::from(done.min(total)) * 100 / u128::from(total.max(1))).unwrap_or(100)
}

fn bar(what: &str, done: u64, total: u64) -> String {
    let what: String = what.chars().take(WHAT_CHARS).collect();
    if total == 0 {
        return format!("{what:WHAT_CHARS$} {done}");
    }
    let percent = percent(done, total);
    let full = usize::try_from(percent * BAR_CHARS / 100).unwrap_or(0);
    let width = usize::try_from(BAR_CHARS).unwrap_or(0);
    format!("{what:WHAT_CHARS$} [{:width$}] {percent:3} %  {done}/{total}", "#".repeat(full))
}

fn plain(what: &str, done: u64, total: u64) -> String {
    match total {
        0 => format!("{what}: {done}"),
        _ => format!("{what}: {done} of {total}, {} %", percent(done, total)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_up() {
        let cases = [
            (0, 10, "[                        ]   0 %  0/10"),
            (5, 10, "[############            ]  50 %  5/10"),
            (10, 10, "[########################] 100 %  10/10"),
            (99, 10, "[########################] 100 %  99/10"),
            (u64::MAX, u64::MAX, "100 %"),
        ];
        for (done, total, end) in cases {
            assert!(bar("mail/ada.nsf", done, total).contains(end), "{done} of {total}");
        }
        assert!(bar("x", 7, 0).trim_end().ends_with(" 7"));
        assert_eq!(plain("x", 1, 3), "x: 1 of 3, 33 %");
    }
}
