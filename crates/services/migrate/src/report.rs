//! What came of an import or export.

/// Problems kept in a report; further ones are only counted.
const PROBLEMS_MAX: usize = 10_000;

/// Something that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: a file, or a folder of a server or mail file.
    pub place: String,
    /// Which one: offset in the file, or uid in the folder; 0 when it is the whole.
    pub at: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// What came of an import or export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Messages brought in or taken out.
    pub messages: u64,
    /// Messages that were there already.
    pub already: u64,
    /// Bytes of the messages brought in or taken out.
    pub bytes: u64,
    /// Folders gone through.
    pub folders: u64,
    /// What was left out; the first 10,000.
    pub problems: Vec<Problem>,
    /// How many were left out.
    pub problems_total: u64,
    /// The work was stopped before its end.
    pub stopped: bool,
}

impl Report {
    /// Whether nothing was left out.
    pub fn is_clean(&self) -> bool {
        self.problems_total == 0
    }

    pub(crate) fn add(&mut self, problem: Problem) {
        self.problems_total += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }
}
