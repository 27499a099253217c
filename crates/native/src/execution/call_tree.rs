//! The tree of calls: each call path of the program, once.
//!
//! A thread's call stack is a pointer to one [`Call`], whose parents are the calls around it. The same
//! function called from the same place on the same path is the same `Call`, in every thread and every
//! execution. So properties of a path are computed once: the kind of the called function, the region of
//! the standard library that a thread is in, the number of the [chain](super::shadow_stack) and the last
//! call by the user's code. To enter a function is a lookup in [`CACHE`], which assembly does.
//!
//! A program with more than [`MAX_CALLS`] paths has calls outside of the tree, which are made anew each
//! time and last until they are left.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::host::process_state::ProcessState;
use crate::names::regions;
use crate::names::rust_paths::FunctionKind;

/// Maximum number of calls in the tree: 16 MB. A recursion with two calls of itself has as many paths
/// at depth 18.
const MAX_CALLS: usize = 1 << 18;
/// Number of slots of the cache; a power of two.
pub(crate) const SLOTS: usize = 1 << 12;

/// A call path: its last call. The assembly of `entry/functions.rs` and `entry/plain.rs` reads it.
#[repr(C, align(64))]
pub(crate) struct Call {
    /// The call around this one; null for the outermost.
    pub(crate) parent: *const Call,
    /// Return address of the call.
    pub(crate) from: usize,
    /// An instruction of the entered function.
    pub(crate) into: usize,
    /// True if the entry has further effects than to change the thread's call.
    pub(crate) is_loud: bool,
    /// True if the call is in the tree.
    pub(crate) is_kept: bool,
    /// True if that is so, and the exit is from one region to the same, which changes nothing but the thread's call.
    pub(crate) is_quiet: Cell<bool>,
    /// True if it is in the tree, and the exit has no effects but on the state of its thread.
    pub(crate) is_usual: Cell<bool>,
    /// Kind of the entered function.
    pub(crate) kind: FunctionKind,
    /// Region of Rust's standard library inside of the call.
    pub(crate) region: FunctionKind,
    /// True if that is internal to it.
    pub(crate) is_inside: bool,
    /// Number of calls around it.
    pub(crate) depth: u32,
    /// The chain, once computed.
    pub(super) chain: Cell<Option<u16>>,
    /// Site of the last call by the user's code, once computed; 0 if there is none.
    pub(super) users: Cell<Option<usize>>,
}

// SAFETY: `Sync` needs exclusion: only the OS thread that runs the check uses calls, as with `ProcessState`.
unsafe impl Sync for Call {}

/// A call that no function makes, for empty slots.
static NO_CALL: Call = Call::new(std::ptr::without_provenance(usize::MAX), 0, 0);

/// Recently entered calls. Each has one slot, by its parent and its return address.
pub(crate) static CACHE: [AtomicPtr<Call>; SLOTS] =
    [const { AtomicPtr::new((&raw const NO_CALL).cast_mut()) }; SLOTS];

struct CallTree {
    calls: BTreeMap<(*const Call, usize, usize), *const Call>,
    /// Calls outside of the tree: all that were made, and those that no thread is in.
    others: Vec<*mut Call>,
    free: Vec<*mut Call>,
}

static TREE: ProcessState<CallTree> = ProcessState::new(CallTree {
    calls: BTreeMap::new(),
    others: Vec::new(),
    free: Vec::new(),
});

impl Call {
    const fn new(parent: *const Call, from: usize, into: usize) -> Self {
        Call {
            parent,
            from,
            into,
            is_loud: true,
            is_kept: false,
            is_quiet: Cell::new(false),
            is_usual: Cell::new(false),
            kind: FunctionKind::User,
            region: FunctionKind::User,
            is_inside: false,
            depth: 0,
            chain: Cell::new(None),
            users: Cell::new(None),
        }
    }

    fn of(parent: *const Call, from: usize, into: usize) -> Self {
        let mut call = Call::new(parent, from, into);
        let around = at(parent);
        let before = region(parent);
        call.kind = regions::kind(into);
        call.region = call.kind.entered_from(before);
        call.is_inside = call.region.is_inside();
        call.depth = around.map_or(0, |around| around.depth + 1);
        call.is_loud = call.kind.is_special() && call.kind != before
            || call.kind == FunctionKind::DropsLast
            || before == FunctionKind::DropsLast;
        call
    }

    /// Makes its exit one that is not left to assembly.
    pub(super) fn report_exit(&self) {
        self.is_quiet.set(false);
        self.is_usual.set(false);
    }

    /// True if its exit is not left to assembly although the call is in the tree.
    pub(super) fn is_reported(&self) -> bool {
        self.is_kept && !self.is_usual.get()
    }

    /// Returns the calls of the path, the last one first.
    pub(crate) fn path(&self) -> impl Iterator<Item = &Call> {
        std::iter::successors(Some(self), |call| at(call.parent))
    }
}

