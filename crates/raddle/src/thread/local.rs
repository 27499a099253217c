//! Thread-local values, with std's surface.
//!
//! Inside a check a key has one value for each modelled thread and execution, stored by
//! `raddle-check` (`runtime/locals.rs`). Outside one, std's key is used. An access of a
//! thread-local is no operation: no other thread can observe it.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;

use raddle_check::runtime::{Context, FoundLocal, LocalId, current};

/// A key of thread-local values, as [`std::thread::LocalKey`]; declared with
/// [`thread_local!`](crate::thread_local).
///
/// Inside a check, a thread's values are dropped before it ends, in reverse order of creation; so a
/// `join` comes after that. If a destructor panics, std ends the process; here it is a failure.
pub struct LocalKey<T: 'static> {
    /// Used outside checks.
    std: &'static std::thread::LocalKey<T>,
    init: fn() -> T,
    /// Identifies the key.
    id: &'static LocalId,
}

/// An error: the value is dropped, or about to be, as [`std::thread::AccessError`].
#[non_exhaustive]
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct AccessError;

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl Error for AccessError {}

#[cold]
#[track_caller]
fn refuse(error: AccessError) -> ! {
    panic!("cannot access a Thread Local Storage value during or after destruction: {error:?}")
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn __new(
        std: &'static std::thread::LocalKey<T>,
        init: fn() -> T,
        id: &'static LocalId,
    ) -> Self {
        LocalKey { std, init, id }
    }

    /// Calls `f` with the thread's value; initialises it first, if needed.
    ///
    /// # Panics
    ///
    /// If the value was dropped, because the thread is ending.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.try_with(f).unwrap_or_else(|error| refuse(error))
    }

    /// Calls `f` as [`LocalKey::with`] does; returns an error if the value was dropped.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        let Some(context) = current() else {
            return self.std.try_with(f).map_err(|_| AccessError);
        };
        let value = self.find(context, &mut None)?;
        // SAFETY: the value lives until its thread has nothing left to run but destructors, each of
        // which it outlives if it can still be found. Only that thread uses it, and no thread
        // writes.
        Ok(f(unsafe { &*value }))
    }

    /// Returns the value of a modelled thread; if there is none yet, it becomes the given one, or
    /// else is initialised.
    fn find(&self, context: &Context, given: &mut Option<T>) -> Result<*const T, AccessError> {
        let key = std::ptr::from_ref(self.id) as usize;
        match context.find_local(key) {
            FoundLocal::Alive(value) => Ok(value.cast()),
            FoundLocal::Gone => Err(AccessError),
            FoundLocal::None => {
                let value = given.take().unwrap_or_else(self.init);
                Ok(context.add_local(key, Box::new(value)))
            }
        }
    }

    /// Calls `use_it` with `value` and the thread's value. If the thread had none, `value` becomes
    /// it instead.
    #[track_caller]
    fn put(&'static self, context: &Context, value: T, use_it: impl FnOnce(T, &T)) {
        let mut given = Some(value);
        let found = self.find(context, &mut given);
        let found = found.unwrap_or_else(|error| refuse(error));
        if let Some(value) = given {
            // SAFETY: as in `try_with`.
            use_it(value, unsafe { &*found });
        }
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the thread's value, without initialising it first.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        match current() {
            None => self.std.set(value),
            Some(context) => {
                let set = |value: Cell<T>, cell: &Cell<T>| cell.set(value.into_inner());
                self.put(context, Cell::new(value), set);
            }
        }
    }

    /// Returns a copy of the thread's value.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the thread's value and replaces it by the default one.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Replaces the thread's value; returns the previous one.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Calls `f` with the thread's value.
    ///
    /// # Panics
    ///
    /// If the value is borrowed mutably.
    #[track_caller]
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Calls `f` with a mutable reference to the thread's value.
    ///
    /// # Panics
    ///
    /// If the value is borrowed.
    #[track_caller]
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the thread's value, without initialising it first.
    ///
    /// # Panics
    ///
    /// If the value is borrowed.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        match current() {
            None => self.std.set(value),
            Some(context) => {
                let set = |value: RefCell<T>, cell: &RefCell<T>| {
                    *cell.borrow_mut() = value.into_inner();
                };
                self.put(context, RefCell::new(value), set);
            }
        }
    }

    /// Takes the thread's value and replaces it by the default one.
    ///
    /// # Panics
    ///
    /// If the value is borrowed.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Replaces the thread's value; returns the previous one.
    ///
    /// # Panics
    ///
    /// If the value is borrowed.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Declares thread-local values, as [`std::thread_local!`].
///
/// Inside a check, every modelled thread has its own value; outside one, every OS thread.
///
/// ```
/// use std::cell::Cell;
///
/// raddle::thread_local! {
///     static DEPTH: Cell<u32> = const { Cell::new(0) };
/// }
///
/// DEPTH.set(1);
/// assert_eq!(std::thread::spawn(|| DEPTH.get()).join().unwrap(), 0);
/// assert_eq!(DEPTH.get(), 1);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __thread_local {
    () => {};
    (
        $(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = const $init:block
        $(; $($rest:tt)*)?
    ) => {
        $crate::__thread_local!(@key [$(#[$attribute])*] [$vis] $name: $type {
            #[allow(clippy::declare_interior_mutable_const)]
            const INIT: $type = $init;
            fn init() -> $type {
                INIT
            }
            $crate::__private::std_thread_local! {
                static STD: $type = const { INIT };
            }
        });
        $crate::__thread_local!($($($rest)*)?);
    };
    (
        $(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = $init:expr
        $(; $($rest:tt)*)?
    ) => {
        $crate::__thread_local!(@key [$(#[$attribute])*] [$vis] $name: $type {
            fn init() -> $type {
                $init
            }
            $crate::__private::std_thread_local! {
                static STD: $type = init();
            }
        });
        $crate::__thread_local!($($($rest)*)?);
    };
    (@key [$(#[$attribute:meta])*] [$vis:vis] $name:ident: $type:ty { $($items:item)* }) => {
        $(#[$attribute])*
        $vis const $name: $crate::thread::LocalKey<$type> = {
            $($items)*
            static ID: $crate::__private::LocalId = $crate::__private::LocalId::new();
            $crate::thread::LocalKey::__new(&STD, init, &ID)
        };
    };
}
