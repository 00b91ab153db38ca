//! Names of files and folders of a Maildir: flags, keywords, levels.

use mailfile::Marks;
use message::utf7;
use store::EntryFlags;

use crate::folders;
use crate::mbox::add_keyword;

/// Letters of the flags of a Maildir, in the order in which they are written.
const FLAGS: [(char, EntryFlags); 5] = [
    ('D', EntryFlags::DRAFT),
    ('F', EntryFlags::FLAGGED),
    ('R', EntryFlags::ANSWERED),
    ('S', EntryFlags::SEEN),
    ('T', EntryFlags::DELETED),
];
/// "Passed": resent, forwarded or bounced.
const PASSED: (char, &str) = ('P', "$Forwarded");
/// Keywords that a name can carry, as letters from `a` on.
pub(super) const KEYWORDS_MAX: usize = 26;

/// The flags in the name of a file; `keywords` belong to the letters from `a` on.
pub(super) fn marks(name: &str, keywords: &[String]) -> Marks {
    let mut marks = Marks::default();
    // Some systems cannot have a colon in a name.
    let at = [":2,", ";2,", "!2,"].iter().find_map(|sign| name.rfind(sign));
    let Some(at) = at else { return marks };
    for letter in name[at + 3..].chars().take_while(|c| c.is_ascii_alphabetic()) {
        if let Some((_, flag)) = FLAGS.iter().find(|(known, _)| *known == letter) {
            marks.flags = marks.flags | *flag;
        } else if letter == PASSED.0 {
            add_keyword(PASSED.1, &mut marks);
        } else if letter.is_ascii_lowercase()
            && let Some(word) = keywords.get(usize::from(letter as u8 - b'a'))
        {
            add_keyword(word, &mut marks);
        }
    }
    marks
}

/// The letters for these marks, and the keywords that found no place among `keywords`, which
/// grows.
pub(super) fn letters(marks: &Marks, keywords: &mut Vec<String>) -> (String, Vec<String>) {
    let mut letters: Vec<char> = FLAGS
        .iter()
        .filter(|(_, flag)| marks.flags.contains(*flag))
        .map(|(letter, _)| *letter)
        .collect();
    let mut lost = Vec::new();
    for word in &marks.keywords {
        if word.eq_ignore_ascii_case(PASSED.1) {
            letters.push(PASSED.0);
            continue;
        }
        let known = keywords.iter().position(|known| known.eq_ignore_ascii_case(word));
        let at = known.unwrap_or(keywords.len());
        if at >= KEYWORDS_MAX {
            lost.push(word.clone());
            continue;
        }
        if at == keywords.len() {
            keywords.push(word.clone());
        }
        letters.push(char::from(b'a' + at as u8));
    }
    letters.sort_unstable();
    (letters.into_iter().collect(), lost)
}

/// The list in `dovecot-keywords`: lines of a number and a word.
pub(super) fn keywords(text: &str) -> Vec<String> {
    let mut words = vec![String::new(); KEYWORDS_MAX];
    for line in text.lines() {
        let Some((number, word)) = line.split_once(' ') else { continue };
        if let Some(slot) = number.parse().ok().and_then(|number: usize| words.get_mut(number)) {
            word.trim().clone_into(slot);
        }
    }
    words
}

/// The folder whose directory has this name: `.Lists.Rust` is `Lists/Rust`.
pub(super) fn folder_of(directory: &str) -> String {
    let levels: Vec<String> =
        directory.trim_start_matches('.').split('.').map(utf7::decode).collect();
    folders::name_of(&levels)
}

/// The directory of a folder.
pub(super) fn directory_of(folder: &str) -> String {
    let levels = folder.split('/').map(|level| utf7::encode(level, &['.', '/']));
    format!(".{}", levels.collect::<Vec<_>>().join("."))
}
