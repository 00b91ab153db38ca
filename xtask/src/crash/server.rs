//! The server under test: a child process that is started, killed, and asked by its own commands.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a start may take, recovery included.
const START_MAX: Duration = Duration::from_secs(60);
/// How long a stopped process may go on.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// How long an ordered stop may take.
const STOP_MAX: Duration = Duration::from_secs(30);

/// A setting: section, name and value.
pub type Setting = (&'static str, &'static str, i64);

/// The ports of a server on loopback.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    pub smtp: u16,
    pub imap: u16,
    pub pop3: u16,
}

/// Where the program and its data are.
#[derive(Debug, Clone)]
pub struct Place {
    pub program: PathBuf,
    pub data: PathBuf,
    /// Where its standard error goes.
    pub log: PathBuf,
    pub offset: u16,
    pub users: u32,
    /// Variables of the environment that the server gets besides ours.
    pub environment: Vec<(String, String)>,
}

impl Place {
    /// The program that belongs to the workspace `root`, with `data` and a log below `scratch`.
    pub fn new(root: &Path, scratch: &Path, data: PathBuf, users: usize) -> Result<Place, String> {
        Ok(Place {
            program: program(root)?,
            data,
            log: scratch.join("server.log"),
            offset: free_offset(std::process::id() as u16)?,
            users: users as u32,
            environment: Vec::new(),
        })
    }

    /// The ports that the load uses.
    pub fn ports(&self) -> Ports {
        Ports { smtp: self.smtp(), imap: self.imap(), pop3: 2110 + self.offset }
    }

    /// Writes settings into the configuration of a server that is stopped. One that this version
    /// of the program does not know is left out.
    pub fn tune(&self, settings: &[Setting]) -> Result<(), String> {
        for (section, name, value) in settings {
            let path = self.data.join("nelumbo.toml");
            let words = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
            let old = std::fs::read_to_string(&path).map_err(|e| words(&e))?;
            let mut table: toml::Table = old.parse().map_err(|e: toml::de::Error| words(&e))?;
            let entry = table.entry(*section).or_insert_with(|| toml::Table::new().into());
            if let Some(section) = entry.as_table_mut() {
                section.insert((*name).to_owned(), toml::Value::Integer(*value));
            }
            std::fs::write(&path, table.to_string()).map_err(|e| words(&e))?;
            let (_, text) = self.ask(&["check"], &[])?;
            if text.contains("there is no such setting") {
                println!("{section}.{name} is not known yet and left out");
                std::fs::write(&path, old).map_err(|e| words(&e))?;
            }
        }
        Ok(())
    }

    /// The port for SMTP.
    pub fn smtp(&self) -> u16 {
        2025 + self.offset
    }

    /// The port for IMAP.
    pub fn imap(&self) -> u16 {
        2143 + self.offset
    }

    /// Runs one command of the program on the data directory; gives success and its output.
    pub fn ask(&self, before: &[&str], after: &[&str]) -> Result<(bool, String), String> {
        let mut command = Command::new(&self.program);
        command.args(before).arg(&self.data).args(after);
        let output = command.output().map_err(|e| format!("{before:?}: {e}"))?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok((output.status.success(), text))
    }

