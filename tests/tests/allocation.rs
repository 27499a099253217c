//! A scheduling point allocates nothing once the buffers have grown, whatever the strategy.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64 as StdAtomicU64, Ordering::Relaxed};

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, Strategy, thread};

struct Counting;

static ALLOCATIONS: StdAtomicU64 = StdAtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as for this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as for this function.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as for this function.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two threads that each load, store, and take a lock, `rounds` times.
fn program(rounds: usize) {
    let shared = Arc::new((AtomicUsize::new(0), Mutex::new(0)));
    let work = move |shared: &(AtomicUsize, Mutex<usize>)| {
        for _ in 0..rounds {
            let value = shared.0.load(SeqCst);
            shared.0.store(value + 1, SeqCst);
            *shared.1.lock().unwrap() += 1;
        }
    };
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || work(&other));
    work(&shared);
    thread.join().unwrap();
}

/// Number of allocations of a check with this number of executions and of rounds in each.
fn allocations(strategy: &Strategy, executions: u64, rounds: usize) -> u64 {
    let before = ALLOCATIONS.load(Relaxed);
    let checker = Checker::new()
        .strategy(strategy.clone())
        .max_executions(executions);
    checker.run(move || program(rounds)).assert_ok();
    ALLOCATIONS.load(Relaxed) - before
}

// One test only: others running beside it would be counted too.
#[test]
fn scheduling_points_allocate_nothing_in_steady_state() {
    for strategy in [
        Strategy::Random,
        Strategy::Pct { depth: 3 },
        Strategy::Pos,
        Strategy::Urw,
        Strategy::Surw,
        Strategy::History,
        Strategy::Noise { probability: 0.1 },
        Strategy::Exhaustive,
    ] {
        let per_execution = |rounds: usize| {
            // What a check costs at the start, growing buffers included, cancels out, and so do the
            // samples of an estimate, which are runs: none is made between these numbers of them.
            let few = allocations(&strategy, 3_000, rounds);
            let many = allocations(&strategy, 4_000, rounds);
            (many - few) as f64 / 1_000.0
        };
        let (short, long) = (per_execution(5), per_execution(50));
        println!("{strategy}: {short} and {long} allocations an execution");
        // Rounds make 4 scheduling points in each of two threads. An allocation at even one point
        // in a hundred would show as 3.6 more.
        assert!(
            (long - short).abs() < 1.0,
            "{strategy}: {short} became {long}"
        );
    }
}
