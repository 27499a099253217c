//! Functions of the C library that are operations if a guest calls them, and the C library's own otherwise.

/// As [`watched!`](crate::abi::trampoline::watched), for functions with any callers: code that is
/// not controlled calls the C library's.
macro_rules! interpose {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal)
        $code:ident $body:block)*) => {
        $(
            $crate::abi::trampoline::watched! {
                fn $name($($argument: $type),*) -> $result as $to($register);
            }

            pub(super) extern "C" fn $to($($argument: $type,)* $code: usize) -> $result {
                if !$crate::host::mode::is_guest() {
                    return $crate::abi::real::forward!(fn $name($($argument: $type),*) -> $result);
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
                    return $crate::abi::real::forward!(fn $name($($argument: $type),*) -> $result);
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

/// Defines functions that are cancellation points and end with a number, or -1 and an error.
macro_rules! system_calls {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal)
        $code:ident $body:block)*) => {
        $(
            $crate::abi::trampoline::departing! {
                fn $name($($argument: $type),*) -> $result as $to($register);
            }

            extern "C" fn $to($($argument: $type,)* $code: usize) -> $result {
                if !$crate::host::mode::is_guest() || $crate::execution::shadow_stack::is_ours($code) {
                    return $crate::abi::real::forward!(fn $name($($argument: $type),*) -> $result);
                }
                let $code = $crate::execution::shadow_stack::users($code);
                let result: Result<isize, std::ffi::c_int> = $crate::host::mode::host(move || {
                    $crate::threads::interrupts::scheduling_point($code);
                    match $crate::threads::interrupts::cancellation_point($code) {
                        true => $body,
                        false => Ok(0),
                    }
                });
                match result {
                    Ok(result) => result as $result,
                    Err(error) => {
                        $crate::host::mode::set_errno(error);
                        -1
                    }
                }
            }
        )*
    };
}

pub(crate) use {cancellation_points, interpose, system_calls};
