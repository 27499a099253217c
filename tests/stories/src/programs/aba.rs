//! A lock-free stack. To pop, a thread reads the first node and the one after it, and makes the
//! second the first if the first still is. If meanwhile others have popped both and pushed the
//! first again, it still is, but its successor is not: the stack gets back a node that another
//! thread owns. The twin counts changes along with the first node.
//!
//! One preemption of the first thread between reading the second node and the exchange; the other
//! thread must pop twice and push in that time. In the busy stack two more threads pop a node and
//! push it again.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "aba_stack",
        pattern: "a compare-and-swap takes an old value that has come back for one that never left",
        buggy: || run(0, 0),
        correct: || run(VERSION, 0),
        facts: Facts::new(FailureKind::Panic, 2, 1),
    },
    Story {
        name: "aba_busy",
        pattern: "the same with more threads",
        buggy: || run(0, 2),
        correct: || run(VERSION, 2),
        facts: Facts::large(FailureKind::Panic, 4),
    },
];

/// What each change adds to the word with the first node, if anything.
const VERSION: usize = 4;

struct Stack {
    /// The first node, and above it how often it was changed; node 0 is no node.
    first: AtomicUsize,
    next: [AtomicUsize; 4],
    change: usize,
}

impl Stack {
    fn replace(&self, seen: usize, node: usize) -> bool {
        let word = (seen & !(VERSION - 1)) + node + self.change;
        let replaced = self.first.compare_exchange(seen, word, SeqCst, SeqCst);
        replaced.is_ok()
    }

    fn pop(&self) -> usize {
        loop {
            let seen = self.first.load(SeqCst);
            let node = seen % VERSION;
            if node == 0 {
                return 0;
            }
            let next = self.next[node].load(SeqCst);
            if self.replace(seen, next) {
                return node;
            }
        }
    }

    fn push(&self, node: usize) {
        loop {
            let seen = self.first.load(SeqCst);
            self.next[node].store(seen % VERSION, SeqCst);
            if self.replace(seen, node) {
                return;
            }
        }
    }
}

fn run(change: usize, more: usize) {
    // Node 3 on node 2 on node 1.
    let stack = Stack {
        first: AtomicUsize::new(3),
        next: [0, 0, 1, 2].map(AtomicUsize::new),
        change,
    };
    let both = Arc::new((stack, [0, 0].map(AtomicUsize::new)));
    crowd(2 + more, &both, |(stack, owned), number| {
        let node = stack.pop();
        if number == 0 {
            return owned[0].store(node, SeqCst);
        }
        if number == 1 {
            owned[1].store(stack.pop(), SeqCst);
        }
        if node != 0 {
            stack.push(node);
        }
    });
    let (stack, owned) = &*both;
    let mut nodes: Vec<_> = owned.iter().map(|node| node.load(SeqCst)).collect();
    // Who found nothing owns nothing.
    nodes.retain(|&node| node != 0);
    while nodes.len() < 4 {
        nodes.push(stack.pop());
    }
    nodes.sort_unstable();
    assert_eq!(
        nodes,
        [0, 1, 2, 3],
        "a node is in two places, another is lost"
    );
}
