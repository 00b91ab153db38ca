use super::*;
use crate::corpus::{self, Dice};
use crate::{Limits, parse, stored_range, write_wire};

/// The message put together again from what would be stored.
fn rebuild(message: &[u8], pieces: &[Planned]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        match piece {
            Planned::Inline(range) | Planned::Raw(range) => {
                out.extend_from_slice(&message[range.clone()])
            }
            Planned::Base64 { recipe, decoded, .. } => {
                let wire = recipe.wire_len(decoded.len() as u64);
                write_wire(decoded, *recipe, 0..wire, &mut out);
            }
        }
    }
    out
}

#[test]
fn pieces_give_the_message_byte_for_byte() {
    for (name, message) in corpus::all().iter().chain(&corpus::from_the_field()) {
        let parsed = parse(message, &Limits::default());
        for object_bytes_min in [0, 1, 16, 300, 4_096, u64::MAX] {
            let pieces = plan(message, &parsed, object_bytes_min);
            assert!(rebuild(message, &pieces) == *message, "{name}, {object_bytes_min}");
            let mut behind = 0;
            for piece in &pieces {
                assert_eq!(piece.range().start, behind, "{name}");
                assert!(!piece.range().is_empty(), "{name}");
                behind = piece.range().end;
            }
            for pair in pieces.windows(2) {
                let inline = |piece: &Planned| matches!(piece, Planned::Inline(_));
                assert!(!(inline(&pair[0]) && inline(&pair[1])), "{name}: neighbours not joined");
            }
        }
    }
}

#[test]
fn pieces_of_mutated_messages_give_them_byte_for_byte() {
    corpus::each_mutation(2_500, |name, message| {
        let parsed = parse(message, &Limits::default());
        for object_bytes_min in [1, 50] {
            let pieces = plan(message, &parsed, object_bytes_min);
            assert!(rebuild(message, &pieces) == message, "{name}, {object_bytes_min}");
        }
    });
}

fn kinds(body: &str) -> Vec<&'static str> {
    let message = format!("Content-Transfer-Encoding: base64\n\n{body}");
    let parsed = parse(message.as_bytes(), &Limits::default());
    let pieces = plan(message.as_bytes(), &parsed, 256);
    let name = |piece: &Planned| match piece {
        Planned::Inline(_) => "inline",
        Planned::Raw(_) => "raw",
        Planned::Base64 { .. } => "base64",
    };
    pieces.iter().map(name).collect()
}

#[test]
fn only_uniform_base64_is_decoded() {
    let content = Dice::new(9).bytes(1_000);
    let lines = |width, eol: &str| corpus::base64_lines(&content, width, eol);
    let good = lines(76, "\r\n");
    assert_eq!(kinds(&good), ["inline", "base64"]);
    for body in
        [lines(60, "\n"), lines(75, "\n"), lines(1, "\n"), lines(9_999, ""), lines(334, "\n")]
    {
        assert_eq!(kinds(&body), ["inline", "base64"], "{}", &body[..80]);
    }
    assert_eq!(kinds(&format!("{good}\r\n\r\n")), ["inline", "base64", "inline"]);
    for body in [
        good.replacen("\r\n", "\n", 1),
        good.replacen("\r\n", "", 1),
        format!("{good}\r\n{good}"),
        format!("{good}="),
        format!("{good}\r\nfooter"),
        good.replace('=', ""),
        good.replacen("\r\n", " \r\n", 1),
    ] {
        assert_eq!(kinds(&body), ["inline", "raw"], "{body}");
    }
    assert_eq!(kinds(&corpus::base64_lines(&content[..255], 76, "\n")), ["inline", "raw"]);
    assert_eq!(kinds(&corpus::base64_lines(&content[..100], 76, "\n")), ["inline"]);
}

#[test]
fn the_same_content_in_other_lines_is_the_same_object() {
    let content = Dice::new(11).bytes(5_000);
    for (width, eol) in [(76, "\r\n"), (60, "\n"), (72, "\r\n"), (10_000, "\n")] {
        let message = format!(
            "Content-Transfer-Encoding: BASE64\n\n{}",
            corpus::base64_lines(&content, width, eol)
        );
        let pieces =
            plan(message.as_bytes(), &parse(message.as_bytes(), &Limits::default()), 4_096);
        assert!(matches!(&pieces[1], Planned::Base64 { decoded, .. } if *decoded == content));
    }
}

#[test]
fn endless_headers_do_not_stay_in_the_note() {
    let message = format!("X: {}\r\n\r\nbody", "y".repeat(INLINE_BYTES_MAX + 1));
    let pieces = plan(message.as_bytes(), &parse(message.as_bytes(), &Limits::default()), 4_096);
    assert_eq!(pieces, [Planned::Raw(0..message.len())]);
}

#[test]
fn any_range_of_a_planned_attachment_can_be_rebuilt() {
    for (name, message) in corpus::well_formed() {
        let parsed = parse(&message, &Limits::default());
        for piece in plan(&message, &parsed, 1) {
            let Planned::Base64 { range, recipe, decoded } = piece else { continue };
            let mut dice = Dice::new(range.len() as u64);
            for _ in 0..50 {
                let from = dice.below(range.len() + 1) as u64;
                let to = from + dice.below(range.len() + 1 - from as usize) as u64;
                let needed = stored_range(recipe, from..to);
                let cut = |at: u64| at.min(decoded.len() as u64) as usize;
                let mut out = Vec::new();
                let stored = &decoded[cut(needed.start)..cut(needed.end)];
                write_wire(stored, recipe, from..to, &mut out);
                let wire = &message[range.start + from as usize..range.start + to as usize];
                assert!(out == wire, "{name} {from}..{to}");
            }
        }
    }
}
