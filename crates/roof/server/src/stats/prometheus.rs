//! Statistics in the text format of Prometheus, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Stat, StatValue};

/// How a family of statistics is named and described.
struct Family {
    /// Name of the statistic; `*` stands for the door in front.
    stat: &'static str,
    /// Name of the metric, with its unit.
    metric: &'static str,
    /// What it counts.
    help: &'static str,
}

const fn family(stat: &'static str, metric: &'static str, help: &'static str) -> Family {
    Family { stat, metric, help }
}

/// Metrics that have a name of their own; a name that ends in `_total` is a counter.
static FAMILIES: &[Family] = &[
    family("*.Sessions.Inbound.Active", "nelumbo_sessions", "Sessions open now"),
    family("*.Sessions.Inbound.Peak", "nelumbo_sessions_peak", "Most sessions open at once"),
    family("*.Sessions.Inbound.Total", "nelumbo_sessions_total", "Sessions since the start"),
    family(
        "*.Sessions.Inbound.Refused",
        "nelumbo_sessions_refused_total",
        "Sessions turned away because too many were open",
    ),
    family("*.Sessions.Inbound.Total.SSL", "nelumbo_sessions_tls_total", "Sessions that used TLS"),
    family(
        "*.Sessions.Inbound.Total.SSL.Bad_Handshake",
        "nelumbo_tls_handshakes_failed_total",
        "TLS handshakes that failed",
    ),
    family("*.Sessions.Inbound.BytesReceived", "nelumbo_received_bytes_total", "Bytes received"),
    family("*.Sessions.Inbound.BytesSent", "nelumbo_sent_bytes_total", "Bytes sent"),
    family("*.Logins", "nelumbo_logins_total", "Successful sign-ins"),
    family("*.Logins.Failed", "nelumbo_logins_failed_total", "Failed sign-ins"),
    family("SMTP.MessagesProcessed", "nelumbo_messages_accepted_total", "Messages accepted"),
    family(
        "SMTP.MessagesProcessed.Bytes",
        "nelumbo_messages_accepted_bytes_total",
        "Bytes of messages accepted",
    ),
    family("SMTP.MessagesRefused", "nelumbo_messages_refused_total", "Messages refused"),
    family("Mail.Delivered", "nelumbo_mail_delivered_total", "Deliveries into mail files"),
    family("Mail.Waiting", "nelumbo_mail_waiting", "Messages that wait to be routed"),
    family("Mail.Dead", "nelumbo_mail_dead", "Messages that nobody can be told about"),
    family("Mail.Hold", "nelumbo_mail_held", "Messages kept back"),
    family("Server.ElapsedTime", "nelumbo_uptime_seconds", "Time since the start"),
    family("Server.Trans.Total", "nelumbo_transactions_total", "Jobs done by the worker pool"),
    family("Server.WorkThreads", "nelumbo_pool_threads", "Threads of the worker pool"),
    family("Server.ConcurrentTasks", "nelumbo_pool_busy_threads", "Workers with a job"),
    family("Server.ConcurrentTasks.Waiting", "nelumbo_pool_waiting_jobs", "Jobs that wait"),
    family(
        "Server.ConcurrentTasks.Refused",
        "nelumbo_pool_refused_jobs_total",
        "Jobs thrown away because the queue was full",
    ),
    family(
        "Server.Sessions.Dropped",
        "nelumbo_sessions_broken_total",
        "Jobs and sessions that ended in a bug",
    ),
    family(
        "Server.BytesInFlight",
        "nelumbo_in_flight_bytes",
        "Bytes of message bodies on their way in",
    ),
    family("Mem.Allocated.Process", "nelumbo_resident_memory_bytes", "Memory in use"),
    family("Platform.Process.CpuSeconds", "nelumbo_cpu_seconds_total", "Processor time used"),
    family("Platform.Process.Descriptors", "nelumbo_open_descriptors", "Open descriptors"),
    family("Disk.Data.Free", "nelumbo_disk_free_bytes", "Free space for databases"),
    family("Translog.Segments", "nelumbo_log_segments", "Segments in the transaction log"),
    family("Translog.Size", "nelumbo_log_size_bytes", "Bytes of the segments in the log"),
    family("Translog.Groups", "nelumbo_log_groups_total", "Groups written to the log"),
    family("Translog.Syncs", "nelumbo_log_syncs_total", "Syncs of the log"),
    family(
        "Translog.BytesWritten",
        "nelumbo_log_written_bytes_total",
        "Bytes of groups written to the log",
    ),
    family("Translog.Records", "nelumbo_log_records_total", "Records appended to the log"),
    family("Translog.Full", "nelumbo_log_full", "1 while the log takes no ordinary records"),
    family("Translog.Stopped", "nelumbo_log_stopped", "1 when the log has failed"),
    family("DAOS.Objects", "nelumbo_objects", "Objects in the object store"),
    family("DAOS.References", "nelumbo_object_references", "References of notes to objects"),
    family("DAOS.LogicalSize", "nelumbo_objects_logical_bytes", "Content, each object once"),
    family("DAOS.StoredSize", "nelumbo_objects_stored_bytes", "Content as stored"),
];

