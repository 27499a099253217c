//! Stacks of threads other than the first: their variables are dead when the thread has ended.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use raddle_engine::ThreadId;

use super::blocks::Bad;
use super::heap_range;
use crate::abi::stack::STACK;
use crate::execution::part::{Part, PartCell};
use crate::execution::running;

/// A stack that the execution has used.
struct UsedStack {
    end: usize,
    owner: ThreadId,
    has_ended: bool,
}

/// The stacks of the execution.
#[derive(Default)]
pub(crate) struct Stacks {
    all: Vec<UsedStack>,
    /// True if a thread has accessed the stack of another.
    are_shared: bool,
}

impl Part for Stacks {
    fn renew(&mut self) {
        let Stacks { all, are_shared } = self;
        all.clear();
        *are_shared = false;
    }
}

pub(crate) static STACKS: PartCell<Stacks> = PartCell::new();

/// Bounds of all stacks so far.
static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGHEST: AtomicUsize = AtomicUsize::new(0);

/// Returns the addresses of a stack that ends at `end`.
fn extent(end: usize) -> Range<usize> {
    end - STACK..end
}

impl Stacks {
    fn at(&mut self, address: usize) -> Option<&mut UsedStack> {
        let is_there = |stack: &&mut UsedStack| extent(stack.end).contains(&address);
        self.all.iter_mut().find(is_there)
    }
}

/// Records that the running thread begins on the stack that ends at `end`. Returns true if another
/// thread had that stack before.
pub(crate) fn begin(end: usize) -> bool {
    let Range { start, end } = extent(end);
    LOWEST.fetch_min(start, Relaxed);
    HIGHEST.fetch_max(end, Relaxed);
    let mut stacks = STACKS.get();
    let before = stacks.all.len();
    stacks.all.retain(|stack| stack.end != end);
    let is_used = stacks.all.len() < before;
    stacks.all.push(UsedStack {
        end,
        owner: running().thread(),
        has_ended: false,
    });
    is_used
}

/// Records that the running thread ends, whose stack ends at `end`. Returns the addresses of the
/// stack if another thread has accessed it.
pub(crate) fn end(end: usize) -> Option<Range<usize>> {
    let mut stacks = STACKS.get();
    let are_shared = stacks.are_shared;
    if let Some(stack) = stacks.all.iter_mut().find(|stack| stack.end == end) {
        stack.has_ended = true;
    }
    are_shared.then(|| extent(end))
}

/// True if the address is on the stack that ends at `end`.
#[inline]
pub(crate) fn is_in(address: usize, end: usize) -> bool {
    extent(end).contains(&address)
}

/// True if the address may be on a stack.
#[inline]
pub(crate) fn may_contain(address: usize) -> bool {
    !heap_range::contains(address)
        && (LOWEST.load(Relaxed)..HIGHEST.load(Relaxed)).contains(&address)
}

/// Checks an access by the running thread, whose stack ends at `own`. Returns the error, if it is
/// one.
#[cold]
pub(crate) fn check(address: usize, own: usize) -> Option<Bad> {
    if extent(own).contains(&address) {
        return None;
    }
    let mut stacks = STACKS.try_get()?;
    let has_ended = stacks.at(address)?.has_ended;
    stacks.are_shared = true;
    has_ended.then_some(Bad::Ended)
}

/// Returns the owner of an address on a stack, and the end of the stack.
pub(crate) fn owner(address: usize) -> Option<(ThreadId, usize)> {
    let mut stacks = STACKS.try_get()?;
    stacks.at(address).map(|stack| (stack.owner, stack.end))
}
