//! Spin loop detection: finds that a thread is in the same local state as before.
//!
//! Before a thread reads a shared value, its stack is compared with the stack at its last read of
//! the same value from the same site. Then it is copied for the next comparison. Callee-saved
//! registers are on the stack by then: [`apart`] stores them there. If all bytes are equal, the
//! thread is in a loop that depends only on other threads, unless it has written in between, which
//! the engine records. A search that runs every class also gets the local states of earlier reads,
//! to find rounds whose writes cancel.
//!
//! This requires that no bytes of raddle's own differ from one round to the next. That includes
//! dead parts of the stack, which a later call might reserve without writing all of it. So raddle
//! works further down on the stack, out of the reach of most calls.

mod apart;
mod looks;
mod times;
mod trials;

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::time::Duration;

use super::stacks::OwnedStack;
use raddle_engine::object::{Call, condvar, mutex};
use raddle_engine::{Ending, Operation, Reply, SiteId, Step, ThreadId, World};

use super::std_locals::stop_steps;
use super::{Context, Phase};
use crate::program::Dialect;
use apart::clear_below;
use looks::{AllLooks, Bytes, Counts, Local, Looks, MAX_BYTES, Visit};
use trials::{Loop, Trials, Verdict};

pub(super) use apart::apart;
pub use looks::Registers;

/// Number of reads in a row before a thread is watched, where an early detection of loops does not
/// matter.
const PATIENCE: u32 = 4;
/// True when a thread's registers can be read on this processor.
const CAN_WATCH: bool = cfg!(any(
    all(target_arch = "x86_64", not(windows)),
    target_arch = "aarch64"
));
/// Bytes of a stack that are cleaned beyond the deepest compared so far.
const BEYOND: usize = 2048;
/// Bytes of a stack that are cleaned at once. From 2 KiB on, the C library uses an instruction that takes
/// twice as long for lengths like these.
const PIECE: usize = 1024;

/// True when the operation reads a value that other threads may change, so that a loop may wait for
/// it.
#[inline]
pub(super) fn looks(operation: &Operation) -> bool {
    match operation {
        Operation::Load { .. }
        | Operation::Update { .. }
        | Operation::IsFinished { .. }
        | Operation::Receive { wait: false, .. } => true,
        // Requested in this way only after a time-out.
        Operation::Call {
            call: Call::Mutex(mutex::Call::Lock),
            ..
        } => true,
        Operation::Call { call, .. } => !call.always_changes(),
        _ => false,
    }
}

/// True for a call that waits for a mutex.
fn takes_lock(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Call {
            call: Call::Mutex(mutex::Call::Lock),
            ..
        }
    )
}

/// True for a call that registers a waiter of a condition variable.
fn begins_wait(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Call {
            call: Call::Condvar(condvar::Call::Wait { .. }),
            ..
        }
    )
}

/// The degree to which the threads of an execution are watched.
#[derive(Default)]
pub(super) struct Watch {
    /// True when operations are performed apart: their remains on the stack matter, or the
    /// execution has stopped.
    performs_apart: Cell<bool>,
    /// True when operations that a spin loop may repeat are performed apart.
    observes_apart: Cell<bool>,
    /// True when loops must be detected early.
    early: Cell<bool>,
    /// True when a loop that must be detected early ends the execution, which is then run again.
    on_demand: Cell<bool>,
    /// True when loops are tried before they are taken for ones that wait.
    tries: Cell<bool>,
    trials: Trials,
    /// True once an execution had to be run again: the program has loops.
    has_loops: Cell<bool>,
    /// True when the execution is to be run again.
    again: Cell<bool>,
    /// True when the next execution is not to be run again.
    is_last: Cell<bool>,
    /// By thread, the places where it has looked: a bit for some of them.
    places: RefCell<Vec<u64>>,
    /// True when any execution has read a shared value. A program that never does cannot spin.
    has_looked: Cell<bool>,
    /// True when a thread of a native program has read its clock in this execution.
    has_read_clock: Cell<bool>,
    /// The last reads, by thread.
    looks: RefCell<Vec<Looks>>,
    /// The largest part of a stack that was compared, and a margin.
    deepest: Cell<usize>,
    /// Data that belongs to the local state of the thread that is about to read.
    beside: Cell<Option<Bytes>>,
    /// Reply of the operation that was performed apart last. It is not on the caller's stack, where it
    /// would be part of the thread's state.
    reply: Cell<Reply>,
}

