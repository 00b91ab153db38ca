//! Structured MIME fields: `Content-Type`, `Content-Disposition` and their parameters
//! (RFC 2045 §5, RFC 2183, RFC 2231), read tolerantly.

use crate::charset::{decode_charset, decode_unlabelled};
use crate::cursor::{Cursor, is_token};
use crate::transfer::hex_pair;

/// Decoded parameters: name (a token) in lower case, value.
pub(crate) type Params = Vec<(String, String)>;

/// How many parameters may still be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParamBudget {
    pub(crate) per_field: usize,
    pub(crate) left: usize,
    pub(crate) exceeded: bool,
}

/// A `Content-Type` that could be read.
pub(crate) struct ContentType {
    pub(crate) media_type: String,
    pub(crate) subtype: String,
    pub(crate) params: Params,
}

/// Reads a `Content-Type`; `None` when it has not both type and subtype, then it counts as absent
/// (RFC 2045 §5.2).
pub(crate) fn content_type(raw: &[u8], budget: &mut ParamBudget) -> Option<ContentType> {
    let mut cursor = Cursor::new(raw);
    cursor.skip_cfws();
    let media_type = lower_token(cursor.take_while(is_token))?;
    cursor.skip_cfws();
    if !cursor.eat(b'/') {
        return None;
    }
    cursor.skip_cfws();
    let subtype = lower_token(cursor.take_while(is_token))?;
    if !matches!(cursor.peek(), None | Some(b';' | b' ' | b'\t' | b'\r' | b'\n' | b'(')) {
        cursor.take_while(|b| b != b';');
    }
    let params = params(&mut cursor, budget);
    Some(ContentType { media_type, subtype, params })
}

/// Reads a `Content-Disposition`; `None` when it is no token with parameters.
pub(crate) fn disposition(raw: &[u8], budget: &mut ParamBudget) -> Option<(String, Params)> {
    let mut cursor = Cursor::new(raw);
    cursor.skip_cfws();
    let token = lower_token(cursor.take_while(is_token));
    cursor.skip_cfws();
    match (cursor.peek(), &token) {
        (None | Some(b';'), Some(_)) => {}
        (Some(b';'), None) => {}
        (Some(b), Some(_)) if is_token(b) => {}
        _ => return None,
    }
    let params = params(&mut cursor, budget);
    match token {
        Some(token) => Some((token, params)),
        None if params.is_empty() => None,
        None => Some(("attachment".to_owned(), params)),
    }
}

fn lower_token(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.is_empty()).then(|| text.to_ascii_lowercase())
}

/// One parameter as it stands: `name*section*=value`.
struct Raw {
    name: String,
    section: Option<u32>,
    extended: bool,
    value: Vec<u8>,
}

fn params(cursor: &mut Cursor<'_>, budget: &mut ParamBudget) -> Params {
    let mut raws = Vec::new();
    while let Some(raw) = next_param(cursor) {
        if raws.len() >= budget.per_field || budget.left == 0 {
            budget.exceeded = true;
            break;
        }
        budget.left -= 1;
        raws.push(raw);
    }
    assemble(raws)
}

/// The next `name=value`; what is none is passed over.
fn next_param(cursor: &mut Cursor<'_>) -> Option<Raw> {
    loop {
        cursor.skip_cfws();
        while cursor.eat(b';') {
            cursor.skip_cfws();
        }
        cursor.peek()?;
        let name = cursor
            .take_while(|b| !matches!(b, b'=' | b';' | b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'('));
        if name.is_empty() {
            cursor.skip_one();
            continue;
        }
        cursor.skip_cfws();
        if !cursor.eat(b'=') {
            continue;
        }
        cursor.skip_cfws();
        let value = match cursor.quoted_string() {
            Some(value) => value,
            None => loose_value(cursor),
        };
        // A name that is no token could not be told to anybody.
        if name.iter().copied().all(is_token) {
            return Some(raw_param(name, value));
        }
    }
}

