//! The running execution.

pub(crate) mod call_tree;
pub(crate) mod part;
pub(crate) mod pending_stores;
pub(crate) mod shadow_stack;
pub(crate) mod sites;

use std::time::Duration;

use raddle_engine::{Operation, Reply, ThreadId, World};

use self::pending_stores::PendingStores;
use crate::abi::caller;
use crate::engine::Native;
use crate::engine::protocol::Perform;
use crate::host::process_state::ProcessState;

struct Running {
    native: Native<'static>,
    stores: PendingStores,
}

static RUNNING: ProcessState<Option<Running>> = ProcessState::new(None);

/// Returns the running execution, for operations of its guests.
#[inline]
pub(crate) fn running() -> Native<'static> {
    let mut running = RUNNING.get();
    let Running { native, stores } = running.as_mut().expect("raddle: a guest outside a check");
    // Pending plain stores come before the next operation.
    if !stores.is_empty() {
        stores.pass_values(*native);
    }
    *native
}

/// Returns a number for a thread's place in the tree of creations: the same in every execution, however many
/// operations its creators had before.
pub(crate) fn creation_name(native: Native<'_>, thread: ThreadId) -> u64 {
    let path = native.with_world(|world| world.state().execution().path(thread));
    path.steps().iter().fold(1, |name: u64, &step| {
        let name = (name ^ u64::from(step)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        name ^ (name >> 29)
    })
}

/// Returns the running execution, for names in stories; also while a guest hangs inside raddle's
/// code.
pub(crate) fn if_running() -> Option<Native<'static>> {
    Some(RUNNING.try_get()?.as_ref()?.native)
}

/// Makes this the running execution, at its beginning.
pub(crate) fn begin(native: Native<'static>) {
    *RUNNING.get() = Some(Running {
        native,
        stores: PendingStores::default(),
    });
}

/// The running thread, by which protocols perform its operations. Sites are addresses of code.
#[derive(Clone, Copy)]
pub(crate) struct Guest;

impl Perform for Guest {
    type Site = usize;

    #[inline]
    fn perform(self, code: usize, operation: impl FnOnce(&mut World) -> Operation) -> Reply {
        running().perform(code, operation)
    }

    /// Performs a poll. Only the first operation of a function can be one: then the saved stack and
    /// registers are those of the caller.
    #[inline]
    fn observe(self, code: usize, operation: impl FnOnce(&mut World) -> Operation) -> Reply {
        running().observe(code, caller::top(), operation)
    }

    fn may_time_out(self) -> bool {
        running().may_time_out()
    }

    fn may_wake_spuriously(self) -> bool {
        running().may_wake_spuriously()
    }

    fn count_spurious_wakeup(self) {
        running().count_spurious_wakeup();
    }

    fn pass_time(self, time: Duration) {
        running().pass_time(time);
    }
}
