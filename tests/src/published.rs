//! Programs whose numbers of classes are published, with these numbers.
//!
//! Most are from Lei and Carver, "Reachability Testing of Concurrent Programs" (TR GMU-CS-2005-1).

use raddle::monitor::{Discipline, Monitor};
use raddle::sync::{Arc, Semaphore};

use crate::messages::{
    distributed_mutual_exclusion, selecting_buffer, selecting_readers_and_writers,
};
use crate::programs::{
    baton, buffer_in_a_monitor, buffer_with_semaphores, dining, mutex_counter, philosophers,
    racy_counter, run_threads,
};

/// A program with its name and its number of classes.
pub type Published = (&'static str, u64, fn());

/// All of them, the larger ones last.
pub const PROGRAMS: [Published; 17] = [
    ("mutex 3x2", 90, || mutex_counter(3, 2)),
    ("racy 2x2", 34, || {
        racy_counter(2, 2);
    }),
    ("racy 3x2", 7_134, || {
        racy_counter(3, 2);
    }),
    ("philosophers 8", 255, || philosophers(8)),
    ("DP-sema 8", 255, || philosophers_with_semaphores(8)),
    ("BB-sema", 324, buffer_with_semaphores),
    ("RW-sema", 21_744, baton),
    ("BB-monitorSU", 720, || {
        buffer_in_a_monitor(Discipline::SignalUrgent);
    }),
    ("BB-monitorSC", 12_096, || {
        buffer_in_a_monitor(Discipline::SignalContinue);
    }),
    ("RW-monitorSU", 13_320, readers_and_writers_urgent),
    ("DP-monitorSU 3", 30, || dining(3)),
    ("DP-monitorSU 4", 624, || dining(4)),
    ("DP-monitorSU 5", 19_330, || dining(5)),
    ("BB-select", 144, || selecting_buffer(3, 3, 2)),
    ("RW-select", 768, || selecting_readers_and_writers(3, 2)),
    ("DME", 4_032, || distributed_mutual_exclusion(3)),
    ("RW-monitorSC", 61_716, readers_and_writers_continuing),
];

/// Dining philosophers with a semaphore for each fork, who may deadlock.
pub fn philosophers_with_semaphores(count: usize) {
    let forks: Arc<Vec<_>> = Arc::new((0..count).map(|_| Semaphore::new(1)).collect());
    run_threads(count, move |seat| {
        let (left, right) = (&forks[seat], &forks[(seat + 1) % count]);
        left.acquire();
        right.acquire();
        left.release();
        right.release();
    });
}

/// Three readers, two writers, readers preferred, signal and urgent wait.
pub fn readers_and_writers_urgent() {
    #[derive(Default)]
    struct State {
        readers: u32,
        writing: bool,
    }
    let monitor = Monitor::new(Discipline::SignalUrgent, State::default());
    let (reader_queue, writer_queue) = (monitor.condition(), monitor.condition());
    run_threads(5, move |number| {
        if number < 3 {
            let mut state = monitor.enter();
            if state.writing {
                state.wait(reader_queue);
            }
            state.readers += 1;
            state.signal(reader_queue);
            drop(state);
            let mut state = monitor.enter();
            assert!(!state.writing);
            state.readers -= 1;
            if state.readers == 0 {
                state.signal(writer_queue);
            }
        } else {
            let mut state = monitor.enter();
            if state.readers > 0 || state.writing {
                state.wait(writer_queue);
            }
            state.writing = true;
            drop(state);
            let mut state = monitor.enter();
            assert_eq!(state.readers, 0);
            state.writing = false;
            if state.waiting(reader_queue) > 0 {
                state.signal(reader_queue);
            } else {
                state.signal(writer_queue);
            }
        }
    });
}

/// Three readers, two writers, readers preferred, signal and continue: signalled readers that have
/// not resumed yet are counted.
pub fn readers_and_writers_continuing() {
    #[derive(Default)]
    struct State {
        readers: u32,
        writing: bool,
        signalled: usize,
    }
    let monitor = Monitor::new(Discipline::SignalContinue, State::default());
    let (reader_queue, writer_queue) = (monitor.condition(), monitor.condition());
    run_threads(5, move |number| {
        if number < 3 {
            let mut state = monitor.enter();
            if state.writing {
                state.wait(reader_queue);
                state.signalled -= 1;
            }
            state.readers += 1;
            drop(state);
            let mut state = monitor.enter();
            assert!(!state.writing);
            state.readers -= 1;
            if state.readers == 0 && state.signalled == 0 {
                state.signal(writer_queue);
            }
        } else {
            let mut state = monitor.enter();
            while state.readers > 0 || state.writing || state.signalled > 0 {
                state.wait(writer_queue);
            }
            state.writing = true;
            drop(state);
            let mut state = monitor.enter();
            assert_eq!(state.readers, 0);
            state.writing = false;
            if state.waiting(reader_queue) > 0 {
                state.signalled = state.waiting(reader_queue);
                state.signal_all(reader_queue);
            } else {
                state.signal(writer_queue);
            }
        }
    });
}
