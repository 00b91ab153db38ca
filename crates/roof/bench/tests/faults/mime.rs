//! What FETCH tells of a message: enough of MIME for messages with one text and attachments.

use super::store::Message;

/// One item of a FETCH, with its name, or nothing for an item that is not known.
pub fn item(message: &Message, name: &str) -> Option<Vec<u8>> {
    let upper = name.to_ascii_uppercase();
    let bytes = &message.bytes[..];
    if let Some(rest) = upper.strip_prefix("BODY.PEEK[").or_else(|| upper.strip_prefix("BODY[")) {
        let section = rest.split(']').next().unwrap_or_default();
        let literal = section_of(bytes, section);
        let mut item = format!("BODY[{section}] {{{}}}\r\n", literal.len()).into_bytes();
        item.extend_from_slice(&literal);
        return Some(item);
    }
    let text = match upper.as_str() {
        "FLAGS" => {
            let flags: Vec<&str> = message.flags.iter().map(String::as_str).collect();
            format!("FLAGS ({})", flags.join(" "))
        }
        "INTERNALDATE" => format!("INTERNALDATE \"{}\"", date(message.taken_s)),
        "RFC822.SIZE" => format!("RFC822.SIZE {}", bytes.len()),
        "ENVELOPE" => {
            let id = field(bytes, "message-id").unwrap_or_default();
            format!("ENVELOPE (NIL NIL NIL NIL NIL NIL NIL NIL NIL \"{id}\")")
        }
        "BODYSTRUCTURE" | "BODY" => format!("{upper} {}", structure(bytes)),
        _ => return None,
    };
    Some(text.into_bytes())
}

fn head(bytes: &[u8]) -> &[u8] {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n");
    &bytes[..end.map_or(bytes.len(), |end| end + 4)]
}

fn field(bytes: &[u8], name: &str) -> Option<String> {
    let head = String::from_utf8_lossy(head(bytes)).replace("\r\n ", " ").replace("\r\n\t", " ");
    head.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        field.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

/// The parts of a multipart message, each with its head.
fn parts(bytes: &[u8]) -> Vec<&[u8]> {
    let kind = field(bytes, "content-type").unwrap_or_default();
    let Some(at) = kind.to_ascii_lowercase().find("boundary=") else { return Vec::new() };
    let boundary = kind[at + 9..].trim_start_matches('"');
    let boundary = boundary.split(['"', ';']).next().unwrap_or_default();
    let mark = format!("\r\n--{boundary}").into_bytes();
    let mut cuts: Vec<usize> = Vec::new();
    let mut from = head(bytes).len().saturating_sub(2);
    while let Some(at) = bytes[from..].windows(mark.len()).position(|w| w == mark) {
        cuts.push(from + at);
        from += at + mark.len();
    }
    let part = |pair: &[usize]| {
        let start = pair[0] + mark.len();
        &bytes[(start + 2).min(pair[1])..pair[1]]
    };
    cuts.windows(2).map(part).collect()
}

fn section_of(bytes: &[u8], section: &str) -> Vec<u8> {
    let body = |bytes: &[u8]| bytes[head(bytes).len()..].to_vec();
    match section {
        "" => bytes.to_vec(),
        "TEXT" => body(bytes),
        "HEADER" => head(bytes).to_vec(),
        _ if section.starts_with("HEADER.FIELDS") => {
            let names = section.split(['(', ')']).nth(1).unwrap_or_default();
            let line = |name: &str| Some(format!("{name}: {}\r\n", field(bytes, name)?));
            let lines: String = names.split(' ').filter_map(line).collect();
            (lines + "\r\n").into_bytes()
        }
        number => {
            let parts = parts(bytes);
            let at: usize = number.parse().unwrap_or(0);
            match at.checked_sub(1).and_then(|at| parts.get(at)) {
                Some(part) => body(part),
                None if at == 1 => body(bytes),
                None => Vec::new(),
            }
        }
    }
}

fn structure(bytes: &[u8]) -> String {
    let parts = parts(bytes);
    if !parts.is_empty() {
        let inner: String = parts.iter().map(|part| structure(part)).collect();
        return format!("({inner} \"MIXED\" NIL NIL NIL)");
    }
    let kind = field(bytes, "content-type").unwrap_or_else(|| "text/plain".into());
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_uppercase();
    let (main, sub) = kind.split_once('/').unwrap_or(("TEXT", "PLAIN"));
    let coding = field(bytes, "content-transfer-encoding").unwrap_or_else(|| "7BIT".into());
    let body = &bytes[head(bytes).len()..];
    let lines = match main {
        "TEXT" => format!(" {}", body.iter().filter(|b| **b == b'\n').count()),
        _ => String::new(),
    };
    format!("(\"{main}\" \"{sub}\" NIL NIL NIL \"{coding}\" {}{lines} NIL NIL NIL)", body.len())
}

/// ` 1-Dec-2026 01:02:03 +0000` from seconds since 1970.
fn date(seconds: i64) -> String {
    let (days, clock) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // the calendar of 400 years that begin on the first of March of a year divisible by 400
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let names = "Mar Apr May Jun Jul Aug Sep Oct Nov Dec Jan Feb";
    let name = names.split(' ').nth(month as usize).unwrap();
    let year = year + era * 400 + i64::from(month >= 10);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!("{of_month:2}-{name}-{year} {hour:02}:{minute:02}:{second:02} +0000")
}

#[test]
fn dates_are_written_as_the_protocol_wants() {
    let cases = [
        (0, " 1-Jan-1970 00:00:00 +0000"),
        (951_782_400, "29-Feb-2000 00:00:00 +0000"),
        (1_796_086_861, " 1-Dec-2026 01:01:01 +0000"),
    ];
    for (seconds, text) in cases {
        assert_eq!(date(seconds), text);
    }
}
