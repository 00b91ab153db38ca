//! A message as lines of a multi-line reply (RFC 1939 §3): every line ends with CRLF, one that
//! begins with a dot gets one more, and a line with a dot alone ends the reply.

use memchr::memchr;
use session::{PLAIN_BYTES, is_plain};

/// What is left to send of a message of which only the beginning is wanted (TOP).
#[derive(Clone, Copy, Debug)]
struct Top {
    in_header: bool,
    lines: u64,
}

/// Makes wire lines of the bytes of a message, which come in pieces of any length.
#[derive(Debug)]
pub(crate) struct Lines {
    /// The next byte begins a line.
    at_start: bool,
    /// The line holds nothing but CR so far.
    is_blank: bool,
    /// The byte before the next one, within a line.
    last: u8,
    top: Option<Top>,
}

impl Lines {
    /// The whole message.
    pub(crate) fn whole() -> Lines {
        Lines { at_start: true, is_blank: true, last: 0, top: None }
    }

    /// The header, the blank line behind it and `lines` lines of the body.
    pub(crate) fn top(lines: u64) -> Lines {
        Lines { top: Some(Top { in_header: true, lines }), ..Lines::whole() }
    }

    /// Appends the next bytes; `false` when no more are wanted.
    pub(crate) fn put(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        out.reserve(bytes.len() + bytes.len() / 32);
        bytes.chunks(PLAIN_BYTES).all(|block| self.copy_plain(block, out) || self.each(block, out))
    }

    /// Copies a block of a whole message at once when it is plain; otherwise does nothing.
    fn copy_plain(&mut self, block: &[u8], out: &mut Vec<u8>) -> bool {
        let before = if self.at_start { b'\n' } else { self.last };
        if self.top.is_some() || !is_plain(before, block) {
            return false;
        }
        out.extend_from_slice(block);
        self.last = block.last().copied().unwrap_or(before);
        self.at_start = self.last == b'\n';
        true
    }

    /// Appends line by line; `false` when no more are wanted.
    fn each(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if self.at_start && *first == b'.' {
                out.push(b'.');
            }
            let Some(end) = memchr(b'\n', rest) else {
                self.part_of_line(rest, out);
                return true;
            };
            self.part_of_line(&rest[..end], out);
            rest = &rest[end + 1..];
            if !self.end_of_line(out) {
                return false;
            }
        }
        true
    }

    fn part_of_line(&mut self, part: &[u8], out: &mut Vec<u8>) {
        let Some(last) = part.last() else { return };
        self.at_start = false;
        self.last = *last;
        self.is_blank &= part.iter().all(|byte| *byte == b'\r');
        out.extend_from_slice(part);
    }

    /// Ends a line; `false` when it was the last one wanted.
    fn end_of_line(&mut self, out: &mut Vec<u8>) -> bool {
        if self.last != b'\r' {
            out.push(b'\r');
        }
        out.push(b'\n');
        let was_blank = self.is_blank;
        (self.at_start, self.is_blank, self.last) = (true, true, 0);
        let Some(top) = &mut self.top else { return true };
        match top.in_header {
            true if !was_blank => return true,
            true => top.in_header = false,
            false => top.lines -= 1,
        }
        top.lines > 0
    }

    /// Ends the last line, if need be, and the reply.
    pub(crate) fn finish(mut self, out: &mut Vec<u8>) {
        if !self.at_start {
            self.top = None;
            self.end_of_line(out);
        }
        out.extend_from_slice(b".\r\n");
    }
}

#[cfg(test)]
mod tests;
