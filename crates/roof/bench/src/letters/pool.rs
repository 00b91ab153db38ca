//! What all letters share: a long text and long streams of encoded attachments, of which each
//! letter takes slices. Nothing of them is ever copied.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::words::{COLUMNS_MAX, write_text};
use super::{Dice, PoolOptions, Profile};

/// Octets of the text from which bodies are cut, beyond the longest body.
const TEXT_OCTETS: usize = 2 << 20;
/// Octets of a line of an attachment before encoding; 76 columns of base64.
pub(super) const LINE_OCTETS: usize = 57;
/// The same encoded, with its end.
const LINE_ENCODED: usize = COLUMNS_MAX + 2;
/// Lines of the attachments' streams, beyond the longest attachment.
const SPARE_LINES: u64 = 8192;

const FILLER: &[u8] =
    b"with kind regards and many thanks for your answer until the end of next week\r\n";
const _: () = assert!(FILLER.len() == LINE_ENCODED);

/// What is in an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stuff {
    /// As pictures and archives: it does not compress (beyond its encoding).
    Dense,
    /// As tables and plain documents: it compresses.
    Loose,
}

/// An attachment: which one, and whether others have the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attachment {
    /// By this it is told from all others of its size.
    pub mark: u64,
    /// What is in it.
    pub stuff: Stuff,
    /// Its first line of the stream.
    line: u64,
}

/// The shared bytes.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) text: Bytes,
    /// Where each line of the text begins.
    lines: Vec<u32>,
    body_octets_max: usize,
    filler: Bytes,
    dense: Bytes,
    loose: Bytes,
    options: PoolOptions,
}

impl Pool {
    pub(super) fn new(seed: u64, profile: &Profile, options: PoolOptions) -> Self {
        let mut dice = Dice::of(seed, u32::MAX);
        let longest = profile.classes.iter().map(|class| class.body_octets).max();
        let body_octets_max = longest.unwrap_or(0) as usize + 4096;
        let text = write_text(&mut dice, TEXT_OCTETS + body_octets_max);
        let biggest = profile.classes.iter().map(|class| class.attachment_octets).max();
        let biggest = biggest.unwrap_or(0) as usize;
        let octets = match biggest {
            0 => 0,
            _ => biggest.next_multiple_of(LINE_OCTETS) + SPARE_LINES as usize * LINE_OCTETS,
        };
        let dense: Vec<u8> =
            (0..octets.div_ceil(8)).flat_map(|_| dice.word().to_le_bytes()).collect();
        let loose = write_text(&mut dice, octets);
        Self {
            lines: line_starts(&text),
            text: text.into(),
            body_octets_max,
            filler: Bytes::from_static(FILLER),
            dense: encode_lines(&dense[..octets]),
            loose: encode_lines(&loose[..octets]),
            options,
        }
    }

    /// A text of exactly `octets` in whole lines (`None` for the odd octet that makes no line),
    /// added to `pieces`. Beyond the longest body of the profile it is cut to that.
    pub(super) fn cut_text(&self, dice: &mut Dice, octets: usize, pieces: &mut Vec<Bytes>) {
        let octets = octets.min(self.body_octets_max);
        let last = self.text.len().saturating_sub(octets + 1);
        let starts = self.lines.partition_point(|start| *start as usize <= last);
        let first = self.lines[dice.below(starts as u64) as usize] as usize;
        let end = self.lines.partition_point(|start| *start as usize <= first + octets);
        let end = self.lines[end - 1] as usize;
        pieces.push(self.text.slice(first..end));
        let left = (first + octets) - end;
        if left > 0 {
            let left = left.clamp(2, FILLER.len());
            pieces.push(self.filler.slice(FILLER.len() - left..));
        }
    }

    /// The next attachment: one of the pool's, or one that nobody has had.
    pub(super) fn draw(&self, dice: &mut Dice, letter: u64) -> Attachment {
        let repeated = self.options.attachments > 0 && dice.chance(self.options.repeat_share);
        let mark = match repeated {
            true => dice.below(u64::from(self.options.attachments)),
            false => letter | 1 << 63,
        };
        let mut own = Dice::of(mark, 0);
        let stuff = match own.below(2) {
            0 => Stuff::Dense,
            _ => Stuff::Loose,
        };
        Attachment { mark, stuff, line: own.below(SPARE_LINES) }
    }

    /// All lines but the first of an attachment of `octets` (the first is its mark), encoded.
    pub(super) fn cut_attachment(
        &self,
        attachment: &Attachment,
        octets: u64,
        out: &mut Vec<Bytes>,
    ) {
        let rest = (octets as usize).saturating_sub(LINE_OCTETS);
        let stream = match attachment.stuff {
            Stuff::Dense => &self.dense,
            Stuff::Loose => &self.loose,
        };
        let first = attachment.line as usize * LINE_ENCODED;
        let end = first + rest / LINE_OCTETS * LINE_ENCODED;
        out.push(stream.slice(first..end));
        let left = rest % LINE_OCTETS;
        if left > 0 {
            out.push(encode_lines(&FILLER[..left]));
        }
    }
}

/// Base64 in lines of 76 columns (RFC 2045 section 6.8).
pub(super) fn encode_lines(octets: &[u8]) -> Bytes {
    let mut out = String::with_capacity(octets.len().div_ceil(LINE_OCTETS) * LINE_ENCODED);
    for line in octets.chunks(LINE_OCTETS) {
        STANDARD.encode_string(line, &mut out);
        out.push_str("\r\n");
    }
    out.into()
}

fn line_starts(text: &[u8]) -> Vec<u32> {
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(ends.map(|(at, _)| at as u32 + 1)).collect()
}
