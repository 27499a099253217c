//! Functions of the C library whose names this library has taken.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the next function of this name after ours, looked up once. For [`real!`] only, which gives its
/// type.
pub(crate) fn function<F: Copy>(cache: &AtomicUsize, name: &CStr) -> F {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    let mut found = cache.load(Ordering::Relaxed);
    if found == 0 {
        // SAFETY: `dlsym` needs a C string.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
        assert!(found != 0, "raddle: the C library has no {name:?}");
        cache.store(found, Ordering::Relaxed);
    }
    // SAFETY: `transmute_copy` needs a valid `F` in `found`: `real!` makes `F` a function type,
    // which is as large as an address. Each use of `real!` promises the C library's declaration,
    // which is why calls of the result are unsafe.
    unsafe { std::mem::transmute_copy(&found) }
}

/// `real!(fn name(Type, ...) -> Type)`: the C library's function of that name.
macro_rules! real {
    (fn $name:ident($($argument:ty),*) -> $result:ty) => {{
        static FOUND: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        const NAME: &std::ffi::CStr =
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            };
        type Real = unsafe extern "C-unwind" fn($($argument),*) -> $result;
        $crate::abi::real::function::<Real>(&FOUND, NAME)
    }};
}

/// `forward!(fn name(argument: Type, ...) -> Type)`: calls the C library's function of that name with these
/// variables. They are the arguments of a call of our function of that name, or request less: a
/// part of the buffer, or no waiting.
macro_rules! forward {
    (fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty) => {{
        let real = $crate::abi::real::real!(fn $name($($type),*) -> $result);
        // SAFETY: the types are those of the C library's declaration. The caller has passed the
        // arguments to this function by its name, so the C library's requirements on them are the
        // caller's obligation.
        #[allow(unused_unsafe)]
        unsafe {
            real($($argument),*)
        }
    }};
}

pub(crate) use {forward, real};
