//! The server under test: a child process that is started, killed, and asked by its own commands.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a start may take, recovery included.
const START_MAX: Duration = Duration::from_secs(60);
/// How long an ordered stop may take.
const STOP_MAX: Duration = Duration::from_secs(30);

/// Where the program and its data are.
#[derive(Debug, Clone)]
pub struct Place {
    pub program: PathBuf,
    pub data: PathBuf,
    /// Where its standard error goes.
    pub log: PathBuf,
    pub offset: u16,
    pub users: u32,
}

impl Place {
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

    /// Warnings and errors in the server's log.
    pub fn errors_logged(&self) -> Vec<String> {
        let Ok(log) = File::open(&self.log) else { return Vec::new() };
        let lines = BufReader::new(log).lines().map_while(Result::ok);
        lines
            .filter(|l| [" WARN ", " ERROR ", "panicked at"].iter().any(|m| l.contains(m)))
            .collect()
    }
}

/// An offset at which all ports of the server are free.
pub fn free_offset(start: u16) -> Result<u16, String> {
    const STANDARD: [u16; 7] = [25, 587, 465, 143, 993, 90, 1352];
    (0..200)
        .map(|step| 6_000 + (start.wrapping_add(step * 37)) % 20_000)
        .find(|offset| {
            let free = |port: &u16| TcpListener::bind(("127.0.0.1", 2_000 + port + offset)).is_ok();
            STANDARD.iter().all(free)
        })
        .ok_or_else(|| "no free ports".to_owned())
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
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|e| format!("{}: {e}", place.program.display()))?;
        Ok(Server { child })
    }

    /// Starts the server and waits until it says `ready`; gives how long that took.
    pub fn start(place: &Place) -> Result<(Server, Duration), String> {
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
            Ok(()) => Ok((server, began.elapsed())),
            Err(_) => Err(format!("not ready, see {}", place.log.display())),
        }
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
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("kill -STOP {id}: {other:?}")),
        }
    }

    /// Whether the server has ended by itself.
    pub fn ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// An ordered stop by the program's own command.
    pub fn stop(mut self, place: &Place) -> Result<(), String> {
        let (fine, text) = place.ask(&["stop"], &[])?;
        if !fine {
            return Err(format!("stop: {text}"));
        }
        let began = Instant::now();
        while began.elapsed() < STOP_MAX {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("stopped with {status}")),
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        Err(format!("did not stop within {STOP_MAX:?}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the release binary lies, or what to do about it.
pub fn program(root: &Path) -> Result<PathBuf, String> {
    let named = std::env::var_os("NELUMBO_BIN").map(PathBuf::from);
    let program = named.unwrap_or_else(|| root.join("target/release/nelumbo"));
    if program.exists() {
        return Ok(program);
    }
    Err(format!("{} is missing: cargo build --release -p nelumbo", program.display()))
}
