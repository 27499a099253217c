//! The controlled atomics. Each contains std's own atomic for use outside a check and for the
//! initial value of executions.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{self as std_atomic, Ordering};

use raddle_engine::{LocationId, Operation, Update, UpdateKind, World};

use crate::labelled::{Labelled, Thing};
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign::using;
use raddle_check::runtime::{Context, Made, current, statics};

/// Performs a memory fence, as [`std::sync::atomic::fence`].
#[track_caller]
pub fn fence(ordering: Ordering) {
    assert!(
        ordering != Ordering::Relaxed,
        "there is no such thing as a relaxed fence"
    );
    match current() {
        None => std_atomic::fence(ordering),
        Some(context) => {
            context.fence_beside_ignored();
            context.observe(Location::caller(), |_| Operation::Fence { ordering });
        }
    }
}

/// The common part of all atomics.
struct Shared {
    identity: Identity,
    made: Made,
}

impl Shared {
    #[track_caller]
    const fn new(kind: &'static str) -> Self {
        let made = Made {
            kind,
            place: Location::caller(),
        };
        Shared {
            identity: Identity::new(),
            made,
        }
    }

    /// Returns the check that the calling thread belongs to.
    #[inline(always)]
    fn using<'a>(&self, place: &'static Location<'static>) -> Option<&'a Context> {
        using(&self.identity, &self.made, place)
    }

    #[inline(always)]
    fn location(
        &self,
        context: &Context,
        world: &mut World,
        initial: impl FnOnce() -> u64,
    ) -> LocationId {
        context.location(world, &self.identity, self.made, initial)
    }

    #[inline(always)]
    fn load(
        &self,
        context: &Context,
        place: &'static Location<'static>,
        initial: impl FnOnce() -> u64,
        ordering: Ordering,
    ) -> u64 {
        check_load(ordering);
        let reply = context.observe(place, |world| Operation::Load {
            location: self.location(context, world, initial),
            ordering,
        });
        reply.to_value()
    }

    fn store(
        &self,
        context: &Context,
        place: &'static Location<'static>,
        initial: impl FnOnce() -> u64,
        value: u64,
        ordering: Ordering,
    ) {
        match ordering {
            Ordering::Acquire => panic!("there is no such thing as an acquire store"),
            Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
            _ => {}
        }
        context.perform(place, |world| Operation::Store {
            location: self.location(context, world, initial),
            ordering,
            value: Some(value),
        });
    }

    #[inline(always)]
    fn update(
        &self,
        context: &Context,
        place: &'static Location<'static>,
        initial: impl FnOnce() -> u64,
        update: Update,
        (ordering, failure): (Ordering, Ordering),
    ) -> u64 {
        let reply = context.observe(place, |world| Operation::Update {
            location: self.location(context, world, initial),
            ordering,
            failure,
            update,
        });
        reply.to_value()
    }
}