impl Watch {
    #[inline(always)]
    pub(super) fn performs_apart(&self) -> bool {
        self.performs_apart.get()
    }

    /// Records that this many bytes of a stack were compared.
    fn see(&self, length: usize) {
        if self.deepest.get() < length + BEYOND {
            self.deepest.set(length + BEYOND);
        }
    }

    fn start(&self, early: bool, on_demand: bool) {
        self.on_demand.set(on_demand);
        self.places.borrow_mut().clear();
        self.has_read_clock.set(false);
        self.early.set(early);
        self.performs_apart.set(early && self.has_looked.get());
        self.observes_apart.set(early);
        self.looks.borrow_mut().iter_mut().for_each(Looks::restart);
    }

    /// True when the execution is to be run again; forgets that.
    #[inline]
    pub(super) fn take_again(&self) -> bool {
        self.again.take()
    }

    /// True when the thread may have looked at this place before; records that it has.
    #[inline]
    fn sees_again(&self, thread: ThreadId, site: SiteId) -> bool {
        let mut places = self.places.borrow_mut();
        if places.len() <= thread.index() {
            places.resize(thread.index() + 1, 0);
        }
        let own = &mut places[thread.index()];
        let bit = 1 << (site.index() % 64);
        let known = *own & bit != 0;
        *own |= bit;
        known
    }

    /// Performs all operations apart from now on.
    pub(super) fn perform_apart(&self) {
        self.performs_apart.set(true);
        self.observes_apart.set(true);
    }
}

/// The argument of an operation that is performed apart.
struct Job<'a, F> {
    context: &'a Context,
    place: &'static Location<'static>,
    operation: ManuallyDrop<F>,
    looks: bool,
}

impl Context {
    /// Like [`Context::perform`], for operations that a spin loop may repeat. Inlined, and its
    /// callers should be too: the contents of a frame of its own would differ between the first
    /// round and later ones.
    #[inline(always)]
    pub fn observe(
        &self,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        if self.watch.observes_apart.get() {
            std::hint::cold_path();
            return self.run_apart(place, operation, true);
        }
        self.observe_in_passing(place, operation)
    }

    /// Like [`Context::observe`], with `data` that the thread owns as part of its local state; the
    /// value itself, without memory behind pointers.
    pub fn observe_beside<T>(
        &self,
        place: &'static Location<'static>,
        data: &T,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        let data = Bytes::of(data);
        if self.watch.observes_apart.get() {
            self.watch.beside.set(Some(data));
        }
        self.observe(place, operation)
    }

    /// Performs the operation and, in a long execution, looks for a loop. Not inlined: many copies
    /// of it would be slower.
    #[inline(never)]
    fn observe_in_passing(
        &self,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        let request = |world: &mut World, thread, operation, site| {
            if self.watch.on_demand.get() {
                if self.finds_loop(world, thread, &operation, site) {
                    return world.stop(Ending::Discarded);
                }
            } else if world.is_long() {
                self.look_up(world, thread);
            }
            world.request(thread, operation, site)
        };
        self.perform_by(place, operation, request)
    }

    /// True when the thread may be in a loop. Then the execution is run again, and its threads are watched
    /// from its beginning on.
    fn finds_loop(
        &self,
        world: &World,
        thread: ThreadId,
        operation: &Operation,
        site: SiteId,
    ) -> bool {
        let may_repeat = looks(operation)
            && self.watch.sees_again(thread, site)
            && world.may_repeat(thread, operation, site);
        if may_repeat {
            self.watch.has_loops.set(true);
            self.watch.again.set(true);
        }
        may_repeat
    }

    /// Like [`Context::perform`], but leaves the caller's stack unchanged.
    #[cold]
    #[inline(never)]
    pub(super) fn perform_apart(
        &self,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        self.run_apart(place, operation, false)
    }

    #[inline(always)]
    fn run_apart<F: FnOnce(&mut World) -> Operation>(
        &self,
        place: &'static Location<'static>,
        operation: F,
        looks: bool,
    ) -> Reply {
        let mut job = Job {
            context: self,
            place,
            operation: ManuallyDrop::new(operation),
            looks,
        };
        let job = (&raw mut job).cast();
        // SAFETY: the job has the type that `run` expects, and nothing else uses it before the call
        // returns.
        unsafe { apart(run::<F>, job) };
        self.watch.reply.get()
    }

