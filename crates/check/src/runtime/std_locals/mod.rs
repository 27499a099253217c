//! Detection of std's thread-locals that several threads of a check use.
//!
//! A `std::thread_local!` belongs to the OS thread, which all threads of a check share: a thread sees what
//! another one left, where a real run would have a fresh value. It matters if the value ever differs from the
//! initial one and two threads use it. Threads of two executions are two threads; the main thread is the same
//! in all of them, as if its body were called again and again.
//!
//! Some executions are *watched*: after each turn of a thread, the thread-local storage of the program is
//! compared with a copy, which shows changes. Once there is one, the threads of all executions take
//! [single steps](steps), which show uses, until the variable is known to be shared. A thread that continues
//! after an operation does not take steps if one with the same past has: it does the same.
//!
//! A check that leaves its thread-locals as they were costs nothing but its watched executions. If they were changed
//! before it, the threads of its first execution take steps, up to a limit for all checks of an OS thread.

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
mod operand;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64", not(miri))),
    allow(dead_code, reason = "no steps are taken")
)]
mod steps;
mod symbols;

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::OnceLock;

use raddle_engine::{Operation, Reply, SiteId, ThreadId};

pub(super) use self::steps::stop as stop_steps;
use self::steps::{OF_THREAD, Steps};
use self::symbols::Variable;
use super::switch::Exit;
use super::{Context, Phase};
use crate::program::Dialect;
use crate::runtime::alloc;

/// Number of executions at the start of a check that are watched; later ones are at powers of two.
const FIRST: u64 = 4;

/// Maximum number of single steps of a worker: half a second, or two seconds on some virtual machines.
const MOST_STEPS: u32 = 200_000;

/// Maximum number of single steps in all checks of an OS thread that look for uses of values from before a check. A
/// thousand small checks after one such value took minutes without it.
const MOST_STEPS_BACK: u32 = 50_000;

thread_local! {
    /// Number of those steps that are left.
    static STEPS_BACK: Cell<u32> = const { Cell::new(MOST_STEPS_BACK) };
}

/// The thread-local storage of the program on one OS thread.
#[derive(Clone, Copy)]
struct Block {
    start: *const u8,
    length: usize,
    /// The initial bytes of every OS thread's block; the rest of a block is zero then.
    image: *const u8,
    image_length: usize,
}

impl Block {
    /// Copies the bytes to `to`, which gets their number.
    fn copy(self, to: &mut Vec<u8>) {
        to.resize(self.length, 0);
        // SAFETY: the block lives as long as its OS thread, which is the calling one, and only that thread
        // writes to it. A foreign function copies, because some of the bytes may be padding.
        unsafe { libc::memcpy(to.as_mut_ptr().cast(), self.start.cast(), self.length) };
    }

    /// Copies the initial bytes to `to`, which gets the number of bytes of the block.
    fn copy_initial(self, to: &mut Vec<u8>) {
        to.clear();
        to.resize(self.length, 0);
        let length = self.image_length.min(self.length);
        // SAFETY: the image is a part of the loaded program that stays mapped, and nothing writes to it after
        // the program was loaded. A foreign function copies, because some of the bytes may be padding.
        unsafe { libc::memcpy(to.as_mut_ptr().cast(), self.image.cast(), length) };
    }
}

/// The thread-locals of the program; empty if its symbols were stripped.
fn variables() -> &'static [Variable] {
    static ALL: OnceLock<Vec<Variable>> = OnceLock::new();
    ALL.get_or_init(|| symbols::read().unwrap_or_default())
}

/// Names of std's thread-locals.
#[derive(Default)]
pub(crate) struct SharedLocals {
    /// Those that several threads of the check use.
    pub(crate) known: BTreeSet<String>,
    /// Those that one thread changes, while the uses of others were not all seen.
    pub(crate) unclear: BTreeSet<String>,
}

impl SharedLocals {
    /// True when there is one.
    pub(crate) fn has_any(&self) -> bool {
        !self.known.is_empty() || !self.unclear.is_empty()
    }

