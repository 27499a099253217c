//! How threads begin and end.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::OnceLock;

use raddle_engine::{Operation, ThreadId};

use super::guests::{self, End};
use super::queues::{self, Place};
use super::{interrupts, requests, signals};
use crate::abi::{caller, stack};
use crate::execution::running;
use crate::host::solo::Solo;
use crate::host::{mode, substrate, tls};
use crate::memory::{locations, objects, shadow};

/// What the layers above do in a thread's life, in host mode.
pub(crate) struct Hooks {
    /// The running thread has started another.
    pub(crate) started: fn(ThreadId),
    /// The function of the running thread has returned, or was left.
    pub(crate) finishes: fn(),
    /// What comes next on this stack is another thread's.
    pub(crate) stack_is_reused: fn(Range<usize>),
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Has threads do this from now on.
pub(crate) fn install(hooks: Hooks) {
    let _ = HOOKS.set(hooks);
}

fn hooks() -> &'static Hooks {
    HOOKS.get().expect("raddle: a thread outside a check")
}

/// What a new thread does.
struct Start {
    function: usize,
    argument: usize,
}

/// The first function of a new thread, as guest. The program's comes next, with nothing of ours below it
/// that could not be unwound.
extern "C" fn prepare(_: usize) -> usize {
    tls::prepare();
    0
}

/// The same for the same place in the tree of creations, whatever the schedule, so that addresses of variables
/// are the same in every execution; 0 is the first thread.
fn creation_number(thread: ThreadId) -> usize {
    static NUMBERS: Solo<BTreeMap<u64, usize>> = Solo::new(BTreeMap::new());
    let name = running().with_world(|world| world.state().fingerprint(thread));
    let mut numbers = NUMBERS.get();
    let next = numbers.len() + 1;
    *numbers.entry(name).or_insert(next)
}

/// Creates a thread of the program; what the program is to call it.
pub(crate) fn create(function: usize, argument: usize, is_detached: bool, code: usize) -> usize {
    let child = running().spawn(code, move || live(&Start { function, argument }));
    let pointer = substrate::create(creation_number(child));
    let mut new = guests::guest(pointer);
    new.is_detached = is_detached;
    requests::inherit(child);
    let mut all = guests::GUESTS.get();
    debug_assert_eq!(all.len(), child.index());
    all.push(new);
    drop(all);
    (hooks().started)(child);
    signals::visit(code);
    guests::with(child, |guest| guest.is_known = true);
    pointer
}

/// The whole life of a thread, in host mode.
fn live(start: &Start) {
    let pointer = guests::with_running(|guest| guest.pointer);
    if let Some(end) = substrate::end_of_stack(pointer) {
        running().move_stack(end);
    }
    forget_stack();
    guests::run_guest(prepare as extern "C" fn(usize) -> usize as usize, 0);
    let result = guests::run_guest(start.function, start.argument);
    finish(result);
}

/// The same for the first thread of an execution, if it has variables of its own.
pub(crate) fn live_as_first(function: usize, argument: usize) {
    live(&Start { function, argument });
}

/// Where the stacks end that were used in this execution.
static STACKS: Solo<Vec<usize>> = Solo::new(Vec::new());

/// At the beginning of an execution.
pub(crate) fn begin() {
    STACKS.get().clear();
}

/// The stack is new to the program, but a thread that has ended may have used its memory before.
fn forget_stack() {
    let end = running().end_of_stack();
    if !STACKS.get().contains(&end) {
        STACKS.get().push(end);
        return;
    }
    let stack = end - stack::STACK..end;
    shadow::forget(stack.clone());
    locations::forget(stack.clone());
    objects::forget(stack.clone());
    (hooks().stack_is_reused)(stack);
}

/// The thread's function has returned, or was left: destructors of what belongs to the thread.
pub(crate) fn finish(result: usize) {
    unsafe extern "C" {
        fn __call_tls_dtors();
    }
    if guests::with_running(|guest| guest.end) == End::Everything {
        return;
    }
    // Those of the first thread are run when the process ends; until then the host shares its storage.
    if guests::with_running(|guest| guest.pointer) != mode::host_pointer() {
        guests::run_guest(__call_tls_dtors as unsafe extern "C" fn() as usize, 0);
    }
    (hooks().finishes)();
    guests::with_running(|guest| {
        if guest.end != End::Everything {
            guest.end = End::Returned(result);
        }
    });
    if requests::are_possible() {
        let place = end_of(running().thread());
        queues::visit(place, 0);
        guests::with_running(|guest| guest.is_over = true);
        queues::wake_all(place, 0);
        signals::visit(0);
        guests::with_running(|guest| guest.is_known = false);
    }
}

/// Where those wait who join a thread, if something may keep them from it.
fn end_of(thread: ThreadId) -> Place {
    Place {
        address: guests::with(thread, |guest| guest.pointer),
        kind: "end of thread",
    }
}

/// Waits for the end of a thread; whether it has come.
fn wait_for_end(target: ThreadId, code: usize) -> bool {
    let place = end_of(target);
    queues::visit(place, code);
    while !guests::with(target, |guest| guest.is_over) {
        let bed = queues::bed(place.kind);
        queues::stay(place, bed);
        let interrupt = requests::sleep(bed, code);
        queues::visit(place, code);
        queues::go(place, bed);
        if !guests::with(target, |guest| guest.is_over) && !interrupts::act(interrupt, code) {
            return false;
        }
    }
    true
}

/// Whether a thread has ended.
pub(crate) fn has_ended(target: ThreadId, code: usize) -> bool {
    let ask = |_: &mut _| Operation::IsFinished { target };
    running().observe(code, caller::top(), ask).to_answer()
}

/// Waits for the end of a thread that its scope must not outlive, unless that was done.
pub(crate) fn wait_for(target: ThreadId, code: usize) {
    if guests::with(target, |guest| {
        std::mem::replace(&mut guest.is_joined, true)
    }) {
        return;
    }
    running().perform(code, |_| Operation::Join { target });
    running().wait_as_long_as(target);
    if guests::with(target, |guest| guest.end) == End::Everything {
        guests::end_everything();
    }
}

/// Waits for a thread to end; its result.
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
        End::Returned(result) => {
            // A panic of Rust's is the joiner's business then; a crash is nobody's.
            native.join_panic(target);
            Ok(result)
        }
        End::Everything | End::Not => guests::end_everything(),
    }
}