    /// Keeps a copy of the value that a lock protects, which the calling thread has taken again after
    /// a time-out. A value with drop glue may own memory that a copy does not show, so it counts as
    /// changed.
    pub fn keep_locked<T>(&self, value: &T) {
        let value = Bytes::of(value);
        let is_comparable = !std::mem::needs_drop::<T>() && value.length <= MAX_BYTES;
        if !self.watch.observes_apart.get() || !is_comparable {
            return;
        }
        let mut looks = self.watch.looks.borrow_mut();
        if let Some(own) = looks.get_mut(self.thread.get().index()) {
            // SAFETY: the caller lends the value, and the thread has the lock.
            unsafe { own.keep_locked(value) };
        }
    }

    /// Zeroes the stack below the caller, where earlier calls have left bytes. A value that is
    /// returned or moved takes over such bytes as its padding.
    #[inline(always)]
    pub fn clear_below(&self) {
        if self.watch.observes_apart.get() {
            // SAFETY: memory below the stack pointer is not in use.
            unsafe { clear_below() };
        }
    }

    /// Runs code of raddle's own whose remains on the stack would differ from run to run.
    pub fn apart<W: FnOnce() -> R, R>(&self, work: W) -> R {
        struct Task<W, R> {
            work: Option<W>,
            result: Option<R>,
        }
        unsafe extern "C-unwind" fn run<W: FnOnce() -> R, R>(
            task: *mut (),
            _top: *const u8,
        ) -> u64 {
            // SAFETY: a mutable reference must be the only one: `task` is the variable below, and
            // nothing else uses it.
            let task = unsafe { &mut *task.cast::<Task<W, R>>() };
            task.result = task.work.take().map(|work| work());
            0
        }
        if !self.watch.observes_apart.get() {
            return work();
        }
        let mut task = Task {
            work: Some(work),
            result: None,
        };
        // SAFETY: the task has the type that `run` expects, and nothing else uses it before the
        // call returns.
        unsafe { apart(run::<W, R>, (&raw mut task).cast()) };
        task.result.expect("raddle: work that runs apart returns")
    }

    /// Like [`World::request`], for an operation that a spin loop may repeat, in a program whose
    /// stack is its own from `top` on; callee-saved registers are there, or in `beside`.
    #[inline(always)]
    pub(super) fn request_watched(
        &self,
        world: &mut World,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
        (top, registers): (*const u8, Option<&Registers>),
    ) -> Step {
        if self.watch.observes_apart.get() || self.is_timed(world, thread) {
            let registers = registers.map(Bytes::of);
            return self.request(world, thread, operation, site, (top, registers));
        }
        if world.is_long() {
            self.look_up(world, thread);
        }
        world.request(thread, operation, site)
    }

    /// Like [`World::request`], or like [`Context::request`] for a thread whose local state is
    /// given. Compiled once: its caller has an instance for each kind of operation and type of
    /// data, and inlining it there makes up most of the code of a test.
    #[inline(never)]
    fn request_apart(
        &self,
        world: &mut World,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
        state: Option<(*const u8, Option<Bytes>)>,
    ) -> Step {
        if self.watch.trials.takes_place() {
            return self.request_in_trial(world, thread, &operation, site);
        }
        match state {
            Some(state) => self.request(world, thread, operation, site, state),
            None => world.request(thread, operation, site),
        }
    }

    /// Performs the operation of a thread that takes single steps.
    #[cold]
    #[inline(never)]
    fn step_over(
        &self,
        place: &'static Location<'static>,
        operation: Operation,
        state: Option<(*const u8, Option<Bytes>)>,
    ) -> Reply {
        self.perform_stepped(operation, self.site(place), &mut || {
            let request = |world: &mut World, thread, operation, site| {
                self.request_apart(world, thread, operation, site, state)
            };
            self.perform_by(place, |_| operation, request)
        })
    }

    /// Like [`World::request`], unless the thread has been here before in the same local state.
    #[inline(always)]
    fn request(
        &self,
        world: &mut World,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
        (top, beside): (*const u8, Option<Bytes>),
    ) -> Step {
        if self.watch.on_demand.get() {
            return match self.finds_loop(world, thread, &operation, site) {
                true => world.stop(Ending::Discarded),
                false => world.request(thread, operation, site),
            };
        }
        let (events, quiet_since) = world.quiet(thread);
        let is_patient = !self.watch.early.get() && events - quiet_since < PATIENCE;
        if is_patient {
            let is_stepped = self.phase.get() == Phase::Stepped;
            self.watch.observes_apart.set(is_stepped);
        }
        // The rounds of a thread that reads the clock are found in every execution, as they change its time.
        if looks(&operation) && (!is_patient || self.is_timed(world, thread)) {
            let visit = self.last_visit(world, thread, &operation, site, (top, beside));
            if let Some(since) = visit.filter(|_| !is_patient) {
                let depth = self.end_of_stack(thread) as usize - top as usize;
                return self.request_again(world, operation, (thread, site, depth), since);
            }
        }
        world.request(thread, operation, site)
    }

