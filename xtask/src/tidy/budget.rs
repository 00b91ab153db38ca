//! Exemptions from the size limits. They may only shrink: one that allows too much is a finding.

use std::path::Path;

/// Something that is too big, as the rules found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excess {
    /// The path below the workspace.
    pub path: String,
    /// `file`, `columns`, `function NAME`, `parameters NAME` or `bools NAME`.
    pub what: String,
    /// What was measured.
    pub size: usize,
    /// The rule's limit.
    pub limit: usize,
    /// Where to look, from 1.
    pub line: usize,
}

/// One exemption of `xtask/budget.toml`.
#[derive(Debug, PartialEq, Eq)]
struct Exempt {
    path: String,
    what: String,
    limit: usize,
    reason: String,
}

/// The exemptions of the workspace.
#[derive(Debug, Default)]
pub struct Budget {
    exempts: Vec<Exempt>,
}

impl Budget {
    /// Reads the budget file; an absent file is an empty budget.
    pub fn load(path: &Path) -> Result<Budget, String> {
        match std::fs::read_to_string(path) {
            Ok(text) => Budget::parse(&text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Budget::default()),
            Err(e) => Err(e.to_string()),
        }
    }

    /// Parses `[[exempt]]` tables with path, what, limit and reason.
    pub fn parse(text: &str) -> Result<Budget, String> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        let mut exempts = Vec::new();
        for row in table.get("exempt").and_then(|v| v.as_array()).into_iter().flatten() {
            let text_of = |key: &str| {
                let value = row.get(key).and_then(|v| v.as_str()).unwrap_or("").trim();
                if value.is_empty() {
                    Err(format!("an [[exempt]] has no {key}"))
                } else {
                    Ok(value.to_owned())
                }
            };
            let limit = row.get("limit").and_then(toml::Value::as_integer);
            let limit = limit.and_then(|n| usize::try_from(n).ok());
            exempts.push(Exempt {
                path: text_of("path")?,
                what: text_of("what")?,
                limit: limit.ok_or("an [[exempt]] has no limit")?,
                reason: text_of("reason")?,
            });
        }
        Ok(Budget { exempts })
    }

    /// What is left to complain about: excesses nothing exempts, and exemptions that are too wide.
    pub fn judge(&self, excesses: &[Excess]) -> Vec<String> {
        let mut complaints = Vec::new();
        for excess in excesses {
            let exempt = self.exempts.iter().find(|e| covers(e, excess));
            let allowed = exempt.map_or(excess.limit, |e| e.limit);
            if excess.size > allowed {
                let Excess { path, what, size, line, .. } = excess;
                complaints.push(format!("{path}:{line}: {what}: {size}, at most {allowed}"));
            }
        }
        for exempt in &self.exempts {
            let needed = excesses.iter().filter(|e| covers(exempt, e)).map(|e| e.size).max();
            let Exempt { path, what, limit, .. } = exempt;
            match needed {
                None => complaints
                    .push(format!("xtask/budget.toml: {path}: {what} needs no exemption any more")),
                Some(size) if size < *limit => complaints.push(format!(
                    "xtask/budget.toml: {path}: {what} allows {limit}, {size} is enough"
                )),
                Some(_) => {}
            }
        }
        complaints
    }
}

fn covers(exempt: &Exempt, excess: &Excess) -> bool {
    exempt.path == excess.path && exempt.what == excess.what
}

#[cfg(test)]
mod tests {
    use super::{Budget, Excess};

    fn excess(size: usize) -> Excess {
        Excess { path: "a.rs".into(), what: "file".into(), size, limit: 500, line: 1 }
    }

    fn budget(limit: usize) -> Budget {
        let text = format!(
            "[[exempt]]\npath = \"a.rs\"\nwhat = \"file\"\nlimit = {limit}\nreason = \"tables\"\n"
        );
        Budget::parse(&text).unwrap()
    }

    #[test]
    fn an_exemption_fits_exactly_or_is_a_finding() {
        assert!(budget(600).judge(&[excess(600)]).is_empty());
        assert_eq!(budget(600).judge(&[excess(601)]).len(), 1, "too big for its exemption");
        assert_eq!(budget(600).judge(&[excess(550)]).len(), 1, "must shrink to 550");
        assert_eq!(budget(600).judge(&[]).len(), 1, "no longer needed");
        assert_eq!(Budget::default().judge(&[excess(501)]).len(), 1, "not exempt");
    }

    #[test]
    fn every_exemption_states_its_reason() {
        let text = "[[exempt]]\npath = \"a.rs\"\nwhat = \"file\"\nlimit = 600\n";
        assert!(Budget::parse(text).unwrap_err().contains("reason"));
    }
}
