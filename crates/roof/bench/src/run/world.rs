//! What all people of a run share.

use std::sync::{Arc, OnceLock};

use super::fault::Trouble;
use super::recipients::Recipients;
use super::tally::Tally;
use super::{Plan, clockwork};
use crate::ledger::Ledger;
use crate::letters::{Letters, Profile};
use crate::meters::Meters;
use crate::target::{Endpoint, Target};
use crate::workload::{Act, Via, Workload};

/// What all people of a run share.
#[derive(Debug)]
pub(super) struct World {
    pub(super) plan: Arc<Plan>,
    pub(super) target: Arc<Target>,
    pub(super) meters: Arc<Meters>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) tally: Tally,
    pub(super) recipients: Recipients,
    /// For each step what it sends; a workload has at least one step.
    pub(super) letters: Vec<Arc<Letters>>,
    /// Where copies of sent mail go, as the server names it.
    pub(super) sent: OnceLock<String>,
    /// Folders beside INBOX that the steps need.
    pub(super) folders: Vec<String>,
}

impl World {
    pub(super) fn new(
        plan: Arc<Plan>,
        target: Arc<Target>,
        meters: Arc<Meters>,
        ledger: Arc<Ledger>,
    ) -> Result<Self, Trouble> {
        check(&plan, &target)?;
        let letters = letters_of(&plan)?;
        let recipients = Recipients::new(target.people.count, plan.workload.spread);
        let folders = plan.workload.folders_needed().into_iter().map(|f| f.name).collect();
        Ok(Self {
            plan,
            target,
            meters,
            ledger,
            tally: Tally::default(),
            recipients,
            letters,
            sent: OnceLock::new(),
            folders,
        })
    }

    /// Seconds of the workload as time of this run.
    pub(super) fn scaled(&self, seconds: f64) -> std::time::Duration {
        clockwork::scaled(seconds, self.plan.speed)
    }

    /// The folder of sent mail.
    pub(super) fn sent(&self) -> &str {
        self.sent.get().map_or("Sent", String::as_str)
    }

    /// A door that was checked to be there.
    pub(super) fn door<'a>(
        &self,
        door: &'a Option<Endpoint>,
    ) -> Result<&'a Endpoint, super::fault::Fault> {
        door.as_ref().ok_or_else(|| super::fault::Fault::Wrong("no port for this door".into()))
    }

    /// Whether person `number` has a local replica: an even share of the people.
    pub(super) fn has_replica(&self, number: u32) -> bool {
        let share = self.plan.replicas_share();
        let upto = |n: u32| (f64::from(n) * share + 1e-9).floor();
        upto(number) > upto(number - 1)
    }
}

/// One maker of letters for each profile, shared by the steps that use it.
fn letters_of(plan: &Plan) -> Result<Vec<Arc<Letters>>, Trouble> {
    let mut made: Vec<(&str, Arc<Letters>)> = Vec::new();
    let mut of_steps = Vec::with_capacity(plan.workload.steps.len());
    for step in &plan.workload.steps {
        let known = made.iter().find(|(name, _)| *name == step.profile);
        let letters = match known {
            Some((_, letters)) => Arc::clone(letters),
            None => {
                let profile = Profile::named(&step.profile)?;
                let new = Arc::new(Letters::new(plan.seed, &plan.run_id, &profile, plan.pool)?);
                made.push((&step.profile, Arc::clone(&new)));
                new
            }
        };
        of_steps.push(letters);
    }
    Ok(of_steps)
}

/// Checks whether a plan can be run against this target, before anything is done.
///
/// # Errors
/// A value makes no sense, a door is missing, or a step cannot be done over the door.
pub fn check(plan: &Plan, target: &Target) -> Result<(), Trouble> {
    let value = |what: &str| Err(Trouble::Value(what.to_owned()));
    if plan.users == 0 {
        return value("--users: at least one");
    }
    if plan.users > target.people.count {
        return value("--users: more than there are people");
    }
    if !(plan.speed.is_finite() && plan.speed > 0.0) {
        return value("--speed: more than 0");
    }
    check_doors(&plan.workload, plan.via, target)
}

fn check_doors(workload: &Workload, via: Via, target: &Target) -> Result<(), Trouble> {
    let need = |endpoint: &Option<Endpoint>, door: &'static str, option: &'static str| {
        if endpoint.is_some() {
            return Ok(());
        }
        Err(Trouble::NoDoor { workload: workload.name.clone(), door, option })
    };
    if via == Via::Http {
        for step in &workload.steps {
            if step.http.is_none() {
                let (workload, step) = (workload.name.clone(), step.act.to_string());
                return Err(Trouble::NoTemplate { workload, step });
            }
        }
        return need(&target.http, "HTTP", "http-port");
    }
    let acts = |wanted: fn(Act) -> bool| workload.steps.iter().any(|step| wanted(step.act));
    if acts(Act::sends) {
        need(&target.smtp, "SMTP", "smtp-port")?;
    }
    if acts(|act| act == Act::Retrieve) {
        need(&target.pop3, "POP3", "pop3-port")?;
    }
    if workload.reads_mailboxes() {
        need(&target.imap, "IMAP", "imap-port")?;
    }
    Ok(())
}
