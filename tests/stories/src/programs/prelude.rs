//! What the programs use, and how they start their threads.

pub(crate) use super::super::backend::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, fence};
pub(crate) use super::super::backend::sync::{Barrier, Condvar, Mutex, MutexGuard, RwLock, mpsc};
pub(crate) use super::super::backend::thread::{self, JoinHandle};
pub(crate) use super::super::{Facts, FailureKind, Story};
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// Starts a thread for each of these and waits for all of them.
#[track_caller]
pub(crate) fn together<S: Send + Sync + 'static, const N: usize>(
    state: &Arc<S>,
    bodies: [fn(&S); N],
) {
    let mut threads: Vec<JoinHandle<()>> = Vec::with_capacity(N);
    for body in bodies {
        let state = Arc::clone(state);
        threads.push(thread::spawn(move || body(&state)));
    }
    join(threads);
}

/// Starts `count` threads that run `body`, with numbers from 0, and joins all of them.
#[track_caller]
pub(crate) fn crowd<S: Send + Sync + 'static>(
    count: usize,
    state: &Arc<S>,
    body: impl Fn(&S, usize) + Copy + Send + 'static,
) {
    let mut threads = Vec::with_capacity(count);
    for number in 0..count {
        let state = Arc::clone(state);
        threads.push(thread::spawn(move || body(&state, number)));
    }
    join(threads);
}

/// Waits for these threads.
pub(crate) fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}
