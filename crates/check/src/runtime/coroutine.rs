//! One coroutine for each modelled thread, and the loop that switches between them.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, Yielder};
use raddle_engine::{Ending, Operation, Step, ThreadId};

use super::abandon::AfterStop;
use super::clock::Clock;
use super::home::Home;
use super::overflow::{self, Guard};
use super::{CURRENT, Context, Phase};
use crate::runtime::alloc;
use crate::runtime::identity::Identity;
use crate::runtime::watchdog;

/// The way a coroutine ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Returned,
    Overflowed,
    Crashed,
}

/// Maximum bytes of a body that is moved onto its stack; corosensei refuses more than 1,024 with its own captures.
const MAX_CAPTURES: usize = 896;

pub(super) type Coroutine = corosensei::Coroutine<(), (), Exit, &'static mut DefaultStack>;

/// The substrate's state of one modelled thread.
pub(super) struct Slot {
    /// Empty when the thread has ended.
    pub(super) home: Home,
    pub(super) yielder: *const Yielder<(), ()>,
    /// End of the user's part of the stack.
    pub(super) end_of_stack: *const u8,
    /// `None` before the first coroutine.
    pub(super) guard: Option<Guard>,
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
        let limit = stack.limit();
        let context: *const Context = self;
        let run = move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: a coroutine runs only inside `resume`, which borrows the context.
            let context = unsafe { &*context };
            {
                let slot = &mut context.slots.borrow_mut()[thread.index()];
                slot.yielder = yielder;
                // All frames of the coroutine are before its yielder.
                slot.end_of_stack = std::ptr::from_ref(yielder).cast();
            }
            body(context, thread);
            Exit::Returned
        };
        // SAFETY: the caller guarantees the lifetime of the borrows in `body`. A coroutine that
        // does not run to its end is forgotten with its stack, so no borrow is used again.
        let make = |stack| unsafe { Coroutine::with_stack_unchecked(stack, run) };
        // SAFETY: as above; a coroutine that has ended uses its stack no more.
        let trap = unsafe { slot.home.put(stack, make) }.trap_handler();
        slot.guard = Some(Guard { trap, limit });
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
    fn drive_with(&self, resume: impl Fn(&Context, ThreadId) -> CoroutineResult<(), Exit>) {
        self.phase.set(Phase::Running);
        let mut step = self.with_world(|world| world.advance());
        while let Step::Run(thread) = step {
            step = match resume(self, thread) {
                CoroutineResult::Yield(()) => self.step.get(),
                CoroutineResult::Return(Exit::Returned) if self.progress.take_fault() => Step::Stop,
                CoroutineResult::Return(Exit::Returned) => self.with_world(|world| world.advance()),
                CoroutineResult::Return(Exit::Overflowed) => {
                    let mut exploration = self.exploration.try_borrow_mut().unwrap_or_else(|_| {
                        overflow::give_up(self.stack_size);
                    });
                    exploration.world().stop(Ending::StackOverflow(thread))
                }
                CoroutineResult::Return(Exit::Crashed) => self.crashed(),
            };
        }
        self.try_livelock(|context, thread| {
            resume(context, thread);
        });
        self.phase.set(Phase::Stopped);
        self.watch.perform_apart();
    }

    /// Reports that the last running thread used an unmapped address, and ends the process.
    pub(super) fn crashed(&self) -> ! {
        watchdog::end_soon();
        self.fatal.report_crash(self);
        overflow::end()
    }

    /// Runs a thread until it suspends itself or ends.
    #[inline(always)]
    pub(super) fn resume(&self, thread: ThreadId) -> CoroutineResult<(), Exit> {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[thread.index()];
        let home = slot.home.pin();
        if std::mem::take(&mut slot.counted) {
            self.unwinding.update(|count| count - 1);
        }
        drop(slots);
        self.thread.set(thread);
        CURRENT.set(self);
        self.progress.begin();
        // SAFETY: homes are dropped only by `clean_up`, which runs no coroutine at that time, and a
        // thread is resumed only from here, never while it runs.
        let (result, ended) = unsafe { home.resume() };
        self.progress.end();
        CURRENT.set(std::ptr::null());
        match result {
            CoroutineResult::Yield(()) => {}
            CoroutineResult::Return(Exit::Returned) => {
                if let Some(stack) = ended {
                    self.give_stack_back(thread, stack);
                }
            }
            // The stack was not unwound, and other threads may still refer to it.
            CoroutineResult::Return(Exit::Overflowed | Exit::Crashed) => std::mem::forget(ended),
        }
        result
    }

    /// Gives control back to `drive` until the calling thread is resumed. Inlined, because after a
    /// switch the processor mispredicts every return.
    #[inline(always)]
    pub(super) fn suspend(&self) {
        let thread = self.thread.get();
        let unwinding = self.is_unwinding();
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[thread.index()];
        slot.unwinding = unwinding;
        slot.counted = unwinding;
        if unwinding {
            self.unwinding.update(|count| count + 1);
        }
        let yielder = slot.yielder;
        drop(slots);
        // SAFETY: the yielder was stored when this coroutine started and lives at the bottom of
        // its stack until it ends; only code running inside this coroutine gets here.
        unsafe { &*yielder }.suspend(());
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
