//! The running execution.

pub(crate) mod pending_stores;
pub(crate) mod shadow_stack;
pub(crate) mod sites;

use crate::engine::Native;
use crate::host::solo::Solo;

static RUNNING: Solo<Option<Native<'static>>> = Solo::new(None);

/// The running execution, for what its guests do.
#[inline]
pub(crate) fn running() -> Native<'static> {
    let native = RUNNING.get().expect("raddle: a guest outside a check");
    // Whatever is asked for next comes after what the program has stored by itself.
    if pending_stores::is_any() {
        pending_stores::settle(native);
    }
    native
}

/// The same for those who tell stories, also while a guest hangs in the middle of something.
pub(crate) fn if_running() -> Option<Native<'static>> {
    *RUNNING.try_get()?
}

/// An execution begins, and this is it.
pub(crate) fn begin(native: Native<'static>) {
    *RUNNING.get() = Some(native);
}
