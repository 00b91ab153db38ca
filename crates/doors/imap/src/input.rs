//! Reading one command: its lines and literals, each within its limit (RFC 3501 §4.3, RFC 7888).

use session::{Taken, Weight, WireError};

use crate::grammar::Cursor;
use crate::reply::{End, Fault, tagged};
use crate::session::Session;

/// Literals above this size are taken out of the server's budget of bytes in flight.
const FREE_BYTES: u64 = 64 * 1024;
/// Literals of one command at most.
const LITERALS_MAX: usize = 1_000;
/// Longest ID command, also before sign-in: 30 pairs of 30 and 1,024 bytes (RFC 2971 §3.3).
const ID_BYTES_MAX: usize = 40 * 1024;
/// Lines and small literals of one command together, in longest lines.
const LINES_MAX: usize = 4;

/// What came.
pub(crate) enum Input {
    /// A command.
    Command(Line),
    /// Something that was answered already.
    Refused,
}

/// The bytes of one command: lines, with each literal behind the line that announces it.
#[derive(Default)]
pub(crate) struct Line {
    pub bytes: Vec<u8>,
    /// What large literals hold of the budget.
    pub taken: Vec<Taken>,
}

impl Line {
    /// Whether many small pieces have become more than one command needs. What was taken out of
    /// the budget is bounded there.
    fn is_too_long(&self, more: u64, max: usize) -> bool {
        let budgeted: u64 = self.taken.iter().map(Taken::bytes).sum();
        (self.bytes.len() as u64 + more).saturating_sub(budgeted) > (LINES_MAX * max) as u64
    }
}

/// A literal that a line announces at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Announced {
    bytes: u64,
    /// The client waits for leave to send it.
    waits: bool,
}

/// The literal that `line` announces, if it does.
fn announced(line: &[u8]) -> Option<Announced> {
    let inner = line.strip_suffix(b"}")?;
    let (inner, waits) = match inner.strip_suffix(b"+") {
        Some(inner) => (inner, false),
        None => (inner, true),
    };
    let digits = inner.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (head, digits) = inner.split_at(inner.len() - digits);
    if digits.is_empty() || !head.ends_with(b"{") {
        return None;
    }
    let number = std::str::from_utf8(digits).ok()?.parse().unwrap_or(u64::MAX);
    Some(Announced { bytes: number, waits })
}

/// Whether the command may carry a whole message.
fn carries_message(line: &[u8]) -> bool {
    is_command(line, "APPEND")
}

/// Whether a line begins with a tag and this command.
fn is_command(line: &[u8], name: &str) -> bool {
    let mut cursor = Cursor::new(line);
    cursor.tag().is_ok() && cursor.space().is_ok() && cursor.eat_word(name)
}

impl Session {
    /// Reads the next command. Replies are written first, unless another command is there already.
    pub(crate) async fn read_command(&mut self) -> Result<Input, Fault> {
        if !self.wire.buffered().contains(&b'\n') {
            self.flush().await?;
        }
        let max = match self.user {
            Some(_) => self.settings().line_bytes_max,
            None => Box::pin(self.guest_max()).await?,
        };
        let mut line = Line::default();
        let mut text = self.read_text(max).await?;
        for _ in 0..LITERALS_MAX {
            let Some(part) = text else { return Ok(Input::Refused) };
            line.bytes.extend_from_slice(&part);
            if line.is_too_long(0, max) {
                break;
            }
            let Some(literal) = announced(&part) else { return Ok(Input::Command(line)) };
            // In a box, so that a connection that waits for a line needs less memory.
            if !Box::pin(self.literal(&mut line, literal, max)).await? {
                return Ok(Input::Refused);
            }
            text = self.read_text(max).await?;
        }
        Err(too_long())
    }

    /// The longest line of a client that has not signed in, which depends on the command.
    async fn guest_max(&mut self) -> Result<usize, Fault> {
        let max = self.settings().line_bytes_max_guest;
        // The beginning of a line seldom comes in pieces, and then the shorter limit holds.
        if self.wire.buffered().is_empty() {
            let wait = self.wait();
            tokio::select! {
                filled = self.wire.fill(wait) => { filled?; }
                () = self.stopping.requested() => return Err(stop()),
                () = self.seat.dropped() => return Err(dropped()),
            }
        }
        let is_id = is_command(self.wire.buffered(), "ID");
        Ok(if is_id { max.max(ID_BYTES_MAX) } else { max })
    }

