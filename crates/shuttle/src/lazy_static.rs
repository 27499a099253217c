//! Statics that are initialised at their first use in each execution.

use std::fmt;

use raddle::sync::LazyLock;

#[doc(hidden)]
pub use core::ops::Deref as __Deref;

pub use crate::lazy_static;

/// The value behind a static of [`lazy_static!`]. Each execution has its own, which is dropped after its
/// threads have ended.
pub struct Lazy<T: Sync + 'static>(LazyLock<T>);

// SAFETY: sharing needs a `T` that may be shared. A `T` that may not be sent stays where it was
// made: outside checks it is never dropped, and inside one all threads are of one OS thread.
unsafe impl<T: Sync + 'static> Sync for Lazy<T> {}

impl<T: Sync + 'static> Lazy<T> {
    /// Creates a value that `init` initialises.
    #[track_caller]
    pub const fn new(init: fn() -> T) -> Self {
        Lazy(LazyLock::new(init))
    }

    /// Returns the value; initialises it first, if needed.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        LazyLock::force(&self.0)
    }
}

impl<T: Sync + 'static> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// A static that [`lazy_static!`] has declared.
pub trait LazyStatic {
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Initialises the static, if that has not happened.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    LazyStatic::initialize(lazy);
}

/// Declares statics that are initialised at their first use in each execution, as
/// `lazy_static::lazy_static!`.
///
/// ```
/// shuttle::lazy_static! {
///     static ref LIMIT: usize = 1 + 2;
/// }
///
/// shuttle::check_dfs(|| assert_eq!(*LIMIT, 3), None);
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
        #[allow(dead_code)]
        $vis static $name: $name = $name { __private: () };
        impl ::core::ops::Deref for $name {
            type Target = $type;

            fn deref(&self) -> &$type {
                static LAZY: $crate::lazy_static::Lazy<$type> =
                    $crate::lazy_static::Lazy::new(|| $init);
                LAZY.get()
            }
        }
        impl $crate::lazy_static::LazyStatic for $name {
            fn initialize(lazy: &Self) {
                let _ = &**lazy;
            }
        }
        $crate::lazy_static!($($rest)*);
    };
}
