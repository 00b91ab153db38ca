//! Message data: the end, the dots and the line ends (RFC 5321 §2.3.8, §4.5.2).

use ::session::{PLAIN_BYTES, is_plain};

#[cfg(test)]
mod tests;

/// Where in a line the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Behind CRLF, or at the very beginning.
    LineStart,
    /// Behind a dot at the start of a line.
    Dot,
    /// Behind a dot and CR at the start of a line.
    DotCr,
    /// Anywhere else.
    Middle,
    /// Behind a CR.
    Cr,
}

/// Reads message data in pieces of any size. Only CRLF.CRLF ends it.
#[derive(Debug)]
pub struct DataReader {
    place: Place,
    normalize: bool,
    bare: bool,
}

/// What [`DataReader::push`] did with its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Bytes of the input that belong to the data.
    pub consumed: usize,
    /// The end was reached.
    pub ended: bool,
}

impl DataReader {
    /// A reader at the start of the data. `normalize` turns bare CR and LF into CRLF.
    pub fn new(normalize: bool) -> DataReader {
        DataReader { place: Place::LineStart, normalize, bare: false }
    }

    /// Whether a CR without LF, or an LF without CR, was seen.
    pub fn saw_bare(&self) -> bool {
        self.bare
    }

    /// Takes a piece of input and appends the message bytes in it to `out`.
    pub fn push(&mut self, input: &[u8], out: &mut Vec<u8>) -> Pushed {
        let mut consumed = 0;
        for block in input.chunks(PLAIN_BYTES) {
            if self.copy_plain(block, out) {
                consumed += block.len();
                continue;
            }
            let pushed = self.read(block, out);
            consumed += pushed.consumed;
            if pushed.ended {
                return Pushed { consumed, ended: true };
            }
        }
        Pushed { consumed, ended: false }
    }

    /// Copies a block at once when it is plain; otherwise does nothing.
    fn copy_plain(&mut self, block: &[u8], out: &mut Vec<u8>) -> bool {
        let before = match self.place {
            Place::LineStart => b'\n',
            Place::Cr => b'\r',
            Place::Middle => 0,
            Place::Dot | Place::DotCr => return false,
        };
        if !is_plain(before, block) {
            return false;
        }
        if self.place == Place::Cr {
            out.push(b'\r');
        }
        // A CR is kept until it is known what follows.
        let whole = block.strip_suffix(b"\r").unwrap_or(block);
        out.extend_from_slice(whole);
        self.place = match block.last() {
            Some(b'\n') => Place::LineStart,
            Some(b'\r') => Place::Cr,
            _ => Place::Middle,
        };
        true
    }

    /// The same line by line.
    fn read(&mut self, input: &[u8], out: &mut Vec<u8>) -> Pushed {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            match (self.place, byte) {
                (Place::LineStart, b'.') => self.place = Place::Dot,
                (Place::Dot, b'\r') => self.place = Place::DotCr,
                (Place::DotCr, b'\n') => return Pushed { consumed: at + 1, ended: true },
                (Place::Cr, b'\n') => {
                    out.extend_from_slice(b"\r\n");
                    self.place = Place::LineStart;
                }
                (Place::Cr | Place::DotCr, _) => {
                    self.bare_end(b'\r', out);
                    self.place = Place::Middle;
                    continue;
                }
                (Place::LineStart | Place::Dot | Place::Middle, _) => {
                    at = self.run(input, at, out);
                    continue;
                }
            }
            at += 1;
        }
        Pushed { consumed: at, ended: false }
    }

    /// Copies up to the next CR or LF and takes that one too; the position behind it.
    fn run(&mut self, input: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
        self.place = Place::Middle;
        let Some(length) = memchr::memchr2(b'\r', b'\n', &input[at..]) else {
            out.extend_from_slice(&input[at..]);
            return input.len();
        };
        out.extend_from_slice(&input[at..at + length]);
        if input[at + length] == b'\r' {
            self.place = Place::Cr;
        } else {
            self.bare_end(b'\n', out);
        }
        at + length + 1
    }

    fn bare_end(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.bare = true;
        if self.normalize {
            out.extend_from_slice(b"\r\n");
        } else {
            out.push(byte);
        }
    }
}
