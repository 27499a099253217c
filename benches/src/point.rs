//! Nanoseconds for one scheduling point, with and without a switch of threads.
//!
//! One thread with nothing but atomic accesses never switches: its cost for each event is that of a
//! point without a switch. Two such threads under the random strategy switch at about half of their
//! points. The body counts the switches exactly, and the additional cost of the second program is
//! theirs. (It includes random numbers and mispredicted branches, which one thread does not have.)
//!
//! A switch is one suspension and one resumption; the same pair of a bare coroutine is a lower
//! bound.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use corosensei::{Coroutine, CoroutineResult};
use raddle::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use raddle::{Memory, thread};

use crate::measure::{Batch, take_turns};
use crate::programs::raddle::sampling;

const ROUNDS: usize = 9;
/// Accesses in one execution. Many, so that starting and ending threads hardly counts.
const ACCESSES: u64 = 10_000;

/// Prints a line for each memory model.
pub(crate) fn run() {
    measure("sc", Memory::Sc);
    measure("rc11", Memory::Rc11);
}

fn measure(name: &str, memory: Memory) {
    let switches = Arc::new(Switches::default());
    let alone = accesses(1, memory, &Arc::default());
    let both = accesses(2, memory, &switches);
    let rates = take_turns(ROUNDS, vec![alone, both, bare_switches()]);
    let [same_thread, half_switching, bare] = [0, 1, 2].map(|index| 1e9 / rates[index]);
    let extra = (half_switching - same_thread) / switches.share();
    let switch = same_thread + extra;
    println!(
        "point {name} same_thread_ns={same_thread:.1} switch_ns={switch:.1} \
         corosensei_switch_ns={bare:.1} x_switch={:.1}",
        switch / bare
    );
}

/// The thread of the last access and the number of changes. Plain memory to the checker.
#[derive(Default)]
pub(crate) struct Switches {
    last: AtomicU64,
    switches: AtomicU64,
    seen: AtomicU64,
}

impl Switches {
    fn see(&self, thread: u64) {
        let add = |counter: &AtomicU64, more| counter.store(counter.load(Relaxed) + more, Relaxed);
        add(&self.switches, u64::from(self.last.load(Relaxed) != thread));
        add(&self.seen, 1);
        self.last.store(thread, Relaxed);
    }

    /// Number of switches.
    pub(crate) fn count(&self) -> u64 {
        self.switches.load(Relaxed)
    }

    /// Switches per access.
    fn share(&self) -> f64 {
        self.count() as f64 / self.seen.load(Relaxed) as f64
    }
}

/// Batches of events of threads that share one atomic.
pub(crate) fn accesses(threads: u64, memory: Memory, switches: &Arc<Switches>) -> Batch<'static> {
    let switches = Arc::clone(switches);
    Box::new(move |events| {
        let executions = events.div_ceil(ACCESSES);
        let body = || {
            let shared = Arc::new(AtomicUsize::new(0));
            let started: Vec<_> = (1..threads)
                .map(|number| {
                    let (shared, switches) = (Arc::clone(&shared), Arc::clone(&switches));
                    thread::spawn(move || access(&shared, ACCESSES / threads, number, &switches))
                })
                .collect();
            access(&shared, ACCESSES / threads, 0, &switches);
            for thread in started {
                thread.join().unwrap();
            }
        };
        let check = sampling(executions).memory(memory).seed(events);
        check.run(body).assert_ok();
        executions * ACCESSES
    })
}

/// Loads and stores in turn.
fn access(shared: &AtomicUsize, count: u64, thread: u64, switches: &Switches) {
    for _ in 0..count / 2 {
        let value = shared.load(Relaxed);
        switches.see(thread);
        shared.store(value + 1, Relaxed);
        switches.see(thread);
    }
}

/// Batches of resumptions of a coroutine that does nothing but suspend itself.
fn bare_switches() -> Batch<'static> {
    Box::new(|pairs| {
        let mut coroutine = Coroutine::new(move |yielder, ()| {
            for _ in 0..pairs {
                yielder.suspend(());
            }
        });
        let mut resumed = 0;
        while let CoroutineResult::Yield(()) = coroutine.resume(()) {
            resumed += 1;
        }
        resumed
    })
}
