//! What goes wrong in a run.

use crate::letters;
use crate::wire;

/// Why a run or a population cannot be done at all.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// A door that the workload needs has no port.
    #[error("{workload} needs {door}: give --{option}")]
    NoDoor {
        /// The workload.
        workload: String,
        /// What is missing.
        door: &'static str,
        /// The option that gives it.
        option: &'static str,
    },
    /// A step has no template for HTTP.
    #[error("{workload}: step \"{step}\" says nothing of HTTP; run it with --via imap")]
    NoTemplate {
        /// The workload.
        workload: String,
        /// The step.
        step: String,
    },
    /// A value that makes no sense.
    #[error("{0}")]
    Value(String),
    /// Letters cannot be made.
    #[error(transparent)]
    Letters(#[from] letters::Trouble),
    /// The server does not let it be done.
    #[error("{who}: {what}: {source}")]
    Wire {
        /// The person.
        who: String,
        /// What was tried.
        what: &'static str,
        /// What came.
        source: wire::Error,
    },
    /// Mail that was handed in did not arrive.
    #[error("{missing} messages did not arrive within {waited_s} s")]
    Unsettled {
        /// How many.
        missing: u64,
        /// How long was waited.
        waited_s: u64,
    },
}

/// Why an action failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server or the connection.
    Wire(wire::Error),
    /// The server's answer makes no sense.
    Wrong(String),
    /// There was nothing to do it with: not an error, and not counted as an action.
    Nothing(&'static str),
}

impl Fault {
    /// Whether the connection can be used further.
    pub(super) fn spares_connection(&self) -> bool {
        match self {
            Self::Wire(error) => error.is_refusal(),
            Self::Wrong(_) | Self::Nothing(_) => true,
        }
    }
}

impl From<wire::Error> for Fault {
    fn from(error: wire::Error) -> Self {
        Self::Wire(error)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wire(error) => write!(f, "{error}"),
            Self::Wrong(what) => f.write_str(what),
            Self::Nothing(what) => f.write_str(what),
        }
    }
}
