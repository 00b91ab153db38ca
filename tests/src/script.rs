//! Scripts in the format of the imaptest program: commands with the answers they must have.
//!
//! A script is a header (`capabilities`, `connections`, `messages`, `state`,
//! `ignore_extra_untagged`), an empty line, and commands in one of three forms: with the tagged
//! answer in front, with it on a line of its own, or with tags where several are sent at once.
//! `*` demands an untagged answer, `!` forbids one, `?` allows it. `$name` takes its value from the
//! first answer that fits, `$` stands for anything, `$3` for the number that message 3 of the
//! beginning has now. Lists are compared as `$!ordered`, `$!unordered[=N]`, `$!noextra`,
//! `$!extra`, `$!ignore=` and `$!ban=` say, with defaults for FETCH, LIST, LSUB and STATUS.

mod mbox;
mod pattern;
mod play;
mod read;
mod value;

pub use play::{Account, Verdict, play};
