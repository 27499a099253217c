//! A cell that is written once, with std's surface.
//!
//! Checks that run side by side must not share values that one of them wrote, so inside a check
//! values are kept apart by execution. They live until the cell itself is dropped, because borrows
//! of them may live as long as the cell. For a static, every execution has a cell of its own; see
//! [`statics`](raddle_check::runtime::statics).

use std::fmt;
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::controlled::{Caller, Controlled};
use crate::labelled::{Labelled, Thing};
use raddle_check::runtime::Identity;
use raddle_check::runtime::statics::{CopyNumber, Virtual};
use raddle_check::runtime::{Made, current};

/// A cell that is written once, as [`std::sync::OnceLock`].
///
/// Inside a check, the state of the cell is observed by an operation that the engine schedules, and
/// an initialiser that needs the cell itself is a deadlock. Outside one, this is std's.
///
/// A static is empty at the beginning of every execution. References to its value from inside a
/// check are invalid after the execution, so do not keep a `&'static T` beyond that.
pub struct OnceLock<T> {
    controlled: Controlled,
    /// Copy of a static that one execution uses. Its value is where std's would be.
    copy: Option<CopyNumber>,
    /// Value written outside checks, which executions start with.
    plain: std::sync::OnceLock<T>,
    /// Values written inside checks, each with the stamp of its execution.
    values: Mutex<Vec<(u64, Box<T>)>>,
}

impl<T> OnceLock<T> {
    /// Creates an empty cell.
    #[must_use]
    #[track_caller]
    pub const fn new() -> Self {
        Self::of_kind("OnceLock")
    }

    #[track_caller]
    pub(super) const fn of_kind(kind: &'static str) -> Self {
        OnceLock {
            controlled: Controlled::new(kind),
            copy: None,
            plain: std::sync::OnceLock::new(),
            values: Mutex::new(Vec::new()),
        }
    }

    /// Returns the value, if the cell has been written.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let Some((this, caller)) = self.inside() else {
            return self.plain.get();
        };
        let written = this.controlled.is_completed(caller);
        written.then(|| this.value()).flatten()
    }

    /// Returns the value, if the cell has been written.
    #[track_caller]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.controlled.using(Location::caller());
        let values = self.values.get_mut();
        let values = values.unwrap_or_else(PoisonError::into_inner);
        match present(values) {
            Some(index) => Some(&mut *values[index].1),
            None => self.plain.get_mut(),
        }
    }

    /// Returns the value, after waiting until the cell has been written.
    #[track_caller]
    pub fn wait(&self) -> &T {
        let Some((this, caller)) = self.inside() else {
            return self.plain.wait();
        };
        this.controlled.wait(caller, true);
        this.value().expect("it has been written")
    }

    /// Writes the cell; returns the value as an error if it has been written before.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("run once"));
        match value {
            None => Ok(()),
            Some(value) => Err(value),
        }
    }

    /// Returns the value; writes the cell first, if it is empty.
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        let Some((this, caller)) = self.inside() else {
            return self.plain.get_or_init(f);
        };
        this.write_inside(caller, |_| f())
    }

    /// Returns the value inside a check; writes the cell first, if it is empty. The argument of
    /// `value` is true when an earlier attempt has panicked.
    pub(super) fn write_inside(&self, caller: Caller<'_>, value: impl FnOnce(bool) -> T) -> &T {
        self.controlled.run(caller, true, |poisoned| {
            let value = value(poisoned);
            match self.copy {
                Some(copy) => {
                    caller.context.copy_was_written(copy);
                    let written = self.plain.set(value);
                    assert!(written.is_ok(), "raddle: a cell was written twice");
                }
                None => self
                    .values()
                    .push((caller.context.stamp(), Box::new(value))),
            }
        });
        self.value().expect("it has been written")
    }

    /// Returns the value, if the cell has been written.
    #[track_caller]
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Returns the value, if the cell has been written, and empties the cell.
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        self.controlled.using(Location::caller());
        self.controlled.forget();
        let plain = self.plain.take();
        let mut values = self.values();
        let present = present(&values).map(|index| *values.swap_remove(index).1);
        present.or(plain)
    }

    /// Returns the cell that the running execution uses, and the caller.
    #[track_caller]
    pub(super) fn inside(&self) -> Option<(&Self, Caller<'_>)> {
        let context = self.controlled.using(Location::caller())?;
        let this = context.here(self);
        let caller = Caller {
            context,
            place: Location::caller(),
            done: this.plain.get().is_some(),
        };
        Some((this, caller))
    }

    /// Returns the place of its creation.
    pub(super) fn place(&self) -> &'static Location<'static> {
        self.controlled.place()
    }

    fn values(&self) -> MutexGuard<'_, Vec<(u64, Box<T>)>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value in this execution.
    fn value(&self) -> Option<&T> {
        if self.copy.is_some() {
            return self.plain.get();
        }
        let values = self.values();
        let Some(index) = present(&values) else {
            return self.plain.get();
        };
        let value: *const T = &raw const *values[index].1;
        // SAFETY: a box stays where it is, and is taken out or dropped only through an exclusive
        // reference to the cell. Until then no thread writes its value.
        Some(unsafe { &*value })
    }
}

impl<T> Virtual for OnceLock<T> {
    const LENDS: bool = true;
    const DROPS: bool = std::mem::needs_drop::<T>();

    fn identity(&self) -> &Identity {
        self.controlled.identity()
    }

    fn made(&self) -> &Made {
        self.controlled.made()
    }

    fn is_guarded(&self) -> bool {
        false
    }

    fn adopt(&mut self, number: CopyNumber) {
        self.copy = Some(number);
    }
}

/// Returns the index of the value of the running execution; searched from the end, because it is
/// most often the last.
fn present<T>(values: &[(u64, Box<T>)]) -> Option<usize> {
    let stamp = current()?.stamp();
    values.iter().rposition(|&(of, _)| of == stamp)
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        OnceLock {
            plain: std::sync::OnceLock::from(value),
            ..OnceLock::new()
        }
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        match self.get() {
            Some(value) => OnceLock::from(value.clone()),
            None => OnceLock::new(),
        }
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T> Labelled for OnceLock<T> {
    fn thing(&self) -> Thing<'_> {
        let this = current().map_or(self, |context| context.here(self));
        this.controlled.thing(this.plain.get().is_some())
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => text.field(value),
            None => text.field(&format_args!("<uninit>")),
        };
        text.finish()
    }
}
