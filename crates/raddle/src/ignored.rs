//! Atomics whose values decide nothing, such as counters for statistics.

use std::fmt;

use crate::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

/// An atomic whose value decides nothing: a counter of hits, a maximum, the time of the last use.
///
/// With `reduce = "paths"` a check explores neither the order of accesses of such a value nor the values that they read;
/// see `Reduction::Paths`. Without it, and without the feature `check`, it is the atomic.
///
/// The declaration says that every read could return any value that is ever written there, and that the program would
/// perform the same operations. Reports and tests that *read* a statistic in order to compare it do not satisfy that.
/// A check runs some executions again with other values and fails if an operation changes. It does not see what the
/// program prints.
///
/// With the reduction all accesses must be [`Relaxed`](Ordering::Relaxed). A compare-exchange branches on the value, so
/// there is none.
///
/// ```
/// use raddle::Ignored;
/// use raddle::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// static HITS: Ignored<AtomicU64> = Ignored::new(AtomicU64::new(0));
///
/// HITS.fetch_add(1, Relaxed);
/// println!("{} hits", HITS.load(Relaxed));
/// ```
#[derive(Default)]
pub struct Ignored<A>(A);

impl<A> Ignored<A> {
    /// Declares that the value of this atomic decides nothing.
    pub const fn new(atomic: A) -> Self {
        Ignored(atomic)
    }

    /// Returns the atomic.
    pub fn into_inner(self) -> A {
        self.0
    }

    /// Returns the atomic, when no other thread can access it.
    pub fn get_mut(&mut self) -> &mut A {
        &mut self.0
    }
}

impl<A> From<A> for Ignored<A> {
    fn from(atomic: A) -> Self {
        Ignored::new(atomic)
    }
}

/// The value is not shown, because it decides nothing.
impl<A> fmt::Debug for Ignored<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ignored").finish_non_exhaustive()
    }
}

#[cfg(feature = "check")]
impl<A: crate::Labelled> crate::Labelled for Ignored<A> {
    fn thing(&self) -> crate::labelled::Thing<'_> {
        self.0.thing()
    }
}

/// Defines the methods of an ignored atomic that read and write, as those of the atomic.
macro_rules! ignored {
    ($($atomic:ident, $value:ty: $($fetch:ident)*;)*) => {$(
        impl Ignored<$atomic> {
            /// Reads the value.
            #[track_caller]
            #[inline]
            pub fn load(&self, ordering: Ordering) -> $value {
                #[cfg(feature = "check")]
                self.0.ignore(ordering);
                let value = self.0.load(ordering);
                #[cfg(feature = "check")]
                let value = self.0.served(value);
                value
            }

            /// Writes the value.
            #[track_caller]
            #[inline]
            pub fn store(&self, value: $value, ordering: Ordering) {
                #[cfg(feature = "check")]
                self.0.ignore(ordering);
                self.0.store(value, ordering);
            }

            ignored! { fetch $value: swap $($fetch)* }
        }
    )*};
    (fetch $value:ty: $($fetch:ident)*) => {$(
        #[doc = concat!("As `", stringify!($fetch), "` of the atomic.")]
        #[track_caller]
        #[inline]
        pub fn $fetch(&self, value: $value, ordering: Ordering) -> $value {
            #[cfg(feature = "check")]
            self.0.ignore(ordering);
            let value = self.0.$fetch(value, ordering);
            #[cfg(feature = "check")]
            let value = self.0.served(value);
            value
        }
    )*};
}

macro_rules! ignored_int {
    ($($atomic:ident $value:ident)*) => {
        ignored! {$(
            $atomic, $value: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min;
        )*}
    };
}

ignored_int! {
    AtomicU8 u8 AtomicU16 u16 AtomicU32 u32 AtomicU64 u64 AtomicUsize usize
    AtomicI8 i8 AtomicI16 i16 AtomicI32 i32 AtomicI64 i64 AtomicIsize isize
}

ignored! {
    AtomicBool, bool: fetch_and fetch_nand fetch_or fetch_xor;
}