fn check_load(ordering: Ordering) {
    match ordering {
        Ordering::Release => panic!("there is no such thing as a release load"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
        _ => {}
    }
}

fn check_failure(ordering: Ordering) {
    match ordering {
        Ordering::Release => panic!("there is no such thing as a release failure ordering"),
        Ordering::AcqRel => {
            panic!("there is no such thing as an acquire-release failure ordering")
        }
        _ => {}
    }
}

/// Defines an atomic with the methods that all kinds of values have.
macro_rules! atomic {
    ($name:ident $(<$generic:ident>)?, $value:ty, $bits:expr, $to:expr, $from:expr) => {
        #[doc = concat!("As [`std::sync::atomic::", stringify!($name), "`].")]
        pub struct $name $(<$generic>)? {
            shared: Shared,
            /// Value outside checks.
            plain: std_atomic::$name $(<$generic>)?,
        }

        impl $(<$generic>)? $name $(<$generic>)? {
            const BITS: u8 = $bits;

            /// Creates an atomic with this value.
            #[track_caller]
            pub const fn new(value: $value) -> Self {
                Self {
                    shared: Shared::new(stringify!($name)),
                    plain: std_atomic::$name::new(value),
                }
            }

            #[inline]
            fn to_word(value: $value) -> u64 {
                let to: fn($value) -> u64 = $to;
                to(value)
            }

            #[inline]
            fn from_word(word: u64) -> $value {
                let from: fn(u64) -> $value = $from;
                from(word)
            }

            /// Returns the value at the beginning of an execution.
            #[inline]
            fn initial(&self) -> u64 {
                let Shared { identity, made } = &self.shared;
                let value = match statics::initial(self, identity, made) {
                    Some(initial) => initial.plain.load(Ordering::Relaxed),
                    None => self.plain.load(Ordering::Relaxed),
                };
                Self::to_word(value)
            }

            /// Copies the value of the running execution into std's atomic, for its sole owner.
            #[track_caller]
            fn write_back(&mut self) {
                let context = self.shared.using(Location::caller());
                if let Some(word) =
                    context.and_then(|context| context.owned_value(&self.shared.identity))
                {
                    *self.plain.get_mut() = Self::from_word(word);
                    self.shared.identity.forget();
                }
            }

            /// Returns the value, when no other thread can access it.
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $value {
                self.write_back();
                self.plain.get_mut()
            }

            /// Returns the value, when no other thread can access it.
            #[track_caller]
            pub fn into_inner(mut self) -> $value {
                *self.get_mut()
            }

            /// For `raddle-loom`: reads the value when no other thread writes it, which is a data
            /// race otherwise. Std's atomics have no such method.
            #[doc(hidden)]
            #[track_caller]
            pub fn __unsync_load(&self) -> $value {
                let place = Location::caller();
                let Some(context) = self.shared.using(place) else {
                    return self.plain.load(Ordering::Relaxed);
                };
                let initial = || self.initial();
                let word = self.shared.load(context, place, initial, Ordering::Relaxed);
                let Shared { identity, made } = &self.shared;
                context.check_unsynchronized_load(identity, *made, place);
                Self::from_word(word)
            }

            /// Returns a pointer to the value outside checks. Inside one, accesses through it are
            /// not controlled.
            pub const fn as_ptr(&self) -> *mut $value {
                self.plain.as_ptr()
            }

            /// Reads the value.
            #[track_caller]
            #[inline(always)]
            pub fn load(&self, ordering: Ordering) -> $value {
                self.__load_at(ordering, Location::caller())
            }

            /// Reads the value, at this place in the source.
            #[doc(hidden)]
            #[inline(always)]
            pub fn __load_at(&self, ordering: Ordering, place: &'static Location<'static>) -> $value {
                match self.shared.using(place) {
                    None => self.plain.load(ordering),
                    Some(context) => Self::from_word(self.shared.load(
                        context,
                        place,
                        || self.initial(),
                        ordering,
                    )),
                }
            }

            /// Writes the value.
            #[track_caller]
            #[inline]
            pub fn store(&self, value: $value, ordering: Ordering) {
                match self.shared.using(Location::caller()) {
                    None => self.plain.store(value, ordering),
                    Some(context) => self.shared.store(
                        context,
                        Location::caller(),
                        || self.initial(),
                        Self::to_word(value),
                        ordering,
                    ),
                }
            }

            /// Writes the value and returns the previous one.
            #[track_caller]
            #[inline(always)]
            pub fn swap(&self, value: $value, ordering: Ordering) -> $value {
                match self.shared.using(Location::caller()) {
                    None => self.plain.swap(value, ordering),
                    Some(context) => self.fetch(
                        context,
                        UpdateKind::Swap(Self::to_word(value)),
                        ordering,
                        Location::caller(),
                    ),
                }
            }

            /// Writes `new` if the value is `expected`; returns the previous value, as an error
            /// if nothing was written.
            #[track_caller]
            #[inline(always)]
            pub fn compare_exchange(
                &self,
                expected: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let Some(context) = self.shared.using(Location::caller()) else {
                    return self.plain.compare_exchange(expected, new, success, failure);
                };
                let orderings = (success, failure);
                self.exchange(context, expected, new, false, orderings, Location::caller())
            }

            /// Writes `new` if the value is `expected`, as
            /// [`compare_exchange`](Self::compare_exchange), but may fail although the value is
            /// `expected`. Inside a check that happens at most once for every thread and execution;
            /// see [`Checker::weak_cas`](crate::Checker::weak_cas).
            #[track_caller]
            #[inline(always)]
            pub fn compare_exchange_weak(
                &self,
                expected: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let Some(context) = self.shared.using(Location::caller()) else {
                    return self.plain.compare_exchange_weak(expected, new, success, failure);
                };
                let (weak, orderings) = (context.may_fail_spuriously(), (success, failure));
                self.exchange(context, expected, new, weak, orderings, Location::caller())
            }

            #[inline(always)]
            fn exchange(
                &self,
                context: &Context,
                expected: $value,
                new: $value,
                weak: bool,
                orderings: (Ordering, Ordering),
                place: &'static Location<'static>,
            ) -> Result<$value, $value> {
                check_failure(orderings.1);
                let (expected, new) = (Self::to_word(expected), Self::to_word(new));
                let kind = UpdateKind::CompareExchange { expected, new, weak };
                let old = self.shared.update(
                    context,
                    place,
                    || self.initial(),
                    Update { kind, bits: Self::BITS },
                    orderings,
                );
                if old == expected && !(weak && context.has_failed_spuriously()) {
                    Ok(Self::from_word(old))
                } else {
                    Err(Self::from_word(old))
                }
            }

            /// Writes `new` if the value is `expected`, as
            /// [`compare_exchange`](Self::compare_exchange), with one ordering; returns the
            /// previous value.
            #[track_caller]
            #[deprecated(note = "use `compare_exchange` or `compare_exchange_weak` instead")]
            pub fn compare_and_swap(
                &self,
                expected: $value,
                new: $value,
                ordering: Ordering,
            ) -> $value {
                let failure = match ordering {
                    Ordering::AcqRel => Ordering::Acquire,
                    Ordering::Release => Ordering::Relaxed,
                    other => other,
                };
                match self.compare_exchange(expected, new, ordering, failure) {
                    Ok(old) | Err(old) => old,
                }
            }

            /// Reads the value and writes the result of `next`, repeatedly until no other write
            /// comes in between, or `next` returns `None`. Inside a check, `next` is called again
            /// only if another write came in between, although std may call it again at any time.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                success: Ordering,
                failure: Ordering,
                mut next: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                let mut old = self.load(failure);
                while let Some(new) = next(old) {
                    match self.compare_exchange(old, new, success, failure) {
                        Ok(old) => return Ok(old),
                        Err(found) => old = found,
                    }
                }
                Err(old)
            }

            /// Does the same as [`fetch_update`](Self::fetch_update).
            #[track_caller]
            pub fn try_update(
                &self,
                success: Ordering,
                failure: Ordering,
                next: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.fetch_update(success, failure, next)
            }

            /// Updates the value as [`fetch_update`](Self::fetch_update), with a function that
            /// always returns a value.
            #[track_caller]
            pub fn update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut next: impl FnMut($value) -> $value,
            ) -> $value {
                match self.fetch_update(success, failure, |old| Some(next(old))) {
                    Ok(old) | Err(old) => old,
                }
            }

            #[inline(always)]
            fn fetch(
                &self,
                context: &Context,
                kind: UpdateKind,
                ordering: Ordering,
                place: &'static Location<'static>,
            ) -> $value {
                Self::from_word(self.shared.update(
                    context,
                    place,
                    || self.initial(),
                    Update { kind, bits: Self::BITS },
                    (ordering, ordering),
                ))
            }
        }

        impl $(<$generic>)? Labelled for $name $(<$generic>)? {
            fn thing(&self) -> Thing<'_> {
                Thing::location(&self.shared.identity, self.shared.made, self.initial())
            }
        }

        impl $(<$generic>)? fmt::Debug for $name $(<$generic>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }

        impl $(<$generic>)? Default for $name $(<$generic>)? {
            #[track_caller]
            fn default() -> Self {
                Self { shared: Shared::new(stringify!($name)), plain: Default::default() }
            }
        }

        impl $(<$generic>)? From<$value> for $name $(<$generic>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
}

