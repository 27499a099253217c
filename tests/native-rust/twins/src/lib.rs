//! Small programs with one bug each, and the litmus tests of memory models. What they need of the standard
//! library they take from here, so that the same files can be compiled with other types of the same shape.

pub mod bugs;
pub mod litmus;

use std::{sync, thread};

/// A value whose users say when they read and when they write.
pub mod cell {
    /// As std's, but for how it is used.
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}

#[cfg(test)]
mod tests {
    macro_rules! tests {
        ($($name:ident)*) => {$(
            #[test]
            fn $name() {
                super::bugs::$name();
            }
        )*};
    }

    tests! {
        lost_update opposite_orders lost_wakeup check_then_act too_few_messages both_send_first
        upgrade set_up_twice one_too_few unparked_too_early assertion_in_a_thread published_too_weakly
        lock_is_taken woken_without_reason stale_message both_enter named_threads scoped_update
    }
}

/// One test for all executions of a litmus test, and one for each outcome that says it never happens.
#[cfg(test)]
mod outcomes {
    macro_rules! litmus {
        ($($name:ident { $($test:ident: $outcome:literal)* })*) => {$(
            mod $name {
                use crate::litmus::$name;

                #[test]
                fn runs() {
                    $name();
                }

                $(
                    #[test]
                    fn $test() {
                        assert_ne!($name(), $outcome);
                    }
                )*
            }
        )*};
    }

    litmus! {
        mp_relaxed { never_00: 0 never_01: 1 never_10: 10 never_11: 11 }
        mp_released { never_00: 0 never_01: 1 never_10: 10 never_11: 11 }
        mp_fenced { never_00: 0 never_01: 1 never_10: 10 never_11: 11 }
        sb_relaxed { never_00: 0 never_01: 1 never_10: 10 never_11: 11 }
        sb_ordered { never_00: 0 never_01: 1 never_10: 10 never_11: 11 }
        sb_fenced { never_00: 0 never_01: 1 never_10: 10 never_11: 11 }
        lb_relaxed { never_00: 0 never_01: 1 never_10: 10 never_11: 11 }
        corr { never_12: 12 never_21: 21 never_22: 22 never_00: 0 }
        two_plus_two { never_11: 11 never_12: 12 never_21: 21 never_22: 22 }
        iriw_relaxed { never_1010: 1010 never_1111: 1111 never_0000: 0 }
        iriw_ordered { never_1010: 1010 never_1111: 1111 never_0000: 0 }
        release_sequence { never_00: 0 never_10: 10 never_20: 20 never_21: 21 }
        broken_sequence { never_00: 0 never_10: 10 never_20: 20 never_21: 21 }
        exchanges { never_00: 0 never_01: 1 never_20: 20 never_21: 21 }
    }
}
