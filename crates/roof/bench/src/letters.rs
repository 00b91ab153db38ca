//! The messages that the load sends: sizes, attachments, and the mark by which each is known again.
