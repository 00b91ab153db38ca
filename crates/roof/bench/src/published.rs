//! Published results, of other hardware: tables to read, and figures to compare a run with.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::outcome::{Asked, Figures, Host, NotMeasured, Outcome, VERSION};

/// Before the name of a published result, where a file can be named too.
pub const PREFIX: &str = "published:";

const FILES: [&str; 5] = [
    include_str!("published/entmail.toml"),
    include_str!("published/r5-disks.toml"),
    include_str!("published/r6.toml"),
    include_str!("published/r7-mainframe.toml"),
    include_str!("published/production.toml"),
];

/// What was published about one set of tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// By which it is asked for.
    pub name: String,
    /// One line.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// On what it was measured.
    pub hardware: String,
    /// What one must know to read it.
    pub notes: Vec<String>,
    /// The tables.
    #[serde(rename = "table")]
    pub tables: Vec<Table>,
    /// Figures that a run can be compared with.
    #[serde(rename = "result", default)]
    pub results: Vec<Published>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its heading.
    pub title: String,
    /// The headings of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

/// The figures of one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// By which it is asked for.
    pub name: String,
    /// The workload.
    pub workload: String,
    /// What was tested.
    pub title: String,
    /// People; 0 when they were not told.
    pub users: u32,
    /// The figures that were told.
    pub figures: Figures,
}

/// Data that come with the driver cannot be read, or a name is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The data of the driver are damaged.
    #[error("the published results of this program cannot be read: {0}")]
    Data(String),
    /// There is nothing of this name.
    #[error("{name}: nothing of this name was published; there are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What is there.
        known: String,
    },
}

/// All of them.
///
/// # Errors
/// The data of the driver are damaged.
pub fn studies() -> Result<&'static [Study], Trouble> {
    static ALL: OnceLock<Result<Vec<Study>, Trouble>> = OnceLock::new();
    let read = |text: &&str| toml::from_str(text).map_err(|e| Trouble::Data(e.to_string()));
    let all = ALL.get_or_init(|| FILES.iter().map(read).collect());
    all.as_deref().map_err(Clone::clone)
}

/// The study and the result of a name, as something to compare a run with.
///
/// # Errors
/// There is none.
pub fn outcome(name: &str) -> Result<Outcome, Trouble> {
    let all =
        || studies().map(|all| all.iter().flat_map(|s| s.results.iter().map(move |r| (s, r))));
    let found = all()?.find(|(_, result)| result.name.eq_ignore_ascii_case(name));
    match found {
        Some((study, result)) => Ok(as_outcome(study, result)),
        None => {
            let known: Vec<&str> = all()?.map(|(_, result)| result.name.as_str()).collect();
            Err(Trouble::Unknown { name: name.to_owned(), known: known.join(", ") })
        }
    }
}

fn as_outcome(study: &Study, result: &Published) -> Outcome {
    let mut figures = result.figures.clone();
    if result.users > 0 {
        figures.put("users", f64::from(result.users));
    }
    let asked = Asked {
        workload: result.workload.clone(),
        users: result.users,
        speed: 1.0,
        ..Asked::default()
    };
    let host = Host {
        name: result.title.clone(),
        cpu: study.hardware.clone(),
        published: true,
        ..Host::default()
    };
    Outcome {
        version: VERSION,
        driver: study.source.clone(),
        name: format!("{} (published, other hardware)", result.name),
        passed: true,
        remarks: study.notes.clone(),
        asked,
        host,
        figures,
        not_measured: vec![NotMeasured {
            what: "all other figures".to_owned(),
            why: "not published".to_owned(),
        }],
        ..Outcome::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::metric;

    #[test]
    fn all_tables_are_whole() {
        let mut names = Vec::new();
        for study in studies().unwrap() {
            assert!(!study.source.is_empty() && !study.hardware.is_empty(), "{}", study.name);
            for table in &study.tables {
                for row in &table.rows {
                    assert_eq!(row.len(), table.columns.len(), "{}: {row:?}", study.name);
                }
            }
            for result in &study.results {
                names.push(result.name.to_lowercase());
                let unknown = result.figures.0.keys().find(|name| metric(name).is_none());
                assert_eq!(unknown, None, "{}", result.name);
            }
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_result_is_found_by_its_name() {
        let found = outcome("n85entmail-8.5").unwrap();
        assert_eq!(found.figures.get("response_mean_ms"), Some(28.0));
        assert_eq!(found.figures.get("users"), Some(6000.0));
        assert!(found.name.contains("other hardware") && found.host.published);
        let found = outcome("R6IMAP-6-windows").unwrap();
        assert_eq!(found.figures.get("users"), Some(9000.0));
        assert_eq!(found.figures.get("response_mean_ms"), Some(630.0));
        let refused = outcome("N9Mail").unwrap_err().to_string();
        assert!(refused.contains("N85Entmail-8.5"), "{refused}");
    }
}
