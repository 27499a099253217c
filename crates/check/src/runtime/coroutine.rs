//! One coroutine for each modelled thread, and the loop that switches between them.

use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;

use raddle_engine::{Ending, Operation, Step, ThreadId};

use super::abandon::AfterStop;
use super::clock::Clock;
use super::overflow;
use super::switch::{Exit, Home, IS_DIRECT, Pinned, Way};
use super::{CURRENT, Context, Phase};
use crate::runtime::alloc;
use crate::runtime::identity::Identity;
use crate::runtime::watchdog;

/// Maximum bytes of a body that is moved onto its stack; corosensei refuses more than 1,024 with its own captures.
const MAX_CAPTURES: usize = 896;

/// The substrate's state of one modelled thread.
pub(super) struct Slot {
    /// Empty when the thread has ended.
    pub(super) home: Home,
    /// End of the user's part of the stack.
    pub(super) end_of_stack: *const u8,
    pub(super) name: Option<Arc<str>>,
    /// True when it is unwinding, as far as known.
    pub(super) unwinding: bool,
    /// True when it is suspended and counted in [`Context::unwinding`].
    pub(super) counted: bool,
    /// The object on which it parks.
    pub(super) parker: Identity,
    pub(super) clock: Clock,
    pub(super) after_stop: AfterStop,
}

/// Runs the next execution of `body`; `false` if the strategy has none left. The caller then
/// finishes the exploration and calls [`Context::clean_up`].
pub(crate) fn run_execution(
    context: &Context,
    body: &dyn Fn(),
    place: &'static Location<'static>,
) -> bool {
    let site = context.site(place);
    if !context.with_exploration(|exploration| exploration.begin(site)) {
        return false;
    }
    run_once(context, body, place);
    while context.watch.take_again() {
        context.clean_up();
        context.with_exploration(|exploration| exploration.begin_again(site));
        run_once(context, body, place);
    }
    true
}

/// Runs the execution that has begun.
fn run_once(context: &Context, body: &dyn Fn(), place: &'static Location<'static>) {
    context.begin_stamp();
    context.locations.borrow_mut().clear();
    context.objects.borrow_mut().clear();
    context.cells.borrow_mut().clear();
    context.dropped.borrow_mut().clear();
    context.unordered_drops.borrow_mut().clear();
    context.undropped.borrow_mut().clear();
    context.last_panics.borrow_mut().clear();
    context.leftovers.begin();
    context.progress.take_fault();
    context.start_watching();
    context.progress.show(context);
    // SAFETY: the coroutine ends or is forgotten before `clean_up` returns, and the caller's loop
    // borrows `body` for longer than that.
    unsafe { context.add_coroutine(ThreadId::MAIN, place, None, body) };
    context.drive();
    context.program.end_execution();
}

impl Context {
    /// Makes the coroutine of a thread that the engine has just created.
    ///
    /// # Safety
    ///
    /// The borrows of `body` must live until the thread has ended.
    pub(crate) unsafe fn add_coroutine(
        &self,
        thread: ThreadId,
        place: &'static Location<'static>,
        name: Option<Arc<str>>,
        body: impl FnOnce(),
    ) {
        let _aside = alloc::aside();
        let whole = move |context: &Context, thread| context.run_body(thread, place, body);
        let clock = self.clock_of_creator();
        let mut slots = self.slots.borrow_mut();
        slots.add(thread, name, clock);
        // SAFETY: the caller guarantees that the borrows of `body` live until the thread has ended.
        unsafe { self.put_coroutine(&mut slots[thread.index()], thread, whole) };
    }

    /// Makes a coroutine that runs `body` as this thread, which has none.
    ///
    /// # Safety
    ///
    /// The borrows of `body` must live until the coroutine has ended.
    #[inline(always)]
    pub(super) unsafe fn put_coroutine(
        &self,
        slot: &mut Slot,
        thread: ThreadId,
        body: impl FnOnce(&Context, ThreadId),
    ) {
        if size_of_val(&body) <= MAX_CAPTURES {
            // SAFETY: as for this function.
            return unsafe { self.put_small_coroutine(slot, thread, body) };
        }
        let body = Box::new(body);
        // SAFETY: as for this function.
        unsafe { self.put_small_coroutine(slot, thread, |context, thread| body(context, thread)) }
    }

