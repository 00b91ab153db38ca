//! One run from the first look at the mailboxes to the last, with all that is measured.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::block_in_place;

use super::live::Live;
use super::options::{Course, Server, Work};
use super::{Ending, values};
use crate::ledger::{self, CheckOptions, Clock, Findings, Ledger};
use crate::meters::{MB, Measured, Meters, Sources, Watch, space_bytes};
use crate::outcome::{
    ActionLine, Asked, Attendance, Figures, Host, NotMeasured, Outcome, ProbeLine, VERSION,
};
use crate::run::{self, Done, Plan, Stop, raise_open_files};
use crate::target::Target;
use crate::variant::{Console, Record, State, Switch, Variant};
use crate::wire::Timeouts;
use crate::workload::{Via, Workload};

/// Connections that read the mailboxes before and after.
const LOOKERS: usize = 64;
/// Connections that a person has at most: IMAP, SMTP, LDAP.
const CONNECTIONS_PER_PERSON: u64 = 2;
/// The folder from which the server itself removes messages.
const TRASH: &str = "Trash";

/// What is the same for all runs of a command.
pub(super) struct Trial<'a> {
    pub(super) work: &'a Work,
    pub(super) server: &'a Server,
    pub(super) course: &'a Course,
    pub(super) max_response: Option<Duration>,
    pub(super) workload: Arc<Workload>,
    pub(super) via: Via,
    pub(super) sources: Sources,
    pub(super) stop: Stop,
}

/// What a run left behind.
struct Ran {
    plan: Arc<Plan>,
    began: SystemTime,
    messages_before: u64,
    space: (Option<f64>, Option<f64>),
    done: Done,
    findings: Option<Findings>,
    measured: Measured,
    rows: Vec<crate::meters::Row>,
}

impl<'a> Trial<'a> {
    /// Looks at all options before anything is begun.
    pub(super) fn new(
        work: &'a Work,
        server: &'a Server,
        course: &'a Course,
        max_response: Option<Duration>,
    ) -> Result<Self, Ending> {
        Ok(Self {
            work,
            server,
            course,
            max_response,
            workload: work.workload()?,
            via: course.via()?,
            sources: course.sources()?,
            stop: Stop::new(),
        })
    }

    /// Runs with so many people.
    pub(super) async fn run(&self, users: u32) -> Result<Outcome, Ending> {
        enough_files(users)?;
        let began = SystemTime::now();
        let target = Arc::new(self.server.target(users)?);
        let plan = Arc::new(self.plan(users, began));
        run::check(&plan, &target)?;
        let ledger = Arc::new(Ledger::new(users, self.ledger_options(&target)));
        let live = Live::new(users, Arc::clone(&ledger));
        live.stage("looking at the mailboxes");
        let opening = ledger::opening(&ledger, &target, LOOKERS);
        let opened = tokio::select! {
            opened = opening => opened.map_err(unread)?,
            () = self.stop.wait() => return Err(Ending::Trouble("ended by its user".to_owned())),
        };
        let space_before = block_in_place(|| self.space_mb());
        let meters = Arc::new(Meters::new(self.workload.actions()));
        let length = plan.ramp + plan.steady;
        let told = live.rows(plan.ramp);
        let watch = block_in_place(|| {
            Watch::start(Arc::clone(&meters), self.sources.clone(), length, told)
        })?;
        let ran = run::run(
            Arc::clone(&plan),
            Arc::clone(&target),
            Arc::clone(&meters),
            Arc::clone(&ledger),
            self.stop.clone(),
        );
        let done = ran.await;
        let seen = block_in_place(|| watch.finish());
        let (done, seen) = (done?, seen.ok_or_else(|| broken("the watch of the counters"))?);
        let measured = meters.summary(&seen, &self.sources, threads());
        let findings = self.findings(&ledger, &target, &done, &live).await;
        let space = (space_before, block_in_place(|| self.space_mb()));
        live.end();
        let rows = seen.rows;
        let messages_before = opened.messages;
        Ok(self.outcome(Ran {
            plan,
            began,
            messages_before,
            space,
            done,
            findings,
            measured,
            rows,
        }))
    }

    async fn findings(
        &self,
        ledger: &Arc<Ledger>,
        target: &Target,
        done: &Done,
        live: &Live,
    ) -> Option<Findings> {
        if done.stopped {
            return None;
        }
        live.stage("checking every mailbox");
        let options = CheckOptions {
            settle: self.course.settle,
            connections: LOOKERS,
            ..CheckOptions::default()
        };
        tokio::select! {
            findings = ledger::check(ledger, target, &options) => Some(findings),
            () = self.stop.wait() => None,
        }
    }

    fn plan(&self, users: u32, began: SystemTime) -> Plan {
        let variant = self.course.variant.as_ref();
        let percent = variant.and_then(Variant::replicas_percent);
        Plan {
            workload: Arc::clone(&self.workload),
            via: self.via,
            users,
            ramp: self.course.ramp,
            steady: self.course.steady,
            speed: self.course.speed,
            seed: self.work.seed,
            run_id: run_name('r', began),
            replicas: percent.map(|percent| f64::from(percent) / 100.0),
            pool: self.work.pool(),
            timeouts: Timeouts::default(),
        }
    }

