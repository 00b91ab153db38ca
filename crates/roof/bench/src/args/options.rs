//! The options of the commands that work on a server.

use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::Ending;
use super::values::{Pattern, directory, pattern, share, some_time, speed, time, tls};
use crate::letters::{PoolOptions, Profile};
use crate::meters::Sources;
use crate::target::{Endpoint, Target, Tls};
use crate::variant::Variant;
use crate::workload::{Via, Workload, named, parse};

/// People that one driver plays.
pub const USERS_MAX: u32 = 100_000;
/// Bytes of a workload file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Where the server is and who its people are.
#[derive(Debug, Args)]
pub(super) struct Server {
    /// Host of the server
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub(super) target: String,
    /// Port where mail is handed in
    #[arg(long, value_name = "PORT")]
    pub(super) smtp_port: Option<u16>,
    /// Port of IMAP
    #[arg(long, value_name = "PORT")]
    pub(super) imap_port: Option<u16>,
    /// Port of POP3
    #[arg(long, value_name = "PORT")]
    pub(super) pop3_port: Option<u16>,
    /// Port of HTTP
    #[arg(long, value_name = "PORT")]
    pub(super) http_port: Option<u16>,
    /// Port of LDAP; without it names are not looked up
    #[arg(long, value_name = "PORT")]
    pub(super) ldap_port: Option<u16>,
    /// Entry of the directory below which people are looked up
    #[arg(long, value_name = "DN", default_value = "")]
    ldap_base: String,
    /// How connections are secured: none, starttls or implicit; certificates are not checked
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = tls)]
    pub(super) tls: Tls,
    /// Addresses of the people, by which they also sign in
    #[arg(long, value_name = "PATTERN", default_value = "u{:04}@bench.test",
          value_parser = pattern)]
    user_pattern: Pattern,
    /// Password of everybody
    #[arg(long, value_name = "WORD", env = "NELUMBO_BENCH_PASSWORD", hide_env_values = true)]
    password: String,
    /// People
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(USERS_MAX)))]
    pub(super) users: u32,
}

/// What people do.
#[derive(Debug, Args)]
pub(super) struct Work {
    /// Workload: one of those that `list` shows
    #[arg(value_name = "WORKLOAD", required_unless_present = "workload_file")]
    workload: Option<String>,
    /// A workload of one's own, in the form that `list WORKLOAD --file` shows
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    workload_file: Option<PathBuf>,
    /// Sizes of messages: r5, help, n85, or fixed:BYTES [default: as the workload says]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Share of attachments that were sent before
    #[arg(long, value_name = "SHARE", default_value = "30%", value_parser = share)]
    repeat_share: f64,
    /// From which all lots are drawn: the same seed gives the same actions and letters
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
}

/// How a run goes and what is watched meanwhile.
#[derive(Debug, Args)]
pub(super) struct Course {
    /// Over which door steps are done: imap (with SMTP and LDAP) or http
    #[arg(long, value_name = "DOOR", default_value = "imap")]
    pub(super) via: String,
    /// Time in which people join
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub(super) ramp: Duration,
    /// Time that counts
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = some_time)]
    pub(super) steady: Duration,
    /// By what pauses are divided: 1 is the pauses of people
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    pub(super) speed: f64,
    /// Switches of the server for the run, by its console (--data): journaling, block-rules=N,
    /// trash=N/TIME, scan, dedupe=on|off, compression=on|off, mailboxes=N, replicas=N%
    #[arg(long, value_name = "SWITCHES", value_parser = Variant::parse)]
    pub(super) variant: Option<Variant>,
    /// A message that arrives later than this after its acceptance is a fault
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = some_time)]
    pub(super) late_after: Duration,
    /// How long accepted mail may take to arrive at the end
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = time)]
    pub(super) settle: Duration,
    /// Process of the server, with its children (may be given again)
    #[arg(long = "server-pid", value_name = "PID")]
    server_pids: Vec<u32>,
    /// Control group of the server, which counts ended processes too (may be given again)
    #[arg(long = "server-cgroup", value_name = "DIR", value_parser = directory)]
    pub(super) server_groups: Vec<PathBuf>,
    /// Directory of the server's data, for its space on the disk
    #[arg(long, value_name = "DIR", value_parser = directory)]
    pub(super) server_data: Option<PathBuf>,
    /// Block device under the server's data, such as vda
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Count the server's calls of fsync and its kind, by bpftrace
    #[arg(long)]
    sync_count: bool,
    /// Write the result into a file
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Write a page with charts
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// By what the result is called in comparisons [default: workload and people]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub(super) work: Work,
    #[command(flatten)]
    pub(super) server: Server,
    #[command(flatten)]
    pub(super) course: Course,
    /// The run fails when the mean response is longer
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    pub(super) max_response: Option<Duration>,
}

