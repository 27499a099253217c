//! The threads of the program: who they are, how they begin and end.

pub(crate) mod failure;
pub(crate) mod futex;
pub(crate) mod interrupts;
pub(crate) mod queues;
pub(crate) mod signals;
pub(crate) mod time;
pub(crate) mod unwind;

use std::collections::BTreeMap;
use std::ffi::c_int;

use raddle_engine::{Operation, ThreadId};

use self::queues::Place;
use crate::abi::trampoline;
use crate::check;
use crate::entry::atomic;
use crate::execution::{if_running, running, shadow_stack};
use crate::host::mode::{self, Frame};
use crate::host::solo::Solo;
use crate::host::{substrate, tls};
use crate::io::opened;
use crate::memory::{objects, shadow};
use crate::names::symbols;
use crate::process::{children, harness, program, random, rust_panics};
use crate::pthread::{keys, mutex};
use crate::rust::{self, std_atomics};

/// How a thread came to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It runs.
    Not,
    /// Its function returned, or it left by itself.
    Returned(usize),
    /// Something is wrong, or it ended the program. Whoever waits for it ends as well.
    Everything,
}

/// A thread of the program.
pub(crate) struct Guest {
    /// Its thread pointer, which is what the program calls it.
    pub(crate) pointer: usize,
    frame: Frame,
    /// The last function of the program's that raddle has called in it.
    function: usize,
    pub(crate) end: End,
    pub(crate) is_detached: bool,
    /// Somebody waits or has waited for its end.
    is_joined: bool,
    /// Others may send it signals.
    pub(crate) is_known: bool,
    /// Those who wait for its end know that it has come.
    is_over: bool,
    /// What it has under each key.
    pub(crate) values: Vec<usize>,
    /// What the program calls it, if anything.
    pub(crate) name: Vec<u8>,
    /// Where it wants to handle signals.
    pub(crate) signal_stack: Option<libc::stack_t>,
}

impl Guest {
    /// Whether anybody may still wait for its end.
    pub(crate) fn may_be_joined(&self) -> bool {
        !self.is_detached && !self.is_joined
    }
}

/// By the number of the thread.
#[expect(
    clippy::vec_box,
    reason = "a frame must not move while the table grows"
)]
static GUESTS: Solo<Vec<Box<Guest>>> = Solo::new(Vec::new());

fn guest(pointer: usize) -> Box<Guest> {
    Box::new(Guest {
        pointer,
        frame: Frame::default(),
        function: 0,
        end: End::Not,
        is_detached: false,
        is_joined: false,
        is_known: false,
        is_over: false,
        values: Vec::new(),
        name: Vec::new(),
        signal_stack: None,
    })
}

/// At the beginning of an execution.
pub(crate) fn begin() {
    STACKS.get().clear();
    queues::begin();
    interrupts::begin();
    signals::begin();
    random::begin();
    opened::begin();
    children::begin();
    mutex::begin();
    rust_panics::begin();
    unwind::begin();
    let mut guests = GUESTS.get();
    guests.clear();
    let mut first = guest(match harness::is_used() {
        true => substrate::create(0),
        false => mode::host_pointer(),
    });
    first.is_known = true;
    guests.push(first);
}

/// A check has ended: nothing that the program has started or opened is left.
pub(crate) fn end() {
    opened::begin();
    children::begin();
}

/// Reads or changes what is known of the running thread.
pub(crate) fn with_running<R>(use_it: impl FnOnce(&mut Guest) -> R) -> R {
    let thread = running().thread();
    use_it(&mut GUESTS.get()[thread.index()])
}

/// The thread that the program calls by this name.
pub(crate) fn find(pointer: usize) -> Option<ThreadId> {
    let guests = GUESTS.get();
    let index = guests.iter().position(|guest| guest.pointer == pointer)?;
    Some(ThreadId::new(index))
}

/// How many threads there are and have been.
pub(crate) fn count() -> usize {
    GUESTS.get().len()
}

/// How many threads have not come to their end.
pub(crate) fn alive() -> usize {
    let guests = GUESTS.get();
    guests.iter().filter(|guest| guest.end == End::Not).count()
}

/// No thread has anything under a key any more.
pub(crate) fn forget_key(key: usize) {
    for guest in GUESTS.get().iter_mut() {
        if let Some(value) = guest.values.get_mut(key) {
            *value = 0;
        }
    }
}

