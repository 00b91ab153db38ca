//! `index.tsv`: what the bytes of the messages of a directory do not tell.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use mailfile::Marks;
use note::TimeDate;
use store::EntryFlags;

use crate::mbox::add_keyword;

/// Name of the file.
pub(super) const NAME: &str = "index.tsv";
/// Longest file that is read, in bytes.
const BYTES_MAX: u64 = 256 << 20;

/// System flags as they are written (RFC 3501 §2.3.2).
const FLAGS: [(&str, EntryFlags); 5] = [
    ("\\Answered", EntryFlags::ANSWERED),
    ("\\Flagged", EntryFlags::FLAGGED),
    ("\\Deleted", EntryFlags::DELETED),
    ("\\Draft", EntryFlags::DRAFT),
    ("\\Seen", EntryFlags::SEEN),
];

/// Time and marks of each file.
#[derive(Debug, Default)]
pub(super) struct Index(HashMap<String, (Option<TimeDate>, Marks)>);

impl Index {
    /// Reads the index of a directory; what cannot be understood is passed over.
    pub(super) fn load(directory: &Path) -> Index {
        let path = directory.join(NAME);
        let fits = fs::metadata(&path).is_ok_and(|meta| meta.len() <= BYTES_MAX);
        let text = fits.then(|| fs::read(&path).ok()).flatten().unwrap_or_default();
        Index::parse(&String::from_utf8_lossy(&text))
    }

    pub(super) fn parse(text: &str) -> Index {
        let mut index = Index::default();
        for line in text.lines() {
            let mut columns = line.split('\t');
            let (Some(name), Some(time)) = (columns.next(), columns.next()) else { continue };
            let date = time.parse().ok().map(TimeDate::from_unix_seconds);
            let marks = marks(columns.next().unwrap_or_default());
            index.0.insert(name.to_owned(), (date, marks));
        }
        index
    }

    pub(super) fn get(&self, name: &str) -> Option<&(Option<TimeDate>, Marks)> {
        self.0.get(name)
    }
}

/// Marks as words.
pub(crate) fn marks(words: &str) -> Marks {
    let mut marks = Marks::default();
    for word in words.split_whitespace() {
        match FLAGS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
            Some((_, flag)) => marks.flags = marks.flags | *flag,
            None => add_keyword(word, &mut marks),
        }
    }
    marks
}

/// A line of the index.
pub(super) fn line(name: &str, date: TimeDate, marks: &Marks) -> String {
    let flags = FLAGS.iter().filter(|(_, flag)| marks.flags.contains(*flag));
    let mut words: Vec<&str> = flags.map(|(name, _)| *name).collect();
    words.extend(marks.keywords.iter().map(String::as_str));
    format!("{name}\t{}\t{}\n", date.unix_seconds(), words.join(" "))
}
