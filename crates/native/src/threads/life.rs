//! Beginnings and ends of threads.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::OnceLock;

use raddle_engine::{Operation, ThreadId};

use super::guests::{self, ThreadEnd};
use super::queues::{self, QueueKey};
use super::{beginning, heap_use, interrupts, requests, signals, unwritten_reads};
use crate::abi::{caller, stack};
use crate::engine::Manner;
use crate::execution::{creation_name, running};
use crate::host::process_state::ProcessState;
use crate::host::{mode, substrate, tls};
use crate::memory::{locations, objects, shadow, stacks};

/// Hooks of the layers above in a thread's life, in host mode.
pub(crate) struct Hooks {
    /// Called when the running thread has started another.
    pub(crate) started: fn(ThreadId),
    /// Called when the function of the running thread has returned, or was left.
    pub(crate) finishes: fn(),
    /// Called when another thread uses this stack from now on.
    pub(crate) stack_is_reused: fn(Range<usize>),
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Sets the hooks.
pub(crate) fn install(hooks: Hooks) {
    let _ = HOOKS.set(hooks);
}

fn hooks() -> &'static Hooks {
    HOOKS.get().expect("raddle: a thread outside a check")
}

/// Body of a thread.
struct Start {
    function: usize,
    argument: usize,
    /// True if the thread's variables are initialised.
    is_prepared: bool,
}

/// First function of a new thread, as guest. The program's function follows, above no frame of
/// raddle's that could not be unwound.
extern "C" fn prepare(_: usize) -> usize {
    tls::prepare();
    0
}

/// Returns a number that depends only on the thread's place in the tree of creations, and not on
/// the schedule; 0 for the first thread. So addresses of variables are the same in every execution.
fn creation_number(thread: ThreadId) -> usize {
    static NUMBERS: ProcessState<BTreeMap<u64, usize>> = ProcessState::new(BTreeMap::new());
    let name = creation_name(running(), thread);
    let mut numbers = NUMBERS.get();
    let next = numbers.len() + 1;
    *numbers.entry(name).or_insert(next)
}

/// Creates a thread of the program; returns its name for the program.
pub(crate) fn create(function: usize, argument: usize, is_detached: bool, code: usize) -> usize {
    let start = Start {
        function,
        argument,
        is_prepared: false,
    };
    let child = running().spawn(code, move || live(&start));
    let pointer = substrate::create(creation_number(child));
    requests::inherit(child);
    guests::add(child, pointer, is_detached);
    (hooks().started)(child);
    signals::synchronize(code);
    guests::with(child, |guest| guest.is_known = true);
    pointer
}

/// Runs a thread from its beginning to its end, in host mode.
fn live(start: &Start) {
    let pointer = guests::with_running(|guest| guest.pointer);
    if let Some(end) = substrate::end_of_stack(pointer) {
        running().move_stack(end);
    }
    forget_stack();
    if !start.is_prepared {
        guests::run_guest(prepare as extern "C" fn(usize) -> usize as usize, 0);
    }
    let result = guests::run_guest(start.function, start.argument);
    finish(result);
    end_stack();
}

/// Ends the lifetime of the running thread's variables. Fails the thread if another thread's access
/// of them does not happen before that.
fn end_stack() {
    let native = running();
    shadow::end_stack();
    let Some(stack) = stacks::end(native.end_of_stack()) else {
        return;
    };
    let unordered = shadow::unordered(stack.clone());
    let unordered = unordered.or_else(|| heap_use::unordered_on(stack.clone()));
    shadow::forget(stack);
    if let Some((user, site)) = unordered {
        let message = format!(
            "it ends while {} uses its stack{}: nothing orders the two, no lock, join or release/acquire \
             pair is between them\n\
             help: the variables of a thread are gone when it ends",
            native.title(user),
            heap_use::line(site)
        );
        native.fail(Manner::Memory, message, native.place(site));
        guests::with_running(|guest| guest.end = ThreadEnd::Everything);
    }
}

/// Runs the first thread of an execution, if it has variables of its own.
pub(crate) fn live_as_first(function: usize, argument: usize) {
    let resumed = beginning::resume();
    let (function, argument) = resumed.unwrap_or((function, argument));
    // One call of one function: a thread that is continued has the stack that it had.
    live(&Start {
        function,
        argument,
        is_prepared: resumed.is_some(),
    });
}

