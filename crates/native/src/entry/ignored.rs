//! What has no meaning here, but must be there for programs to load.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr::null_mut;

/// Functions that do nothing.
macro_rules! ignored {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) {
                let _ = ($($argument,)*);
            }
        )*
    };
}

ignored! {
    __tsan_init();
    __tsan_ignore_thread_begin();
    __tsan_ignore_thread_end();
    __tsan_acquire(address: usize);
    __tsan_release(address: usize);
    __tsan_mutex_create(address: usize, flags: u32);
    __tsan_mutex_destroy(address: usize, flags: u32);
    __tsan_mutex_pre_lock(address: usize, flags: u32);
    __tsan_mutex_post_lock(address: usize, flags: u32, recursion: c_int);
    __tsan_mutex_post_unlock(address: usize, flags: u32);
    __tsan_mutex_pre_signal(address: usize, flags: u32);
    __tsan_mutex_post_signal(address: usize, flags: u32);
    __tsan_mutex_pre_divert(address: usize, flags: u32);
    __tsan_mutex_post_divert(address: usize, flags: u32);
    __tsan_set_fiber_name(fiber: usize, name: *const c_char);
    __tsan_destroy_fiber(fiber: usize);
    __tsan_switch_to_fiber(fiber: usize, flags: u32);
    AnnotateHappensBefore(file: *const c_char, line: c_int, address: usize);
    AnnotateHappensAfter(file: *const c_char, line: c_int, address: usize);
    AnnotateIgnoreReadsBegin(file: *const c_char, line: c_int);
    AnnotateIgnoreReadsEnd(file: *const c_char, line: c_int);
    AnnotateIgnoreWritesBegin(file: *const c_char, line: c_int);
    AnnotateIgnoreWritesEnd(file: *const c_char, line: c_int);
    AnnotateBenignRace(file: *const c_char, line: c_int, address: usize, text: *const c_char);
    AnnotateBenignRaceSized(
        file: *const c_char, line: c_int, address: usize, size: c_long, text: *const c_char
    );
    AnnotateRWLockCreate(file: *const c_char, line: c_int, address: usize);
    AnnotateRWLockDestroy(file: *const c_char, line: c_int, address: usize);
    AnnotateRWLockAcquired(file: *const c_char, line: c_int, address: usize, writes: c_long);
    AnnotateRWLockReleased(file: *const c_char, line: c_int, address: usize, writes: c_long);
    AnnotateThreadName(file: *const c_char, line: c_int, name: *const c_char);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_mutex_pre_unlock(_address: usize, _flags: u32) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_get_current_fiber() -> *mut c_void {
    null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_create_fiber(_flags: u32) -> *mut c_void {
    null_mut()
}
