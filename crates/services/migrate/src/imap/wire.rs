//! Responses of a server as they come: lines with literals, each within its limit.

use std::io::{self, Read};

use memchr::memchr;

use super::Stream;

/// Bytes read at once.
const PIECE_BYTES: usize = 64 * 1024;
/// Longest line of a response: a list of a million uids.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Literals in one response.
const LITERALS_MAX: usize = 10_000;

/// A part of a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text of the line.
    Text(Vec<u8>),
    /// A literal.
    Literal(Vec<u8>),
    /// A literal of this length that was too long and is passed over.
    TooLong(u64),
}

/// The receiving side of a connection.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    start: usize,
    literal_bytes_max: u64,
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Wire {
    pub(super) fn new(stream: Box<dyn Stream>, literal_bytes_max: u64) -> Wire {
        Wire { stream, buffer: Vec::new(), start: 0, literal_bytes_max }
    }

    /// The connection below; what was received and not read is forgotten.
    pub(super) fn into_stream(self) -> Box<dyn Stream> {
        self.stream
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// The next response: its text and literals in order.
    pub(super) fn response(&mut self) -> io::Result<Vec<Part>> {
        let mut parts = Vec::new();
        loop {
            let line = self.line()?;
            let literal = literal_at_end(&line);
            parts.push(Part::Text(line));
            let Some(length) = literal else { return Ok(parts) };
            if parts.len() > LITERALS_MAX {
                return Err(wrong("a response of too many literals"));
            }
            parts.push(self.literal(length)?);
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let length = self.buffer.len();
        self.buffer.resize(length + PIECE_BYTES, 0);
        let read = self.stream.read(&mut self.buffer[length..]);
        self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
        match read? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut searched = 0;
        loop {
            let buffered = &self.buffer[self.start..];
            if let Some(at) = memchr(b'\n', &buffered[searched..]) {
                let line = &buffered[..searched + at];
                let line = line.strip_suffix(b"\r").unwrap_or(line).to_vec();
                self.start += searched + at + 1;
                return Ok(line);
            }
            searched = buffered.len();
            if searched > LINE_BYTES_MAX {
                return Err(wrong("a line that is too long"));
            }
            self.fill()?;
        }
    }

    fn literal(&mut self, length: u64) -> io::Result<Part> {
        if length > self.literal_bytes_max {
            let mut left = length;
            while left > 0 {
                if self.start == self.buffer.len() {
                    self.fill()?;
                }
                let used = left.min((self.buffer.len() - self.start) as u64);
                self.start += used as usize;
                left -= used;
            }
            return Ok(Part::TooLong(length));
        }
        let buffered = &self.buffer[self.start..];
        let ready = buffered.len().min(length as usize);
        let mut bytes = Vec::with_capacity(length as usize);
        bytes.extend_from_slice(&buffered[..ready]);
        self.start += ready;
        let missing = length - ready as u64;
        let read = (&mut self.stream).take(missing).read_to_end(&mut bytes)?;
        match read as u64 == missing {
            true => Ok(Part::Literal(bytes)),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn literal_at_end(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"}")?;
    let open = line.iter().rposition(|byte| *byte == b'{')?;
    let digits = std::str::from_utf8(&line[open + 1..]).ok()?;
    let digits = digits.strip_suffix('+').unwrap_or(digits);
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}