    fn ledger_options(&self, target: &Target) -> ledger::Options {
        let doors = [&target.imap, &target.pop3, &target.smtp];
        let near = doors.into_iter().flatten().all(|door| door.address.is_loopback());
        let switches = self.course.variant.as_ref().map_or(&[][..], |v| &v.switches);
        let expires = switches.iter().any(|switch| matches!(switch, Switch::Trash { .. }));
        ledger::Options {
            late_after: self.course.late_after,
            clock: if near { Clock::Shared } else { Clock::Apart },
            vanishing: if expires { vec![TRASH.to_owned()] } else { Vec::new() },
            ..ledger::Options::default()
        }
    }

    fn space_mb(&self) -> Option<f64> {
        let bytes = space_bytes(self.course.server_data.as_deref()?).ok()?;
        Some(bytes as f64 / MB)
    }

    fn outcome(&self, ran: Ran) -> Outcome {
        let mut outcome = Outcome {
            version: VERSION,
            driver: concat!("nelumbo ", env!("CARGO_PKG_VERSION")).to_owned(),
            began: utc(ran.began),
            asked: self.asked(&ran),
            host: host(),
            window_s: ran.measured.window_s,
            people: Attendance::from(&ran.done),
            findings: ran.findings.clone().unwrap_or_default(),
            ..Outcome::default()
        };
        outcome.figures = self.figures(&ran);
        outcome.reasons = self.reasons(&ran, &outcome);
        outcome.passed = outcome.reasons.is_empty();
        outcome.not_measured = self.not_measured(&ran);
        outcome.actions = ran.measured.actions.into_iter().filter(seen_at_all).collect();
        outcome.series = ran.rows;
        if outcome.people.late > 0 {
            outcome.remarks.push(format!(
                "{} of {} iterations began late, at most by {:.1} s; {} were left out",
                outcome.people.late,
                outcome.people.iterations,
                outcome.people.lateness_max_ms / 1000.0,
                outcome.people.missed,
            ));
        }
        let left_out = outcome.people.left_out.iter().map(|what| format!("left out: {what}"));
        outcome.remarks.extend(left_out);
        outcome.name = self.course.name.clone().unwrap_or_else(|| outcome.heading());
        outcome
    }

    fn figures(&self, ran: &Ran) -> Figures {
        let mut figures = ran.measured.figures.clone();
        figures.put("users", f64::from(ran.plan.users));
        figures.put("local_replicas_percent", ran.plan.replicas_share() * 100.0);
        figures.put_some("space_before_mb", ran.space.0);
        figures.put_some("space_after_mb", ran.space.1);
        figures
    }

    fn reasons(&self, ran: &Ran, outcome: &Outcome) -> Vec<String> {
        let Ran { plan, done, measured, .. } = ran;
        let mut reasons = Vec::new();
        if done.stopped || (ran.findings.is_none() && self.stop.asked()) {
            reasons.push("ended early by its user; the mailboxes were not checked".to_owned());
        }
        if done.joined < plan.users && !done.stopped {
            reasons.push(format!("only {} of {} people signed in", done.joined, plan.users));
        }
        if done.errors > 0 {
            let first = done.first_errors.first().map_or("", String::as_str);
            reasons.push(format!("{} errors, first: {first}", done.errors));
        }
        reasons.extend(outcome.findings.reasons());
        reasons.extend(measured.saturated.clone());
        let mean_ms = outcome.figures.get("response_mean_ms");
        if mean_ms.is_none() && !done.stopped {
            reasons.push("nothing was done in the steady window".to_owned());
        }
        let limit_ms = self.max_response.map(|limit| limit.as_secs_f64() * 1000.0);
        if let (Some(mean), Some(limit)) = (mean_ms, limit_ms)
            && mean > limit
        {
            reasons.push(format!("mean response {mean:.1} ms, limit {limit:.0} ms"));
        }
        let ended = self.sources.ended();
        if !ended.is_empty() {
            reasons.push(format!("processes of the server ended: {ended:?}"));
        }
        reasons
    }

    fn not_measured(&self, ran: &Ran) -> Vec<NotMeasured> {
        let mut all = ran.measured.not_measured.clone();
        if ran.space.0.is_none() || ran.space.1.is_none() {
            let why = match &self.course.server_data {
                Some(dir) => format!("{} cannot be read", dir.display()),
                None => "not asked for (--server-data)".to_owned(),
            };
            all.push(NotMeasured { what: "space on the disk".to_owned(), why });
        }
        all
    }

