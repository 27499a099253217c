//! The local states of threads at their last reads, by which [spin loops](super) are found.

use raddle_engine::{LocalStates, Operation, SiteId, ThreadId};

/// Maximum reads of a thread that are remembered; a loop with more in one round is not found.
const MAX_LOOKS: usize = 32;
/// Maximum local states of a thread whose numbers are kept: more than fit in the part of an
/// execution that is searched for rounds that overlap.
const MAX_HISTORY: usize = 4_096;
/// Maximum bytes on the stack of a thread that is compared.
pub(super) const MAX_BYTES: usize = 64 * 1024;

/// The local state of a thread when it was about to read a shared value.
struct Look {
    site: SiteId,
    operation: Operation,
    /// Number of events of the thread.
    event: u32,
    /// Number of the local state.
    state: u32,
    local: Vec<u8>,
}

/// The last reads of one thread.
#[derive(Default)]
pub(in crate::runtime) struct Looks {
    /// Kept for their memory; the first `count` of them are valid.
    looks: Vec<Look>,
    count: usize,
    /// Index of the entry that is replaced next, once the list is full.
    oldest: usize,
    /// Number of local states so far.
    states: u32,
    /// Indices of events since the last one that cannot be undone, in order, with the numbers of
    /// the local states before them.
    history: Vec<(u32, u32)>,
    /// Value that a lock protects, when the thread took the lock again after a time-out.
    locked: Option<LockedValue>,
    /// Number of events at the thread's last wait under a lock whose value it may have changed.
    pub(super) changed_at: u32,
}

/// A copy of the value that a lock protects, with its address.
struct LockedValue {
    start: *const u8,
    copy: Vec<u8>,
}

impl Looks {
    /// Forgets all reads.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.oldest = 0;
        self.states = 0;
        self.history.clear();
        self.locked = None;
        self.changed_at = 0;
    }

    /// Compares the value that a lock protects when the thread begins to wait with that when it took
    /// the lock.
    pub(super) fn compare_locked(&mut self, events: u32, value: Option<Bytes>) {
        let is_same = |(locked, value): (LockedValue, Bytes)| {
            // SAFETY: the caller of `Local::new` guarantees it.
            locked.start == value.start && unsafe { value.is(&locked.copy) }
        };
        if !self.locked.take().zip(value).is_some_and(is_same) {
            self.changed_at = events;
        }
    }

    /// Keeps a copy of the value that a lock protects.
    ///
    /// # Safety
    ///
    /// The value must be readable and not written meanwhile.
    pub(super) unsafe fn keep_locked(&mut self, value: Bytes) {
        let mut copy = Vec::with_capacity(value.length);
        // SAFETY: the caller guarantees it.
        unsafe { value.add_to(&mut copy) };
        self.locked = Some(LockedValue {
            start: value.start,
            copy,
        });
    }

    /// Records the number of the local state before the next event.
    #[inline]
    fn record(&mut self, event: u32, state: u32) {
        if self.history.len() == MAX_HISTORY {
            self.history.drain(..MAX_HISTORY / 2);
        }
        self.history.push((event, state));
    }

    /// Returns the number of events at the thread's last visit in the same state, if it has changed
    /// nothing but locations since.
    #[inline]
    pub(super) fn repeats(
        &mut self,
        (events, since): (u32, u32),
        site: SiteId,
        operation: &Operation,
        local: Local,
    ) -> Option<u32> {
        if self.newest().is_some_and(|newest| newest < since) {
            self.clear();
        }
        if local.length() > MAX_BYTES {
            return None;
        }
        for look in &mut self.looks[..self.count] {
            if look.site == site
                && look.event >= since
                && look.operation == *operation
                && local.is(&look.local)
            {
                let (state, since) = (look.state, std::mem::replace(&mut look.event, events));
                self.record(events, state);
                return Some(since);
            }
        }
        self.remember(events, site, operation, local);
        None
    }

    #[inline]
    fn newest(&self) -> Option<u32> {
        self.history.last().map(|&(event, _)| event)
    }

    /// Returns the number of the local state before an event.
    fn state_before(&self, event: u32) -> Option<u32> {
        let place = self
            .history
            .binary_search_by_key(&event, |&(event, _)| event);
        place.ok().map(|place| self.history[place].1)
    }

    #[inline]
    fn remember(&mut self, event: u32, site: SiteId, operation: &Operation, local: Local) {
        let place = match self.count {
            MAX_LOOKS => {
                self.oldest = (self.oldest + 1) % MAX_LOOKS;
                self.oldest
            }
            count => {
                self.count += 1;
                count
            }
        };
        let state = self.states;
        self.states = state.wrapping_add(1);
        self.record(event, state);
        if place == self.looks.len() {
            self.looks.push(Look {
                site,
                operation: *operation,
                event,
                state,
                local: Vec::new(),
            });
        }
        let look = &mut self.looks[place];
        look.state = state;
        look.site = site;
        look.operation = *operation;
        look.event = event;
        local.copy_to(&mut look.local);
    }
}

