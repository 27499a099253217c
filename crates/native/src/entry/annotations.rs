//! What programs seldom call: accesses that say themselves where they are, those of code that speaks
//! for a library, and annotations that have no meaning here.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr::null_mut;

use super::plain::access_range;

/// Accesses with the place in the program as an argument.
macro_rules! placed {
    ($($name:ident: $writes:literal, $size:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name(address: usize, code: usize) {
                access_range(address, $size, $writes, code);
            }
        )*
    };
}

placed! {
    __tsan_read1_pc: false, 1;
    __tsan_read2_pc: false, 2;
    __tsan_read4_pc: false, 4;
    __tsan_read8_pc: false, 8;
    __tsan_read16_pc: false, 16;
    __tsan_write1_pc: true, 1;
    __tsan_write2_pc: true, 2;
    __tsan_write4_pc: true, 4;
    __tsan_write8_pc: true, 8;
    __tsan_write16_pc: true, 16;
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_read_range_pc(address: usize, size: usize, code: usize) {
    access_range(address, size, false, code);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_write_range_pc(address: usize, size: usize, code: usize) {
    access_range(address, size, true, code);
}

/// A call that reads what a library has at an address.
#[unsafe(no_mangle)]
extern "C" fn __tsan_external_read(address: usize, code: usize, _tag: usize) {
    access_range(address, 1, false, code);
}

/// A call that changes what a library has at an address.
#[unsafe(no_mangle)]
extern "C" fn __tsan_external_write(address: usize, code: usize, _tag: usize) {
    access_range(address, 1, true, code);
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_external_register_tag(_kind: *const c_char) -> *mut c_void {
    null_mut()
}

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

type File = *const c_char;
type Text = *const c_char;

ignored! {
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
