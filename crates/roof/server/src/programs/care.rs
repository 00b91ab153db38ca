//! Compact, Fixup and UpdAll: care of databases.

use super::Told;
use crate::admin;
use crate::progress::Progress;
use crate::request::{Care, Reply, Request};
use crate::server::Running;
use crate::table;

pub(super) fn compact(running: &Running, words: &str, progress: &mut dyn Progress) -> Told {
    care(running, Care::Compact, words, progress)
}

pub(super) fn fixup(running: &Running, words: &str, progress: &mut dyn Progress) -> Told {
    care(running, Care::Fixup, words, progress)
}

pub(super) fn updall(running: &Running, words: &str, progress: &mut dyn Progress) -> Told {
    care(running, Care::Updall, words, progress)
}

/// What is shown of each database.
fn names(care: Care) -> &'static [&'static str] {
    match care {
        Care::Compact => &["path", "freed_bytes", "error"],
        Care::Fixup => &["path", "state", "lost", "damaged_file", "error"],
        Care::Updall => &["path", "mended", "error"],
    }
}

/// Every word is a database, a directory or a list; none means all of them. Options of the field
/// (`-B`, `-R` …) change nothing here: the work is always done in place and whole.
fn care(running: &Running, care: Care, words: &str, progress: &mut dyn Progress) -> Told {
    let (options, paths): (Vec<&str>, Vec<&str>) =
        words.split_whitespace().partition(|word| word.starts_with('-'));
    let paths = paths.into_iter().map(|path| path.replace('\\', "/")).collect();
    let told = match admin::perform(&running.site, Request::DbCare { care, paths }, progress) {
        Reply::Done { value } | Reply::Finding { value } => table::of(&value, names(care)),
        Reply::Refused { reason } | Reply::Trouble { reason } => return Err(reason),
        Reply::Starting => return Err("the server is still starting".to_owned()),
    };
    match options.is_empty() {
        true => Ok(told),
        false => Ok(format!("{told}\n(options without effect here: {})", options.join(" "))),
    }
}
