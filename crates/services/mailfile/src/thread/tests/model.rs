//! RFC 5256 REFERENCES written down step by step, without regard to time.

use super::{Letter, ids};

#[derive(Clone, Debug, Default)]
struct Container {
    /// Index of the letter plus one.
    number: usize,
    id: String,
    parent: Option<usize>,
}

/// A tree after step 2.
#[derive(Clone, Debug)]
struct Tree {
    number: usize,
    below: Vec<Tree>,
}

struct Model<'a> {
    letters: &'a [Letter],
    containers: Vec<Container>,
}

impl Model<'_> {
    fn named(&mut self, id: &str) -> usize {
        match self.containers.iter().position(|c| c.id == id) {
            Some(at) => at,
            None => {
                self.containers.push(Container { id: id.to_owned(), ..Container::default() });
                self.containers.len() - 1
            }
        }
    }

    fn is_above(&self, above: usize, mut below: usize) -> bool {
        loop {
            if above == below {
                return true;
            }
            match self.containers[below].parent {
                Some(parent) => below = parent,
                None => return false,
            }
        }
    }

    fn link(&mut self, child: usize, parent: usize) {
        if !self.is_above(child, parent) {
            self.containers[child].parent = Some(parent);
        }
    }

    /// Step 1.
    fn take(&mut self, number: usize) {
        let letter = &self.letters[number - 1];
        let mut own = None;
        if !letter.id.is_empty() {
            let at = self.named(&letter.id);
            if self.containers[at].number == 0 {
                own = Some(at);
            }
        }
        let own = own.unwrap_or_else(|| {
            self.containers.push(Container { id: format!("own {number}"), ..Default::default() });
            self.containers.len() - 1
        });
        self.containers[own].number = number;
        let references: Vec<String> =
            letter.references.split_whitespace().map(str::to_owned).collect();
        let nodes: Vec<usize> = references.iter().map(|id| self.named(id)).collect();
        for pair in nodes.windows(2) {
            if self.containers[pair[1]].parent.is_none() {
                self.link(pair[1], pair[0]);
            }
        }
        self.containers[own].parent = None;
        if let Some(last) = nodes.last() {
            self.link(own, *last);
        }
    }

    fn tree(&self, at: usize) -> Tree {
        let of = |(child, c): (usize, &Container)| (c.parent == Some(at)).then_some(child);
        let below = self.containers.iter().enumerate().filter_map(of);
        Tree { number: self.containers[at].number, below: below.map(|c| self.tree(c)).collect() }
    }

    /// Step 3 below the top.
    fn pruned(tree: Tree) -> Tree {
        let mut below = Vec::new();
        for child in tree.below {
            let child = Model::pruned(child);
            if child.number == 0 { below.extend(child.below) } else { below.push(child) }
        }
        Tree { number: tree.number, below }
    }

    fn key(&self, tree: &Tree) -> (i64, usize) {
        if tree.number > 0 {
            return (self.letters[tree.number - 1].minute, tree.number);
        }
        tree.below.iter().map(|child| self.key(child)).min().unwrap()
    }

    fn sorted(&self, trees: Vec<Tree>) -> Vec<Tree> {
        let deep = |tree: Tree| Tree { number: tree.number, below: self.sorted(tree.below) };
        let mut trees: Vec<Tree> = trees.into_iter().map(deep).collect();
        trees.sort_by_key(|tree| self.key(tree));
        trees
    }

    fn subject(&self, tree: &Tree) -> (String, bool) {
        let number = if tree.number > 0 { tree.number } else { tree.below[0].number };
        let subject = &self.letters[number - 1].subject;
        let base = subject.trim_start_matches("Re: ");
        (base.to_owned(), tree.number > 0 && base != subject)
    }

    /// Step 5.
    fn merged(&self, trees: Vec<Tree>) -> Vec<Tree> {
        // Subject, place of its conversation among the trees.
        let mut table: Vec<(String, usize)> = Vec::new();
        for (at, tree) in trees.iter().enumerate() {
            let (subject, is_reply) = self.subject(tree);
            if subject.is_empty() {
                continue;
            }
            match table.iter_mut().find(|row| row.0 == subject) {
                None => table.push((subject, at)),
                Some(row) => {
                    let head = &trees[row.1];
                    let better = head.number > 0 && tree.number == 0;
                    if better || (self.subject(head).1 && !is_reply) {
                        row.1 = at;
                    }
                }
            }
        }
        let mut slots: Vec<Option<Tree>> = trees.iter().cloned().map(Some).collect();
        for (at, tree) in trees.iter().enumerate() {
            let (subject, is_reply) = self.subject(tree);
            let Some(row) = table.iter_mut().find(|row| row.0 == subject) else { continue };
            if row.1 == at || slots[at].is_none() {
                continue;
            }
            let current = slots[at].take().unwrap();
            let head = slots[row.1].as_mut().unwrap();
            if head.number == 0 && current.number == 0 {
                head.below.extend(current.below);
            } else if head.number == 0 || (is_reply && !self.subject(head).1) {
                head.below.push(current);
            } else {
                let both = vec![slots[row.1].take().unwrap(), current];
                slots.push(Some(Tree { number: 0, below: both }));
                row.1 = slots.len() - 1;
            }
        }
        slots.into_iter().flatten().collect()
    }
}

fn shown(tree: &Tree) -> String {
    let mut text = if tree.number > 0 { tree.number.to_string() } else { String::new() };
    let below: Vec<String> = tree.below.iter().map(shown).collect();
    if !below.is_empty() && !text.is_empty() {
        text.push(' ');
    }
    match &below[..] {
        [only] => text.push_str(only),
        several => several.iter().for_each(|list| text.push_str(&format!("({list})"))),
    }
    text
}

/// The conversations of these letters as RFC 5256 writes them.
pub(super) fn references(letters: &[Letter]) -> String {
    assert_eq!(ids("a"), "<a@x.test>");
    let mut model = Model { letters, containers: Vec::new() };
    (1..=letters.len()).for_each(|number| model.take(number));
    let tops = (0..model.containers.len()).filter(|at| model.containers[*at].parent.is_none());
    let mut trees = Vec::new();
    for tree in tops.map(|at| Model::pruned(model.tree(at))) {
        match (tree.number, tree.below.len()) {
            (0, 0) => {}
            (0, 1) => trees.extend(tree.below),
            _ => trees.push(tree),
        }
    }
    let trees = model.sorted(trees);
    let trees = model.sorted(model.merged(trees));
    trees.iter().map(|tree| format!("({})", shown(tree))).collect()
}
