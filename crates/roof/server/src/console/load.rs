//! The `load` verbs: tasks that run once.

use crate::admin;
use crate::request::{Care, Reply, Request};
use crate::server::Running;
use crate::table::columns;

type Shown = Result<String, String>;

pub(super) fn compact(running: &Running, path: &str) -> Shown {
    care(running, Care::Compact, path, &["path", "freed_bytes", "error"])
}

pub(super) fn fixup(running: &Running, path: &str) -> Shown {
    care(running, Care::Fixup, path, &["path", "state", "lost", "damaged_file", "error"])
}

pub(super) fn updall(running: &Running, path: &str) -> Shown {
    care(running, Care::Updall, path, &["path", "mended", "error"])
}

fn care(running: &Running, care: Care, path: &str, names: &[&str]) -> Shown {
    if path.is_empty() {
        return Err("which one? Give a database, a directory or a list (. for all)".to_owned());
    }
    let request = Request::DbCare { care, paths: vec![path.to_owned()] };
    match admin::perform(&running.site, request) {
        Reply::Done { value } | Reply::Finding { value } => {
            let heading = names.iter().map(|name| name.replace('_', " ")).collect();
            let cell = |value: &serde_json::Value| match value {
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let rows = value.as_array().into_iter().flatten();
            let rows = rows.map(|row| names.iter().map(|name| cell(&row[*name])).collect());
            let rows: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
            Ok(columns(&rows).trim_end().to_owned())
        }
        Reply::Refused { reason } | Reply::Trouble { reason } => Err(reason),
        Reply::Starting => Err("the server is still starting".to_owned()),
    }
}
