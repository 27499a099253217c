//! Mirrors `std::sync::atomic`, with `with_mut` and `unsync_load` besides.

use std::fmt;

use raddle::sync::atomic as controlled;

pub use raddle::sync::atomic::fence;
pub use std::sync::atomic::Ordering;

/// Signals that the calling thread waits for another one.
#[track_caller]
pub fn spin_loop_hint() {
    raddle::hint::spin_loop();
}

/// Defines an atomic with the methods that all kinds of values have.
macro_rules! atomic {
    ($name:ident $(<$generic:ident>)?, $value:ty) => {
        #[doc = concat!("As [`std::sync::atomic::", stringify!($name), "`].")]
        #[repr(transparent)]
        pub struct $name $(<$generic>)? (controlled::$name $(<$generic>)?);

        impl $(<$generic>)? $name $(<$generic>)? {
            /// Creates an atomic with this value.
            #[track_caller]
            pub const fn new(value: $value) -> Self {
                Self(controlled::$name::new(value))
            }

            /// Reads the value without synchronization. A write that does not happen before it is a
            /// data race, and the test fails.
            ///
            /// # Safety
            ///
            /// No other thread writes the value at the same time.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                self.0.__unsync_load()
            }

            /// Calls `f` with the value, which no other thread can access.
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                f(self.0.get_mut())
            }

            /// Returns the value, when no other thread can access it.
            #[track_caller]
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// Reads the value.
            #[track_caller]
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            /// Writes the value.
            #[track_caller]
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
            }

            atomic! { @fetch $value, swap }

            /// Writes `new` if the value is `current`; returns the previous value.
            #[track_caller]
            pub fn compare_and_swap(
                &self,
                current: $value,
                new: $value,
                order: Ordering,
            ) -> $value {
                #[expect(deprecated, reason = "loom does not deprecate it")]
                self.0.compare_and_swap(current, new, order)
            }

            /// Writes `new` if the value is `current`; returns the previous value, as an error if
            /// nothing was written.
            #[track_caller]
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange(current, new, success, failure)
            }

            /// Writes `new` if the value is `current`, but may fail although it is.
            #[track_caller]
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange_weak(current, new, success, failure)
            }

            /// Writes the result of `f`, until no other write comes in between or it returns `None`.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                self.0.fetch_update(set_order, fetch_order, f)
            }
        }

        impl $(<$generic>)? From<$value> for $name $(<$generic>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl $(<$generic>)? fmt::Debug for $name $(<$generic>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
    (@fetch $value:ty, $($method:ident)*) => {$(
        #[doc = concat!("As `", stringify!($method), "` of std; returns the previous value.")]
        #[track_caller]
        #[inline]
        pub fn $method(&self, value: $value, order: Ordering) -> $value {
            self.0.$method(value, order)
        }
    )*};
}

macro_rules! integers {
    ($($name:ident: $value:ty,)*) => {$(
        atomic! { $name, $value }

        impl $name {
            atomic! {
                @fetch $value,
                fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min
            }
        }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }
    )*};
}

integers! {
    AtomicI8: i8,
    AtomicI16: i16,
    AtomicI32: i32,
    AtomicI64: i64,
    AtomicIsize: isize,
    AtomicU8: u8,
    AtomicU16: u16,
    AtomicU32: u32,
    AtomicU64: u64,
    AtomicUsize: usize,
}

atomic! { AtomicBool, bool }

impl AtomicBool {
    atomic! { @fetch bool, fetch_and fetch_nand fetch_or fetch_xor }
}

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

atomic! { AtomicPtr<T>, *mut T }

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}
