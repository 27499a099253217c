//! Choices that the program itself leaves open, explored like any other.

use std::ops::{Range, RangeInclusive};
use std::panic::Location;

use raddle_engine::Operation;

use raddle_check::runtime::{Context, current};

/// Returns one of the values; all of them are explored.
///
/// The type of the range must be known: write `0..3_u32` if nothing else determines it.
///
/// # Panics
///
/// If there is no value to choose from, or outside a check.
#[track_caller]
pub fn choose<A: Alternatives>(from: A) -> A::Item {
    let count = from.count();
    let alternatives = u32::try_from(count).ok().filter(|&count| count > 0);
    let alternatives = alternatives.unwrap_or_else(|| {
        panic!(
            "raddle::choose: {count} values to choose from; there must be 1 to {}",
            u32::MAX
        )
    });
    let context = inside("choose");
    let reply = context.perform(Location::caller(), |_| Operation::Choose { alternatives });
    from.pick(reply.to_value())
}

/// Returns a value of the type; all of them are explored.
///
/// # Panics
///
/// Outside a check.
#[track_caller]
pub fn any<T: Any>() -> T {
    T::any()
}

/// Ends the execution without a verdict unless the condition holds: the calling thread stops, and
/// later events of the other threads do not count either.
///
/// # Panics
///
/// Outside a check.
#[track_caller]
pub fn assume(condition: bool) {
    let context = inside("assume");
    if !condition && !context.has_stopped() {
        context.perform(Location::caller(), |_| Operation::Assume);
    }
}

#[track_caller]
fn inside<'a>(what: &str) -> &'a Context {
    current().unwrap_or_else(|| panic!("raddle::{what} is called outside a check"))
}

/// A set that [`choose`] can choose from: a range of integers.
pub trait Alternatives: sealed::Sealed {
    /// Type of the elements.
    type Item;
    /// Returns the number of elements.
    fn count(&self) -> u64;
    /// Returns the element with this index.
    fn pick(self, index: u64) -> Self::Item;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! ranges {
    ($($int:ty)*) => {$(
        impl sealed::Sealed for Range<$int> {}
        impl Alternatives for Range<$int> {
            type Item = $int;

            fn count(&self) -> u64 {
                if self.is_empty() { 0 } else { self.end.abs_diff(self.start) as u64 }
            }

            fn pick(self, index: u64) -> $int {
                self.start.wrapping_add(index as $int)
            }
        }

        impl sealed::Sealed for RangeInclusive<$int> {}
        impl Alternatives for RangeInclusive<$int> {
            type Item = $int;

            fn count(&self) -> u64 {
                if self.is_empty() {
                    return 0;
                }
                (self.end().abs_diff(*self.start()) as u64).saturating_add(1)
            }

            fn pick(self, index: u64) -> $int {
                self.start().wrapping_add(index as $int)
            }
        }
    )*};
}
ranges!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

/// Types with few enough values for [`any`].
pub trait Any {
    /// Returns a value of the type.
    #[track_caller]
    fn any() -> Self;
}

impl Any for () {
    fn any() {}
}

impl Any for bool {
    #[track_caller]
    fn any() -> bool {
        choose(0..2) == 1
    }
}

impl Any for u8 {
    #[track_caller]
    fn any() -> u8 {
        choose(u8::MIN..=u8::MAX)
    }
}

impl Any for i8 {
    #[track_caller]
    fn any() -> i8 {
        choose(i8::MIN..=i8::MAX)
    }
}

impl<T: Any> Any for Option<T> {
    #[track_caller]
    fn any() -> Option<T> {
        bool::any().then(T::any)
    }
}
