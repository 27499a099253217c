//! Foreign threads: threads of std or of a runtime, which no check controls, and their uses of
//! values that executions of running checks use.
//!
//! A foreign thread runs for real, so the order of its operations is not explored, and they act on
//! another state than the engine's. A use by one is therefore a failure of the check. It is found in
//! one of three ways.
//!
//! - **The execution came first.** The identity of the value holds the stamp of an execution. Stamps
//!   are reserved in blocks, and the registry knows the check of each block.
//! - **The foreign thread came first.** It leaves a mark in the identity, with a number. An execution
//!   that finds a mark newer than its own beginning has met a foreign thread. An older mark belongs
//!   to the state from outside, with which the execution starts.
//! - **Statics** keep their identity, and ordinary tests may use them beside a check, as each
//!   execution has its own copy. Only threads that were started inside a check matter. They are
//!   recognised by their timer slack, which a thread of Linux inherits from the one that starts it.
//!   While a check runs, the slack of its OS thread is the usual one plus some nanoseconds, the
//!   tag.
//!
//! A controlled thread pays for none of it, except at its first use of a value with a mark. A thread
//! outside checks pays one load per operation while no check runs.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_engine::ThreadId;

use super::{Context, Made, current, statics};
use crate::runtime::identity::{Identity, Mark};

/// Number of registered checks.
static CHECKS: AtomicUsize = AtomicUsize::new(0);
/// Number of marks that foreign threads have left.
static MARKS: AtomicU64 = AtomicU64::new(0);
static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    blocks: BTreeMap::new(),
    tags: BTreeMap::new(),
    touches: Vec::new(),
    numbers: BTreeMap::new(),
});

/// Maximum number of touches that are kept; later ones have neither name nor place.
const MAX_TOUCHES: usize = 1 << 16;

struct Registry {
    /// The check of each block of stamps.
    blocks: BTreeMap<u64, Arc<Intrusions>>,
    /// The check of each tag.
    tags: BTreeMap<u32, Arc<Intrusions>>,
    /// The touches that marks refer to.
    touches: Vec<Touch>,
    /// The index of each touch, by the number of its thread and the address of its place.
    numbers: BTreeMap<(u64, usize), usize>,
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An operation of a foreign thread.
#[derive(Clone)]
pub(crate) struct Touch {
    /// The name of the thread.
    pub(crate) thread: Option<String>,
    pub(crate) place: Option<&'static Location<'static>>,
}

impl Touch {
    fn at(place: &'static Location<'static>) -> Self {
        Touch {
            thread: std::thread::current().name().map(str::to_owned),
            place: Some(place),
        }
    }
}

/// A value of an execution, as a foreign thread knows it.
#[derive(Clone, Copy)]
pub struct SharedValue {
    /// Its type, and its place of creation if there is one.
    pub kind: &'static str,
    /// Its place of creation.
    pub made: Option<&'static Location<'static>>,
    /// The thread that it is a handle of.
    pub handle_of: Option<ThreadId>,
}

impl SharedValue {
    /// Returns the value of a thread's handle.
    pub fn handle(kind: &'static str, thread: ThreadId) -> Self {
        SharedValue {
            handle_of: Some(thread),
            ..SharedValue::without_place(kind)
        }
    }

    /// Returns a value whose place of creation is not known.
    pub fn without_place(kind: &'static str) -> Self {
        SharedValue {
            kind,
            made: None,
            handle_of: None,
        }
    }
}

impl From<Made> for SharedValue {
    fn from(made: Made) -> Self {
        SharedValue {
            kind: made.kind,
            made: Some(made.place),
            handle_of: None,
        }
    }
}

/// A use of a value of a check by a foreign thread.
#[derive(Clone)]
pub(crate) struct Intrusion {
    pub(crate) touch: Touch,
    pub(crate) known: SharedValue,
    /// The stamp of the execution that it belongs to, and its index there, if they are known.
    pub(crate) stamp: Option<u64>,
    pub(crate) index: Option<usize>,
    /// The use by a controlled thread that found the mark.
    pub(crate) found_by: Option<(ThreadId, &'static Location<'static>)>,
}

impl Intrusion {
    /// Returns a use of a value in an unknown execution.
    fn of(touch: Touch, known: impl Into<SharedValue>) -> Self {
        Intrusion {
            touch,
            known: known.into(),
            stamp: None,
            index: None,
            found_by: None,
        }
    }
}

/// The foreign uses of the values of one check.
#[derive(Default)]
pub(crate) struct Intrusions {
    /// True when an intrusion is recorded.
    is_found: AtomicBool,
    /// True when a thread that the check started without control used any of raddle's types.
    took_part: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    found: Option<Intrusion>,
    /// The statics that the check or its foreign threads have used, by address.
    statics: BTreeMap<usize, StaticUse>,
}

enum StaticUse {
    Check,
    Foreign(Touch),
}

impl Intrusions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an intrusion; the first one is kept.
    fn record(&self, intrusion: Intrusion) {
        self.state().found.get_or_insert(intrusion);
        self.is_found.store(true, Relaxed);
        self.took_part.store(true, Relaxed);
    }

