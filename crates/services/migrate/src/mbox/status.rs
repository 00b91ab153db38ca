//! The header fields in which mail programs keep flags of messages in mbox files.

use mailfile::Marks;
use store::EntryFlags;

/// Fields that belong to the file and not to the message.
const FIELDS: [&str; 10] = [
    "Status",
    "X-Status",
    "X-Keywords",
    "X-Mozilla-Status",
    "X-Mozilla-Status2",
    "X-Mozilla-Keys",
    "X-UID",
    "X-IMAP",
    "X-IMAPbase",
    "Content-Length",
];

/// Mozilla's bits.
const MOZILLA: [(u32, EntryFlags); 3] =
    [(1, EntryFlags::SEEN), (2, EntryFlags::ANSWERED), (4, EntryFlags::FLAGGED)];
/// The message is deleted and waits for the file to be compacted.
const MOZILLA_GONE: u32 = 8;
const MOZILLA_FORWARDED: u32 = 0x1000;

/// Takes the fields out of a message and gives what they say; `None` when the message is not one
/// (deleted already, or the file's own record).
pub(super) fn take(bytes: &mut Vec<u8>) -> Option<Marks> {
    let mut marks = Marks::default();
    let mut ranges = Vec::new();
    let (mut gone, mut internal, mut imap) = (false, false, false);
    for (name, value, range) in message::headers(message::header_bytes(bytes)) {
        let name = String::from_utf8_lossy(name);
        let text = String::from_utf8_lossy(value);
        internal |= name.eq_ignore_ascii_case("Subject") && text.contains("FOLDER INTERNAL DATA");
        let known = FIELDS.iter().find(|field| field.eq_ignore_ascii_case(&name));
        let Some(field) = known else { continue };
        ranges.push(range);
        imap |= *field == "X-IMAP" || *field == "X-IMAPbase";
        gone |= !read(field, text.trim(), &mut marks);
    }
    if gone || (internal && imap) {
        return None;
    }
    for range in ranges.into_iter().rev() {
        bytes.drain(range);
    }
    Some(marks)
}

/// Reads a field; `false` when it says that the message is deleted.
fn read(field: &str, text: &str, marks: &mut Marks) -> bool {
    match field {
        "Status" | "X-Status" => text.chars().for_each(|letter| status(letter, marks)),
        "X-Keywords" | "X-Mozilla-Keys" => {
            text.split_whitespace().for_each(|word| add_keyword(word, marks));
        }
        "X-Mozilla-Status" => {
            let bits = u32::from_str_radix(text, 16).unwrap_or(0);
            for (bit, flag) in MOZILLA {
                if bits & bit != 0 {
                    marks.flags = marks.flags | flag;
                }
            }
            if bits & MOZILLA_FORWARDED != 0 {
                add_keyword("$Forwarded", marks);
            }
            return bits & MOZILLA_GONE == 0;
        }
        _ => {}
    }
    true
}

fn status(letter: char, marks: &mut Marks) {
    let flag = match letter {
        'R' => EntryFlags::SEEN,
        'A' => EntryFlags::ANSWERED,
        'F' => EntryFlags::FLAGGED,
        'D' => EntryFlags::DELETED,
        'T' => EntryFlags::DRAFT,
        _ => return,
    };
    marks.flags = marks.flags | flag;
}

/// Adds a keyword, if it can be one (RFC 3501 `flag-keyword`).
pub(crate) fn add_keyword(word: &str, marks: &mut Marks) {
    const BYTES_MAX: usize = 100;
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"(){%*\"\\]".contains(&byte);
    let fits = !word.is_empty() && word.len() <= BYTES_MAX && word.bytes().all(is_plain);
    if fits && !marks.has_keyword(word) {
        marks.keywords.push(word.to_owned());
    }
}

/// The fields for these marks, each with LF.
pub(super) fn print(marks: &Marks) -> String {
    let has = |flag| marks.flags.contains(flag);
    let mut text = String::from(if has(EntryFlags::SEEN) { "Status: RO\n" } else { "Status: O\n" });
    let letters = [
        ('A', EntryFlags::ANSWERED),
        ('F', EntryFlags::FLAGGED),
        ('D', EntryFlags::DELETED),
        ('T', EntryFlags::DRAFT),
    ];
    let set: String = letters.iter().filter(|(_, flag)| has(*flag)).map(|(c, _)| *c).collect();
    if !set.is_empty() {
        text.push_str(&format!("X-Status: {set}\n"));
    }
    if !marks.keywords.is_empty() {
        text.push_str(&format!("X-Keywords: {}\n", marks.keywords.join(" ")));
    }
    text
}
