//! Which bytes of a message a section means.

use std::ops::Range;

use message::{Kind, Parsed, Part};

use super::items::{Section, What};

/// Where the bytes of a section are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A range of the message.
    Range(Range<u64>),
    /// Some fields out of the header in this range.
    Fields(Range<u64>),
    /// There is no such part.
    Nowhere,
}

/// Where a section of a part, or of the header or text of the message, lies.
pub(super) fn locate(section: &Section, parsed: &Parsed) -> Place {
    find(section, parsed).unwrap_or(Place::Nowhere)
}

fn find(section: &Section, parsed: &Parsed) -> Option<Place> {
    let at = parsed.section(&section.path)?;
    let part = parsed.parts.get(at as usize)?;
    let of_message = || match section.path.is_empty() {
        true => Some(part),
        false => enclosed(parsed, part),
    };
    Some(match section.what {
        What::Whole if section.path.is_empty() => {
            Place::Range(part.header.start..part.body.end.max(part.header.end))
        }
        What::Whole => Place::Range(part.body.clone()),
        What::Mime => Place::Range(part.header.clone()),
        What::Header => Place::Range(of_message()?.header.clone()),
        What::Text => Place::Range(of_message()?.body.clone()),
        What::Fields { .. } => Place::Fields(of_message()?.header.clone()),
    })
}

/// The message that a part encloses.
fn enclosed<'a>(parsed: &'a Parsed, part: &Part) -> Option<&'a Part> {
    let child = *part.children.first().filter(|_| part.kind == Kind::Message)?;
    parsed.parts.get(child as usize)
}

/// The fields of a header that are asked for, with the empty line behind them.
pub(super) fn pick_fields(header: &[u8], names: &[Vec<u8>], not: bool) -> Vec<u8> {
    let mut picked = Vec::new();
    for (name, _, whole) in message::headers(header) {
        let named = names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name));
        if named != not {
            picked.extend_from_slice(&header[whole]);
        }
    }
    picked.extend_from_slice(b"\r\n");
    picked
}

/// The part of `whole` that a partial read asks for.
pub(super) fn clamp(whole: Range<u64>, partial: Option<(u64, u64)>) -> Range<u64> {
    let Some((origin, length)) = partial else { return whole };
    let start = whole.start.saturating_add(origin).min(whole.end);
    start..start.saturating_add(length).min(whole.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_reads_stay_within() {
        let cases = [
            (None, 10..610),
            (Some((0, 393_216)), 10..610),
            (Some((5, 10)), 15..25),
            (Some((599, 5)), 609..610),
            (Some((600, 10)), 610..610),
            (Some((393_216, 393_216)), 610..610),
            (Some((u64::MAX, u64::MAX)), 610..610),
        ];
        for (partial, wanted) in cases {
            assert_eq!(clamp(10..610, partial), wanted, "{partial:?}");
        }
    }

    #[test]
    fn fields_are_picked_with_their_folding() {
        let header = b"From: a\r\nTo: b,\r\n c\r\nSubject: d\r\n\r\n";
        let names = [b"TO".to_vec(), b"X".to_vec()];
        assert_eq!(pick_fields(header, &names, false), b"To: b,\r\n c\r\n\r\n");
        assert_eq!(pick_fields(header, &names, true), b"From: a\r\nSubject: d\r\n\r\n");
    }
}