    /// Returns the recorded intrusion, once.
    #[inline]
    pub(crate) fn take(&self) -> Option<Intrusion> {
        if !self.is_found.load(Relaxed) {
            return None;
        }
        self.is_found.store(false, Relaxed);
        self.state().found.take()
    }

    /// True when foreign threads took part in the check, as far as known.
    pub(crate) fn took_part(&self) -> bool {
        self.took_part.load(Relaxed)
    }

    /// Records that a controlled thread has found a mark that a foreign thread left during the
    /// execution.
    pub(crate) fn record_mark(&self, mark: Mark, made: Made) {
        let touch = registry().touches.get(mark.touch).cloned();
        let touch = touch.unwrap_or(Touch {
            thread: None,
            place: None,
        });
        self.record(Intrusion::of(touch, made));
    }

    /// Adds the controlled thread whose operation found the mark.
    pub(crate) fn set_found_by(&self, thread: ThreadId, place: &'static Location<'static>) {
        if let Some(found) = &mut self.state().found {
            found.found_by.get_or_insert((thread, place));
        }
    }

    /// Records the first use of a static by the check; true if a foreign thread of the check has
    /// used it.
    pub(crate) fn use_static(&self, address: usize, made: Made) -> bool {
        let mut state = self.state();
        match state.statics.insert(address, StaticUse::Check) {
            Some(StaticUse::Foreign(touch)) => {
                drop(state);
                self.record(Intrusion::of(touch, made));
                true
            }
            Some(StaticUse::Check) | None => false,
        }
    }

    /// Records a use of a static by a foreign thread of the check; true if the check has used it.
    fn intrude_static(&self, address: usize, made: Made, touch: Touch) -> bool {
        let mut state = self.state();
        let is_used = matches!(state.statics.get(&address), Some(StaticUse::Check));
        if is_used {
            drop(state);
            self.record(Intrusion::of(touch, made));
        } else {
            let foreign = StaticUse::Foreign(touch);
            state.statics.entry(address).or_insert(foreign);
        }
        is_used
    }
}

/// The registration of a check, with the tag of the threads that it starts.
pub(crate) struct Registration {
    pub(crate) intrusions: Arc<Intrusions>,
    tag: u32,
    blocks: Vec<u64>,
}

impl Registration {
    pub(crate) fn new() -> Self {
        let intrusions = Arc::<Intrusions>::default();
        let tag = tag::next();
        registry().tags.insert(tag, Arc::clone(&intrusions));
        CHECKS.fetch_add(1, Relaxed);
        Registration {
            intrusions,
            tag,
            blocks: Vec::new(),
        }
    }

    /// Registers a block of stamps.
    #[cold]
    pub(crate) fn add_block(&mut self, block: u64) {
        self.blocks.push(block);
        let intrusions = Arc::clone(&self.intrusions);
        registry().blocks.insert(block, intrusions);
    }

