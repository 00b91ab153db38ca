//! Splitting an mbox file into messages, with one message in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use memchr::memchr;
use note::TimeDate;

/// Bytes read from the file at once; a longer line comes in pieces.
const PIECE_BYTES: usize = 64 * 1024;
/// Bytes of a separating line that are kept.
const SEPARATOR_BYTES_MAX: usize = 1024;
/// Bytes looked at where a message should end by its `Content-Length`.
const PEEK_BYTES: usize = 16;

/// A message of an mbox file.
#[derive(Debug, Default)]
pub(super) struct Letter {
    /// Where its separating line begins.
    pub offset: u64,
    /// The separating line.
    pub separator: Vec<u8>,
    /// Its bytes as they stand, with quoting taken back.
    pub bytes: Vec<u8>,
    /// Why it cannot be brought in.
    pub left_out: Option<String>,
}

/// An mbox file that is read from front to back.
pub(super) struct Mbox {
    reader: BufReader<File>,
    offset: u64,
    bytes_max: u64,
    /// The separating line of the message that comes next.
    next: Option<(u64, Vec<u8>)>,
    is_begun: bool,
}

/// One line of the message that is being read, or a piece of a long one.
struct Line {
    start: u64,
    at_start: bool,
    at_end: bool,
}

/// Where the reading of a message is.
#[derive(Default)]
struct State {
    letter: Letter,
    in_header: bool,
    /// What `Content-Length` says.
    length: Option<u64>,
    /// The line before was blank.
    after_blank: bool,
    /// The body was read by its length; what follows does not belong to it.
    is_whole: bool,
    too_long: bool,
}

impl Mbox {
    pub(super) fn open(path: &Path, bytes_max: u64) -> io::Result<Mbox> {
        let reader = BufReader::with_capacity(PIECE_BYTES, File::open(path)?);
        Ok(Mbox { reader, offset: 0, bytes_max, next: None, is_begun: false })
    }

