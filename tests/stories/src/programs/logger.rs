//! A logger holds its buffer's lock while it writes, and when the buffer is full it asks for the
//! configuration. Who reloads the configuration holds its lock and logs that it does. The two meet
//! only when the buffer is full. In the twin the reload logs after it has let go.
//!
//! No preemption: if it is the reload that fills the buffer, it waits for itself.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "logger",
    pattern: "logging needs what the one who logs has locked",
    buggy: || {
        run(|log| {
            let _configuration = log.configuration.lock().unwrap();
            write(log);
        })
    },
    correct: || {
        run(|log| {
            drop(log.configuration.lock().unwrap());
            write(log);
        })
    },
    facts: Facts::new(FailureKind::Deadlock, 3, 0),
}];

#[derive(Default)]
struct Log {
    buffer: Mutex<usize>,
    configuration: Mutex<()>,
}

/// Lines in a full buffer.
const FULL: usize = 3;

fn write(log: &Log) {
    let mut lines = log.buffer.lock().unwrap();
    *lines += 1;
    if *lines == FULL {
        let _where_to = log.configuration.lock().unwrap();
        *lines = 0;
    }
}

fn run(reload: fn(&Log)) {
    together(&Arc::new(Log::default()), [write, write, reload]);
}
