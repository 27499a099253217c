//! The local states of threads at their last reads, by which [spin loops](super) are found.

use raddle_engine::{LocalStates, Operation, SiteId, ThreadId};

use super::times::{Rounds, Times};

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
    /// Number of the thread's readings of the clock.
    readings: u32,
    /// True when the last reading was not long before.
    is_timed: bool,
    local: Vec<u8>,
}

/// An earlier visit of a thread in the same state.
pub(super) struct Visit {
    /// Number of the thread's events then.
    pub(super) since: u32,
    /// Events of a round that the last one must repeat, if the thread reads the clock.
    pub(super) calm: Option<(u32, u32)>,
}

/// Numbers of a thread's events: all, those before a round may begin, and those before its last change.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub(super) events: u32,
    pub(super) since: u32,
    pub(super) quiet_since: u32,
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
    /// The thread's readings of the clock.
    pub(super) times: Times,
    /// The local state, while it is compared.
    compared: Vec<u8>,
}

/// A copy of the value that a lock protects, with its address.
struct LockedValue {
    start: *const u8,
    copy: Vec<u8>,
}

impl Looks {
    /// Begins an execution.
    #[inline]
    pub(super) fn restart(&mut self) {
        self.clear();
        self.times.clear();
    }

    /// Forgets all reads.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.oldest = 0;
        self.states = 0;
        self.history.clear();
        self.locked = None;
        self.changed_at = 0;
        self.times.forget_rounds();
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

    /// Returns the thread's last visit in the same state, if it has changed nothing but locations
    /// since.
    #[inline]
    pub(super) fn repeats(
        &mut self,
        counts: Counts,
        site: SiteId,
        operation: &Operation,
        local: Local,
    ) -> Option<Visit> {
        let Counts { events, since, .. } = counts;
        if self.newest().is_some_and(|newest| newest < since) {
            self.clear();
        }
        if local.length() > MAX_BYTES {
            return None;
        }
        let is_here =
            |look: &Look| look.site == site && look.event >= since && look.operation == *operation;
        let readings = self.times.count();
        let mut looks = self.looks[..self.count].iter_mut();
        let is_same =
            |look: &&mut Look| look.readings == readings && is_here(look) && local.is(&look.local);
        if let Some(look) = looks.find(is_same) {
            let (state, since) = (look.state, std::mem::replace(&mut look.event, events));
            self.record(events, state);
            return Some(Visit { since, calm: None });
        }
        if readings > 0 {
            let is_timed = |&index: &usize| {
                let look = &self.looks[index];
                look.readings != readings && look.is_timed && is_here(look)
            };
            let mut earlier: Vec<_> = (0..self.count).filter(is_timed).collect();
            // A round may be twice the loop, but the shortest one is compared.
            earlier.sort_by_key(|&index| std::cmp::Reverse(self.looks[index].event));
            for index in earlier {
                if let Some(visit) = self.repeats_later(index, counts, local) {
                    return visit;
                }
            }
        }
        self.remember(events, site, operation, local);
        None
    }

    /// As [`Looks::repeats`], for a look since which the thread has read the clock; `None` if the state differs in
    /// more than the time.
    #[inline(never)]
    fn repeats_later(
        &mut self,
        index: usize,
        counts: Counts,
        local: Local,
    ) -> Option<Option<Visit>> {
        let look = &self.looks[index];
        let since = look.event;
        local.copy_to(&mut self.compared);
        let states = (&look.local[..], &self.compared[..]);
        let rounds = (since, counts.events);
        let found = (self.times).compare(states, look.readings, rounds, counts.quiet_since);
        let visit = match found {
            Rounds::Differ => return None,
            Rounds::Alike => None,
            Rounds::Repeat { calm } => Some(Visit {
                since,
                calm: Some(calm),
            }),
        };
        let state = self.next_state();
        let look = &mut self.looks[index];
        (look.event, look.state) = (counts.events, state);
        look.readings = self.times.count();
        std::mem::swap(&mut look.local, &mut self.compared);
        self.record(counts.events, state);
        Some(visit)
    }

    fn next_state(&mut self) -> u32 {
        let state = self.states;
        self.states = state.wrapping_add(1);
        state
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
        let state = self.next_state();
        let (readings, is_timed) = (self.times.count(), self.times.is_recent(event));
        self.record(event, state);
        if place == self.looks.len() {
            self.looks.push(Look {
                site,
                operation: *operation,
                event,
                state,
                readings,
                is_timed,
                local: Vec::new(),
            });
        }
        let look = &mut self.looks[place];
        look.state = state;
        (look.readings, look.is_timed) = (readings, is_timed);
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
