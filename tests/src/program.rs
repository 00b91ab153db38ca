//! Finding and running programs: the product's own and those of other people.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a program ended and what it said.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; -1 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Outcome {
    /// Demands exit code 0 and gives standard output.
    pub fn fine(self) -> String {
        assert_eq!(self.code, 0, "out: {}\nerr: {}", self.out, self.err);
        self.out
    }

    /// Demands exit code 0 and JSON on standard output.
    pub fn json(self) -> serde_json::Value {
        let text = self.fine();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }
}

/// The product's binary: `NELUMBO_BIN`, or what was built beside the tests.
pub fn nelumbo() -> PathBuf {
    if let Some(named) = std::env::var_os("NELUMBO_BIN") {
        return named.into();
    }
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps");
    let beside = profile.join("nelumbo");
    let release = profile.with_file_name("release").join("nelumbo");
    let found = [beside, release].into_iter().find(|p| p.exists());
    found.expect("no nelumbo binary: run ./test, or cargo build --release -p nelumbo")
}

/// The folder of this crate, for cases and scripts.
pub fn cargo_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs `command` with `input` on its standard input.
pub fn run(command: &mut Command, input: &[u8]) -> Outcome {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let mut stdin = child.stdin.take().expect("piped");
    // a program may end without reading all of it
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().expect("the program can be waited for");
    Outcome {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A program from outside, looked up in PATH; says what to install when it is missing.
pub fn tool(name: &str, package: &str) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|p| p.join(OsStr::new(name)).exists());
    assert!(
        found,
        "{name} is missing: apt-get install {package} (./test does it as root, ./test quick \
         leaves the tests with other people's programs out)"
    );
    Command::new(name)
}

/// The same, ended by force when it takes longer than a minute.
pub fn bounded(name: &str, package: &str) -> Command {
    tool(name, package);
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "60", name]);
    command
}
