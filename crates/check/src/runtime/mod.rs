//! The substrate: every modelled thread is a coroutine on the OS thread that runs the check.
//!
//! Controlled types find the [`Context`] of the running check in a thread-local and pass operations
//! to [`Context::perform`], where they are suspended while other threads run. The engine decides
//! which thread runs; this module only switches. Threads left over when an execution stops early
//! are in `abandon`.

mod abandon;
pub mod alloc;
mod cells;
mod clock;
mod coroutine;
pub(crate) mod deadline;
pub mod declarations;
mod early_frees;
mod environment;
pub(crate) mod fatal;
pub mod foreign;
pub(crate) mod identity;
mod ignored;
mod image;
pub(crate) mod interrupts;
mod leftovers;
mod locals;
pub mod native;
mod overflow;
mod panics;
mod parking;
mod progress;
mod reached;
pub(crate) mod sampled_clock;
mod sites;
mod slots;
mod spin;
mod stacks;
pub mod statics;
mod std_locals;
mod sweep;
mod switch;
mod things;
mod undropped;
pub(crate) mod watchdog;

use std::cell::{Cell, Ref, RefCell};
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;

use raddle_engine::check::foreign::ForeignUse;
use raddle_engine::check::memory_error::Moment;
use raddle_engine::memory::happens_before;
use raddle_engine::object::Object;
use raddle_engine::object::once::Once;
use raddle_engine::{
    ChangedSite, Execution, Exploration, LocationId, ObjectId, Operation, Reply, SiteId, Step,
    ThreadId, ThreadPath, WaitId, World,
};
use raddle_report::{Names, Place};

use crate::program::{Dialect, Program};
use fatal::FatalReporter;
use foreign::{Intrusion, Intrusions, Registration};
use identity::Stamps;
use sites::Sites;
use slots::Slots;
use things::Things;

pub use abandon::Abandoned;
pub use cells::{Ongoing, OngoingByPointer};
pub(crate) use coroutine::run_execution;
pub use identity::Identity;
pub use leftovers::FOUND_AT_END;
pub use locals::{FoundLocal, LocalId};
pub(crate) use overflow::install as install_overflow_handler;
pub use panics::panicked_literal;
pub(crate) use panics::{install_hook, message as panic_message};
pub(crate) use progress::Progress;
pub(crate) use sites::Places;
pub(crate) use std_locals::SharedLocals;
pub use things::Made;
pub use undropped::MustDrop;

thread_local! {
    static CURRENT: Cell<*const Context> = const { Cell::new(std::ptr::null()) };
}

/// Returns the check that the calling thread belongs to, if any.
#[inline]
pub fn current<'a>() -> Option<&'a Context> {
    let context = CURRENT.get();
    // SAFETY: the pointer is set only while `coroutine::resume` runs a coroutine of that context
    // on this OS thread, and the context outlives that call. Callers use the reference within a
    // single operation of that coroutine.
    unsafe { context.as_ref() }
}

/// Runs the user's code that is not part of the program under test as if there were no check.
pub(crate) fn outside<R>(run: impl FnOnce() -> R) -> R {
    struct Restore(*const Context);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _aside = alloc::aside();
    let _restore = Restore(CURRENT.replace(std::ptr::null()));
    run()
}

/// The phase of an execution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Like `Running`; between their operations, threads may take single steps.
    Stepped,
    /// The execution has stopped, and its remaining threads are being unwound.
    Stopped,
}