    /// Adds those of another worker.
    pub(crate) fn add(&mut self, other: SharedLocals) {
        self.known.extend(other.known);
        self.unclear.extend(other.unclear);
        self.unclear.retain(|name| !self.known.contains(name));
    }
}

/// The threads that use a variable.
#[derive(Clone, Copy, Default)]
struct Users {
    /// True when the main thread does, or the OS thread did before the check.
    main: bool,
    /// Another thread that does, with the number of its execution.
    spawned: Option<(u64, ThreadId)>,
    /// True when two threads do.
    are_several: bool,
    /// True when its bytes have changed in the check.
    is_changed: bool,
    /// True when they were not the initial ones when the check began.
    is_from_before: bool,
    /// True when a use may not have been seen.
    is_unclear: bool,
}

impl Users {
    fn add(&mut self, execution: u64, thread: ThreadId) {
        match thread {
            ThreadId::MAIN => self.main = true,
            _ => {
                let known = *self.spawned.get_or_insert((execution, thread));
                self.are_several |= known != (execution, thread);
            }
        }
        self.are_several |= self.main && self.spawned.is_some();
    }

    fn share(&self) -> bool {
        (self.is_changed || self.is_from_before) && self.are_several
    }

    /// True when another use matters; one of a value from before the check only if `looks_back`.
    fn are_open(&self, looks_back: bool) -> bool {
        (self.is_changed || looks_back && self.is_from_before) && !self.share()
    }
}

/// A thread of the running execution.
#[derive(Clone, Copy)]
struct Walker {
    /// Hash of all that happened before its last operation; `None` if it is not known.
    past: Option<u64>,
    /// True when it takes steps as soon as it continues: it was suspended between two operations while it
    /// took steps, or in one that began before any thread did.
    was_within: bool,
    /// True when all of its uses so far are known.
    is_whole: bool,
}

/// The watch of one worker's executions.
#[derive(Default)]
pub(super) struct StdLocals {
    /// Number of executions so far.
    executions: u64,
    block: Option<Block>,
    /// The bytes of the block when they were last compared.
    known: Vec<u8>,
    now: Vec<u8>,
    /// The users of each variable.
    users: Vec<Users>,
    steps: Option<Box<Steps>>,
    /// True when a variable has changed in the check. Earlier steps look for values from before it.
    has_change: bool,
    /// True when a thread should have taken steps and could not.
    has_missed: bool,
    /// True when a variable that has changed may have users that are not known.
    is_stepping: bool,
    walkers: Vec<Walker>,
    /// The thread that takes steps, or did until they ended early.
    walking: Option<ThreadId>,
    /// Hash of all that happened before the last change of a thing.
    last: HashMap<Thing, u64>,
    /// The variables that a thread with this past uses before its next operation.
    pasts: HashMap<u64, Box<[usize]>>,
}

/// A thing of an execution that passes data between threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Thing {
    Location(usize),
    Object(usize),
    /// The ends of threads.
    Ends,
    /// Something whose past is not known.
    Unknown,
}