    /// Runs a command of the program that needs no data directory; gives its output.
    pub fn plain(&self, words: &[&str]) -> Result<String, String> {
        let output = Command::new(&self.program).args(words).output();
        let output = output.map_err(|e| format!("{words:?}: {e}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Warnings and errors in the server's log.
    pub fn errors_logged(&self) -> Vec<String> {
        let Ok(log) = File::open(&self.log) else { return Vec::new() };
        let lines = BufReader::new(log).lines().map_while(Result::ok);
        lines.filter(|line| is_serious(line)).collect()
    }
}

/// Whether a line of the log is a warning or worse: `TIME SEVERITY …`.
fn is_serious(line: &str) -> bool {
    let severity = line.split_whitespace().nth(1).unwrap_or("");
    let bad = ["warning", "failure", "fatal", "WARN", "ERROR"].contains(&severity);
    bad || line.contains("panicked at") || line.contains("BUG: thread")
}

/// An offset at which all ports of the server are free. No two ports of a server lie a multiple of
/// 19 apart, so that two runs that begin at once do not meet.
fn free_offset(start: u16) -> Result<u16, String> {
    const STANDARD: [u16; 9] = [25, 587, 465, 143, 993, 110, 995, 90, 1352];
    (0..200)
        .map(|step| 6_000 + 19 * (start.wrapping_add(step * 37) % 1_000))
        .find(|offset| {
            let free = |port: &u16| TcpListener::bind(("127.0.0.1", 2_000 + port + offset)).is_ok();
            STANDARD.iter().all(free)
        })
        .ok_or_else(|| "no free ports".to_owned())
}

/// What became of a start.
pub enum Started {
    /// It says `ready`, after this time.
    Ready(Server, Duration),
    /// It ended before that.
    Ended(ExitStatus),
    /// Neither, for a long time; it was killed.
    Silent,
}

/// A running server. Dropping it kills it.
pub struct Server {
    child: Child,
}

impl Server {
    /// Starts the server without waiting for it.
    pub fn launch(place: &Place) -> Result<Server, String> {
        let log = OpenOptions::new().create(true).append(true).open(&place.log);
        let log = log.map_err(|e| format!("{}: {e}", place.log.display()))?;
        let child = Command::new(&place.program)
            .arg("demo")
            .arg("--data")
            .arg(&place.data)
            .args(["--port-offset", &place.offset.to_string()])
            .args(["--users", &place.users.to_string()])
            .envs(place.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|e| format!("{}: {e}", place.program.display()))?;
        Ok(Server { child })
    }

    /// Starts the server and waits until it says `ready`; gives how long that took.
    pub fn start(place: &Place) -> Result<(Server, Duration), String> {
        match Server::try_start(place)? {
            Started::Ready(server, took) => Ok((server, took)),
            Started::Ended(status) => {
                Err(format!("ended with {status} at the start, see {}", place.log.display()))
            }
            Started::Silent => Err(format!("not ready, see {}", place.log.display())),
        }
    }

    /// Starts the server and waits until it says `ready` or ends.
    pub fn try_start(place: &Place) -> Result<Started, String> {
        let began = Instant::now();
        let mut server = Server::launch(place)?;
        let (said, heard) = mpsc::channel();
        let output = server.child.stdout.take().ok_or("no standard output")?;
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if line.trim() == "ready" {
                    let _ = said.send(()); // nobody listens after a timeout
                }
            }
        });
        match heard.recv_timeout(START_MAX) {
            Ok(()) => Ok(Started::Ready(server, began.elapsed())),
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(Started::Silent),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let ended = server.ended_within(STOP_MAX);
                Ok(ended.map_or(Started::Silent, Started::Ended))
            }
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL, and waits for the end.
    pub fn kill(mut self) {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
    }

    /// SIGSTOP: from now on it does nothing, until it is killed.
    pub fn pause(&self) -> Result<(), String> {
        let id = self.child.id().to_string();
        match Command::new("kill").args(["-STOP", &id]).status() {
            Ok(status) if status.success() => {}
            other => return Err(format!("kill -STOP {id}: {other:?}")),
        }
        // the signal takes a moment to reach all threads
        let began = Instant::now();
        while !self.stands_still() {
            if began.elapsed() > PAUSE_MAX {
                return Err(format!("{id} does not stand still"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Whether all threads are stopped, or will be before they leave the kernel.
    fn stands_still(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let Ok(tasks) = tasks else { return false };
        let state = |path: PathBuf| {
            let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
        };
        let states: Vec<Option<char>> = tasks.flatten().map(|task| state(task.path())).collect();
        states.contains(&Some('T')) && states.iter().all(|s| matches!(s, Some('T' | 'D') | None))
    }

    /// Whether the server has ended by itself.
    pub fn ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Waits for the end of the server; `None`: it still runs.
    pub fn ended_within(&mut self, longest: Duration) -> Option<ExitStatus> {
        let began = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                _ if began.elapsed() > longest => return None,
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// An ordered stop by the program's own command.
    pub fn stop(mut self, place: &Place) -> Result<(), String> {
        let (fine, text) = place.ask(&["stop"], &[])?;
        if !fine {
            return Err(format!("stop: {text}"));
        }
        match self.ended_within(STOP_MAX) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("stopped with {status}")),
            None => Err(format!("did not stop within {STOP_MAX:?}")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the release binary lies, or what to do about it.
fn program(root: &Path) -> Result<PathBuf, String> {
    let named = std::env::var_os("NELUMBO_BIN").map(PathBuf::from);
    let program = named.unwrap_or_else(|| root.join("target/release/nelumbo"));
    if program.exists() {
        return Ok(program);
    }
    Err(format!("{} is missing: cargo build --release -p nelumbo", program.display()))
}
