//! The binary form of a note (`docs/formats/note.md`), writing side.

use crate::bytes::{put_bytes, put_varint};
use crate::{Eol, Item, ItemValue, Note, Piece, Recipe};

/// First byte of the binary form.
pub(crate) const FORMAT: u8 = 1;

/// Type bytes of item values.
pub(crate) mod kind {
    pub const TEXT: u8 = 1;
    pub const TEXT_LIST: u8 = 2;
    pub const NUMBER: u8 = 3;
    pub const NUMBER_LIST: u8 = 4;
    pub const TIME: u8 = 5;
    pub const TIME_LIST: u8 = 6;
    pub const BINARY: u8 = 7;
    pub const PIECES: u8 = 8;
}

/// Tag bytes of pieces.
pub(crate) mod piece {
    pub const INLINE: u8 = 0;
    pub const RAW: u8 = 1;
    pub const BASE64: u8 = 2;
    pub const FLAG_LF: u8 = 1;
    pub const FLAG_FINAL_EOL: u8 = 2;
}

impl Note {
    /// The binary form of the note.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.items.iter().map(estimate).sum::<usize>());
        out.push(FORMAT);
        out.extend_from_slice(&self.class.0.to_le_bytes());
        out.extend_from_slice(&self.oid.unid.0);
        out.extend_from_slice(&self.oid.sequence.to_le_bytes());
        out.extend_from_slice(&self.oid.sequence_time.0.to_le_bytes());
        match &self.parent {
            None => out.push(0),
            Some(parent) => {
                out.push(1);
                out.extend_from_slice(&parent.0);
            }
        }
        put_varint(&mut out, self.items.len() as u64);
        let mut value = Vec::new();
        for item in &self.items {
            put_item(&mut out, item, &mut value);
        }
        out
    }
}

fn estimate(item: &Item) -> usize {
    let value = match &item.value {
        ItemValue::Text(text) => text.len(),
        ItemValue::TextList(texts) => texts.iter().map(|text| text.len() + 2).sum(),
        ItemValue::Binary(bytes) => bytes.len(),
        ItemValue::NumberList(numbers) => numbers.len() * 8,
        ItemValue::TimeList(times) => times.len() * 8,
        ItemValue::Number(_) | ItemValue::Time(_) => 8,
        ItemValue::Pieces(pieces) => pieces.iter().map(piece_estimate).sum(),
    };
    item.name.len() + value + 16
}

fn piece_estimate(piece: &Piece) -> usize {
    match piece {
        Piece::Inline(bytes) => bytes.len() + 6,
        Piece::Object { .. } => 48,
    }
}

fn put_item(out: &mut Vec<u8>, item: &Item, scratch: &mut Vec<u8>) {
    put_bytes(out, item.name.as_bytes());
    out.extend_from_slice(&item.flags.0.to_le_bytes());
    put_varint(out, u64::from(item.sequence));
    scratch.clear();
    match &item.value {
        ItemValue::Text(text) => put_value(out, kind::TEXT, text.as_bytes()),
        ItemValue::Binary(bytes) => put_value(out, kind::BINARY, bytes),
        ItemValue::Number(number) => put_value(out, kind::NUMBER, &number.to_le_bytes()),
        ItemValue::Time(time) => put_value(out, kind::TIME, &time.0.to_le_bytes()),
        ItemValue::TextList(texts) => {
            put_varint(scratch, texts.len() as u64);
            texts.iter().for_each(|text| put_bytes(scratch, text.as_bytes()));
            put_value(out, kind::TEXT_LIST, scratch);
        }
        ItemValue::NumberList(numbers) => {
            numbers.iter().for_each(|number| scratch.extend_from_slice(&number.to_le_bytes()));
            put_value(out, kind::NUMBER_LIST, scratch);
        }
        ItemValue::TimeList(times) => {
            times.iter().for_each(|time| scratch.extend_from_slice(&time.0.to_le_bytes()));
            put_value(out, kind::TIME_LIST, scratch);
        }
        ItemValue::Pieces(pieces) => {
            put_varint(scratch, pieces.len() as u64);
            pieces.iter().for_each(|piece| put_piece(scratch, piece));
            put_value(out, kind::PIECES, scratch);
        }
    }
}

fn put_value(out: &mut Vec<u8>, kind: u8, value: &[u8]) {
    out.push(kind);
    put_bytes(out, value);
}

fn put_piece(out: &mut Vec<u8>, piece: &Piece) {
    let (ticket, recipe) = match piece {
        Piece::Inline(bytes) => {
            out.push(piece::INLINE);
            return put_bytes(out, bytes);
        }
        Piece::Object { ticket, recipe } => (ticket, recipe),
    };
    out.push(if *recipe == Recipe::Raw { piece::RAW } else { piece::BASE64 });
    out.extend_from_slice(&ticket.hash.0);
    put_varint(out, ticket.length);
    if let Recipe::Base64 { line_chars, eol, final_eol } = *recipe {
        put_varint(out, u64::from(line_chars));
        let lf = if eol == Eol::Lf { piece::FLAG_LF } else { 0 };
        out.push(lf | if final_eol { piece::FLAG_FINAL_EOL } else { 0 });
    }
}