    fn asked(&self, ran: &Ran) -> Asked {
        let Course { late_after, settle, server_groups, server_data, .. } = self.course;
        let workload = &self.workload;
        let as_defined = match self.via {
            Via::Imap => matches!(workload.door.as_str(), "imap" | "pop3"),
            Via::Http => workload.door == "http",
        };
        let spoken = workload.spoken(self.via).to_owned();
        let via_remark = format!("defined over {}, run over {spoken}", workload.door);
        let text = |path: &Path| path.display().to_string();
        Asked {
            workload: workload.name.clone(),
            door: workload.door.clone(),
            via: self.via.word().to_owned(),
            spoken,
            via_remark: if as_defined { String::new() } else { via_remark },
            users: ran.plan.users,
            ramp_s: ran.plan.ramp.as_secs_f64(),
            steady_s: ran.plan.steady.as_secs_f64(),
            speed: ran.plan.speed,
            seed: ran.plan.seed,
            run_id: ran.plan.run_id.clone(),
            target: self.server.target.clone(),
            ports: self.server.ports(),
            tls: values::tls_word(self.server.tls).to_owned(),
            profile: workload.profile.clone(),
            repeat_share: ran.plan.pool.repeat_share,
            replicas_percent: ran.plan.replicas_share() * 100.0,
            late_after_s: late_after.as_secs_f64(),
            settle_s: settle.as_secs_f64(),
            max_response_ms: self.max_response.map(|limit| limit.as_secs_f64() * 1000.0),
            server_pids: self.sources.pids.clone(),
            server_groups: server_groups.iter().map(|path| text(path)).collect(),
            device: self.sources.device.clone(),
            server_data: server_data.as_deref().map(text),
            messages_before: ran.messages_before,
        }
    }
}

fn seen_at_all(line: &ActionLine) -> bool {
    line.count + line.errors > 0
}

/// One probe of a search as it is kept.
pub(super) fn probe_line(outcome: &Outcome) -> ProbeLine {
    ProbeLine {
        users: outcome.asked.users,
        held: outcome.passed,
        why: outcome.reasons.join("; "),
        figures: outcome.figures.clone(),
    }
}

/// The switches of a run, set before and put back after.
pub(super) fn with_variant<T>(
    trial: &Trial<'_>,
    console: Option<&dyn Console>,
    work: impl FnOnce() -> T,
) -> Result<(T, Vec<Record>), Ending> {
    let Some(variant) = &trial.course.variant else { return Ok((work(), Vec::new())) };
    let people = trial.server.target(trial.server.users)?.people;
    let mut applied = crate::variant::apply(variant, console, &people);
    for record in applied.records.iter().filter(|record| record.state == State::NotPossible) {
        eprintln!("{}: not possible with this server: {}", record.switch, record.how);
    }
    let done = work();
    applied.put_back(console, &people);
    for record in &applied.records {
        if let Some(trouble) = record.put_back.as_deref().filter(|trouble| !trouble.is_empty()) {
            eprintln!("{}: could not be put back: {trouble}", record.switch);
        }
    }
    Ok((done, applied.records))
}

/// How many threads the driver works with.
pub(super) fn threads() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// The names of a run or a population: a letter and the time in base 36.
pub(super) fn run_name(letter: char, at: SystemTime) -> String {
    let mut ms = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let mut digits = Vec::new();
    while ms > 0 {
        digits.push(char::from_digit((ms % 36) as u32, 36).unwrap_or('0'));
        ms /= 36;
    }
    std::iter::once(letter).chain(digits.into_iter().rev()).collect()
}

/// The error and its causes.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

pub(super) fn broken(what: &str) -> Ending {
    Ending::Trouble(format!("{what} broke; its message is above"))
}

/// That so many people can have their connections.
pub(super) fn enough_files(users: u32) -> Result<(), Ending> {
    let people = raise_open_files(CONNECTIONS_PER_PERSON);
    if u64::from(users) <= people {
        return Ok(());
    }
    Err(Ending::Misuse(format!(
        "--users {users}: this process may open files for {people} people; raise the hard limit \
         (ulimit -Hn) to {}",
        (u64::from(users) + 1) * CONNECTIONS_PER_PERSON + 256
    )))
}

/// The mailboxes could not be read before the run.
fn unread(trouble: ledger::Trouble) -> Ending {
    match &trouble {
        ledger::Trouble::NoDoor => {
            Ending::Misuse(format!("{trouble}; give --imap-port or --pop3-port"))
        }
        ledger::Trouble::Mailbox { .. } => Ending::Trouble(chain(&trouble)),
    }
}

/// This machine.
fn host() -> Host {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (cpu, memory) =
        crate::meters::machine_facts(&read("/proc/cpuinfo"), &read("/proc/meminfo"));
    Host {
        name: read("/proc/sys/kernel/hostname").trim().to_owned(),
        cpu,
        cores: threads(),
        memory_mb: memory as f64 / MB,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        published: false,
    }
}

/// A moment as `2026-01-31T12:00:00Z`.
pub(super) fn utc(at: SystemTime) -> String {
    let s = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (mut days, clock) = (s / 86_400, s % 86_400);
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 0;
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while month < 11 && days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!("{year}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1, days + 1)
}
