//! DAOSMgr: the object store.

use super::Told;
use crate::admin;
use crate::progress::Progress;
use crate::request::{Reply, Request};
use crate::server::Running;
use crate::table;

/// `status` (also without a word), `prune [DAYS]`, `resync`, `verify`.
pub(super) fn run(running: &Running, words: &str, progress: &mut dyn Progress) -> Told {
    let mut words = words.split_whitespace();
    let verb = words.next().unwrap_or("status").to_lowercase();
    let request = match verb.as_str() {
        "status" => Request::ObjectsStatus,
        "prune" => Request::ObjectsPrune { defer_s: days(words.next())?, dry_run: false },
        "resync" => Request::ObjectsResync,
        "verify" => Request::ObjectsVerify,
        other => {
            return Err(format!("{other}: the object store knows status, prune, resync, verify"));
        }
    };
    match admin::perform(&running.site, request, progress) {
        Reply::Done { value } | Reply::Finding { value } => Ok(table::pairs_of(&value)),
        Reply::Refused { reason } | Reply::Trouble { reason } => Err(reason),
        Reply::Starting => Err("the server is still starting".to_owned()),
    }
}

/// An interval of days in seconds.
fn days(word: Option<&str>) -> Result<Option<u64>, String> {
    let Some(word) = word else { return Ok(None) };
    let days: u64 = word.parse().map_err(|_| format!("{word}: give a number of days"))?;
    Ok(Some(days.saturating_mul(86_400)))
}
