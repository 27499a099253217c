//! The running check for native programs: `raddle-native` turns their calls and accesses into
//! operations.
//!
//! In contrast to the controlled types, places in the source are addresses of code and values are
//! identified by their addresses. Threads cannot be unwound, so threads left when an execution
//! stops are dropped where they are. Names of code and data are looked up only for a failure
//! report.

use std::time::Duration;

use raddle_engine::check::panic::{self, Manner, Panic};
use raddle_engine::object::Object;
use raddle_engine::{
    CellId, EventId, Execution, LocationId, ObjectId, Operation, Past, Reply, SiteId, Step,
    ThreadId, World, minimise,
};
use raddle_report::Place;

use super::clock::NATIVE_START;
use super::spin::Registers;
use super::things::{Made, UNKNOWN};
use super::{Context, current};

/// The top of the stack of a thread that waits in raddle, and the address of its callee-saved
/// registers, or 0.
#[derive(Clone, Copy)]
pub struct Top {
    /// The address of the last value on the stack.
    pub stack: usize,
    /// The address of the first of six words.
    pub registers: usize,
}

/// The running execution. All methods act for the running thread.
#[derive(Clone, Copy)]
pub struct Native<'a>(&'a Context);

impl Native<'_> {
    /// Returns the check that the calling OS thread runs.
    pub fn current() -> Option<Self> {
        current().map(Native)
    }

    /// Returns a number that is unique to this execution in the process.
    pub fn stamp(self) -> u64 {
        self.0.stamp()
    }

    /// Returns the running thread.
    pub fn thread(self) -> ThreadId {
        self.0.thread()
    }

    /// Performs the operation when the strategy chooses the thread. Does not return if the
    /// execution stops before that.
    #[inline]
    pub fn perform(self, code: usize, operation: impl FnOnce(&mut World) -> Operation) -> Reply {
        self.perform_by(code, operation, |world, thread, operation, site| {
            world.request(thread, operation, site)
        })
    }

    /// Like [`Native::perform`], for an operation that a spin loop may repeat. All program state
    /// that only this thread can change must be on its stack from `top` on and in registers, or
    /// [`Native::forget_looks`] must have been called when it changed.
    #[inline]
    pub fn observe(
        self,
        code: usize,
        top: Top,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        self.perform_by(code, operation, |world, thread, operation, site| {
            let stack = top.stack as *const u8;
            // SAFETY: the caller has stored the registers at this address, and waits until the call
            // returns.
            let registers = unsafe { (top.registers as *const Registers).as_ref() };
            (self.0).request_watched(world, thread, operation, site, (stack, registers))
        })
    }

    /// Records a change of thread state outside the stack.
    #[inline]
    pub fn forget_looks(self) {
        self.0.forget_looks();
    }

    /// True when an address is on the thread's stack, from `top` on.
    #[inline]
    pub fn is_on_stack(self, top: usize, address: usize) -> bool {
        (top..self.end_of_stack()).contains(&address)
    }

    /// Returns the end of the program's part of the thread's stack.
    pub fn end_of_stack(self) -> usize {
        self.0.end_of_stack(self.thread()) as usize
    }

    /// Moves the thread's code to another stack, which ends there.
    pub fn move_stack(self, end: usize) {
        let thread = self.thread();
        self.0.set_end_of_stack(thread, end as *const u8);
    }

    /// Returns the end of another thread's stack; the end of memory if it has none.
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
        if context.has_stopped() {
            context.give_up();
        }
        let (thread, site) = (context.thread.get(), self.site(code));
        let mut exploration = context.exploration.borrow_mut();
        let world = exploration.world();
        let operation = operation(world);
        if context.progress.wants_attention() {
            drop(exploration);
            context.cut(operation, site);
            context.give_up();
        }
        let step = request(world, thread, operation, site);
        if step == Step::Run(thread) {
            context.progress.beat();
            return world.reply(thread);
        }
        drop(exploration);
        context.suspend_for(step);
        if context.has_stopped() {
            context.give_up();
        }
        context.with_world(|world| world.reply(thread))
    }

    fn site(self, code: usize) -> SiteId {
        self.0.sites.borrow_mut().intern_code(code)
    }

    /// Creates a thread that runs `body`, on a stack that lasts until the execution is over.
    pub fn spawn(self, code: usize, body: impl FnOnce() + 'static) -> ThreadId {
        let child = self.perform(code, |_| Operation::Spawn).to_thread();
        // SAFETY: `add_coroutine` needs borrows that outlive the thread: `body` is `'static`.
        unsafe { self.0.add_coroutine(child, UNKNOWN, None, body) };
        child
    }

    /// Registers the location at an address.
    pub fn add_location(
        self,
        world: &mut World,
        kind: &'static str,
        address: usize,
        initial: u64,
    ) -> LocationId {
        let location = world.add_location(initial);
        world.name_location(location, kind);
        if let Some(name) = self.0.variable_at(address) {
            world.call_location(location, name, None);
        }
        let mut locations = self.0.locations.borrow_mut();
        locations.add_at(address, Made::at_address(kind));
        location
    }

    /// Registers the object at an address.
    pub fn add_object(
        self,
        world: &mut World,
        kind: &'static str,
        address: usize,
        state: Object,
    ) -> ObjectId {
        let object = world.add_object(state);
        world.name_object(object, kind);
        if let Some(name) = self.0.variable_at(address) {
            world.call_object(object, name, None);
        }
        self.0
            .objects
            .borrow_mut()
            .add_at(address, Made::at_address(kind));
        object
    }

    /// Registers the cell at an address.
    pub fn add_cell(self, kind: &'static str, address: usize) -> CellId {
        self.0
            .cells
            .borrow_mut()
            .add_at(address, Made::at_address(kind));
        self.0.with_world(World::add_cell)
    }

    /// Splits a part of a cell off into a cell of its own.
    pub fn split_cell(self, kind: &'static str, address: usize, cell: CellId) -> CellId {
        self.0
            .cells
            .borrow_mut()
            .add_at(address, Made::at_address(kind));
        self.0.with_world(|world| world.split_cell(cell))
    }

    /// Records a plain read or write of a cell; returns true if it is a race.
    #[inline]
    pub fn access(self, cell: CellId, writes: bool, code: usize) -> bool {
        let (thread, site) = (self.0.thread.get(), self.site(code));
        let access = |world: &mut World| world.access_cell(thread, cell, writes, site);
        self.0.with_world(access)
    }

    /// Sets the value of the last store to a location, which was unknown before.
    pub fn set_stored_value(self, location: LocationId, value: u64) {
        let set = |world: &mut World| world.set_stored_value(location, value);
        self.0.with_world(set);
    }

    /// Returns the number of events of the thread.
    pub fn events(self) -> u32 {
        let thread = self.0.thread.get();
        self.0.with_world(|world| world.events_of(thread))
    }

    /// True when an action of another thread, which had `index` events then, happens before this
    /// thread's next event.
    pub fn happens_before(self, other: ThreadId, index: u32) -> bool {
        let thread = self.0.thread.get();
        self.0
            .with_world(|world| world.happens_before(thread, other, index))
    }

    /// As [`happens_before`](Self::happens_before), including clocks that were
    /// [acquired](Self::acquire) without an event.
    pub fn happens_before_or_granted(self, other: ThreadId, index: u32) -> bool {
        let thread = self.0.thread.get();
        self.0
            .with_world(|world| world.happens_before_or_granted(thread, other, index))
    }

    /// True when an event precedes this thread's next event in the order of conflicting events.
    pub fn precedes(self, first: EventId) -> bool {
        let thread = self.0.thread.get();
        self.0
            .with_exploration(|it| minimise::precedes(it.execution(), first, thread))
    }

    /// Calls `use_it` with the world.
    pub fn with_world<R>(self, use_it: impl FnOnce(&mut World) -> R) -> R {
        self.0.with_world(use_it)
    }

    /// Sets a clock to `hb` of the thread, by its events alone.
    pub fn hb(self, clock: &mut Vec<u32>) {
        let thread = self.0.thread.get();
        self.0.with_world(|world| world.hb(thread, clock));
    }

    /// Sets a clock to the one that the thread releases by an action that is no event.
    pub fn release_clock(self, clock: &mut Vec<u32>) {
        let thread = self.0.thread.get();
        self.0
            .with_world(|world| world.release_clock(thread, clock));
    }

    /// Joins a released clock into `hb` of the thread's later events.
    pub fn acquire(self, clock: &[u32]) {
        let thread = self.0.thread.get();
        self.0.with_world(|world| world.acquire(thread, clock));
    }

    /// Names the thread in reports.
    pub fn name_thread(self, thread: ThreadId, name: String) {
        self.0.with_world(|world| world.name_thread(thread, name));
    }

    /// Registers a cell with its last write and the last read since then: the thread, its number of
    /// events, and the code.
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

    /// Records that the thread's last operation was an atomic one on a cell; returns true if it is
    /// a race.
    pub fn check_atomic(self, cell: CellId) -> bool {
        let thread = self.0.thread.get();
        self.0.with_world(|world| world.check_atomic(thread, cell))
    }

    /// Records a plain access of a cell that contains these locations; returns true if it is a
    /// race.
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

    /// True when every access is recorded, for traces.
    pub fn keeps_accesses(self) -> bool {
        self.0.with_world(|world| world.keeps_accesses())
    }

    /// Returns the last value written to a location.
    #[inline]
    pub fn last_value(self, location: LocationId) -> u64 {
        let exploration = self.0.exploration.borrow();
        exploration.execution().locations[location.index()].value
    }

    /// Stops the execution with a failure that the program has detected. The thread must end then.
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

    /// Returns the number of events of the execution.
    pub fn count_events(self) -> usize {
        self.0.with_exploration(|it| it.execution().events.len())
    }

    /// Records that the thread, which has ended, panicked after this number of events of the
    /// execution. Another thread may have joined it already.
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

    /// Marks the panic of `thread`, if it ended by one, as joined by the running thread.
    pub fn join_panic(self, thread: ThreadId) {
        self.0.join_panic(thread);
    }

    /// True when the thread ended by a panic.
    pub fn has_panicked(self) -> bool {
        let thread = self.0.thread.get();
        self.0.with_exploration(|it| {
            let mut panics = it.execution().panics.iter();
            panics.any(|panic| panic.thread == thread)
        })
    }

    /// True when the program has not handled a panic.
    pub fn has_unhandled_panic(self) -> bool {
        self.0
            .with_exploration(|it| panic::unhandled(it.execution()).is_some())
    }

    /// Marks all panics of this execution as handled.
    pub fn forgive_panics(self) {
        self.0.with_world(World::forgive_panics);
    }

    /// Reports the running execution before the process ends because of a failure of the running
    /// thread.
    pub fn report_before_end(self, message: String) {
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

    /// Returns the instruction of a site.
    pub fn code(self, site: SiteId) -> Option<usize> {
        self.0.places().code(site)
    }

    /// Returns the name of a thread in reports.
    pub fn title(self, thread: ThreadId) -> String {
        title_in(self.0.exploration.borrow().execution(), thread)
    }

    /// As [`title`](Self::title); `None` while an operation is performed.
    pub fn try_title(self, thread: ThreadId) -> Option<String> {
        let exploration = self.0.exploration.try_borrow().ok()?;
        Some(title_in(exploration.execution(), thread))
    }

    /// Ends the program, independently of its other threads.
    pub fn end_program(self) {
        self.0.with_world(World::end_program);
    }

    /// Returns the place in the source of an instruction, as text.
    pub fn place(self, code: usize) -> Option<String> {
        let Place { file, line, column } = self.0.program.place(code)?;
        Some(format!("{file}:{line}:{column}"))
    }

    /// Returns the name of the variable at an address.
    pub fn variable(self, address: usize) -> Option<String> {
        self.0.program.variable(address)
    }

    /// Describes the block of memory at an address.
    pub fn memory(self, address: usize) -> Option<String> {
        self.0.program.memory(address)
    }

    /// Advances the thread's clock by a wait of this duration.
    pub fn pass_time(self, time: Duration) {
        let thread = self.0.thread.get();
        if let Ok(mut exploration) = self.0.exploration.try_borrow_mut() {
            exploration.world().note_wait(thread);
        }
        self.0.pass_time(time);
    }

    /// Advances the thread's clock to the end of another thread, which it has joined.
    pub fn wait_as_long_as(self, other: ThreadId) {
        self.0.wait_as_long_as(other);
    }

    /// Returns the time on the thread's clock, for the program.
    pub fn now(self) -> Duration {
        NATIVE_START + self.read_clock()
    }

    /// Returns the time since the execution began on the thread's clock, for the program.
    pub fn read_clock(self) -> Duration {
        self.0.now().saturating_duration_since(self.0.epoch)
    }

    /// Returns the time until `deadline` on the thread's clock. The program does not learn it.
    pub fn time_until(self, deadline: Duration) -> Duration {
        deadline.saturating_sub(NATIVE_START + self.0.passed())
    }

    /// True when the thread may wake up without a notification.
    pub fn may_wake_spuriously(self) -> bool {
        self.0.may_wake_spuriously()
    }

    /// Counts a wake-up of the thread without a notification.
    pub fn count_spurious_wakeup(self) {
        self.0.count_spurious_wakeup();
    }

    /// True when a wait may time out.
    pub fn may_time_out(self) -> bool {
        self.0.may_time_out()
    }

    /// True when a weak compare-exchange may fail spuriously.
    pub fn may_fail_spuriously(self) -> bool {
        self.0.may_fail_spuriously()
    }

    /// True when the last compare-exchange failed spuriously, which is then counted.
    pub fn has_failed_spuriously(self) -> bool {
        self.0.has_failed_spuriously()
    }
}

/// Returns the name of a thread, or its path if it has none.
fn title_in(execution: &Execution, thread: ThreadId) -> String {
    let name = execution.threads[thread.index()].name.clone();
    name.unwrap_or_else(|| execution.path(thread).to_string())
}
