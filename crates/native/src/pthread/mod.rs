//! POSIX threads and what they synchronise with. Each function becomes an operation if a guest calls
//! it, and is the C library's own otherwise.

mod barrier;
mod c11;
mod condvar;
mod guard;
pub(crate) mod keys;
mod mutex;
mod once;
mod rwlock;
mod semaphore;
mod spin;
mod thread;

/// As [`watched!`](crate::trampoline::watched), for functions that anybody may call: code that nobody
/// controls gets the C library's.
macro_rules! interpose {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty as $to:ident($register:literal)
        $code:ident $body:block)*) => {
        $(
            $crate::trampoline::watched! {
                fn $name($($argument: $type),*) -> $result as $to($register);
            }

            pub(super) extern "C" fn $to($($argument: $type,)* $code: usize) -> $result {
                if !$crate::mode::is_guest() {
                    // SAFETY: what the caller wanted.
                    return unsafe {
                        $crate::real::real!(fn $name($($type),*) -> $result)($($argument),*)
                    };
                }
                let $code = $crate::tsan::calls::users($code);
                $crate::mode::host(move || $body)
            }
        )*
    };
}

pub(crate) use interpose;
