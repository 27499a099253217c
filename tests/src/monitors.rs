//! Readers and writers in a monitor, as Lei and Carver have them.

use raddle::monitor::{Discipline, Monitor};

use crate::programs::run_threads;

/// Three readers, two writers, readers preferred, signal and urgent wait.
pub fn urgent_readers_and_writers() {
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
/// not come back yet are counted.
pub fn continuing_readers_and_writers() {
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
