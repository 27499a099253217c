//! Locks and other objects of the program, by their addresses.

use raddle_engine::object::{Call, Object, mutex, rwlock, semaphore};
use raddle_engine::{ObjectId, Operation, Reply, ThreadId, World};

use crate::abi::caller;
use crate::execution::running;
use crate::host::addresses::Table;
use crate::host::solo::Solo;

/// What is known of the object at an address.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(crate) object: ObjectId,
    kind: &'static str,
    /// Who has it, and how many times over, where the program may ask for that.
    pub(crate) holder: Option<ThreadId>,
    pub(crate) depth: u32,
    /// Who had it before has ended, and nobody has said yet that all is well.
    pub(crate) is_suspect: bool,
}

static OBJECTS: Solo<Table<Known>> = Solo::new(Table::new());

pub(crate) fn begin(stamp: u64) {
    OBJECTS.get().begin(stamp);
}

/// What comes next at these addresses is something else.
pub(crate) fn forget(range: std::ops::Range<usize>) {
    OBJECTS.get().forget(range);
}

/// The object of this kind at the address, in its initial state if nobody has used it.
pub(crate) fn object(
    world: &mut World,
    address: usize,
    kind: &'static str,
    initial: impl FnOnce() -> Object,
) -> ObjectId {
    let mut objects = OBJECTS.get();
    match objects.get(address) {
        Some(known) if known.kind == kind => known.object,
        _ => {
            let object = running().add_object(world, kind, address, initial());
            let known = Known {
                object,
                kind,
                holder: None,
                depth: 0,
                is_suspect: false,
            };
            objects.insert(address, known).object
        }
    }
}

/// The running thread calls the object at an address.
pub(crate) fn call(
    address: usize,
    kind: &'static str,
    initial: impl FnOnce() -> Object,
    call: Call,
    code: usize,
) -> Reply {
    match call {
        // Only the first operation of a function can be one that looks, so the stack is still as it was.
        Call::Mutex(mutex::Call::TryLock)
        | Call::RwLock(rwlock::Call::TryRead | rwlock::Call::TryWrite)
        | Call::Semaphore(semaphore::Call::TryAcquire) => {
            let operation = operation(address, kind, initial, call);
            running().observe(code, caller::top(), operation)
        }
        _ => call_without_a_look(address, kind, initial, call, code),
    }
}

/// The same for a call that is no look of the program's, whatever it is.
pub(crate) fn call_without_a_look(
    address: usize,
    kind: &'static str,
    initial: impl FnOnce() -> Object,
    call: Call,
    code: usize,
) -> Reply {
    running().perform(code, operation(address, kind, initial, call))
}

fn operation(
    address: usize,
    kind: &'static str,
    initial: impl FnOnce() -> Object,
    call: Call,
) -> impl FnOnce(&mut World) -> Operation {
    move |world| Operation::Call {
        object: object(world, address, kind, initial),
        call,
    }
}

/// Whether the running thread has the object at an address.
pub(crate) fn is_held(address: usize) -> bool {
    let thread = running().thread();
    let mut objects = OBJECTS.get();
    let known = objects.get(address);
    known.is_some_and(|known| known.holder == Some(thread))
}

/// Whether there is an object at an address.
pub(crate) fn is_known(address: usize) -> bool {
    let objects = OBJECTS.try_get();
    objects.is_some_and(|mut objects| objects.get(address).is_some())
}

/// Changes what is known of the object at an address.
pub(crate) fn with<R>(address: usize, change: impl FnOnce(&mut Known) -> R) -> Option<R> {
    OBJECTS.get().get(address).map(change)
}

/// Changes how many times over somebody has the object at an address, or how many do; how many times that is now.
pub(crate) fn count(address: usize, change: impl FnOnce(&mut u32)) -> u32 {
    let counted = with(address, |known| {
        change(&mut known.depth);
        known.depth
    });
    counted.unwrap_or(0)
}

/// The running thread has the object now, once.
pub(crate) fn hold(address: usize) {
    let thread = running().thread();
    with(address, |known| {
        known.holder = Some(thread);
        known.depth = 1;
    });
}

/// Nobody has the object now.
pub(crate) fn let_go(address: usize) {
    with(address, |known| known.holder = None);
}
