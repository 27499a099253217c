//! Directives as gcc compiles them: calls of libgomp.

use std::ffi::{c_int, c_long, c_uint, c_void};

use super::team::{self, Region, with_member};
use super::work::{self, Schedule, Values};
use super::{caller, runtime, tasks};
use crate::abi::guest_ptr::GuestPtr;
use crate::host::mode::host;
use crate::threads::failure;

/// Function that gcc generates for a region or a task.
type Function = extern "C" fn(usize);

/// Runs the function of a region.
extern "C" fn run(_number: usize, arguments: *const usize) {
    // SAFETY: only `run_region` and `parallel_loop` make regions with this function, and pass a
    // function of this type and its argument first.
    let (function, data): (Function, usize) = unsafe {
        (
            std::mem::transmute::<usize, Function>(arguments.read()),
            arguments.add(1).read(),
        )
    };
    function(data);
}

/// Runs a region. If it is a loop or sections, all threads begin with that construct.
fn run_region(function: usize, data: usize, size: c_uint, code: usize) {
    let region = Region {
        function: run,
        code,
    };
    team::parallel(region, size as usize, vec![function, data]);
}

extern "C" fn parallel(function: usize, data: usize, size: c_uint, _flags: c_uint) {
    run_region(function, data, size, caller());
}

/// Runs the function of a region that begins with a loop.
extern "C" fn run_loop(number: usize, arguments: *const usize) {
    // SAFETY: `parallel_loop` makes such regions with these four numbers after the function and its argument.
    let [start, end, step, size] =
        [2, 3, 4, 5].map(|index| unsafe { arguments.add(index).read() as i64 });
    let values = Values::until(start, end, step);
    host(|| work::begin_loop(Schedule::Dynamic, values, size as u64, false));
    run(number, arguments);
}

extern "C" fn parallel_loop(
    function: usize,
    data: usize,
    size: c_uint,
    start: c_long,
    end: c_long,
    step: c_long,
    part: c_long,
    _flags: c_uint,
) {
    let code = caller();
    let numbers = [start, end, step, part].map(|number| number as usize);
    let arguments = [&[function, data], &numbers[..]].concat();
    let region = Region {
        function: run_loop,
        code,
    };
    team::parallel(region, size as usize, arguments);
}

/// Runs a loop whose schedule is chosen at run time: dynamic, with single iterations.
extern "C" fn parallel_runtime_loop(
    function: usize,
    data: usize,
    size: c_uint,
    start: c_long,
    end: c_long,
    step: c_long,
) {
    parallel_loop(function, data, size, start, end, step, 1, 0);
}

extern "C" fn parallel_sections(
    function: usize,
    data: usize,
    size: c_uint,
    count: c_uint,
    _flags: c_uint,
) {
    parallel_loop(function, data, size, 1, c_long::from(count) + 1, 1, 1, 0);
}

/// Returns the next part of a loop, if there is one.
fn next(first: GuestPtr<c_long>, end: GuestPtr<c_long>, code: usize) -> bool {
    let part = work::next_part(code);
    if let Some(part) = &part {
        first.write(part.first);
        end.write(part.end);
    }
    part.is_some()
}

extern "C" fn next_of_loop(first: GuestPtr<c_long>, end: GuestPtr<c_long>) -> bool {
    let code = caller();
    host(|| next(first, end, code))
}

/// Defines functions that begin a loop.
macro_rules! starts {
    ($($name:ident: $schedule:ident, $is_ordered:literal;)*) => {
        $(
            extern "C" fn $name(
                start: c_long, end: c_long, step: c_long, size: c_long, to: GuestPtr<c_long>,
                to_end: GuestPtr<c_long>,
            ) -> bool {
                let code = caller();
                let values = Values::until(start, end, step);
                host(|| {
                    work::begin_loop(Schedule::$schedule, values, size as u64, $is_ordered);
                    next(to, to_end, code)
                })
            }
        )*
    };
}