fn hash(value: impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

impl StdLocals {
    /// Begins an execution; true when it is to be watched.
    fn begin(&mut self) -> bool {
        self.executions += 1;
        (self.is_due() || self.is_stepping) && self.begin_watched()
    }

    /// True when the execution is to be watched in any case.
    fn is_due(&self) -> bool {
        self.executions <= FIRST || self.executions.is_power_of_two()
    }

    #[cold]
    fn begin_watched(&mut self) -> bool {
        if variables().is_empty() {
            return false;
        }
        let Some(block) = symbols::block() else {
            return false;
        };
        self.walkers.clear();
        self.last.clear();
        let is_same = self.block.is_some_and(|it| it.start == block.start);
        self.block = Some(block);
        if self.users.is_empty() {
            self.users = vec![Users::default(); variables().len()];
        }
        match is_same {
            true => self.compare(None),
            false => {
                self.steps = None;
                self.compare_with_initial(block);
            }
        }
        self.decide();
        true
    }

    /// Records the variables that the caller of the check, which is its main thread, has changed before.
    fn compare_with_initial(&mut self, block: Block) {
        block.copy_initial(&mut self.now);
        block.copy(&mut self.known);
        for (variable, users) in variables().iter().zip(&mut self.users) {
            let bytes = variable.bytes.clone();
            if self.known.get(bytes.clone()) != self.now.get(bytes) {
                users.is_from_before = true;
                users.add(self.executions, ThreadId::MAIN);
            }
        }
    }

    /// Decides whether threads take steps.
    fn decide(&mut self) {
        let looks_back = self.looks_back();
        self.is_stepping = self.users.iter().any(|it| it.are_open(looks_back));
    }

    /// True in the first execution of a check, until its OS thread has taken as many steps for values from before a
    /// check as it may.
    fn looks_back(&self) -> bool {
        self.executions == 1 && STEPS_BACK.get() > 0
    }

    /// Records the variables whose bytes differ from the known ones, as changed by `thread`, or by an unknown
    /// one.
    fn compare(&mut self, thread: Option<ThreadId>) {
        let Some(block) = self.block else { return };
        block.copy(&mut self.now);
        if self.known == self.now {
            return;
        }
        let mut has_change = false;
        for (variable, users) in variables().iter().zip(&mut self.users) {
            let bytes = variable.bytes.clone();
            if self.known.get(bytes.clone()) == self.now.get(bytes) {
                continue;
            }
            has_change = true;
            users.is_changed = true;
            match thread {
                Some(thread) => users.add(self.executions, thread),
                None => users.is_unclear = true,
            }
        }
        std::mem::swap(&mut self.known, &mut self.now);
        if has_change && !self.has_change {
            // Steps so far had another limit, and what they missed was before the change.
            (self.has_change, self.steps, self.has_missed) = (true, None, false);
        }
        self.decide();
    }

    /// Adds a use of this variable.
    fn add(&mut self, variable: usize, thread: ThreadId) {
        self.users[variable].add(self.executions, thread);
        if self.users[variable].share() {
            self.decide();
        }
    }

    /// Returns the state of a thread.
    fn walker(&mut self, thread: ThreadId) -> &mut Walker {
        let is_stepping = self.is_stepping;
        while self.walkers.len() <= thread.index() {
            let is_main = self.walkers.is_empty();
            self.walkers.push(Walker {
                past: (is_main && is_stepping).then_some(0),
                was_within: false,
                is_whole: is_stepping,
            });
        }
        &mut self.walkers[thread.index()]
    }

    /// True when uses by this thread could show that a variable is shared.
    fn matters(&self, thread: ThreadId) -> bool {
        let looks_back = self.looks_back();
        let is_open = |users: &Users| {
            let is_known = thread == ThreadId::MAIN && users.main;
            users.are_open(looks_back) && !is_known
        };
        self.is_stepping && self.users.iter().any(is_open)
    }

    /// Returns the steps that the thread has to take up to its next operation, unless its uses until then are
    /// known.
    fn prepare(&mut self, thread: ThreadId) -> Option<*const Steps> {
        if !self.matters(thread) {
            self.walker(thread).is_whole = false;
            return None;
        }
        let past = self.walker(thread).past;
        if let Some(used) = past.and_then(|past| self.pasts.get(&past)) {
            for variable in used.clone() {
                self.add(variable, thread);
            }
            return None;
        }
        if self.steps.is_none() && !self.has_missed {
            let most = match self.has_change {
                true => MOST_STEPS,
                false => STEPS_BACK.get(),
            };
            let block = self.block;
            self.steps = block.and_then(|block| Steps::new(block, most));
        }
        let steps = self.steps.as_deref().filter(|steps| steps.are_left());
        let steps = steps.map(std::ptr::from_ref);
        if steps.is_none() {
            self.has_missed = true;
            self.walker(thread).is_whole = false;
        }
        self.walking = steps.map(|_| thread);
        steps
    }

    /// Records the uses of a thread that took steps, which are stopped.
    fn rest(&mut self, thread: ThreadId) {
        if self.walking.take() != Some(thread) {
            return;
        }
        let Some(steps) = self.steps.take() else {
            return;
        };
        let (mut of_thread, mut by_pointer) = (BTreeSet::new(), BTreeSet::new());
        let is_complete = steps.finish(|offset, marks| {
            let mut all = variables().iter();
            if let Some(variable) = all.position(|it| it.bytes.contains(&offset)) {
                let set = if marks & OF_THREAD != 0 {
                    &mut of_thread
                } else {
                    &mut by_pointer
                };
                set.insert(variable);
            }
        });
        if !self.has_change {
            STEPS_BACK.set(steps.left());
        }
        self.steps = Some(steps);
        for &variable in &of_thread {
            self.add(variable, thread);
        }
        if !is_complete {
            self.has_missed = true;
            self.walker(thread).is_whole = false;
        } else if let Some(past) = self.walker(thread).past {
            self.pasts.insert(past, of_thread.into_iter().collect());
        }
        // A pointer that a thread made before its first step, or got from another one.
        if !self.walker(thread).is_whole {
            for variable in by_pointer {
                let users = &mut self.users[variable];
                let is_known = match thread {
                    ThreadId::MAIN => users.main,
                    _ => users.spawned == Some((self.executions, thread)),
                };
                users.is_unclear |= !is_known;
            }
        }
    }

    /// Records an operation of a thread.
    fn see(&mut self, thread: ThreadId, operation: &Operation, site: SiteId, reply: Reply) {
        let thing = match (operation.location(), operation.object(), operation) {
            (Some(location), None, _) => Some(Thing::Location(location.index())),
            (None, Some(object), _) => Some(Thing::Object(object.index())),
            (_, _, Operation::Join { .. } | Operation::IsFinished { .. }) => Some(Thing::Ends),
            (_, _, Operation::Spawn | Operation::Yield | Operation::Sleep { .. }) => None,
            (_, _, Operation::Choose { .. } | Operation::Chance { .. }) => None,
            (_, _, Operation::Fence { .. } | Operation::Assume) => None,
            _ => Some(Thing::Unknown),
        };
        let last = thing.and_then(|thing| self.last.get(&thing).copied());
        let walker = self.walker(thread);
        walker.past = match thing {
            Some(Thing::Unknown) => None,
            _ => walker.past.map(|past| hash((past, site, reply, last))),
        };
        let past = walker.past;
        if *operation == Operation::Spawn {
            let child = self.walker(reply.to_thread());
            child.past = past.map(|past| hash((past, "begin")));
        }
        if let Some(thing) = thing
            && !matches!(operation, Operation::Load { .. })
        {
            self.change(thing, past, thread);
        }
    }

    /// Records that a thread with this past has changed a thing.
    fn change(&mut self, thing: Thing, past: Option<u64>, thread: ThreadId) {
        let last = self.last.get(&thing).copied();
        // Without a known past, no other execution has the same.
        let past = past.unwrap_or_else(|| hash((self.executions, thread, "unknown")));
        self.last.insert(thing, hash((last, past)));
    }

    /// Records the end of a thread.
    fn see_end(&mut self, thread: ThreadId) {
        let past = self.walker(thread).past;
        self.change(Thing::Ends, past, thread);
    }

    /// Ends a turn. With `is_within`, the thread was suspended between two operations.
    fn end_turn(&mut self, thread: ThreadId, is_within: bool) {
        if is_within {
            self.walker(thread).past = None;
            self.walker(thread).was_within = true;
        }
        self.rest(thread);
        self.compare(Some(thread));
    }

    /// Returns the names of variables for whose users this holds.
    fn names(&self, holds: impl Fn(&Users) -> bool) -> BTreeSet<String> {
        let all = variables().iter().zip(&self.users);
        let those = all.filter(|(_, users)| holds(users));
        those.map(|(variable, _)| variable.name.clone()).collect()
    }
}

impl Context {
    /// Begins an execution; true when its thread-locals are watched. Native programs have their own.
    #[inline]
    pub(super) fn watches_std_locals(&self) -> bool {
        self.program.dialect() == Dialect::Library && self.std_locals.borrow_mut().begin()
    }

    fn with_std_locals<R>(&self, change: impl FnOnce(&mut StdLocals) -> R) -> R {
        let _aside = alloc::aside();
        change(&mut self.std_locals.borrow_mut())
    }

    /// Lets the calling thread take steps up to its next operation, unless its uses until then are known.
    #[inline(always)]
    fn walk(&self, thread: ThreadId) {
        let steps = self.with_std_locals(|locals| locals.prepare(thread));
        if let Some(steps) = steps {
            // SAFETY: they are stopped at the thread's next operation, or at the end of its turn. The box is
            // replaced only after that.
            unsafe { (*steps).start() };
        }
    }

    /// Runs a thread until it suspends itself or ends, and records the thread-locals that it uses.
    #[cold]
    #[inline(never)]
    pub(super) fn resume_watched(&self, thread: ThreadId) -> Option<Exit> {
        if self.phase.get() == Phase::Running && self.std_locals.borrow().is_stepping {
            self.phase.set(Phase::Stepped);
            self.watch.perform_apart();
            // The operations in which threads are suspended now do not start steps when they return.
            self.with_std_locals(|locals| {
                let walkers = locals.walkers.iter_mut();
                walkers.for_each(|walker| walker.was_within = true);
            });
        }
        let goes_on = self.with_std_locals(|locals| {
            let is_stepping = locals.is_stepping;
            let walker = locals.walker(thread);
            walker.is_whole &= is_stepping;
            std::mem::take(&mut walker.was_within) && is_stepping
        });
        if goes_on {
            self.walk(thread);
        }
        let result = self.resume(thread);
        let is_within = steps::is_active();
        steps::stop();
        self.with_std_locals(|locals| locals.end_turn(thread, is_within));
        result
    }

    /// Performs an operation of a thread that takes steps before it and after it.
    #[cold]
    #[inline(never)]
    pub(super) fn perform_stepped(
        &self,
        operation: Operation,
        site: SiteId,
        perform: &mut dyn FnMut() -> Reply,
    ) -> Reply {
        steps::stop();
        let thread = self.thread.get();
        self.with_std_locals(|locals| locals.rest(thread));
        let reply = perform();
        if self.phase.get() == Phase::Stepped {
            self.with_std_locals(|locals| locals.see(thread, &operation, site, reply));
            self.walk(thread);
        }
        reply
    }

    /// Lets a new thread take steps; true if the execution has stopped instead.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_apart(&self, thread: ThreadId) -> bool {
        let has_stopped = self.has_stopped();
        if !has_stopped {
            self.walk(thread);
        }
        has_stopped
    }

    /// Ends the steps of a thread that ends.
    #[cold]
    #[inline(never)]
    pub(super) fn end_steps(&self, thread: ThreadId) {
        steps::stop();
        self.with_std_locals(|locals| {
            locals.rest(thread);
            locals.see_end(thread);
        });
    }

    /// Returns the names of std's thread-locals that several threads use, and of those that several may.
    pub(crate) fn shared_locals(&self) -> SharedLocals {
        let mut locals = self.std_locals.borrow_mut();
        let block = locals.block;
        if block.is_some_and(|it| symbols::block().is_some_and(|now| now.start == it.start)) {
            locals.compare(None);
        }
        let has_missed = locals.has_missed;
        SharedLocals {
            known: locals.names(Users::share),
            unclear: locals
                .names(|it| it.is_changed && !it.share() && (it.is_unclear || has_missed)),
        }
    }
}

#[cfg(test)]
mod tests;
