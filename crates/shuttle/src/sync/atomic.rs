//! Mirrors `std::sync::atomic`, with atomics of 128 bits.

use std::fmt;

use raddle::sync::Mutex;

pub use raddle::sync::atomic::*;

macro_rules! wide {
    ($($name:ident($value:ty))*) => {$(
        /// An atomic of 128 bits. Its operations are those of a lock, so all orderings mean `SeqCst`.
        #[derive(Default)]
        pub struct $name {
            value: Mutex<$value>,
        }

        impl $name {
            /// Creates an atomic.
            #[track_caller]
            pub const fn new(value: $value) -> Self {
                $name {
                    value: Mutex::new(value),
                }
            }

            /// Returns the value, which no other thread can use.
            pub fn get_mut(&mut self) -> &mut $value {
                self.value.get_mut().expect("nothing panics while it holds the lock")
            }

            /// Returns the value.
            pub fn into_inner(self) -> $value {
                self.value.into_inner().expect("nothing panics while it holds the lock")
            }

            #[track_caller]
            fn replace(&self, by: impl FnOnce($value) -> Option<$value>) -> Result<$value, $value> {
                let mut value = self.value.lock().expect("nothing panics while it holds the lock");
                let earlier = *value;
                match by(earlier) {
                    Some(new) => {
                        *value = new;
                        Ok(earlier)
                    }
                    None => Err(earlier),
                }
            }

            #[track_caller]
            fn fetch(&self, by: impl FnOnce($value) -> $value) -> $value {
                let replaced = self.replace(|value| Some(by(value)));
                replaced.unwrap_or_else(|earlier| earlier)
            }

            /// Reads the value.
            #[track_caller]
            pub fn load(&self, _ordering: Ordering) -> $value {
                self.fetch(|value| value)
            }

            /// Writes the value.
            #[track_caller]
            pub fn store(&self, value: $value, _ordering: Ordering) {
                self.fetch(|_| value);
            }

            /// Writes the value and returns the previous one.
            #[track_caller]
            pub fn swap(&self, value: $value, _ordering: Ordering) -> $value {
                self.fetch(|_| value)
            }

            /// Writes `new` if the value is `current`.
            #[track_caller]
            #[deprecated(note = "use `compare_exchange`")]
            pub fn compare_and_swap(
                &self,
                current: $value,
                new: $value,
                _ordering: Ordering,
            ) -> $value {
                let exchanged = self.replace(|value| (value == current).then_some(new));
                exchanged.unwrap_or_else(|found| found)
            }

            /// Writes `new` if the value is `current`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                _success: Ordering,
                _failure: Ordering,
            ) -> Result<$value, $value> {
                self.replace(|value| (value == current).then_some(new))
            }

            /// Writes `new` if the value is `current`; never fails spuriously.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Writes the result of `f`, which may be called several times.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                success: Ordering,
                failure: Ordering,
                mut f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                let mut found = self.load(failure);
                while let Some(new) = f(found) {
                    match self.compare_exchange(found, new, success, failure) {
                        Ok(earlier) => return Ok(earlier),
                        Err(now) => found = now,
                    }
                }
                Err(found)
            }

            /// Writes the result of `f`, as [`fetch_update`](Self::fetch_update).
            #[track_caller]
            pub fn try_update(
                &self,
                success: Ordering,
                failure: Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.fetch_update(success, failure, f)
            }

            /// Writes the result of `f`, which may be called several times.
            #[track_caller]
            pub fn update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                let updated = self.fetch_update(success, failure, |value| Some(f(value)));
                updated.unwrap_or_else(|earlier| earlier)
            }

            /// Adds, and wraps around.
            #[track_caller]
            pub fn fetch_add(&self, by: $value, _ordering: Ordering) -> $value {
                self.fetch(|value| value.wrapping_add(by))
            }

            /// Subtracts, and wraps around.
            #[track_caller]
            pub fn fetch_sub(&self, by: $value, _ordering: Ordering) -> $value {
                self.fetch(|value| value.wrapping_sub(by))
            }

            /// Bitwise "and".
            #[track_caller]
            pub fn fetch_and(&self, by: $value, _ordering: Ordering) -> $value {
                self.fetch(|value| value & by)
            }

            /// Bitwise "nand".
            #[track_caller]
            pub fn fetch_nand(&self, by: $value, _ordering: Ordering) -> $value {
                self.fetch(|value| !(value & by))
            }

            /// Bitwise "or".
            #[track_caller]
            pub fn fetch_or(&self, by: $value, _ordering: Ordering) -> $value {
                self.fetch(|value| value | by)
            }

            /// Bitwise "xor".
            #[track_caller]
            pub fn fetch_xor(&self, by: $value, _ordering: Ordering) -> $value {
                self.fetch(|value| value ^ by)
            }

            /// The maximum of both.
            #[track_caller]
            pub fn fetch_max(&self, by: $value, _ordering: Ordering) -> $value {
                self.fetch(|value| value.max(by))
            }

            /// The minimum of both.
            #[track_caller]
            pub fn fetch_min(&self, by: $value, _ordering: Ordering) -> $value {
                self.fetch(|value| value.min(by))
            }
        }

        impl From<$value> for $name {
            #[track_caller]
            fn from(value: $value) -> Self {
                $name::new(value)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.load(Ordering::Relaxed).fmt(f)
            }
        }
    )*};
}

wide! {
    AtomicI128(i128)
    AtomicU128(u128)
}
