//! Ending a thread from within: runs the destructors and cleanup handlers of its stack, and then leaves it.
//!
//! As in the C library, the unwinder of exceptions goes up the stack and calls a stop function at
//! every frame. Functions in which a thread may end [`ask`] for that and return; the unwinder
//! begins at the program's call of them ([`unwinding`]).

use std::ffi::{c_int, c_void};

use super::failure;
use super::guests::{self, ThreadEnd};
use crate::abi::{alternate_stack, guest, unwinding};
use crate::engine::Manner;
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::host::mode;

/// Result of a cancelled thread.
pub(crate) const CANCELED: usize = usize::MAX;

type Stop = extern "C" fn(c_int, c_int, u64, *mut Exception, *mut c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, argument: *mut c_void) -> c_int;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _longjmp(buffer: *mut c_void, value: c_int) -> !;
}

/// An exception, in the layout of the unwinder.
#[repr(C, align(16))]
struct Exception {
    class: u64,
    cleanup: extern "C" fn(c_int, *mut Exception),
    private: [usize; 2],
}

/// State of a thread's end.
struct ThreadUnwinding {
    exception: Exception,
    result: usize,
    /// True if the unwinder has reached the thread's first function.
    is_out: bool,
    /// The last of the cleanup handlers that C code has registered.
    handler: *mut Handler,
}

/// A cleanup handler of C code, as in `pthread.h`: the registers to continue with, a flag for a
/// saved signal mask, and memory for the implementation.
#[repr(C)]
pub(crate) struct Handler {
    registers: [usize; 8],
    has_mask: c_int,
    previous: *mut Handler,
    rest: [usize; 3],
}

/// Index of the stack pointer among the registers.
const STACK_POINTER: usize = 6;
/// Bits by which the C library rotates addresses that it hides.
const TURN: u32 = 17;

/// State of the end of each thread of the execution, by number.
pub(crate) struct Unwinding(
    #[expect(
        clippy::vec_box,
        reason = "the unwinder keeps the address of exceptions"
    )]
    Vec<Box<ThreadUnwinding>>,
);

impl Default for Unwinding {
    fn default() -> Self {
        begin_unwinding();
        Unwinding(Vec::new())
    }
}

/// Makes the unwinder and the function that stops it known.
fn begin_unwinding() {
    let unwinder = _Unwind_ForcedUnwind as unsafe extern "C" fn(_, _, _) -> _;
    unwinding::begin(unwinder as usize, stop as Stop as usize);
}

impl Part for Unwinding {
    fn renew(&mut self) {
        let Unwinding(threads) = self;
        threads.clear();
        begin_unwinding();
    }
}

pub(crate) static UNWINDING: PartCell<Unwinding> = PartCell::new();

fn with<R>(use_it: impl FnOnce(&mut ThreadUnwinding) -> R) -> R {
    let index = running().thread().index();
    let states = &mut UNWINDING.get().0;
    while states.len() <= index {
        states.push(Box::new(ThreadUnwinding {
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

/// Makes the running thread end with this result, when its current call returns.
pub(crate) fn ask(result: usize) {
    with(|state| state.result = result);
    again();
}

/// Returns the result of the running thread, if the unwinder has reached the beginning of its code.
fn final_result() -> Option<usize> {
    with(|state| state.is_out.then_some(state.result))
}

/// True if the running thread ended itself or was cancelled, and the unwinder has reached the
/// beginning of its code.
pub(crate) fn has_left() -> bool {
    final_result().is_some()
}

/// As [`guests::run_guest`], for code that interrupts the running thread, such as a signal handler.
pub(crate) fn run_between(function: usize, argument: usize) -> usize {
    let frame = guests::with_running(|guest| guest.frame);
    let result = guests::run(
        (function, argument),
        alternate_stack::nested(guests::own_alternate_stack()),
    );
    guests::with_running(|guest| guest.frame = frame);
    if guests::with_running(|guest| guest.end) == ThreadEnd::Everything {
        guests::leave(0);
    }
    if let Some(result) = final_result() {
        guests::leave(result);
    }
    result
}

/// Continues unwinding, after a handler.
pub(crate) fn again() {
    let exception = with(|state| &raw mut state.exception);
    unwinding::ask(exception as usize);
}

/// In guest mode, called for every frame: calls the last handler if the frame has registered it,
/// and ends the thread at the beginning of its code.
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
    // SAFETY: the unwinder passes a context that is valid during this call.
    let here = unsafe { _Unwind_GetCFA(context) };
    let (handler, result) = with(|state| (state.handler, state.result));
    if !handler.is_null() && (is_end || here >= stack_pointer(handler)) {
        // SAFETY: `_longjmp` needs a frame that is still on the stack: the unwinder has not come past that
        // which registered the handler. No frame between has a destructor, but for those that the unwinder
        // has run.
        unsafe { _longjmp(handler.cast(), 1) }
    }
    if is_end || here >= guests::bottom() {
        with(|state| state.is_out = true);
        guests::leave(result);
    }
    0
}

/// Returns the stack pointer at which a handler was registered.
fn stack_pointer(handler: *mut Handler) -> usize {
    const GUARD: usize = 0x30;
    // SAFETY: a handler is alive while it is registered, and every thread's header has the guard that the C
    // library hides addresses with.
    let (hidden, guard) = unsafe {
        let guard = (guest::thread_pointer() + GUARD) as *const usize;
        ((*handler).registers[STACK_POINTER], guard.read())
    };
    hidden.rotate_right(TURN) ^ guard
}

/// Registers another cleanup handler of the running thread.
pub(crate) fn register(handler: *mut Handler) {
    let previous = with(|state| std::mem::replace(&mut state.handler, handler));
    // SAFETY: the caller of `__pthread_register_cancel` passes a buffer that stays alive until it unregisters
    // it.
    unsafe { (*handler).previous = previous };
}

/// Removes a cleanup handler.
pub(crate) fn unregister(handler: *mut Handler) {
    // SAFETY: the handler was registered, and is alive until this call.
    let previous = unsafe { (*handler).previous };
    with(|state| state.handler = previous);
}

/// Reports a handler that caught the exception which ends a thread, and did not throw it again.
extern "C" fn on_caught(_reason: c_int, _exception: *mut Exception) {
    mode::host(|| {
        let message = "a thread that was to end caught that as an exception, and went on";
        failure::fail_in(Manner::Crash, message.to_owned(), 0)
    })
}
