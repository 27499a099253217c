//! Programs whose number of classes is known, from the literature or by counting on paper.

use raddle::monitor::Discipline;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::messages::{
    distributed_mutual_exclusion, selecting_buffer, selecting_readers_and_writers,
};
use crate::monitors::{continuing_readers_and_writers, urgent_readers_and_writers};
use crate::programs::{
    baton, buffer_in_a_monitor, buffer_with_semaphores, dining, mutex_counter, philosophers,
    racy_counter, run_threads,
};

/// A program and the number of its classes.
pub struct Sized {
    /// What to call it.
    pub name: &'static str,
    /// How many classes it has.
    pub classes: u64,
    /// The program.
    pub body: fn(),
}

/// Twenty programs, from a few classes to many.
pub const PROGRAMS: [Sized; 20] = [
    sized("mutex_3x1", 6, || mutex_counter(3, 1)),
    sized("racy_2x2", 34, || _ = racy_counter(2, 2)),
    sized("racy_3x1", 36, || _ = racy_counter(3, 1)),
    sized("mutex_3x2", 90, || mutex_counter(3, 2)),
    sized("buffer_select", 144, || selecting_buffer(3, 3, 2)),
    sized("buffer_semaphores", 324, buffer_with_semaphores),
    sized("philosophers_9", 511, || philosophers(9)),
    sized("dining_4", 624, || dining(4)),
    sized("add_6", 720, || add(6)),
    sized("buffer_urgent", 720, || {
        buffer_in_a_monitor(Discipline::SignalUrgent);
    }),
    sized("readers_select", 768, || {
        selecting_readers_and_writers(3, 2)
    }),
    sized("mutex_4x2", 2_520, || mutex_counter(4, 2)),
    sized("exclusion", 4_032, || distributed_mutual_exclusion(3)),
    sized("racy_3x2", 7_134, || _ = racy_counter(3, 2)),
    sized("buffer_continue", 12_096, || {
        buffer_in_a_monitor(Discipline::SignalContinue);
    }),
    sized("readers_urgent", 13_320, urgent_readers_and_writers),
    sized("dining_5", 19_330, || dining(5)),
    sized("readers_baton", 21_744, baton),
    sized("add_8", 40_320, || add(8)),
    sized("readers_continue", 61_716, continuing_readers_and_writers),
];

const fn sized(name: &'static str, classes: u64, body: fn()) -> Sized {
    Sized {
        name,
        classes,
        body,
    }
}

/// Each thread adds to a counter, once.
fn add(threads: usize) {
    let counter = AtomicUsize::new(0);
    run_threads(threads, move |_| {
        counter.fetch_add(1, SeqCst);
    });
}
