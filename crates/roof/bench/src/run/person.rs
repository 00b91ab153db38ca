//! A person: joins, goes through the steps of its iterations with pauses, and leaves.

use std::sync::Arc;
use std::time::Instant as Clock;

use tokio::sync::watch;
use tokio::time::Instant;

use super::clockwork::{Beat, Ending, Phase, draw, rest};
use super::desk::Desk;
use super::fault::Fault;
use super::replica::Replica;
use super::world::World;
use crate::letters::{Author, Dice};
use crate::wire::{Http, Ldap, Traffic};
use crate::workload::{Act, SIGN_IN, Step, Via};

/// How long a person waits after an error: least and most, in seconds of the workload.
const ERROR_DELAY_S: [f64; 2] = [60.0, 120.0];
/// What keeps the lots of actions apart from the lots of letters.
const ACTIONS: u64 = 0x6163_7469_6f6e_7300;

/// A person and its connections.
pub(super) struct Person {
    pub(super) world: Arc<World>,
    pub(super) number: u32,
    pub(super) address: String,
    pub(super) dice: Dice,
    pub(super) author: Author,
    pub(super) iteration: u64,
    /// The mailbox over IMAP.
    pub(super) desk: Desk,
    /// Set for who works in a local replica.
    pub(super) replica: Option<Box<Replica>>,
    pub(super) ldap: Option<Box<Ldap>>,
    pub(super) http: Option<Box<Http>>,
    /// What went over the wire in this action by connections that are closed.
    pub(super) traffic: Traffic,
    ending: watch::Receiver<bool>,
}

impl Person {
    pub(super) fn new(world: &Arc<World>, number: u32, ending: watch::Receiver<bool>) -> Self {
        Self {
            world: Arc::clone(world),
            number,
            address: world.target.people.address(number),
            dice: Dice::of(world.plan.seed ^ ACTIONS, number),
            author: world.letters[0].author(number),
            iteration: 0,
            desk: Desk::default(),
            replica: world.has_replica(number).then(Box::default),
            ldap: None,
            http: None,
            traffic: Traffic::default(),
            ending,
        }
    }

    /// Lives until the end of the run.
    pub(super) async fn live(mut self) {
        let Err(Ending) = self.work().await;
        self.leave().await;
    }

    async fn work(&mut self) -> Result<std::convert::Infallible, Ending> {
        let period_s = f64::from(self.world.plan.workload.period_s);
        let past_s = period_s * self.dice.share();
        self.arrive().await?;
        let joined = Instant::now();
        let first_end = joined + self.world.scaled(period_s - past_s);
        let mut beat = Beat::new(first_end, self.world.scaled(period_s));
        self.iterate(Phase::new(past_s)).await?;
        loop {
            let planned = beat.next();
            self.rest_until(planned).await?;
            let lateness = beat.begin(Instant::now());
            self.world.tally.iteration(lateness);
            self.iteration += 1;
            self.iterate(Phase::new(0.0)).await?;
        }
    }

    /// Signs in for the first time.
    async fn arrive(&mut self) -> Result<(), Ending> {
        if self.works_at_desk() {
            self.be_signed_in().await?;
        }
        self.world.tally.joined.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.world.meters.joined();
        Ok(())
    }

    fn works_at_desk(&self) -> bool {
        self.world.plan.via == Via::Imap && self.world.plan.workload.reads_mailboxes()
    }

    async fn iterate(&mut self, mut phase: Phase) -> Result<(), Ending> {
        let world = Arc::clone(&self.world);
        let turn = self.iteration + u64::from(self.number);
        for (at, step) in world.plan.workload.steps.iter().enumerate() {
            if !step.rate.hits(turn) {
                continue;
            }
            for _ in 0..step.times {
                if !phase.is_past() {
                    self.perform(at, step).await?;
                }
                let left_s = phase.pass(draw(step.pause_s, &mut self.dice));
                if left_s > 0.0 {
                    self.rest_until(Instant::now() + world.scaled(left_s)).await?;
                }
            }
        }
        if self.replica.is_some() && !phase.is_past() {
            self.synchronise().await?;
        }
        Ok(())
    }

    async fn rest_until(&mut self, at: Instant) -> Result<(), Ending> {
        let lag = rest(at, &mut self.ending).await?;
        self.world.meters.lag(lag);
        Ok(())
    }

    /// Does one step once.
    async fn perform(&mut self, at: usize, step: &Step) -> Result<(), Ending> {
        if self.world.plan.via == Via::Http {
            let started = Clock::now();
            let result = Box::pin(self.request(step)).await;
            return self.settle(step.action, started, result).await.map(|_| ());
        }
        if self.replica.is_some() && Replica::keeps(step.act) {
            self.act_locally(at, step);
            return Ok(());
        }
        let elsewhere = matches!(step.act, Act::Retrieve | Act::Lookup);
        if !elsewhere && self.works_at_desk() {
            self.be_signed_in().await?;
        }
        let started = Clock::now();
        let result = Box::pin(self.act(at, step)).await;
        self.settle(step.action, started, result).await.map(|_| ())
    }

    async fn synchronise(&mut self) -> Result<(), Ending> {
        self.be_signed_in().await?;
        let started = Clock::now();
        let result = Box::pin(self.replicate()).await;
        let index = self.world.plan.workload.replicate();
        self.settle(index, started, result).await.map(|_| ())
    }

    /// Signs in when there is no connection, as often as it takes.
    async fn be_signed_in(&mut self) -> Result<(), Ending> {
        while !self.desk.is_open() {
            let started = Clock::now();
            let result = Box::pin(self.sign_in()).await;
            self.settle(SIGN_IN, started, result).await?;
        }
        Ok(())
    }

    /// Writes an action down; after an error the person waits before it goes on.
    async fn settle(
        &mut self,
        action: usize,
        started: Clock,
        result: Result<(), Fault>,
    ) -> Result<(), Ending> {
        let took = started.elapsed();
        self.report_traffic();
        let fault = match result {
            Ok(()) => {
                self.world.meters.record(action, started, took, true);
                return Ok(());
            }
            Err(Fault::Nothing(what)) => {
                self.world.tally.left_out(what);
                return Ok(());
            }
            Err(fault) => fault,
        };
        self.world.meters.record(action, started, took, false);
        let name = &self.world.plan.workload.actions()[action];
        self.world.tally.error(|| format!("{}: {name}: {fault}", self.address));
        if !fault.spares_connection() {
            self.hang_up();
        }
        let delay_s = draw(ERROR_DELAY_S, &mut self.dice);
        self.rest_until(Instant::now() + self.world.scaled(delay_s)).await
    }

    fn hang_up(&mut self) {
        self.desk.hang_up();
        self.ldap = None;
        self.http = None;
    }

    fn report_traffic(&mut self) {
        let mut traffic = std::mem::take(&mut self.traffic);
        traffic += self.desk.take_traffic();
        if let Some(ldap) = &mut self.ldap {
            traffic += ldap.take_traffic();
        }
        if let Some(http) = &mut self.http {
            traffic += http.take_traffic();
        }
        let Traffic { requests, octets_in, octets_out } = traffic;
        self.world.meters.traffic(requests, octets_in, octets_out);
    }

    /// Says goodbye. What goes wrong here harms nobody: all answers are in.
    async fn leave(&mut self) {
        if let Some(imap) = self.desk.take() {
            drop(imap.logout().await);
        }
        if let Some(ldap) = self.ldap.take() {
            drop(ldap.unbind().await);
        }
    }
}
