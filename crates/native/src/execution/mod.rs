//! The running execution.

pub(crate) mod part;
pub(crate) mod pending_stores;
pub(crate) mod shadow_stack;
pub(crate) mod sites;

use self::pending_stores::PendingStores;
use crate::engine::Native;
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