/// A running check.
pub struct Context {
    exploration: RefCell<Exploration>,
    program: &'static dyn Program,
    /// The program's answer to [`Program::fixes_stacks`], cached because each thread needs it.
    fixes_stacks: bool,
    /// Shared with the watchdog.
    progress: Arc<Progress>,
    /// Reports the execution if the process ends in the middle of it.
    fatal: Arc<dyn FatalReporter>,
    slots: RefCell<Slots>,
    /// Stacks to reuse.
    stacks: RefCell<stacks::Stacks>,
    stack_size: usize,
    /// The beginning of virtual time.
    epoch: Instant,
    /// The thread whose coroutine is running.
    thread: Cell<ThreadId>,
    /// The engine's decision when the running coroutine was last suspended.
    step: Cell<Step>,
    /// The loop that runs threads, while one of them runs.
    driver: switch::Driver,
    /// True while threads switch to each other without the driver.
    is_direct: Cell<bool>,
    /// A panic of raddle's own, on its way from a thread that ended to the driver.
    own_panic: RefCell<Option<Box<dyn std::any::Any + Send>>>,
    phase: Cell<Phase>,
    /// Number of suspended threads in the middle of unwinding.
    unwinding: Cell<usize>,
    /// Number of threads in this check whose stacks were dropped without unwinding.
    dropped_stacks: Cell<usize>,
    leftovers: leftovers::Leftovers,
    /// The last panic of each thread that the hook has recorded.
    last_panics: RefCell<Vec<panics::Noted>>,
    stamp: Cell<u64>,
    stamps: RefCell<Stamps>,
    sites: RefCell<Sites>,
    /// State for detecting spin loops.
    watch: spin::Watch,
    locations: RefCell<Things>,
    objects: RefCell<Things>,
    cells: RefCell<Things>,
    /// Cells that were dropped, by address.
    dropped: RefCell<Vec<(usize, Moment)>>,
    unordered_drops: RefCell<Vec<early_frees::UnorderedDrop>>,
    undropped: RefCell<Vec<Option<undropped::Entry>>>,
    /// The times that other threads may take over.
    advances: RefCell<clock::Advances>,
    /// The reason why the next operation cannot happen.
    fault: Cell<Option<cells::Fault>>,
    statics: RefCell<statics::Statics>,
    locals: RefCell<locals::Locals>,
    std_locals: RefCell<std_locals::StdLocals>,
    names_variables: Cell<bool>,
    reuses_memory: Cell<bool>,
    /// True when accesses of ignored locations are left out of the search.
    ignores: Cell<bool>,
    /// True when declarations and uses of the data in locks are recorded.
    keeps_data_uses: Cell<bool>,
    /// True when labels of events are recorded.
    keeps_labels: Cell<bool>,
    /// Values whose parts the program declares to belong together: the execution, a name and addresses.
    structs: RefCell<Vec<(u64, String, std::ops::Range<usize>)>>,
    /// Registers the stamps of the check; `None` for programs that do not use raddle's types.
    registration: RefCell<Option<Registration>>,
    intrusions: Arc<Intrusions>,
    /// Number of marks of foreign threads when the execution began.
    marks_before: Cell<u64>,
    /// Operations that differ from those of the program, with their places as text.
    changes: RefCell<Vec<ChangedSite<String>>>,
    /// The states that the program marks.
    states: RefCell<reached::States>,
}

