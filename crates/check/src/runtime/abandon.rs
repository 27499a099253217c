//! Threads that are left when an execution stops early.
//!
//! Their stacks are unwound, so that destructors run: a thread is resumed and gets a panic
//! ([`Abandoned`]) instead of the reply it waits for. Destructors may lock, join and load like any
//! other code. These operations are performed in the present state of the world, without a strategy
//! and without being recorded, and a thread whose operation must wait, or that yields, lets the others go first.
//!
//! User code can prevent unwinding. A caught panic is raised again at the next operation, up to
//! [`MAX_SWALLOWS`] times. If user code performs operations without end, or the remaining threads
//! wait for each other, the stack is dropped without unwinding. It is never reused, because other
//! threads may still point into it, and the report says so.

use std::panic::{Location, resume_unwind};

use raddle_engine::{Grant, Operation, Reply, SiteId, Step, ThreadId, World};

use super::coroutine::Slot;
use super::switch::Exit;
use super::{Context, Phase, current};
use crate::runtime::alloc;

/// Maximum number of times a thread may catch the panic before its stack is dropped.
const MAX_SWALLOWS: u32 = 100;
/// Maximum operations of a thread while it is unwound.
const MAX_OPERATIONS: u32 = 10_000;

/// The panic that unwinds a thread whose execution has stopped.
pub struct Abandoned(());

impl Drop for Abandoned {
    /// Records that user code caught the panic, so that the thread is not unwinding any more.
    fn drop(&mut self) {
        if let Some(context) = current()
            && let Ok(mut slots) = context.slots.try_borrow_mut()
        {
            slots[context.thread.get().index()].unwinding = false;
        }
    }
}

/// The progress of unwinding a thread.
#[derive(Default)]
pub(super) struct AfterStop {
    swallows: u32,
    operations: u32,
    /// Number of times that it has let the others go first.
    yields: u32,
    /// True when it has announced an operation that could not be performed at once.
    waits: bool,
    given_up: bool,
    /// True when it runs only destructors of values outside its stack, and is not unwound.
    sweeps: bool,
}

impl AfterStop {
    pub(super) fn begin_sweep(&mut self) {
        self.sweeps = true;
    }
}

impl Context {
    #[cold]
    pub(super) fn perform_after_stop(
        &self,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        let operation = self.with_world(operation);
        self.stop_at_fault(place);
        self.retry_after_stop(operation, self.site(place))
    }

    /// Handles an operation that was not performed before the execution stopped: unwinds the
    /// thread, or performs the operation if the thread is unwinding already.
    #[cold]
    pub(super) fn retry_after_stop(&self, operation: Operation, site: SiteId) -> Reply {
        // A release is performed first unless it would have to wait; the thread is unwound at its
        // next operation.
        let gives_back = matches!(operation, Operation::Call { call, .. } if call.gives_back());
        if !gives_back {
            self.unwind_if_stopped();
        }
        self.wait_after_stop(operation, site, || self.unwind_if_stopped())
    }

    /// Like [`Context::perform`], but does not unwind the thread before the operation is done. For
    /// waits that protect data which other threads borrow.
    pub fn perform_protected(
        &self,
        place: &'static Location<'static>,
        operation: Operation,
    ) -> Reply {
        self.apart(|| self.protect(place, operation))
    }

    fn protect(&self, place: &'static Location<'static>, operation: Operation) -> Reply {
        let site = self.site(place);
        match self.phase.get() {
            Phase::Running => self.wait_protected(operation, site),
            Phase::Stepped => self.perform_stepped(operation, site, &mut || {
                self.wait_protected(operation, site)
            }),
            Phase::Stopped => self.wait_after_stop(operation, site, || ()),
        }
    }

    #[inline(always)]
    fn wait_protected(&self, operation: Operation, site: SiteId) -> Reply {
        let thread = self.thread.get();
        let step = self.with_world(|world| world.request(thread, operation, site));
        if step == Step::Run(thread) {
            self.progress.beat();
        } else {
            self.suspend_for(step);
        }
        if !self.has_stopped() {
            return self.with_world(|world| world.reply(thread));
        }
        self.wait_after_stop(operation, site, || ())
    }

    /// Unwinds the calling thread if its execution has stopped and it is not unwinding yet.
    #[inline]
    pub fn unwind_if_stopped(&self) {
        if self.has_stopped() && !self.is_unwinding() && !self.is_sweeping() {
            self.raise();
        }
    }

    /// Cancels the calling thread: it only runs destructors from here on. After the stop, these are not unwound
    /// at their operations.
    pub fn cancel(&self) {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[self.thread.get().index()];
        slot.unwinding = false;
        slot.after_stop.begin_sweep();
    }

    fn is_sweeping(&self) -> bool {
        let slots = self.slots.borrow();
        slots[self.thread.get().index()].after_stop.sweeps
    }

    fn raise(&self) -> ! {
        {
            let mut slots = self.slots.borrow_mut();
            let slot = &mut slots[self.thread.get().index()];
            slot.after_stop.swallows += 1;
            if slot.after_stop.swallows <= MAX_SWALLOWS {
                slot.unwinding = true;
                drop(slots);
                resume_unwind(Box::new(Abandoned(())));
            }
        }
        self.give_up()
    }

    /// Suspends the calling thread for good.
    pub(super) fn give_up(&self) -> ! {
        loop {
            self.slots.borrow_mut()[self.thread.get().index()]
                .after_stop
                .given_up = true;
            self.suspend();
        }
    }

