//! A run of the driver: a workload with everything in it, at great speed.

use std::sync::Arc;
use std::time::Duration;

use bench::ledger::{CheckOptions, Findings, Ledger, Options, check, opening};
use bench::letters::PoolOptions;
use bench::meters::Meters;
use bench::run::{Done, Plan, Stop, run};
use bench::wire::Timeouts;
use bench::workload::{Via, parse};

use super::server::Server;
use super::store::Fault;

const WORKLOAD: &str = include_str!("../everything.toml");
const SPEED: f64 = 10.0;
const RAMP: Duration = Duration::from_millis(100);
const STEADY: Duration = Duration::from_millis(900);
/// Longest time of a run that ends as soon as the fault has happened often enough.
const STEADY_MAX: Duration = Duration::from_secs(60);
const HAPPENED_MIN: u32 = 6;
const SETTLE: Duration = Duration::from_secs(2);

pub struct Ran {
    pub findings: Findings,
    pub done: Done,
    pub happened: u32,
}

impl Ran {
    /// Whether such a run passes.
    pub fn passed(&self) -> bool {
        self.done.errors == 0 && self.done.joined == self.done.users && self.findings.clean()
    }
}

/// Runs against a server with this fault at each `every`th chance.
pub async fn ran(people: u32, fault: Fault, every: u32) -> Ran {
    let mut server = Server::start(people, fault, every).await;
    let workload = parse(WORKLOAD).unwrap();
    for number in 1..=people {
        server.store.fill(&server.target.people.address(number), workload.messages);
    }
    let (late_after, settle) = match fault {
        Fault::DeliverLate(wait) => (wait / 10, wait * 10),
        Fault::None => (Duration::from_secs(60), Duration::from_secs(60)),
        _ => (Duration::from_secs(60), SETTLE),
    };
    let options = Options { late_after, ..Options::default() };
    let ledger = Arc::new(Ledger::new(people, options));
    let (target, meters) = (server.target.clone(), Meters::new(workload.actions()));
    let opened = opening(&ledger, &target, 4).await.unwrap();
    assert_eq!(opened.messages, u64::from(people * workload.messages));
    let plan = Plan {
        workload: Arc::new(workload),
        via: Via::Imap,
        users: people,
        ramp: RAMP,
        // STATUS is asked by the check alone
        steady: if matches!(fault, Fault::None | Fault::WrongStatus) { STEADY } else { STEADY_MAX },
        speed: SPEED,
        seed: 7,
        run_id: "RUN".into(),
        replicas: None,
        pool: PoolOptions::default(),
        timeouts: Timeouts::default(),
    };
    let (plan, meters) = (Arc::new(plan), Arc::new(meters));
    let target = Arc::new(target);
    let (stop, store) = (Stop::new(), server.store.clone());
    let asked = stop.clone();
    let watch = tokio::spawn(async move {
        while store.happened() < HAPPENED_MIN {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        asked.ask();
    });
    let done = run(plan, target.clone(), meters, ledger.clone(), stop).await.unwrap();
    watch.abort();
    let options = CheckOptions { settle, connections: 4, ..CheckOptions::default() };
    let findings = check(&ledger, &target, &options).await;
    let happened = server.store.happened();
    server.stop().await;
    Ran { findings, done, happened }
}
