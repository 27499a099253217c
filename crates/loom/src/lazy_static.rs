//! Statics that are initialised at their first use.

use std::fmt;

use raddle::sync::LazyLock;

pub use raddle::thread::{AccessError, panicking, yield_now};

/// The value behind a static of [`lazy_static!`](crate::lazy_static!). Each execution has its own.
pub struct Lazy<T: 'static>(LazyLock<T>);

// SAFETY: sharing needs a `T` that may be shared. A `T` that may not be sent stays where it was
// made: outside checks it is never dropped, and inside one all threads are of one OS thread.
unsafe impl<T: Sync + 'static> Sync for Lazy<T> {}

impl<T: 'static> Lazy<T> {
    #[doc(hidden)]
    #[track_caller]
    pub const fn __new(init: fn() -> T) -> Self {
        Lazy(LazyLock::new(init))
    }

    /// Returns the value; initialises it first, if needed.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        LazyLock::force(&self.0)
    }
}

impl<T: 'static> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// Declares statics that are initialised at their first use in each execution, as
/// `lazy_static::lazy_static!`.
///
/// ```
/// loom::lazy_static! {
///     static ref LIMIT: usize = 1 + 2;
/// }
///
/// loom::model(|| assert_eq!(*LIMIT, 3));
/// ```
#[macro_export]
macro_rules! lazy_static {
    () => {};
    (
        $(#[$attribute:meta])* $vis:vis static ref $name:ident: $type:ty = $init:expr;
        $($rest:tt)*
    ) => {
        #[allow(non_camel_case_types, missing_copy_implementations, dead_code)]
        $(#[$attribute])*
        $vis struct $name { __private: () }
        #[doc(hidden)]
        $vis static $name: $name = $name { __private: () };
        impl ::core::ops::Deref for $name {
            type Target = $type;

            fn deref(&self) -> &$type {
                static LAZY: $crate::lazy_static::Lazy<$type> =
                    $crate::lazy_static::Lazy::__new(|| $init);
                LAZY.get()
            }
        }
        $crate::lazy_static!($($rest)*);
    };
}
