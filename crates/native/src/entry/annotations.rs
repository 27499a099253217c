//! Annotations and other functions of ThreadSanitizer's runtime that have no effect here, but must
//! exist for programs to load.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr::null_mut;

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_external_register_tag(_kind: *const c_char) -> *mut c_void {
    null_mut()
}

/// Defines functions that do nothing.
macro_rules! ignored {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[cfg_attr(not(test), unsafe(no_mangle))]
            extern "C" fn $name($($argument: $type),*) {
                let _ = ($($argument,)*);
            }
        )*
    };
}

type File = *const c_char;
type Text = *const c_char;

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
    __tsan_set_fiber_name(fiber: usize, name: Text);
    __tsan_destroy_fiber(fiber: usize);
    __tsan_switch_to_fiber(fiber: usize, flags: u32);
    AnnotateHappensBefore(file: File, line: c_int, address: usize);
    AnnotateHappensAfter(file: File, line: c_int, address: usize);
    AnnotateIgnoreReadsBegin(file: File, line: c_int);
    AnnotateIgnoreReadsEnd(file: File, line: c_int);
    AnnotateIgnoreWritesBegin(file: File, line: c_int);
    AnnotateIgnoreWritesEnd(file: File, line: c_int);
    AnnotateBenignRace(file: File, line: c_int, address: usize, text: Text);
    AnnotateBenignRaceSized(
        file: File, line: c_int, address: usize, size: c_long, text: Text
    );
    AnnotateRWLockCreate(file: File, line: c_int, address: usize);
    AnnotateRWLockDestroy(file: File, line: c_int, address: usize);
    AnnotateRWLockAcquired(file: File, line: c_int, address: usize, writes: c_long);
    AnnotateRWLockReleased(file: File, line: c_int, address: usize, writes: c_long);
    AnnotateThreadName(file: File, line: c_int, name: Text);
    __tsan_flush_memory();
    __tsan_external_assign_tag(address: usize, tag: usize);
    __tsan_external_register_header(tag: usize, header: Text);
    AnnotateCondVarSignal(file: File, line: c_int, condvar: usize);
    AnnotateCondVarSignalAll(file: File, line: c_int, condvar: usize);
    AnnotateCondVarWait(file: File, line: c_int, condvar: usize, lock: usize);
    AnnotateEnableRaceDetection(file: File, line: c_int, enable: c_int);
    AnnotateExpectRace(file: File, line: c_int, address: usize, text: Text);
    AnnotateFlushExpectedRaces(file: File, line: c_int);
    AnnotateFlushState(file: File, line: c_int);
    AnnotateIgnoreSyncBegin(file: File, line: c_int);
    AnnotateIgnoreSyncEnd(file: File, line: c_int);
    AnnotateMemoryIsInitialized(file: File, line: c_int, address: usize, size: usize);
    AnnotateMemoryIsUninitialized(file: File, line: c_int, address: usize, size: usize);
    AnnotateMutexIsNotPHB(file: File, line: c_int, mutex: usize);
    AnnotateMutexIsUsedAsCondVar(file: File, line: c_int, mutex: usize);
    AnnotateNewMemory(file: File, line: c_int, address: usize, size: usize);
    AnnotateNoOp(file: File, line: c_int, address: usize);
    AnnotatePCQCreate(file: File, line: c_int, queue: usize);
    AnnotatePCQDestroy(file: File, line: c_int, queue: usize);
    AnnotatePCQGet(file: File, line: c_int, queue: usize);
    AnnotatePCQPut(file: File, line: c_int, queue: usize);
    AnnotatePublishMemoryRange(file: File, line: c_int, address: usize, size: usize);
    AnnotateRWLockCreateStatic(file: File, line: c_int, lock: usize);
    AnnotateTraceMemory(file: File, line: c_int, address: usize);
    AnnotateUnpublishMemoryRange(file: File, line: c_int, address: usize, size: usize);
    WTFAnnotateBenignRaceSized(file: File, line: c_int, address: usize, size: c_long, text: Text);
    WTFAnnotateHappensAfter(file: File, line: c_int, address: usize);
    WTFAnnotateHappensBefore(file: File, line: c_int, address: usize);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_mutex_pre_unlock(_address: usize, _flags: u32) -> c_int {
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_get_current_fiber() -> *mut c_void {
    null_mut()
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_create_fiber(_flags: u32) -> *mut c_void {
    null_mut()
}
