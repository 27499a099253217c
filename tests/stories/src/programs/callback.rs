//! A result that comes later. Who wants it looks whether it is there and leaves a callback if it is
//! not; who completes it sets the result and calls the callbacks it finds. In *lost callback* the
//! result comes between the look and the callback. In *cancel* a result and a cancellation both
//! find the task undecided, and both report.
//!
//! One preemption each, between the look and what follows from it.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[
    Story {
        name: "lost_callback",
        pattern: "leaves a callback for what has happened in the meantime",
        buggy: || {
            subscribe(|task| {
                if *task.result.lock().unwrap() {
                    task.call();
                } else {
                    task.callbacks.lock().unwrap().push(());
                }
            })
        },
        correct: || {
            subscribe(|task| {
                let result = task.result.lock().unwrap();
                if *result {
                    task.call();
                } else {
                    task.callbacks.lock().unwrap().push(());
                }
            })
        },
        facts: Facts::new(FailureKind::Panic, 3, 1),
    },
    Story {
        name: "cancel",
        pattern: "a task is completed and cancelled at the same time",
        buggy: || {
            decide(|state, decision| {
                let undecided = state.load(SeqCst) == 0;
                if undecided {
                    state.store(decision, SeqCst);
                }
                undecided
            })
        },
        correct: || {
            decide(|state, decision| state.compare_exchange(0, decision, SeqCst, SeqCst).is_ok())
        },
        facts: Facts::new(FailureKind::Panic, 2, 1),
    },
];

#[derive(Default)]
struct Task {
    result: Mutex<bool>,
    callbacks: Mutex<Vec<()>>,
    called: AtomicUsize,
}

impl Task {
    fn call(&self) {
        self.called.fetch_add(1, SeqCst);
    }

    fn complete(&self) {
        *self.result.lock().unwrap() = true;
        let callbacks = std::mem::take(&mut *self.callbacks.lock().unwrap());
        for () in callbacks {
            self.call();
        }
    }
}

fn subscribe(subscribe: fn(&Task)) {
    let task = Arc::new(Task::default());
    crowd(3, &task, move |task, number| match number {
        0 => task.complete(),
        _ => subscribe(task),
    });
    assert_eq!(task.called.load(SeqCst), 2, "a callback was never called");
}

fn decide(decide: fn(&AtomicUsize, usize) -> bool) {
    let task = Arc::new([0, 0].map(AtomicUsize::new));
    crowd(2, &task, move |[state, reported], number| {
        if decide(state, number + 1) {
            let before = reported.fetch_add(1, SeqCst);
            assert_eq!(before, 0, "completed and cancelled");
        }
    });
}
