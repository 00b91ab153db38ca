//! `objects` and `log` commands.

use serde_json::{Value, json};

use super::{Failure, Shown};
use crate::site::Site;

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
    }))
}

pub(super) fn verify(site: &Site) -> Result<Shown, Failure> {
    let report = site.store.objects().verify(&mut |_, _| {})?;
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

pub(super) fn resync(site: &Site) -> Result<Shown, Failure> {
    let objects = site.store.objects();
    // Counts that change while it lives are left alone, so that sessions may go on.
    let _recount = objects.recount();
    let counted = site.store.count_references()?;
    let report = objects.resync(counted)?;
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
    });
    Ok(Shown { value, clean: report.is_clean() })
}

pub(super) fn log_status(site: &Site) -> Value {
    let status = site.store.log().status();
    let style = match status.style {
        txlog::Style::Circular => "circular",
        txlog::Style::Linear => "linear",
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
    })
}
