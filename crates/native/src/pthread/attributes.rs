//! Attributes of threads: names, stacks, priorities, processors.

use std::ffi::{CStr, c_char, c_int, c_void};

use raddle_engine::ThreadId;

use crate::abi::stack;
use crate::execution::running;
use crate::names::regions;
use crate::threads::guests;
use crate::threads::interpose::interpose;

type Attributes = *mut libc::pthread_attr_t;

/// Room for the name of a thread, with the zero at its end.
const NAME: usize = 16;

interpose! {
    fn gettid() -> libc::pid_t as own_number("rdi") _code {
        guests::number(running().thread())
    }

    fn pthread_setname_np(name: usize, text: *const c_char) -> c_int as set_name("rdx") _code {
        // SAFETY: the program gave a text.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        let Some(thread) = guests::find(name) else {
            return libc::ESRCH;
        };
        if bytes.len() >= NAME {
            return libc::ERANGE;
        }
        guests::with(thread, |guest| guest.name = bytes.to_vec());
        // Rust names threads before they run.
        if regions::is_rust() && thread != ThreadId::MAIN {
            let name = String::from_utf8_lossy(bytes).into_owned();
            running().name_thread(thread, name);
        }
        0
    }

    fn pthread_getname_np(name: usize, to: *mut c_char, size: usize) -> c_int as get_name("rcx") _code {
        let Some(thread) = guests::find(name) else {
            return libc::ESRCH;
        };
        if size < NAME {
            return libc::ERANGE;
        }
        let mut text = guests::with(thread, |guest| guest.name.clone());
        text.push(0);
        // SAFETY: the program has so much room there.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), text.len()) };
        0
    }

    fn pthread_getattr_np(name: usize, to: Attributes) -> c_int as attributes("rdx") _code {
        let Some(thread) = guests::find(name) else {
            return libc::ESRCH;
        };
        let start = running().end_of_stack_of(thread) - stack::STACK;
        let is_detached = guests::with(thread, |guest| guest.is_detached);
        // SAFETY: the program has room for attributes there.
        unsafe {
            libc::pthread_attr_init(to);
            libc::pthread_attr_setdetachstate(to, c_int::from(is_detached));
            libc::pthread_attr_setstack(to, start as *mut c_void, stack::STACK)
        }
    }

    fn pthread_getcpuclockid(_name: usize, to: *mut c_int) -> c_int as clock("rdx") _code {
        // SAFETY: the program says where it wants to know.
        unsafe { to.write(libc::CLOCK_THREAD_CPUTIME_ID) };
        0
    }

    fn pthread_setschedparam(
        _name: usize, _policy: c_int, _priority: *const c_void
    ) -> c_int as set_policy("rcx") _code {
        0
    }

    fn pthread_getschedparam(
        _name: usize, policy: *mut c_int, priority: *mut c_int
    ) -> c_int as get_policy("rcx") _code {
        // SAFETY: the program says where it wants to know.
        unsafe {
            policy.write(libc::SCHED_OTHER);
            priority.write(0);
        }
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
        // SAFETY: the program has room for a set of that size there.
        match unsafe { libc::sched_getaffinity(0, size, set) } {
            0 => 0,
            _ => libc::EINVAL,
        }
    }
}
