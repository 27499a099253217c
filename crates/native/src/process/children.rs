//! Other processes that the program starts. They are not controlled: a forked child has only the
//! thread that forked, and runs without raddle. Children that remain at the end of an execution are
//! killed.

use std::ffi::{c_char, c_int, c_void};

use super::faults;
use super::restart::private_fork;
use crate::abi::guest;
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::abi::trampoline::{departing, watched};
use crate::execution::part::{Part, PartCell};
use crate::host::mode::{self, host, is_guest};
use crate::host::phase;
use crate::host::process_state::ProcessState;
use crate::host::substrate::{self, SubstrateKind};
use crate::host::system::outcome;
use crate::threads::{signals, unwind};

/// Addresses of the functions called before a fork, and after it in the parent and in the child; 0
/// for none.
type Handlers = [usize; 3];

/// Handlers that were registered before the check.
static HANDLERS_BEFORE: ProcessState<Vec<Handlers>> = ProcessState::new(Vec::new());

/// The processes that the execution has started. They are killed at its end.
#[derive(Default)]
pub(crate) struct Children {
    numbers: Vec<libc::pid_t>,
    /// True if the execution has started any; they have copies of the open descriptors.
    were_started: bool,
    /// Handlers that the execution has registered.
    handlers: Vec<Handlers>,
}

impl Part for Children {}

pub(crate) static CHILDREN: PartCell<Children> = PartCell::new();

impl Children {
    /// Records that the program has started a process, with its number if known.
    fn add(&mut self, child: Option<libc::pid_t>) {
        self.were_started = true;
        self.numbers.extend(child);
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for &child in &self.numbers {
            let mut status = 0;
            // SAFETY: `kill` must not hit another process: only a child that was not waited for is killed, so
            // the number is still its own.
            unsafe {
                if libc::waitpid(child, &mut status, libc::WNOHANG) == 0 {
                    libc::kill(child, libc::SIGKILL);
                    libc::waitpid(child, &mut status, 0);
                }
            }
        }
    }
}

/// True if the running execution has started processes, which have copies of the open descriptors.
pub(crate) fn were_started() -> bool {
    CHILDREN.get().were_started
}

/// Returns all handlers, in the order in which they were registered.
fn handlers() -> Vec<Handlers> {
    let mut all = HANDLERS_BEFORE.get().clone();
    all.extend(&CHILDREN.get().handlers);
    all
}

watched! {
    fn fork() -> libc::pid_t as on_fork("rdi");
    fn vfork() -> libc::pid_t as on_vfork("rdi");
    fn _Fork() -> libc::pid_t as on_bare_fork("rdi");
    fn __register_atfork(
        prepare: usize, parent: usize, child: usize, module: *mut c_void
    ) -> c_int as on_register("r8");
}

/// Stand-in of `pthread_atfork`.
extern "C" fn on_register(
    prepare: usize,
    parent: usize,
    child: usize,
    module: *mut c_void,
    _code: usize,
) -> c_int {
    let handlers = [prepare, parent, child];
    if is_guest() {
        CHILDREN.get().handlers.push(handlers);
        return 0;
    }
    // Before the check they are registered with the C library as well.
    match phase::is_harness_main() {
        true => CHILDREN.get().handlers.push(handlers),
        false => HANDLERS_BEFORE.get().push(handlers),
    }
    forward!(fn __register_atfork(prepare: usize, parent: usize, child: usize, module: *mut c_void) -> c_int)
}

extern "C" fn on_fork(_code: usize) -> libc::pid_t {
    if !is_guest() {
        return forward!(fn fork() -> libc::pid_t);
    }
    fork_guest(true)
}

/// Stand-in of `vfork`. The child of a guest has a copy of its memory, as after `fork`; a program
/// that uses `vfork` correctly does not depend on the difference.
extern "C" fn on_vfork(code: usize) -> libc::pid_t {
    on_fork(code)
}

extern "C" fn on_bare_fork(_code: usize) -> libc::pid_t {
    if !is_guest() {
        return forward!(fn _Fork() -> libc::pid_t);
    }
    fork_guest(false)
}

/// Calls one function of each handler; those for before a fork in the reverse order of
/// registration.
fn call_handlers(which: usize) {
    let mut handlers = handlers();
    if which == 0 {
        handlers.reverse();
    }
    for handler in handlers.iter().map(|all| all[which]).filter(|&it| it != 0) {
        unwind::run_between(handler, 0);
    }
}

fn fork_guest(calls_handlers: bool) -> libc::pid_t {
    // SAFETY: `getpid` has no precondition.
    let parent = unsafe { libc::getpid() };
    if calls_handlers {
        host(|| call_handlers(0));
    }
    // The C library's own handlers are for its own state. Those of the program have just run. The
    // child has the relevant OS thread: the host's, or the guest's own.
    let fork = || outcome(private_fork::fork() as isize);
    let result = match substrate::of(guest::thread_pointer()) {
        SubstrateKind::Coroutines => host(fork),
        SubstrateKind::OsThreads => fork(),
    };
    if let Ok(child @ 1..) = result {
        host(|| {
            CHILDREN.get().add(Some(child as libc::pid_t));
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

/// In the child: removes all of raddle's control.
fn be_free(parent: libc::pid_t) {
    mode::release();
    private_fork::end_with(parent);
    faults::remove();
    signals::hand_over();
    for name in [c"LD_PRELOAD", c"RADDLE_NATIVE"] {
        // SAFETY: `unsetenv` must not race with a use of the environment, and the child of a fork has one
        // thread.
        unsafe { libc::unsetenv(name.as_ptr()) };
    }
}

fn call_handlers_freely() {
    let handlers = handlers();
    for handler in handlers.iter().map(|all| all[2]).filter(|&it| it != 0) {
        // SAFETY: the number is the address of a function of this type, because the program passed
        // it to `pthread_atfork`.
        let handler: extern "C" fn() = unsafe { std::mem::transmute(handler) };
        handler();
    }
}

type Text = *const c_char;
type Texts = *const *const c_char;
type More = *const c_void;

departing! {
    fn posix_spawn(
        child: GuestPtr<libc::pid_t>, path: Text, actions: More, attributes: More, arguments: Texts,
        environment: Texts
    ) -> c_int as on_spawn("rax");
    fn posix_spawnp(
        child: GuestPtr<libc::pid_t>, path: Text, actions: More, attributes: More, arguments: Texts,
        environment: Texts
    ) -> c_int as on_spawn_by_name("rax");
}

/// Records that a guest has started a program, unless that failed; returns the error.
fn started(error: c_int, child: GuestPtr<libc::pid_t>) -> c_int {
    if error == 0 && is_guest() {
        host(|| CHILDREN.get().add(child.get()));
    }
    error
}

extern "C" fn on_spawn(
    child: GuestPtr<libc::pid_t>,
    path: Text,
    actions: More,
    attributes: More,
    arguments: Texts,
    environment: Texts,
    _code: usize,
) -> c_int {
    let error = forward!(fn posix_spawn(
        child: GuestPtr<libc::pid_t>, path: Text, actions: More, attributes: More, arguments: Texts,
        environment: Texts
    ) -> c_int);
    started(error, child)
}

extern "C" fn on_spawn_by_name(
    child: GuestPtr<libc::pid_t>,
    path: Text,
    actions: More,
    attributes: More,
    arguments: Texts,
    environment: Texts,
    _code: usize,
) -> c_int {
    let error = forward!(fn posix_spawnp(
        child: GuestPtr<libc::pid_t>, path: Text, actions: More, attributes: More, arguments: Texts,
        environment: Texts
    ) -> c_int);
    started(error, child)
}
