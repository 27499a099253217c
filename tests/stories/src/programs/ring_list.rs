//! A doubly linked ring, from which two threads each take the node they own. A node is taken out by
//! joining its neighbours; if the neighbours go at the same time, one of them comes back.
//!
//! One preemption, of a thread between reading its neighbours and joining them.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "ring_list",
    pattern: "neighbours are taken out of a list at the same time",
    buggy: || run(|ring, node| ring.take_out(node)),
    correct: || {
        run(|ring, node| {
            let _held = ring.lock.lock().unwrap();
            ring.take_out(node);
        })
    },
    facts: Facts::new(FailureKind::Panic, 2, 1),
}];

struct Ring {
    lock: Mutex<()>,
    next: [AtomicUsize; 4],
    previous: [AtomicUsize; 4],
}

impl Ring {
    fn take_out(&self, node: usize) {
        let next = self.next[node].load(SeqCst);
        let previous = self.previous[node].load(SeqCst);
        self.next[previous].store(next, SeqCst);
        self.previous[next].store(previous, SeqCst);
    }
}

fn run(take_out: fn(&Ring, usize)) {
    let ring = Arc::new(Ring {
        lock: Mutex::new(()),
        next: [1, 2, 3, 0].map(AtomicUsize::new),
        previous: [3, 0, 1, 2].map(AtomicUsize::new),
    });
    crowd(2, &ring, move |ring, number| take_out(ring, 1 + number));
    let left = [0, 3].map(|node| ring.next[node].load(SeqCst));
    assert_eq!(left, [3, 0], "a node that was taken out is still there");
}