/// Reads or changes what is known of a thread.
pub(crate) fn with<R>(thread: ThreadId, use_it: impl FnOnce(&mut Guest) -> R) -> R {
    use_it(&mut GUESTS.get()[thread.index()])
}

/// The running thread, in host mode, lets the program run.
pub(crate) fn run_guest(function: usize, argument: usize) -> usize {
    run((function, argument), own_part())
}

/// The part of the running thread's stack that is raddle's.
fn own_part() -> usize {
    trampoline::own_part_of(running().end_of_stack(), check::STACK)
}

fn run((function, argument): (usize, usize), own_part: usize) -> usize {
    let (pointer, frame) = with_running(|guest| {
        if shadow_stack::is_own(function) {
            guest.function = function;
        }
        (guest.pointer, &raw mut guest.frame)
    });
    // SAFETY: the program's function with its argument. The frame is in a box that is there as long as
    // the execution, and nobody else uses it.
    unsafe { mode::run((function, argument), (pointer, own_part), frame) }
}

/// In guest mode: where the running thread's part of its stack ends. What is above is raddle's.
pub(crate) fn bottom() -> usize {
    substrate::bottom().unwrap_or_else(|| with_running(|guest| guest.frame.stack()))
}

/// As [`run_guest`], for what the running thread does in between: it goes on where it was.
pub(crate) fn run_between(function: usize, argument: usize) -> usize {
    let frame = with_running(|guest| guest.frame);
    let result = run((function, argument), trampoline::between(own_part()));
    with_running(|guest| guest.frame = frame);
    if with_running(|guest| guest.end) == End::Everything {
        leave(0);
    }
    if let Some(result) = unwind::result() {
        leave(result);
    }
    result
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
fn number(thread: ThreadId) -> usize {
    static NUMBERS: Solo<BTreeMap<u64, usize>> = Solo::new(BTreeMap::new());
    let name = running().with_world(|world| world.state().fingerprint(thread));
    let mut numbers = NUMBERS.get();
    let next = numbers.len() + 1;
    *numbers.entry(name).or_insert(next)
}

/// Creates a thread of the program; what the program is to call it.
pub(crate) fn create(function: usize, argument: usize, is_detached: bool, code: usize) -> usize {
    let child = running().spawn(code, move || live(&Start { function, argument }));
    let pointer = substrate::create(number(child));
    let mut new = guest(pointer);
    new.is_detached = is_detached;
    interrupts::inherit(child);
    let mut guests = GUESTS.get();
    debug_assert_eq!(guests.len(), child.index());
    guests.push(new);
    drop(guests);
    rust::threads::started(child);
    signals::visit(code);
    with(child, |guest| guest.is_known = true);
    pointer
}

/// The whole life of a thread, in host mode.
fn live(start: &Start) {
    let pointer = with_running(|guest| guest.pointer);
    if let Some(end) = substrate::end_of_stack(pointer) {
        running().move_stack(end);
    }
    forget_stack();
    run_guest(prepare as extern "C" fn(usize) -> usize as usize, 0);
    let result = run_guest(start.function, start.argument);
    finish(result);
}

/// The same for the first thread of an execution, if it has variables of its own.
pub(crate) fn live_as_first(function: usize, argument: usize) {
    live(&Start { function, argument });
}

/// Where the stacks end that were used in this execution.
static STACKS: Solo<Vec<usize>> = Solo::new(Vec::new());

/// What is on the stack of a thread, by how far that is from where the stack ends.
pub(crate) fn stack_name(address: usize) -> Option<String> {
    let native = if_running()?;
    let functions: Vec<_> = GUESTS
        .try_get()?
        .iter()
        .map(|guest| guest.function)
        .collect();
    let threads = (0..functions.len()).map(ThreadId::new);
    let ends = threads.map(|thread| native.end_of_stack_of(thread));
    let ends: Vec<usize> = ends.collect();
    let owner = ends
        .iter()
        .position(|&end| (end - check::STACK..end).contains(&address))?;
    let function = match functions[owner] {
        0 => program::main(),
        function => function,
    };
    if let Some(name) = symbols::local(address, ends[owner], function) {
        return Some(name);
    }
    let name = native.title(ThreadId::new(owner));
    Some(format!("{name}'s stack-{}", ends[owner] - address))
}

/// The stack is new to the program, but a thread that has ended may have used its memory before.
fn forget_stack() {
    let end = running().end_of_stack();
    if !STACKS.get().contains(&end) {
        STACKS.get().push(end);
        return;
    }
    let stack = end - check::STACK..end;
    shadow::forget(stack.clone());
    atomic::forget(stack.clone());
    std_atomics::forget(stack.clone());
    objects::forget(stack);
}

/// The thread's function has returned, or was left: destructors of what belongs to the thread.
pub(crate) fn finish(result: usize) {
    unsafe extern "C" {
        fn __call_tls_dtors();
    }
    if with_running(|guest| guest.end) == End::Everything {
        return;
    }
    // Those of the first thread are run when the process ends; until then the host shares its storage.
    if with_running(|guest| guest.pointer) != mode::host_pointer() {
        run_guest(__call_tls_dtors as unsafe extern "C" fn() as usize, 0);
    }
    keys::run_destructors();
    mutex::leave_behind();
    rust_panics::finish();
    with_running(|guest| {
        if guest.end != End::Everything {
            guest.end = End::Returned(result);
        }
    });
    if interrupts::are_possible() {
        let place = end_of(running().thread());
        queues::visit(place, 0);
        with_running(|guest| guest.is_over = true);
        queues::wake_all(place, 0);
        signals::visit(0);
        with_running(|guest| guest.is_known = false);
    }
}

/// Where those wait who join a thread, if something may keep them from it.
fn end_of(thread: ThreadId) -> Place {
    Place {
        address: with(thread, |guest| guest.pointer),
        kind: "end of thread",
    }
}

/// Waits for the end of a thread; whether it has come.
fn wait_for_end(target: ThreadId, code: usize) -> bool {
    let place = end_of(target);
    queues::visit(place, code);
    while !with(target, |guest| guest.is_over) {
        let bed = queues::bed(place.kind);
        queues::stay(place, bed);
        let interrupt = queues::sleep(bed, code);
        queues::visit(place, code);
        queues::go(place, bed);
        if !with(target, |guest| guest.is_over) && !interrupts::act(interrupt, code) {
            return false;
        }
    }
    true
}

/// Leaves the running thread's function. Frames between are dropped as they are.
pub(crate) fn leave(result: usize) -> ! {
    let frame = with_running(|guest| guest.frame);
    // SAFETY: the frame is that of the guest which runs, or on whose behalf the host does; callers have
    // nothing to drop.
    unsafe { mode::leave(frame, result) }
}

/// The running thread ends here, and so does whoever waits for it.
pub(crate) fn end_everything() -> ! {
    with_running(|guest| guest.end = End::Everything);
    leave(0)
}

/// Whether a thread has ended.
pub(crate) fn has_ended(target: ThreadId, code: usize) -> bool {
    let ask = |_: &mut _| Operation::IsFinished { target };
    running().observe(code, trampoline::top(), ask).to_answer()
}

/// Waits for the end of a thread that its scope must not outlive, unless that was done.
pub(crate) fn wait_for(target: ThreadId, code: usize) {
    if with(target, |guest| {
        std::mem::replace(&mut guest.is_joined, true)
    }) {
        return;
    }
    running().perform(code, |_| Operation::Join { target });
    running().wait_as_long_as(target);
    if with(target, |guest| guest.end) == End::Everything {
        end_everything();
    }
}

/// Waits for a thread to end; its result.
pub(crate) fn join(target: ThreadId, code: usize) -> Result<usize, c_int> {
    let native = running();
    if target == native.thread() {
        return Err(libc::EDEADLK);
    }
    if !with(target, |guest| guest.may_be_joined()) {
        return Err(libc::EINVAL);
    }
    if interrupts::are_possible() && !wait_for_end(target, code) {
        return Ok(0);
    }
    if !with(target, |guest| guest.may_be_joined()) {
        return Err(libc::EINVAL);
    }
    with(target, |guest| guest.is_joined = true);
    native.perform(code, |_| Operation::Join { target });
    native.wait_as_long_as(target);
    match with(target, |guest| guest.end) {
        End::Returned(result) => {
            // A panic of Rust's is the joiner's business then; a crash is nobody's.
            native.join_panic(target);
            Ok(result)
        }
        End::Everything | End::Not => end_everything(),
    }
}
