//! What a FETCH response says of a message (RFC 9051 section 7.5.2).

use super::scan::Scan;
use crate::wire::Error;

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// The items of one response; those that were not in it are `None`.
#[derive(Debug, Default)]
pub(super) struct Items {
    pub uid: Option<u32>,
    pub flags: Option<Vec<String>>,
    pub octets: Option<u64>,
    pub message_id: Option<String>,
    pub internal_date: Option<i64>,
    /// Octets of the sections that are in the response itself; those that streamed by are empty.
    pub section_octets: Option<u64>,
}

impl Items {
    /// Parses the list of items.
    pub(super) fn parse(octets: &[u8]) -> Result<Self, Error> {
        let mut scan = Scan::new(octets);
        let mut items = Self::default();
        scan.skip_spaces();
        scan.expect(b'(')?;
        loop {
            scan.skip_spaces();
            if scan.take(b')') {
                return Ok(items);
            }
            let name = scan.item_name();
            if name.is_empty() {
                return Err(scan.wrong("a message without end"));
            }
            scan.skip_spaces();
            items.item(name, &mut scan)?;
        }
    }

    fn item(&mut self, name: &[u8], scan: &mut Scan<'_>) -> Result<(), Error> {
        let is = |word: &[u8]| name.eq_ignore_ascii_case(word);
        if is(b"UID") {
            self.uid = Some(scan.number32()?);
        } else if is(b"FLAGS") {
            self.flags = Some(scan.words()?);
        } else if is(b"RFC822.SIZE") {
            self.octets = Some(scan.number()?);
        } else if is(b"INTERNALDATE") {
            let text = scan.string()?.unwrap_or_default();
            self.internal_date = Some(parse_date(&text).ok_or_else(|| scan.wrong("no date"))?);
        } else if is(b"ENVELOPE") {
            self.message_id = Some(envelope_id(scan)?);
        } else if name.len() > 4 && name[..5].eq_ignore_ascii_case(b"BODY[") {
            let section = scan.string()?.unwrap_or_default();
            *self.section_octets.get_or_insert(0) += section.len() as u64;
            if name.len() > 12 && name[5..11].eq_ignore_ascii_case(b"HEADER") {
                self.message_id = self.message_id.take().or_else(|| header_id(&section));
            }
        } else {
            scan.skip_value()?;
        }
        Ok(())
    }
}

/// The last of the ten parts of an envelope.
fn envelope_id(scan: &mut Scan<'_>) -> Result<String, Error> {
    scan.expect(b'(')?;
    for _ in 0..9 {
        scan.skip_value()?;
    }
    scan.skip_spaces();
    let id = scan.text()?;
    scan.skip_spaces();
    scan.expect(b')')?;
    Ok(id)
}

/// The Message-ID among some header fields.
fn header_id(fields: &[u8]) -> Option<String> {
    const NAME: &str = "message-id:";
    let text = String::from_utf8_lossy(fields);
    let at = text.get(..NAME.len()).filter(|name| name.eq_ignore_ascii_case(NAME));
    let start = match at {
        Some(_) => NAME.len(),
        None => text.to_ascii_lowercase().find("\nmessage-id:")? + 1 + NAME.len(),
    };
    Some(text.get(start..)?.split_ascii_whitespace().next()?.to_owned())
}

/// `17-Jul-1996 02:44:25 -0700` in seconds since 1970.
pub(super) fn parse_date(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim_start();
    let mut words = text.split(' ');
    let (date, time, zone) = (words.next()?, words.next()?, words.next()?);
    let mut date = date.split('-');
    let day: i64 = date.next()?.parse().ok()?;
    let month = date.next()?;
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month.as_bytes()))?;
    let year: i64 = date.next()?.parse().ok()?;
    let mut time =
        time.split(':').map(|part| part.parse::<i64>().ok().filter(|n| (0..61).contains(n)));
    let (hours, minutes, seconds) = (time.next()??, time.next()??, time.next()??);
    let offset: i64 = zone.parse().ok()?;
    let offset = offset / 100 * 3600 + offset % 100 * 60;
    if !(1..=31).contains(&day) || !(1..=9999).contains(&year) || offset.abs() > 86_400 {
        return None;
    }
    Some(
        day_number(year, month as i64 + 1, day) * 86_400 + hours * 3600 + minutes * 60 + seconds
            - offset,
    )
}

/// Days from 1970 to this day of the Gregorian calendar.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let shifted = (month + 9) % 12;
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + of_year - 719_468
}