/// Defines `fetch_*` methods that map to one kind of update each.
macro_rules! fetch {
    ($by:ty => $value:ty: $($(#[$doc:meta])* $method:ident => $kind:expr;)*) => {
        $(
            $(#[$doc])*
            #[track_caller]
            #[inline(always)]
            pub fn $method(&self, value: $by, ordering: Ordering) -> $value {
                let kind: fn($by) -> UpdateKind = $kind;
                match self.shared.using(Location::caller()) {
                    None => self.plain.$method(value, ordering),
                    Some(context) => {
                        self.fetch(context, kind(value), ordering, Location::caller())
                    }
                }
            }
        )*
    };
}

/// Defines what [`Ignored`](crate::Ignored) needs of an atomic.
macro_rules! ignorable {
    ($name:ident, $value:ty) => {
        impl $name {
            /// Prepares an access of an ignored value.
            #[track_caller]
            pub(crate) fn ignore(&self, ordering: Ordering) {
                let context = self.shared.using(Location::caller());
                if let Some(context) = context.filter(|context| context.ignores()) {
                    let initial = || self.initial();
                    context.ignore(ordering, |world| {
                        self.shared.location(context, world, initial)
                    });
                }
            }

            /// Returns the value that a read has for the program.
            #[track_caller]
            pub(crate) fn served(&self, value: $value) -> $value {
                let context = self.shared.using(Location::caller());
                let Some(context) = context.filter(|context| context.ignores()) else {
                    return value;
                };
                let word = context.with_world(|world| {
                    let location = self.shared.location(context, world, || self.initial());
                    world.served(location, Self::to_word(value))
                });
                Self::from_word(word)
            }
        }
    };
}

macro_rules! atomic_int {
    ($($name:ident, $value:ident, $unsigned:ident, $max:expr, $min:expr;)*) => {$(
        atomic!($name, $value, $value::BITS as u8, |value| value as $unsigned as u64,
                |word| word as $value);
        ignorable!($name, $value);

        impl $name {
            fetch! { $value => $value:
                /// Adds, wrapping around; returns the previous value.
                fetch_add => |value| UpdateKind::Add(Self::to_word(value));
                /// Subtracts, wrapping around; returns the previous value.
                fetch_sub => |value| UpdateKind::Sub(Self::to_word(value));
                /// Bitwise and; returns the previous value.
                fetch_and => |value| UpdateKind::And(Self::to_word(value));
                /// Bitwise not-and; returns the previous value.
                fetch_nand => |value| UpdateKind::Nand(Self::to_word(value));
                /// Bitwise or; returns the previous value.
                fetch_or => |value| UpdateKind::Or(Self::to_word(value));
                /// Bitwise exclusive or; returns the previous value.
                fetch_xor => |value| UpdateKind::Xor(Self::to_word(value));
                /// Writes the greater of the two; returns the previous value.
                fetch_max => $max;
                /// Writes the lesser of the two; returns the previous value.
                fetch_min => $min;
            }
        }
    )*};
}

atomic_int! {
    AtomicU8, u8, u8, |v| UpdateKind::Max(v.into()), |v| UpdateKind::Min(v.into());
    AtomicU16, u16, u16, |v| UpdateKind::Max(v.into()), |v| UpdateKind::Min(v.into());
    AtomicU32, u32, u32, |v| UpdateKind::Max(v.into()), |v| UpdateKind::Min(v.into());
    AtomicU64, u64, u64, UpdateKind::Max, UpdateKind::Min;
    AtomicUsize, usize, usize, |v| UpdateKind::Max(v as u64), |v| UpdateKind::Min(v as u64);
    AtomicI8, i8, u8, |v| UpdateKind::SignedMax(v.into()), |v| UpdateKind::SignedMin(v.into());
    AtomicI16, i16, u16, |v| UpdateKind::SignedMax(v.into()), |v| UpdateKind::SignedMin(v.into());
    AtomicI32, i32, u32, |v| UpdateKind::SignedMax(v.into()), |v| UpdateKind::SignedMin(v.into());
    AtomicI64, i64, u64, UpdateKind::SignedMax, UpdateKind::SignedMin;
    AtomicIsize, isize, usize, |v| UpdateKind::SignedMax(v as i64),
        |v| UpdateKind::SignedMin(v as i64);
}

atomic!(AtomicBool, bool, 1, u64::from, |word| word != 0);
ignorable!(AtomicBool, bool);

impl AtomicBool {
    fetch! { bool => bool:
        /// Logical and; returns the previous value.
        fetch_and => |value| UpdateKind::And(value.into());
        /// Logical not-and; returns the previous value.
        fetch_nand => |value| UpdateKind::Nand(value.into());
        /// Logical or; returns the previous value.
        fetch_or => |value| UpdateKind::Or(value.into());
        /// Logical exclusive or; returns the previous value.
        fetch_xor => |value| UpdateKind::Xor(value.into());
    }

    /// Negates the value and returns the previous one.
    #[track_caller]
    pub fn fetch_not(&self, ordering: Ordering) -> bool {
        self.fetch_xor(true, ordering)
    }
}

// The engine stores only the address, hence the round trip through exposed provenance.
atomic!(
    AtomicPtr<T>,
    *mut T,
    64,
    |pointer| pointer.expose_provenance() as u64,
    |word| std::ptr::with_exposed_provenance_mut(word as usize)
);

impl<T> AtomicPtr<T> {
    fetch! { usize => *mut T:
        /// Moves the pointer forward by a number of bytes; returns the previous pointer.
        fetch_byte_add => |value| UpdateKind::Add(value as u64);
        /// Moves the pointer back by a number of bytes; returns the previous pointer.
        fetch_byte_sub => |value| UpdateKind::Sub(value as u64);
        /// Bitwise or of the address; returns the previous pointer.
        fetch_or => |value| UpdateKind::Or(value as u64);
        /// Bitwise and of the address; returns the previous pointer.
        fetch_and => |value| UpdateKind::And(value as u64);
        /// Bitwise exclusive or of the address; returns the previous pointer.
        fetch_xor => |value| UpdateKind::Xor(value as u64);
    }

    /// Moves the pointer forward by a number of values; returns the previous pointer.
    #[track_caller]
    pub fn fetch_ptr_add(&self, value: usize, ordering: Ordering) -> *mut T {
        self.fetch_byte_add(value.wrapping_mul(size_of::<T>()), ordering)
    }

    /// Moves the pointer back by a number of values; returns the previous pointer.
    #[track_caller]
    pub fn fetch_ptr_sub(&self, value: usize, ordering: Ordering) -> *mut T {
        self.fetch_byte_sub(value.wrapping_mul(size_of::<T>()), ordering)
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Ordering::Relaxed), f)
    }
}
