//! The values with raw pointers: a raw pointer is a handle, but leads to the value only.
//!
//! Every handle, raw ones included, owns a reference to the [`Life`] of its value. So an entry is
//! valid until the last of them is dropped, which removes it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::life::Life;

/// A pointer from [`std::sync::Arc::as_ptr`].
struct LifePointer(*const Life);

// SAFETY: `Life` is `Sync`, and a pointer to it is used only by owners of a reference to it.
unsafe impl Send for LifePointer {}

static EXPOSED: Mutex<BTreeMap<usize, LifePointer>> = Mutex::new(BTreeMap::new());

fn exposed() -> MutexGuard<'static, BTreeMap<usize, LifePointer>> {
    EXPOSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the life of the value at an address.
pub(super) fn add(address: usize, life: &Life) {
    let _aside = raddle_check::runtime::alloc::aside();
    exposed().insert(address, LifePointer(life));
}

/// Removes the life of a value that was at an address, unless another value is there by now.
pub(super) fn remove(address: usize, life: &Life) {
    let _aside = raddle_check::runtime::alloc::aside();
    let mut exposed = exposed();
    let is_it = |entry: &LifePointer| std::ptr::eq(entry.0, life);
    if exposed.get(&address).is_some_and(is_it) {
        exposed.remove(&address);
    }
}

/// Returns the life of the value at an address.
///
/// # Panics
///
/// If no raw pointer to the value was handed out.
pub(super) fn life(address: usize) -> *const Life {
    match exposed().get(&address) {
        Some(life) => life.0,
        None => panic!("raddle: the pointer is not one of `TrackedArc::into_raw` or `as_ptr`"),
    }
}