impl Context {
    pub(crate) fn new(
        exploration: Exploration,
        program: &'static dyn Program,
        stack_size: usize,
        fatal: Arc<dyn FatalReporter>,
    ) -> Self {
        let registration = (program.dialect() == Dialect::Library).then(Registration::new);
        let intrusions = registration.as_ref().map(|it| Arc::clone(&it.intrusions));
        Context {
            exploration: RefCell::new(exploration),
            program,
            fixes_stacks: program.fixes_stacks(),
            progress: Arc::new(Progress::new()),
            fatal,
            slots: RefCell::default(),
            stacks: RefCell::default(),
            stack_size,
            epoch: Instant::now(),
            thread: Cell::new(ThreadId::MAIN),
            step: Cell::new(Step::Stop),
            driver: switch::Driver::new(),
            is_direct: Cell::new(false),
            own_panic: RefCell::default(),
            phase: Cell::new(Phase::Running),
            // Inside a destructor that runs because of a panic, std always answers that the thread
            // panics.
            unwinding: Cell::new(usize::from(std::thread::panicking())),
            dropped_stacks: Cell::new(0),
            leftovers: leftovers::Leftovers::default(),
            last_panics: RefCell::default(),
            stamp: Cell::new(0),
            stamps: RefCell::new(Stamps::new()),
            sites: RefCell::new(Sites::new(Arc::new(Places::new(program)))),
            watch: spin::Watch::default(),
            locations: RefCell::default(),
            objects: RefCell::default(),
            cells: RefCell::default(),
            dropped: RefCell::default(),
            unordered_drops: RefCell::default(),
            undropped: RefCell::default(),
            advances: RefCell::default(),
            fault: Cell::new(None),
            statics: RefCell::default(),
            locals: RefCell::default(),
            std_locals: RefCell::default(),
            names_variables: Cell::new(false),
            ignores: Cell::new(false),
            reuses_memory: Cell::new(false),
            keeps_data_uses: Cell::new(false),
            keeps_labels: Cell::new(false),
            structs: RefCell::default(),
            registration: RefCell::new(registration),
            intrusions: intrusions.unwrap_or_default(),
            marks_before: Cell::new(0),
            changes: RefCell::default(),
            states: RefCell::default(),
        }
    }

    /// Changes the operations at these places, which are texts. Called before the first execution.
    pub(crate) fn set_changes(&self, changes: &[ChangedSite<String>]) {
        *self.changes.borrow_mut() = changes.to_vec();
        self.apply_changes();
    }

    fn apply_changes(&self) {
        let changes = self.changes.borrow();
        if !changes.is_empty() {
            let places = self.places();
            let changes = changes.iter().map(|it| it.at(places.of_text(&it.site)));
            self.with_world(|world| world.set_changes(changes.collect()));
        }
    }

    /// Sets the reuse of memory: with true, a thread's allocation gets the block of that size that
    /// it freed last.
    pub(crate) fn set_reuses_memory(&self, reuses: bool) {
        self.reuses_memory.set(reuses);
    }

    /// True when a thread's allocation gets the block of that size that it freed last.
    pub(crate) fn reuses_memory(&self) -> bool {
        self.reuses_memory.get()
    }

    /// Uses the site numbers of other workers of the same check. Called before the first execution.
    pub(crate) fn share_places(&self, places: &Arc<Places>) {
        *self.sites.borrow_mut() = Sites::new(Arc::clone(places));
        self.apply_changes();
    }

    /// Returns the places that the workers of the check have used.
    pub(crate) fn places(&self) -> Arc<Places> {
        Arc::clone(self.sites.borrow().places())
    }

