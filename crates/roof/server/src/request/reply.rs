//! What a request is answered with.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Reply {
    /// It was done.
    Done {
        /// What there is to show.
        value: Value,
    },
    /// It was done, and something is not as it should be (exit code 1).
    Finding {
        /// What there is to show.
        value: Value,
    },
    /// The asker is wrong (exit code 2).
    Refused {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The world is in the way (exit code 3).
    Trouble {
        /// What happened, where, and what to do.
        reason: String,
    },
    /// The server is not ready yet; ask again.
    Starting,
}

impl Reply {
    /// A reply with something to show.
    pub fn done(value: impl Into<Value>) -> Self {
        Self::Done { value: value.into() }
    }

    /// A refusal.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { reason: reason.into() }
    }

    /// Trouble, told with the whole chain of causes.
    pub fn trouble(error: &dyn std::error::Error) -> Self {
        Self::Trouble { reason: chain(error) }
    }

    /// The exit code of a command that got this reply.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Done { .. } => 0,
            Self::Finding { .. } => 1,
            Self::Refused { .. } => 2,
            Self::Trouble { .. } | Self::Starting => 3,
        }
    }
}

/// An error with its causes, each after a colon.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}