/// The doors whose name becomes a label.
const DOORS: &[&str] = &["SMTP", "IMAP", "POP3", "LDAP", "HTTP"];

/// Statistic, metric and meaning of every row of the table.
pub fn families() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    FAMILIES.iter().map(|row| (row.stat, row.metric, row.help))
}

/// Metrics of one name.
#[derive(Default)]
struct Group {
    help: String,
    samples: Vec<(String, f64)>,
}

/// Prints all numbers among the statistics; texts become labels of `nelumbo_info`.
pub fn print(stats: &[Stat]) -> String {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let mut info = Vec::new();
    for stat in stats {
        match &stat.value {
            StatValue::Number(number) => {
                let (metric, help, labels) = describe(&stat.name);
                let group = groups.entry(metric).or_default();
                group.help = help;
                group.samples.push((labels, *number));
            }
            StatValue::Text(text) if ["Server.Name", "Server.Version"].contains(&&*stat.name) => {
                let label = stat.name.trim_start_matches("Server.").to_lowercase();
                info.push(format!("{label}=\"{}\"", escape(text)));
            }
            StatValue::Text(_) | StatValue::Time(_) => {}
        }
    }
    let mut out = String::with_capacity(16 * 1024);
    let labels = format!("{{{}}}", info.join(","));
    let group = Group { help: "Which server this is".to_owned(), samples: vec![(labels, 1.0)] };
    groups.insert("nelumbo_info".to_owned(), group);
    for (metric, group) in &groups {
        print_group(&mut out, metric, group);
    }
    out
}

fn print_group(out: &mut String, metric: &str, group: &Group) {
    let kind = if metric.ends_with("_total") { "counter" } else { "gauge" };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# HELP {metric} {}\n# TYPE {metric} {kind}", group.help);
    for (labels, number) in &group.samples {
        let _ = writeln!(out, "{metric}{labels} {number}");
    }
}

/// Name, help and labels of a statistic.
fn describe(name: &str) -> (String, String, String) {
    let door = name.split_once('.').filter(|(first, _)| DOORS.contains(first));
    let label = |door: &str| format!("{{door=\"{}\"}}", door.to_lowercase());
    for row in FAMILIES {
        if row.stat == name {
            return (row.metric.to_owned(), row.help.to_owned(), String::new());
        }
        if let (Some((door, rest)), Some(wanted)) = (door, row.stat.strip_prefix("*."))
            && rest == wanted
        {
            return (row.metric.to_owned(), row.help.to_owned(), label(door));
        }
    }
    (format!("nelumbo_{}", snake(name)), format!("Statistic {name}"), String::new())
}

/// `Database.DbCache.MaxEntries` as `database_db_cache_max_entries`.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut before = '.';
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            out.push('_');
        } else {
            let starts_word = c.is_ascii_uppercase() && before.is_ascii_lowercase();
            if starts_word {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
