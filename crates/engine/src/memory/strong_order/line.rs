//! A total order to which nodes are added anywhere, and in which two nodes are compared in constant time:
//! a linked list with increasing labels.

/// A node; [`HEAD`] precedes all others.
pub(super) type NodeId = u32;

/// The start of every order; it is no node.
pub(super) const HEAD: NodeId = 0;

/// Difference between the labels of neighbours after all labels were assigned anew: as many nodes fit
/// between two neighbours as an execution can have, if they come one after the other.
const GAP: u64 = 1 << 32;

/// The order. Nodes are numbered from 1 as they are added.
#[derive(Debug)]
pub(super) struct Line {
    links: Vec<Link>,
    last: NodeId,
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    label: u64,
    before: NodeId,
    after: NodeId,
}

impl Default for Line {
    fn default() -> Self {
        Line {
            links: vec![Link::default()],
            last: HEAD,
        }
    }
}

impl Line {
    /// Removes all nodes.
    pub(super) fn clear(&mut self) {
        self.links.clear();
        self.links.push(Link::default());
        self.last = HEAD;
    }

    /// Returns the last node, or `HEAD`.
    pub(super) fn last(&self) -> NodeId {
        self.last
    }

    /// Returns the node after this one, which is not the last.
    #[inline]
    pub(super) fn after(&self, node: NodeId) -> NodeId {
        self.links[node as usize].after
    }

    #[inline]
    pub(super) fn before(&self, node: NodeId) -> NodeId {
        self.links[node as usize].before
    }

    /// Returns a number that increases along the order, until nodes are added or moved.
    #[inline]
    pub(super) fn label(&self, node: NodeId) -> u64 {
        self.links[node as usize].label
    }

    /// Adds a node directly after another.
    pub(super) fn add_after(&mut self, before: NodeId) -> NodeId {
        let node = self.links.len() as NodeId;
        self.links.push(Link::default());
        self.link_after(before, &[node]);
        node
    }

    /// Moves nodes, which are in the order of the line, directly after another.
    pub(super) fn move_after(&mut self, before: NodeId, nodes: &[NodeId]) {
        for &node in nodes {
            let Link { before, after, .. } = self.links[node as usize];
            self.links[before as usize].after = after;
            match node == self.last {
                true => self.last = before,
                false => self.links[after as usize].before = before,
            }
        }
        self.link_after(before, nodes);
    }

    fn link_after(&mut self, before: NodeId, nodes: &[NodeId]) {
        let end = (before != self.last).then(|| self.after(before));
        let low = self.label(before);
        let step = match end {
            None => GAP,
            Some(end) => (self.label(end) - low) / (nodes.len() as u64 + 1),
        };
        let mut previous = before;
        for (count, &node) in nodes.iter().enumerate() {
            self.links[previous as usize].after = node;
            let label = low + step * (count as u64 + 1);
            let own = &mut self.links[node as usize];
            (own.before, own.label) = (previous, label);
            previous = node;
        }
        match end {
            None => self.last = previous,
            Some(end) => {
                self.links[previous as usize].after = end;
                self.links[end as usize].before = previous;
            }
        }
        if step == 0 {
            self.relabel();
        }
    }

    /// Assigns all labels anew.
    #[cold]
    fn relabel(&mut self) {
        let (mut node, mut label) = (HEAD, 0);
        while node != self.last {
            node = self.after(node);
            label += GAP;
            self.links[node as usize].label = label;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_increase_along_the_order() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut line = Line::default();
        for round in 0..50 {
            line.clear();
            let mut expected = vec![];
            for _ in 0..200 {
                // In even rounds nodes come before the same one again and again, so that labels run out.
                let at = match round % 2 {
                    0 => expected.len().saturating_sub(1),
                    _ => rng.usize(..=expected.len()),
                };
                let before = at.checked_sub(1).map_or(HEAD, |it| expected[it]);
                let node = line.add_after(before);
                expected.insert(at, node);
                if rng.u32(..4) == 0 && expected.len() > 3 {
                    let anchor = rng.usize(1..expected.len());
                    let chosen: Vec<_> = (0..anchor).filter(|_| rng.u32(..4) == 0).collect();
                    let moved: Vec<_> = chosen.iter().map(|&it| expected[it]).collect();
                    let anchor = expected[anchor];
                    line.move_after(anchor, &moved);
                    expected.retain(|it| !moved.contains(it));
                    let at = expected.iter().position(|&it| it == anchor).unwrap() + 1;
                    expected.splice(at..at, moved);
                }
                let mut node = HEAD;
                for &next in &expected {
                    assert_eq!((line.after(node), line.before(next)), (next, node));
                    assert!(line.label(node) < line.label(next));
                    node = next;
                }
                assert_eq!(line.last(), node);
            }
        }
    }
}
