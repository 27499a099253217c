//! Directives as clang compiles them: calls of libomp. Most begin with a source location and the
//! number of the thread, which are not needed here.

use std::ffi::{c_int, c_void};

use super::team::{self, Region, with_member, with_state};
use super::work::{self, Schedule, Share, Values};
use super::{caller, runtime};
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::variadic::{IN_REGISTERS, invoke, variadic};
use crate::host::mode::host;

pub(super) type SourceLocation = *const c_void;
pub(super) type Number = c_int;

/// Calls a region's function: the number of the thread, twice, then the region's arguments.
extern "C" fn run(number: usize, arguments: *const usize) {
    let number = number as Number;
    // SAFETY: `fork_with` makes such regions with the function, the number of its arguments, and
    // the arguments, of which at least four can be read. The function takes as many after two
    // addresses of numbers.
    unsafe {
        let (function, count) = (arguments.read(), arguments.add(1).read());
        let number = &raw const number as usize;
        invoke(function, number, number, arguments.add(2), count);
    }
}

variadic! {
    fn fork(SourceLocation, c_int, usize) as fork_with;
}

/// Begins a region. The arguments begin at `list`, with the return address of the call after the
/// third.
extern "C" fn fork_with(
    _place: SourceLocation,
    count: c_int,
    function: usize,
    list: GuestPtr<usize>,
) {
    // Minimum number of words of the list, because the call reads as many from it.
    const LEAST: usize = 4;
    let code = caller();
    let count = count as usize;
    let mut arguments = vec![function, count];
    for index in 0..count {
        let at = if index < IN_REGISTERS {
            index
        } else {
            index + 1
        };
        arguments.push(list.add(at).read());
    }
    arguments.resize(arguments.len().max(2 + LEAST), 0);
    let size = host(|| with_state(|state| state.next_size.take()));
    let region = Region {
        function: run,
        code,
    };
    team::parallel(region, size.unwrap_or(0), arguments);
}

/// Sets the number of threads of the next region.
extern "C" fn push_size(_place: SourceLocation, _number: Number, size: c_int) {
    host(|| with_state(|state| state.next_size = usize::try_from(size).ok()));
}

extern "C" fn enter_alone(_place: SourceLocation, _number: Number) {
    host(team::enter_alone);
}

extern "C" fn leave_alone(_place: SourceLocation, _number: Number) {
    let code = caller();
    host(|| team::leave_alone(code));
}

extern "C" fn own_number(_place: SourceLocation) -> Number {
    host(team::number)
}

extern "C" fn barrier(_place: SourceLocation, _number: Number) {
    let code = caller();
    host(|| team::barrier(code));
}

extern "C" fn start_critical(_place: SourceLocation, _number: Number, name: usize) {
    let code = caller();
    host(|| team::enter_critical(name, code));
}

extern "C" fn end_critical(_place: SourceLocation, _number: Number, name: usize) {
    let code = caller();
    host(|| team::leave_critical(name, code));
}

extern "C" fn is_first(_place: SourceLocation, _number: Number) -> c_int {
    host(|| c_int::from(team::number() == 0))
}

extern "C" fn is_chosen(_place: SourceLocation, _number: Number, chosen: Number) -> c_int {
    host(|| c_int::from(team::number() == chosen))
}

extern "C" fn nothing() {}

extern "C" fn single(_place: SourceLocation, _number: Number) -> c_int {
    let code = caller();
    host(|| work::single(code).into())
}

/// Enters the critical section in which the calling thread adds its value to the result; returns 1,
/// by which libomp requests that from the caller.
extern "C" fn reduce(
    _place: SourceLocation,
    _number: Number,
    _count: c_int,
    _size: usize,
    _data: usize,
    _function: usize,
    name: usize,
) -> c_int {
    let code = caller();
    host(|| team::enter_critical(name, code));
    1
}

extern "C" fn end_reduce(_place: SourceLocation, _number: Number, name: usize) {
    let code = caller();
    host(|| {
        team::leave_critical(name, code);
        team::barrier(code);
    });
}

/// Copies the value of one thread to the others.
extern "C" fn copy(
    _place: SourceLocation,
    _number: Number,
    _size: usize,
    data: usize,
    function: extern "C" fn(usize, usize),
    did_it: c_int,
) {
    let code = caller();
    let copied = host(|| {
        if did_it != 0 {
            with_member(|team, _| team.copied = data);
        }
        team::barrier(code);
        with_member(|team, _| team.copied)
    });
    if did_it == 0 {
        function(data, copied);
    }
    host(|| team::barrier(code));
}

/// Number of the static schedule with parts of a fixed size.
const IN_PARTS: c_int = 33;

/// Returns the schedule with this number, and true if it is ordered; higher bits are options.
fn schedule(number: c_int) -> (Schedule, bool) {
    const ORDERED: c_int = 64;
    let kind = number & 0xffff;
    let is_ordered = (ORDERED..ORDERED + 32).contains(&kind);
    let schedule = match if is_ordered { kind - 32 } else { kind } {
        IN_PARTS | 34 => Schedule::Static,
        _ => Schedule::Dynamic,
    };
    (schedule, is_ordered)
}

