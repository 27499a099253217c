//! The litmus tests that everybody knows. An outcome has a digit for each value that was read.

use super::sync::Arc;
use super::sync::atomic::{AtomicU32, Ordering, fence};
use super::thread;

use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

struct Shared {
    x: AtomicU32,
    y: AtomicU32,
}

fn shared() -> Arc<Shared> {
    Arc::new(Shared {
        x: AtomicU32::new(0),
        y: AtomicU32::new(0),
    })
}

/// What the threads return, a digit each or more.
fn run<const N: usize>(threads: [fn(&Shared) -> u32; N], digits: [u32; N]) -> u32 {
    let shared = shared();
    let threads = threads.map(|act| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || act(&shared))
    });
    let mut outcome = 0;
    for (thread, digits) in threads.into_iter().zip(digits) {
        outcome = outcome * 10_u32.pow(digits) + thread.join().unwrap();
    }
    outcome
}

/// Message passing: the flag, then the value.
pub fn mp_relaxed() -> u32 {
    let write = |shared: &Shared| {
        shared.x.store(1, Relaxed);
        shared.y.store(1, Relaxed);
        0
    };
    let read = |shared: &Shared| {
        let flag = shared.y.load(Relaxed);
        flag * 10 + shared.x.load(Relaxed)
    };
    run([write, read], [0, 2])
}

pub fn mp_released() -> u32 {
    let write = |shared: &Shared| {
        shared.x.store(1, Relaxed);
        shared.y.store(1, Release);
        0
    };
    let read = |shared: &Shared| {
        let flag = shared.y.load(Acquire);
        flag * 10 + shared.x.load(Relaxed)
    };
    run([write, read], [0, 2])
}

pub fn mp_fenced() -> u32 {
    let write = |shared: &Shared| {
        shared.x.store(1, Relaxed);
        fence(Release);
        shared.y.store(1, Relaxed);
        0
    };
    let read = |shared: &Shared| {
        let flag = shared.y.load(Relaxed);
        fence(Acquire);
        flag * 10 + shared.x.load(Relaxed)
    };
    run([write, read], [0, 2])
}

/// Store buffering: both write, and read what the other writes.
pub fn sb_relaxed() -> u32 {
    let one = |shared: &Shared| {
        shared.x.store(1, Relaxed);
        shared.y.load(Relaxed)
    };
    let other = |shared: &Shared| {
        shared.y.store(1, Relaxed);
        shared.x.load(Relaxed)
    };
    run([one, other], [1, 1])
}

pub fn sb_ordered() -> u32 {
    let one = |shared: &Shared| {
        shared.x.store(1, SeqCst);
        shared.y.load(SeqCst)
    };
    let other = |shared: &Shared| {
        shared.y.store(1, SeqCst);
        shared.x.load(SeqCst)
    };
    run([one, other], [1, 1])
}

pub fn sb_fenced() -> u32 {
    let one = |shared: &Shared| {
        shared.x.store(1, Relaxed);
        fence(SeqCst);
        shared.y.load(Relaxed)
    };
    let other = |shared: &Shared| {
        shared.y.store(1, Relaxed);
        fence(SeqCst);
        shared.x.load(Relaxed)
    };
    run([one, other], [1, 1])
}

/// Load buffering: both read, and write what the other reads.
pub fn lb_relaxed() -> u32 {
    let one = |shared: &Shared| {
        let seen = shared.x.load(Relaxed);
        shared.y.store(1, Relaxed);
        seen
    };
    let other = |shared: &Shared| {
        let seen = shared.y.load(Relaxed);
        shared.x.store(1, Relaxed);
        seen
    };
    run([one, other], [1, 1])
}

/// Two reads of what is written twice never go back.
pub fn corr() -> u32 {
    let write = |shared: &Shared| {
        shared.x.store(1, Relaxed);
        shared.x.store(2, Relaxed);
        0
    };
    let read = |shared: &Shared| {
        let first = shared.x.load(Relaxed);
        first * 10 + shared.x.load(Relaxed)
    };
    run([write, read], [0, 2])
}

/// Both write twice, in opposite orders; what is there at the end.
pub fn two_plus_two() -> u32 {
    let shared = shared();
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        other.x.store(1, Relaxed);
        other.y.store(2, Relaxed);
    });
    shared.y.store(1, Relaxed);
    shared.x.store(2, Relaxed);
    thread.join().unwrap();
    shared.x.load(Relaxed) * 10 + shared.y.load(Relaxed)
}

/// Independent reads of independent writes, in opposite orders.
pub fn iriw_relaxed() -> u32 {
    iriw(
        |shared| {
            let first = shared.x.load(Relaxed);
            first * 10 + shared.y.load(Relaxed)
        },
        |shared| {
            let first = shared.y.load(Relaxed);
            first * 10 + shared.x.load(Relaxed)
        },
    )
}

pub fn iriw_ordered() -> u32 {
    iriw(
        |shared| {
            let first = shared.x.load(SeqCst);
            first * 10 + shared.y.load(SeqCst)
        },
        |shared| {
            let first = shared.y.load(SeqCst);
            first * 10 + shared.x.load(SeqCst)
        },
    )
}

fn iriw(one: fn(&Shared) -> u32, other: fn(&Shared) -> u32) -> u32 {
    let x = |shared: &Shared| {
        shared.x.store(1, SeqCst);
        0
    };
    let y = |shared: &Shared| {
        shared.y.store(1, SeqCst);
        0
    };
    run([x, y, one, other], [0, 0, 2, 2])
}

/// A read-modify-write of another thread goes on with what was released.
pub fn release_sequence() -> u32 {
    let add = |shared: &Shared| {
        let _ = shared.y.compare_exchange(1, 2, Relaxed, Relaxed);
        0
    };
    run([publish, add, subscribe], [0, 0, 2])
}

/// A store of another thread does not.
pub fn broken_sequence() -> u32 {
    let store = |shared: &Shared| {
        if shared.y.load(Relaxed) == 1 {
            shared.y.store(2, Relaxed);
        }
        0
    };
    run([publish, store, subscribe], [0, 0, 2])
}

fn publish(shared: &Shared) -> u32 {
    shared.x.store(1, Relaxed);
    shared.y.store(1, Release);
    0
}

fn subscribe(shared: &Shared) -> u32 {
    let flag = shared.y.load(Acquire);
    flag * 10 + shared.x.load(Relaxed)
}

/// Two exchanges never see the same.
pub fn exchanges() -> u32 {
    let one = |shared: &Shared| shared.x.swap(1, AcqRel);
    let other = |shared: &Shared| shared.x.swap(2, AcqRel);
    run([one, other], [1, 1])
}
