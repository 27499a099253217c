//! The threads of the program: the state of each, and the execution of their code.

use raddle_engine::ThreadId;

use crate::abi::alternate_stack;
use crate::abi::stack::{self, Frame};
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::{mode, phase, process_id, substrate};

/// End of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadEnd {
    /// The thread runs.
    Not,
    /// Its function returned, or it ended itself.
    Returned(usize),
    /// The thread failed, or ended the program. Threads that wait for it end as well.
    Everything,
}

/// A thread of the program.
pub(crate) struct Guest {
    /// Thread pointer, which is the thread's name for the program.
    pub(crate) pointer: usize,
    pub(super) frame: Frame,
    /// The last function of the program's that raddle has called in the thread.
    function: usize,
    pub(crate) end: ThreadEnd,
    pub(crate) is_detached: bool,
    /// True if the thread is joined, or was.
    pub(super) is_joined: bool,
    /// True if other threads may send it signals.
    pub(crate) is_known: bool,
    /// Set when its end was announced to joining threads.
    pub(super) is_over: bool,
    /// Values by key.
    pub(crate) values: Vec<usize>,
    /// Name, if the program has set one.
    pub(crate) name: Vec<u8>,
    /// Alternate signal stack, as the program has set it.
    pub(crate) signal_stack: Option<libc::stack_t>,
}

impl Guest {
    /// True if the thread may still be joined.
    pub(crate) fn may_be_joined(&self) -> bool {
        !self.is_detached && !self.is_joined
    }
}

/// All threads of the execution, by number.
pub(crate) struct Guests(
    #[expect(
        clippy::vec_box,
        reason = "a frame must not move while the table grows"
    )]
    pub(super) Vec<Box<Guest>>,
);

impl Default for Guests {
    /// Returns the threads at the beginning: the first one.
    fn default() -> Self {
        let mut first = guest(match phase::is_test() {
            true => substrate::create(0),
            false => mode::host_pointer(),
        });
        first.is_known = true;
        Guests(vec![first])
    }
}

impl Part for Guests {}

pub(crate) static GUESTS: PartCell<Guests> = PartCell::new();

pub(super) fn guest(pointer: usize) -> Box<Guest> {
    Box::new(Guest {
        pointer,
        frame: Frame::default(),
        function: 0,
        end: ThreadEnd::Not,
        is_detached: false,
        is_joined: false,
        is_known: false,
        is_over: false,
        values: Vec::new(),
        name: Vec::new(),
        signal_stack: None,
    })
}

/// Reads or changes the state of the running thread.
pub(crate) fn with_running<R>(use_it: impl FnOnce(&mut Guest) -> R) -> R {
    let thread = running().thread();
    use_it(&mut GUESTS.get().0[thread.index()])
}

/// Returns the thread with this name for the program.
pub(crate) fn find(pointer: usize) -> Option<ThreadId> {
    let guests = GUESTS.get();
    let index = guests.0.iter().position(|guest| guest.pointer == pointer)?;
    Some(ThreadId::new(index))
}

/// Returns the last function of the program's that raddle has called in each thread; also while a
/// guest hangs inside raddle's code.
pub(crate) fn functions() -> Option<Vec<usize>> {
    let guests = GUESTS.try_get()?;
    Some(guests.0.iter().map(|guest| guest.function).collect())
}

/// Returns the number of threads created so far.
pub(crate) fn count() -> usize {
    GUESTS.get().0.len()
}

/// Returns the number of threads that have not ended.
pub(crate) fn alive() -> usize {
    let guests = GUESTS.get();
    guests
        .0
        .iter()
        .filter(|guest| guest.end == ThreadEnd::Not)
        .count()
}

/// First thread number; larger than any number of the kernel's.
const FIRST_NUMBER: libc::pid_t = 1 << 30;

/// Returns the number of a thread, as the kernel would assign it; that of the first is the
/// process's.
pub(crate) fn number(thread: ThreadId) -> libc::pid_t {
    match thread {
        ThreadId::MAIN => process_id::get(),
        other => FIRST_NUMBER + other.index() as libc::pid_t,
    }
}

/// Returns the thread with this number.
pub(crate) fn by_number(number: libc::pid_t) -> Option<ThreadId> {
    if number == process_id::get() {
        return Some(ThreadId::MAIN);
    }
    let index = usize::try_from(number.checked_sub(FIRST_NUMBER)?).ok()?;
    (index < count()).then(|| ThreadId::new(index))
}

/// Removes the values of all threads under a key.
pub(crate) fn forget_key(key: usize) {
    for guest in GUESTS.get().0.iter_mut() {
        if let Some(value) = guest.values.get_mut(key) {
            *value = 0;
        }
    }
}

/// Reads or changes the state of a thread.
pub(crate) fn with<R>(thread: ThreadId, use_it: impl FnOnce(&mut Guest) -> R) -> R {
    use_it(&mut GUESTS.get().0[thread.index()])
}

/// In host mode: runs code of the program in the running thread.
pub(crate) fn run_guest(function: usize, argument: usize) -> usize {
    run((function, argument), own_alternate_stack())
}

/// Returns the start of the running thread's alternate stack.
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
    // SAFETY: `run` needs a function for guests with its argument, which the caller has from the
    // program or from raddle. It needs a block of thread-local storage, which the guest owns. The
    // frame must be writable: it is in a box that lives as long as the execution and that only this
    // thread uses.
    unsafe { mode::run((function, argument), (pointer, alternate), frame) }
}

/// In guest mode: returns the end of the running thread's part of its stack. Above it are raddle's
/// frames.
pub(crate) fn bottom() -> usize {
    substrate::bottom().unwrap_or_else(|| with_running(|guest| guest.frame.stack()))
}

/// Leaves the running thread's function. The frames in between are discarded without destructors.
pub(crate) fn leave(result: usize) -> ! {
    let frame = with_running(|guest| guest.frame);
    // SAFETY: the frame is that of the guest which runs, or on whose behalf the host does. Callers have
    // nothing to drop.
    unsafe { mode::leave(frame, result) }
}

/// Ends the running thread here, and the threads that wait for it.
pub(crate) fn end_everything() -> ! {
    with_running(|guest| guest.end = ThreadEnd::Everything);
    leave(0)
}