    /// Marks the calling OS thread as one that runs this check, as long as the result exists.
    pub(crate) fn enter(&self) -> OwnThread {
        OWN.set(OWN.get() + 1);
        OwnThread {
            slack: tag::set(self.tag),
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        CHECKS.fetch_sub(1, Relaxed);
        let mut registry = registry();
        registry.tags.remove(&self.tag);
        for block in &self.blocks {
            registry.blocks.remove(block);
        }
    }
}

thread_local! {
    /// Number of checks that the OS thread runs: code of theirs outside executions is not foreign.
    static OWN: Cell<u32> = const { Cell::new(0) };
    /// The tag of the OS thread, once it is known.
    static TAG: Cell<Option<u32>> = const { Cell::new(None) };
    static THREAD_NUMBER: Cell<Option<u64>> = const { Cell::new(None) };
    /// The last touch of the OS thread: its place and its number in the registry.
    static LAST_TOUCH: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// An OS thread that runs a check.
pub(crate) struct OwnThread {
    slack: Option<u64>,
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        OWN.set(OWN.get() - 1);
        tag::restore(self.slack);
    }
}

/// Marks the calling thread as raddle's own, independently of the check that started it.
pub(crate) fn disown() {
    TAG.set(Some(0));
    tag::clear();
}

/// Returns the number of marks that foreign threads have left so far.
#[inline]
pub(crate) fn marks() -> u64 {
    MARKS.load(Relaxed)
}

/// Returns the check that the calling thread belongs to. A thread outside every check is about to
/// use the value.
///
/// # Panics
///
/// If the thread is outside every check, and an execution of a running check uses the value: the
/// check fails, and the operation does not happen.
#[inline(always)]
pub fn using<'a>(
    identity: &Identity,
    made: &Made,
    place: &'static Location<'static>,
) -> Option<&'a Context> {
    let context = current();
    if context.is_none() && CHECKS.load(Relaxed) != 0 {
        uses_beside_checks(identity, made, place);
    }
    context
}

/// Records that the calling thread starts a thread. If it was itself started inside a check and is
/// not controlled, it takes part in the check.
pub fn starts_thread() {
    if CHECKS.load(Relaxed) != 0
        && OWN.get() == 0
        && let Some(intrusions) = intrusions_of_thread()
    {
        intrusions.took_part.store(true, Relaxed);
    }
}

/// Records that the calling thread, which is outside every check, drops the value. As [`using`],
/// without a panic.
#[inline]
pub fn drops(identity: &Identity, made: &Made, place: &'static Location<'static>) {
    if CHECKS.load(Relaxed) != 0
        && OWN.get() == 0
        && let Some((stamp, index)) = identity.stamp_and_index()
    {
        uses_of(stamp, Some(index), (*made).into(), place);
    }
}

/// Records a use of a value made in the execution with this stamp by a thread that is not part of
/// that execution. If its check is still running, and the thread is outside every check, the check
/// fails.
#[cold]
pub fn uses_of(
    stamp: u64,
    index: Option<usize>,
    known: SharedValue,
    place: &'static Location<'static>,
) -> bool {
    if CHECKS.load(Relaxed) == 0 || OWN.get() > 0 || current().is_some() {
        return false;
    }
    let Some(intrusions) = owner(stamp) else {
        return false;
    };
    intrusions.record(Intrusion {
        stamp: Some(stamp),
        index,
        ..Intrusion::of(Touch::at(place), known)
    });
    true
}

fn owner(stamp: u64) -> Option<Arc<Intrusions>> {
    let block = super::identity::block(stamp)?;
    registry().blocks.get(&block).cloned()
}

#[cold]
fn uses_beside_checks(identity: &Identity, made: &Made, place: &'static Location<'static>) {
    if OWN.get() > 0 {
        return;
    }
    let intrusions = intrusions_of_thread();
    if let Some(intrusions) = &intrusions {
        intrusions.took_part.store(true, Relaxed);
    }
    let is_intrusion = if statics::is_static(identity) {
        let address = identity.address();
        intrusions.is_some_and(|check| check.intrude_static(address, *made, Touch::at(place)))
    } else {
        leave_mark(identity, made, place)
    };
    // A second panic of a thread that unwinds would end the process.
    if is_intrusion && !std::thread::panicking() {
        refuse(made, place);
    }
}

/// Leaves a mark in the identity; true if it belongs to a running check instead.
fn leave_mark(identity: &Identity, made: &Made, place: &'static Location<'static>) -> bool {
    loop {
        let seen = identity.peek();
        if let Some((stamp, index)) = identity.stamp_and_index()
            && uses_of(stamp, Some(index), (*made).into(), place)
        {
            return true;
        }
        if !identity.may_be_marked() {
            return false;
        }
        let mark = Mark {
            number: MARKS.fetch_add(1, Relaxed) + 1,
            touch: touch_number(place),
        };
        if identity.mark(seen, mark) {
            return false;
        }
    }
}

