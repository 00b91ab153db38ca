//! `objects` and `log` commands.

use ::objects::{ObjectFacts, PruneReport, ResyncReport};
use serde_json::{Value, json};

use super::{Failure, Shown};
use crate::progress::Progress;
use crate::request::chain;
use crate::site::Site;

/// Objects listed in one answer.
const LIST_ROWS_MAX: usize = 100_000;
/// Objects pruned between two steps.
const PRUNE_SLICE: u64 = 1000;
/// Rounds of rewriting at most.
const FREE_ROUNDS_MAX: u64 = 100_000;
/// Thresholds that are estimated when none are given.
const THRESHOLDS: &[u64] = &[4096, 16_384, 65_536, 262_144, 1_048_576];

pub(super) fn status(site: &Site) -> Result<Value, Failure> {
    let status = site.store.objects().status()?;
    Ok(json!({
        "objects": status.objects,
        "references": status.references,
        "unreferenced": status.unreferenced,
        "logical_bytes": status.logical_bytes,
        "stored_bytes": status.stored_bytes,
        "segments": status.segments,
        "adopted": status.adopted,
        "recount_due": status.recount_due,
    }))
}

/// Objects behind a hash, and where to go on.
pub(super) fn list(site: &Site, after: Option<&str>, limit: usize) -> Result<Value, Failure> {
    let after = after.map(str::parse::<note::ObjectHash>).transpose();
    let after = after.map_err(|error| Failure::Refused(format!("--after: {error}")))?;
    let limit = limit.min(LIST_ROWS_MAX);
    let (mut rows, mut next) = (Vec::new(), after);
    while rows.len() < limit {
        let page = site.store.objects().list(next.as_ref(), limit - rows.len())?;
        rows.extend(page.rows.iter().map(shown));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    Ok(json!({ "objects": rows, "next": next.map(|hash| hash.to_string()) }))
}

fn shown(facts: &ObjectFacts) -> Value {
    json!({
        "hash": facts.hash.to_string(),
        "state": format!("{:?}", facts.state).to_lowercase(),
        "raw_bytes": facts.raw_bytes,
        "stored_bytes": facts.stored_bytes,
        "references": facts.references,
        "databases": facts.databases,
        "unreferenced_since": facts.unreferenced_since.map(|time| time.to_string()),
        "segments": facts.segments,
    })
}

/// Deletes unreferenced objects a slice at a time, then frees the space they took.
pub(super) fn prune(
    site: &Site,
    defer_s: Option<u64>,
    dry_run: bool,
    progress: &mut dyn Progress,
) -> Result<Value, Failure> {
    let objects = site.store.objects();
    let mut order = objects.prune_order();
    order.defer_s = defer_s.unwrap_or(order.defer_s);
    order.dry_run = dry_run;
    if !dry_run {
        order.objects_max = PRUNE_SLICE;
    }
    let mut sum = PruneReport::default();
    let mut stopped;
    loop {
        let report = objects.prune(&order)?;
        sum.objects += report.objects;
        sum.logical_bytes += report.logical_bytes;
        sum.stored_bytes += report.stored_bytes;
        sum.pinned += report.pinned;
        sum.changed += report.changed;
        stopped = progress.step("objects pruned", sum.objects, 0).is_break();
        if !report.more || report.objects == 0 || stopped {
            break;
        }
    }
    if !dry_run && !stopped {
        stopped = free(site, progress)?;
    }
    Ok(json!({
        "objects": sum.objects,
        "logical_bytes": sum.logical_bytes,
        "stored_bytes": sum.stored_bytes,
        "pinned": sum.pinned,
        "changed": sum.changed,
        "dry_run": dry_run,
        "stopped": stopped,
    }))
}

/// Rewrites segments that are nearly dead until none is left; whether it was stopped.
fn free(site: &Site, progress: &mut dyn Progress) -> Result<bool, Failure> {
    for round in 0..FREE_ROUNDS_MAX {
        let report = site.store.objects().rewrite(u64::MAX)?;
        site.store.checkpoint_round()?;
        if progress.step("rounds of rewriting", round, 0).is_break() {
            return Ok(true);
        }
        if !report.waits && report.left == 0 {
            break;
        }
    }
    site.store.checkpoint_round()?;
    Ok(false)
}

/// What thresholds and a prune would save.
pub(super) fn estimate(site: &Site, thresholds: &[u64]) -> Result<Value, Failure> {
    let objects = site.store.objects();
    let thresholds = if thresholds.is_empty() { THRESHOLDS } else { thresholds };
    let estimate = objects.estimate(thresholds, &objects.prune_order())?;
    let rows: Vec<Value> = estimate
        .thresholds
        .iter()
        .map(|row| {
            json!({
                "bytes_min": row.bytes_min,
                "objects": row.objects,
                "references": row.references,
                "raw_bytes": row.raw_bytes,
                "stored_bytes": row.stored_bytes,
                "referenced_bytes": row.referenced_bytes,
                "saved_bytes": row.saved_bytes,
            })
        })
        .collect();
    Ok(json!({
        "thresholds": rows,
        "unreferenced": estimate.unreferenced,
        "unreferenced_bytes": estimate.unreferenced_bytes,
        "prunable": estimate.prunable,
        "prunable_bytes": estimate.prunable_bytes,
        "dead_bytes": estimate.dead_bytes,
        "adopted_bytes": estimate.adopted_bytes,
    }))
}

/// Copies sealed segments into the archive of the log.
pub(super) fn archive(site: &Site) -> Result<Shown, Failure> {
    let log = site.store.log();
    let report = log.archive().map_err(|error| match error {
        txlog::LogError::Options { .. } => Failure::Refused(
            "the log has no archive: set log.style to archive, and log.archive_path".to_owned(),
        ),
        error => Failure::Trouble(chain(&error)),
    })?;
    let trouble = log.status().archive.and_then(|archive| archive.trouble);
    let clean = trouble.is_none();
    let value = json!({
        "segments": report.segments,
        "bytes": report.bytes,
        "waiting": report.waiting,
        "trouble": trouble,
    });
    Ok(Shown { value, clean })
}

pub(super) fn verify(site: &Site, progress: &mut dyn Progress) -> Result<Shown, Failure> {
    let mut told = |done, total| {
        // Reading changes nothing: it goes on to its end.
        let _ = progress.step("objects verified", done, total);
    };
    let report = site.store.objects().verify(&mut told)?;
    let damaged: Vec<Value> = report
        .damaged
        .iter()
        .map(|block| {
            json!({
                "object": block.hash.to_string(),
                "block": block.block,
                "lsn": block.lsn.to_string(),
                "reason": block.reason,
            })
        })
        .collect();
    let hashes = |list: &[note::ObjectHash]| -> Value {
        list.iter().map(|hash| json!(hash.to_string())).collect()
    };
    let value = json!({
        "objects": report.objects,
        "blocks": report.blocks,
        "bytes": report.bytes,
        "damaged": damaged,
        "mismatched": hashes(&report.mismatched),
        "missing": hashes(&report.missing),
    });
    Ok(Shown { value, clean: report.is_clean() })
}

/// Counts the references of every database that can be read, once, and mends the catalog.
///
/// # Errors
/// Trouble of the store or the catalog; that `progress` stopped it.
pub(crate) fn recount(
    store: &store::Store,
    progress: &mut dyn Progress,
) -> Result<(ResyncReport, Vec<note::Dbiid>), Failure> {
    let objects = store.objects();
    // Counts that change while it lives are left alone, so that sessions may go on.
    let _recount = objects.recount();
    let mut told = |step: store::Step| progress.step(step.what, step.done, step.total);
    let (counted, uncounted) = store.count_references_of_sound(&mut told)?;
    Ok((objects.resync_without(counted, &uncounted)?, uncounted))
}

pub(super) fn resync(site: &Site, progress: &mut dyn Progress) -> Result<Shown, Failure> {
    let (report, uncounted) = recount(&site.store, progress)?;
    let differences: Vec<Value> = report
        .differences
        .iter()
        .map(|difference| {
            json!({
                "object": difference.hash.to_string(),
                "dbiid": difference.dbiid.to_string(),
                "catalog": difference.catalog,
                "counted": difference.counted,
            })
        })
        .collect();
    let missing: Vec<String> = report.missing.iter().map(ToString::to_string).collect();
    let value = json!({
        "compared": report.compared,
        "skipped": report.skipped,
        "differences": differences,
        "missing": missing,
        "not_counted": uncounted.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    Ok(Shown { value, clean: report.is_clean() && uncounted.is_empty() })
}

pub(super) fn log_status(site: &Site) -> Value {
    let status = site.store.log().status();
    let style = match status.style {
        txlog::Style::Circular => "circular",
        txlog::Style::Linear => "linear",
        txlog::Style::Archive => "archive",
    };
    json!({
        "style": style,
        "extents": status.segments,
        "bytes": status.bytes,
        "spare_bytes": status.spare_bytes,
        "durable_lsn": status.durable_lsn.to_string(),
        "appended_lsn": status.appended_lsn.to_string(),
        "oldest_needed_lsn": status.oldest_needed_lsn.to_string(),
        "groups": status.groups,
        "syncs": status.syncs,
        "bytes_written": status.bytes_written,
        "records": status.records,
        "full": status.full,
        "stopped": status.stopped,
        "archive": status.archive.map(|archive| json!({
            "segments": archive.archived,
            "waiting": archive.waiting,
            "bytes": archive.bytes,
            "trouble": archive.trouble,
            "damaged": archive.damaged,
        })),
    })
}
