//! A server on a volume of its own, set up, started and stopped by the scripts of `xtask/peers`,
//! and the load driver put upon it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The exit code of the driver for a run that was done and failed.
const FAILED: i32 = 1;

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// This one.
    Nelumbo,
    /// Postfix with Dovecot, mail in sdbox.
    Dovecot,
}

impl Kind {
    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nelumbo => "nelumbo",
            Self::Dovecot => "dovecot-sdbox",
        }
    }

    /// The middle of its scripts' names, and their argument.
    fn script(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Nelumbo => ("nelumbo", None),
            Self::Dovecot => ("dovecot-postfix", Some("sdbox")),
        }
    }

    /// What its answers promise.
    pub fn promise(self) -> &'static str {
        match self {
            Self::Nelumbo => "answers once its transaction log is synced",
            Self::Dovecot => {
                "syncs the queue file before the 250, and the mailbox (mail_fsync=always)"
            }
        }
    }
}

/// A server that is set up afresh.
#[derive(Debug, Clone)]
pub struct Stage {
    scripts: PathBuf,
    peers: PathBuf,
    program: PathBuf,
    pub kind: Kind,
    pub people: u32,
}

/// What the driver said of a run.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its result file.
    pub json: Value,
    /// Whether it passed.
    pub passed: bool,
}

impl Stage {
    /// A server for so many people.
    pub fn new(root: &Path, kind: Kind, people: u32) -> Result<Self, String> {
        let program =
            variable("NELUMBO_BIN").map_or(root.join("target/release/nelumbo"), Into::into);
        if !program.is_file() {
            let program = program.display();
            return Err(format!("{program} is missing: cargo build --release -p nelumbo"));
        }
        let scripts = root.join("xtask/peers");
        Ok(Self { scripts, peers: peers(), program, kind, people })
    }

    /// A new volume, and the server on it.
    pub fn start(&self) -> Result<(), String> {
        self.script("setup")?;
        self.script("start")
    }

    /// Stops it in order.
    pub fn stop(&self) -> Result<(), String> {
        self.script("stop")
    }

    fn script(&self, verb: &str) -> Result<(), String> {
        let (middle, argument) = self.kind.script();
        let name = format!("{verb}-{middle}.sh");
        let mut command = Command::new(self.scripts.join(&name));
        command.args(argument).env("NUSERS", self.people.to_string());
        command.env("NELUMBO_BIN", &self.program);
        let status = command.status().map_err(|e| format!("{name}: {e}"))?;
        if status.success() { Ok(()) } else { Err(format!("{name} ended with {status}")) }
    }

    /// Writes everything that the server keeps back into its files.
    pub fn settle(&self) -> Result<(), String> {
        if self.kind == Kind::Nelumbo {
            let data = self.data();
            let mut command = Command::new(&self.program);
            command.arg("console").arg(&data).args(["dbcache", "flush"]);
            let output = command.output().map_err(|e| format!("dbcache flush: {e}"))?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!("dbcache flush: {}", said.trim()));
            }
        }
        let status = Command::new("sync").status().map_err(|e| format!("sync: {e}"))?;
        if status.success() { Ok(()) } else { Err(format!("sync ended with {status}")) }
    }

    /// Fills the mail files of everybody.
    pub fn populate(&self, words: &[String]) -> Result<(), String> {
        let mut command = self.bench("populate");
        command.args(words);
        let status = command.status().map_err(|e| format!("bench populate: {e}"))?;
        if status.success() { Ok(()) } else { Err(format!("bench populate ended with {status}")) }
    }

    /// Runs the driver (`run` or `peak`) with these words; its result goes to `out`.
    pub fn drive(&self, verb: &str, words: &[String], out: &Path) -> Result<Run, String> {
        let mut command = self.bench(verb);
        command.args(words).args(self.meters()).arg("--out").arg(out);
        if let Some(folder) = out.parent() {
            std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        let status = command.status().map_err(|e| format!("bench {verb}: {e}"))?;
        if !status.success() && status.code() != Some(FAILED) {
            return Err(format!("bench {verb} ended with {status}"));
        }
        let text = std::fs::read_to_string(out).map_err(|e| format!("{}: {e}", out.display()))?;
        let json = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", out.display()))?;
        Ok(Run { json, passed: status.success() })
    }

    fn bench(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        let [smtp, imap, pop3] = self.ports();
        command.args(["bench", verb, "--target", "127.0.0.1", "--password", "secret"]);
        command.args(["--user-pattern", "u{:04}@bench.test"]);
        for (option, port) in [("--smtp-port", smtp), ("--imap-port", imap), ("--pop3-port", pop3)]
        {
            command.arg(option).arg(port.to_string());
        }
        command.arg("--users").arg(self.people.to_string());
        command
    }

    /// Where the driver reads what the server uses.
    fn meters(&self) -> Vec<String> {
        let top = self.peers.file_name().map(|n| n.to_string_lossy().into_owned());
        let group = format!("{}/{}", top.unwrap_or_default(), self.kind.name());
        let mut words = Vec::new();
        // cgroup v1 counts CPU, its twin in v2 is what bpftrace knows; v2 alone does both
        for way in ["cpuacct", "unified", "."] {
            let folder = Path::new("/sys/fs/cgroup").join(way).join(&group);
            if folder.is_dir() {
                words.extend(["--server-cgroup".to_owned(), folder.display().to_string()]);
            }
        }
        let device = std::fs::read_to_string(self.peers.join("loopdev")).unwrap_or_default();
        if let Some(device) = device.trim().strip_prefix("/dev/") {
            words.extend(["--device".to_owned(), device.to_owned()]);
        }
        let data = self.peers.join("data").display().to_string();
        words.extend(["--server-data".to_owned(), data, "--sync-count".to_owned()]);
        words
    }

    fn data(&self) -> PathBuf {
        self.peers.join("data/nelumbo")
    }

    /// SMTP, IMAP, POP3, as `lib.sh` sets them.
    fn ports(&self) -> [u16; 3] {
        let port = |name, usual| variable(name).and_then(|p| p.parse().ok()).unwrap_or(usual);
        match self.kind {
            Kind::Nelumbo => {
                let offset = port("NELUMBO_OFFSET", 3000);
                [2025 + offset, 2143 + offset, 2110 + offset]
            }
            Kind::Dovecot => {
                [port("SMTP_PORT", 2525), port("IMAP_PORT", 1143), port("POP3_PORT", 1110)]
            }
        }
    }
}

/// Where results and volumes of measurements are kept.
pub fn peers() -> PathBuf {
    variable("PEERS").map_or_else(|| "/tmp/peers".into(), PathBuf::from)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
