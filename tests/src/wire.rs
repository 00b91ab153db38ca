//! Dialogues from files: what a client writes, and what the answer must and must not hold.
//!
//! ```text
//! # a note
//! C: a1 NOOP             sent with CRLF; \r\n stands for these two octets
//! S: a1 OK*              a line of the answer matches; * stands for anything
//! S: 501* | 555*         one of several
//! N: *[ALERT]*           no line of the answer matches
//! ```
//! An answer is whole when its protocol says so: SMTP at the line with a space after the code, IMAP
//! at the tagged line or a continuation request. At the end the connection must still be usable.

use crate::talk::{Reply, Talk};
use std::path::Path;

/// What is spoken on the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Answers are numbered lines.
    Smtp,
    /// Answers end with the command's tag.
    Imap,
}

/// One dialogue.
#[derive(Debug)]
pub struct Case {
    name: String,
    protocol: Protocol,
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Client(String),
    Server(String),
    Never(String),
}

impl Case {
    /// Reads a `.wire` file.
    pub fn load(path: &Path, protocol: Protocol) -> Case {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let name = path.display().to_string();
        let steps = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(|line| {
            match line.split_at_checked(3) {
                Some(("C: ", rest)) => Step::Client(rest.replace("\\r\\n", "\r\n")),
                Some(("S: ", rest)) => Step::Server(rest.to_owned()),
                Some(("N: ", rest)) => Step::Never(rest.to_owned()),
                _ => panic!("{name}: what is {line:?}?"),
            }
        });
        Case { steps: steps.collect(), name, protocol }
    }

    /// Plays it on a connection that has been greeted (and, for IMAP, signed in).
    pub fn play(&self, talk: &mut Talk) {
        let mut reply = Reply::default();
        let mut tag = String::new();
        for step in &self.steps {
            match step {
                Step::Client(line) => {
                    let goes_on = reply.last().starts_with('+');
                    if !goes_on {
                        tag = line.split(' ').next().unwrap_or("").to_owned();
                    }
                    talk.send(format!("{line}\r\n").as_bytes());
                    reply = self.answer(talk, &tag);
                }
                Step::Server(pattern) => assert!(
                    matches(pattern, &reply),
                    "{}: no line like {pattern:?} in\n{}",
                    self.name,
                    reply.text()
                ),
                Step::Never(pattern) => assert!(
                    !matches(pattern, &reply),
                    "{}: a line like {pattern:?} in\n{}",
                    self.name,
                    reply.text()
                ),
            }
        }
        if !matches("221*", &reply) {
            talk.send(if self.protocol == Protocol::Smtp { b"NOOP\r\n" } else { b"end NOOP\r\n" });
            let reply = self.answer(talk, "end");
            assert!(matches("250* | end OK*", &reply), "{}: {}", self.name, reply.text());
        }
    }

    fn answer(&self, talk: &mut Talk, tag: &str) -> Reply {
        match self.protocol {
            Protocol::Smtp => talk.smtp_reply(""),
            Protocol::Imap => talk.imap_reply(tag),
        }
    }
}

fn matches(patterns: &str, reply: &Reply) -> bool {
    let one = |pattern: &str| reply.0.iter().any(|line| fits(pattern.trim(), &line.text));
    patterns.split(" | ").any(one)
}

/// Whether `text` fits `pattern`, in which `*` stands for any run of characters.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    let starts = rest.char_indices().map(|(i, _)| i).chain([rest.len()]);
    starts.into_iter().any(|i| fits(after, &rest[i..]))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns() {
        let cases = [
            ("a1 OK*", "a1 OK done", true),
            ("a1 OK*", "a1 NO done", false),
            ("250 ok", "250 ok", true),
            ("250 ok", "250 ok then", false),
            ("* SEARCH 1 2", "* SEARCH 1 2", true),
            ("250*8BITMIME", "250-8BITMIME", true),
            ("a*b*c", "aXXbYYc", true),
            ("a*b*c", "aXXcYYb", false),
        ];
        for (pattern, text, wanted) in cases {
            assert_eq!(fits(pattern, text), wanted, "{pattern} {text}");
        }
    }
}