/// The last reads of all threads.
pub(super) struct AllLooks<'a> {
    pub(super) looks: &'a [Looks],
    pub(super) sees_plain_writes: bool,
}

impl LocalStates for AllLooks<'_> {
    fn before(&self, thread: ThreadId, event: u32) -> Option<u32> {
        self.looks.get(thread.index())?.state_before(event)
    }

    fn sees_plain_writes(&self) -> bool {
        self.sees_plain_writes
    }
}

/// A range of memory.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) start: *const u8,
    pub(super) length: usize,
}

/// Callee-saved registers.
pub type Registers = [usize; 6];

impl Bytes {
    pub(super) fn of<T>(data: &T) -> Self {
        Bytes {
            start: std::ptr::from_ref(data).cast(),
            length: size_of::<T>(),
        }
    }

    /// # Safety
    ///
    /// The memory must be readable and not written meanwhile.
    unsafe fn is(&self, copy: &[u8]) -> bool {
        // SAFETY: `memcmp` needs readable memory, which both are. The bytes may be uninitialised,
        // which is why C compares them.
        let order =
            || unsafe { libc::memcmp(copy.as_ptr().cast(), self.start.cast(), self.length) };
        copy.len() == self.length && order() == 0
    }

    /// # Safety
    ///
    /// The memory must be readable and not written meanwhile.
    unsafe fn add_to(&self, copy: &mut Vec<u8>) {
        copy.reserve(self.length);
        // SAFETY: the range can be read, the vector has room for it, and the two do not overlap.
        unsafe {
            let end = copy.as_mut_ptr().add(copy.len());
            std::ptr::copy_nonoverlapping(self.start, end, self.length);
            copy.set_len(copy.len() + self.length);
        }
    }
}

/// The local state of a thread that is about to read a shared value: the used part of its stack,
/// and possibly data that it owns.
#[derive(Clone, Copy)]
pub(super) struct Local {
    pub(super) stack: Bytes,
    beside: Option<Bytes>,
}

impl Local {
    /// Returns the stack from `top`, as [`apart`] passed it, to `end`.
    ///
    /// # Safety
    ///
    /// Both must be on the stack of the calling thread. The thread must not continue, and `beside`
    /// must not change, while this is used.
    pub(super) unsafe fn new(top: *const u8, end: *const u8, beside: Option<Bytes>) -> Self {
        let stack = Bytes {
            start: top,
            length: end as usize - top as usize,
        };
        Local { stack, beside }
    }

    fn length(&self) -> usize {
        self.stack.length + self.beside.map_or(0, |beside| beside.length)
    }

    fn is(&self, copy: &[u8]) -> bool {
        if copy.len() != self.length() {
            return false;
        }
        let (stack, beside) = copy.split_at(self.stack.length);
        // SAFETY: the caller of `new` guarantees it.
        unsafe { self.stack.is(stack) && self.beside.is_none_or(|data| data.is(beside)) }
    }

    fn copy_to(&self, copy: &mut Vec<u8>) {
        copy.clear();
        // SAFETY: the caller of `new` guarantees it.
        unsafe {
            self.stack.add_to(copy);
            if let Some(beside) = self.beside {
                beside.add_to(copy);
            }
        }
    }
}
