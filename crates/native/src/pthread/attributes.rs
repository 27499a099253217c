//! Attributes of threads: names, stacks, priorities, processors.

use std::ffi::{c_char, c_int, c_void};

use raddle_engine::ThreadId;

use crate::abi::guest_ptr::GuestPtr;
use crate::abi::stack;
use crate::execution::running;
use crate::names::regions;
use crate::threads::guests;
use crate::threads::interpose::interpose;

type Attributes = *mut libc::pthread_attr_t;

/// Bytes of the name of a thread, with the zero at its end.
const NAME: usize = 16;

interpose! {
    fn gettid() -> libc::pid_t as own_number("rdi") _code {
        guests::number(running().thread())
    }

    fn pthread_setname_np(name: usize, text: GuestPtr<c_char>) -> c_int as set_name("rdx") _code {
        let bytes = text.to_bytes();
        let Some(thread) = guests::find(name) else {
            return libc::ESRCH;
        };
        if bytes.len() >= NAME {
            return libc::ERANGE;
        }
        guests::with(thread, |guest| guest.name.clone_from(&bytes));
        // Rust names threads before they run.
        if regions::is_rust() && thread != ThreadId::MAIN {
            let name = String::from_utf8_lossy(&bytes).into_owned();
            running().name_thread(thread, name);
        }
        0
    }

    fn pthread_getname_np(name: usize, to: GuestPtr<c_char>, size: usize) -> c_int as get_name("rcx") _code {
        let Some(thread) = guests::find(name) else {
            return libc::ESRCH;
        };
        if size < NAME {
            return libc::ERANGE;
        }
        let mut text = guests::with(thread, |guest| guest.name.clone());
        text.push(0);
        to.cast().write_all(&text);
        0
    }

    fn pthread_getattr_np(name: usize, to: Attributes) -> c_int as attributes("rdx") _code {
        let Some(thread) = guests::find(name) else {
            return libc::ESRCH;
        };
        let start = running().end_of_stack_of(thread) - stack::STACK;
        let is_detached = guests::with(thread, |guest| guest.is_detached);
        // SAFETY: the functions need memory for attributes, which callers of this function promise.
        // The last two need attributes that were initialised, as the first one does. The stack is
        // that of a thread.
        unsafe {
            libc::pthread_attr_init(to);
            libc::pthread_attr_setdetachstate(to, c_int::from(is_detached));
            libc::pthread_attr_setstack(to, start as *mut c_void, stack::STACK)
        }
    }

    fn pthread_getcpuclockid(_name: usize, to: GuestPtr<c_int>) -> c_int as clock("rdx") _code {
        to.write(libc::CLOCK_THREAD_CPUTIME_ID);
        0
    }

    fn pthread_setschedparam(
        _name: usize, _policy: c_int, _priority: *const c_void
    ) -> c_int as set_policy("rcx") _code {
        0
    }

    fn pthread_getschedparam(
        _name: usize, policy: GuestPtr<c_int>, priority: GuestPtr<c_int>
    ) -> c_int as get_policy("rcx") _code {
        policy.write(libc::SCHED_OTHER);
        priority.write(0);
        0
    }

    fn pthread_setschedprio(_name: usize, _priority: c_int) -> c_int as set_priority("rdx") _code {
        0
    }

    fn pthread_setaffinity_np(
        _name: usize, _size: usize, _set: *const libc::cpu_set_t
    ) -> c_int as set_processors("rcx") _code {
        0
    }

    fn pthread_getaffinity_np(
        _name: usize, size: usize, set: *mut libc::cpu_set_t
    ) -> c_int as processors("rcx") _code {
        // SAFETY: the function writes a set of at most this size, and callers of ours promise that
        // much memory.
        match unsafe { libc::sched_getaffinity(0, size, set) } {
            0 => 0,
            _ => libc::EINVAL,
        }
    }
}
