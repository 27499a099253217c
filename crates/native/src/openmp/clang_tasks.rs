//! Tasks as clang compiles them.

use std::ffi::{c_int, c_void};

use super::clang::{Number, SourceLocation};
use super::{caller, runtime, tasks, team};
use crate::host::mode::host;

/// Header of a task in libomp; its own variables follow.
#[repr(C)]
struct Task {
    shared: *mut c_void,
    function: extern "C" fn(Number, *mut Task) -> c_int,
}

extern "C" fn allocate_task(
    _place: SourceLocation,
    _number: Number,
    _flags: c_int,
    size: usize,
    shared: usize,
    function: extern "C" fn(Number, *mut Task) -> c_int,
) -> *mut Task {
    const ALIGNMENT: usize = 16;
    let size = size.next_multiple_of(ALIGNMENT);
    // SAFETY: the block has `size + shared` bytes, and compilers pass a `size` that includes the header;
    // all-zero fields are overwritten before they are read.
    unsafe {
        let task = libc::calloc(1, size + shared).cast::<Task>();
        (*task).shared = task.cast::<u8>().add(size).cast();
        (*task).function = function;
        task
    }
}

/// Function of a thread that runs a task.
extern "C" fn do_task(task: *mut Task) -> usize {
    let number = host(team::number);
    // SAFETY: compilers pass the result of `allocate_task`, which has set the function.
    unsafe { ((*task).function)(number, task) };
    0
}

extern "C" fn task(_place: SourceLocation, _number: Number, task: *mut Task) -> c_int {
    let code = caller();
    match host(tasks::are_done_at_once) {
        true => {
            do_task(task);
        }
        false => {
            let function = do_task as extern "C" fn(*mut Task) -> usize as usize;
            host(|| tasks::spawn(function, task as usize, code));
        }
    }
    0
}

extern "C" fn wait_for_tasks(_place: SourceLocation, _number: Number) -> c_int {
    let code = caller();
    host(|| tasks::wait_for_children(code));
    0
}

extern "C" fn start_group(_place: SourceLocation, _number: Number) {
    host(tasks::begin_group);
}

extern "C" fn end_group(_place: SourceLocation, _number: Number) {
    let code = caller();
    host(|| tasks::end_group(code));
}

extern "C" fn nothing() {}

runtime! {
    fn __kmpc_omp_task_alloc as allocate_task;
    fn __kmpc_omp_task as task;
    fn __kmpc_omp_task_begin_if0 as nothing;
    fn __kmpc_omp_task_complete_if0 as nothing;
    fn __kmpc_omp_taskwait as wait_for_tasks;
    fn __kmpc_omp_taskyield as nothing;
    fn __kmpc_taskgroup as start_group;
    fn __kmpc_end_taskgroup as end_group;
}
