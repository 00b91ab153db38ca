//! The points of the curves: how many people, what they do, what is told of it.

use std::path::Path;

use serde_json::Value;

use crate::stage::{Kind, Run, Stage, peers};

/// A figure of a point.
pub type Figure<P> = (&'static str, fn(&P, &Value) -> Option<f64>);

/// A point of a curve.
pub trait Point: Sized + 'static {
    /// What changes from point to point.
    const WHAT: &'static str;
    /// What is told.
    const COLUMNS: &'static [Figure<Self>];
    /// What must be known to compare its points.
    const NOTE: &'static str;
    /// Its value, for the table and the file.
    fn label(&self) -> String;
    /// How many people the server has, all of whom take part.
    fn people(&self) -> u32;
    /// Messages in each INBOX at the start.
    fn messages(&self) -> u32;
    /// How many people get each of them, by SMTP; 1: an APPEND for each.
    fn shared_by(&self) -> u32 {
        1
    }
    /// By what pauses and periods are divided.
    fn speed(&self) -> f64 {
        1.0
    }
    /// The workload, as a file of the driver.
    fn workload(&self) -> String;
    /// Ramp and window, in s.
    fn times_s(&self, is_quick: bool) -> (u32, u32);
}

/// Sets up a server for a point, fills it, puts the load on it.
pub fn measure<P: Point>(
    root: &Path,
    point: &P,
    (seed, is_quick): (u64, bool),
) -> Result<Run, String> {
    let stage = Stage::new(root, Kind::Nelumbo, point.people())?;
    let folder = peers().join("curve");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let name = format!("{}-{}", P::WHAT.replace(' ', "-"), point.label());
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, point.workload()).map_err(|e| format!("{}: {e}", file.display()))?;
    stage.start()?;
    let measured = (|| {
        let mut words = vec!["--workload-file".to_owned(), file.display().to_string()];
        words.extend(["--seed".to_owned(), seed.to_string()]);
        if point.messages() > 0 {
            let count = ["--messages".to_owned(), point.messages().to_string()];
            let share = ["--share".to_owned(), point.shared_by().to_string()];
            stage.populate(&[&words[..], &count, &share].concat())?;
        }
        stage.settle()?;
        let (ramp_s, steady_s) = point.times_s(is_quick);
        words.extend(["--ramp".to_owned(), format!("{ramp_s}s")]);
        words.extend(["--steady".to_owned(), format!("{steady_s}s")]);
        words.extend(["--speed".to_owned(), point.speed().to_string()]);
        stage.drive("run", &words, &folder.join(format!("{name}.json")))
    })();
    let stopped = stage.stop();
    let run = measured?;
    stopped.map(|()| run)
}

fn figure(json: &Value, name: &str) -> Option<f64> {
    json["figures"][name].as_f64()
}

/// A figure of the whole window for each of `units`.
fn per(json: &Value, name: &str, units: f64) -> Option<f64> {
    (units > 0.0).then(|| figure(json, name).map(|all| all / units)).flatten()
}

fn transactions(json: &Value) -> f64 {
    figure(json, "transactions").unwrap_or(0.0)
}

/// The mean time of an action, in ms.
fn action(json: &Value, name: &str) -> Option<f64> {
    let actions = json["actions"].as_array()?;
    let action = actions.iter().find(|action| action["name"] == name)?;
    action["mean_ms"].as_f64()
}

/// So many people who read and write mail, all together the same amount of it.
pub struct Users(pub u32);

impl Users {
    /// People times speed at each point: about 210 transactions a second.
    const WORK: f64 = 20_000.0;
}

impl Point for Users {
    const WHAT: &'static str = "users";
    const COLUMNS: &'static [Figure<Self>] = &[
        ("speed", |users, _| Some(users.speed())),
        ("transactions / s", |_, json| {
            figure(json, "transactions_per_min").map(|minute| minute / 60.0)
        }),
        ("response, mean ms", |_, json| figure(json, "response_mean_ms")),
        ("p99 ms", |_, json| figure(json, "response_p99_ms")),
        ("CPU ms / transaction", |_, json| figure(json, "server_cpu_ms_per_transaction")),
        ("device bytes / transaction", |_, json| {
            per(json, "device_write_bytes", transactions(json))
        }),
        ("device writes / transaction", |_, json| per(json, "device_writes", transactions(json))),
        ("syncs / transaction", |_, json| per(json, "syncs", transactions(json))),
        ("PSS, MB", |_, json| figure(json, "server_pss_mb")),
        ("PSS KB / user", |users, json| {
            figure(json, "server_pss_mb").map(|mb| mb * 1000.0 / f64::from(users.0))
        }),
    ];
    const NOTE: &'static str = "\
The pauses of people are divided by the speed, so that there are as many transactions a second at \
each point: costs of a transaction can be compared from point to point. Rates and response times \
are those of this load, not of so many people with pauses of their own, who share fewer syncs the \
fewer they are; memory is that after this window, and a part of it is there without anybody.";

    fn label(&self) -> String {
        self.0.to_string()
    }

    fn people(&self) -> u32 {
        self.0
    }

    fn messages(&self) -> u32 {
        20
    }

    fn shared_by(&self) -> u32 {
        self.0.min(40)
    }

    fn speed(&self) -> f64 {
        (Self::WORK / f64::from(self.0) * 100.0).round().max(1.0) / 100.0
    }

    fn workload(&self) -> String {
        include_str!("../../../crates/roof/bench/workloads/n85entmail.toml").to_owned()
    }

    fn times_s(&self, is_quick: bool) -> (u32, u32) {
        if is_quick { (10, 20) } else { (20, 45) }
    }
}

