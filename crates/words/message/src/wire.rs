//! Bytes on the wire, rebuilt by a recipe from a part of the stored content.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use note::Recipe;

/// Stored bytes that are encoded at a time; a multiple of three.
const CHUNK_BYTES: usize = 12_288;

/// The stored bytes that are needed to write `wire`, a range on the wire. The end may lie behind
/// the stored content: cut it there.
pub fn stored_range(recipe: Recipe, wire: Range<u64>) -> Range<u64> {
    let Some(lines) = Lines::of(recipe) else { return wire };
    if wire.start >= wire.end {
        return 0..0;
    }
    // A line end at the very end has no content of its own: take the characters before it along.
    let first = wire.start.saturating_sub(lines.eol.len() as u64);
    let start = lines.chars_before(first) / 4 * 3;
    start..lines.chars_before(wire.end).div_ceil(4).saturating_mul(3)
}

/// Appends the bytes that stand at `wire` on the wire. `content` is what [`stored_range`] names for
/// the same range, cut at the end of the stored content; `wire` must not reach beyond
/// [`Recipe::wire_len`].
pub fn write_wire(content: &[u8], recipe: Recipe, wire: Range<u64>, out: &mut Vec<u8>) {
    let Some(lines) = Lines::of(recipe) else {
        let length = wire.end.saturating_sub(wire.start).min(content.len() as u64);
        out.extend_from_slice(&content[..length as usize]);
        return;
    };
    let mut char_at = stored_range(recipe, wire.clone()).start / 3 * 4;
    let mut at = wire.start;
    let mut chars = [0u8; CHUNK_BYTES / 3 * 4];
    for chunk in content.chunks(CHUNK_BYTES) {
        let Ok(count) = STANDARD.encode_slice(chunk, &mut chars) else { return };
        at = lines.lay_out(&chars[..count], char_at, at..wire.end, out);
        char_at += count as u64;
    }
    // Only the line end behind the last of these characters can be left.
    let eol_from = at.saturating_sub(lines.wire_end(char_at)) as usize;
    let left = wire.end.saturating_sub(at) as usize;
    out.extend(lines.eol.iter().skip(eol_from).take(left));
}

/// Base64 lines. `width` is never zero: a single line is one of endless width.
struct Lines {
    width: u64,
    eol: &'static [u8],
}

impl Lines {
    fn of(recipe: Recipe) -> Option<Self> {
        let Recipe::Base64 { line_chars, eol, .. } = recipe else { return None };
        let width = if line_chars == 0 { u64::MAX / 2 } else { u64::from(line_chars) };
        Some(Self { width, eol: eol.bytes() })
    }

    fn stride(&self) -> u64 {
        self.width + self.eol.len() as u64
    }

    /// Characters that stand before a position on the wire.
    fn chars_before(&self, at: u64) -> u64 {
        at / self.stride() * self.width + (at % self.stride()).min(self.width)
    }

    /// Position behind the last of `chars` characters.
    fn wire_end(&self, chars: u64) -> u64 {
        match chars.checked_sub(1) {
            Some(last) => last / self.width * self.stride() + last % self.width + 1,
            None => 0,
        }
    }

    /// Writes what of `wire` these characters (the first has number `char_at`) and the line ends
    /// before and between them cover; gives the position reached.
    fn lay_out(&self, chars: &[u8], char_at: u64, wire: Range<u64>, out: &mut Vec<u8>) -> u64 {
        let mut at = wire.start;
        let end = wire.end.min(self.wire_end(char_at + chars.len() as u64));
        while at < end {
            let column = at % self.stride();
            if column >= self.width {
                out.push(self.eol[(column - self.width) as usize]);
                at += 1;
                continue;
            }
            let from = (self.chars_before(at) - char_at) as usize;
            let Some(rest) = chars.get(from..).filter(|rest| !rest.is_empty()) else { break };
            let run = (self.width - column).min(end - at).min(rest.len() as u64);
            out.extend_from_slice(&rest[..run as usize]);
            at += run;
        }
        at
    }
}

#[cfg(test)]
mod tests;
