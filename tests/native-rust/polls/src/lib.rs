//! Channels that are polled. What the programs need of the standard library they take from here, so that the
//! same file can be compiled with other types of the same shape.

pub mod programs;

use std::{sync, thread};

/// One test for all executions of a program, and one for each outcome that says it never happens.
#[cfg(test)]
mod outcomes {
    macro_rules! programs {
        ($($name:ident { $($test:ident: $outcome:literal)* })*) => {$(
            mod $name {
                use crate::programs::$name;

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

    programs! {
        sender_goes { never_10: 10 never_11: 11 never_20: 20 never_21: 21 }
        senders_go { never_10: 10 never_11: 11 never_20: 20 never_21: 21 }
        polled_twice { never_02: 2 never_10: 10 never_11: 11 never_12: 12 never_22: 22 }
        polled_then_received { never_00: 0 never_02: 2 never_10: 10 never_12: 12 }
        received_in_time { never_00: 0 never_02: 2 never_10: 10 never_12: 12 }
    }
}
