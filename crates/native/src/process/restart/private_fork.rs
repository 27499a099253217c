//! Children of the program, which share no memory with raddle.

use std::ffi::c_int;

use crate::abi::real::real;
use crate::abi::stack;
use crate::host::{arena, shared_memory};

/// Bytes of the stack for the fork itself.
const STACK: usize = 256 << 10;

/// Forks; the child shares no memory with raddle.
pub(crate) fn fork() -> libc::pid_t {
    if !shared_memory::is_used() {
        // SAFETY: `_Fork` leaves locks of other OS threads taken in the child, but only one OS thread runs
        // guests and raddle, and it calls this.
        return unsafe { real!(fn _Fork() -> c_int)() };
    }
    let mut ends = [0; 2];
    // SAFETY: `pipe` writes two descriptors, and the array has two.
    if unsafe { real!(fn pipe(*mut c_int) -> c_int)(ends.as_mut_ptr()) } != 0 {
        return -1;
    }
    let memory = shared_memory::map_own(STACK);
    let mut task = Task { ends, child: 0 };
    // The task is on a stack that both have; it is copied to a stack that is private to each.
    // SAFETY: `call_on` needs a stack that is large enough and unused, which was just mapped, and a
    // function for the task. The child reads the copy of the task that is its own by then.
    unsafe {
        stack::call_on(memory + STACK, fork_apart, (&raw mut task).cast());
        for end in ends {
            real!(fn close(c_int) -> c_int)(end);
        }
        libc::munmap(memory as *mut _, STACK);
    }
    task.child
}

/// In the child of this process: makes it end with its parent where every execution is a process.
/// The parent may have ended before the child could request that.
pub(crate) fn end_with(parent: libc::pid_t) {
    if !shared_memory::is_used() {
        return;
    }
    // SAFETY: these calls have no precondition.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            real!(fn _exit(c_int) -> !)(1);
        }
    }
}

struct Task {
    ends: [c_int; 2],
    child: libc::pid_t,
}

/// Forks on a stack that is private to this process. The parent waits until the child has its own
/// copy of all memory.
unsafe extern "C" fn fork_apart(task: *mut u8) {
    let task = task.cast::<Task>();
    let mut byte = 0u8;
    // SAFETY: `fork` calls this with its task, which outlives the call. The kernel reads and writes one byte,
    // which is the size of the variable.
    unsafe {
        let [from, to] = (*task).ends;
        let child = real!(fn _Fork() -> c_int)();
        if child == 0 {
            shared_memory::own_everything(&arena::mapped());
            (*task).child = 0;
            real!(fn write(c_int, *const u8, usize) -> isize)(to, &byte, 1);
        } else {
            if child > 0 {
                real!(fn close(c_int) -> c_int)(to);
                real!(fn read(c_int, *mut u8, usize) -> isize)(from, &mut byte, 1);
            }
            (*task).child = child;
        }
    }
}
