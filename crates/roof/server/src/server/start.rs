//! Starting a server, step by step.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use router::{Router, RouterError};
use session::{Budget, Registry, Stopping, stopping};
use store::Recovery;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use parking_lot::Mutex;

use super::chores::Chores;
use super::{Missing, Running, Server};
use crate::control::Control;
use crate::descriptors::Descriptors;
use crate::doors::{self, Doors};
use crate::gate::Gate;
use crate::layout::{DataDir, Lock};
use crate::listen::{self, ListenError, Listener};
use crate::loops::Loops;
use crate::options;
use crate::pool::WorkerPool;
use crate::process;
use crate::programs;
use crate::progress::Progress;
use crate::settings::{Key, Settings};
use crate::setup::make_certificate;
use crate::site::{Site, SiteError, fenced};
use crate::smart_host::SmartHost;
use crate::stats::ObjectTotals;
use crate::tasks::Tasks;
use crate::tls::{Certificates, TlsError};

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process owns the data directory.
    #[error("{0} is in use by another process; ask it with: nelumbo status {0}")]
    InUse(String),
    /// Files, threads or signals are in trouble.
    #[error("the server cannot start")]
    System(#[from] io::Error),
    /// A port cannot be opened.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The store or the directory cannot be opened.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The smart host cannot be used.
    #[error("the smart host (settings transfer.*) cannot be used")]
    SmartHost(#[from] smtp::CourierError),
    /// The router cannot start.
    #[error("the router cannot start")]
    Router(#[from] RouterError),
}

/// A data directory that is held while a server starts: the lock, and the control socket that
/// tells commands to wait.
pub struct Holding {
    dir: DataDir,
    lock: Lock,
    control: Control,
}

impl Holding {
    /// Takes the directory.
    ///
    /// # Errors
    /// Another process owns it, or the lock or socket cannot be made.
    pub fn take(dir: &DataDir) -> Result<Self, StartError> {
        dir.make()?;
        let Some(lock) = dir.lock()? else {
            return Err(StartError::InUse(dir.root().display().to_string()));
        };
        let control = Control::open(&dir.run())?;
        Ok(Self { dir: dir.clone(), lock, control })
    }
}

/// The network of a server: its threads and its open ports.
pub struct Network {
    runtime: Runtime,
    loops: Loops,
    listeners: Vec<Listener>,
}

impl Network {
    /// Opens every port.
    ///
    /// # Errors
    /// A port or a thread cannot be had.
    pub fn open(settings: &Settings) -> Result<Self, StartError> {
        process::raise_descriptors();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("listener")
            .enable_all()
            .build()?;
        let entered = runtime.enter();
        let listeners = listen::open(settings)?;
        drop(entered);
        let loops = Loops::start(settings.size(Key::NetworkThreads))?;
        Ok(Self { runtime, loops, listeners })
    }
}

impl Server {
    /// Starts a server of a data directory: ports, user, lock, store, doors.
    ///
    /// # Errors
    /// The first step that failed.
    pub fn start(dir: &DataDir, settings: &Settings) -> Result<Self, StartError> {
        if dir.lock()?.is_none() {
            return Err(StartError::InUse(dir.root().display().to_string()));
        }
        let network = Network::open(settings)?;
        let user = settings.text(Key::User);
        if !user.is_empty() && process::is_root() {
            process::become_user(user)?;
        }
        let holding = Holding::take(dir)?;
        let (site, recovery) = Site::open(dir, settings)?;
        tell(&recovery);
        Self::run(network, holding, site)
    }

    /// Starts a server on a site that is open already.
    ///
    /// # Errors
    /// The first step that failed; the site is closed then.
    pub fn run(network: Network, holding: Holding, site: Site) -> Result<Self, StartError> {
        let store = site.store.clone();
        let server = Self::assemble(network, holding, site);
        if server.is_err() {
            // The first error is the one to tell.
            let _ = store.close();
        }
        server
    }

    fn assemble(network: Network, holding: Holding, site: Site) -> Result<Self, StartError> {
        let Network { runtime, loops, listeners } = network;
        let addresses = listeners.iter().map(|one| (one.name, one.address)).collect();
        let (stopper, stopping) = stopping();
        site.is_served.store(true, Ordering::Relaxed);
        let parts = Parts::make(&holding.dir, &site)?;
        let running = Arc::new(Running {
            pool: parts.pool,
            registry: parts.registry,
            budget: parts.budget,
            router: parts.router,
            smtp: parts.smtp,
            imap: parts.imap,
            pop3: parts.pop3,
            doors: Doors::default(),
            listeners: runtime.handle().clone(),
            tasks: Tasks::default(),
            minutes: Mutex::default(),
            smart_host: parts.smart_host,
            trash: mailfile::trash::Round::new(options::trash(&site.settings())),
            missing: Missing::default(),
            gate: Gate::new(
                site.settings().size(Key::ConnectionsMax),
                site.settings().size(Key::ConnectionsPerAddress),
            ),
            descriptors: Descriptors::of_process(),
            loops,
            object_totals: ObjectTotals::default(),
            certificates: parts.certificates,
            addresses,
            started: Instant::now(),
            started_at: site.store.now(),
            site,
            stopper,
            stopping: stopping.clone(),
            failure: Mutex::default(),
            changing: Mutex::default(),
        });
        let entered = runtime.enter();
        let signals = Signals::open()?;
        tokio::spawn(signals.watch(running.clone(), stopping.clone()));
        drop(entered);
        programs::begin(&running);
        doors::serve(&running, listeners);
        let chores = Chores::start(running.clone())?;
        let Holding { dir: _, lock, control } = holding;
        let answering = running.clone();
        control.answer_with(Arc::new(move |request, progress: &mut dyn Progress| {
            answering.answer(request, progress)
        }));
        Ok(Self { running, stopping, runtime, control, chores, lock })
    }
}

/// Tells the log what recovery found.
fn tell(recovery: &Recovery) {
    tracing::info!(
        databases = recovery.databases,
        records = recovery.records_scanned,
        pending = recovery.databases_pending,
        discarded_bytes = recovery.discarded_bytes,
        "the register of databases is open"
    );
    for (old, new) in &recovery.moved {
        tracing::warn!("database {old} was found at {new}");
    }
    for path in &recovery.adopted {
        tracing::warn!("database {path} is foreign or a copy, and got a new instance id");
    }
    for path in &recovery.registered_again {
        tracing::warn!("database {path} had lost its place in the register, and has it again");
    }
    if let Some(rebuilt) = &recovery.catalog_rebuilt {
        tracing::error!(
            segments = rebuilt.segments,
            objects = rebuilt.objects,
            unreadable = rebuilt.unreadable,
            "the catalog of objects was made anew ({}); its references are counted now",
            rebuilt.reason
        );
    }
    for (path, reason) in &recovery.fenced {
        tracing::error!("{}", fenced(path, reason));
    }
    for damage in &recovery.damage {
        tracing::error!("the transaction log is damaged: {damage}");
    }
}

/// What stands between the site and the listeners.
struct Parts {
    pool: Arc<WorkerPool>,
    registry: Registry,
    budget: Budget,
    router: Arc<Router>,
    smtp: Arc<smtp::Door>,
    imap: Arc<imap::Door>,
    pop3: Arc<pop3::Door>,
    smart_host: SmartHost,
    certificates: Arc<Certificates>,
}

impl Parts {
    fn make(dir: &DataDir, site: &Site) -> Result<Self, StartError> {
        let settings = site.settings();
        if make_certificate(dir, &settings)? {
            tracing::info!("a self-signed certificate was made");
        }
        let certificates = Certificates::load(
            &dir.resolve(settings.text(Key::TlsCertificate)),
            &dir.resolve(settings.text(Key::TlsKey)),
        )?;
        let threads = match settings.size(Key::PoolTasks) {
            0 => 2 * process::processors(),
            threads => threads,
        };
        let pool = WorkerPool::start(threads, settings.size(Key::PoolQueue))?;
        let registry = Registry::with_limits(options::limits(&settings));
        let budget = Budget::new(settings.number(Key::BytesInFlight));
        let smart_host = SmartHost::default();
        let options = options::with_courier(&smart_host, dir, &settings)?;
        let router = Router::start(site.store.clone(), site.directory.clone(), options)?;
        let common = Common { pool, registry, budget, tls: certificates.acceptor()? };
        let imap = imap_door(site, &common);
        Ok(Self {
            smtp: smtp_door(site, &common, router.clone()),
            pop3: pop3_door(site, &common, &imap),
            imap,
            pool: common.pool,
            registry: common.registry,
            budget: common.budget,
            router,
            smart_host,
            certificates,
        })
    }
}

/// What all doors share.
struct Common {
    pool: Arc<WorkerPool>,
    registry: Registry,
    budget: Budget,
    tls: TlsAcceptor,
}

fn smtp_door(site: &Site, common: &Common, router: Arc<Router>) -> Arc<smtp::Door> {
    smtp::Door::new(smtp::Parts {
        store: site.store.clone(),
        directory: site.directory.clone(),
        router,
        pool: common.pool.clone(),
        budget: common.budget.clone(),
        registry: common.registry.clone(),
        tls: Some(common.tls.clone()),
        settings: options::smtp(&site.settings()),
        stats: Arc::default(),
    })
}

fn imap_door(site: &Site, common: &Common) -> Arc<imap::Door> {
    imap::Door::new(imap::Parts {
        store: site.store.clone(),
        directory: site.directory.clone(),
        pool: common.pool.clone(),
        budget: common.budget.clone(),
        registry: common.registry.clone(),
        tls: Some(common.tls.clone()),
        settings: options::imap(&site.settings()),
        stats: Arc::default(),
    })
}

fn pop3_door(site: &Site, common: &Common, imap: &imap::Door) -> Arc<pop3::Door> {
    pop3::Door::new(pop3::Parts {
        files: imap.files().clone(),
        directory: site.directory.clone(),
        pool: common.pool.clone(),
        registry: common.registry.clone(),
        tls: Some(common.tls.clone()),
        settings: options::pop3(&site.settings()),
        stats: Arc::default(),
    })
}

/// The signals a server listens to.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn open() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn watch(mut self, running: Arc<Running>, mut stopping: Stopping) {
        loop {
            tokio::select! {
                () = stopping.requested() => return,
                _ = self.terminate.recv() => stop_by(&running, "SIGTERM"),
                _ = self.interrupt.recv() => stop_by(&running, "SIGINT"),
                _ = self.hang_up.recv() => {
                    if let Err(reason) = running.reload() {
                        tracing::warn!("nothing was changed: {reason}");
                    }
                }
            }
        }
    }
}

fn stop_by(running: &Running, signal: &str) {
    tracing::info!("{signal} asks the server to stop");
    running.stop();
}
