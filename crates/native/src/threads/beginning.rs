//! Executions of a test begin at its function: what comes before runs once.
//!
//! Before the thread of a test calls its function, it runs code of the standard library and of the harness, and the
//! same in every execution. So the first execution is stopped where that thread enters its first instrumented
//! function. The thread's stack and its thread-local variables are saved there, with the program's memory, and later
//! executions begin with them. This is not possible if the thread has performed an operation before, or has changed
//! state of the execution that is saved nowhere.
//!
//! They also end at the function. If the frames around it are, when it returns, what they were in an execution that
//! has passed, then libtest would do the same as there: the result is in one of them. So the rest of the thread's code
//! and `main` do not run again. A function that panics leaves the frames as they were before its call, and is never
//! taken for one that returns.

use std::arch::naked_asm;
use std::mem::offset_of;

use raddle_engine::ThreadId;

use super::guests;
use crate::execution::{running, shadow_stack};
use crate::host::process_state::ProcessState;
use crate::host::{arena, mode, phase, substrate, tls};
use crate::memory::snapshot;

/// Number of the first thread's block of thread-local storage.
const FIRST: usize = 0;
const WORD: usize = size_of::<usize>();
const PAGE: usize = 4096;

/// The stack of a thread, to be continued. The assembly of [`go_on`] reads it.
#[repr(C)]
struct SavedStack {
    /// The stack pointer, where the address is at which the thread continues.
    start: usize,
    /// The end of the guest's part of the stack.
    end: usize,
    copy: *const u8,
}

struct Saved {
    stack: SavedStack,
    /// The end of the thread's stack, by which it is recognised.
    end_of_stack: usize,
    block: usize,
    thread: guests::Kept,
    /// The frames around the function, if it was called by libtest.
    frames: Option<Frames>,
}

/// The part of the stack that the callers of the test's function use.
struct Frames {
    start: usize,
    end: usize,
    /// The frames before the function was called.
    before: Vec<u8>,
    /// The frames when it returned in this execution; empty if it has not.
    now: Vec<u8>,
    /// The frames when it returned in an execution that has passed; empty if there was none.
    passed: Vec<u8>,
}

/// State of the execution before the function.
#[derive(Clone, Copy, Default)]
struct Before {
    /// Number of events when the thread began.
    events: usize,
    /// True if the thread has read the clock, which counts how often that is done.
    has_read_clock: bool,
}

enum Beginning {
    /// Executions begin with the thread.
    Thread,
    /// They should begin with the function.
    Wanted(Before),
    Function(Box<Saved>),
}

struct State {
    beginning: Beginning,
    /// True if the execution has ended with the function.
    is_cut: bool,
}

static STATE: ProcessState<State> = ProcessState::new(State {
    beginning: Beginning::Thread,
    is_cut: false,
});

fn set(beginning: Beginning) {
    shadow_stack::report_first(matches!(beginning, Beginning::Wanted(_)));
    STATE.get().beginning = beginning;
}

/// A check begins, in which executions may begin at the function of a test, or may not.
pub(crate) fn begin_check(is_possible: bool) {
    let is_possible = is_possible && phase::is_test() && !substrate::is_os();
    set(match is_possible {
        true => Beginning::Wanted(Before::default()),
        false => Beginning::Thread,
    });
}

/// In host mode: an execution begins, in its first thread. If that has another stack than it had, executions begin
/// with the thread again, until its function is called.
pub(crate) fn begin_execution() {
    let mut state = STATE.get();
    state.is_cut = false;
    let is_elsewhere = match &mut state.beginning {
        Beginning::Function(saved) => {
            saved.frames.iter_mut().for_each(|it| it.now.clear());
            saved.end_of_stack != running().end_of_stack()
        }
        _ => false,
    };
    drop(state);
    if is_elsewhere {
        snapshot::go_back();
        set(Beginning::Wanted(Before::default()));
    }
}

/// In host mode: the running thread reads the clock.
pub(super) fn note_clock() {
    if let Beginning::Wanted(before) = &mut STATE.get().beginning {
        before.has_read_clock = true;
    }
}

/// Returns the thread pointer of the first thread.
pub(super) fn first_block() -> usize {
    match &STATE.get().beginning {
        Beginning::Function(saved) => saved.block,
        _ => substrate::create(FIRST),
    }
}

/// In host mode: returns the guest function that continues the first thread where it was saved, with its argument.
/// Nothing if it begins anew.
pub(super) fn resume() -> Option<(usize, usize)> {
    let mut state = STATE.get();
    match &mut state.beginning {
        Beginning::Thread => None,
        Beginning::Wanted(before) => {
            *before = Before {
                events: running().count_events(),
                has_read_clock: false,
            };
            None
        }
        Beginning::Function(saved) => {
            guests::with(ThreadId::MAIN, |guest| guest.restore(&saved.thread));
            let go_on = go_on as unsafe extern "C" fn(*const SavedStack) -> ! as usize;
            Some((go_on, &raw const saved.stack as usize))
        }
    }
}

