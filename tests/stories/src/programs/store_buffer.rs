//! Two threads announce that they want to enter and look whether the other does; neither sees the
//! other. Acquire and release are not enough for that, because nothing orders a write before a
//! later read of something else. All of these need weak memory. No thread waits: one that would
//! have to gives up.
//!
//! *Dekker*: just the flags. *Peterson*: the whole algorithm. *Thief*: a work-stealing deque, whose
//! owner moves its end and then reads the other (Chase and Lev 2005; the fence is the point of Lê
//! and others, PPoPP 2013). *Disagreement*: two observers see two writes in different orders. The
//! twins are sequentially consistent where it matters.
//!
//! One preemption for Peterson, so that both are inside at the same time. None for the others: a
//! stale read is enough.

use std::sync::atomic::Ordering;

use super::prelude::*;

const fn story(
    name: &'static str,
    pattern: &'static str,
    (threads, preemptions): (usize, u32),
    buggy: fn(),
    correct: fn(),
) -> Story {
    Story {
        name,
        pattern,
        buggy,
        correct,
        facts: Facts::new(FailureKind::Panic, threads, preemptions).weak(),
    }
}

pub(super) const STORIES: &[Story] = &[
    story(
        "dekker",
        "two flags with acquire and release, and neither is seen",
        (2, 0),
        || dekker(Release, Acquire),
        || dekker(SeqCst, SeqCst),
    ),
    story(
        "peterson",
        "Peterson's algorithm with acquire and release",
        (2, 1),
        || peterson(Release, Acquire),
        || peterson(SeqCst, SeqCst),
    ),
    story(
        "thief",
        "the owner of a deque and a thief both take the last job",
        (3, 0),
        || thief(Release, Acquire),
        || thief(SeqCst, SeqCst),
    ),
    story(
        "disagreement",
        "two observers see two writes in different orders",
        (4, 0),
        || disagreement(Release, Acquire),
        || disagreement(SeqCst, SeqCst),
    ),
];

fn dekker(write: Ordering, read: Ordering) {
    let door = Arc::new([0, 0, 0].map(AtomicUsize::new));
    crowd(2, &door, move |door, me| {
        door[me].store(1, write);
        if door[1 - me].load(read) == 0 {
            let before = door[2].fetch_add(1, Relaxed);
            assert_eq!(before, 0, "both were first");
        }
    });
}

#[derive(Default)]
struct Door {
    wants: [AtomicBool; 2],
    turn: AtomicUsize,
    inside: AtomicUsize,
}

fn peterson(write: Ordering, read: Ordering) {
    crowd(2, &Arc::new(Door::default()), move |door, me| {
        let other = 1 - me;
        door.wants[me].store(true, write);
        door.turn.store(other, write);
        let must_wait = door.wants[other].load(read) && door.turn.load(read) == other;
        if !must_wait {
            let others = door.inside.fetch_add(1, SeqCst);
            assert_eq!(others, 0, "two threads are inside");
            door.inside.fetch_sub(1, SeqCst);
        }
        door.wants[me].store(false, Release);
    });
}

#[derive(Default)]
struct Deque {
    top: AtomicUsize,
    bottom: AtomicUsize,
    done: [AtomicUsize; 2],
}

impl Deque {
    fn work(&self, place: usize) {
        let before = self.done[place].fetch_add(1, Relaxed);
        assert_eq!(before, 0, "a job was done twice");
    }

    fn take(&self, place: usize) -> bool {
        let taken = self.top.compare_exchange(place, place + 1, SeqCst, Relaxed);
        taken.is_ok()
    }
}

fn thief(write: Ordering, read: Ordering) {
    let deque = Arc::new(Deque {
        bottom: AtomicUsize::new(2),
        ..Deque::default()
    });
    crowd(3, &deque, move |deque, number| {
        if number > 0 {
            let top = deque.top.load(read);
            let bottom = deque.bottom.load(read);
            if top < bottom && deque.take(top) {
                deque.work(top);
            }
            return;
        }
        // The owner takes its newest job: the one at place 1.
        deque.bottom.store(1, write);
        let top = deque.top.load(read);
        if top < 1 || (top == 1 && deque.take(1)) {
            deque.work(1);
        }
    });
}

fn disagreement(write: Ordering, read: Ordering) {
    let shared = Arc::new([0, 0, 0].map(AtomicUsize::new));
    crowd(4, &shared, move |shared, number| match number {
        0 | 1 => shared[number].store(1, write),
        _ => {
            let (first, second) = (number - 2, 3 - number);
            if shared[first].load(read) == 1 && shared[second].load(read) == 0 {
                let before = shared[2].fetch_add(1, Relaxed);
                assert_eq!(before, 0, "each was before the other");
            }
        }
    });
}
