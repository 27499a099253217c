//! Locks, and the lives of threads, under a random walk.
//!
//! They are most of the events of short executions. Each has one outcome, so its effect needs none of the
//! general machinery of [`State::perform`], and a lock that the running thread takes or releases at once is
//! never a waiting call.

use super::any;
use crate::base::ids::{EventId, ObjectId, SiteId, ThreadId};
use crate::base::outcome::{Outcome, Resolution};
use crate::base::reply::Reply;
use crate::model::event::Event;
use crate::model::operation::Operation;
use crate::object::{Call, Machine, Object, mutex};
use crate::world::strategy::Dispatch;
use crate::world::{State, Step, World};

impl<D: Dispatch> World<D> {
    /// Requests to lock or unlock a mutex, under a random walk, in an execution whose limits need no check.
    #[inline(never)]
    pub(in crate::world) fn walk_lock(
        &mut self,
        thread: ThreadId,
        object: ObjectId,
        call: mutex::Call,
        site: SiteId,
    ) -> Step {
        let state = &mut self.state;
        if !state.mutex(object).open(call, thread) {
            let call = Call::Mutex(call);
            state.announce(thread, Operation::Call { object, call }, site);
            return self.walk_any();
        }
        let Some(rng) = self.strategy.random_walk() else {
            unreachable!("only called under a random walk");
        };
        // The choice of a thread that begins includes its first operation.
        if state.threads[thread.index()].events != 1 {
            let next = any(rng, state);
            if next != thread {
                let entry = &mut state.threads[thread.index()];
                let call = Call::Mutex(call);
                entry.pending = Operation::Call { object, call };
                entry.site = site;
                state.calls[object.index()].waiting.push(thread);
                return self.walk_on(next);
            }
        }
        state.perform_lock(thread, object, call, site);
        Step::Run(thread)
    }

    /// Requests to create a thread, under a random walk, in an execution whose limits need no check. The
    /// thread is created at once, because no other thread observes that.
    #[inline(never)]
    pub(in crate::world) fn walk_spawn(&mut self, thread: ThreadId, site: SiteId) -> Step {
        let state = &mut self.state;
        let id = state.next_event(thread);
        let child = state.add_thread(Some(id), site);
        state.add_event(id, Operation::Spawn, None, Reply::thread(child), site);
        Step::Run(thread)
    }

    /// Requests to join a thread, under a random walk, in an execution whose limits need no check. A join
    /// that need not wait is performed at once, because no other thread observes it.
    #[inline(never)]
    pub(in crate::world) fn walk_join(
        &mut self,
        thread: ThreadId,
        target: ThreadId,
        site: SiteId,
    ) -> Step {
        let state = &mut self.state;
        let end = state.execution.threads[target.index()].end;
        if end.is_some() {
            let id = state.next_event(thread);
            state.add_event(id, Operation::Join { target }, end, Reply::DONE, site);
            return Step::Run(thread);
        }
        state.announce(thread, Operation::Join { target }, site);
        self.walk_any()
    }

    /// Runs any enabled thread, under a random walk, in an execution whose limits need no check. Ends of
    /// threads are performed on the way.
    #[inline(never)]
    pub(in crate::world) fn walk_any(&mut self) -> Step {
        loop {
            let state = &mut self.state;
            if state.enabled.is_empty() || state.execution.events.len() >= self.looks_from {
                return self.advance_generally();
            }
            let Some(rng) = self.strategy.random_walk() else {
                unreachable!("only called under a random walk");
            };
            let next = any(rng, state);
            if state.execution.detached > 0
                || !matches!(state.threads[next.index()].pending, Operation::End)
            {
                return self.walk_on(next);
            }
            state.count_switch(next);
            state.perform_end(next);
        }
    }
}

impl State {
    /// Returns the identity of the thread's next event.
    #[inline(always)]
    fn next_event(&self, thread: ThreadId) -> EventId {
        let index = self.threads[thread.index()].events;
        EventId { thread, index }
    }

    #[inline(always)]
    fn mutex(&mut self, object: ObjectId) -> &mut mutex::Mutex {
        match &mut self.execution.objects[object.index()] {
            Object::Mutex(mutex) => mutex,
            _ => unreachable!("raddle: a call of a mutex on another object; please report this"),
        }
    }

    /// Counts the switch to this thread if it is a preemption.
    #[inline(always)]
    pub(super) fn count_switch(&mut self, next: ThreadId) {
        let interrupts = self.interrupts(next);
        self.execution.preemptions += u32::from(interrupts);
    }

    /// Locks or unlocks a mutex for a thread whose call was announced.
    #[inline(always)]
    pub(super) fn complete_lock(&mut self, thread: ThreadId, object: ObjectId, call: mutex::Call) {
        let waiting = &mut self.calls[object.index()].waiting;
        if let Some(mine) = waiting.iter().position(|&one| one == thread) {
            waiting.swap_remove(mine);
        }
        let site = self.threads[thread.index()].site;
        self.perform_lock(thread, object, call, site);
    }

    /// Locks or unlocks a mutex for a thread that is not among the waiting ones.
    #[inline(always)]
    fn perform_lock(
        &mut self,
        thread: ThreadId,
        object: ObjectId,
        call: mutex::Call,
        site: SiteId,
    ) {
        let id = self.next_event(thread);
        let reply = self.mutex(object).apply(call, thread, Outcome::FIRST);
        let calls = &mut self.calls[object.index()];
        let source = calls.last.replace(id);
        if !calls.waiting.is_empty() {
            self.open_or_close_calls(object);
        }
        let decision = self.entry(id, source, Resolution::FIRST);
        self.execution.add_decision(decision, false);
        let call = Call::Mutex(call);
        self.add_event(id, Operation::Call { object, call }, source, reply, site);
    }

    /// Begins a thread.
    #[inline(always)]
    pub(super) fn perform_begin(&mut self, thread: ThreadId) {
        let id = EventId { thread, index: 0 };
        let source = self.execution.threads[thread.index()].spawned_by;
        let site = self.threads[thread.index()].site;
        self.add_event(id, Operation::Begin, source, Reply::DONE, site);
    }

    /// Ends a thread.
    #[inline(always)]
    fn perform_end(&mut self, thread: ThreadId) {
        let site = self.threads[thread.index()].site;
        let id = self.next_event(thread);
        self.end_thread(id);
        self.add_event(id, Operation::End, None, Reply::DONE, site);
    }

    /// Records an event with its only outcome, which was not announced or is not pending any more.
    #[inline(always)]
    fn add_event(
        &mut self,
        id: EventId,
        operation: Operation,
        source: Option<EventId>,
        reply: Reply,
        site: SiteId,
    ) {
        let entry = &mut self.threads[id.thread.index()];
        entry.reply = reply;
        entry.events = id.index + 1;
        self.execution.events.push(Event {
            id,
            operation,
            source,
            outcome: Outcome::FIRST,
            reply,
            site,
        });
        if self.views.is_on() {
            if let Some(event) = self.execution.events.last() {
                self.views.record(event, &self.execution);
            }
        } else if self.order.is_on()
            && let Some(event) = self.execution.events.last()
        {
            self.order.record(event, &self.execution);
        }
        if self.watches {
            self.threads[id.thread.index()].pending = operation;
            self.note(id.thread, Outcome::FIRST);
        }
    }
}
