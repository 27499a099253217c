//! Tests of a Rust crate: with `RADDLE_NATIVE=test` in the environment, the first thread that `main` starts
//! is what is checked.
//!
//! The harness of Rust's tests runs each test in a thread of its own, and `main` waits for it and says what
//! came of it. So `main` has no part in what is explored. It runs on a stack of its own, nobody controls it,
//! and it is stopped where it starts the thread: that is where every execution begins. The first thread of
//! an execution is the test's. When that has ended, `main` goes on, and ends with a status that says whether
//! the test failed, whatever the test was to do: panic, return an error, nothing. If it says that all is well,
//! that is as good as its end.

use std::arch::naked_asm;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use super::{output, program, rust_panics};
use crate::host::{arena, mode};
use crate::{check, threads};

const STACK: usize = 8 << 20;
const PAGE: usize = 4096;

/// What `main` is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is not that of a harness.
    None,
    /// It has not started the test.
    Before,
    /// It is stopped, and executions run.
    Stopped,
    /// It learns what came of an execution.
    After,
}

static STATE: AtomicU8 = AtomicU8::new(State::None as u8);
/// Where the stack of `main` was when it was stopped.
static HARNESS: AtomicUsize = AtomicUsize::new(0);
/// The same of whoever lets it run.
static HOST: AtomicUsize = AtomicUsize::new(0);
/// The test's thread: its function, and with what argument.
static TEST: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// What `main` takes for the name of the test's thread.
const NAME: usize = 1;

fn state() -> State {
    [State::None, State::Before, State::Stopped, State::After][usize::from(STATE.load(Relaxed))]
}

fn enter(state: State) {
    STATE.store(state as u8, Relaxed);
}

/// Whether a test is checked.
pub(crate) fn is_used() -> bool {
    state() != State::None
}

/// Whether the caller is `main`, which learns what came of an execution. Its memory is the program's then.
#[inline]
pub(crate) fn is_after() -> bool {
    STATE.load(Relaxed) == State::After as u8 && mode::thread_pointer() == mode::host_pointer()
}

/// What came of a `main`.
enum Stop {
    /// It has started the test.
    Test,
    /// It has ended.
    End(c_int),
}

/// Checks the test that the arguments name, and ends the process.
pub(crate) fn check() -> ! {
    let name = std::env::args().nth(1).unwrap_or_default();
    output::hide();
    enter(State::Before);
    let stack = map();
    HARNESS.store(first_frame(stack.end), Relaxed);
    let stop = without_terminal(go_on);
    let status = match stop {
        Stop::End(status) => status,
        Stop::Test => {
            enter(State::Stopped);
            let report = check::run(&name, HARNESS.load(Relaxed), run_test);
            check::tell(&name, &report)
        }
    };
    // SAFETY: the program itself has done nothing that needs to be brought to an end.
    unsafe { libc::_exit(status) }
}

/// Runs `main` while it cannot know what the terminal can do. It would read much about that, which every
/// execution would have to put back and `main` to drop.
fn without_terminal<R>(run: impl FnOnce() -> R) -> R {
    const NAME: &str = "TERM";
    let terminal = std::env::var_os(NAME);
    // SAFETY: there are no other threads yet; `main` is stopped before its first one runs.
    unsafe { std::env::remove_var(NAME) };
    let result = run();
    if let Some(terminal) = terminal {
        // SAFETY: as before.
        unsafe { std::env::set_var(NAME, terminal) };
    }
    result
}

/// The first thread of an execution, in host mode.
fn run_test() {
    let [function, argument] = TEST.each_ref().map(|it| it.load(Relaxed));
    threads::live_as_first(function, argument);
    if !threads::with_running(|guest| matches!(guest.end, threads::End::Returned(_))) {
        return;
    }
    enter(State::After);
    output::listen();
    let stop = go_on();
    enter(State::Stopped);
    if let Stop::End(status) = stop {
        rust_panics::judge(status);
    }
    program::end();
}

/// Room for `main`, with nothing next to it.
fn map() -> Range<usize> {
    let memory = arena::map_for_program(STACK + 2 * PAGE) as usize;
    assert!(memory != 0, "raddle: no memory for a stack");
    let stack = memory + PAGE..memory + PAGE + STACK;
    for page in [memory, stack.end] {
        // SAFETY: a page of what was just mapped.
        unsafe { libc::mprotect(page as *mut _, PAGE, libc::PROT_NONE) };
    }
    stack
}

/// Prepares a stack on which `main` begins.
fn first_frame(end: usize) -> usize {
    /// Registers that outlast a call.
    const REGISTERS: usize = 6;
    // As if `begin` had been called by nobody.
    let start = end - (REGISTERS + 2) * size_of::<usize>();
    // SAFETY: the stack is new, and large enough; it is zeroed.
    unsafe {
        (start as *mut usize)
            .add(REGISTERS)
            .write(begin as *const () as usize)
    };
    start
}

extern "C" fn begin() -> ! {
    stop(Stop::End(program::call()))
}

/// Lets `main` go on until it stops.
fn go_on() -> Stop {
    // SAFETY: the stack is that of `main`, as it was left, or as the snapshot has it.
    let word = unsafe { swap(HOST.as_ptr(), HARNESS.load(Relaxed), 0) };
    match u32::try_from(word) {
        Ok(status) => Stop::End(status as c_int),
        Err(_) => Stop::Test,
    }
}

/// Stops `main` where it is.
fn stop(why: Stop) -> ! {
    let word = match why {
        Stop::End(status) => status as u32 as usize,
        Stop::Test => usize::MAX,
    };
    let mut nowhere = 0;
    // SAFETY: whoever let `main` go on is there.
    unsafe { swap(&mut nowhere, HOST.load(Relaxed), word) };
    unreachable!("raddle: main goes on after its end")
}

/// `main` starts a thread; what `pthread_create` returns if that is the test's.
pub(crate) fn create(name: *mut usize, function: usize, argument: usize) -> Option<c_int> {
    if state() != State::Before {
        return None;
    }
    for (place, value) in TEST.iter().zip([function, argument]) {
        place.store(value, Relaxed);
    }
    // SAFETY: the caller says where it wants the name. Whoever let `main` go on is there.
    unsafe {
        name.write(NAME);
        swap(HARNESS.as_ptr(), HOST.load(Relaxed), usize::MAX);
    }
    Some(0)
}

/// Whether `main` waits for the end of the test's thread, or says that it does not want to: it has ended.
pub(crate) fn is_test(name: usize) -> bool {
    is_after() && name == NAME
}

/// `main`, if it is that which calls, has ended.
pub(crate) fn exit(status: c_int) {
    if matches!(state(), State::Before | State::After) {
        stop(Stop::End(status));
    }
}

/// Goes on where another stack was left, with this result of the `swap` there.
///
/// # Safety
///
/// The stack must have been left by this function, or be made like it, and `from` must be writable.
#[unsafe(naked)]
unsafe extern "C" fn swap(from: *mut usize, to: usize, result: usize) -> usize {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "mov rax, rdx",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}
