//! Accesses of a thread's own stack that are not in the shadow yet.
//!
//! Most accesses of a program are of variables on the running thread's own stack, and no other thread ever looks at
//! most of these. So they are only listed, in order: address, size, site and event index. When another thread first
//! accesses the stack, or anything there is accessed atomically, the list is recorded in the [shadow](super::shadow)
//! as if each access had been when it was made, and later accesses are recorded at once. Nothing is lost by the
//! delay: an access races only with one by another thread.
//!
//! A list that is full is recorded too. The thread's other accesses up to its next event are recorded at once then,
//! because repeated ones cost little there.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Maximum number of accesses in a list.
const LONGEST: usize = 1024;
/// Flag of `kind`.
pub(crate) const WRITES: u32 = 1 << 31;

/// An access of the thread's own stack.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct OwnAccess {
    pub(crate) address: usize,
    pub(crate) site: usize,
    /// Number of the thread's events before it.
    pub(crate) index: u32,
    /// Size in bytes, and [`WRITES`] for a write.
    pub(crate) kind: u32,
}

impl OwnAccess {
    /// Returns the number of bytes.
    pub(crate) fn size(self) -> usize {
        (self.kind & !WRITES) as usize
    }

    pub(crate) fn writes(self) -> bool {
        self.kind & WRITES != 0
    }
}

/// The accesses of one thread. The assembly of `entry/plain.rs` adds to them while `next` is not `end`.
#[repr(C)]
pub(crate) struct OwnAccesses {
    pub(crate) next: AtomicPtr<OwnAccess>,
    pub(crate) end: AtomicPtr<OwnAccess>,
    all: Vec<OwnAccess>,
    /// Number of the thread's events when the list was full.
    full_at: Option<u32>,
}

/// A list to which nothing is added.
pub(crate) static NO_LIST: OwnAccesses = OwnAccesses {
    next: AtomicPtr::new(null_mut()),
    end: AtomicPtr::new(null_mut()),
    all: Vec::new(),
    full_at: None,
};

impl OwnAccesses {
    fn new() -> Box<Self> {
        Box::new(OwnAccesses {
            next: AtomicPtr::new(null_mut()),
            end: AtomicPtr::new(null_mut()),
            all: vec![OwnAccess::default(); LONGEST],
            full_at: None,
        })
    }

    /// Empties the list, and opens it.
    fn open(&mut self) {
        let all = self.all.as_mut_ptr_range();
        *self.next.get_mut() = all.start;
        *self.end.get_mut() = all.end;
        self.full_at = None;
    }

    /// True if nothing can be added until the list is opened.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.end.load(Relaxed).is_null()
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.next.load(Relaxed) == self.end.load(Relaxed)
    }

    /// Adds an access, unless the list is full or closed.
    #[inline]
    pub(crate) fn add(&self, access: OwnAccess) {
        if !self.is_full() {
            let next = self.next.load(Relaxed);
            // SAFETY: `next` is not `end`, so it is inside of `all`. Only the OS thread that runs the check uses the
            // list, and holds no reference to the accesses.
            unsafe { next.write(access) };
            self.next.store(next.wrapping_add(1), Relaxed);
        }
    }

    /// Empties the list and closes it; returns what was in it.
    fn close(&mut self) -> &[OwnAccess] {
        *self.end.get_mut() = null_mut();
        let next = std::mem::replace(self.next.get_mut(), null_mut());
        let size = (next as usize).saturating_sub(self.all.as_ptr() as usize);
        &self.all[..size / size_of::<OwnAccess>()]
    }
}

/// The lists of the execution's threads.
#[derive(Default)]
pub(crate) struct OwnLists {
    /// By thread; none for threads that have none or have ended.
    of: Vec<Option<Box<OwnAccesses>>>,
    #[expect(
        clippy::vec_box,
        reason = "pointers to a list stay valid after its thread's end"
    )]
    free: Vec<Box<OwnAccesses>>,
}

impl OwnLists {
    /// Ends all lists.
    pub(crate) fn clear(&mut self) {
        self.free.extend(self.of.drain(..).flatten());
    }

    /// Opens a list for a thread.
    pub(crate) fn begin(&mut self, thread: usize) {
        if self.of.len() <= thread {
            self.of.resize_with(thread + 1, || None);
        }
        let mut list = self.free.pop().unwrap_or_else(OwnAccesses::new);
        list.open();
        self.of[thread] = Some(list);
    }

    /// Ends the list of a thread, whose stack no thread may use any more.
    pub(crate) fn end(&mut self, thread: usize) {
        self.free
            .extend(self.of.get_mut(thread).and_then(Option::take));
    }

    /// Returns the list to which a thread with this number of events adds its accesses.
    #[inline]
    pub(crate) fn at(&mut self, thread: usize, index: u32) -> *const OwnAccesses {
        let Some(Some(list)) = self.of.get_mut(thread) else {
            return &raw const NO_LIST;
        };
        if list.full_at.is_some_and(|then| then != index) {
            list.open();
        }
        &raw const **list
    }

    /// Calls the function with each access in a thread's list, in order, and empties the list. It stays closed, until
    /// the thread has more events than now if `index` is their number.
    pub(crate) fn drain(
        &mut self,
        thread: usize,
        index: Option<u32>,
        mut see: impl FnMut(OwnAccess),
    ) {
        if let Some(Some(list)) = self.of.get_mut(thread) {
            list.close().iter().copied().for_each(&mut see);
            list.full_at = index;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: usize, index: u32) -> OwnAccess {
        OwnAccess {
            address,
            site: 7,
            index,
            kind: 4 | WRITES,
        }
    }

    fn add(lists: &mut OwnLists, address: usize, index: u32) -> bool {
        // SAFETY: the list is one of `lists`, or static, and nothing else refers to it.
        let list = unsafe { &*lists.at(0, index) };
        list.add(access(address, index));
        !list.is_full()
    }

    fn drain(lists: &mut OwnLists, index: Option<u32>) -> Vec<(usize, u32)> {
        let mut seen = Vec::new();
        lists.drain(0, index, |it| {
            assert!(it.writes() && it.size() == 4);
            seen.push((it.address, it.index));
        });
        seen
    }

    #[test]
    fn a_full_list_is_used_again_after_the_next_event() {
        let mut lists = OwnLists::default();
        lists.begin(0);
        let mut expected = Vec::new();
        for address in 0..LONGEST {
            expected.push((address, 3));
            assert_eq!(add(&mut lists, address, 3), address + 1 < LONGEST);
        }
        assert!(!add(&mut lists, LONGEST, 3), "it is full");
        assert_eq!(drain(&mut lists, Some(3)), expected);
        assert!(!add(&mut lists, 1, 3), "it is closed");
        assert!(add(&mut lists, 2, 4));
        assert_eq!(drain(&mut lists, None), [(2, 4)]);
        assert!(!add(&mut lists, 3, 5), "the stack is shared");
        assert!(drain(&mut lists, None).is_empty());
    }

    #[test]
    fn a_list_of_another_thread_or_execution_is_empty() {
        let mut lists = OwnLists::default();
        assert!(!add(&mut lists, 1, 0), "the thread has no list");
        lists.begin(0);
        assert!(add(&mut lists, 1, 0));
        lists.end(0);
        assert!(drain(&mut lists, None).is_empty());
        lists.begin(0);
        assert!(drain(&mut lists, Some(0)).is_empty());
        lists.clear();
        lists.begin(0);
        assert!(add(&mut lists, 2, 1));
        assert_eq!(drain(&mut lists, None), [(2, 1)]);
    }
}
