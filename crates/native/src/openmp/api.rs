//! Functions that programs call by name: numbers of threads, and locks.

use std::ffi::c_int;

use raddle_engine::object::mutex::Call;

use super::team::{self, with_member, with_state};
use super::{caller, runtime};
use crate::host::mode::host;
use crate::memory::objects;

const LOCK: &str = "lock";

extern "C" fn thread_number() -> c_int {
    host(team::number)
}

extern "C" fn team_size() -> c_int {
    host(|| with_member(|team, _| team.size as c_int))
}

extern "C" fn most_threads() -> c_int {
    host(|| team::default_size() as c_int)
}

extern "C" fn set_threads(number: c_int) {
    host(|| with_state(|state| state.wanted = usize::try_from(number).ok().filter(|&it| it > 0)));
}

extern "C" fn is_parallel() -> c_int {
    host(|| with_member(|team, _| c_int::from(team.level > 0)))
}

extern "C" fn level() -> c_int {
    host(|| with_member(|team, _| team.level as c_int))
}

extern "C" fn set(lock: usize) {
    let code = caller();
    host(|| team::call(lock, LOCK, Call::Lock, code));
}

extern "C" fn test(lock: usize) -> c_int {
    let code = caller();
    host(|| team::take(lock, LOCK, Call::TryLock, code).into())
}

extern "C" fn unset(lock: usize) {
    let code = caller();
    host(|| team::call(lock, LOCK, Call::Unlock { poison: false }, code));
}

/// Takes a reentrant lock; returns its number of holds by the thread, or 0 if it was refused.
fn nest(lock: usize, call: Call, code: usize) -> c_int {
    if !objects::is_held(lock) {
        if !team::take(lock, LOCK, call, code) {
            return 0;
        }
        objects::hold(lock);
        return 1;
    }
    let again = objects::with(lock, |known| {
        known.depth += 1;
        known.depth
    });
    again.unwrap_or(1) as c_int
}

extern "C" fn set_nested(lock: usize) {
    let code = caller();
    host(|| nest(lock, Call::Lock, code));
}

extern "C" fn test_nested(lock: usize) -> c_int {
    let code = caller();
    host(|| nest(lock, Call::TryLock, code))
}

extern "C" fn unset_nested(lock: usize) {
    let code = caller();
    host(|| {
        let left = objects::with(lock, |known| {
            known.depth = known.depth.saturating_sub(1);
            known.depth
        });
        if left.is_none_or(|left| left == 0) {
            objects::let_go(lock);
            team::call(lock, LOCK, Call::Unlock { poison: false }, code);
        }
    });
}

/// Removes the object of a lock that is initialised or destroyed.
extern "C" fn renew(lock: usize) {
    host(|| objects::forget(lock..lock + 1));
}

runtime! {
    fn omp_get_thread_num as thread_number;
    fn omp_get_num_threads as team_size;
    fn omp_get_max_threads as most_threads;
    fn omp_get_num_procs as most_threads;
    fn omp_set_num_threads as set_threads;
    fn omp_in_parallel as is_parallel;
    fn omp_get_level as level;
    fn omp_get_active_level as level;
    fn omp_init_lock as renew;
    fn omp_destroy_lock as renew;
    fn omp_set_lock as set;
    fn omp_unset_lock as unset;
    fn omp_test_lock as test;
    fn omp_init_nest_lock as renew;
    fn omp_destroy_nest_lock as renew;
    fn omp_set_nest_lock as set_nested;
    fn omp_unset_nest_lock as unset_nested;
    fn omp_test_nest_lock as test_nested;
}
