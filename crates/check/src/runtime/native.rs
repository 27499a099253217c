//! The running check as a program sees it that is no Rust program: `raddle-native` turns what such a
//! program does into operations.
//!
//! What differs from the controlled types: places in the source are addresses of code, things are
//! known by their addresses, and nothing can be unwound, so threads that are left when an execution
//! stops are dropped where they stand. What code and data are called is only asked when a story is
//! told.

use std::time::Duration;

use raddle_engine::check::panic::{self, Manner, Panic};
use raddle_engine::object::Object;
use raddle_engine::{
    CellId, LocationId, ObjectId, Operation, Past, Reply, SiteId, Step, ThreadId, World,
};
use raddle_report::Place;

use super::spin::Registers;
use super::things::{Made, UNKNOWN};
use super::{Context, current};

/// Where the stack of a thread begins that waits until something is done for it, and where its registers
/// are that outlast a call, or 0.
#[derive(Clone, Copy)]
pub struct Top {
    /// The last that was put on the stack.
    pub stack: usize,
    /// The first of six words.
    pub registers: usize,
}

/// The running execution. Everything here is for the thread that runs.
#[derive(Clone, Copy)]
pub struct Native<'a>(&'a Context);

impl Native<'_> {
    /// The check that the calling OS thread runs.
    pub fn current() -> Option<Self> {
        current().map(Native)
    }

    /// A number that no other execution of the process has.
    pub fn stamp(self) -> u64 {
        self.0.stamp()
    }

    /// The thread that runs.
    pub fn thread(self) -> ThreadId {
        self.0.thread()
    }

    /// The thread does what `operation` says when its turn comes. Does not return if the execution
    /// stops before that.
    #[inline]
    pub fn perform(self, code: usize, operation: impl FnOnce(&mut World) -> Operation) -> Reply {
        self.perform_by(code, operation, |world, thread, operation, site| {
            world.request(thread, operation, site)
        })
    }

    /// The same for an operation that a loop may do again and again while it waits. All of the program's
    /// state that only this thread can change is on its stack from `top` on and in registers, or
    /// [`Native::forget_looks`] was called when it changed.
    #[inline]
    pub fn observe(
        self,
        code: usize,
        top: Top,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        self.perform_by(code, operation, |world, thread, operation, site| {
            let stack = top.stack as *const u8;
            // SAFETY: whoever says where they are has put them there, and waits until this is done.
            let registers = unsafe { (top.registers as *const Registers).as_ref() };
            (self.0).request_watched(world, thread, operation, site, (stack, registers))
        })
    }

    /// The thread has changed something that is not on its stack.
    #[inline]
    pub fn forget_looks(self) {
        self.0.forget_looks();
    }

    /// Whether an address is on the thread's stack, from `top` on.
    #[inline]
    pub fn is_on_stack(self, top: usize, address: usize) -> bool {
        (top..self.end_of_stack()).contains(&address)
    }

    /// Where the thread's stack ends, as far as it is the program's.
    pub fn end_of_stack(self) -> usize {
        self.0.end_of_stack(self.thread()) as usize
    }

    /// The thread's code runs on another stack, which ends there.
    pub fn move_stack(self, end: usize) {
        let thread = self.thread();
        self.0.set_end_of_stack(thread, end as *const u8);
    }

    /// The same for another thread; the end of memory if it has none.
    pub fn end_of_stack_of(self, thread: ThreadId) -> usize {
        let slots = self.0.slots.borrow();
        let slot = slots.get(thread.index());
        let end = slot.map_or(0, |_| self.0.end_of_stack(thread) as usize);
        if end == 0 { usize::MAX } else { end }
    }

    #[inline(always)]
    fn perform_by(
        self,
        code: usize,
        operation: impl FnOnce(&mut World) -> Operation,
        request: impl FnOnce(&mut World, ThreadId, Operation, SiteId) -> Step,
    ) -> Reply {
        let context = self.0;
        if context.stopped.get() {
            context.give_up();
        }
        let (thread, site) = (context.thread.get(), self.site(code));
        let mut exploration = context.exploration.borrow_mut();
        let world = exploration.world();
        let operation = operation(world);
        let step = request(world, thread, operation, site);
        if step == Step::Run(thread) {
            context.progress.beat();
            return world.reply(thread);
        }
        drop(exploration);
        context.step.set(step);
        context.suspend();
        if context.stopped.get() {
            context.give_up();
        }
        context.with_world(|world| world.reply(thread))
    }

    fn site(self, code: usize) -> SiteId {
        self.0.sites.borrow_mut().intern_code(code)
    }

    /// Creates a thread that will run `body`, on a stack that is there until the execution is over.
    pub fn spawn(self, code: usize, body: impl FnOnce() + 'static) -> ThreadId {
        let child = self.perform(code, |_| Operation::Spawn).to_thread();
        // SAFETY: nothing is borrowed.
        unsafe { self.0.add_coroutine(child, UNKNOWN, None, body) };
        child
    }

    /// Makes the location at an address known.
    pub fn add_location(
        self,
        world: &mut World,
        kind: &'static str,
        address: usize,
        initial: u64,
    ) -> LocationId {
        let location = world.add_location(initial);
        world.name_location(location, kind);
        let mut locations = self.0.locations.borrow_mut();
        locations.add_at(address, Made::at_address(kind));
        location
    }

    /// Makes the object at an address known.
    pub fn add_object(
        self,
        world: &mut World,
        kind: &'static str,
        address: usize,
        state: Object,
    ) -> ObjectId {
        let object = world.add_object(state);
        world.name_object(object, kind);
        self.0
            .objects
            .borrow_mut()
            .add_at(address, Made::at_address(kind));
        object
    }

    /// Makes a piece of memory known.
    pub fn add_cell(self, kind: &'static str, address: usize) -> CellId {
        self.0
            .cells
            .borrow_mut()
            .add_at(address, Made::at_address(kind));
        self.0.with_world(World::add_cell)
    }

    /// A part of a piece of memory becomes a piece of its own.
    pub fn split_cell(self, kind: &'static str, address: usize, cell: CellId) -> CellId {
        self.0
            .cells
            .borrow_mut()
            .add_at(address, Made::at_address(kind));
        self.0.with_world(|world| world.split_cell(cell))
    }

    /// The thread reads or writes a piece of memory. Whether that is a race.
    #[inline]
    pub fn access(self, cell: CellId, writes: bool, code: usize) -> bool {
        let (thread, site) = (self.0.thread.get(), self.site(code));
        let access = |world: &mut World| world.access_cell(thread, cell, writes, site);
        self.0.with_world(access)
    }

    /// The last store to a location has written this value, which nobody knew before.
    pub fn settle_store(self, location: LocationId, value: u64) {
        let settle = |world: &mut World| world.settle_store(location, value);
        self.0.with_world(settle);
    }

    /// How many events the thread has had.
    pub fn events(self) -> u32 {
        let thread = self.0.thread.get();
        self.0.with_world(|world| world.events_of(thread))
    }

    /// True when an action of another thread, which had `index` events then, happens before what this
    /// thread does now.
    pub fn happens_before(self, other: ThreadId, index: u32) -> bool {
        let thread = self.0.thread.get();
        self.0
            .with_world(|world| world.happens_before(thread, other, index))
    }

    /// Looks at the world, or changes what is no event.
    pub fn with_world<R>(self, use_it: impl FnOnce(&mut World) -> R) -> R {
        self.0.with_world(use_it)
    }

    /// Sets a clock to `hb` of the thread, by its events alone.
    pub fn hb(self, clock: &mut Vec<u32>) {
        let thread = self.0.thread.get();
        self.0.with_world(|world| world.hb(thread, clock));
    }

    /// Sets a clock to the one that an action of the thread releases if the action is no event.
    pub fn release_clock(self, clock: &mut Vec<u32>) {
        let thread = self.0.thread.get();
        self.0
            .with_world(|world| world.release_clock(thread, clock));
    }

    /// Joins a released clock into `hb` of what the thread does from now on.
    pub fn acquire(self, clock: &[u32]) {
        let thread = self.0.thread.get();
        self.0.with_world(|world| world.acquire(thread, clock));
    }

    /// What stories call the thread.
    pub fn name_thread(self, thread: ThreadId, name: String) {
        self.0.with_world(|world| world.name_thread(thread, name));
    }

    /// Makes a piece of memory known, with its last write and the last read since then: who, after how
    /// many events, and where.
    pub fn adopt_cell(
        self,
        kind: &'static str,
        address: usize,
        [write, read]: [Option<(ThreadId, u32, usize)>; 2],
    ) -> CellId {
        self.0
            .cells
            .borrow_mut()
            .add_at(address, Made::at_address(kind));
        let past = |(thread, index, code)| Past {
            thread,
            index,
            site: self.site(code),
        };
        let (write, read) = (write.map(past), read.map(past));
        self.0.with_world(|world| world.adopt_cell(write, read))
    }

    /// The thread's last operation was an atomic one on a piece of memory. Whether that is a race.
    pub fn check_atomic(self, cell: CellId) -> bool {
        let thread = self.0.thread.get();
        self.0.with_world(|world| world.check_atomic(thread, cell))
    }

    /// The thread accesses a piece of memory plainly in which these locations are. Whether that is a race.
    pub fn check_plain(
        self,
        cell: CellId,
        writes: bool,
        code: usize,
        is_there: impl Fn(LocationId) -> bool,
    ) -> bool {
        let (thread, site) = (self.0.thread.get(), self.site(code));
        self.0
            .with_world(|world| world.check_plain(thread, cell, writes, site, is_there))
    }

    /// Whether every access is to be told, for those who want to see more than what is wrong.
    pub fn keeps_accesses(self) -> bool {
        self.0.with_world(|world| world.keeps_accesses())
    }

    /// The last value that was written to a location.
    #[inline]
    pub fn last_value(self, location: LocationId) -> u64 {
        let exploration = self.0.exploration.borrow();
        exploration.execution().locations[location.index()].value
    }

    /// The program found out that something is wrong. The thread must end then.
    pub fn fail(self, manner: Manner, message: String, place: Option<String>) {
        let thread = self.0.thread.get();
        self.0.with_world(|world| {
            let after = world.state().execution().events.len();
            world.add_panic(Panic {
                thread,
                manner,
                message,
                place,
                after,
                joined_by: None,
            });
        });
    }

    /// How many events there are.
    pub fn count_events(self) -> usize {
        self.0.with_exploration(|it| it.execution().events.len())
    }

    /// The thread, which is at its end, has panicked when there were so many events.
    /// Another thread may know of it already.
    pub fn add_panic(
        self,
        message: String,
        place: Option<String>,
        after: usize,
        joined_by: Option<ThreadId>,
    ) {
        let panic = Panic {
            thread: self.0.thread.get(),
            manner: Manner::Panic,
            message,
            place,
            after,
            joined_by,
        };
        self.0.with_world(|world| world.add_panic(panic));
    }

    /// If `thread` ended by a panic, the one that runs knows.
    pub fn join_panic(self, thread: ThreadId) {
        self.0.join_panic(thread);
    }

    /// Whether the thread ended by a panic.
    pub fn has_panicked(self) -> bool {
        let thread = self.0.thread.get();
        self.0.with_exploration(|it| {
            let mut panics = it.execution().panics.iter();
            panics.any(|panic| panic.thread == thread)
        })
    }

    /// Whether there was a panic that the program has not dealt with.
    pub fn has_unhandled_panic(self) -> bool {
        self.0
            .with_exploration(|it| panic::unhandled(it.execution()).is_some())
    }

    /// No panic of this execution is a failure.
    pub fn forgive_panics(self) {
        self.0.with_world(World::forgive_panics);
    }

    /// Tells the story of the running execution, whose process is about to end: something is wrong with
    /// the thread that runs.
    pub fn tell_last(self, message: String) {
        let context = self.0;
        let after = context
            .try_exploration()
            .map_or(0, |exploration| exploration.execution().events.len());
        let panic = Panic {
            thread: context.thread.get(),
            manner: Manner::Crash,
            message,
            place: None,
            after,
            joined_by: None,
        };
        context.fatal.report_panic(context, &panic);
    }

    /// The instruction that a site is.
    pub fn code(self, site: SiteId) -> Option<usize> {
        self.0.places().code(site)
    }

    /// What stories call a thread.
    pub fn title(self, thread: ThreadId) -> String {
        let exploration = self.0.exploration.borrow();
        let execution = exploration.execution();
        let name = execution.threads[thread.index()].name.clone();
        name.unwrap_or_else(|| execution.path(thread).to_string())
    }

    /// The program is over, whatever its other threads do.
    pub fn end_program(self) {
        self.0.with_world(World::end_program);
    }

    /// Where an instruction comes from, as text.
    pub fn place(self, code: usize) -> Option<String> {
        let Place { file, line, column } = self.0.program.place(code)?;
        Some(format!("{file}:{line}:{column}"))
    }

    /// The thread has waited so long.
    pub fn pass_time(self, time: Duration) {
        self.0.pass_time(time);
    }

    /// The thread has waited until another was at its end.
    pub fn wait_as_long_as(self, other: ThreadId) {
        self.0.wait_as_long_as(other);
    }

    /// How much time has passed on the thread's clock.
    pub fn passed(self) -> Duration {
        self.0.now().saturating_duration_since(self.0.epoch)
    }

    /// Whether the thread may wake up without a notification.
    pub fn may_wake_spuriously(self) -> bool {
        self.0.may_wake_spuriously()
    }

    /// The thread has woken up without a notification.
    pub fn count_spurious_wakeup(self) {
        self.0.count_spurious_wakeup();
    }

    /// Whether the time of a wait may run out.
    pub fn may_time_out(self) -> bool {
        self.0.may_time_out()
    }

    /// Whether a weak compare-exchange may fail for no reason.
    pub fn may_fail_spuriously(self) -> bool {
        self.0.may_fail_spuriously()
    }

    /// Whether the last one did, which then is counted.
    pub fn has_failed_spuriously(self) -> bool {
        self.0.has_failed_spuriously()
    }
}