    /// How far the file was read.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next message; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Letter>> {
        let mut state = State { in_header: true, after_blank: true, ..State::default() };
        match self.next.take() {
            Some((offset, separator)) => {
                (state.letter.offset, state.letter.separator) = (offset, separator);
            }
            None if self.is_begun => return Ok(None),
            None => {}
        }
        let mut line = Vec::new();
        let mut at_start = true;
        while let Some(read) = self.line(&mut line, at_start)? {
            at_start = read.at_end;
            if read.at_start && is_separator(&line, state.after_blank) {
                self.separator(read, &mut line)?;
                if self.is_begun {
                    return Ok(Some(self.ended(state)));
                }
                self.is_begun = true;
                (state.letter.offset, state.letter.separator) =
                    self.next.take().unwrap_or_default();
                at_start = true;
                continue;
            }
            if !self.is_begun {
                if is_blank(&line) {
                    continue;
                }
                return self.no_mbox();
            }
            if self.take_line(&mut state, &line, &read)? {
                at_start = true;
            }
        }
        let was_begun = std::mem::replace(&mut self.is_begun, true);
        Ok(was_begun.then(|| self.ended(state)))
    }

    /// The rest of the file cannot be understood.
    fn no_mbox(&mut self) -> io::Result<Option<Letter>> {
        self.is_begun = true;
        self.offset = self.reader.seek(SeekFrom::End(0))?;
        let why = "it does not begin with a From line, so it is no mbox file";
        Ok(Some(Letter { left_out: Some(why.to_owned()), ..Letter::default() }))
    }

    /// Reads a line, or a piece of a long one; `None` at the end of the file.
    fn line(&mut self, line: &mut Vec<u8>, at_start: bool) -> io::Result<Option<Line>> {
        line.clear();
        let start = self.offset;
        loop {
            let room = PIECE_BYTES - line.len();
            let buffer = self.reader.fill_buf()?;
            let buffer = &buffer[..buffer.len().min(room)];
            let end = memchr(b'\n', buffer).map(|at| at + 1);
            let used = end.unwrap_or(buffer.len());
            line.extend_from_slice(&buffer[..used]);
            self.reader.consume(used);
            self.offset += used as u64;
            if end.is_some() || line.len() == PIECE_BYTES {
                return Ok(Some(Line { start, at_start, at_end: end.is_some() }));
            }
            if used == 0 {
                return Ok((!line.is_empty()).then_some(Line { start, at_start, at_end: true }));
            }
        }
    }

    /// Keeps a separating line, and passes over the rest of one that is too long.
    fn separator(&mut self, read: Line, line: &mut Vec<u8>) -> io::Result<()> {
        let mut kept = line.clone();
        kept.truncate(SEPARATOR_BYTES_MAX);
        let mut at_end = read.at_end;
        while !at_end {
            at_end = self.line(line, false)?.is_none_or(|read| read.at_end);
        }
        self.next = Some((read.start, kept));
        Ok(())
    }

    /// Adds a line to the message; `true` when the whole body was read along with it.
    fn take_line(&mut self, state: &mut State, line: &[u8], read: &Line) -> io::Result<bool> {
        let is_blank = read.at_start && is_blank(line);
        if state.is_whole {
            return Ok(false);
        }
        let quoted = !state.in_header && read.at_start && is_quoted(line);
        self.append(state, if quoted { &line[1..] } else { line });
        state.after_blank = is_blank;
        if !state.in_header || !read.at_start {
            return Ok(false);
        }
        if !is_blank {
            state.length = content_length(line).or(state.length);
            return Ok(false);
        }
        state.in_header = false;
        match state.length.take() {
            Some(length) if self.ends_at(self.offset.saturating_add(length))? => {
                self.body(state, length)?;
                (state.after_blank, state.is_whole) = (true, true);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn append(&self, state: &mut State, bytes: &[u8]) {
        let length = (state.letter.bytes.len() + bytes.len()) as u64;
        if state.too_long || length > self.bytes_max {
            state.too_long = true;
            state.letter.bytes = Vec::new();
            return;
        }
        state.letter.bytes.extend_from_slice(bytes);
    }

    /// Whether a message may end at this place: the file ends, or a separating line follows.
    fn ends_at(&self, offset: u64) -> io::Result<bool> {
        let file = self.reader.get_ref();
        if offset > file.metadata()?.len() {
            return Ok(false);
        }
        let mut bytes = [0; PEEK_BYTES];
        // It has to be the beginning of a line, or the end of the file.
        let count = file.read_at(&mut bytes, offset.saturating_sub(1))?;
        let Some((before, rest)) = bytes[..count].split_first() else { return Ok(false) };
        if *before != b'\n' && !rest.is_empty() {
            return Ok(false);
        }
        let rest = rest.trim_ascii_start();
        Ok(rest.starts_with(b"From ") || (rest.is_empty() && count < PEEK_BYTES))
    }

    /// Reads a body of known length. A `From ` at the start of a line shows that nothing in it is
    /// quoted.
    fn body(&mut self, state: &mut State, length: u64) -> io::Result<()> {
        let end = self.offset + length;
        let start = state.letter.bytes.len();
        let mut piece = Vec::new();
        while self.offset < end {
            piece.clear();
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                break;
            }
            let used = buffer.len().min((end - self.offset) as usize);
            piece.extend_from_slice(&buffer[..used]);
            self.reader.consume(used);
            self.offset += used as u64;
            self.append(state, &piece);
        }
        if !state.too_long {
            let body = state.letter.bytes.split_off(start);
            state.letter.bytes.extend_from_slice(&unquoted(&body));
        }
        Ok(())
    }

    fn ended(&self, state: State) -> Letter {
        let mut letter = state.letter;
        if state.too_long {
            let max = self.bytes_max;
            letter.left_out = Some(format!("the message is larger than {max} bytes"));
        }
        // The blank line before a separating line belongs to the file.
        if state.after_blank && !state.in_header && !state.is_whole {
            let bytes = &mut letter.bytes;
            let shorter = bytes.strip_suffix(b"\r\n").or_else(|| bytes.strip_suffix(b"\n"));
            let length = shorter.filter(|rest| rest.ends_with(b"\n")).map(<[u8]>::len);
            bytes.truncate(length.unwrap_or(bytes.len()));
        }
        letter
    }
}

/// Whether a line separates messages: `From `, and behind it what looks like a date. Behind a
/// blank line less is asked for than within a text.
fn is_separator(line: &[u8], after_blank: bool) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    let rest = rest[..rest.len().min(SEPARATOR_BYTES_MAX)].trim_ascii_end();
    let digits = |bytes: &[u8]| bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let has_time = rest.windows(5).any(|time| time[2] == b':' && digits(time) == 4);
    let has_year = rest.windows(4).any(|w| w.iter().all(u8::is_ascii_digit));
    let has_weekday = weekday(rest).is_some();
    has_time && has_year && (after_blank || has_weekday)
}

fn is_blank(line: &[u8]) -> bool {
    matches!(line, b"\n" | b"\r\n")
}

/// Where the weekday of a date begins.
fn weekday(line: &[u8]) -> Option<usize> {
    const DAYS: [&[u8; 4]; 7] = [b"Mon ", b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat ", b"Sun "];
    (1..line.len()).find(|at| {
        let rest = &line[*at..];
        line[at - 1] == b' ' && DAYS.iter().any(|day| rest.starts_with(*day))
    })
}

/// When the message was delivered, by its separating line.
pub(super) fn date_of(separator: &[u8]) -> Option<TimeDate> {
    let rest = separator.strip_prefix(b"From ")?;
    let at = match weekday(rest) {
        Some(at) => at,
        None => memchr(b' ', rest)?,
    };
    message::parse_date(&rest[at..]).map(TimeDate::from_unix_seconds)
}

/// `>From `, with any number of `>`: one of them was added when the file was written.
fn is_quoted(line: &[u8]) -> bool {
    let rest = line.iter().position(|byte| *byte != b'>').unwrap_or(line.len());
    rest > 0 && line[rest..].starts_with(b"From ")
}

fn content_length(line: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"content-length:";
    let value = line.get(NAME.len()..)?;
    if !line[..NAME.len()].eq_ignore_ascii_case(NAME) {
        return None;
    }
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

/// A body with quoting taken back, unless a line shows that there is none.
fn unquoted(body: &[u8]) -> Vec<u8> {
    let lines = || body.split_inclusive(|byte| *byte == b'\n');
    if lines().any(|line| line.starts_with(b"From ")) {
        return body.to_vec();
    }
    let mut out = Vec::with_capacity(body.len());
    for line in lines() {
        out.extend_from_slice(if is_quoted(line) { &line[1..] } else { line });
    }
    out
}
