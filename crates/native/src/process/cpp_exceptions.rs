//! Uncaught exceptions of C++.
//!
//! The C++ library then calls its first `std::terminate_handler`, which prints the exception, in
//! every execution, and calls `abort`. This module's function replaces that handler by its name.

use std::ffi::{CStr, c_char, c_void};

use addr2line::{demangle, gimli};

use crate::abi::real::forward;
use crate::abi::trampoline;
use crate::engine::Manner;
use crate::execution::shadow_stack;
use crate::host::mode;
use crate::threads::failure;

/// Size of an exception's header in the C++ ABI for x86-64, and the offset of its class: the
/// language and kind of exception, in bytes.
const HEADER: usize = 112;
const CLASS: usize = 80;
const CPP: u64 = u64::from_be_bytes(*b"GNUCC++\0");

trampoline::entry! {
    fn _ZN9__gnu_cxx27__verbose_terminate_handlerEv() -> ! as on_terminate("rdi");
}

extern "C" fn on_terminate(code: usize) -> ! {
    if !mode::is_guest() {
        forward!(fn _ZN9__gnu_cxx27__verbose_terminate_handlerEv() -> !)
    }
    let here = 0u8;
    let site = shadow_stack::called(code, &raw const here as usize);
    // SAFETY: `current` needs the ABI of the C++ library that is loaded, which is the one that has called
    // this.
    let message = match unsafe { current() } {
        Some(exception) => format!("an uncaught exception: {exception}"),
        None => "the program called std::terminate".to_owned(),
    };
    failure::diverge(|| failure::fail_in(Manner::Crash, message, site))
}

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: `dlsym` needs a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Returns the type of the exception that is being handled, and its message.
///
/// # Safety
///
/// The C++ library must be loaded.
unsafe fn current() -> Option<String> {
    type Type = *const *const c_char;
    let (type_of, globals) = (
        symbol(c"__cxa_current_exception_type"),
        symbol(c"__cxa_get_globals"),
    );
    if type_of.is_null() || globals.is_null() {
        return None;
    }
    // SAFETY: the C++ ABI gives functions of these names these types. A type has its name, a C
    // string, after its virtual table. The first field of the globals is the exception that was
    // caught last, and not null while it is handled.
    unsafe {
        let type_of: extern "C" fn() -> Type = std::mem::transmute(type_of);
        let globals: extern "C" fn() -> *const *const u8 = std::mem::transmute(globals);
        let thrown = type_of();
        if thrown.is_null() {
            return None;
        }
        let name = CStr::from_ptr(*thrown.add(1)).to_string_lossy();
        let mangled = format!("_ZTI{}", name.trim_start_matches('*'));
        let plain = demangle(&mangled, gimli::DW_LANG_C_plus_plus).unwrap_or(mangled);
        let plain = plain.trim_start_matches("typeinfo for ").to_owned();
        let exception = *globals();
        let is_cpp = !exception.is_null() && exception.add(CLASS).cast::<u64>().read() == CPP;
        let text = is_cpp
            .then(|| what(thrown.cast(), exception.add(HEADER)))
            .flatten();
        Some(match text {
            Some(text) => format!("{plain}: {text}"),
            None => plain,
        })
    }
}

/// Returns the message of an exception, if it is a `std::exception`.
///
/// # Safety
///
/// The exception must be an object of that type.
unsafe fn what(thrown: *const c_void, exception: *const u8) -> Option<String> {
    /// Slots of the virtual functions: a type's test that it catches another, and an exception's
    /// `what`.
    const CATCHES: usize = 4;
    const WHAT: usize = 2;
    type Catches = extern "C" fn(*const c_void, *const c_void, *mut *const u8, u32) -> bool;
    type What = extern "C" fn(*const u8) -> *const c_char;
    let base = symbol(c"_ZTISt9exception");
    if base.is_null() {
        return None;
    }
    // SAFETY: a virtual table of the C++ ABI has these functions in these places in all versions of the
    // library, and the exception is alive while it is handled.
    unsafe {
        let function = |object: *const u8, slot: usize| *(*object.cast::<*const usize>()).add(slot);
        let catches: Catches = std::mem::transmute(function(base.cast(), CATCHES));
        let mut object = exception;
        if !catches(base, thrown, &mut object, 1) {
            return None;
        }
        let what: What = std::mem::transmute(function(object, WHAT));
        Some(CStr::from_ptr(what(object)).to_string_lossy().into_owned())
    }
}
