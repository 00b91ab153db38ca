//! Carrying a request out: by the running server, or on the data directory itself.

use std::io::{ErrorKind, IsTerminal};
use std::time::Duration;

use server::progress::{Progress, Unheard};
use server::{DataDir, Reached, Reply, Request, Settings, SettingsError, Site, chain};

use crate::Ending;
use crate::progress::Bar;

/// How long a starting server or another command is waited for.
const WAIT: Duration = Duration::from_secs(30);

/// Asks the server of the directory; without one, opens the directory and does it here. Long work
/// shows how far it is, and Ctrl-C stops it in order.
pub(crate) fn carry_out(dir: &DataDir, request: Request) -> Result<Reply, Ending> {
    must_be_a_server(dir)?;
    let mut bar = Bar::begin();
    match reach_with(dir, &request, &mut bar)? {
        Reached::Server(reply) => Ok(reply),
        Reached::Owned(_lock) => {
            if matches!(request, Request::Stop | Request::Status | Request::Reload) {
                return Err(not_running(dir));
            }
            let settings = settings(dir)?;
            if let Request::DbCare { care, paths } = &request {
                let reply = server::care_for(dir, &settings, *care, paths, &mut bar);
                return reply.map_err(|error| Ending::trouble(chain(&error)));
            }
            let opened = Site::open(dir, &settings);
            let (site, _) = opened.map_err(|error| Ending::trouble(chain(&error)))?;
            let reply = server::perform(&site, request, &mut bar);
            site.close().map_err(|error| Ending::trouble(chain(&error)))?;
            Ok(reply)
        }
    }
}

/// Asks on a terminal whether to go on; elsewhere `option` must say so.
pub(crate) fn confirm(question: &str, option: &str) -> Result<(), Ending> {
    if !std::io::stdin().is_terminal() {
        return Err(Ending::misuse(format!("{question} Say so with {option}")));
    }
    eprint!("{question} (yes/no) ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    decided(&answer)
}

/// Whether an answer lets the command go on. Another one is no misuse, and nothing was done.
fn decided(answer: &str) -> Result<(), Ending> {
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Ending { code: 1, text: "nothing was done".to_owned() }),
    }
}

/// Asks the server of the directory; a lock when there is none.
pub(crate) fn reach(dir: &DataDir, request: &Request) -> Result<Reached, Ending> {
    reach_with(dir, request, &mut Unheard)
}

/// As [`reach`], with an ear for the steps of long work.
pub(crate) fn reach_with(
    dir: &DataDir,
    request: &Request,
    progress: &mut dyn Progress,
) -> Result<Reached, Ending> {
    let reached = server::reach(dir, request, WAIT, progress);
    reached.map_err(|error| Ending::trouble(chain(&error)))
}

/// That nobody serves the directory, and what to do.
pub(crate) fn not_running(dir: &DataDir) -> Ending {
    let root = dir.root().display();
    Ending::misuse(format!("no server is running in {root}; start it with: nelumbo serve {root}"))
}

/// Refuses a directory that holds no server.
pub(crate) fn must_be_a_server(dir: &DataDir) -> Result<(), Ending> {
    match dir.config().try_exists() {
        Ok(true) => return Ok(()),
        Ok(false) if dir.run().join("control.sock").exists() => return Ok(()),
        Ok(false) => {}
        Err(error) if error.kind() == ErrorKind::NotADirectory => {}
        Err(error) => {
            let root = dir.root().display();
            return Err(Ending::trouble(format!("{root} cannot be looked into: {error}")));
        }
    }
    Err(Ending::misuse(format!(
        "{}: no server here (there is no nelumbo.toml); make one with: nelumbo setup",
        dir.root().display()
    )))
}

/// The settings of the directory.
pub(crate) fn settings(dir: &DataDir) -> Result<Settings, Ending> {
    match Settings::load(&dir.config()) {
        Ok(loaded) => Ok(loaded.settings),
        Err(error @ SettingsError::Wrong { .. }) => Err(Ending::misuse(chain(&error))),
        Err(error @ SettingsError::Unreadable { .. }) => Err(Ending::trouble(chain(&error))),
    }
}

#[cfg(test)]
mod tests {
    use server::DataDir;

    use super::{decided, must_be_a_server};

    #[test]
    fn a_directory_without_a_server_is_told_from_one_that_cannot_be_looked_into() {
        let dir = tempfile::tempdir().unwrap();
        let code = |path: &str| must_be_a_server(&DataDir::new(dir.path().join(path)));
        assert_eq!(code("none").unwrap_err().code, 2);
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(code("file/below").unwrap_err().code, 2);
        let long = "x".repeat(5_000);
        assert_eq!(code(&long).unwrap_err().code, 3);
        std::fs::write(dir.path().join("nelumbo.toml"), "").unwrap();
        assert!(code(".").is_ok());
    }

    #[test]
    fn only_yes_goes_on_and_no_is_no_misuse() {
        assert!(["y", "yes\n", " YES "].into_iter().all(|answer| decided(answer).is_ok()));
        for answer in ["", "n", "no\n", "yess", "ja"] {
            assert_eq!(decided(answer).unwrap_err().code, 1, "{answer}");
        }
    }
}
