//! Other processes that the program starts. Nobody controls them: a child that was forked has only the
//! thread that did so, and runs as if raddle were not there. Those that are left when an execution is over
//! are ended.

use std::ffi::{c_char, c_int, c_void};

use super::faults;
use super::restart::private_fork;
use crate::abi::guest;
use crate::abi::real::real;
use crate::abi::trampoline::{departing, watched};
use crate::host::mode::{self, host, is_guest};
use crate::host::solo::Solo;
use crate::host::substrate::{self, Kind};
use crate::host::system::outcome;
use crate::threads::{signals, unwind};

/// What to call before, and after in the parent and in the child; 0 for nothing.
type Handlers = [usize; 3];

struct Processes {
    children: Vec<libc::pid_t>,
    /// Whether the execution has started any; they have what the program has open.
    has_started: bool,
    handlers: Vec<Handlers>,
    /// How many of them were there before the check.
    before: Option<usize>,
}

static PROCESSES: Solo<Processes> = Solo::new(Processes {
    children: Vec::new(),
    has_started: false,
    handlers: Vec::new(),
    before: None,
});

impl Processes {
    /// The program has started a process, with this number if that is known.
    fn add(&mut self, child: Option<libc::pid_t>) {
        self.has_started = true;
        self.children.extend(child);
    }
}

/// True if the running execution has started processes, which have what the program has open.
pub(crate) fn were_started() -> bool {
    PROCESSES.get().has_started
}

/// At the beginning of an execution.
pub(crate) fn begin() {
    let mut processes = PROCESSES.get();
    let count = processes.handlers.len();
    let before = *processes.before.get_or_insert(count);
    processes.handlers.truncate(before);
    processes.has_started = false;
    for child in processes.children.drain(..) {
        let mut status = 0;
        // SAFETY: only a child that was not waited for is ended, so the number is still its own.
        unsafe {
            if libc::waitpid(child, &mut status, libc::WNOHANG) == 0 {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, &mut status, 0);
            }
        }
    }
}

watched! {
    fn fork() -> libc::pid_t as on_fork("rdi");
    fn vfork() -> libc::pid_t as on_vfork("rdi");
    fn _Fork() -> libc::pid_t as on_bare_fork("rdi");
    fn __register_atfork(
        prepare: usize, parent: usize, child: usize, module: *mut c_void
    ) -> c_int as on_register("r8");
}

/// What `pthread_atfork` comes to.
extern "C" fn on_register(
    prepare: usize,
    parent: usize,
    child: usize,
    module: *mut c_void,
    _code: usize,
) -> c_int {
    // Before the check the C library is to know of them as well.
    PROCESSES.get().handlers.push([prepare, parent, child]);
    if is_guest() {
        return 0;
    }
    let register = real!(fn __register_atfork(usize, usize, usize, *mut c_void) -> c_int);
    // SAFETY: what the caller wanted.
    unsafe { register(prepare, parent, child, module) }
}

extern "C" fn on_fork(_code: usize) -> libc::pid_t {
    if !is_guest() {
        // SAFETY: what the caller wanted.
        return unsafe { real!(fn fork() -> libc::pid_t)() };
    }
    fork_guest(true)
}

/// The child of a guest has its own memory: what it may do then is what it may do after `fork`.
extern "C" fn on_vfork(code: usize) -> libc::pid_t {
    on_fork(code)
}

extern "C" fn on_bare_fork(_code: usize) -> libc::pid_t {
    if !is_guest() {
        // SAFETY: what the caller wanted.
        return unsafe { real!(fn _Fork() -> libc::pid_t)() };
    }
    fork_guest(false)
}

/// Calls one of each of the handlers; those for before, in the order in which they came last.
fn call_handlers(which: usize) {
    let mut handlers = PROCESSES.get().handlers.clone();
    if which == 0 {
        handlers.reverse();
    }
    for handler in handlers.iter().map(|all| all[which]).filter(|&it| it != 0) {
        unwind::run_between(handler, 0);
    }
}

fn fork_guest(calls_handlers: bool) -> libc::pid_t {
    // SAFETY: asks the kernel.
    let parent = unsafe { libc::getpid() };
    if calls_handlers {
        host(|| call_handlers(0));
    }
    // The C library's own handlers are for its own state. Those of the program have just run. The child has
    // the OS thread that matters: the host's, or the guest's own.
    let fork = || outcome(private_fork::fork() as isize);
    let result = match substrate::of(guest::thread_pointer()) {
        Kind::Coroutines => host(fork),
        Kind::OsThreads => fork(),
    };
    if let Ok(child @ 1..) = result {
        host(|| {
            PROCESSES.get().add(Some(child as libc::pid_t));
            if calls_handlers {
                call_handlers(1);
            }
        });
    }
    match result {
        Ok(0) => {
            be_free(parent);
            if calls_handlers {
                call_handlers_freely();
            }
            0
        }
        Ok(child) => child as libc::pid_t,
        Err(error) => {
            mode::set_errno(error);
            -1
        }
    }
}

/// In the child: nothing of raddle's is to happen any more.
fn be_free(parent: libc::pid_t) {
    mode::release();
    private_fork::end_with(parent);
    faults::remove();
    signals::hand_over();
    for name in [c"LD_PRELOAD", c"RADDLE_NATIVE"] {
        // SAFETY: the child has one thread.
        unsafe { libc::unsetenv(name.as_ptr()) };
    }
}

fn call_handlers_freely() {
    let handlers = PROCESSES.get().handlers.clone();
    for handler in handlers.iter().map(|all| all[2]).filter(|&it| it != 0) {
        // SAFETY: the program gave such functions to `pthread_atfork`.
        let handler: extern "C" fn() = unsafe { std::mem::transmute(handler) };
        handler();
    }
}

type Text = *const c_char;
type Texts = *const *const c_char;
type More = *const c_void;

departing! {
    fn posix_spawn(
        child: *mut libc::pid_t, path: Text, actions: More, attributes: More, arguments: Texts,
        environment: Texts
    ) -> c_int as on_spawn("rax");
    fn posix_spawnp(
        child: *mut libc::pid_t, path: Text, actions: More, attributes: More, arguments: Texts,
        environment: Texts
    ) -> c_int as on_spawn_by_name("rax");
}

/// A program was started, by whomever.
fn started(error: c_int, child: *mut libc::pid_t) -> c_int {
    if error == 0 && is_guest() {
        // SAFETY: where the program wants the number of the child, or nothing.
        let child = unsafe { child.as_ref() }.copied();
        host(|| PROCESSES.get().add(child));
    }
    error
}

extern "C" fn on_spawn(
    child: *mut libc::pid_t,
    path: Text,
    actions: More,
    attributes: More,
    arguments: Texts,
    environment: Texts,
    _code: usize,
) -> c_int {
    let spawn = real!(fn posix_spawn(*mut libc::pid_t, Text, More, More, Texts, Texts) -> c_int);
    // SAFETY: what the caller wanted.
    let error = unsafe { spawn(child, path, actions, attributes, arguments, environment) };
    started(error, child)
}

extern "C" fn on_spawn_by_name(
    child: *mut libc::pid_t,
    path: Text,
    actions: More,
    attributes: More,
    arguments: Texts,
    environment: Texts,
    _code: usize,
) -> c_int {
    let spawn = real!(fn posix_spawnp(*mut libc::pid_t, Text, More, More, Texts, Texts) -> c_int);
    // SAFETY: what the caller wanted.
    let error = unsafe { spawn(child, path, actions, attributes, arguments, environment) };
    started(error, child)
}
