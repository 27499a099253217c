//! POSIX threads and what they synchronise with. Each function becomes an operation if a guest calls
//! it, and is the C library's own otherwise.

pub(crate) mod attributes;
mod barrier;
mod c11;
pub(crate) mod cancel;
mod condvar;
mod guard;
pub(crate) mod keys;
pub(crate) mod mutex;
mod once;
mod rwlock;
mod semaphore;
mod spin;
mod thread;

/// As [`watched!`](crate::abi::trampoline::watched), for functions that anybody may call: code that nobody
/// controls gets the C library's.
macro_rules! interpose {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal)
        $code:ident $body:block)*) => {
        $(
            $crate::abi::trampoline::watched! {
                fn $name($($argument: $type),*) -> $result as $to($register);
            }

            pub(super) extern "C" fn $to($($argument: $type,)* $code: usize) -> $result {
                if !$crate::host::mode::is_guest() {
                    // SAFETY: what the caller wanted.
                    return unsafe {
                        $crate::abi::real::real!(fn $name($($type),*) -> $result)($($argument),*)
                    };
                }
                let $code = $crate::execution::shadow_stack::users($code);
                $crate::host::mode::host(move || {
                    $crate::threads::interrupts::scheduling_point($code);
                    $body
                })
            }
        )*
    };
}

/// As [`interpose!`], for functions that are cancellation points.
macro_rules! cancellation_points {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal)
        $code:ident $body:block)*) => {
        $(
            $crate::abi::trampoline::departing! {
                fn $name($($argument: $type),*) -> $result as $to($register);
            }

            pub(super) extern "C" fn $to($($argument: $type,)* $code: usize) -> $result {
                if !$crate::host::mode::is_guest() {
                    // SAFETY: what the caller wanted.
                    return unsafe {
                        $crate::abi::real::real!(fn $name($($type),*) -> $result)($($argument),*)
                    };
                }
                let $code = $crate::execution::shadow_stack::users($code);
                $crate::host::mode::host(move || {
                    $crate::threads::interrupts::scheduling_point($code);
                    match $crate::threads::interrupts::cancellation_point($code) {
                        true => $body,
                        false => Default::default(),
                    }
                })
            }
        )*
    };
}

pub(crate) use {cancellation_points, interpose};