/// Removes the state of the stack's memory, which a thread that has ended may have used before.
fn forget_stack() {
    let end = running().end_of_stack();
    let is_used = stacks::begin(end);
    shadow::begin_stack();
    if !is_used {
        return;
    }
    let stack = end - stack::STACK..end;
    shadow::forget(stack.clone());
    locations::forget(stack.clone());
    objects::forget(stack.clone());
    heap_use::forget_stack(end);
    (hooks().stack_is_reused)(stack);
}

/// Runs the destructors of the thread's values, after its function has returned or was left.
pub(crate) fn finish(result: usize) {
    unsafe extern "C" {
        fn __call_tls_dtors();
    }
    let has_failed = || guests::with_running(|guest| guest.end) == ThreadEnd::Everything;
    if has_failed() {
        return;
    }
    unwritten_reads::finish();
    if has_failed() {
        return;
    }
    // Destructors of the first thread run when the process ends; until then the host shares its
    // storage.
    if guests::with_running(|guest| guest.pointer) != mode::host_pointer() {
        guests::run_guest(__call_tls_dtors as unsafe extern "C" fn() as usize, 0);
    }
    (hooks().finishes)();
    guests::with_running(|guest| {
        if guest.end != ThreadEnd::Everything {
            guest.end = ThreadEnd::Returned(result);
        }
    });
    if requests::are_possible() {
        let place = end_of(running().thread());
        queues::synchronize(place, 0);
        guests::with_running(|guest| guest.is_over = true);
        queues::wake_all(place, 0);
        signals::synchronize(0);
        guests::with_running(|guest| guest.is_known = false);
    }
}

/// Returns the queue of the threads that join a thread, in programs where waits can be interrupted.
fn end_of(thread: ThreadId) -> QueueKey {
    QueueKey {
        address: guests::with(thread, |guest| guest.pointer),
        kind: "end of thread",
    }
}

/// Waits for the end of a thread; returns false if the wait was interrupted.
fn wait_for_end(target: ThreadId, code: usize) -> bool {
    let place = end_of(target);
    queues::synchronize(place, code);
    while !guests::with(target, |guest| guest.is_over) {
        let waiter = queues::new_waiter(place.kind);
        queues::enqueue(place, waiter);
        let interrupt = requests::wait(waiter, code);
        queues::synchronize(place, code);
        queues::remove(place, waiter);
        if !guests::with(target, |guest| guest.is_over) && !interrupts::act(interrupt, code) {
            return false;
        }
    }
    true
}

/// True if a thread has ended.
pub(crate) fn has_ended(target: ThreadId, code: usize) -> bool {
    let ask = |_: &mut _| Operation::IsFinished { target };
    running().observe(code, caller::top(), ask).to_answer()
}

/// Waits for the end of a scoped thread, unless it was joined.
pub(crate) fn wait_for(target: ThreadId, code: usize) {
    if guests::with(target, |guest| {
        std::mem::replace(&mut guest.is_joined, true)
    }) {
        return;
    }
    running().perform(code, |_| Operation::Join { target });
    running().wait_as_long_as(target);
    if guests::with(target, |guest| guest.end) == ThreadEnd::Everything {
        guests::end_everything();
    }
}

/// Waits for a thread to end; returns its result.
pub(crate) fn join(target: ThreadId, code: usize) -> Result<usize, c_int> {
    let native = running();
    if target == native.thread() {
        return Err(libc::EDEADLK);
    }
    if !guests::with(target, |guest| guest.may_be_joined()) {
        return Err(libc::EINVAL);
    }
    if requests::are_possible() && !wait_for_end(target, code) {
        return Ok(0);
    }
    if !guests::with(target, |guest| guest.may_be_joined()) {
        return Err(libc::EINVAL);
    }
    guests::with(target, |guest| guest.is_joined = true);
    native.perform(code, |_| Operation::Join { target });
    native.wait_as_long_as(target);
    match guests::with(target, |guest| guest.end) {
        ThreadEnd::Returned(result) => {
            // The joining thread handles a panic of Rust's; a crash ends the joining thread as
            // well.
            native.join_panic(target);
            Ok(result)
        }
        ThreadEnd::Everything | ThreadEnd::Not => guests::end_everything(),
    }
}
