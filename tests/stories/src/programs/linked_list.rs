//! Threads append to a linked list: they walk to its last node and hang their own behind it, with
//! nothing that keeps others from doing the same. Of two that found the same last node, one is
//! lost. Retells *Linked List* of the cooperative-testing suite.
//!
//! One preemption, between finding the last node and changing it.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "linked_list",
    pattern: "finds the end of a list, then appends there without looking",
    buggy: || run(append_blindly),
    correct: || run(append_if_still_last),
    facts: Facts::new(FailureKind::Panic, 2, 1),
}];

/// Nodes by number: the next of each, and 0 if it is the last. The first is there from the start.
type List = [AtomicUsize; 5];

fn last(list: &List) -> usize {
    let mut node = 0;
    loop {
        match list[node].load(SeqCst) {
            0 => return node,
            next => node = next,
        }
    }
}

fn append_blindly(list: &List, node: usize) {
    list[last(list)].store(node, SeqCst);
}

fn append_if_still_last(list: &List, node: usize) {
    let is_last = |end: usize| {
        let appended = list[end].compare_exchange(0, node, SeqCst, SeqCst);
        appended.is_ok()
    };
    while !is_last(last(list)) {}
}

fn run(append: fn(&List, usize)) {
    let list = Arc::new(List::default());
    crowd(2, &list, move |list, thread| {
        append(list, 1 + 2 * thread);
        append(list, 2 + 2 * thread);
    });
    let mut length = 0;
    let mut node = 0;
    loop {
        node = list[node].load(SeqCst);
        if node == 0 {
            break;
        }
        length += 1;
    }
    assert_eq!(length, 4, "a node was lost");
}
