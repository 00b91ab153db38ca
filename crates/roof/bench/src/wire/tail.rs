//! A message as it streams by: not kept, but summed up from its Message-ID on.

#[cfg(test)]
mod tests;

use crc32fast::Hasher;

/// Octets of the fields in front of a letter (trace fields, RFC 5321 section 4.4) at the most.
const TRACE_OCTETS_MAX: usize = 64 << 10;
const FIELD: &[u8] = b"message-id:";

/// What was read of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// All its octets as the server sent them.
    pub octets: u64,
    /// Its Message-ID, brackets included; empty when its first fields have none.
    pub message_id: String,
    /// Octets from the line of the Message-ID to the end. A letter begins with that line.
    pub tail_octets: u64,
    /// crc32 over those.
    pub tail_sum: u32,
}

/// Takes a message in pieces.
#[derive(Debug)]
pub(super) struct Tail {
    octets: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// In the fields; what has been seen of the line.
    Head { line: Vec<u8>, seen: usize },
    /// In the line of the Message-ID, which may go on in the next.
    Field { line: Vec<u8>, sum: Hasher, octets: u64 },
    /// Behind it.
    Rest { message_id: String, sum: Hasher, octets: u64 },
    /// There is none.
    Without,
}

impl Default for Tail {
    fn default() -> Self {
        Self { octets: 0, state: State::Head { line: Vec::new(), seen: 0 } }
    }
}

impl Tail {
    /// The next octets.
    pub(super) fn update(&mut self, mut piece: &[u8]) {
        self.octets += piece.len() as u64;
        while !piece.is_empty() {
            piece = match &mut self.state {
                State::Rest { sum, octets, .. } => {
                    sum.update(piece);
                    *octets += piece.len() as u64;
                    return;
                }
                State::Without => return,
                State::Head { .. } | State::Field { .. } => self.take_line(piece),
            };
        }
    }

    /// Takes from `piece` what belongs to the current line; gives what is left.
    fn take_line<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let end = piece.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let (mine, left) = piece.split_at(end.unwrap_or(piece.len()));
        match &mut self.state {
            State::Head { line, seen } => {
                *seen += mine.len();
                line.extend_from_slice(mine);
                if *seen > TRACE_OCTETS_MAX || (end.is_some() && line.len() <= 2) {
                    self.state = State::Without;
                } else if line.len() >= FIELD.len() && is_field(line) {
                    let (line, mut sum) = (std::mem::take(line), Hasher::new());
                    sum.update(&line);
                    let octets = line.len() as u64;
                    self.state = State::Field { line, sum, octets };
                    self.settle_field();
                } else if end.is_some() {
                    line.clear();
                }
            }
            State::Field { line, sum, octets } => {
                sum.update(mine);
                *octets += mine.len() as u64;
                line.extend_from_slice(mine);
                self.settle_field();
            }
            State::Rest { .. } | State::Without => {}
        }
        left
    }

    /// Whether the field has its value: a folded one has it in the next line.
    fn settle_field(&mut self) {
        let State::Field { line, sum, octets } = &mut self.state else { return };
        let value = String::from_utf8_lossy(&line[FIELD.len()..]);
        let done = line.ends_with(b"\n") && !value.trim().is_empty();
        if done || line.len() > 2048 {
            let message_id = value.trim().to_owned();
            let (sum, octets) = (std::mem::take(sum), *octets);
            self.state = State::Rest { message_id, sum, octets };
        }
    }

    /// What the message was.
    pub(super) fn finish(self) -> Read {
        let octets = self.octets;
        let (message_id, sum, tail_octets) = match self.state {
            State::Rest { message_id, sum, octets } => (message_id, sum, octets),
            State::Field { sum, octets, .. } => (String::new(), sum, octets),
            State::Head { .. } | State::Without => (String::new(), Hasher::new(), 0),
        };
        Read { octets, message_id, tail_octets, tail_sum: sum.finalize() }
    }
}

fn is_field(line: &[u8]) -> bool {
    line.get(..FIELD.len()).is_some_and(|name| name.eq_ignore_ascii_case(FIELD))
}