/// A value without quotes, up to the next semicolon; further words belong to it (many senders
/// forget the quotes of file names) unless they begin a parameter (or its semicolon).
fn loose_value(cursor: &mut Cursor<'_>) -> Vec<u8> {
    let part_of_word = |b| !matches!(b, b';' | b' ' | b'\t' | b'\r' | b'\n');
    let mut value = cursor.take_while(part_of_word).to_vec();
    loop {
        let mark = cursor.at();
        cursor.skip_space();
        if matches!(cursor.peek(), None | Some(b';' | b'(')) {
            return value;
        }
        let word = cursor.take_while(|b| part_of_word(b) && b != b'=');
        if cursor.peek() == Some(b'=') {
            cursor.back_to(mark);
            return value;
        }
        value.push(b' ');
        value.extend_from_slice(word);
    }
}

fn raw_param(name: &[u8], value: Vec<u8>) -> Raw {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let plain = |name| Raw { name, section: None, extended: false, value: Vec::new() };
    let mut raw = match name.split_once('*') {
        None => plain(name),
        Some((base, "")) => Raw { extended: true, ..plain(base.to_owned()) },
        Some((base, rest)) => {
            let number = rest.strip_suffix('*');
            let extended = number.is_some();
            match number.unwrap_or(rest).parse::<u32>() {
                Ok(n) => Raw { section: Some(n), extended, ..plain(base.to_owned()) },
                Err(_) => plain(name),
            }
        }
    };
    raw.value = value;
    raw
}

/// Puts the pieces of each parameter together, in the order in which the names first occur.
fn assemble(raws: Vec<Raw>) -> Params {
    if raws.len() == 1 && raws[0].section.is_none() {
        return raws.into_iter().map(|raw| (decode_value(&[&raw]), raw.name)).map(swap).collect();
    }
    let mut order: Vec<(usize, &Raw)> = raws.iter().enumerate().collect();
    order.sort_by(|a, b| a.1.name.cmp(&b.1.name));
    let mut groups: Vec<(usize, (String, String))> = order
        .chunk_by(|a, b| a.1.name == b.1.name)
        .map(|group| (group[0].0, (group[0].1.name.clone(), value_of_group(group))))
        .collect();
    groups.sort_by_key(|group| group.0);
    groups.into_iter().map(|group| group.1).collect()
}

fn swap((value, name): (String, String)) -> (String, String) {
    (name, value)
}

/// One value out of all that was given for a name: the encoded form, the numbered pieces as far
/// as they follow each other, or the plain form.
fn value_of_group(group: &[(usize, &Raw)]) -> String {
    if let Some((_, raw)) = group.iter().find(|(_, raw)| raw.extended && raw.section.is_none()) {
        return decode_value(&[raw]);
    }
    let mut pieces: Vec<&Raw> =
        group.iter().map(|(_, raw)| *raw).filter(|raw| raw.section.is_some()).collect();
    if pieces.is_empty() {
        return decode_value(&[group[0].1]);
    }
    pieces.sort_by_key(|raw| raw.section);
    pieces.dedup_by_key(|raw| raw.section);
    let first = pieces[0].section.unwrap_or(0);
    let whole = pieces.iter().zip(first..).take_while(|(raw, n)| raw.section == Some(*n)).count();
    decode_value(&pieces[..whole])
}

/// Joins pieces as octets, then applies the charset that the first one tells (RFC 2231 §4.1).
fn decode_value(pieces: &[&Raw]) -> String {
    let mut charset = None;
    let mut octets = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        let mut value = piece.value.as_slice();
        if !piece.extended {
            octets.extend_from_slice(value);
            continue;
        }
        if i == 0 {
            (charset, value) = split_charset(value);
        }
        percent_decode(value, &mut octets);
    }
    match charset {
        Some(charset) => decode_charset(&octets, &charset),
        None => decode_unlabelled(&octets),
    }
}

/// `charset'language'value`.
fn split_charset(value: &[u8]) -> (Option<String>, &[u8]) {
    let mut fields = value.splitn(3, |&b| b == b'\'');
    match (fields.next(), fields.next(), fields.next()) {
        (Some(charset), Some(_), Some(rest)) => {
            (Some(String::from_utf8_lossy(charset).into_owned()), rest)
        }
        _ => (None, value),
    }
}

fn percent_decode(value: &[u8], out: &mut Vec<u8>) {
    let mut rest = value;
    while let Some((&byte, after)) = rest.split_first() {
        match after.get(..2).and_then(hex_pair) {
            Some(decoded) if byte == b'%' => {
                out.push(decoded);
                rest = &after[2..];
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
}

#[cfg(test)]
mod tests;
