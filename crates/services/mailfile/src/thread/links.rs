//! Trees whose links come and go while the root of any node is asked for: link/cut trees, every
//! operation in O(log N) on the average, also when all nodes are in one chain.

use super::NONE;

/// A forest of nodes that are numbered from 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    nodes: Vec<Splay>,
}

/// A node of the splay tree that holds one path; `up` leads to the splay tree of the path above
/// when the node is the root of its own.
#[derive(Clone, Copy, Debug)]
struct Splay {
    up: u32,
    left: u32,
    right: u32,
}

impl Links {
    /// One more node, without a link.
    pub(super) fn push(&mut self) {
        self.nodes.push(Splay { up: NONE, left: NONE, right: NONE });
    }

    fn at(&mut self, node: u32) -> &mut Splay {
        &mut self.nodes[node as usize]
    }

    /// The root of the tree that a node is in.
    pub(super) fn root(&mut self, node: u32) -> u32 {
        self.expose(node);
        let mut top = node;
        while self.at(top).left != NONE {
            top = self.at(top).left;
        }
        self.splay(top);
        top
    }

    /// Puts a root below another node, which must not be in its tree.
    pub(super) fn link(&mut self, root: u32, below: u32) {
        self.expose(root);
        self.expose(below);
        self.at(root).up = below;
    }

    /// Makes a node the root of its own tree.
    pub(super) fn cut(&mut self, node: u32) {
        self.expose(node);
        let above = std::mem::replace(&mut self.at(node).left, NONE);
        if above != NONE {
            self.at(above).up = NONE;
        }
    }

    /// Makes the path from the root to `node` one splay tree with `node` on its top.
    fn expose(&mut self, node: u32) {
        let (mut at, mut below) = (node, NONE);
        while at != NONE {
            self.splay(at);
            self.at(at).right = below;
            below = at;
            at = self.at(at).up;
        }
        self.splay(node);
    }

    fn is_top(&self, node: u32) -> bool {
        let up = self.nodes[node as usize].up;
        up == NONE || {
            let above = &self.nodes[up as usize];
            above.left != node && above.right != node
        }
    }

    fn rotate(&mut self, node: u32) {
        let parent = self.at(node).up;
        let above = self.at(parent).up;
        let was_top = self.is_top(parent);
        let moved = if self.at(parent).left == node {
            let moved = std::mem::replace(&mut self.at(node).right, parent);
            self.at(parent).left = moved;
            moved
        } else {
            let moved = std::mem::replace(&mut self.at(node).left, parent);
            self.at(parent).right = moved;
            moved
        };
        if moved != NONE {
            self.at(moved).up = parent;
        }
        self.at(parent).up = node;
        self.at(node).up = above;
        if !was_top {
            let above = self.at(above);
            match above.left == parent {
                true => above.left = node,
                false => above.right = node,
            }
        }
    }

    fn splay(&mut self, node: u32) {
        while !self.is_top(node) {
            let parent = self.at(node).up;
            if !self.is_top(parent) {
                let above = self.at(parent).up;
                let straight = (self.at(above).left == parent) == (self.at(parent).left == node);
                self.rotate(if straight { parent } else { node });
            }
            self.rotate(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_those_of_a_plain_forest() {
        const NODES: usize = 40;
        for seed in 1..=200u64 {
            let mut state = seed;
            let mut random = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as usize % below
            };
            let mut links = Links::default();
            let mut parents = vec![None; NODES];
            (0..NODES).for_each(|_| links.push());
            for _ in 0..200 {
                let (a, b) = (random(NODES), random(NODES));
                let mut root = b;
                while let Some(above) = parents[root] {
                    root = above;
                }
                assert_eq!(links.root(b as u32), root as u32, "seed {seed}");
                if random(4) == 0 {
                    links.cut(a as u32);
                    parents[a] = None;
                } else if parents[a].is_none() && root != a {
                    links.link(a as u32, b as u32);
                    parents[a] = Some(b);
                }
            }
        }
    }
}
