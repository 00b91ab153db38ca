//! Random commands: parsing ends, and never panics. A failure prints the seed that repeats it.

use super::{Cursor, SearchKey, SequenceSet};
use crate::fetch::Items;
use crate::grammar::{FlagList, parse_date_time};
use crate::names::Pattern;
use crate::search::{Program, Returns};

const ROUNDS: u64 = 4_000;

const PIECES: &[&[u8]] = &[
    b" ",
    b"(",
    b")",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"{3}\r\nabc",
    b"{3+}\r\n",
    b"{99999999}\r\n",
    b"[",
    b"]",
    b"<",
    b">",
    b".",
    b",",
    b":",
    b"*",
    b"%",
    b"&",
    b"&-",
    b"+",
    b"-",
    b"1",
    b"0",
    b"4294967295",
    b"4294967296",
    b"BODY",
    b"BODY.PEEK",
    b"HEADER",
    b"HEADER.FIELDS",
    b"MIME",
    b"RFC822",
    b"FLAGS",
    b"ALL",
    b"NOT",
    b"OR",
    b"UID",
    b"FROM",
    b"HEADER",
    b"BEFORE",
    b"ON",
    b"1-Feb-2026",
    b"\"1-Feb-2026 00:00:00 +0000\"",
    b"Feb",
    b"\\Seen",
    b"NIL",
    b"x",
    b"\0",
    b"\xff",
    b"\r\n",
    b"KEYWORD",
    b"LARGER",
    b"\xc3\xa9",
    b"&AOk-",
    b"$",
    b"MODSEQ",
    b"\"/flags/\\\\Seen\" all 1",
    b"OLDER",
    b"CHARSET",
    b"9223372036854775808",
    b"RETURN (",
    b"SAVE",
    b"MIN",
];

fn next(state: &mut u64) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize
}

fn input(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::new();
    for _ in 0..next(&mut state) % 24 {
        match next(&mut state) % 8 {
            0 => bytes.push((next(&mut state) % 256) as u8),
            _ => bytes.extend_from_slice(PIECES[next(&mut state) % PIECES.len()]),
        }
    }
    bytes
}

/// Runs one parser; what it took must lie within the input.
fn parse<T>(bytes: &[u8], run: impl Fn(&mut Cursor<'_>) -> T) -> T {
    let mut cursor = Cursor::new(bytes);
    let value = run(&mut cursor);
    assert!(cursor.offset() <= bytes.len());
    value
}

#[test]
fn every_parser_ends_on_every_input() {
    for seed in 0..ROUNDS {
        let bytes = input(seed);
        let ran = std::panic::catch_unwind(|| {
            let _ = parse(&bytes, |cursor| cursor.tag().map(str::len));
            let _ = parse(&bytes, |cursor| cursor.astring().map(|text| text.len()));
            let _ = parse(&bytes, |cursor| cursor.nstring().map(|text| text.is_some()));
            let _ = parse(&bytes, |cursor| cursor.mailbox());
            let _ = parse(&bytes, SequenceSet::parse);
            let _ = parse(&bytes, |cursor| SearchKey::parse_all(cursor, "UTF-8").is_ok());
            let _ = parse(&bytes, |cursor| Returns::parse(cursor).is_ok());
            let _ = parse(&bytes, |cursor| Program::parse(cursor).is_ok());
            let _ = parse(&bytes, |cursor| FlagList::parse_bare(cursor).is_ok());
            let _ = parse(&bytes, parse_date_time);
            let items = parse(&bytes, Items::parse);
            assert!(items.is_err() || !items.unwrap().0.is_empty());
            let pattern = parse(&bytes, |cursor| cursor.pattern().map(|text| text.into_owned()));
            if let Ok(pattern) = pattern {
                Pattern::new(b"", &pattern).matches("a/b/caf\u{e9}");
            }
        });
        assert!(ran.is_ok(), "seed {seed}: {:?}", String::from_utf8_lossy(&bytes));
    }
}
