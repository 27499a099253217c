//! One-time initialisation with std's surface.
//!
//! A running initialiser is ordinary code with scheduling points; others wait for it. An
//! initialisation inside a check holds for the running execution only: the next one, other checks
//! and code outside start from the state outside.

mod controlled;
mod lazy;
mod lock;

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

use crate::labelled::{Labelled, Thing};
use controlled::{Caller, Controlled};

pub use lazy::LazyLock;
pub use lock::OnceLock;

/// Runs a closure once, as [`std::sync::Once`].
///
/// Inside a check, the thread that runs it is one of the choices that the engine explores, and a
/// closure that needs itself is a deadlock. Outside one, this is std's.
pub struct Once {
    controlled: Controlled,
    /// Used outside checks; its state is the initial one of executions.
    plain: std::sync::Once,
}

/// The argument of the closure of [`Once::call_once_force`], as [`std::sync::OnceState`].
pub struct OnceState {
    /// A `Cell`, because std's cannot be shared by threads either.
    poisoned: Cell<bool>,
}

/// A [`Once`] that has run nothing, as [`std::sync::ONCE_INIT`].
#[deprecated(note = "use `Once::new` instead")]
#[allow(
    clippy::declare_interior_mutable_const,
    reason = "to be copied, as std's"
)]
pub const ONCE_INIT: Once = Once::new();

#[allow(clippy::new_without_default, reason = "std's has none")]
impl Once {
    /// Creates a value with which nothing was run.
    #[must_use]
    #[track_caller]
    pub const fn new() -> Self {
        Once {
            controlled: Controlled::new("Once"),
            plain: std::sync::Once::new(),
        }
    }

    /// Runs `f` unless a closure was run; returns when it is done.
    ///
    /// # Panics
    ///
    /// If the closure of an earlier call panicked.
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        match self.caller() {
            None => self.plain.call_once(f),
            Some(caller) => self.controlled.run(caller, false, |_| f()),
        }
    }

    /// Runs `f` as [`Once::call_once`] does, but even if the closure of an earlier call panicked.
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        match self.caller() {
            None => self.plain.call_once_force(|state| {
                f(&OnceState::new(state.is_poisoned()));
            }),
            Some(caller) => {
                let work = |poisoned| f(&OnceState::new(poisoned));
                self.controlled.run(caller, true, work);
            }
        }
    }

    /// True when a closure was run to its end.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        match self.caller() {
            None => self.plain.is_completed(),
            Some(caller) => self.controlled.is_completed(caller),
        }
    }

    /// Waits until a closure was run to its end.
    ///
    /// # Panics
    ///
    /// If its closure panicked.
    #[track_caller]
    pub fn wait(&self) {
        match self.caller() {
            None => self.plain.wait(),
            Some(caller) => self.controlled.wait(caller, false),
        }
    }

    /// Waits until a closure was run to its end, however many closures panic.
    #[track_caller]
    pub fn wait_force(&self) {
        match self.caller() {
            None => self.plain.wait_force(),
            Some(caller) => self.controlled.wait(caller, true),
        }
    }

    #[track_caller]
    fn caller(&self) -> Option<Caller<'_>> {
        let place = Location::caller();
        self.controlled.using(place).map(|context| Caller {
            context,
            place,
            done: self.plain.is_completed(),
        })
    }
}

impl Labelled for Once {
    fn thing(&self) -> Thing<'_> {
        self.controlled.thing(self.plain.is_completed())
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl OnceState {
    fn new(poisoned: bool) -> Self {
        OnceState {
            poisoned: Cell::new(poisoned),
        }
    }

    /// True when the closure of an earlier call panicked.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.get()
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState")
            .field("poisoned", &self.is_poisoned())
            .finish()
    }
}
