//! Small lock-free structures, the same text for loom and for raddle.
//!
//! Each is correct, so that both tools must run every class. Spin loops call `yield_now`, without
//! which loom gives up.

use super::{Arc, AtomicUsize, fence, spawn, yield_now};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// Runs these in threads of their own and joins them.
fn together<const N: usize>(bodies: [Box<dyn FnOnce() + Send>; N]) {
    let threads: Vec<_> = bodies.into_iter().map(spawn).collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// Runs this in `N` threads.
fn crowd<const N: usize, T: Send + Sync + 'static>(shared: &Arc<T>, body: fn(&T, usize)) {
    together::<N>(std::array::from_fn(|number| {
        let shared = Arc::clone(shared);
        Box::new(move || body(&shared, number)) as Box<dyn FnOnce() + Send>
    }));
}

const NOBODY: usize = 0;

/// A stack of numbered nodes: `next` of each, and the top node.
struct Stack {
    top: AtomicUsize,
    next: [AtomicUsize; 4],
}

impl Stack {
    fn push(&self, node: usize) {
        let mut top = self.top.load(Relaxed);
        loop {
            self.next[node].store(top, Relaxed);
            match self.top.compare_exchange(top, node, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        let mut top = self.top.load(Acquire);
        while top != NOBODY {
            let next = self.next[top].load(Relaxed);
            match self.top.compare_exchange(top, next, Acquire, Acquire) {
                Ok(_) => return Some(top),
                Err(now) => top = now,
            }
        }
        None
    }
}

/// Treiber's stack: threads push a node each and pop one, and no node is lost.
pub(crate) fn treiber_stack() {
    let stack = Arc::new(Stack {
        top: AtomicUsize::new(NOBODY),
        next: std::array::from_fn(|_| AtomicUsize::new(NOBODY)),
    });
    crowd::<2, _>(&stack, |stack, number| {
        stack.push(number + 1);
        assert!(stack.pop().is_some());
    });
    assert_eq!(stack.pop(), None);
}

/// A spin lock around a counter that is updated in two steps.
pub(crate) fn spin_lock() {
    let lock = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    crowd::<2, _>(&lock, |(lock, counter), _| {
        while lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            yield_now();
        }
        counter.store(counter.load(Relaxed) + 1, Relaxed);
        lock.store(0, Release);
    });
    assert_eq!(lock.1.load(Relaxed), 2);
}

/// A ticket lock: callers draw numbers and wait for their turn.
pub(crate) fn ticket_lock() {
    let lock = Arc::new([0; 3].map(AtomicUsize::new));
    crowd::<2, _>(&lock, |[next, now, counter], _| {
        let ticket = next.fetch_add(1, Relaxed);
        while now.load(Acquire) != ticket {
            yield_now();
        }
        counter.store(counter.load(Relaxed) + 1, Relaxed);
        now.store(ticket + 1, Release);
    });
    assert_eq!(lock[2].load(Relaxed), 2);
}

/// A reader that reads the same version twice has read the two halves of one value.
pub(crate) fn seqlock() {
    let lock = Arc::new([0; 3].map(AtomicUsize::new));
    let writer = Arc::clone(&lock);
    let write = move || {
        let [version, left, right] = &*writer;
        for value in 1..=2 {
            version.store(2 * value - 1, Relaxed);
            fence(Release);
            left.store(value, Relaxed);
            right.store(value, Relaxed);
            version.store(2 * value, Release);
        }
    };
    let read = move || {
        let [version, left, right] = &*lock;
        let before = version.load(Acquire);
        let seen = (left.load(Relaxed), right.load(Relaxed));
        fence(Acquire);
        if before % 2 == 0 && version.load(Relaxed) == before {
            assert_eq!(seen.0, seen.1);
        }
    };
    together([Box::new(write), Box::new(read)]);
}

/// The thread that drops the last reference observes all accesses through the others.
pub(crate) fn reference_count() {
    let shared = Arc::new([3, 0, 0, 0].map(AtomicUsize::new));
    crowd::<3, _>(&shared, |[count, used @ ..], number| {
        used[number].store(1, Relaxed);
        if count.fetch_sub(1, Release) == 1 {
            fence(Acquire);
            assert!(used.iter().all(|one| one.load(Relaxed) == 1));
        }
    });
}

/// A writer replaces a published value; readers get the old or the new one, whole.
pub(crate) fn publish() {
    let shared = Arc::new([0; 3].map(AtomicUsize::new));
    crowd::<3, _>(&shared, |[current, values @ ..], number| {
        if number == 0 {
            for slot in [1, 2] {
                values[slot - 1].store(10 * slot, Relaxed);
                current.store(slot, Release);
            }
            return;
        }
        let slot = current.load(Acquire);
        if slot > 0 {
            assert_eq!(values[slot - 1].load(Relaxed), 10 * slot);
        }
    });
}

/// Peterson's lock with `SeqCst`, whose callers give up rather than wait.
pub(crate) fn peterson() {
    let shared = Arc::new([0; 4].map(AtomicUsize::new));
    crowd::<2, _>(&shared, |[wants_0, wants_1, turn, inside], number| {
        let (mine, other) = match number {
            0 => (wants_0, wants_1),
            _ => (wants_1, wants_0),
        };
        mine.store(1, SeqCst);
        turn.store(1 - number, SeqCst);
        if other.load(SeqCst) == 0 || turn.load(SeqCst) == number {
            assert_eq!(inside.fetch_add(1, AcqRel), 0);
            inside.fetch_sub(1, AcqRel);
        }
        mine.store(0, SeqCst);
    });
}
