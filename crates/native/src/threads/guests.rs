//! The threads of the program: what is known of each, and letting them run.

use raddle_engine::ThreadId;

use crate::abi::alternate_stack;
use crate::abi::stack::{self, Frame};
use crate::execution::{running, shadow_stack};
use crate::host::solo::Solo;
use crate::host::{mode, phase, substrate};

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
    pub(super) frame: Frame,
    /// The last function of the program's that raddle has called in it.
    function: usize,
    pub(crate) end: End,
    pub(crate) is_detached: bool,
    /// Somebody waits or has waited for its end.
    pub(super) is_joined: bool,
    /// Others may send it signals.
    pub(crate) is_known: bool,
    /// Those who wait for its end know that it has come.
    pub(super) is_over: bool,
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
pub(super) static GUESTS: Solo<Vec<Box<Guest>>> = Solo::new(Vec::new());

pub(super) fn guest(pointer: usize) -> Box<Guest> {
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
    let mut guests = GUESTS.get();
    guests.clear();
    let mut first = guest(match phase::is_test() {
        true => substrate::create(0),
        false => mode::host_pointer(),
    });
    first.is_known = true;
    guests.push(first);
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

/// The last function of the program's that raddle has called in each thread, also while a guest hangs in the
/// middle of something.
pub(crate) fn functions() -> Option<Vec<usize>> {
    let guests = GUESTS.try_get()?;
    Some(guests.iter().map(|guest| guest.function).collect())
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

/// Larger than any number that the kernel gives.
const FIRST_NUMBER: libc::pid_t = 1 << 30;

/// The number of a thread, as the kernel would have it; the first has that of the process.
pub(crate) fn number(thread: ThreadId) -> libc::pid_t {
    match thread {
        // SAFETY: asks the kernel.
        ThreadId::MAIN => unsafe { libc::getpid() },
        other => FIRST_NUMBER + other.index() as libc::pid_t,
    }
}

/// The thread of that number.
pub(crate) fn by_number(number: libc::pid_t) -> Option<ThreadId> {
    // SAFETY: asks the kernel.
    if number == unsafe { libc::getpid() } {
        return Some(ThreadId::MAIN);
    }
    let index = usize::try_from(number.checked_sub(FIRST_NUMBER)?).ok()?;
    (index < count()).then(|| ThreadId::new(index))
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
    run((function, argument), own_alternate_stack())
}

/// Where the alternate stack of the running thread begins.
pub(super) fn own_alternate_stack() -> usize {
    alternate_stack::of(running().end_of_stack(), stack::STACK)
}

pub(super) fn run((function, argument): (usize, usize), alternate: usize) -> usize {
    let (pointer, frame) = with_running(|guest| {
        if shadow_stack::is_own(function) {
            guest.function = function;
        }
        (guest.pointer, &raw mut guest.frame)
    });
    // SAFETY: the program's function with its argument. The frame is in a box that is there as long as
    // the execution, and nobody else uses it.
    unsafe { mode::run((function, argument), (pointer, alternate), frame) }
}

/// In guest mode: where the running thread's part of its stack ends. What is above is raddle's.
pub(crate) fn bottom() -> usize {
    substrate::bottom().unwrap_or_else(|| with_running(|guest| guest.frame.stack()))
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
