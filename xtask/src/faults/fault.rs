//! One call of the C library that fails with EIO, by a library in front of it.

use crate::crash::volume::run as system;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The library.
const SHIM: &str = include_str!("shim.c");

/// The library, compiled; `None`: there is no compiler.
pub fn build(scratch: &Path) -> Result<Option<PathBuf>, String> {
    if Command::new("gcc").arg("--version").output().is_err() {
        return Ok(None);
    }
    let (source, library) = (scratch.join("shim.c"), scratch.join("shim.so"));
    std::fs::write(&source, SHIM).map_err(|e| format!("{}: {e}", source.display()))?;
    let options = ["-shared", "-fPIC", "-O1", "-ldl", "-lpthread", "-o"];
    system("gcc", &options, &[&library, &source])?;
    Ok(Some(library))
}

/// One call that fails.
pub struct Fault {
    pub call: &'static str,
    /// Part of the path of the files that it is about.
    pub part: &'static str,
    /// Counted from 1 once armed.
    nth: u64,
    /// All later ones fail too.
    sticky: bool,
    arm: PathBuf,
    fired: PathBuf,
    count: PathBuf,
    shim: PathBuf,
}

impl Fault {
    /// The `nth` call of this kind, by the library `shim`.
    pub fn new(
        scratch: &Path,
        shim: &Path,
        (call, part): (&'static str, &'static str),
        nth: u64,
        sticky: bool,
    ) -> Fault {
        let [arm, fired, count] = ["arm", "fired", "count"].map(|name| scratch.join(name));
        for old in [&arm, &fired, &count] {
            let _ = std::fs::remove_file(old); // of the round before
        }
        Fault { call, part, nth, sticky, arm, fired, count, shim: shim.to_owned() }
    }

    /// From now on calls count.
    pub fn arm(&self) -> Result<(), String> {
        std::fs::write(&self.arm, b"").map_err(|e| format!("{}: {e}", self.arm.display()))
    }

    /// Whether the call has failed.
    pub fn happened(&self) -> bool {
        self.fired.exists()
    }

    /// How many calls a server that ended in order has made since the arming.
    pub fn counted(&self) -> u64 {
        let text = std::fs::read_to_string(&self.count).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    /// In words.
    pub fn describe(&self) -> String {
        let Fault { call, part, nth, sticky, fired, .. } = self;
        let more = if *sticky { " and all later ones" } else { "" };
        let happened = if fired.exists() { "" } else { " (did not come to it)" };
        format!("{call} {nth}{more} in {part}{happened}")
    }

    /// What the server must be started with.
    pub fn environment(&self) -> Vec<(String, String)> {
        let path = |path: &Path| path.display().to_string();
        [
            ("LD_PRELOAD", path(&self.shim)),
            ("LAB_CALL", self.call.to_owned()),
            ("LAB_PART", self.part.to_owned()),
            ("LAB_NTH", self.nth.to_string()),
            ("LAB_STICKY", u64::from(self.sticky).to_string()),
            ("LAB_ARM", path(&self.arm)),
            ("LAB_FIRED", path(&self.fired)),
            ("LAB_COUNT", path(&self.count)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// What is wrong with the server having ended like this, or not at all.
    pub fn judge(&self, ended: Option<ExitStatus>) -> Option<String> {
        let must_end = matches!((self.call, self.part), ("fdatasync" | "pwrite", "/txlog/"));
        let what = self.describe();
        match ended {
            Some(status) if status.signal().is_some() => Some(format!("{what}: {status}")),
            Some(status) if status.code() != Some(3) => Some(format!("{what}: {status}")),
            Some(_) if !self.fired.exists() => Some(format!("{what}: ended without a reason")),
            None if must_end && self.fired.exists() => Some(format!("{what}: the server goes on")),
            _ => None,
        }
    }
}
