//! The `Content-*` fields of one entity (RFC 2045, RFC 2183, RFC 3282).

use crate::cursor::{Cursor, is_token};
use crate::params::{ContentType, content_type, disposition};
use crate::scan::Budget;
use crate::{Defects, Kind, Part};

/// Where the entity stands.
pub(crate) struct Content {
    /// In a `multipart/digest`: the default type is `message/rfc822` (RFC 2046 §5.1.5).
    pub(crate) digest: bool,
    /// Parts inside of it may be told.
    pub(crate) room: bool,
}

/// Fills media type, kind and the rest of the part from its header. Of a field that occurs twice
/// the first counts.
pub(crate) fn read_content(header: &[u8], place: &Content, budget: &mut Budget, part: &mut Part) {
    let mut media = None;
    for (name, value, _) in crate::headers(header) {
        let is_content = name.get(..8).is_some_and(|n| n.eq_ignore_ascii_case(b"content-"));
        if !is_content {
            continue;
        }
        if name[8..].eq_ignore_ascii_case(b"type") {
            media.get_or_insert_with(|| content_type(value, &mut budget.params));
        } else {
            read_field(&name[8..], value, budget, part);
        }
    }
    if part.encoding.is_empty() {
        "7BIT".clone_into(&mut part.encoding);
    }
    if matches!(media, Some(None)) {
        budget.defects.add(Defects::CONTENT_TYPE);
    }
    set_type(media.flatten(), place, part);
    settle_kind(place, budget, part);
}

fn read_field(name: &[u8], value: &[u8], budget: &mut Budget, part: &mut Part) {
    let raw = || crate::unfold(value).into_owned();
    if name.eq_ignore_ascii_case(b"transfer-encoding") {
        if part.encoding.is_empty() {
            part.encoding = encoding(value);
        }
    } else if name.eq_ignore_ascii_case(b"disposition") {
        if part.disposition.is_none() {
            part.disposition = disposition(value, &mut budget.params);
        }
    } else if name.eq_ignore_ascii_case(b"id") {
        part.content_id.get_or_insert_with(raw);
    } else if name.eq_ignore_ascii_case(b"description") {
        part.description.get_or_insert_with(raw);
    } else if name.eq_ignore_ascii_case(b"md5") {
        part.md5.get_or_insert_with(raw);
    } else if name.eq_ignore_ascii_case(b"language") {
        if part.languages.is_empty() {
            part.languages = languages(value, budget.limits.parameters);
        }
    } else if name.eq_ignore_ascii_case(b"location") && part.location.is_none() {
        part.location = Some(location(value));
    }
}

fn encoding(value: &[u8]) -> String {
    let mut cursor = Cursor::new(value);
    cursor.skip_cfws();
    let token = cursor.take_while(is_token);
    String::from_utf8_lossy(token).to_ascii_uppercase()
}

fn languages(value: &[u8], tags_max: usize) -> Vec<String> {
    let mut cursor = Cursor::new(value);
    let mut tags = Vec::new();
    while cursor.peek().is_some() && tags.len() < tags_max {
        cursor.skip_cfws();
        let tag = cursor.take_while(is_token);
        if tag.is_empty() {
            cursor.skip_one();
        } else {
            tags.push(String::from_utf8_lossy(tag).into_owned());
        }
    }
    tags
}

/// A URI, in which folding may have put white space (RFC 2557 §4.4.2).
fn location(value: &[u8]) -> String {
    let dense: Vec<u8> = value.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    crate::charset::decode_unlabelled(&dense)
}

fn set_type(media: Option<ContentType>, place: &Content, part: &mut Part) {
    match media {
        Some(media) => {
            part.media_type = media.media_type;
            part.subtype = media.subtype;
            part.params = media.params;
        }
        None if place.digest => {
            "message".clone_into(&mut part.media_type);
            "rfc822".clone_into(&mut part.subtype);
        }
        None => set_default_type(part),
    }
}

/// `text/plain; charset=us-ascii` (RFC 2045 §5.2).
pub(crate) fn set_default_type(part: &mut Part) {
    "text".clone_into(&mut part.media_type);
    "plain".clone_into(&mut part.subtype);
    part.params = vec![("charset".to_owned(), "us-ascii".to_owned())];
    if part.encoding.is_empty() {
        "7BIT".clone_into(&mut part.encoding);
    }
}

/// Decides whether the entity is opened. A composite that is not is told as unknown bytes, so that
/// type and shape never contradict each other.
fn settle_kind(place: &Content, budget: &mut Budget, part: &mut Part) {
    let multipart = part.media_type == "multipart";
    let message = part.is("message", "rfc822") || part.is("message", "global");
    if !multipart && !message {
        return;
    }
    let encoded = !matches!(part.encoding.as_str(), "7BIT" | "8BIT" | "BINARY");
    if encoded {
        budget.defects.add(Defects::ENCODED_COMPOSITE);
    }
    if !place.room {
        budget.defects.add(Defects::LIMIT);
    }
    let transforms = matches!(part.encoding.as_str(), "BASE64" | "QUOTED-PRINTABLE");
    if !place.room || (message && transforms) {
        "application".clone_into(&mut part.media_type);
        "octet-stream".clone_into(&mut part.subtype);
    } else {
        part.kind = if multipart { Kind::Multipart } else { Kind::Message };
    }
}

#[cfg(test)]
mod tests;