/// Returns the number of this touch of the calling thread in the registry.
fn touch_number(place: &'static Location<'static>) -> usize {
    let address = std::ptr::from_ref(place) as usize;
    if let Some((last, number)) = LAST_TOUCH.get()
        && last == address
    {
        return number;
    }
    let mut registry = registry();
    let Registry {
        touches, numbers, ..
    } = &mut *registry;
    let number = match numbers.get(&(thread_number(), address)) {
        Some(number) => *number,
        None if touches.len() < MAX_TOUCHES => {
            touches.push(Touch::at(place));
            numbers.insert((thread_number(), address), touches.len() - 1);
            touches.len() - 1
        }
        None => MAX_TOUCHES,
    };
    LAST_TOUCH.set(Some((address, number)));
    number
}

/// Returns a number that only the calling OS thread has.
fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = THREAD_NUMBER
        .get()
        .unwrap_or_else(|| NEXT.fetch_add(1, Relaxed));
    THREAD_NUMBER.set(Some(number));
    number
}

/// Returns the running check inside which the calling thread, or the thread that started it, was
/// started.
fn intrusions_of_thread() -> Option<Arc<Intrusions>> {
    let tag = TAG.get().unwrap_or_else(|| {
        let tag = tag::get();
        TAG.set(Some(tag));
        tag
    });
    match tag {
        0 => None,
        tag => registry().tags.get(&tag).cloned(),
    }
}

#[cold]
fn refuse(made: &Made, place: &'static Location<'static>) -> ! {
    panic!(
        "raddle: the {} made at {} belongs to a running check, and is used at {place} by a thread that \
         the check does not control; start the thread with `raddle::thread::spawn` inside the check",
        made.kind, made.place
    )
}

/// Tags in the timer slack of OS threads.
mod tag {
    use super::{AtomicU32, Relaxed};

    /// Number of tags. A tag delays timers by as many nanoseconds; the usual slack is 50,000.
    const TAGS: u32 = 9_999;
    #[cfg_attr(not(all(target_os = "linux", not(miri))), allow(dead_code))]
    const USUAL: u64 = 50_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);

    /// Returns a tag that no other check has, unless thousands run at the same time; not 0.
    pub(super) fn next() -> u32 {
        NEXT.fetch_add(1, Relaxed) % TAGS + 1
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    mod slack {
        use super::{TAGS, USUAL};

        fn read() -> Option<u64> {
            // SAFETY: `prctl` with this option takes no pointers; it reads a number of the calling
            // thread.
            u64::try_from(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }).ok()
        }

        fn write(slack: u64) {
            // SAFETY: `prctl` with this option takes no pointers; it sets a number of the calling
            // thread. If the system refuses, threads have no tags.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) };
        }

        /// Tags the calling thread; returns its slack before.
        pub(in super::super) fn set(tag: u32) -> Option<u64> {
            // Only a thread with the usual slack, or another tag.
            let slack = read().filter(|slack| (USUAL..=USUAL + u64::from(TAGS)).contains(slack));
            if slack.is_some() {
                write(USUAL + u64::from(tag));
            }
            slack
        }

        pub(in super::super) fn restore(slack: Option<u64>) {
            if let Some(slack) = slack {
                write(slack);
            }
        }

        /// Removes the tag of the calling thread.
        pub(in super::super) fn clear() {
            if get() != 0 {
                write(USUAL);
            }
        }

        /// Returns the tag of the calling thread, or 0.
        pub(in super::super) fn get() -> u32 {
            let tag = read().and_then(|slack| slack.checked_sub(USUAL));
            let tag = tag.and_then(|tag| u32::try_from(tag).ok());
            tag.filter(|tag| *tag <= TAGS).unwrap_or(0)
        }
    }

    #[cfg(not(all(target_os = "linux", not(miri))))]
    mod slack {
        pub(in super::super) fn set(_tag: u32) -> Option<u64> {
            None
        }

        pub(in super::super) fn restore(_slack: Option<u64>) {}

        pub(in super::super) fn clear() {}

        pub(in super::super) fn get() -> u32 {
            0
        }
    }

    pub(super) use slack::{clear, get, restore, set};
}
