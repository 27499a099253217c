//! Queues of threads in waits for which the engine has no object, or which can be interrupted.
//! Examples are waits for data in a pipe, and at a condition variable until a signal comes.
//!
//! Each queue has a location of the engine, and each use of the queue first adds to that location.
//! So the engine explores the order of all uses of one queue, and a queue may be plain data. A
//! *waiter* is a semaphore without permits that is used for one wait; a thread may be in several
//! queues with one waiter.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use raddle_engine::object::{self, Object, semaphore};
use raddle_engine::{LocationId, Operation, Update, UpdateKind, World};

use crate::abi::caller::{self, keeping_top};
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::memory::objects;

/// Identifies the semaphore of a wait, by an address that is never the program's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiter {
    address: usize,
    kind: &'static str,
}

/// Identifies a queue: an address, or a number that stands for one, and its kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueKey {
    pub(crate) address: usize,
    pub(crate) kind: &'static str,
}

#[derive(Default)]
struct Queue {
    location: Option<LocationId>,
    waiting: Vec<Waiter>,
}

/// All queues of the execution.
#[derive(Default)]
pub(crate) struct Queues {
    queues: BTreeMap<usize, Queue>,
    waiters: usize,
}

impl Part for Queues {}

pub(crate) static QUEUES: PartCell<Queues> = PartCell::new();

/// First address of waiters, beyond the program's addresses.
const FIRST_WAITER: usize = 1 << 62;
const STEP: usize = 16;

fn with_queue<R>(key: QueueKey, use_it: impl FnOnce(&mut Queue) -> R) -> R {
    let mut queues = QUEUES.get();
    use_it(queues.queues.entry(key.address).or_default())
}

/// Performs an update of a location that is created at its first use.
pub(crate) fn update(
    key: QueueKey,
    location: impl FnOnce(&mut dyn FnMut() -> LocationId) -> LocationId,
    kind: UpdateKind,
    code: usize,
) -> u64 {
    let native = running();
    let operation = |world: &mut World| {
        let mut new = || native.add_location(world, key.kind, key.address, 0);
        Operation::Update {
            location: location(&mut new),
            ordering: Ordering::AcqRel,
            failure: Ordering::Acquire,
            update: Update { kind, bits: 64 },
        }
    };
    keeping_top(|| native.perform(code, operation)).to_value()
}

/// Performs a use of the queue by the running thread, ordered with those of other threads.
pub(crate) fn synchronize(key: QueueKey, code: usize) {
    let location = |new: &mut dyn FnMut() -> LocationId| {
        with_queue(key, |queue| *queue.location.get_or_insert_with(new))
    };
    update(key, location, UpdateKind::Add(1), code);
}

/// Performs a poll of the queue by the running thread, as a loop may do repeatedly. It changes
/// nothing.
pub(crate) fn observe(key: QueueKey, code: usize) {
    let native = running();
    let operation = |world: &mut World| {
        let new = || native.add_location(world, key.kind, key.address, 0);
        Operation::Load {
            location: with_queue(key, |queue| *queue.location.get_or_insert_with(new)),
            ordering: Ordering::Acquire,
        }
    };
    let top = caller::top();
    keeping_top(|| native.observe(code, top, operation));
}

/// Returns a waiter for one wait of the running thread.
pub(crate) fn new_waiter(kind: &'static str) -> Waiter {
    let mut queues = QUEUES.get();
    queues.waiters += 1;
    Waiter {
        address: FIRST_WAITER + queues.waiters * STEP,
        kind,
    }
}

/// Adds the waiter to the queue. The running thread must have just synchronized with it.
pub(crate) fn enqueue(key: QueueKey, waiter: Waiter) {
    with_queue(key, |queue| queue.waiting.push(waiter));
}

/// Removes the waiter from the queue. The running thread must have just synchronized with it.
/// Returns true if another thread had removed the waiter.
pub(crate) fn remove(key: QueueKey, waiter: Waiter) -> bool {
    with_queue(key, |queue| {
        let before = queue.waiting.len();
        queue.waiting.retain(|&one| one != waiter);
        before == queue.waiting.len()
    })
}

/// Waits until the waiter is woken.
pub(super) fn block(waiter: Waiter, code: usize) {
    call(waiter, semaphore::Call::Acquire, code);
}

fn call(waiter: Waiter, call: semaphore::Call, code: usize) {
    let initial = || Object::Semaphore(semaphore::Semaphore::counting(0));
    let call = object::Call::Semaphore(call);
    keeping_top(|| objects::call(waiter.address, waiter.kind, initial, call, code));
}

/// Wakes the waiter.
pub(crate) fn wake(waiter: Waiter, code: usize) {
    call(waiter, semaphore::Call::Release, code);
}

/// Wakes all waiters of the queue. The running thread must have just synchronized with it.
pub(crate) fn wake_all(key: QueueKey, code: usize) {
    let waiting = with_queue(key, |queue| std::mem::take(&mut queue.waiting));
    for waiter in waiting {
        wake(waiter, code);
    }
}

/// Synchronizes with the queue and wakes any one of its waiters.
pub(crate) fn wake_one(key: QueueKey, code: usize) {
    synchronize(key, code);
    let waiting = with_queue(key, |queue| queue.waiting.clone());
    let mut chosen = 0;
    if let Ok(alternatives @ 2..) = u32::try_from(waiting.len()) {
        let choose = |_: &mut _| Operation::Choose { alternatives };
        chosen = keeping_top(|| running().perform(code, choose)).to_value() as usize;
        synchronize(key, code);
    }
    // Another thread may have woken the chosen waiter; then a different one is woken.
    let waiter = with_queue(key, |queue| {
        let still = |waiter: &Waiter| queue.waiting.contains(waiter);
        let chosen = waiting.get(chosen).filter(|waiter| still(waiter));
        let waiter = chosen.or_else(|| waiting.iter().find(|waiter| still(waiter)))?;
        queue.waiting.retain(|one| one != waiter);
        Some(*waiter)
    });
    if let Some(waiter) = waiter {
        wake(waiter, code);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn waiters_leave_the_queue_that_they_are_in() {
        QUEUES.install(Box::leak(Box::new(RefCell::new(Queues::default()))));
        let key = |address| QueueKey {
            address,
            kind: "test",
        };
        let waiters: Vec<Waiter> = (0..3).map(|_| new_waiter("test")).collect();
        assert!(waiters[0] != waiters[1] && waiters[1] != waiters[2] && waiters[0] != waiters[2]);
        for &waiter in &waiters {
            enqueue(key(16), waiter);
        }
        enqueue(key(32), waiters[1]);
        assert!(!remove(key(16), waiters[1]), "it was there");
        assert!(remove(key(16), waiters[1]), "it is gone");
        assert!(!remove(key(32), waiters[1]), "another queue");
        let left = with_queue(key(16), |queue| queue.waiting.clone());
        assert!(
            left == [waiters[0], waiters[2]],
            "in the order in which they came"
        );
        QUEUES.get().renew();
        assert!(
            remove(key(16), waiters[0]),
            "an execution begins without waiters"
        );
    }
}