    /// Requests an operation of a thread that is in the same local state as before its event number `since`. The
    /// first time, its loop is tried.
    fn request_again(
        &self,
        world: &mut World,
        operation: Operation,
        tried: Loop,
        since: u32,
    ) -> Step {
        let (thread, site, _) = tried;
        match self.watch.trials.verdict(tried) {
            Some(Verdict::Ends) => return world.request(thread, operation, site),
            Some(Verdict::Waits) => {}
            None => {
                let round = self
                    .watch
                    .tries
                    .get()
                    .then(|| world.quiet_round(thread, since));
                if let Some(round) = round.flatten() {
                    let reply = self.watch.trials.begin(tried, round);
                    return world.reply_off_the_record(thread, reply);
                }
            }
        }
        self.watch.trials.note_wait(tried);
        let looks = self.watch.looks.borrow();
        let states = AllLooks {
            looks: &looks,
            sees_plain_writes: !self.is_library(),
        };
        world.request_again(thread, operation, site, since, &states)
    }

    /// True when the thread has read the clock, and may be in a loop that does so again.
    #[inline]
    fn is_timed(&self, world: &World, thread: ThreadId) -> bool {
        let is_recent = || {
            let looks = self.watch.looks.borrow();
            let events = world.quiet(thread).0;
            (looks.get(thread.index())).is_some_and(|own| own.times.is_recent(events))
        };
        self.watch.has_read_clock.get() && is_recent()
    }

    fn is_library(&self) -> bool {
        self.program.dialect() == Dialect::Library
    }

    /// Returns the number of the thread's events at its last visit in the same local state, and keeps the state for
    /// the next one.
    #[inline(always)]
    fn last_visit(
        &self,
        world: &mut World,
        thread: ThreadId,
        operation: &Operation,
        site: SiteId,
        (top, beside): (*const u8, Option<Bytes>),
    ) -> Option<u32> {
        let (events, quiet_since) = world.quiet(thread);
        if !self.watch.has_looked.replace(true) {
            self.watch.performs_apart.set(true);
            // No event so far can be part of a round, which begins and ends with a read.
            world.watch();
        }
        // SAFETY: `top` comes from `apart` in the calling thread, whose frames are all between
        // it and the end. The thread does not continue before the comparison is done, so the
        // data lent to `observe_beside` still exists.
        let local = unsafe { Local::new(top, self.end_of_stack(thread), beside) };
        // A longer one is not compared: the handler of a signal may run on a stack of its own, far away.
        if local.stack.length <= MAX_BYTES {
            self.watch.see(local.stack.length);
        }
        let mut looks = self.watch.looks.borrow_mut();
        if looks.len() <= thread.index() {
            looks.resize_with(thread.index() + 1, Looks::default);
        }
        // Only a search that must find loops early uses rounds that cancel.
        let since = match self.watch.early.get() {
            true => world.undoable_since(thread),
            false => quiet_since,
        };
        let own = &mut looks[thread.index()];
        // Native programs report their writes, also those of data that a lock protects.
        if self.is_library() && begins_wait(operation) {
            own.compare_locked(events, beside);
        }
        let since = match takes_lock(operation) {
            true => since.max(own.changed_at),
            false => since,
        };
        let counts = Counts {
            events,
            since,
            quiet_since,
        };
        let Visit { since, calm } = own.repeats(counts, site, operation, local)?;
        let is_calm = |calm| world.has_same_events(thread, calm, (since, events));
        if !calm.is_none_or(is_calm) {
            own.times.begin_again();
            return None;
        }
        Some(since)
    }

    /// Sets whether the next execution is the last that may run: then it is watched from its beginning on, and not
    /// run again.
    #[inline]
    pub(crate) fn set_last(&self, is_last: bool) {
        self.watch.is_last.set(is_last);
    }

