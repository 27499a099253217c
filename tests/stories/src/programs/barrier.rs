//! Meeting points. In *barrier reuse* the last to arrive sets the count back and wakes the others,
//! who go on when they see that it is; a fast one may have arrived for the next round by then. In
//! *missing barrier* everybody writes in one phase and reads the neighbour's in the next, and one
//! of the two meetings was left out.
//!
//! Reuse needs no preemption: the thread that wakes the others goes on to the next round. The
//! missing barrier needs none either: after a meeting any thread may go on first.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "barrier_reuse",
        pattern: "a barrier tells rounds apart by a count that starts anew",
        buggy: || rounds(Meeting::wait_for_zero),
        correct: || rounds(Meeting::wait_for_round),
        facts: Facts::new(FailureKind::Deadlock, 3, 0),
    },
    Story {
        name: "missing_barrier",
        pattern: "phases of a computation with no meeting between them",
        buggy: || phases(|_| ()),
        correct: || phases(|barrier| _ = barrier.wait()),
        facts: Facts::new(FailureKind::Panic, 3, 0),
    },
];

const THREADS: usize = 3;

#[derive(Default)]
struct Meeting {
    /// How many have arrived, and in which round.
    state: Mutex<(usize, usize)>,
    complete: Condvar,
}

impl Meeting {
    /// Arrives; true if another thread completes the round.
    fn arrive(&self) -> (MutexGuard<'_, (usize, usize)>, bool) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        let is_last = state.0 == THREADS;
        if is_last {
            *state = (0, state.1 + 1);
            self.complete.notify_all();
        }
        (state, !is_last)
    }

    fn wait_for_zero(&self) {
        let (mut state, must_wait) = self.arrive();
        while must_wait && state.0 != 0 {
            state = self.complete.wait(state).unwrap();
        }
    }

    fn wait_for_round(&self) {
        let (mut state, must_wait) = self.arrive();
        let round = state.1;
        while must_wait && state.1 == round {
            state = self.complete.wait(state).unwrap();
        }
    }
}

fn rounds(wait: fn(&Meeting)) {
    crowd(THREADS, &Arc::new(Meeting::default()), move |meeting, _| {
        wait(meeting);
        wait(meeting);
    });
}

fn phases(second_meeting: fn(&Barrier)) {
    let shared = Arc::new((Barrier::new(THREADS), [0, 0, 0].map(AtomicUsize::new)));
    crowd(THREADS, &shared, move |(barrier, cells), number| {
        for phase in 1..=2 {
            cells[number].store(phase, SeqCst);
            barrier.wait();
            let neighbour = cells[(number + 1) % THREADS].load(SeqCst);
            assert_eq!(neighbour, phase, "the neighbour is in another phase");
            second_meeting(barrier);
        }
    });
}
