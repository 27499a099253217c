//! Locks and other objects of the program, by their addresses.

use raddle_engine::object::{Call, Object};
use raddle_engine::{ObjectId, Operation, Reply, ThreadId, World};

use crate::engine::{Top, protocol};
use crate::execution::part::{Part, PartCell};
use crate::execution::{Guest, running};
use crate::host::addresses::Table;

/// State of the object at an address.
#[derive(Clone, Copy)]
pub(crate) struct KnownObject {
    pub(crate) object: ObjectId,
    kind: &'static str,
    /// Holder, and its number of holds, for locks where the program may query them.
    pub(crate) holder: Option<ThreadId>,
    pub(crate) depth: u32,
    /// True if the last holder ended while holding it, and `pthread_mutex_consistent` was not
    /// called yet.
    pub(crate) is_suspect: bool,
}

/// All objects of the execution.
#[derive(Default)]
pub(crate) struct Objects(Table<KnownObject>);

impl Part for Objects {
    fn renew(&mut self) {
        let Objects(table) = self;
        table.clear();
    }
}

pub(crate) static OBJECTS: PartCell<Objects> = PartCell::new();

/// Removes the objects at these addresses, which new objects will use.
pub(crate) fn forget(range: std::ops::Range<usize>) {
    OBJECTS.get().0.forget(range);
}

/// Returns the object of this kind at the address, created in its initial state at first use.
pub(crate) fn object(
    world: &mut World,
    address: usize,
    kind: &'static str,
    initial: impl FnOnce() -> Object,
) -> ObjectId {
    let mut objects = OBJECTS.get();
    match objects.0.get(address) {
        Some(known) if known.kind == kind => known.object,
        _ => {
            let object = running().add_object(world, kind, address, initial());
            let known = KnownObject {
                object,
                kind,
                holder: None,
                depth: 0,
                is_suspect: false,
            };
            objects.0.insert(address, known).object
        }
    }
}

/// Performs a call of the running thread on the object at an address.
pub(crate) fn call(
    address: usize,
    kind: &'static str,
    initial: impl FnOnce() -> Object,
    call: impl Into<Call>,
    code: usize,
) -> Reply {
    protocol::call(Guest, code, call, |world| {
        object(world, address, kind, initial)
    })
}

/// As [`call`], for a call that is not a poll of the program's.
pub(crate) fn call_without_a_look(
    address: usize,
    kind: &'static str,
    initial: impl FnOnce() -> Object,
    call: impl Into<Call>,
    code: usize,
) -> Reply {
    let call = call.into();
    running().perform(code, |world| Operation::Call {
        object: object(world, address, kind, initial),
        call,
    })
}

/// As [`call`], for a call in the middle of a function that a loop may repeat: `top` is that of the
/// function's caller.
pub(crate) fn call_of_a_round(
    address: usize,
    kind: &'static str,
    initial: impl FnOnce() -> Object,
    call: impl Into<Call>,
    (code, top): (usize, Top),
) -> Reply {
    let call = call.into();
    running().observe(code, top, |world| Operation::Call {
        object: object(world, address, kind, initial),
        call,
    })
}

/// True if the running thread holds the object at an address.
pub(crate) fn is_held(address: usize) -> bool {
    let thread = running().thread();
    let mut objects = OBJECTS.get();
    let known = objects.0.get(address);
    known.is_some_and(|known| known.holder == Some(thread))
}

/// True if there is an object at an address.
pub(crate) fn is_known(address: usize) -> bool {
    let objects = OBJECTS.try_get();
    objects.is_some_and(|mut objects| objects.0.get(address).is_some())
}

/// Returns the kind of the object at an address.
pub(crate) fn kind(address: usize) -> Option<&'static str> {
    with(address, |known| known.kind)
}

/// Changes the state of the object at an address.
pub(crate) fn with<R>(address: usize, change: impl FnOnce(&mut KnownObject) -> R) -> Option<R> {
    OBJECTS.get().0.get(address).map(change)
}

/// Changes the number of holds of the object at an address, or of its holders; returns the new number.
pub(crate) fn count(address: usize, change: impl FnOnce(&mut u32)) -> u32 {
    let counted = with(address, |known| {
        change(&mut known.depth);
        known.depth
    });
    counted.unwrap_or(0)
}

/// Makes the running thread the holder of the object, once.
pub(crate) fn hold(address: usize) {
    let thread = running().thread();
    with(address, |known| {
        known.holder = Some(thread);
        known.depth = 1;
    });
}

/// Removes the holder of the object.
pub(crate) fn let_go(address: usize) {
    with(address, |known| known.holder = None);
}