/// Returns the call at a pointer that is null or to a call of a thread.
#[inline]
pub(crate) fn at<'a>(call: *const Call) -> Option<&'a Call> {
    // SAFETY: calls of the tree are never freed, and others not before the thread has left them.
    unsafe { call.as_ref() }
}

/// Returns the region of a thread inside of a call.
#[inline]
pub(crate) fn region(call: *const Call) -> FunctionKind {
    at(call).map_or(FunctionKind::User, |call| call.region)
}

/// Returns the slot of a call. The assembly of `entry/functions.rs` does the same.
fn slot(parent: *const Call, from: usize) -> usize {
    ((parent as usize).wrapping_mul(5) >> 6 ^ from) % SLOTS
}

/// Returns a call inside another, or nothing inside a signal handler that has interrupted this.
pub(crate) fn enter(parent: *const Call, from: usize, into: usize) -> Option<&'static Call> {
    let cached = &CACHE[slot(parent, from)];
    if let Some(call) = at(cached.load(Relaxed))
        && (call.parent, call.from, call.into) == (parent, from, into)
    {
        return Some(call);
    }
    let mut tree = TREE.try_get()?;
    let key = (parent, from, into);
    let is_kept = at(parent).is_none_or(|parent| parent.is_kept);
    let call = match tree.calls.get(&key) {
        Some(&call) => call,
        None if is_kept && tree.calls.len() < MAX_CALLS => {
            let mut call = Call::of(parent, from, into);
            call.is_kept = true;
            call.is_quiet.set(call.region == region(parent));
            call.is_usual.set(true);
            let call: *const Call = Box::leak(Box::new(call));
            tree.calls.insert(key, call);
            call
        }
        None => {
            let call = Call::of(parent, from, into);
            match tree.free.pop() {
                Some(free) => {
                    // SAFETY: a free call is one that was leaked below, and that its thread has left.
                    unsafe { free.write(call) };
                    free
                }
                None => {
                    let call: *mut Call = Box::leak(Box::new(call));
                    tree.others.push(call);
                    call
                }
            }
        }
    };
    let call = at(call)?;
    if call.is_kept {
        cached.store(std::ptr::from_ref(call).cast_mut(), Relaxed);
    }
    Some(call)
}

/// Returns the call around one that its thread leaves; the thread does not use it afterwards.
pub(crate) fn leave(call: &'static Call) -> *const Call {
    let parent = call.parent;
    if !call.is_kept
        && let Some(mut tree) = TREE.try_get()
    {
        tree.free.push(std::ptr::from_ref(call).cast_mut());
    }
    parent
}

/// Begins an execution: no thread is in a call.
pub(crate) fn begin() {
    let mut tree = TREE.get();
    let CallTree { others, free, .. } = &mut *tree;
    if free.len() < others.len() {
        free.clone_from(others);
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null;

    use super::*;

    // One test, because one OS thread uses the tree.
    #[test]
    fn paths_are_kept_up_to_the_largest_tree() {
        a_path_is_one_call_whoever_takes_it();
        calls_beyond_the_largest_tree_are_reused();
    }

    fn a_path_is_one_call_whoever_takes_it() {
        let outer = enter(null(), 0x1000, 0x2000).expect("no handler interrupts this");
        let inner = enter(outer, 0x2010, 0x3000).expect("no handler interrupts this");
        assert!(std::ptr::eq(
            inner,
            enter(outer, 0x2010, 0x3000).expect("as before")
        ));
        let indirect = enter(outer, 0x2010, 0x4000).expect("as before");
        assert!(!std::ptr::eq(inner, indirect), "the callee is another");
        let froms: Vec<usize> = inner.path().map(|call| call.from).collect();
        assert_eq!(froms, [0x2010, 0x1000]);
        assert_eq!((outer.depth, inner.depth), (0, 1));
        assert!(std::ptr::eq(leave(inner), outer));
    }

    fn calls_beyond_the_largest_tree_are_reused() {
        let parent = enter(null(), 0x5000, 0x6000).expect("no handler interrupts this");
        for path in 0..MAX_CALLS {
            enter(parent, path, 0x7000).expect("as before");
        }
        let more = MAX_CALLS..MAX_CALLS + 10;
        let calls: Vec<*const Call> = more
            .clone()
            .map(|path| {
                let call = enter(parent, path, 0x7000).expect("as before");
                assert_eq!((call.from, call.is_kept), (path, false));
                let inside = enter(call, 1, 2).expect("as before");
                assert!(std::ptr::eq(leave(inside), call));
                leave(call);
                std::ptr::from_ref(call)
            })
            .collect();
        assert!(calls.iter().all(|&call| call == calls[0]));
        let unfinished = enter(parent, MAX_CALLS, 0x7000).expect("as before");
        let are_all_free = || {
            let tree = TREE.get();
            tree.free.len() == tree.others.len()
        };
        assert!(!are_all_free());
        begin();
        assert!(are_all_free());
        assert_eq!(unfinished.from, MAX_CALLS);
    }
}
