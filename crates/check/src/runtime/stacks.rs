//! Stacks, which are reused.
//!
//! Native programs keep addresses of their stacks in atomics. So there a thread has the same stack
//! in every execution. It is identified by the thread's place in the tree of creations, which does
//! not depend on the schedule.
//!
//! Stacks outlive their check, because most of the time of a small check would be spent on mapping
//! one: the process keeps a few for checks that follow.

use std::collections::BTreeMap;
use std::io;
use std::ptr::NonNull;
use std::sync::Mutex;

use corosensei::stack::{DefaultStack, Stack};
use raddle_engine::ThreadId;

use super::Context;

/// Maximum number of stacks kept for threads of later executions.
const MOST_KEPT: usize = 4096;
/// Maximum number of stacks kept for later checks; small checks have few threads, and in others the
/// mapping of stacks does not matter.
const MOST_LEFT: usize = 16;

/// Stacks of earlier checks. They are as new ones: their memory was returned to the system.
static LEFT: Mutex<Left> = Mutex::new(Left {
    size: 0,
    stacks: Vec::new(),
});

struct Left {
    /// The size for which they were made.
    size: usize,
    stacks: Vec<OwnedStack>,
}

/// A stack that a coroutine may borrow while its owner is moved: one pointer, which is cheap to move.
pub(super) struct OwnedStack(NonNull<DefaultStack>);

// SAFETY: the stack is owned, and its memory belongs to no OS thread.
unsafe impl Send for OwnedStack {}

impl OwnedStack {
    pub(super) fn new(size: usize) -> io::Result<Self> {
        let stack = Box::new(DefaultStack::new(size)?);
        Ok(OwnedStack(NonNull::from(Box::leak(stack))))
    }

    /// Borrows the stack for a coroutine of corosensei's.
    ///
    /// # Safety
    ///
    /// The borrow must end before the owner is dropped or borrowed again.
    #[cfg(any(not(target_arch = "x86_64"), windows, test))]
    #[inline(always)]
    pub(super) unsafe fn borrow(&self) -> &'static mut DefaultStack {
        // SAFETY: the pointer is to a live value, to which the caller guarantees the only borrow.
        unsafe { &mut *self.0.as_ptr() }
    }

    /// Returns the address of the end towards which it grows, where its guard page is. Not called while it is
    /// borrowed.
    #[inline(always)]
    pub(super) fn limit(&self) -> usize {
        // SAFETY: the pointer is to a live value, which is only read.
        unsafe { self.0.as_ref() }.limit().get()
    }

    /// Returns the address at which it begins. Not called while it is borrowed.
    #[inline(always)]
    pub(super) fn base(&self) -> usize {
        // SAFETY: as in `limit`.
        unsafe { self.0.as_ref() }.base().get()
    }
}

impl Drop for OwnedStack {
    fn drop(&mut self) {
        // SAFETY: the pointer is from a leaked box, and no coroutine borrows the stack any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[derive(Default)]
pub(super) struct Stacks {
    free: Vec<OwnedStack>,
    /// The size for which they were made.
    size: usize,
    /// Stacks of native programs, by the path of the thread.
    kept: BTreeMap<u64, OwnedStack>,
}

impl Drop for Stacks {
    fn drop(&mut self) {
        if self.free.is_empty() {
            return;
        }
        // In a forked process, a thread of the parent may hold the lock forever.
        let Ok(mut left) = LEFT.try_lock() else {
            return;
        };
        if left.size != self.size {
            left.stacks.clear();
            left.size = self.size;
        }
        while left.stacks.len() < MOST_LEFT
            && let Some(stack) = self.free.pop()
        {
            if empty(&stack) {
                left.stacks.push(stack);
            }
        }
    }
}

/// Makes a stack that is not in use as a new one; returns false if that is not possible.
#[cfg(target_os = "linux")]
fn empty(stack: &OwnedStack) -> bool {
    let (base, limit) = (stack.base(), stack.limit());
    // SAFETY: the memory belongs to the stack, and no coroutine uses it.
    unsafe {
        libc::madvise(
            limit as *mut libc::c_void,
            base - limit,
            libc::MADV_DONTNEED,
        ) == 0
    }
}

/// Other systems may keep the contents.
#[cfg(not(target_os = "linux"))]
fn empty(_stack: &OwnedStack) -> bool {
    false
}

impl Context {
    /// Returns a stack with nothing on it.
    #[cold]
    pub(super) fn new_stack(&self) -> io::Result<OwnedStack> {
        self.stacks.borrow_mut().size = self.stack_size;
        let mut left = LEFT.try_lock().ok();
        if let Some(left) = left.as_mut().filter(|left| left.size == self.stack_size)
            && !self.fixes_stacks
            && let Some(stack) = left.stacks.pop()
        {
            return Ok(stack);
        }
        drop(left);
        OwnedStack::new(self.stack_size)
    }

    /// Returns a stack that was used before.
    #[inline(always)]
    pub(super) fn take_stack(&self, thread: ThreadId) -> Option<OwnedStack> {
        match self.fixes_stacks {
            true => self.take_own_stack(thread),
            false => self.stacks.borrow_mut().free.pop(),
        }
    }

    /// Takes back the stack of a thread that has ended.
    #[inline(always)]
    pub(super) fn give_stack_back(&self, thread: ThreadId, stack: OwnedStack) {
        match self.fixes_stacks {
            true => self.keep_own_stack(thread, stack),
            false => self.stacks.borrow_mut().free.push(stack),
        }
    }

    /// Frees all stacks that no thread uses: new ones are empty.
    #[cold]
    pub(super) fn forget_stacks(&self) {
        self.stacks.borrow_mut().free.clear();
    }

    #[inline(never)]
    fn take_own_stack(&self, thread: ThreadId) -> Option<OwnedStack> {
        let kept = &mut self.stacks.borrow_mut().kept;
        let own = kept.remove(&self.owner(thread));
        own.or_else(|| match kept.len() < MOST_KEPT {
            true => None,
            false => kept.pop_first().map(|(_, stack)| stack),
        })
    }

    #[inline(never)]
    fn keep_own_stack(&self, thread: ThreadId, stack: OwnedStack) {
        let owner = self.owner(thread);
        drop(self.stacks.borrow_mut().kept.insert(owner, stack));
    }

    fn owner(&self, thread: ThreadId) -> u64 {
        self.with_world(|world| world.state().fingerprint(thread))
    }
}