/// As guest: continues where the stack was saved.
///
/// # Safety
///
/// The stack must be that of the calling guest, which has called nothing else.
#[unsafe(naked)]
unsafe extern "C" fn go_on(stack: *const SavedStack) -> ! {
    naked_asm!(
        // The guest's part of the stack ends where it did.
        "lea rdx, [rsp + 8]",
        "mov rcx, [rdi + {end}]",
        "cmp rdx, rcx",
        "jne 3f",
        "mov rsp, [rdi + {start}]",
        "mov rsi, [rdi + {copy}]",
        "mov rax, rsp",
        "2:",
        "mov rdx, [rsi]",
        "mov [rax], rdx",
        "add rsi, 8",
        "add rax, 8",
        "cmp rax, rcx",
        "jb 2b",
        "ret",
        "3:",
        "ud2",
        start = const offset_of!(SavedStack, start),
        end = const offset_of!(SavedStack, end),
        copy = const offset_of!(SavedStack, copy),
    )
}

/// In guest mode: the running thread is about to enter the function that returns to `caller`; true behind it if that is
/// libtest's call of a test. Nothing of the execution has changed yet but what this saves, if `is_unchanged` says so of
/// the layers above. `stack` is the thread's stack pointer, from which it can be continued. Returns true if later
/// executions begin here.
pub(crate) fn save(
    caller: (usize, bool),
    stack: usize,
    is_unchanged: impl FnOnce() -> bool,
) -> bool {
    let Beginning::Wanted(before) = STATE.get().beginning else {
        return false;
    };
    mode::host(|| {
        let native = running();
        let is_first = native.thread() == ThreadId::MAIN && guests::count() == 1;
        let is_possible =
            is_first && native.count_events() == before.events && !before.has_read_clock;
        let is_saved = is_possible && is_unchanged();
        set(match is_saved {
            true => Beginning::Function(Box::new(saved(caller, stack))),
            false => Beginning::Thread,
        });
        is_saved
    })
}

fn saved((caller, is_test): (usize, bool), start: usize) -> Saved {
    let thread = guests::with(ThreadId::MAIN, |guest| guest.keep());
    let (block, end) = (thread.pointer, thread.end);
    // SAFETY: the thread waits, and this is the used part of its stack, from its stack pointer to raddle's frames. What
    // is below is in use by nothing, because raddle runs on the alternate stack.
    let used = unsafe {
        clear_below(start);
        std::slice::from_raw_parts(start as *const u8, end - start)
    };
    let copy = arena::map(used.len());
    assert!(!copy.is_null(), "raddle: no memory for a stack");
    // SAFETY: the copy was just mapped with this size.
    unsafe { copy.copy_from_nonoverlapping(used.as_ptr(), used.len()) };
    snapshot::take_again(tls::variables_of(block));
    Saved {
        stack: SavedStack { start, end, copy },
        end_of_stack: running().end_of_stack(),
        block,
        thread,
        frames: Frames::of(caller, start, used).filter(|_| is_test),
    }
}

/// Clears the remains of earlier calls, which later executions do not have.
///
/// # Safety
///
/// Nothing below this address of the running thread's stack may be in use, up to its alternate stack.
unsafe fn clear_below(start: usize) {
    let mut end = start;
    loop {
        let page = (end - 1) & !(PAGE - 1);
        // SAFETY: the caller promises that the memory is not in use. It is mapped: the alternate stack is far below.
        let bytes = unsafe { std::slice::from_raw_parts_mut(page as *mut u8, end - page) };
        // A page that was never used has no remains, and there are none below it.
        if page < start - PAGE && bytes.iter().all(|&byte| byte == 0) {
            return;
        }
        bytes.fill(0);
        end = page;
    }
}

impl Frames {
    /// Returns the frames around the function that returns to `caller`: its return address is on the used part of the
    /// stack, which begins at `start`. An earlier place with that address makes them longer.
    fn of(caller: usize, start: usize, used: &[u8]) -> Option<Self> {
        let mut words = used.chunks_exact(WORD);
        let index = words.position(|word| word == caller.to_ne_bytes())?;
        let before = used[index * WORD..].to_vec();
        let size = before.len();
        Some(Frames {
            start: start + index * WORD,
            end: start + used.len(),
            before,
            now: Vec::with_capacity(size),
            passed: Vec::with_capacity(size),
        })
    }
}

/// In guest mode: the running thread has left its first function; `has_panicked` if a panic has begun in it. Does not
/// return if the execution has passed.
pub(crate) fn left(has_panicked: bool) {
    let mut state = STATE.get();
    let State { beginning, is_cut } = &mut *state;
    let Beginning::Function(saved) = beginning else {
        return;
    };
    let Some(frames) = &mut saved.frames else {
        return;
    };
    if running().thread() != ThreadId::MAIN || has_panicked {
        return;
    }
    // SAFETY: the frames of the functions around the first one are still in use, and nothing writes to them meanwhile.
    let now =
        unsafe { std::slice::from_raw_parts(frames.start as *const u8, frames.end - frames.start) };
    if now == frames.passed {
        *is_cut = true;
        drop(state);
        guests::leave(0);
    }
    // After a return something is known that was not before.
    if now != frames.before {
        frames.now.clear();
        frames.now.extend_from_slice(now);
    }
}

/// In host mode: true if the execution has ended with the function of the test, and has passed.
pub(crate) fn has_passed() -> bool {
    STATE.get().is_cut
}

/// In host mode: the harness has said that the test has passed in this execution.
pub(crate) fn pass() {
    if let Beginning::Function(saved) = &mut STATE.get().beginning
        && let Some(frames) = &mut saved.frames
    {
        frames.passed.clone_from(&frames.now);
    }
}
