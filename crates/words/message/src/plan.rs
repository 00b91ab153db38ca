//! The exact split of a message into pieces: what stays in the note and what becomes an object.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use memchr::memchr;
use note::{Eol, Recipe};

use crate::{Kind, Parsed};

/// A longer run of bytes does not stay in the note, whatever it consists of.
pub const INLINE_BYTES_MAX: usize = 65_536;

/// Characters gathered from lines before they are decoded together.
const GATHER_CHARS: usize = 8_192;

/// One piece of a message; ranges are into its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Planned {
    /// Stays in the note.
    Inline(Range<usize>),
    /// Becomes an object of exactly these bytes.
    Raw(Range<usize>),
    /// Becomes an object of the decoded bytes.
    Base64 {
        /// The encoded lines in the message.
        range: Range<usize>,
        /// How to write them again.
        recipe: Recipe,
        /// What they mean.
        decoded: Vec<u8>,
    },
}

impl Planned {
    /// The bytes of the message that the piece stands for.
    pub fn range(&self) -> &Range<usize> {
        match self {
            Self::Inline(range) | Self::Raw(range) | Self::Base64 { range, .. } => range,
        }
    }
}

/// Splits a message; the pieces in order give it back byte for byte. Leaf bodies of at least
/// `object_bytes_min` bytes become objects: decoded, when they are base64 in uniform lines and the
/// decoded bytes are that many too. All else stays inline, up to [`INLINE_BYTES_MAX`] at a stretch.
/// `parsed` must be of this message.
pub fn plan(message: &[u8], parsed: &Parsed, object_bytes_min: u64) -> Vec<Planned> {
    let mut pieces = Vec::new();
    let mut planned_to = 0;
    for part in parsed.parts.iter().filter(|part| part.kind == Kind::Leaf) {
        let range = part.body.start as usize..part.body.end as usize;
        let Some(body) = message.get(range.clone()) else { continue };
        if range.start < planned_to || (body.len() as u64) < object_bytes_min.max(1) {
            continue;
        }
        let base64 = (part.encoding == "BASE64").then(|| uniform_base64(body, range.start));
        let piece = base64
            .flatten()
            .filter(|piece| decoded_len(piece) >= object_bytes_min)
            .unwrap_or(Planned::Raw(range));
        push_between(planned_to..piece.range().start, &mut pieces);
        planned_to = piece.range().end;
        pieces.push(piece);
    }
    push_between(planned_to..message.len(), &mut pieces);
    pieces
}

fn push_between(range: Range<usize>, pieces: &mut Vec<Planned>) {
    match range.len() {
        0 => {}
        1..=INLINE_BYTES_MAX => pieces.push(Planned::Inline(range)),
        _ => pieces.push(Planned::Raw(range)),
    }
}

fn decoded_len(piece: &Planned) -> u64 {
    match piece {
        Planned::Base64 { decoded, .. } => decoded.len() as u64,
        _ => 0,
    }
}

/// Lines of equal length, of which only the last may be shorter, and nothing else in between.
struct Uniform<'a> {
    lines: &'a [u8],
    line_chars: usize,
    eol: Eol,
}

/// Decodes a body whose base64 a recipe can write again; blank lines around it are left out of the
/// range. `offset` is where the body begins in the message.
fn uniform_base64(body: &[u8], offset: usize) -> Option<Planned> {
    let start = body.iter().position(|b| !b.is_ascii_whitespace())?;
    let lines = body[start..].trim_ascii_end();
    let uniform = Uniform::of(lines)?;
    let decoded = uniform.decode()?;
    let line_chars = u32::try_from(uniform.line_chars).ok()?;
    let recipe = Recipe::Base64 { line_chars, eol: uniform.eol, final_eol: false };
    let range = offset + start..offset + start + lines.len();
    let exact = recipe.wire_len(decoded.len() as u64) == lines.len() as u64;
    exact.then_some(Planned::Base64 { range, recipe, decoded })
}

impl<'a> Uniform<'a> {
    fn of(lines: &'a [u8]) -> Option<Self> {
        let Some(line_feed) = memchr(b'\n', lines) else {
            return Some(Self { lines, line_chars: 0, eol: Eol::Crlf });
        };
        let first = &lines[..line_feed];
        let (line_chars, eol) = match first.strip_suffix(b"\r") {
            Some(first) => (first.len(), Eol::Crlf),
            None => (first.len(), Eol::Lf),
        };
        (line_chars > 0).then_some(Self { lines, line_chars, eol })
    }

    /// The decoded bytes; `None` when the lines are not uniform, or not what an encoder writes.
    fn decode(&self) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(self.lines.len() / 4 * 3 + 3);
        if self.line_chars == 0 {
            STANDARD.decode_vec(self.lines, &mut out).ok()?;
            return Some(out);
        }
        let eol = self.eol.bytes();
        let stride = self.line_chars + eol.len();
        let whole = self.lines.len() / stride * stride;
        let (full, last) = self.lines.split_at(whole);
        let mut gathered = Vec::with_capacity(GATHER_CHARS + self.line_chars.min(GATHER_CHARS));
        for line in full.chunks_exact(stride) {
            let (chars, end) = line.split_at(self.line_chars);
            if end != eol {
                return None;
            }
            gathered.extend_from_slice(chars);
            if gathered.len() >= GATHER_CHARS {
                decode_whole_groups(&mut gathered, &mut out)?;
            }
        }
        // The trimmed lines do not end in a line end, so a last line there is.
        gathered.extend_from_slice(last);
        STANDARD.decode_vec(&gathered, &mut out).ok()?;
        Some(out)
    }
}

/// Decodes all whole groups of four and keeps the rest.
fn decode_whole_groups(gathered: &mut Vec<u8>, out: &mut Vec<u8>) -> Option<()> {
    let whole = gathered.len() / 4 * 4;
    STANDARD_NO_PAD.decode_vec(&gathered[..whole], out).ok()?;
    gathered.drain(..whole);
    Some(())
}

#[cfg(test)]
mod tests;
