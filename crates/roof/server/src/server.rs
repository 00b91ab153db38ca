//! A running server: everything below put together, and stopped in order.

mod chores;
mod start;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use note::TimeDate;
use parking_lot::Mutex;
use router::Router;
use serde_json::json;
use session::{Budget, Registry, Stopper, Stopping};

use crate::admin;
use crate::console;
use crate::control::Control;
use crate::gate::Gate;
use crate::layout::Lock;
use crate::loops::Loops;
use crate::pool::WorkerPool;
use crate::request::{Reply, Request, chain};
use crate::settings::{Effect, KEYS, Key, ROWS, Settings};
use crate::site::Site;
use crate::stats::ObjectTotals;
use crate::tls::Certificates;

use chores::Chores;
pub use start::{Holding, Network, StartError};

/// Time that tasks of the network get to end after their sessions.
const NETWORK_WAIT: Duration = Duration::from_secs(2);

/// What the console, statistics and commands see of a running server.
pub struct Running {
    /// Store, directory, settings.
    pub site: Site,
    pub(crate) pool: Arc<WorkerPool>,
    pub(crate) registry: Registry,
    pub(crate) budget: Budget,
    pub(crate) router: Arc<Router>,
    pub(crate) smtp: Arc<smtp::Door>,
    pub(crate) imap: Arc<imap::Door>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) loops: Loops,
    pub(crate) object_totals: ObjectTotals,
    pub(crate) certificates: Arc<Certificates>,
    pub(crate) addresses: Vec<(&'static str, SocketAddr)>,
    pub(crate) started: Instant,
    pub(crate) started_at: TimeDate,
    stopper: Stopper,
    failure: Mutex<Option<String>>,
}

impl Running {
    /// Why the server has to stop, if something failed for good.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Asks the server to stop in order.
    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// Stops the server because something failed for good (exit code 3).
    pub(crate) fn fail(&self, reason: String) {
        tracing::error!("{reason}; the server stops");
        self.failure.lock().get_or_insert(reason);
        self.stop();
    }

    /// Reads the configuration again and applies what can be changed while the server runs.
    ///
    /// # Errors
    /// What is wrong with the file or the certificate; the old values then stay.
    pub fn reload(&self) -> Result<(), String> {
        let loaded =
            Settings::load(&self.site.dir.config()).map_err(|error| chain(&error))?.settings;
        for (key, row) in KEYS.iter().zip(ROWS) {
            let differs = loaded.value(*key) != self.site.settings.value(*key);
            if differs && row.effect == Effect::Restart {
                tracing::info!(setting = row.name, "a changed setting waits for a restart");
            }
        }
        crate::logging::set_level(loaded.text(Key::LogLevel));
        self.certificates.reload().map_err(|error| chain(&error))?;
        tracing::info!("configuration and certificate were read again");
        Ok(())
    }

    /// Answers a command.
    pub fn answer(&self, request: Request) -> Reply {
        match request {
            Request::Stop => {
                tracing::info!("an administrator asked the server to stop");
                self.stop();
                Reply::done("stopping")
            }
            Request::Reload => match self.reload() {
                Ok(()) => Reply::done("reloaded"),
                Err(reason) => Reply::Refused { reason },
            },
            Request::Status => self.status(),
            Request::Console { line } => console::run(self, &line),
            other => {
                let ends = other.ends_sessions();
                let reply = admin::perform(&self.site, other);
                if let (true, Reply::Done { value }) = (ends, &reply)
                    && let Some(name) = value["full_name"].as_str()
                {
                    self.registry.drop_user(name);
                }
                reply
            }
        }
    }

    fn status(&self) -> Reply {
        let listeners: Vec<_> = self
            .addresses
            .iter()
            .map(|(name, address)| json!({ "door": name, "address": address.to_string() }))
            .collect();
        let failure = self.failure();
        let value = json!({
            "running": true,
            "server": self.site.settings.text(Key::ServerName),
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "started": self.started_at.to_string(),
            "uptime_s": self.started.elapsed().as_secs(),
            "sessions": self.registry.len(),
            "mail_waiting": self.router.pending(),
            "databases": self.site.store.paths().len(),
            "listeners": listeners,
            "failure": failure,
        });
        match failure {
            None => Reply::Done { value },
            Some(_) => Reply::Finding { value },
        }
    }
}

/// How a server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// In order, as asked.
    Stopped,
    /// In order, because something failed for good.
    Failed(String),
}

/// A server that runs.
pub struct Server {
    running: Arc<Running>,
    stopping: Stopping,
    runtime: tokio::runtime::Runtime,
    control: Control,
    chores: Chores,
    lock: Lock,
}

impl Server {
    /// What can be seen and asked of it.
    pub fn running(&self) -> &Arc<Running> {
        &self.running
    }

    /// Where it listens: name of the door and address.
    pub fn addresses(&self) -> &[(&'static str, SocketAddr)] {
        &self.running.addresses
    }

    /// Waits until somebody asks it to stop: a signal, a command, or a failure.
    pub fn wait(&self) {
        let mut stopping = self.stopping.clone();
        self.runtime.block_on(stopping.requested());
    }

    /// Stops it in order: listeners, sessions, router, workers, store; within about
    /// `server.stop_wait_s` and the time the last checkpoint takes.
    pub fn stop(self) -> Outcome {
        let Self { running, stopping: _, runtime, control, chores, lock } = self;
        running.stop();
        control.pause();
        let wait = Duration::from_secs(running.site.settings.number(Key::StopWait));
        let emptied =
            runtime.block_on(async { tokio::time::timeout(wait, running.gate.emptied()).await });
        if emptied.is_err() {
            tracing::warn!(sessions = running.registry.len(), "sessions were cut off");
        }
        running.loops.stop(NETWORK_WAIT);
        runtime.shutdown_timeout(NETWORK_WAIT);
        running.router.stop();
        chores.stop();
        running.pool.stop();
        if let Err(error) = running.site.close() {
            tracing::error!("{}", chain(&error));
            running.failure.lock().get_or_insert_with(|| chain(&error));
        }
        control.close();
        drop(lock);
        match running.failure() {
            None => Outcome::Stopped,
            Some(reason) => Outcome::Failed(reason),
        }
    }
}
