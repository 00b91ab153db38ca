//! A running server: everything below put together, and stopped in order.

mod chores;
mod missing;
mod recount;
mod reload;
mod start;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailfile::trash;
use note::TimeDate;
use parking_lot::Mutex;
use router::Router;
use serde_json::json;
use session::{Budget, Registry, Stopper, Stopping};

use crate::admin;
use crate::console;
use crate::control::Control;
use crate::descriptors::Descriptors;
use crate::doors::Doors;
use crate::gate::Gate;
use crate::layout::Lock;
use crate::loops::Loops;
use crate::minutes::Minutes;
use crate::pool::WorkerPool;
use crate::progress::Progress;
use crate::request::{Reply, Request, chain};
use crate::settings::Key;
use crate::site::Site;
use crate::smart_host::SmartHost;
use crate::stats::ObjectTotals;
use crate::tasks::Tasks;
use crate::tls::Certificates;

use chores::Chores;
pub(crate) use missing::Missing;
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
    pub(crate) pop3: Arc<pop3::Door>,
    pub(crate) doors: Doors,
    pub(crate) listeners: tokio::runtime::Handle,
    pub(crate) tasks: Tasks,
    pub(crate) minutes: Mutex<Minutes>,
    pub(crate) trash: trash::Round,
    pub(crate) missing: Missing,
    pub(crate) smart_host: SmartHost,
    pub(crate) gate: Arc<Gate>,
    descriptors: Descriptors,
    pub(crate) loops: Loops,
    pub(crate) object_totals: ObjectTotals,
    pub(crate) certificates: Arc<Certificates>,
    pub(crate) addresses: Vec<(&'static str, SocketAddr)>,
    pub(crate) started: Instant,
    pub(crate) started_at: TimeDate,
    stopper: Stopper,
    stopping: Stopping,
    failure: Mutex<Option<String>>,
    /// Held while settings change.
    changing: Mutex<()>,
}

impl Running {
    /// Why the server has to stop, if something failed for good.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Asks the server to stop in order.
    pub fn stop(&self) {
        self.stopper.stop();
        self.doors.close_all();
        self.tasks.stop(None);
    }

    /// Whether it was asked to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_requested()
    }

    /// Stops the server because something failed for good (exit code 3).
    pub(crate) fn fail(&self, reason: String) {
        tracing::error!("{reason}; the server stops");
        self.failure.lock().get_or_insert(reason);
        self.stop();
    }

    /// Answers a command, telling `progress` how far long work is.
    pub fn answer(self: &Arc<Self>, request: Request, progress: &mut dyn Progress) -> Reply {
        match request {
            Request::Stop => {
                tracing::info!("an administrator asked the server to stop");
                self.stop();
                Reply::done("stopping")
            }
            Request::Reload => match self.reload() {
                Ok(told) => Reply::done(told),
                Err(reason) => Reply::Refused { reason },
            },
            Request::Status => self.status(),
            Request::Queue(order) => match admin::queue::answer(&self.router, &order) {
                Ok(value) => Reply::Done { value },
                Err(failure) => failure.into(),
            },
            Request::Console { line } => console::run(self, &line, progress),
            other => {
                let (ends, change) = (other.ends_sessions(), other.change());
                let seat = other.task().and_then(|task| self.tasks.begin(task, "by a command"));
                let reply = match &seat {
                    Some(seat) => admin::perform(&self.site, other, &mut seat.with(progress)),
                    None => admin::perform(&self.site, other, progress),
                };
                if let (Some(change), Reply::Done { .. }) = (change, &reply) {
                    tracing::info!("an administrator's command: {change}");
                }
                if let (true, Reply::Done { value }) = (ends, &reply)
                    && let Some(name) = value["full_name"].as_str()
                {
                    self.registry.drop_user(name);
                }
                reply
            }
        }
    }

    /// Shares the descriptors anew between connections and databases, and closes those databases
    /// that are too many now; waits for the log then.
    pub(crate) fn share_descriptors(&self) {
        self.note_descriptors();
        self.site.store.trim_open();
        self.note_descriptors();
    }

    /// The same without closing anything; true when one more connection has to wait for that.
    pub(crate) fn note_descriptors(&self) -> bool {
        let wanted = self.site.settings().size(Key::CacheEntries);
        self.descriptors.share(&self.site.store, &self.gate, wanted)
    }

    /// What an administrator has to look after now.
    pub(crate) fn alarms(&self) -> Vec<String> {
        let store = &self.site.store;
        let mut alarms: Vec<String> = self.failure().into_iter().collect();
        let log = store.log().status();
        if let Some(trouble) = log.archive.and_then(|archive| archive.trouble) {
            alarms.push(format!("the log cannot be archived and is held: {trouble}"));
        }
        if log.full {
            alarms.push("the transaction log is full; mail is refused for now".to_owned());
        }
        if store.is_disk_full() {
            alarms.push("the disk is full; changes are refused until there is room".to_owned());
        }
        alarms.extend(self.missing.alarm());
        alarms
    }

    fn status(&self) -> Reply {
        let listeners: Vec<_> = self
            .addresses
            .iter()
            .map(|(name, address)| json!({ "door": name, "address": address.to_string() }))
            .collect();
        let (failure, alarms) = (self.failure(), self.alarms());
        let value = json!({
            "running": true,
            "server": self.site.settings().text(Key::ServerName),
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "started": self.started_at.to_string(),
            "uptime_s": self.started.elapsed().as_secs(),
            "sessions": self.registry.len(),
            "mail_waiting": self.router.pending(),
            "databases": self.site.store.paths().len(),
            "listeners": listeners,
            "alarms": alarms,
            "failure": failure,
        });
        match alarms.is_empty() {
            true => Reply::Done { value },
            false => Reply::Finding { value },
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
        let wait = Duration::from_secs(running.site.settings().number(Key::StopWait));
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
            None => {
                tracing::info!("the server has stopped in order");
                Outcome::Stopped
            }
            Some(reason) => Outcome::Failed(reason),
        }
    }
}
