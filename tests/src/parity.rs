//! Comparing raddle's types with std's: the same calls on both, the same results.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the same block with `$sync` (and `$thread`) standing for std's modules and for raddle's, and
/// compares what it returns.
#[macro_export]
macro_rules! same {
    (|$sync:ident| $body:block) => {
        $crate::same!(|$sync, _thread| $body)
    };
    (|$sync:ident, $thread:ident| $body:block) => {{
        let std = {
            use ::std::sync as $sync;
            #[allow(unused_imports)]
            use ::std::thread as $thread;
            $body
        };
        let raddle = {
            use ::raddle::sync as $sync;
            #[allow(unused_imports)]
            use ::raddle::thread as $thread;
            $body
        };
        assert_eq!(std, raddle);
    }};
}

/// What a value prints for debugging, on one line and on several.
pub fn text(value: impl Debug) -> String {
    format!("{value:?} {value:#?}")
}

/// The text of the panic that `body` must end with.
pub fn panics(body: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(body)).expect_err("it should panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().expect("a text")).to_owned(),
    }
}