/// Options of `peak`.
#[derive(Debug, Args)]
pub struct Peak {
    #[command(flatten)]
    pub(super) work: Work,
    #[command(flatten)]
    pub(super) server: Server,
    #[command(flatten)]
    pub(super) course: Course,
    /// The server bears those people with whom the mean response is not longer
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = some_time)]
    pub(super) max_response: Duration,
    /// People of the first probe; --users is how many there are
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(USERS_MAX)))]
    pub(super) from: u32,
    /// How near the search goes
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    pub(super) within: f64,
}

/// Options of `populate`.
#[derive(Debug, Args)]
pub struct Populate {
    #[command(flatten)]
    pub(super) work: Work,
    #[command(flatten)]
    pub(super) server: Server,
    /// Messages in each INBOX [default: as the workload says]
    #[arg(long, value_name = "N")]
    pub(super) messages: Option<u32>,
    /// Send each message to so many people at once by SMTP, instead of an APPEND for each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) share: Option<u32>,
    /// Connections at once
    #[arg(long, value_name = "N", default_value_t = 32,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) connections: u32,
    /// How long mail that was sent may take to arrive
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = time)]
    pub(super) settle: Duration,
}

impl Server {
    /// The server, with so many people.
    pub(super) fn target(&self, users: u32) -> Result<Target, Ending> {
        let looked_up = (self.target.as_str(), 0).to_socket_addrs();
        let unknown = |why: String| Ending::Misuse(format!("--target {}: {why}", self.target));
        let address = looked_up
            .map_err(|error| unknown(error.to_string()))?
            .next()
            .ok_or_else(|| unknown("this name has no address".to_owned()))?
            .ip();
        let endpoint = |port: Option<u16>, tls: Tls| {
            port.map(|port| Endpoint { address, host: self.target.clone(), port, tls })
        };
        // These two have no switch in the middle of a connection here.
        let plain_or_implicit = if self.tls == Tls::Upgrade { Tls::None } else { self.tls };
        Ok(Target {
            smtp: endpoint(self.smtp_port, self.tls),
            imap: endpoint(self.imap_port, self.tls),
            pop3: endpoint(self.pop3_port, self.tls),
            http: endpoint(self.http_port, plain_or_implicit),
            ldap: endpoint(self.ldap_port, plain_or_implicit),
            ldap_base: self.ldap_base.clone(),
            people: self.user_pattern.people(self.password.clone(), users),
        })
    }

    /// Its doors by name.
    pub(super) fn ports(&self) -> Vec<(String, u16)> {
        let all = [
            ("smtp", self.smtp_port),
            ("imap", self.imap_port),
            ("pop3", self.pop3_port),
            ("http", self.http_port),
            ("ldap", self.ldap_port),
        ];
        all.into_iter().filter_map(|(name, port)| Some((name.to_owned(), port?))).collect()
    }
}

impl Work {
    /// The workload, with the sizes that were asked for.
    pub(super) fn workload(&self) -> Result<Arc<Workload>, Ending> {
        let misuse = |error: &dyn std::fmt::Display| Ending::Misuse(error.to_string());
        let mut workload = match (&self.workload, &self.workload_file) {
            (_, Some(path)) => {
                let at = |why: &dyn std::fmt::Display| {
                    Ending::Misuse(format!("--workload-file {}: {why}", path.display()))
                };
                let found = std::fs::metadata(path).map_err(|error| at(&error))?;
                if found.len() > FILE_BYTES_MAX {
                    return Err(at(&"longer than 1 MiB"));
                }
                let text = std::fs::read_to_string(path).map_err(|error| at(&error))?;
                parse(&text).map_err(|error| at(&error))?
            }
            (Some(name), None) => named(name).map_err(|error| misuse(&error))?,
            (None, None) => return Err(Ending::Misuse("which workload? see list".to_owned())),
        };
        if let Some(profile) = &self.profile {
            Profile::named(profile).map_err(|error| misuse(&format!("--profile: {error}")))?;
            for step in &mut workload.steps {
                if step.profile == workload.profile {
                    step.profile.clone_from(profile);
                }
            }
            workload.profile.clone_from(profile);
        }
        Ok(Arc::new(workload))
    }

    /// How attachments repeat.
    pub(super) fn pool(&self) -> PoolOptions {
        PoolOptions { repeat_share: self.repeat_share, ..PoolOptions::default() }
    }
}

impl Course {
    /// Over which door.
    pub(super) fn via(&self) -> Result<Via, Ending> {
        Via::parse(&self.via).map_err(|error| Ending::Misuse(format!("--via: {error}")))
    }

    /// What is watched; everything named is there.
    pub(super) fn sources(&self) -> Result<Sources, Ending> {
        let sources = Sources {
            pids: self.server_pids.clone(),
            groups: self.server_groups.clone(),
            device: self.device.as_ref().map(|name| name.trim_start_matches("/dev/").to_owned()),
            syncs: self.sync_count,
        };
        sources.check().map_err(|absent| Ending::Misuse(absent.to_string()))?;
        Ok(sources)
    }
}
