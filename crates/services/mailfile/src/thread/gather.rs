//! From parents to conversations (RFC 5256, REFERENCES, steps 2 to 6).

use std::collections::HashMap;

use super::{Forest, Item, NONE, Node};

/// What is made into a forest.
struct Gather {
    nodes: Vec<Node>,
    /// By which siblings are ordered: date and uid.
    keys: Vec<(i64, u32)>,
    subjects: Vec<u32>,
    replies: Vec<bool>,
}

/// The conversations of items with these parents.
pub(super) fn forest(items: &[Item], parents: Vec<u32>) -> Forest {
    let node = |item: &Item| Node { uid: item.uid, children: Vec::new() };
    let mut gather = Gather {
        nodes: items.iter().map(node).collect(),
        keys: items.iter().map(|item| (item.sent, item.uid)).collect(),
        subjects: items.iter().map(|item| item.subject).collect(),
        replies: items.iter().map(|item| item.is_reply).collect(),
    };
    let mut roots = gather.plant(&parents);
    gather.prune(&mut roots);
    gather.sort_all();
    gather.take_after_children(&roots);
    gather.sort(&mut roots);
    let mut roots = gather.merge_subjects(roots);
    gather.sort_all();
    gather.take_after_children(&roots);
    gather.sort(&mut roots);
    Forest { roots, nodes: gather.nodes }
}

impl Gather {
    fn is_dummy(&self, node: u32) -> bool {
        self.nodes[node as usize].uid == 0
    }

    fn sort(&self, siblings: &mut [u32]) {
        siblings.sort_unstable_by_key(|node| self.keys[*node as usize]);
    }

    fn sort_all(&mut self) {
        for at in 0..self.nodes.len() {
            let mut children = std::mem::take(&mut self.nodes[at].children);
            self.sort(&mut children);
            self.nodes[at].children = children;
        }
    }

    /// Step 2: children, and the nodes without parent.
    fn plant(&mut self, parents: &[u32]) -> Vec<u32> {
        let mut roots = Vec::new();
        for (node, parent) in parents.iter().enumerate() {
            match *parent {
                NONE => roots.push(node as u32),
                parent => self.nodes[parent as usize].children.push(node as u32),
            }
        }
        roots
    }

    /// Step 3: nodes without message go; what lies below them moves up. On the top such a node
    /// stays when it holds several together.
    fn prune(&mut self, roots: &mut Vec<u32>) {
        let mut order: Vec<u32> = roots.clone();
        let mut at = 0;
        while let Some(node) = order.get(at).copied() {
            order.extend_from_slice(&self.nodes[node as usize].children);
            at += 1;
        }
        // Those below come before those above.
        for node in order.into_iter().rev() {
            let children = std::mem::take(&mut self.nodes[node as usize].children);
            self.nodes[node as usize].children = self.without_dummies(children);
        }
        let mut kept = Vec::with_capacity(roots.len());
        for root in roots.drain(..) {
            match self.nodes[root as usize].children[..] {
                [] if self.is_dummy(root) => {}
                [only] if self.is_dummy(root) => kept.push(only),
                _ => kept.push(root),
            }
        }
        *roots = kept;
    }

    fn without_dummies(&mut self, children: Vec<u32>) -> Vec<u32> {
        if !children.iter().any(|child| self.is_dummy(*child)) {
            return children;
        }
        let mut kept: Vec<u32> = Vec::new();
        for child in children {
            if self.is_dummy(child) {
                let mut below = std::mem::take(&mut self.nodes[child as usize].children);
                // The shorter list goes to the longer one, so that long chains cost little.
                if below.len() > kept.len() {
                    std::mem::swap(&mut below, &mut kept);
                }
                kept.append(&mut below);
            } else {
                kept.push(child);
            }
        }
        kept
    }

    /// A node without message stands where its first child stands, and has its subject.
    fn take_after_children(&mut self, roots: &[u32]) {
        for root in roots.iter().copied() {
            let first = self.nodes[root as usize].children.first().copied();
            if let Some(first) = first.filter(|_| self.is_dummy(root)) {
                self.keys[root as usize] = self.keys[first as usize];
                self.subjects[root as usize] = self.subjects[first as usize];
            }
        }
    }

    /// Step 5: conversations of one base subject become one.
    fn merge_subjects(&mut self, roots: Vec<u32>) -> Vec<u32> {
        let mut table = self.subject_table(&roots);
        let mut merged = Vec::with_capacity(roots.len());
        let mut is_below = vec![false; self.nodes.len()];
        for root in roots {
            merged.push(root);
            if is_below[root as usize] {
                continue;
            }
            let subject = self.subjects[root as usize];
            let Some(head) = table.get(&subject).copied().filter(|head| *head != root) else {
                continue;
            };
            if self.is_dummy(head) && self.is_dummy(root) {
                let mut children = std::mem::take(&mut self.nodes[root as usize].children);
                self.nodes[head as usize].children.append(&mut children);
            } else if self.is_dummy(head)
                || (self.replies[root as usize] && !self.replies[head as usize])
            {
                self.nodes[head as usize].children.push(root);
            } else {
                let above = self.push_dummy(subject, vec![head, root]);
                is_below[head as usize] = true;
                is_below.push(false);
                table.insert(subject, above);
                merged.push(above);
            }
            is_below[root as usize] = true;
        }
        merged.retain(|root| !is_below[*root as usize]);
        merged
    }

    /// Which conversation of each base subject the others go to.
    fn subject_table(&self, roots: &[u32]) -> HashMap<u32, u32> {
        let mut table: HashMap<u32, u32> = HashMap::new();
        for root in roots.iter().copied() {
            let subject = self.subjects[root as usize];
            if subject == 0 {
                continue;
            }
            let head = table.entry(subject).or_insert(root);
            let is_better = (!self.is_dummy(*head) && self.is_dummy(root))
                || (self.replies[*head as usize] && !self.replies[root as usize]);
            if is_better {
                *head = root;
            }
        }
        table
    }

    fn push_dummy(&mut self, subject: u32, children: Vec<u32>) -> u32 {
        self.nodes.push(Node { uid: 0, children });
        self.keys.push((0, 0));
        self.subjects.push(subject);
        self.replies.push(false);
        self.nodes.len() as u32 - 1
    }
}