/// Defines the functions for loops with counters of one type; the limits are inclusive.
macro_rules! loops {
    ($($module:ident: $type:ty, $signed:ty, $fixed:ident $init:ident $next:ident $fini:ident;)*) => {
        $(
            mod $module {
                use super::*;

                /// Returns the part of the running thread: the first, or the only one.
                extern "C" fn fixed(
                    _place: SourceLocation, _number: Number, kind: c_int, is_last: GuestPtr<c_int>,
                    lower: GuestPtr<$type>, upper: GuestPtr<$type>, stride: GuestPtr<$signed>, step: $signed,
                    size: $signed,
                ) {
                    let values = values(lower.read(), upper.read(), step);
                    let member = host(|| {
                        with_member(|team, member| (member.number as u64, team.size as u64))
                    });
                    let size = (kind & 0xffff == IN_PARTS).then_some(size as i64);
                    let share = Share::new(values, size, member);
                    lower.write(share.first as $type);
                    upper.write(share.last as $type);
                    stride.write(share.stride as $signed);
                    is_last.set(share.is_last.into());
                }

                fn values(first: $type, last: $type, step: $signed) -> Values {
                    let (from, to, step) = (i128::from(first), i128::from(last), i64::from(step));
                    let distance = to - from;
                    let wide = i128::from(step);
                    let count = match wide == 0 || distance != 0 && (distance > 0) != (wide > 0) {
                        true => 0,
                        false => distance.unsigned_abs() / wide.unsigned_abs() + 1,
                    };
                    Values { start: first as i64, step, count: count as u64 }
                }

                extern "C" fn init(
                    _place: SourceLocation, _number: Number, kind: c_int, first: $type, last: $type,
                    step: $signed, size: $signed,
                ) {
                    let (schedule, is_ordered) = schedule(kind);
                    let size = u64::try_from(size).unwrap_or(0);
                    host(|| work::begin_loop(schedule, values(first, last, step), size, is_ordered));
                }

                extern "C" fn next(
                    _place: SourceLocation, _number: Number, is_last: GuestPtr<c_int>, lower: GuestPtr<$type>,
                    upper: GuestPtr<$type>, stride: GuestPtr<$signed>,
                ) -> c_int {
                    let code = caller();
                    let Some(part) = host(|| work::next_part(code)) else {
                        return 0;
                    };
                    lower.write(part.first as $type);
                    upper.write(part.last as $type);
                    stride.set(part.step as $signed);
                    is_last.set(part.is_last.into());
                    1
                }

                runtime! {
                    fn $fixed as fixed;
                    fn $init as init;
                    fn $next as next;
                    fn $fini as nothing;
                }
            }
        )*
    };
}

loops! {
    int: i32, i32, __kmpc_for_static_init_4 __kmpc_dispatch_init_4 __kmpc_dispatch_next_4
        __kmpc_dispatch_fini_4;
    unsigned: u32, i32, __kmpc_for_static_init_4u __kmpc_dispatch_init_4u __kmpc_dispatch_next_4u
        __kmpc_dispatch_fini_4u;
    long: i64, i64, __kmpc_for_static_init_8 __kmpc_dispatch_init_8 __kmpc_dispatch_next_8
        __kmpc_dispatch_fini_8;
    unsigned_long: u64, i64, __kmpc_for_static_init_8u __kmpc_dispatch_init_8u
        __kmpc_dispatch_next_8u __kmpc_dispatch_fini_8u;
}

extern "C" fn ordered(_place: SourceLocation, _number: Number) {
    let code = caller();
    host(|| work::wait_for_turn(code));
}

runtime! {
    fn __kmpc_fork_call as fork;
    fn __kmpc_push_num_threads as push_size;
    fn __kmpc_push_proc_bind as nothing;
    fn __kmpc_serialized_parallel as enter_alone;
    fn __kmpc_end_serialized_parallel as leave_alone;
    fn __kmpc_global_thread_num as own_number;
    fn __kmpc_bound_thread_num as own_number;
    fn __kmpc_barrier as barrier;
    fn __kmpc_flush as nothing;
    fn __kmpc_critical as start_critical;
    fn __kmpc_critical_with_hint as start_critical;
    fn __kmpc_end_critical as end_critical;
    fn __kmpc_master as is_first;
    fn __kmpc_end_master as nothing;
    fn __kmpc_masked as is_chosen;
    fn __kmpc_end_masked as nothing;
    fn __kmpc_single as single;
    fn __kmpc_end_single as nothing;
    fn __kmpc_reduce as reduce;
    fn __kmpc_end_reduce as end_reduce;
    fn __kmpc_reduce_nowait as reduce;
    fn __kmpc_end_reduce_nowait as end_critical;
    fn __kmpc_copyprivate as copy;
    fn __kmpc_for_static_fini as nothing;
    fn __kmpc_ordered as ordered;
    fn __kmpc_end_ordered as nothing;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of `sched_type` in LLVM's `kmp.h`.
    #[test]
    fn schedules_have_the_numbers_of_llvm() {
        let is = |number, schedule: Schedule, is_ordered| {
            assert!(
                super::schedule(number) == (schedule, is_ordered),
                "{number}"
            );
        };
        is(33, Schedule::Static, false); // kmp_sch_static_chunked
        is(34, Schedule::Static, false); // kmp_sch_static
        is(35, Schedule::Dynamic, false); // kmp_sch_dynamic_chunked
        is(36, Schedule::Dynamic, false); // kmp_sch_guided_chunked
        is(37, Schedule::Dynamic, false); // kmp_sch_runtime
        is(65, Schedule::Static, true); // kmp_ord_static_chunked
        is(66, Schedule::Static, true); // kmp_ord_static
        is(67, Schedule::Dynamic, true); // kmp_ord_dynamic_chunked
        // With the modifiers for monotonic and nonmonotonic schedules.
        is(35 | 1 << 29, Schedule::Dynamic, false);
        is(33 | 1 << 30, Schedule::Static, false);
    }
}