    /// Begins an execution.
    pub(super) fn start_watching(&self) {
        self.with_world(|world| {
            let capabilities = world.capabilities();
            let must_find = CAN_WATCH && capabilities.reads_repetitions;
            // A native program may keep what it has done in memory of its own.
            let is_last = self.watch.is_last.get();
            let is_repeatable = capabilities.begins_again && self.is_library() && !is_last;
            let begins_on_demand = capabilities.watches_on_demand && !self.watch.has_loops.get();
            let on_demand = must_find && is_repeatable && begins_on_demand;
            let early = must_find && !on_demand;
            if early && self.watch.on_demand.get() {
                // Those of executions that were not watched are not clean.
                self.forget_stacks();
            }
            self.watch.start(early, on_demand);
            self.watch.tries.set(early && is_repeatable);
            self.watch.trials.forget_trial();
            // Without a read there is no loop to find. The first read turns the watch on.
            if early && self.watch.has_looked.get() {
                world.watch();
            }
        });
    }

    /// Zeroes the compared part of a used stack, so that earlier executions do not matter.
    #[inline]
    pub(super) fn clean_stack(&self, stack: &OwnedStack) {
        // Whether a thread that reads the clock repeats a round must not depend on earlier executions.
        if !self.watch.early.get() && self.is_library() {
            return;
        }
        let (base, limit) = (stack.base(), stack.limit());
        // Below the limit is the guard page.
        let length = self.watch.deepest.get().min((base - limit) / 2);
        let mut end = base;
        while end > base - length {
            let piece = (end - (base - length)).min(PIECE);
            end -= piece;
            // SAFETY: writing needs memory that is not in use: no coroutine uses the stack, and
            // that much of it is writable.
            unsafe { std::ptr::write_bytes(end as *mut u8, 0, piece) };
        }
    }

    /// In a long execution: checks if the thread may be in a loop.
    fn look_up(&self, world: &mut World, thread: ThreadId) {
        world.watch();
        let (events, quiet_since) = world.quiet(thread);
        if CAN_WATCH && events - quiet_since >= PATIENCE {
            self.watch.observes_apart.set(true);
        }
    }

    /// Records a reading of the calling thread's clock, by a native program.
    pub(super) fn note_reading(&self, passed: Duration, events: u32) {
        let thread = self.thread.get().index();
        self.watch.has_read_clock.set(CAN_WATCH);
        let mut looks = self.watch.looks.borrow_mut();
        if looks.len() <= thread {
            looks.resize_with(thread + 1, Looks::default);
        }
        let own = &mut looks[thread];
        // Looks before the first reading are not recorded in every execution.
        if own.times.count() == 0 {
            own.clear();
        }
        own.times.record(passed, events);
    }

    /// Returns the time by which a wait of the calling thread is prolonged.
    pub(super) fn prolongs(&self, events: u32, quiet_since: u32) -> Duration {
        let mut looks = self.watch.looks.borrow_mut();
        let own = looks.get_mut(self.thread.get().index());
        own.map_or(Duration::ZERO, |own| {
            own.times.prolongs(events, quiet_since)
        })
    }

    /// Forgets the calling thread's reads, because its state has changed outside the stack.
    pub(super) fn forget_looks(&self) {
        let mut looks = self.watch.looks.borrow_mut();
        if let Some(looks) = looks.get_mut(self.thread.get().index()) {
            looks.clear();
        }
    }
}

unsafe extern "C-unwind" fn run<F: FnOnce(&mut World) -> Operation>(
    job: *mut (),
    top: *const u8,
) -> u64 {
    // SAFETY: `run_apart` passes a job of this type, and nothing else uses it.
    let job = unsafe { &mut *job.cast::<Job<'_, F>>() };
    let Job { context, place, .. } = *job;
    let beside = context.watch.beside.take();
    // SAFETY: `take` must be called once: a job is run once.
    let operation = unsafe { ManuallyDrop::take(&mut job.operation) };
    let state = job.looks.then_some((top, beside));
    let reply = match context.phase.get() {
        Phase::Stopped => context.perform_after_stop(place, operation),
        Phase::Stepped => {
            stop_steps();
            let operation = context.with_world(operation);
            context.step_over(place, operation, state)
        }
        Phase::Running => {
            let request = |world: &mut World, thread, operation, site| {
                context.request_apart(world, thread, operation, site, state)
            };
            context.perform_by(place, operation, request)
        }
    };
    context.watch.reply.set(reply);
    0
}