    /// One line of a command; `None` when it was too long, which was answered.
    async fn read_text(&mut self, max: usize) -> Result<Option<Vec<u8>>, Fault> {
        let wait = self.wait();
        let mut text = Vec::new();
        let read = tokio::select! {
            read = self.wire.read_line(&mut text, max, wait) => read,
            () = self.stopping.requested() => return Err(stop()),
            () = self.seat.dropped() => return Err(dropped()),
        };
        match read {
            Ok(_) => Ok(Some(text)),
            Err(WireError::TooLong { .. }) => {
                tagged("*", "BAD", ("", "The line is too long"), &mut self.out.bytes);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a literal in; `false` when it was refused, which was answered.
    async fn literal(
        &mut self,
        line: &mut Line,
        literal: Announced,
        max: usize,
    ) -> Result<bool, Fault> {
        let message = self.user.is_some() && carries_message(&line.bytes);
        let limit = if message { self.settings().append_bytes_max } else { max as u64 };
        if literal.bytes > limit {
            let code = if message { ("NO", "TOOBIG") } else { ("BAD", "") };
            return self.refuse(&line.bytes, literal, code);
        }
        let is_asked = message && literal.waits && literal.bytes > FREE_BYTES;
        if is_asked && !self.has_room(literal.bytes).await? {
            return self.refuse(&line.bytes, literal, ("NO", "OVERQUOTA"));
        }
        // Of several messages in one command each counts.
        if literal.bytes > FREE_BYTES || (message && line.bytes.len() as u64 > FREE_BYTES) {
            match self.door.parts.budget.try_take(literal.bytes) {
                Some(taken) => {
                    line.taken.push(taken);
                    // Exactly as much as was taken, where growing would double it.
                    if literal.bytes > FREE_BYTES {
                        line.bytes.reserve_exact(literal.bytes as usize + 2);
                    }
                }
                None => return self.refuse(&line.bytes, literal, ("NO", "UNAVAILABLE")),
            }
        } else if line.is_too_long(literal.bytes, max) {
            return Err(too_long());
        }
        if literal.waits {
            self.out.bytes.extend_from_slice(b"+ Ready\r\n");
        }
        self.flush().await?;
        line.bytes.extend_from_slice(b"\r\n");
        let wait = self.wait().min(self.settings().write_wait);
        let count = literal.bytes as usize;
        // Who has not signed in may not let it drip.
        let guest = self.user.is_none();
        let read = self.wire.read_exact(count, &mut line.bytes, wait);
        match guest {
            true => tokio::time::timeout(wait, read).await.map_err(|_| WireError::Timeout)??,
            false => read.await?,
        }
        Ok(true)
    }

    /// Whether so large a message fits into the mail file; asked before it is read.
    async fn has_room(&self, bytes: u64) -> Result<bool, Fault> {
        let file = self.file()?;
        let usage = self.run_work(Weight::Light, move || file.usage()).await?;
        // A mail file in trouble refuses the message itself, with the reason.
        Ok(usage.map_or(true, |usage| usage.value.has_room(bytes)))
    }

    /// Refuses a literal that was not read. One that comes without waiting cannot be skipped in
    /// bounded time, so that the connection ends.
    fn refuse(
        &mut self,
        line: &[u8],
        literal: Announced,
        (state, code): (&str, &str),
    ) -> Result<bool, Fault> {
        let tag = Cursor::new(line).tag().unwrap_or("*");
        let text = match code {
            "OVERQUOTA" => "The mail file is full",
            "UNAVAILABLE" => "There is too little room now, please try later",
            _ => "The literal is too large",
        };
        tagged(tag, state, (code, text), &mut self.out.bytes);
        match literal.waits {
            true => Ok(false),
            false => Err(Fault::End(End::Bye("A literal is too large to be skipped"))),
        }
    }
}

/// Lines and literals of a command add up to too much.
fn too_long() -> Fault {
    Fault::End(End::Bye("The command is too long"))
}

/// The server stops.
pub(crate) fn stop() -> Fault {
    Fault::End(End::Bye("The server is stopping"))
}

/// An administrator ended the session.
pub(crate) fn dropped() -> Fault {
    Fault::End(End::Bye("The session was ended by an administrator"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_announced_at_the_end_of_a_line() {
        let literal = |bytes, waits| Some(Announced { bytes, waits });
        let cases: &[(&str, Option<Announced>)] = &[
            ("a LOGIN {18}", literal(18, true)),
            ("a LOGIN {18+}", literal(18, false)),
            ("{0}", literal(0, true)),
            ("a {4294967296}", literal(4_294_967_296, true)),
            ("a {99999999999999999999999}", literal(u64::MAX, true)),
            ("a {+10}", None),
            ("a {10++}", None),
            ("a {10 }", None),
            ("a {}", None),
            ("a {+}", None),
            ("a 10}", None),
            ("a {10} ", None),
            ("a {1x0}", None),
            ("}", None),
            ("", None),
        ];
        for (line, wanted) in cases {
            assert_eq!(announced(line.as_bytes()), *wanted, "{line}");
        }
    }

    #[test]
    fn only_append_carries_a_message() {
        assert!(carries_message(b"a APPEND x {5}"));
        assert!(carries_message(b"a append x {5}"));
        assert!(!carries_message(b"a APPENDX x {5}"));
        assert!(!carries_message(b"a LOGIN APPEND {5}"));
    }
}
