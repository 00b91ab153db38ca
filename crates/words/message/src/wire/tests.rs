use note::Eol;

use super::*;
use crate::corpus::{Dice, base64_lines};

/// Every range of every small content under every recipe.
#[test]
fn every_range_is_rebuilt_from_what_it_needs() {
    for length in 0..14usize {
        let content = Dice::new(length as u64 + 1).bytes(length);
        for line_chars in [0, 1, 3, 4, 5, 8, 16] {
            for eol in [Eol::Crlf, Eol::Lf] {
                for final_eol in [false, true] {
                    let recipe = Recipe::Base64 { line_chars, eol, final_eol };
                    check_ranges(&content, recipe, eol, final_eol, line_chars as usize);
                }
            }
        }
    }
}

fn check_ranges(content: &[u8], recipe: Recipe, eol: Eol, final_eol: bool, width: usize) {
    let eol = std::str::from_utf8(eol.bytes()).unwrap();
    let width = if width == 0 { usize::MAX } else { width };
    let mut wire = base64_lines(content, width, eol);
    if final_eol {
        wire += eol;
    }
    assert_eq!(recipe.wire_len(content.len() as u64), wire.len() as u64, "{recipe:?}");
    for from in 0..=wire.len() {
        for to in from..=wire.len() {
            let needed = stored_range(recipe, from as u64..to as u64);
            let cut = |at: u64| at.min(content.len() as u64) as usize;
            let mut out = Vec::new();
            let stored = &content[cut(needed.start)..cut(needed.end)];
            write_wire(stored, recipe, from as u64..to as u64, &mut out);
            let told = String::from_utf8_lossy(&out);
            assert_eq!(told, wire[from..to], "{recipe:?} {} {from}..{to}", content.len());
        }
    }
}

#[test]
fn a_range_needs_little_more_than_itself() {
    let recipe = Recipe::Base64 { line_chars: 76, eol: Eol::Crlf, final_eol: false };
    let needed = stored_range(recipe, 78_000_000..78_000_100);
    assert!(needed.end - needed.start < 100, "{needed:?}");
    assert_eq!(needed.start / 57, 78_000_000 / 78);
}

#[test]
fn raw_content_is_itself() {
    let mut out = b"<".to_vec();
    assert_eq!(stored_range(Recipe::Raw, 3..7), 3..7);
    write_wire(b"defg", Recipe::Raw, 3..7, &mut out);
    assert_eq!(out, b"<defg");
}