    /// Does the same as [`put_coroutine`](Self::put_coroutine), for a body with few captures.
    ///
    /// # Safety
    ///
    /// As for that function.
    #[inline(always)]
    unsafe fn put_small_coroutine(
        &self,
        slot: &mut Slot,
        thread: ThreadId,
        body: impl FnOnce(&Context, ThreadId),
    ) {
        let used = self.take_stack(thread);
        if let Some(stack) = &used {
            self.clean_stack(stack);
        }
        let stack = used.unwrap_or_else(|| {
            self.new_stack().unwrap_or_else(|error| {
                panic!(
                    "raddle: no stack of {} bytes for thread {}: {error}; a smaller `stack_size` \
                     or fewer threads may help",
                    self.stack_size,
                    thread.index()
                )
            })
        });
        let context: *const Context = self;
        let run = move |end_of_stack: *const u8| {
            // SAFETY: a coroutine runs only while `resume` does, which borrows the context.
            let context = unsafe { &*context };
            context.slots.borrow_mut()[thread.index()].end_of_stack = end_of_stack;
            body(context, thread);
            context.leave(thread)
        };
        // SAFETY: the caller guarantees the lifetime of the borrows in `body`. A coroutine that
        // does not run to its end is forgotten with its stack, so no borrow is used again.
        unsafe { slot.home.put(stack, run) };
    }

