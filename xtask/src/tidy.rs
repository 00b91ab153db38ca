//! The rules of the house, checked over the whole workspace.

mod budget;
mod floors;
mod functions;
mod links;
mod rules;
mod source;

use std::path::{Path, PathBuf};

/// Everything in the workspace at `root` that breaks a rule, one line each.
pub fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut complaints = floors::check(&floors::members(root)?);
    let mut excesses = Vec::new();
    for file in files(root)? {
        let path = shown(root, &file);
        complaints.extend(rules::check_path(&path));
        let extension = file.extension().and_then(|e| e.to_str()).unwrap_or("");
        if !matches!(extension, "rs" | "md") {
            continue;
        }
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{path}: {e}"))?;
        if extension == "md" {
            complaints.extend(links::check(&file, &path, &text));
        } else {
            let source = source::Source::split(&text);
            complaints.extend(rules::check_text(&path, &text, &source));
            excesses.extend(rules::measure(&path, &text, &source));
        }
    }
    let budget_path = root.join("xtask/budget.toml");
    let budget =
        budget::Budget::load(&budget_path).map_err(|e| format!("xtask/budget.toml: {e}"))?;
    complaints.extend(budget.judge(&excesses));
    complaints.sort();
    Ok(complaints)
}

/// All files of the workspace, build output and git's own left out, in a stable order.
fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            let name = entry.file_name();
            let skipped = name == ".git" || name == "target" || name == "__pycache__";
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !skipped => folders.push(path),
                Ok(kind) if kind.is_file() => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

fn shown(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_is_tidy() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let complaints = super::check(root).unwrap();
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }
}
