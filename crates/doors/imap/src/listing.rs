//! Which names LIST shows, and how (RFC 3501 §6.3.8, RFC 5258, RFC 6154).

use std::collections::BTreeMap;

use store::Folder;

use crate::names::{self, DELIMITER, Pattern};

/// What is selected, and what is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Only what is subscribed to, whether it exists or not.
    pub subscribed_only: bool,
    /// Only what has a special use.
    pub special_only: bool,
    /// Also names above those that are selected.
    pub recursive: bool,
    /// Tell of subscriptions.
    pub show_subscribed: bool,
    /// The command uses RFC 5258: a name without mailbox is `\NonExistent`, which says more than
    /// `\Noselect`.
    pub extended: bool,
}

/// A line of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The name.
    pub name: String,
    /// There is a mailbox of this name.
    pub exists: bool,
    attributes: Vec<String>,
    /// Something below is subscribed to (RFC 5258 §3.5).
    child_info: bool,
}

/// Every name of the hierarchy: folders, and names that only exist above folders or in
/// subscriptions.
#[derive(Default)]
struct Tree<'a> {
    names: BTreeMap<&'a str, Place<'a>>,
}

#[derive(Default)]
struct Place<'a> {
    folder: Option<&'a Folder>,
    /// Subscribed to, though the folder is gone.
    is_orphan: bool,
    has_children: bool,
    /// Something below is selected.
    has_selected: bool,
    /// Something below is selected, and not shown by itself.
    has_hidden: bool,
}

impl<'a> Tree<'a> {
    fn of(folders: &'a [Folder], orphans: &'a [String]) -> Tree<'a> {
        let mut tree = Tree::default();
        for folder in folders {
            tree.names.entry(&folder.name).or_default().folder = Some(folder);
            for parent in parents(&folder.name) {
                tree.names.entry(parent).or_default().has_children = true;
            }
        }
        for name in orphans {
            tree.names.entry(name).or_default().is_orphan = true;
        }
        tree
    }

    /// Marks the names above those that are selected.
    fn look_below(&mut self, choice: &Choice, patterns: &[Pattern]) {
        let selected = self.names.iter().filter(|(_, place)| place.is_selected(choice));
        let selected: Vec<&'a str> = selected.map(|(name, _)| *name).collect();
        for name in selected {
            let is_shown = patterns.iter().any(|pattern| pattern.matches(name));
            for parent in parents(name) {
                let place = self.names.entry(parent).or_default();
                place.has_selected = true;
                place.has_hidden |= !is_shown;
            }
        }
    }
}

impl Place<'_> {
    fn is_subscribed(&self) -> bool {
        self.is_orphan || self.folder.is_some_and(|folder| folder.subscribed)
    }

    fn is_selected(&self, choice: &Choice) -> bool {
        let special = self.folder.is_some_and(|folder| folder.special_use.is_some());
        // An orphan is nothing but a subscription.
        (!self.is_orphan || choice.subscribed_only)
            && (!choice.subscribed_only || self.is_subscribed())
            && (!choice.special_only || special)
    }

    fn attributes(&self, choice: &Choice) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let children = if self.has_children { "\\HasChildren" } else { "\\HasNoChildren" };
        words.push(String::from(children));
        match self.folder {
            None if choice.extended => words.push(String::from("\\NonExistent")),
            None => words.push(String::from("\\Noselect")),
            Some(folder) => words.extend(folder.special_use.clone()),
        }
        if choice.show_subscribed && self.is_subscribed() {
            words.push(String::from("\\Subscribed"));
        }
        words
    }
}

fn parents(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices(DELIMITER).map(|(at, _)| &name[..at])
}

/// The lines for these patterns, in order of name. `orphans`: subscriptions without a mailbox.
pub(crate) fn select(
    folders: &[Folder],
    orphans: &[String],
    choice: &Choice,
    patterns: &[Pattern],
) -> Vec<Shown> {
    let mut tree = Tree::of(folders, orphans);
    if choice.recursive {
        tree.look_below(choice, patterns);
    }
    let mut shown = Vec::new();
    for (name, place) in &tree.names {
        let selected = place.is_selected(choice);
        let wanted = selected || (choice.recursive && place.has_hidden);
        if wanted && patterns.iter().any(|pattern| pattern.matches(name)) {
            shown.push(Shown {
                name: (*name).to_owned(),
                exists: place.folder.is_some(),
                attributes: place.attributes(choice),
                child_info: choice.recursive && choice.subscribed_only && place.has_selected,
            });
        }
    }
    shown
}

impl Shown {
    /// Appends the untagged reply.
    pub(crate) fn print(&self, out: &mut Vec<u8>) {
        head("LIST", &self.attributes, &self.name, out);
        if self.child_info {
            out.extend_from_slice(b" (\"CHILDINFO\" (\"SUBSCRIBED\"))");
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends a LIST or LSUB line.
pub(crate) fn line(word: &str, attributes: &[String], name: &str, out: &mut Vec<u8>) {
    head(word, attributes, name, out);
    out.extend_from_slice(b"\r\n");
}

fn head(word: &str, attributes: &[String], name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"* ");
    out.extend_from_slice(word.as_bytes());
    out.extend_from_slice(b" (");
    for (at, attribute) in attributes.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(attribute.as_bytes());
    }
    out.extend_from_slice(b") \"/\" ");
    names::print(name, out);
}