    /// Returns the program under test.
    pub(crate) fn program(&self) -> &'static dyn Program {
        self.program
    }

    /// Returns the exploration with its counts, when no execution is left to run.
    pub(crate) fn into_exploration(self) -> Exploration {
        self.exploration.into_inner()
    }

    /// Calls `use_it` with the exploration; `use_it` must not call user code.
    pub(crate) fn with_exploration<R>(&self, use_it: impl FnOnce(&mut Exploration) -> R) -> R {
        use_it(&mut self.exploration.borrow_mut())
    }

    /// Returns the exploration unless it is borrowed mutably.
    pub(crate) fn try_exploration(&self) -> Option<Ref<'_, Exploration>> {
        self.exploration.try_borrow().ok()
    }

    /// Calls `use_it` with the execution that has just stopped, and its number.
    pub(crate) fn with_execution<R>(&self, use_it: impl FnOnce(&Execution, u64) -> R) -> R {
        let exploration = self.exploration.borrow();
        use_it(exploration.execution(), exploration.executions())
    }

    /// Calls `use_it` with the world; `use_it` must not call user code.
    #[inline(always)]
    pub fn with_world<R>(&self, use_it: impl FnOnce(&mut World) -> R) -> R {
        use_it(self.exploration.borrow_mut().world())
    }

    /// Returns the progress of the check.
    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Returns the calling modelled thread.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        self.thread.get()
    }

    /// Returns a number that is unique to this execution.
    #[inline]
    pub fn stamp(&self) -> u64 {
        self.stamp.get()
    }

    /// Returns the path of the calling modelled thread, which does not depend on the schedule.
    pub fn thread_path(&self) -> ThreadPath {
        let exploration = self.exploration.borrow();
        exploration.execution().path(self.thread.get())
    }

    /// Returns the clock of the events that happen before the next event of a thread. Computed from all events.
    pub fn clock_of(&self, thread: ThreadId) -> Vec<u32> {
        happens_before::clock_of(self.exploration.borrow().execution(), thread)
    }

    /// Returns the number of threads whose stacks were dropped without unwinding.
    pub(crate) fn dropped_stacks(&self) -> usize {
        self.dropped_stacks.get()
    }

    #[inline(always)]
    fn site(&self, place: &'static Location<'static>) -> SiteId {
        self.sites.borrow_mut().intern(place)
    }

    /// Performs the operation when the strategy chooses the calling thread.
    #[inline]
    pub fn perform(
        &self,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        if self.watch.performs_apart() {
            return self.perform_apart(place, operation);
        }
        let request =
            |world: &mut World, thread, operation, site| world.request(thread, operation, site);
        self.perform_by(place, operation, request)
    }

    /// Like [`Context::perform`] during the execution, with another way to request the operation.
    #[inline(always)]
    fn perform_by(
        &self,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
        request: impl FnOnce(&mut World, ThreadId, Operation, SiteId) -> Step,
    ) -> Reply {
        let thread = self.thread.get();
        let site = self.site(place);
        let mut exploration = self.exploration.borrow_mut();
        let world = exploration.world();
        let operation = operation(world);
        if self.progress.wants_attention() {
            drop(exploration);
            return self.stop_at(place, operation, site);
        }
        let step = request(world, thread, operation, site);
        if step == Step::Run(thread) {
            self.progress.beat();
            return world.reply(thread);
        }
        drop(exploration);
        self.suspend_for(step);
        if self.has_stopped() {
            return self.retry_after_stop(operation, site);
        }
        self.with_world(|world| world.reply(thread))
    }

    /// Declares that the calling thread waits for an operation of one of its futures.
    pub(crate) fn declare_wait(
        &self,
        id: Option<WaitId>,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> WaitId {
        let (thread, site) = (self.thread.get(), self.site(place));
        self.with_world(|world| {
            let operation = operation(world);
            world.declare_wait(id, thread, operation, site)
        })
    }

    /// Returns the location of a controlled atomic in this execution.
    #[inline(always)]
    pub fn location(
        &self,
        world: &mut World,
        identity: &Identity,
        made: Made,
        initial: impl FnOnce() -> u64,
    ) -> LocationId {
        match identity.get(self.stamp.get()) {
            Some(index) => LocationId::new(index),
            None => self.new_location(world, identity, made, initial),
        }
    }

    #[inline(never)]
    fn new_location(
        &self,
        world: &mut World,
        identity: &Identity,
        made: Made,
        initial: impl FnOnce() -> u64,
    ) -> LocationId {
        if self.notice_fault(identity, "atomic variable", &made) {
            return world.add_location(0);
        }
        let register = || {
            let location = world.add_location(initial());
            world.name_location(location, made.kind);
            if let Some((name, line)) = self.variable(made) {
                world.call_location(location, name, Some(line));
            }
            world.made_at(location, self.site(made.place));
            location.index()
        };
        LocationId::new(self.index(&self.locations, identity, made, register))
    }

    /// Returns the object of a controlled value in this execution.
    #[inline(always)]
    pub fn object(
        &self,
        world: &mut World,
        identity: &Identity,
        made: Made,
        initial: impl FnOnce() -> Object,
    ) -> ObjectId {
        match identity.get(self.stamp.get()) {
            Some(index) => ObjectId::new(index),
            None => self.new_object(world, identity, made, initial),
        }
    }

    #[inline(never)]
    fn new_object(
        &self,
        world: &mut World,
        identity: &Identity,
        made: Made,
        initial: impl FnOnce() -> Object,
    ) -> ObjectId {
        if self.notice_fault(identity, "object", &made) {
            return world.add_object(Object::Once(Once::New));
        }
        let register = || {
            let object = world.add_object(initial());
            world.name_object(object, made.kind);
            if let Some((name, line)) = self.variable(made) {
                world.call_object(object, name, Some(line));
            }
            object.index()
        };
        ObjectId::new(self.index(&self.objects, identity, made, register))
    }

    /// Turns on names of variables in executions.
    pub(crate) fn name_variables(&self, names: bool) {
        self.names_variables.set(names);
    }

    /// Returns the name of a variable in the source and the line where it was made, if names are
    /// on.
    #[inline]
    fn variable(&self, made: Made) -> Option<(String, u32)> {
        match self.names_variables.get() {
            true => {
                let _aside = crate::runtime::alloc::aside();
                let name = crate::program::variable::name(made.kind, made.place)?;
                Some((name, made.place.line()))
            }
            false => None,
        }
    }

    /// Returns the name of the variable at an address of a program in C or C++, if names are on. Things
    /// of Rust programs keep their kinds: locks of its standard library have no variable in stories.
    #[inline]
    pub(super) fn variable_at(&self, address: usize) -> Option<String> {
        if !self.names_variables.get() || !self.is_c() {
            return None;
        }
        self.program.variable(address)
    }

    /// Returns the index among `things` of a value without a valid identity.
    #[inline]
    fn index(
        &self,
        things: &RefCell<Things>,
        identity: &Identity,
        made: Made,
        register: impl FnOnce() -> usize,
    ) -> usize {
        let mut things = things.borrow_mut();
        if statics::is_static(identity) {
            let register = || things.add(identity, made, register);
            return self.static_thing(identity, made, register);
        }
        things.index(identity, self.stamp.get(), made, register)
    }

    /// Gives an object a name in this execution.
    pub fn label_object(&self, identity: &Identity, made: Made, state: Object, name: String) {
        let object = self.with_world(|world| self.object(world, identity, made, || state));
        self.with_world(|world| world.label_object(object, name.clone()));
        self.objects.borrow_mut().label(object.index(), name);
    }

    /// Gives a location a name in this execution.
    pub fn label_location(&self, identity: &Identity, made: Made, initial: u64, name: String) {
        let location = self.with_world(|world| self.location(world, identity, made, || initial));
        self.with_world(|world| world.label_location(location, name.clone()));
        self.locations.borrow_mut().label(location.index(), name);
    }

    /// Marks the calling OS thread as the one that runs the executions, as long as the result exists.
    pub(crate) fn enter(&self) -> Option<foreign::OwnThread> {
        let registration = self.registration.borrow();
        registration.as_ref().map(Registration::enter)
    }

    /// Gives the next execution a stamp.
    fn begin_stamp(&self) {
        let reserve = |block| {
            if let Some(registration) = &mut *self.registration.borrow_mut() {
                registration.add_block(block);
            }
        };
        self.stamp.set(self.stamps.borrow_mut().next(reserve));
        self.marks_before.set(foreign::marks());
    }

    /// Returns a use of the check's values by a foreign thread that has not been reported yet.
    #[inline]
    pub(crate) fn foreign_use(&self) -> Option<ForeignUse> {
        self.intrusions.take().map(|it| self.describe(&it))
    }

    /// True when foreign threads took part in the check, as far as known.
    pub(crate) fn has_foreign_threads(&self) -> bool {
        self.intrusions.took_part()
    }

    /// Finds the value of an intrusion, and its last use, in the execution that has just stopped.
    #[cold]
    fn describe(&self, intrusion: &Intrusion) -> ForeignUse {
        let (known, touch) = (intrusion.known, &intrusion.touch);
        let is_earlier = intrusion.stamp.is_some_and(|it| it != self.stamp.get());
        let find = |things: &RefCell<Things>| {
            let made = known.made.filter(|_| !is_earlier)?;
            things.borrow().find_made(known.kind, made, intrusion.index)
        };
        let object = find(&self.objects).map(ObjectId::new);
        let location = find(&self.locations).map(LocationId::new);
        let exploration = self.exploration.borrow();
        let is_use = |operation: &Operation| {
            let is_object = object.is_some() && operation.object() == object;
            is_object || (location.is_some() && operation.location() == location)
        };
        let mut last = exploration.execution().events.iter().rev();
        let last = last.find(|event| is_use(&event.operation));
        let used = match intrusion.found_by {
            Some((thread, place)) => Some((thread, self.site(place))),
            None => last.map(|event| (event.id.thread, event.site)),
        };
        ForeignUse {
            thread: touch.thread.clone(),
            kind: known.kind,
            object,
            location,
            made: known.made.map(|place| self.site(place)),
            handle_of: known.handle_of.filter(|_| !is_earlier),
            site: touch.place.map(|place| self.site(place)),
            used,
        }
    }

    /// Returns the present value of an atomic, for its sole owner; `None` if the execution has not
    /// used it.
    pub fn owned_value(&self, identity: &Identity) -> Option<u64> {
        let index = identity.get(self.stamp.get())?;
        if !self.has_stopped() {
            let thread = self.thread.get();
            self.with_world(|world| world.own_location(thread, LocationId::new(index)));
        }
        Some(self.exploration.borrow().execution().locations[index].value)
    }

    /// Returns the present state of an object, for its sole owner; `None` if the execution has not
    /// used it.
    pub fn owned_state(&self, identity: &Identity) -> Option<Object> {
        let index = identity.get(self.stamp.get())?;
        if !self.has_stopped() {
            let thread = self.thread.get();
            self.with_world(|world| world.own_object(thread, ObjectId::new(index)));
        }
        Some(self.exploration.borrow().execution().objects[index].clone())
    }
}

