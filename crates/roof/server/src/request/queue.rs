//! Orders about the mail that waits.

use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum QueueOrder {
    /// Messages in mail.box.
    List {
        /// `waiting`, `held` or `dead`; none: all.
        state: Option<String>,
        /// Only those that name this text; empty: all.
        text: String,
        /// Most rows.
        limit: usize,
    },
    /// Destinations that mail waits for.
    Destinations,
    /// Does something to messages.
    Act {
        /// What is done.
        deed: QueueDeed,
        /// Ids, or their unmistakable beginnings.
        ids: Vec<String>,
    },
}

/// What is done to a message.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum QueueDeed {
    /// It is kept back.
    Hold,
    /// It is routed again.
    Release,
    /// It is routed again, to other recipients when some are given.
    Resend {
        /// Addresses.
        to: Vec<String>,
    },
    /// It is deleted.
    Delete,
}

impl QueueDeed {
    /// What became of the message.
    pub(crate) fn done(&self) -> &'static str {
        match self {
            Self::Hold => "held",
            Self::Release | Self::Resend { .. } => "routed",
            Self::Delete => "deleted",
        }
    }
}
