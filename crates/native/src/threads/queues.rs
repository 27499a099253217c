//! Queues of threads that wait for something which the engine has no object for, or in a way that
//! something else may put an end to: for data in a pipe, or at a condition variable until a signal comes.
//!
//! Each queue has a location of the engine's, and whoever looks at the queue or changes it first adds to
//! that. So everything that is done to one queue is in an order which the engine knows and explores, and
//! a queue may be plain data. Who waits has a *bed*, a semaphore without permits that is used for this one
//! wait; a thread may be in several queues with one bed.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use raddle_engine::object::{self, Object, semaphore};
use raddle_engine::{LocationId, Operation, Update, UpdateKind, World};

use crate::abi::caller::{self, keeping_top};
use crate::execution::running;
use crate::host::solo::Solo;
use crate::memory::objects;

/// What the bed of a wait is known by. No address of the program's is like that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bed {
    address: usize,
    kind: &'static str,
}

/// What is waited for: an address, or a number that stands for one, and what it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) address: usize,
    pub(crate) kind: &'static str,
}

#[derive(Default)]
struct Queue {
    location: Option<LocationId>,
    waiting: Vec<Bed>,
}

#[derive(Default)]
struct Queues {
    queues: BTreeMap<usize, Queue>,
    beds: usize,
}

static QUEUES: Solo<Option<Queues>> = Solo::new(None);

/// Beyond what a program can use.
const FIRST_BED: usize = 1 << 62;
const STEP: usize = 16;

/// At the beginning of an execution.
pub(crate) fn begin() {
    *QUEUES.get() = Some(Queues::default());
}

fn with_queue<R>(place: Place, use_it: impl FnOnce(&mut Queue) -> R) -> R {
    let mut queues = QUEUES.get();
    let queues = queues.get_or_insert_default();
    use_it(queues.queues.entry(place.address).or_default())
}

/// An update of a location that is made when it is first used.
pub(crate) fn update(
    place: Place,
    location: impl FnOnce(&mut dyn FnMut() -> LocationId) -> LocationId,
    kind: UpdateKind,
    code: usize,
) -> u64 {
    let native = running();
    let operation = |world: &mut World| {
        let mut new = || native.add_location(world, place.kind, place.address, 0);
        Operation::Update {
            location: location(&mut new),
            ordering: Ordering::AcqRel,
            failure: Ordering::Acquire,
            update: Update { kind, bits: 64 },
        }
    };
    keeping_top(|| native.perform(code, operation)).to_value()
}

/// The running thread comes to the place, in an order with others who do.
pub(crate) fn visit(place: Place, code: usize) {
    let location = |new: &mut dyn FnMut() -> LocationId| {
        with_queue(place, |queue| *queue.location.get_or_insert_with(new))
    };
    update(place, location, UpdateKind::Add(1), code);
}

/// The running thread looks at the place and changes nothing there, as a loop may again and again.
pub(crate) fn watch(place: Place, code: usize) {
    let native = running();
    let operation = |world: &mut World| {
        let new = || native.add_location(world, place.kind, place.address, 0);
        Operation::Load {
            location: with_queue(place, |queue| *queue.location.get_or_insert_with(new)),
            ordering: Ordering::Acquire,
        }
    };
    let top = caller::top();
    keeping_top(|| native.observe(code, top, operation));
}

/// A bed for one wait of the running thread.
pub(crate) fn bed(kind: &'static str) -> Bed {
    let mut queues = QUEUES.get();
    let queues = queues.get_or_insert_default();
    queues.beds += 1;
    Bed {
        address: FIRST_BED + queues.beds * STEP,
        kind,
    }
}

/// Who comes to the place from now on finds the bed. The running thread has just come there.
pub(crate) fn stay(place: Place, bed: Bed) {
    with_queue(place, |queue| queue.waiting.push(bed));
}

/// Nobody finds the bed at the place from now on; whether somebody had. The running thread has just come
/// there.
pub(crate) fn go(place: Place, bed: Bed) -> bool {
    with_queue(place, |queue| {
        let before = queue.waiting.len();
        queue.waiting.retain(|&one| one != bed);
        before == queue.waiting.len()
    })
}

/// Waits until somebody wakes the bed.
pub(super) fn wait(bed: Bed, code: usize) {
    call(bed, semaphore::Call::Acquire, code);
}

fn call(bed: Bed, call: semaphore::Call, code: usize) {
    let initial = || Object::Semaphore(semaphore::Semaphore::counting(0));
    let call = object::Call::Semaphore(call);
    keeping_top(|| objects::call(bed.address, bed.kind, initial, call, code));
}

/// Whoever sleeps there goes on.
pub(crate) fn wake(bed: Bed, code: usize) {
    call(bed, semaphore::Call::Release, code);
}

/// The running thread has just come to the place, and wakes all who wait there.
pub(crate) fn wake_all(place: Place, code: usize) {
    let waiting = with_queue(place, |queue| std::mem::take(&mut queue.waiting));
    for bed in waiting {
        wake(bed, code);
    }
}

/// Comes to the place and wakes any one who waits there.
pub(crate) fn wake_one(place: Place, code: usize) {
    visit(place, code);
    let waiting = with_queue(place, |queue| queue.waiting.clone());
    let mut chosen = 0;
    if let Ok(alternatives @ 2..) = u32::try_from(waiting.len()) {
        let choose = |_: &mut _| Operation::Choose { alternatives };
        chosen = keeping_top(|| running().perform(code, choose)).to_value() as usize;
        visit(place, code);
    }
    // Somebody else may have come first; then it is another's turn.
    let bed = with_queue(place, |queue| {
        let still = |bed: &Bed| queue.waiting.contains(bed);
        let chosen = waiting.get(chosen).filter(|bed| still(bed));
        let bed = chosen.or_else(|| waiting.iter().find(|bed| still(bed)))?;
        queue.waiting.retain(|one| one != bed);
        Some(*bed)
    });
    if let Some(bed) = bed {
        wake(bed, code);
    }
}
