//! Ending a thread from within: destructors and cleanup handlers of what is on its stack are run, and
//! then it is left.
//!
//! As in the C library, the unwinder of exceptions goes up the stack and asks at every frame whether to
//! stop. It must begin at a frame of the program's. So functions in which a thread may end do not begin it
//! themselves: they say so ([`ask`]) and return, and the trampoline that they were called by jumps to the
//! unwinder as if the program had called that.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::engine::Manner;
use crate::execution::running;
use crate::host::mode;
use crate::host::solo::Solo;
use crate::threads::{self, failure};

/// What a thread that was cancelled has as its result.
pub(crate) const CANCELED: usize = usize::MAX;

/// Whether the function that returns next is where the running thread ends.
pub(crate) static IS_ASKED: AtomicBool = AtomicBool::new(false);

type Stop = extern "C" fn(c_int, c_int, u64, *mut Exception, *mut c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, argument: *mut c_void) -> c_int;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _longjmp(buffer: *mut c_void, value: c_int) -> !;
}

/// The unwinder, for the jump to it.
static UNWINDER: AtomicUsize = AtomicUsize::new(0);

/// What the unwinder knows as an exception.
#[repr(C, align(16))]
struct Exception {
    class: u64,
    cleanup: extern "C" fn(c_int, *mut Exception),
    private: [usize; 2],
}

/// A thread on its way out.
struct State {
    exception: Exception,
    result: usize,
    /// It has come to where its code begins.
    is_out: bool,
    /// The last of the cleanup handlers that C code has registered.
    handler: *mut Handler,
}

/// Where C code can be told to clean up, as in `pthread.h`: the registers to go on with, whether there is
/// a signal mask, and room for those who keep the handlers.
#[repr(C)]
pub(crate) struct Handler {
    registers: [usize; 8],
    has_mask: c_int,
    previous: *mut Handler,
    rest: [usize; 3],
}

/// Which of the registers is the stack pointer.
const STACK_POINTER: usize = 6;
/// By how much the C library turns addresses that it hides.
const TURN: u32 = 17;

// SAFETY: handlers belong to threads of the program, which take turns.
unsafe impl Send for State {}

#[expect(
    clippy::vec_box,
    reason = "the unwinder keeps the address of exceptions"
)]
static STATES: Solo<Vec<Box<State>>> = Solo::new(Vec::new());

/// At the beginning of an execution.
pub(crate) fn begin() {
    IS_ASKED.store(false, Relaxed);
    let unwinder = _Unwind_ForcedUnwind as unsafe extern "C" fn(_, _, _) -> _;
    UNWINDER.store(unwinder as usize, Relaxed);
    STATES.get().clear();
}

fn with<R>(use_it: impl FnOnce(&mut State) -> R) -> R {
    let index = running().thread().index();
    let mut states = STATES.get();
    while states.len() <= index {
        states.push(Box::new(State {
            exception: Exception {
                class: 0,
                cleanup: on_caught,
                private: [0; 2],
            },
            result: 0,
            is_out: false,
            handler: std::ptr::null_mut(),
        }));
    }
    use_it(&mut states[index])
}

/// The function that the running thread has called ends it, with this result.
pub(crate) fn ask(result: usize) {
    with(|state| state.result = result);
    IS_ASKED.store(true, Relaxed);
}

/// The result of the running thread, if it has come to where its code begins.
pub(crate) fn result() -> Option<usize> {
    with(|state| state.is_out.then_some(state.result))
}

/// The same once more, after a handler.
pub(crate) fn again() {
    IS_ASKED.store(true, Relaxed);
}

/// Is jumped to with the stack as it was when the program called something, and does not return there.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn unwind() -> ! {
    naked_asm!(
        "sub rsp, 8",
        "call {prepare}",
        "add rsp, 8",
        "mov rdi, rax",
        "lea rsi, [rip + {stop}]",
        "xor edx, edx",
        "jmp [rip + {unwinder}]",
        prepare = sym prepare,
        stop = sym stop,
        unwinder = sym UNWINDER,
    )
}

extern "C" fn prepare() -> *mut Exception {
    IS_ASKED.store(false, Relaxed);
    with(|state| &raw mut state.exception)
}

/// In guest mode, for every frame: the last of the handlers if it was registered there, and the end of
/// the thread where its code begins.
extern "C" fn stop(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut Exception,
    context: *mut c_void,
    _argument: *mut c_void,
) -> c_int {
    const END_OF_STACK: c_int = 16;
    let is_end = actions & END_OF_STACK != 0;
    // SAFETY: the unwinder's own.
    let here = unsafe { _Unwind_GetCFA(context) };
    let (handler, result) = with(|state| (state.handler, state.result));
    if !handler.is_null() && (is_end || here >= stack_pointer(handler)) {
        // SAFETY: the frame that registered the handler is still there, and nothing here has to be
        // dropped.
        unsafe { _longjmp(handler.cast(), 1) }
    }
    if is_end || here >= threads::bottom() {
        with(|state| state.is_out = true);
        threads::leave(result);
    }
    0
}

/// Where the stack was when a handler was registered.
fn stack_pointer(handler: *mut Handler) -> usize {
    const GUARD: usize = 0x30;
    // SAFETY: a handler of the program's; and what the C library hides addresses with.
    let (hidden, guard) = unsafe {
        let guard = (mode::thread_pointer() + GUARD) as *const usize;
        ((*handler).registers[STACK_POINTER], guard.read())
    };
    hidden.rotate_right(TURN) ^ guard
}

/// The running thread has another handler.
pub(crate) fn register(handler: *mut Handler) {
    let previous = with(|state| std::mem::replace(&mut state.handler, handler));
    // SAFETY: the program says where.
    unsafe { (*handler).previous = previous };
}

/// The handler is not needed any more.
pub(crate) fn unregister(handler: *mut Handler) {
    // SAFETY: it was registered.
    let previous = unsafe { (*handler).previous };
    with(|state| state.handler = previous);
}

/// Somebody caught what ends a thread, and did not throw it again.
extern "C" fn on_caught(_reason: c_int, _exception: *mut Exception) {
    mode::host(|| {
        let message = "a thread that was to end caught that as an exception, and went on";
        failure::fail_in(Manner::Crash, message.to_owned(), 0)
    })
}
