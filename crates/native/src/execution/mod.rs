//! The running execution.

pub(crate) mod part;
pub(crate) mod pending_stores;
pub(crate) mod shadow_stack;
pub(crate) mod sites;

use std::time::Duration;

use raddle_engine::{Operation, Reply, World};

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
        stores.settle(*native);
    }
    *native
}

/// The same for naming things in stories, also while a guest hangs inside of raddle's code.
pub(crate) fn if_running() -> Option<Native<'static>> {
    Some(RUNNING.try_get()?.as_ref()?.native)
}

/// An execution begins, and this is it.
pub(crate) fn begin(native: Native<'static>) {
    *RUNNING.get() = Some(Running {
        native,
        stores: PendingStores::default(),
    });
}

/// The running thread, as protocols perform its operations. Places are addresses of code.
#[derive(Clone, Copy)]
pub(crate) struct Guest;

impl Perform for Guest {
    type Site = usize;

    #[inline]
    fn perform(self, code: usize, operation: impl FnOnce(&mut World) -> Operation) -> Reply {
        running().perform(code, operation)
    }

    /// Only the first operation of a function can be a poll: then the saved stack and registers are
    /// those of the caller.
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
