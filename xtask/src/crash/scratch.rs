//! A folder for one run, which stays behind only when something was found.

use std::path::{Path, PathBuf};

/// Most findings that are printed.
const FINDINGS_MAX: usize = 60;

/// Runs `work` in a folder of its own below `target/crash`; on findings it stays and `line`,
/// the arguments that repeat the run, is told with them.
pub fn in_scratch(
    root: &Path,
    line: &str,
    work: impl FnOnce(&Path) -> Result<Vec<String>, String>,
) -> Result<Vec<String>, String> {
    let name: String = line.replace(" --", "-").replace(' ', "_");
    let scratch: PathBuf = root.join(format!("target/crash/{name}-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let mut wrong = work(&scratch).unwrap_or_else(|trouble| vec![trouble]);
    if wrong.is_empty() {
        let _ = std::fs::remove_dir_all(&scratch); // may stay behind
    } else {
        wrong.truncate(FINDINGS_MAX);
        wrong.push(format!("data and log are kept: {}", scratch.display()));
        wrong.push(format!("again: cargo xtask {line}"));
    }
    Ok(wrong)
}