    /// Performs the operation, calling `before` each time that it must wait.
    fn wait_after_stop(&self, operation: Operation, site: SiteId, before: impl Fn()) -> Reply {
        if operation == Operation::Assume {
            return Reply::DONE;
        }
        let thread = self.thread.get();
        self.progress.beat();
        self.leftovers.count_operation();
        let yields = operation == Operation::Yield;
        let operations = {
            let mut slots = self.slots.borrow_mut();
            let after_stop = &mut slots[thread.index()].after_stop;
            after_stop.operations += 1;
            after_stop.yields += u32::from(yields);
            after_stop.operations
        };
        let is_at_limit = match self.counts_destructors() {
            true => self.is_at_limit_at_end(),
            false => operations > MAX_OPERATIONS,
        };
        if is_at_limit {
            self.give_up();
        }
        if yields {
            self.suspend();
        }
        let mut reply = self.with_world(|world| world.request_after_stop(thread, operation, site));
        while reply.is_none() {
            before();
            self.slots.borrow_mut()[thread.index()].after_stop.waits = true;
            self.suspend();
            self.slots.borrow_mut()[thread.index()].after_stop.waits = false;
            reply = self.with_world(|world| world.retry_after_stop(thread));
        }
        let reply = reply.expect("waited until there was one");
        match operation {
            // A destructor that unwraps a poisoned lock during unwinding would end the process.
            Operation::Call { call, .. } => match call.grant(reply) {
                Some(Grant::Taken { .. }) => Reply::grant(Grant::Taken { poisoned: false }),
                _ => reply,
            },
            _ => reply,
        }
    }

    /// True when the execution has stopped, so that further operations are not part of it.
    #[inline]
    pub fn has_stopped(&self) -> bool {
        self.phase.get() == Phase::Stopped
    }

    /// Unwinds the threads and drops the values left by the execution. Called when the exploration
    /// has read it.
    pub(crate) fn clean_up(&self) {
        self.unwind_threads();
        self.sweep();
        self.forget_locals();
        self.advances.borrow_mut().clear();
        self.slots.borrow_mut().clear();
        alloc::release();
    }

    /// Resumes the remaining threads until none is left. After most executions there is none.
    #[inline(always)]
    pub(super) fn unwind_threads(&self) {
        if self.slots.borrow().iter().any(|slot| !slot.home.is_empty()) {
            self.unwind_remaining();
        }
    }

    #[cold]
    #[inline(never)]
    fn unwind_remaining(&self) {
        while let Some(thread) = self.next_to_unwind() {
            match self.resume(thread) {
                None if self.is_given_up(thread) => self.drop_stack(thread),
                None | Some(Exit::Returned | Exit::Finished | Exit::Failed) => {}
                Some(Exit::Overflowed) => {
                    self.dropped_stacks.update(|count| count + 1);
                    self.end_after_stop(thread);
                }
                Some(Exit::Crashed) => self.crashed(),
            }
        }
    }

    /// Returns a remaining thread that is enabled, preferring those that are unwinding and have yielded least. If none is
    /// enabled, one is dropped or, if all are cancelled, the youngest is unwound.
    fn next_to_unwind(&self) -> Option<ThreadId> {
        loop {
            let slots = self.slots.borrow();
            let left = || {
                let left = slots
                    .iter()
                    .enumerate()
                    .filter(|(_, slot)| !slot.home.is_empty());
                left.map(|(index, slot)| (ThreadId::new(index), slot))
            };
            let (youngest, _) = left().next_back()?;
            let exploration = self.exploration.borrow();
            let can_move = |&(thread, slot): &(ThreadId, &Slot)| {
                !slot.after_stop.waits || exploration.state().is_enabled(thread)
            };
            let next = left()
                .filter(can_move)
                .min_by_key(|(_, slot)| (slot.after_stop.yields, !slot.unwinding))
                .map(|(thread, _)| thread);
            if next.is_some() {
                return next;
            }
            // A thread that seems to unwind may have caught its panic; see `panics`.
            let unclear = left().filter(|(_, slot)| !slot.after_stop.sweeps);
            let unclear = unclear.last().map(|(thread, _)| thread);
            drop((slots, exploration));
            match unclear {
                Some(thread) => self.drop_stack(thread),
                None => {
                    self.note_deadlock_at_end(youngest);
                    self.unwind_destructor(youngest);
                }
            }
        }
    }

    /// Makes a cancelled thread unwind the destructor that blocks.
    fn unwind_destructor(&self, thread: ThreadId) {
        let after_stop = &mut self.slots.borrow_mut()[thread.index()].after_stop;
        after_stop.sweeps = false;
        after_stop.waits = false;
    }

    fn is_given_up(&self, thread: ThreadId) -> bool {
        self.slots.borrow()[thread.index()].after_stop.given_up
    }

    fn drop_stack(&self, thread: ThreadId) {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[thread.index()];
        if slot.counted {
            self.unwinding.update(|count| count - 1);
        }
        let left = slot.home.take();
        drop(slots);
        self.leftovers.lose_stack();
        if self.program.unwinds_threads() {
            std::mem::forget(left);
            self.dropped_stacks.update(|count| count + 1);
        } else if let Some(stack) = left {
            // Such a thread has nothing with a destructor on its stack, and after the execution no running code
            // refers to it.
            self.give_stack_back(thread, stack);
        }
        self.end_after_stop(thread);
    }

    fn end_after_stop(&self, thread: ThreadId) {
        self.with_world(|world| {
            let site = world.state().pending_site(thread);
            world.end_after_stop(thread, site);
        });
    }
}
