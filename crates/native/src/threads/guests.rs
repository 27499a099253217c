//! The threads of the program: the state of each, and the execution of their code.

use raddle_engine::ThreadId;

use super::beginning;
use crate::abi::alternate_stack;
use crate::abi::stack::{self, Frame};
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::{mode, phase, process_id, substrate};

/// End of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ThreadEnd {
    /// The thread runs.
    #[default]
    Not,
    /// Its function returned, or it ended itself.
    Returned(usize),
    /// The thread failed, or ended the program. Threads that wait for it end as well.
    Everything,
}

/// A thread of the program.
#[derive(Default)]
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

/// State of a thread that later executions begin with.
pub(super) struct Kept {
    pub(super) pointer: usize,
    /// The end of its part of the stack.
    pub(super) end: usize,
    function: usize,
    values: Vec<usize>,
    name: Vec<u8>,
    signal_stack: Option<libc::stack_t>,
}

impl Guest {
    /// Makes it that of a thread that begins, with this thread pointer.
    fn begin(&mut self, pointer: usize) {
        let mut values = std::mem::take(&mut self.values);
        let mut name = std::mem::take(&mut self.name);
        values.clear();
        name.clear();
        *self = Guest {
            pointer,
            values,
            name,
            ..Guest::default()
        };
    }

    /// Returns the state of a thread that has performed no operation.
    pub(super) fn keep(&self) -> Kept {
        Kept {
            pointer: self.pointer,
            end: self.frame.stack(),
            function: self.function,
            values: self.values.clone(),
            name: self.name.clone(),
            signal_stack: self.signal_stack,
        }
    }

    /// Sets the state of a thread that begins.
    pub(super) fn restore(&mut self, kept: &Kept) {
        self.function = kept.function;
        self.values.clone_from(&kept.values);
        self.name.clone_from(&kept.name);
        self.signal_stack = kept.signal_stack;
    }

    /// True if the thread may still be joined.
    pub(crate) fn may_be_joined(&self) -> bool {
        !self.is_detached && !self.is_joined
    }
}

/// All threads of the execution, by number.
pub(crate) struct Guests {
    #[expect(
        clippy::vec_box,
        reason = "a frame must not move while the table grows"
    )]
    all: Vec<Box<Guest>>,
    /// Those of earlier executions, for their memory.
    #[expect(clippy::vec_box, reason = "they are used again")]
    unused: Vec<Box<Guest>>,
}

impl Default for Guests {
    fn default() -> Self {
        let mut guests = Guests {
            all: Vec::new(),
            unused: Vec::new(),
        };
        guests.renew();
        guests
    }
}

impl Part for Guests {
    /// Leaves the threads at the beginning: the first one.
    fn renew(&mut self) {
        self.unused.append(&mut self.all);
        let first = self.add(match phase::is_test() {
            true => beginning::first_block(),
            false => mode::host_pointer(),
        });
        first.is_known = true;
    }
}

impl Guests {
    /// Adds a thread that begins, with this thread pointer.
    fn add(&mut self, pointer: usize) -> &mut Guest {
        let unused = self.unused.pop();
        let mut new = unused.unwrap_or_else(|| Box::new(Guest::default()));
        new.begin(pointer);
        self.all.push(new);
        self.all.last_mut().expect("it was added")
    }
}

pub(crate) static GUESTS: PartCell<Guests> = PartCell::new();

/// Adds the thread that was created last, with this thread pointer.
pub(super) fn add(thread: ThreadId, pointer: usize, is_detached: bool) {
    let mut guests = GUESTS.get();
    debug_assert_eq!(guests.all.len(), thread.index());
    guests.add(pointer).is_detached = is_detached;
}

/// Reads or changes the state of the running thread.
pub(crate) fn with_running<R>(use_it: impl FnOnce(&mut Guest) -> R) -> R {
    let thread = running().thread();
    use_it(&mut GUESTS.get().all[thread.index()])
}

/// Returns the thread with this name for the program.
pub(crate) fn find(pointer: usize) -> Option<ThreadId> {
    let guests = GUESTS.get();
    let index = guests
        .all
        .iter()
        .position(|guest| guest.pointer == pointer)?;
    Some(ThreadId::new(index))
}

/// Returns the last function of the program's that raddle has called in each thread; also while a
/// guest hangs inside raddle's code.
pub(crate) fn functions() -> Option<Vec<usize>> {
    let guests = GUESTS.try_get()?;
    Some(guests.all.iter().map(|guest| guest.function).collect())
}

/// Returns the number of threads created so far.
pub(crate) fn count() -> usize {
    GUESTS.get().all.len()
}

/// Returns the number of threads that have not ended.
pub(crate) fn alive() -> usize {
    let guests = GUESTS.get();
    guests
        .all
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
    for guest in GUESTS.get().all.iter_mut() {
        if let Some(value) = guest.values.get_mut(key) {
            *value = 0;
        }
    }
}

/// Reads or changes the state of a thread.
pub(crate) fn with<R>(thread: ThreadId, use_it: impl FnOnce(&mut Guest) -> R) -> R {
    use_it(&mut GUESTS.get().all[thread.index()])
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