starts! {
    start_dynamic: Dynamic, false;
    start_static: Static, false;
    start_ordered_dynamic: Dynamic, true;
    start_ordered_static: Static, true;
}

extern "C" fn start_runtime(
    start: c_long,
    end: c_long,
    step: c_long,
    to: GuestPtr<c_long>,
    to_end: GuestPtr<c_long>,
) -> bool {
    start_dynamic(start, end, step, 1, to, to_end)
}

extern "C" fn start_ordered_runtime(
    start: c_long,
    end: c_long,
    step: c_long,
    to: GuestPtr<c_long>,
    to_end: GuestPtr<c_long>,
) -> bool {
    start_ordered_dynamic(start, end, step, 1, to, to_end)
}

extern "C" fn barrier() {
    let code = caller();
    host(|| team::barrier(code));
}

extern "C" fn nothing() {}

extern "C" fn start_ordered() {
    let code = caller();
    host(|| work::wait_for_turn(code));
}

fn next_section(code: usize) -> c_uint {
    work::next_part(code).map_or(0, |part| part.first as c_uint)
}

extern "C" fn start_sections(count: c_uint) -> c_uint {
    let code = caller();
    let values = Values::until(1, i64::from(count) + 1, 1);
    host(|| {
        work::begin_loop(Schedule::Dynamic, values, 1, false);
        next_section(code)
    })
}

extern "C" fn next_of_sections() -> c_uint {
    let code = caller();
    host(|| next_section(code))
}

extern "C" fn start_single() -> bool {
    let code = caller();
    host(|| work::single(code))
}

/// Returns null to the thread that runs the block, and to the others the data that it copies to
/// them.
extern "C" fn start_copy() -> usize {
    let code = caller();
    host(|| {
        if work::single(code) {
            return 0;
        }
        team::barrier(code);
        with_member(|team, _| team.copied)
    })
}

extern "C" fn end_copy(data: usize) {
    let code = caller();
    host(|| {
        with_member(|team, _| team.copied = data);
        team::barrier(code);
    });
}

extern "C" fn start_critical() {
    let code = caller();
    host(|| team::enter_critical(0, code));
}

extern "C" fn end_critical() {
    let code = caller();
    host(|| team::leave_critical(0, code));
}

extern "C" fn start_named_critical(name: usize) {
    let code = caller();
    host(|| team::enter_critical(name, code));
}

extern "C" fn end_named_critical(name: usize) {
    let code = caller();
    host(|| team::leave_critical(name, code));
}

/// Flags of tasks that are not supported: with dependencies, reductions, or a detached end.
const UNKNOWN: c_uint = 1 << 3 | 1 << 9 | 1 << 13;
/// Flag of a task that is run at once, because it has no tasks of its own.
const FINAL: c_uint = 1 << 1;

extern "C" fn task(
    function: Function,
    data: *const c_void,
    copy: Option<extern "C" fn(*mut c_void, *const c_void)>,
    size: c_long,
    alignment: c_long,
    is_deferred: bool,
    flags: c_uint,
) {
    let code = caller();
    if flags & UNKNOWN != 0 {
        host(|| {
            failure::fail_at(
                "tasks of OpenMP with `depend`, `in_reduction` or `detach` are not controlled by raddle",
                code,
            )
        });
    }
    let mut own = std::ptr::null_mut();
    let alignment = (alignment as usize).max(std::mem::size_of::<usize>());
    // SAFETY: the alignment is a power of two and at least that of an address, because compilers pass that of
    // a type. The new block has `size` bytes, and so has the data, as compilers promise.
    unsafe {
        libc::posix_memalign(&mut own, alignment, (size as usize).max(1));
        match copy {
            Some(copy) => copy(own, data),
            None => {
                libc::memcpy(own, data, size as usize);
            }
        }
    }
    let at_once = !is_deferred || flags & FINAL != 0 || host(tasks::are_done_at_once);
    if at_once {
        return function(own as usize);
    }
    host(|| tasks::spawn(function as usize, own as usize, code));
}

extern "C" fn wait_for_tasks() {
    let code = caller();
    host(|| tasks::wait_for_children(code));
}