/// Two people with so many messages in their INBOX.
pub struct Messages(pub u32);

/// What they do, again and again without long pauses.
const READER: &str = r#"
name = "Reader"
title = "opens, lists, reads, keeps and deletes in one large INBOX"
door = "imap"
period_s = 1
messages = 100
profile = 2000
origin = ["the cost curve"]
step = [
  { act = "open" }, { act = "refresh" }, { act = "scroll" }, { act = "read" },
  { act = "stamp" }, { act = "add" }, { act = "delete" }, { act = "poll" },
]
"#;

impl Point for Messages {
    const WHAT: &'static str = "messages in the INBOX";
    const COLUMNS: &'static [Figure<Self>] = &[
        ("CPU ms / transaction", |_, json| figure(json, "server_cpu_ms_per_transaction")),
        ("open, mean ms", |_, json| action(json, "open")),
        ("refresh ms", |_, json| action(json, "refresh")),
        ("scroll ms", |_, json| action(json, "scroll")),
        ("read ms", |_, json| action(json, "read")),
        ("stamp ms", |_, json| action(json, "stamp")),
        ("add ms", |_, json| action(json, "add")),
        ("delete ms", |_, json| action(json, "delete")),
        ("device bytes / transaction", |_, json| {
            per(json, "device_write_bytes", transactions(json))
        }),
        ("PSS, MB", |_, json| figure(json, "server_pss_mb")),
    ];
    const NOTE: &'static str = "Two people, each alone with an INBOX of its own.";

    fn label(&self) -> String {
        self.0.to_string()
    }

    fn people(&self) -> u32 {
        2
    }

    fn messages(&self) -> u32 {
        self.0
    }

    fn workload(&self) -> String {
        READER.to_owned()
    }

    fn times_s(&self, is_quick: bool) -> (u32, u32) {
        (2, if is_quick { 10 } else { 20 })
    }
}

/// Messages to so many recipients each.
pub struct Recipients(pub u32);

impl Recipients {
    /// Recipients of a message at the most: everybody but its sender.
    pub const MOST: u32 = Self::PEOPLE - 1;
    const PEOPLE: u32 = 1_001;
    /// Deliveries that are aimed at.
    const DELIVERIES_PER_S: u32 = 400;

    fn deliveries(&self, json: &Value) -> f64 {
        transactions(json) * f64::from(self.0)
    }
}

impl Point for Recipients {
    const WHAT: &'static str = "recipients";
    const COLUMNS: &'static [Figure<Self>] = &[
        ("messages", |_, json| figure(json, "transactions")),
        ("time to 250, mean ms", |_, json| figure(json, "response_mean_ms")),
        ("CPU ms / message", |_, json| figure(json, "server_cpu_ms_per_transaction")),
        ("CPU ms / delivery", |point, json| {
            per(json, "server_cpu_s", point.deliveries(json)).map(|s| s * 1000.0)
        }),
        ("device bytes / delivery", |point, json| {
            per(json, "device_write_bytes", point.deliveries(json))
        }),
        ("syncs / delivery", |point, json| per(json, "syncs", point.deliveries(json))),
        ("PSS, MB", |_, json| figure(json, "server_pss_mb")),
    ];
    const NOTE: &'static str = "\
As many deliveries a second are asked for at each point; the more recipients, the fewer messages.";

    fn label(&self) -> String {
        self.0.to_string()
    }

    fn people(&self) -> u32 {
        Self::PEOPLE
    }

    fn messages(&self) -> u32 {
        0
    }

    fn workload(&self) -> String {
        let period_s = (Self::PEOPLE * self.0).div_ceil(Self::DELIVERIES_PER_S);
        format!(
            "name = \"Sender\"\ntitle = \"sends to {0} people at once\"\ndoor = \"pop3\"\n\
             period_s = {period_s}\nmessages = 0\nprofile = 10000\n\
             origin = [\"the cost curve\"]\nstep = [{{ act = \"send\", recipients = {0} }}]\n",
            self.0
        )
    }

    fn times_s(&self, is_quick: bool) -> (u32, u32) {
        (5, if is_quick { 15 } else { 30 })
    }
}