impl Names for Context {
    fn place(&self, site: SiteId) -> Option<Place> {
        self.sites.borrow().places().place(site)
    }

    fn object(&self, index: usize) -> (&str, Option<Place>) {
        self.objects.borrow().name(index)
    }

    fn location(&self, index: usize) -> (&str, Option<Place>) {
        self.locations.borrow().name(index)
    }

    fn cell(&self, index: usize) -> (&str, Option<Place>) {
        self.cells.borrow().name(index)
    }

    fn cell_label(&self, index: usize) -> Option<String> {
        self.cells.borrow().label_of(index)
    }

    fn object_label(&self, index: usize) -> Option<String> {
        self.objects.borrow().label_of(index)
    }

    fn location_label(&self, index: usize) -> Option<String> {
        self.locations.borrow().label_of(index)
    }

    fn object_variable(&self, index: usize) -> Option<String> {
        self.objects.borrow().variable_of(index, self.program)
    }

    fn location_variable(&self, index: usize) -> Option<String> {
        self.locations.borrow().variable_of(index, self.program)
    }

    fn cell_variable(&self, index: usize) -> Option<String> {
        self.cells.borrow().variable_of(index, self.program)
    }

    fn cell_story(&self, index: usize) -> Option<String> {
        self.cells.borrow().story_of(index, self.program)
    }

    fn is_native(&self) -> bool {
        self.program.dialect() != Dialect::Library
    }

    fn is_c(&self) -> bool {
        self.program.dialect() == Dialect::NativeC
    }

    fn has_plain_operations(&self) -> bool {
        self.program.has_plain_operations()
    }

    fn is_pointer(&self, value: u64) -> bool {
        self.is_native() && self.program.memory(value as usize).is_some()
    }

    fn chain(&self, site: SiteId) -> Option<String> {
        self.sites.borrow().places().chain(site)
    }
}

fn place(location: &'static Location<'static>) -> Place {
    Place {
        file: location.file().to_owned(),
        line: location.line(),
        column: location.column(),
    }
}