extern "C" fn start_group() {
    host(tasks::begin_group);
}

extern "C" fn end_group() {
    let code = caller();
    host(|| tasks::end_group(code));
}

/// Returns false: nothing is ever cancelled.
extern "C" fn never(_what: c_int) -> bool {
    false
}

runtime! {
    fn GOMP_parallel as parallel;
    fn GOMP_parallel_loop_dynamic as parallel_loop;
    fn GOMP_parallel_loop_guided as parallel_loop;
    fn GOMP_parallel_loop_nonmonotonic_dynamic as parallel_loop;
    fn GOMP_parallel_loop_nonmonotonic_guided as parallel_loop;
    fn GOMP_parallel_loop_runtime as parallel_runtime_loop;
    fn GOMP_parallel_loop_nonmonotonic_runtime as parallel_runtime_loop;
    fn GOMP_parallel_loop_maybe_nonmonotonic_runtime as parallel_runtime_loop;
    fn GOMP_parallel_sections as parallel_sections;
    fn GOMP_loop_dynamic_start as start_dynamic;
    fn GOMP_loop_guided_start as start_dynamic;
    fn GOMP_loop_nonmonotonic_dynamic_start as start_dynamic;
    fn GOMP_loop_nonmonotonic_guided_start as start_dynamic;
    fn GOMP_loop_runtime_start as start_runtime;
    fn GOMP_loop_nonmonotonic_runtime_start as start_runtime;
    fn GOMP_loop_maybe_nonmonotonic_runtime_start as start_runtime;
    fn GOMP_loop_static_start as start_static;
    fn GOMP_loop_ordered_static_start as start_ordered_static;
    fn GOMP_loop_ordered_dynamic_start as start_ordered_dynamic;
    fn GOMP_loop_ordered_guided_start as start_ordered_dynamic;
    fn GOMP_loop_ordered_runtime_start as start_ordered_runtime;
    fn GOMP_loop_dynamic_next as next_of_loop;
    fn GOMP_loop_guided_next as next_of_loop;
    fn GOMP_loop_nonmonotonic_dynamic_next as next_of_loop;
    fn GOMP_loop_nonmonotonic_guided_next as next_of_loop;
    fn GOMP_loop_runtime_next as next_of_loop;
    fn GOMP_loop_nonmonotonic_runtime_next as next_of_loop;
    fn GOMP_loop_maybe_nonmonotonic_runtime_next as next_of_loop;
    fn GOMP_loop_static_next as next_of_loop;
    fn GOMP_loop_ordered_static_next as next_of_loop;
    fn GOMP_loop_ordered_dynamic_next as next_of_loop;
    fn GOMP_loop_ordered_guided_next as next_of_loop;
    fn GOMP_loop_ordered_runtime_next as next_of_loop;
    fn GOMP_loop_end as barrier;
    fn GOMP_loop_end_nowait as nothing;
    fn GOMP_ordered_start as start_ordered;
    fn GOMP_ordered_end as nothing;
    fn GOMP_sections_start as start_sections;
    fn GOMP_sections_next as next_of_sections;
    fn GOMP_sections_end as barrier;
    fn GOMP_sections_end_nowait as nothing;
    fn GOMP_single_start as start_single;
    fn GOMP_single_copy_start as start_copy;
    fn GOMP_single_copy_end as end_copy;
    fn GOMP_barrier as barrier;
    fn GOMP_critical_start as start_critical;
    fn GOMP_critical_end as end_critical;
    fn GOMP_critical_name_start as start_named_critical;
    fn GOMP_critical_name_end as end_named_critical;
    fn GOMP_atomic_start as start_critical;
    fn GOMP_atomic_end as end_critical;
    fn GOMP_task as task;
    fn GOMP_taskwait as wait_for_tasks;
    fn GOMP_taskyield as nothing;
    fn GOMP_taskgroup_start as start_group;
    fn GOMP_taskgroup_end as end_group;
    fn GOMP_cancellation_point as never;
}