    /// Runs the whole life of a thread, inside its coroutine.
    fn run_body(&self, thread: ThreadId, place: &'static Location<'static>, body: impl FnOnce()) {
        if self.phase.get() != Phase::Running && self.begin_apart(thread) {
            // The body never began: only its captures are dropped, which runs user code too.
            self.cancel();
            let _ = catch_unwind(AssertUnwindSafe(|| drop(body)));
        } else if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
            self.note_panic(&*payload);
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        }
        self.drop_locals();
        self.end_trial();
        let site = self.site(place);
        self.with_world(|world| match self.phase.get() {
            Phase::Running => world.announce_end(thread, site),
            Phase::Stepped => {
                self.end_steps(thread);
                world.announce_end(thread, site);
            }
            Phase::Stopped => world.end_after_stop(thread, site),
        });
    }

    /// Runs threads as the engine decides until the execution stops.
    fn drive(&self) {
        if self.watches_std_locals() {
            return self.drive_watched();
        }
        self.is_direct.set(IS_DIRECT);
        self.drive_with(
            #[inline(always)]
            |context, thread| context.resume(thread),
        );
    }

    /// Does the same as [`drive`](Self::drive), and watches std's thread-locals.
    #[cold]
    #[inline(never)]
    fn drive_watched(&self) {
        self.drive_with(Context::resume_watched);
    }

    #[inline(always)]
    fn drive_with(&self, resume: impl Fn(&Context, ThreadId) -> Option<Exit>) {
        self.phase.set(Phase::Running);
        let mut step = self.with_world(|world| world.advance());
        while let Step::Run(thread) = step {
            step = match resume(self, thread) {
                None => self.step.get(),
                Some(Exit::Returned) if self.progress.take_fault() => Step::Stop,
                Some(Exit::Returned) => self.with_world(|world| world.advance()),
                Some(Exit::Finished) => Step::Stop,
                Some(Exit::Failed) => {
                    let payload = self.own_panic.borrow_mut().take();
                    resume_unwind(payload.expect("a thread that fails leaves its panic"))
                }
                Some(Exit::Overflowed) => {
                    let mut exploration = self.exploration.try_borrow_mut().unwrap_or_else(|_| {
                        overflow::give_up(self.stack_size);
                    });
                    exploration
                        .world()
                        .stop(Ending::StackOverflow(self.thread.get()))
                }
                Some(Exit::Crashed) => self.crashed(),
            };
        }
        self.try_livelock(|context, thread| {
            resume(context, thread);
        });
        self.phase.set(Phase::Stopped);
        self.is_direct.set(false);
        self.watch.perform_apart();
    }

    /// Reports that the last running thread used an unmapped address, and ends the process.
    pub(super) fn crashed(&self) -> ! {
        watchdog::end_soon();
        self.fatal.report_crash(self);
        overflow::end()
    }

    /// Runs a thread until it, or one that it has switched to, suspends itself or ends.
    #[inline(always)]
    pub(super) fn resume(&self, thread: ThreadId) -> Option<Exit> {
        let mut slots = self.slots.borrow_mut();
        let home = self.continues(&mut slots[thread.index()]);
        drop(slots);
        self.thread.set(thread);
        CURRENT.set(self);
        self.progress.begin();
        // SAFETY: homes are emptied only by `clean_up`, which runs no coroutine at that time, and a
        // thread is resumed only from here, never while it runs.
        let exit = unsafe { home.resume(&self.driver) };
        self.progress.end();
        CURRENT.set(std::ptr::null());
        if let Some(exit) = exit {
            let ended = self.thread.get();
            let stack = self.slots.borrow_mut()[ended.index()].home.take();
            match (exit, stack) {
                (Exit::Returned | Exit::Finished | Exit::Failed, Some(stack)) => {
                    self.give_stack_back(ended, stack)
                }
                // The stack was not unwound, and other threads may still refer to it.
                (_, stack) => std::mem::forget(stack),
            }
        }
        exit
    }

    /// Records that a thread is about to continue.
    #[inline(always)]
    fn continues(&self, slot: &mut Slot) -> Pinned {
        if std::mem::take(&mut slot.counted) {
            self.unwinding.update(|count| count - 1);
        }
        slot.home.pin()
    }

    /// Records that the calling thread is about to be suspended.
    #[inline(always)]
    fn pauses(&self, slot: &mut Slot, unwinding: bool) -> Pinned {
        slot.unwinding = unwinding;
        slot.counted = unwinding;
        if unwinding {
            self.unwinding.update(|count| count + 1);
        }
        slot.home.pin()
    }

    /// Suspends the calling thread, whose operation has led to this step, until it is to continue. Inlined,
    /// because after a switch the processor mispredicts returns.
    #[inline(always)]
    pub(super) fn suspend_for(&self, step: Step) {
        match step {
            Step::Run(next) if self.is_direct.get() => self.switch_to(next),
            _ => {
                self.step.set(step);
                self.suspend();
            }
        }
    }

    /// Gives control back to `drive` until the calling thread is to continue.
    #[inline(always)]
    pub(super) fn suspend(&self) {
        let unwinding = self.is_unwinding();
        let mut slots = self.slots.borrow_mut();
        let home = self.pauses(&mut slots[self.thread.get().index()], unwinding);
        drop(slots);
        // SAFETY: only code running inside this coroutine gets here. Until its switch, nothing moves its home.
        unsafe { home.suspend(&self.driver) };
    }

    /// Lets another thread continue until the calling one is to.
    #[inline(always)]
    fn switch_to(&self, next: ThreadId) {
        let unwinding = self.is_unwinding();
        let mut slots = self.slots.borrow_mut();
        let home = self.pauses(&mut slots[self.thread.get().index()], unwinding);
        let next_home = self.continues(&mut slots[next.index()]);
        drop(slots);
        self.thread.set(next);
        self.progress.beat();
        // SAFETY: only code running inside this coroutine gets here, and all others are suspended. Until
        // the switch, nothing moves their homes.
        unsafe { home.switch_to(next_home) };
    }

    /// Chooses the next thread when the calling one has ended. A panic is raddle's own: it is none of the thread,
    /// and the caller of the check gets it from the driver.
    #[inline(always)]
    fn advance_at_end(&self) -> std::thread::Result<Step> {
        CURRENT.set(std::ptr::null());
        let step = catch_unwind(AssertUnwindSafe(|| {
            self.with_world(|world| world.advance())
        }));
        CURRENT.set(self);
        step
    }

    /// Returns the way on for a thread that has ended, the calling one: to the next thread if possible. Its
    /// stack is given back although it is in use, because no thread gets another one before the way is gone.
    #[inline(always)]
    fn leave(&self, thread: ThreadId) -> Way {
        if !self.is_direct.get() || self.progress.wants_attention() {
            return self.driver.way_back(Exit::Returned);
        }
        let next = match self.advance_at_end() {
            Ok(Step::Run(next)) => next,
            Ok(Step::Stop) => return self.driver.way_back(Exit::Finished),
            Err(payload) => {
                *self.own_panic.borrow_mut() = Some(payload);
                return self.driver.way_back(Exit::Failed);
            }
        };
        let mut slots = self.slots.borrow_mut();
        let stack = slots[thread.index()].home.take();
        let home = self.continues(&mut slots[next.index()]);
        drop(slots);
        if let Some(stack) = stack {
            self.give_stack_back(thread, stack);
        }
        self.thread.set(next);
        self.progress.beat();
        // SAFETY: all other threads are suspended, and nothing moves their homes before the way is gone.
        unsafe { home.way() }
    }

    /// Returns the end of the user's part of the thread's stack.
    #[inline]
    pub(super) fn end_of_stack(&self, thread: ThreadId) -> *const u8 {
        self.slots.borrow()[thread.index()].end_of_stack
    }

    /// Sets the end of the user's part of the thread's stack to another stack.
    pub(super) fn set_end_of_stack(&self, thread: ThreadId, end: *const u8) {
        self.slots.borrow_mut()[thread.index()].end_of_stack = end;
    }

    /// Returns the name the program gave the calling thread.
    pub fn thread_name(&self) -> Option<Arc<str>> {
        self.slots.borrow()[self.thread.get().index()].name.clone()
    }

    /// Creates a thread that will run `body`.
    ///
    /// # Safety
    ///
    /// The borrows of `body` must live until the thread has ended.
    pub unsafe fn spawn(
        &self,
        place: &'static Location<'static>,
        name: Option<Arc<str>>,
        body: impl FnOnce(),
    ) -> ThreadId {
        let child = self.perform(place, |_| Operation::Spawn).to_thread();
        if let Some(name) = &name {
            self.with_world(|world| world.name_thread(child, name.to_string()));
        }
        // SAFETY: the caller guarantees that the borrows of `body` live until the thread has ended.
        unsafe { self.add_coroutine(child, place, name, body) };
        child
    }
}
