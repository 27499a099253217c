//! Comparison of raddle's types with std's: the same calls on both, the same results.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the same block with std's modules and with raddle's as `$sync` (and `$thread`), and
/// compares the results.
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

/// Returns a value's debug text, on one line and on several.
pub fn text(value: impl Debug) -> String {
    format!("{value:?} {value:#?}")
}

/// Returns the text of the panic that `body` must end with.
pub fn panics(body: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(body)).expect_err("it should panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().expect("a text")).to_owned(),
    }
}

/// Returns the names of the traits of std's types that a type has.
#[macro_export]
macro_rules! traits {
    ($type:ty) => {
        $crate::traits!($type:
            Send, Sync, Unpin, ::std::panic::UnwindSafe, ::std::panic::RefUnwindSafe, Clone, Copy,
            Default, PartialEq, Eq, PartialOrd, Ord, Iterator, IntoIterator, ::std::hash::Hash,
            ::std::fmt::Debug, ::std::fmt::Display, ::std::fmt::Pointer, ::std::error::Error,
            ::std::ops::Deref, ::std::ops::DerefMut, From<u32>, From<bool>, From<*mut u32>,
        )
    };
    ($type:ty: $($trait:path,)*) => {{
        let mut traits = Vec::new();
        $({
            // Inherent items take precedence over those of a blanket trait.
            struct Has<T: ?Sized>(::std::marker::PhantomData<T>);
            #[allow(dead_code)]
            trait Lacks {
                const IT: bool = false;
            }
            impl<T: ?Sized> Lacks for Has<T> {}
            #[allow(dead_code)]
            impl<T: ?Sized + $trait> Has<T> {
                const IT: bool = true;
            }
            if Has::<$type>::IT {
                traits.push(stringify!($trait));
            }
        })*
        (stringify!($type), traits)
    }};
}
