//! A work-stealing deque: its owner pushes and pops at one end, thieves steal at the other. The
//! last job is at both ends. The owner claims a place by moving its end and must race with thieves
//! for the last one; here it forgets to, and a thief that has looked before still steals it.
//!
//! Two preemptions: a thief looks when there is a job, so the owner must be interrupted before it
//! pops it, and the thief before it takes it.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "work_stealing",
    pattern: "the owner of a deque does not race with thieves for the last job",
    buggy: || run(|_, _| true),
    correct: || {
        run(|deque, place| {
            let won = deque.top.compare_exchange(place, place + 1, SeqCst, SeqCst);
            deque.bottom.store(place + 1, SeqCst);
            won.is_ok()
        })
    },
    facts: Facts::new(FailureKind::Panic, 3, 2),
}];

const JOBS: usize = 2;

#[derive(Default)]
struct Deque {
    /// Jobs are at the places from `top` up to `bottom`.
    top: AtomicUsize,
    bottom: AtomicUsize,
    done: [AtomicUsize; JOBS],
}

impl Deque {
    fn work(&self, place: usize) {
        let before = self.done[place].fetch_add(1, SeqCst);
        assert_eq!(before, 0, "a job was done twice");
    }

    fn push(&self) {
        let bottom = self.bottom.load(SeqCst);
        self.bottom.store(bottom + 1, SeqCst);
    }

    fn pop(&self, claim_last: fn(&Deque, usize) -> bool) {
        let bottom = self.bottom.load(SeqCst);
        if bottom == 0 {
            return;
        }
        let place = bottom - 1;
        self.bottom.store(place, SeqCst);
        let top = self.top.load(SeqCst);
        if top > place {
            self.bottom.store(top, SeqCst);
        } else if top < place || claim_last(self, place) {
            self.work(place);
        }
    }

    fn steal(&self) {
        let top = self.top.load(SeqCst);
        let bottom = self.bottom.load(SeqCst);
        if top >= bottom {
            return;
        }
        let taken = self.top.compare_exchange(top, top + 1, SeqCst, SeqCst);
        if taken.is_ok() {
            self.work(top);
        }
    }
}

fn run(claim_last: fn(&Deque, usize) -> bool) {
    crowd(3, &Arc::new(Deque::default()), move |deque, number| {
        if number == 0 {
            for _ in 0..JOBS {
                deque.push();
            }
            for _ in 0..JOBS {
                deque.pop(claim_last);
            }
        } else {
            deque.steal();
        }
    });
}
