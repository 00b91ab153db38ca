//! LIST (RFC 3501 §6.3.8), with special use always shown (RFC 6154) and the simple selection and
//! return options of RFC 5258.

use std::collections::{BTreeMap, HashSet};

use store::Folder;

use super::Command;
use crate::grammar::{Bad, Cursor, Parse};
use crate::names::{self, DELIMITER, Pattern};
use crate::reply::{Done, Fault};
use crate::session::Session;
use session::Weight;

/// Patterns in one command at most.
const PATTERNS_MAX: usize = 100;

pub(crate) struct List {
    patterns: Vec<Pattern>,
    /// Only what is subscribed to.
    subscribed_only: bool,
    /// Only what has a special use.
    special_only: bool,
    /// Show subscriptions.
    show_subscribed: bool,
    /// The pattern was empty: only the delimiter is asked for.
    delimiter_only: bool,
}

impl Command for List {
    type Found = Vec<Folder>;

    fn parse(args: &mut Cursor<'_>, _uid: bool) -> Parse<Self> {
        args.space()?;
        let selection = if args.peek() == Some(b'(') { options(args)? } else { Vec::new() };
        if args.peek() == Some(b' ') {
            args.space()?;
        }
        let reference = args.astring()?;
        args.space()?;
        let raw = patterns(args)?;
        let mut returned = Vec::new();
        if args.eat(b' ') {
            if !args.eat_word("RETURN") {
                return Err(Bad("RETURN is missing"));
            }
            args.space()?;
            returned = options(args)?;
        }
        let has = |list: &[String], word: &str| list.iter().any(|known| known == word);
        let pattern = |raw: &Vec<u8>| Pattern::new(&reference, raw);
        Ok(List {
            delimiter_only: raw.len() == 1 && raw[0].is_empty(),
            patterns: raw.iter().map(pattern).collect(),
            subscribed_only: has(&selection, "SUBSCRIBED"),
            special_only: has(&selection, "SPECIAL-USE"),
            show_subscribed: has(&selection, "SUBSCRIBED") || has(&returned, "SUBSCRIBED"),
        })
    }

    async fn act(&mut self, session: &mut Session) -> Result<Vec<Folder>, Fault> {
        if self.delimiter_only {
            return Ok(Vec::new());
        }
        let file = session.file()?;
        let read = session.run_work(Weight::Light, move || file.folders()).await??;
        session.out.saw(read.lsn);
        Ok(read.value)
    }

    fn answer(self, folders: Vec<Folder>, session: &mut Session) -> Done {
        let out = &mut session.out.bytes;
        if self.delimiter_only {
            out.extend_from_slice(b"* LIST (\\Noselect) \"/\" \"\"\r\n");
            return Done::plain("Listed");
        }
        let tree = Tree::of(&folders);
        for (name, folder) in &tree.names {
            let wanted = match folder {
                Some(folder) => {
                    (!self.subscribed_only || folder.subscribed)
                        && (!self.special_only || folder.special_use.is_some())
                }
                None => !self.subscribed_only && !self.special_only,
            };
            if wanted && self.patterns.iter().any(|pattern| pattern.matches(name)) {
                let attributes = attributes(&tree, name, *folder, self.show_subscribed);
                line("LIST", &attributes, name, out);
            }
        }
        Done::plain("Listed")
    }
}

/// `(WORD …)`, in capitals; an option's own arguments in parentheses are passed over.
fn options(args: &mut Cursor<'_>) -> Parse<Vec<String>> {
    args.expect(b'(', "a list of options is missing")?;
    let mut words = Vec::new();
    while !args.eat(b')') {
        if !words.is_empty() {
            args.space()?;
        }
        if words.len() >= PATTERNS_MAX {
            return Err(Bad("too many options"));
        }
        words.push(args.atom()?.to_ascii_uppercase());
    }
    Ok(words)
}

/// One pattern, or several in parentheses.
fn patterns(args: &mut Cursor<'_>) -> Parse<Vec<Vec<u8>>> {
    if !args.eat(b'(') {
        return Ok(vec![args.pattern()?.into_owned()]);
    }
    let mut patterns = vec![args.pattern()?.into_owned()];
    while args.eat(b' ') {
        patterns.push(args.pattern()?.into_owned());
        if patterns.len() > PATTERNS_MAX {
            return Err(Bad("too many patterns"));
        }
    }
    args.expect(b')', "a list of patterns does not end")?;
    Ok(patterns)
}

/// Every name of the hierarchy: folders, and names that only exist above folders.
pub(super) struct Tree<'a> {
    /// In the order in which they are listed.
    pub names: BTreeMap<&'a str, Option<&'a Folder>>,
    parents: HashSet<&'a str>,
}

impl<'a> Tree<'a> {
    pub(super) fn of(folders: &'a [Folder]) -> Tree<'a> {
        let mut tree = Tree { names: BTreeMap::new(), parents: HashSet::new() };
        for folder in folders {
            tree.names.insert(&folder.name, Some(folder));
            for (at, _) in folder.name.match_indices(DELIMITER) {
                let parent = &folder.name[..at];
                tree.names.entry(parent).or_insert(None);
                tree.parents.insert(parent);
            }
        }
        tree
    }

    fn has_children(&self, name: &str) -> bool {
        self.parents.contains(name)
    }
}

fn attributes(
    tree: &Tree<'_>,
    name: &str,
    folder: Option<&Folder>,
    show_subscribed: bool,
) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let children = tree.has_children(name);
    words.push(String::from(if children { "\\HasChildren" } else { "\\HasNoChildren" }));
    match folder {
        None => words.push(String::from("\\Noselect")),
        Some(folder) => {
            words.extend(folder.special_use.clone());
            if show_subscribed && folder.subscribed {
                words.push(String::from("\\Subscribed"));
            }
        }
    }
    words
}

/// Appends a LIST or LSUB line.
pub(super) fn line(word: &str, attributes: &[String], name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"* ");
    out.extend_from_slice(word.as_bytes());
    out.extend_from_slice(b" (");
    out.extend_from_slice(attributes.join(" ").as_bytes());
    out.extend_from_slice(b") \"/\" ");
    names::print(name, out);
    out.extend_from_slice(b"\r\n");
}
