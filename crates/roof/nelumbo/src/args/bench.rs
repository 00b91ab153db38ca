//! `bench`: the load driver, and the console through which it sets switches of the server.

use std::path::PathBuf;

use ::bench::args::{Around, Bench, exit_code};
use ::bench::variant::{Blocking, Console};
use server::{DataDir, Reached, Reply, Request};

use crate::Ending;
use crate::ask::{must_be_a_server, not_running, reach};

/// The console of the server in a data directory.
#[derive(Debug)]
struct Way {
    dir: DataDir,
}

/// Carries out a command of the driver; `data` is the directory of the server under load, when it
/// is on this machine.
pub(super) fn run(command: Bench, data: Option<PathBuf>, json: bool) -> Result<(), Ending> {
    let way = data.map(|dir| Way { dir: DataDir::new(dir) });
    if let Some(way) = &way {
        must_be_a_server(&way.dir)?;
    }
    let console = way.map(|way| Box::new(way) as Box<dyn Console>);
    match exit_code(command, Around { console, json }) {
        0 => Ok(()),
        code => Err(Ending { code, text: String::new() }),
    }
}

impl Way {
    fn ask(&self, request: &Request) -> Result<String, String> {
        match reach(&self.dir, request).map_err(|ending| ending.text)? {
            Reached::Server(reply) => told(reply),
            Reached::Owned(_) => Err(not_running(&self.dir).text),
        }
    }
}

impl Console for Way {
    fn command(&self, line: &str) -> Result<String, String> {
        self.ask(&Request::Console { line: line.to_owned() })
    }

    fn block(&self, person: &str, senders: &[String], way: Blocking) -> Result<(), String> {
        let (add, remove) = match way {
            Blocking::Add => (senders.to_vec(), Vec::new()),
            Blocking::Remove => (Vec::new(), senders.to_vec()),
        };
        let name = person.to_owned();
        self.ask(&Request::UserBlock { name, add, remove }).map(drop)
    }
}

/// The text of an answer.
fn told(reply: Reply) -> Result<String, String> {
    match reply {
        Reply::Done { value } | Reply::Finding { value } => {
            Ok(value["text"].as_str().map_or_else(|| value.to_string(), str::to_owned))
        }
        Reply::Refused { reason } | Reply::Trouble { reason } => Err(reason),
        Reply::Starting => Err("the server is starting; try again".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_texts() {
        let done = |json: serde_json::Value| told(Reply::Done { value: json });
        assert_eq!(done(serde_json::json!({"text": "off"})), Ok("off".to_owned()));
        assert_eq!(done(serde_json::json!({"a": 1})), Ok("{\"a\":1}".to_owned()));
        assert_eq!(told(Reply::refused("no such setting")), Err("no such setting".to_owned()));
    }

    #[test]
    fn without_a_server_there_is_no_console() {
        let dir = tempfile::tempdir().unwrap();
        let refused =
            run(Bench::List { workload: None, file: false }, Some(dir.path().to_owned()), false);
        assert_eq!(refused.unwrap_err().code, 2);
    }
}
