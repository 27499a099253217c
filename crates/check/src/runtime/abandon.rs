//! What becomes of threads that are left when an execution stops early.
//!
//! Their stacks are unwound, so that destructors run: a thread is resumed and finds a panic
//! ([`Abandoned`]) instead of the reply it waits for. Destructors may lock, join and load like any
//! other code; these operations are performed in the world as it stands, without a strategy and
//! without being recorded, and a thread whose operation must wait lets the others go first.
//!
//! User code can stand in the way. If it catches the panic, it is raised again at the next
//! operation, up to [`MAX_SWALLOWS`] times; if it performs operations without end, or if what is
//! left waits for each other, there is a last resort: the stack is dropped without unwinding, and
//! never used again because others may still point into it. The report says so.

use std::panic::{Location, resume_unwind};

use corosensei::CoroutineResult;
use raddle_engine::{Grant, Operation, Reply, SiteId, Step, ThreadId, World};

use super::coroutine::{Coroutine, Exit, Slot};
use super::{Context, current};
use crate::runtime::alloc;

/// How often a thread may catch our panic before its stack is dropped.
const MAX_SWALLOWS: u32 = 100;
/// How many operations a thread may perform while it is unwound.
const MAX_OPERATIONS: u32 = 10_000;

/// The panic that unwinds a thread whose execution has stopped.
pub struct Abandoned(());

impl Drop for Abandoned {
    /// Somebody caught it: the thread is not unwinding any more.
    fn drop(&mut self) {
        if let Some(context) = current()
            && let Ok(mut slots) = context.slots.try_borrow_mut()
        {
            slots[context.thread.get().index()].unwinding = false;
        }
    }
}

/// How far the unwinding of a thread has come.
#[derive(Default)]
pub(super) struct AfterStop {
    swallows: u32,
    operations: u32,
    /// It has announced an operation that could not be performed at once.
    waits: bool,
    given_up: bool,
    /// It has nothing left to run but destructors of what is not on its stack, and is not unwound.
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
        if self.is_faulty.get() {
            self.stop_at_fault(place);
        }
        self.retry_after_stop(operation, self.site(place))
    }

    /// The execution stopped before the operation was performed: unwind, or perform it all the
    /// same if the thread is unwinding already.
    #[cold]
    pub(super) fn retry_after_stop(&self, operation: Operation, site: SiteId) -> Reply {
        // What is given back is given back first, unless that would have to wait; the thread is
        // unwound at its next operation.
        let gives_back = matches!(operation, Operation::Call { call, .. } if call.gives_back());
        if !gives_back {
            self.unwind_if_stopped();
        }
        self.wait_after_stop(operation, site, || self.unwind_if_stopped())
    }

    /// Like [`Context::perform`], but the thread is not unwound before the operation is done. For
    /// waits that protect what other threads borrow.
    pub fn perform_protected(
        &self,
        place: &'static Location<'static>,
        operation: Operation,
    ) -> Reply {
        self.apart(|| self.protect(place, operation))
    }

    fn protect(&self, place: &'static Location<'static>, operation: Operation) -> Reply {
        let site = self.site(place);
        if !self.stopped.get() {
            let thread = self.thread.get();
            let step = self.with_world(|world| world.request(thread, operation, site));
            if step == Step::Run(thread) {
                self.progress.beat();
            } else {
                self.step.set(step);
                self.suspend();
            }
            if !self.stopped.get() {
                return self.with_world(|world| world.reply(thread));
            }
        }
        self.wait_after_stop(operation, site, || ())
    }

    /// Unwinds the calling thread if its execution has stopped and it is not unwinding yet.
    #[inline]
    pub fn unwind_if_stopped(&self) {
        if self.stopped.get() && !self.is_unwinding() && !self.is_sweeping() {
            self.raise();
        }
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

    /// Never to be resumed.
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
            return Reply::Done;
        }
        let thread = self.thread.get();
        self.progress.beat();
        let operations = {
            let mut slots = self.slots.borrow_mut();
            let after_stop = &mut slots[thread.index()].after_stop;
            after_stop.operations += 1;
            after_stop.operations
        };
        if operations > MAX_OPERATIONS {
            self.give_up();
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
            // A destructor that unwraps a poisoned lock while it is unwound would end the process.
            Operation::Call { call, .. } => match call.grant(reply) {
                Some(Grant::Taken { .. }) => Reply::Grant(Grant::Taken { poisoned: false }),
                _ => reply,
            },
            _ => reply,
        }
    }

    /// Whether the execution has stopped, so that what happens now is not part of it.
    #[inline]
    pub fn has_stopped(&self) -> bool {
        self.stopped.get()
    }

    /// Unwinds whatever the execution has left behind. Called when the exploration has read it.
    pub(crate) fn clean_up(&self) {
        self.unwind_threads();
        self.sweep();
        self.forget_locals();
        self.give_back_homes();
        alloc::release();
    }

    /// Forgets the threads of the execution, and keeps their homes for the next one.
    #[inline]
    fn give_back_homes(&self) {
        let (mut homes, mut slots) = (self.homes.borrow_mut(), self.slots.borrow_mut());
        // Draining would move every slot as a whole, which took longer than all else in `clean_up`.
        while let Some(Slot { home, .. }) = slots.pop() {
            homes.push(home);
        }
    }

    /// Lets the threads that are left go on until there are none.
    #[inline]
    pub(super) fn unwind_threads(&self) {
        while let Some(thread) = self.next_to_unwind() {
            match self.resume(thread) {
                CoroutineResult::Yield(()) if self.is_given_up(thread) => self.drop_stack(thread),
                CoroutineResult::Yield(()) | CoroutineResult::Return(Exit::Returned) => {}
                CoroutineResult::Return(Exit::Overflowed) => {
                    self.dropped_stacks.update(|count| count + 1);
                    self.end_after_stop(thread);
                }
                CoroutineResult::Return(Exit::Crashed) => self.crashed(),
            }
        }
    }

    /// A thread that is left and can move, those in the middle of unwinding first. If none can
    /// move, the youngest is dropped.
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
            let can_move = |&(thread, slot): &(ThreadId, &super::Slot)| {
                !slot.after_stop.waits || exploration.state().is_enabled(thread)
            };
            let next = left()
                .filter(can_move)
                .min_by_key(|(_, slot)| !slot.unwinding)
                .map(|(thread, _)| thread);
            if next.is_some() {
                return next;
            }
            drop((slots, exploration));
            self.drop_stack(youngest);
        }
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
        let coroutine = slot.home.take();
        drop(slots);
        if self.program.unwinds_threads() {
            std::mem::forget(coroutine);
            self.dropped_stacks.update(|count| count + 1);
        } else {
            self.reuse_stack(thread, coroutine);
        }
        self.end_after_stop(thread);
    }

    /// Nobody unwinds the threads of a program that is no Rust program; their stacks are used again.
    fn reuse_stack(&self, thread: ThreadId, coroutine: Option<Coroutine>) {
        if let Some(mut coroutine) = coroutine {
            // SAFETY: what such a thread has on its stack has no destructors, and when the execution
            // is over, nobody goes on who could refer to it.
            unsafe { coroutine.force_reset() };
            self.give_stack_back(thread, coroutine.into_stack());
        }
    }

    fn end_after_stop(&self, thread: ThreadId) {
        self.with_world(|world| {
            let site = world.state().pending_site(thread);
            world.end_after_stop(thread, site);
        });
    }
}
