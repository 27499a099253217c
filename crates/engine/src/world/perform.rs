//! Announcing an operation, and performing it: its effect on the state, its source and its reply.

use super::State;
use crate::base::ids::{EventId, ObjectId, SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::model::event::Event;
use crate::model::execution::{decides, resolution};
use crate::model::operation::{Operation, Ports};
use crate::object::{Call, Machine, Object};

impl State {
    /// Sets the pending operation of a thread, and enables or disables the thread.
    // Inlined: most callers create an operation of one variant, and the code for the others is
    // removed.
    #[inline(always)]
    pub(super) fn announce(&mut self, thread: ThreadId, operation: Operation, site: SiteId) {
        let entry = &mut self.threads[thread.index()];
        entry.pending = operation;
        entry.site = site;
        let enabled = match operation {
            Operation::Join { target } => {
                self.threads[target.index()].joiner = Some(thread);
                self.has_ended(target)
            }
            Operation::Call { object, call } => {
                self.calls[object.index()].waiting.push(thread);
                self.execution.objects[object.index()].open(call, thread)
            }
            Operation::Receive { ports, wait } => {
                self.wait_at(ports, thread);
                !wait || self.can_receive(ports)
            }
            Operation::Delivered { port } => {
                self.wait_at(Ports::One(port), thread);
                self.port(port).delivered(thread).is_some()
            }
            Operation::Meet { barrier } => {
                self.wait_at(Ports::One(barrier), thread);
                self.count_waiting(barrier);
                return;
            }
            Operation::Assume => false,
            _ => true,
        };
        self.set_enabled(thread, enabled);
    }

    /// Performs the pending operation of an enabled thread; returns its reply, which is kept as well.
    /// An event is added unless `record` is false.
    #[inline(always)]
    pub(super) fn perform(&mut self, thread: ThreadId, outcome: Outcome, record: bool) -> Reply {
        let entry = &self.threads[thread.index()];
        let site = entry.site;
        let id = EventId {
            thread,
            index: entry.events,
        };
        // Matched in place: a copy of the operation would be written in small parts and read in large
        // ones, which defeats store forwarding and stalls at every event.
        let (source, reply) = match entry.pending {
            Operation::Begin => (
                self.execution.threads[thread.index()].spawned_by,
                Reply::DONE,
            ),
            Operation::End => {
                self.end_thread(id);
                (None, Reply::DONE)
            }
            Operation::Spawn => (None, Reply::thread(self.add_thread(Some(id), site))),
            Operation::Join { target } => (self.execution.threads[target.index()].end, Reply::DONE),
            Operation::IsFinished { target } => {
                let end = self.execution.threads[target.index()].end;
                let end = end.filter(|_| outcome.sees_end());
                (end, Reply::answer(end.is_some()))
            }
            Operation::Yield | Operation::Sleep { .. } | Operation::Fence { .. } => {
                (None, Reply::DONE)
            }
            Operation::Assume => unreachable!("never enabled"),
            Operation::Choose { .. } => (None, Reply::value(u64::from(outcome.alternative()))),
            Operation::Chance { .. } => (None, Reply::answer(outcome.is_yes())),
            Operation::Load { location, .. } => self.load(location, outcome),
            Operation::Store {
                location, value, ..
            } => self.store(location, value, id, outcome),
            Operation::Update {
                location, update, ..
            } => self.update(location, update, id, outcome),
            Operation::Meet { barrier } => self.meet(barrier, id, outcome),
            Operation::Leads { .. } => {
                let operation = self.threads[thread.index()].pending;
                self.leads(operation, outcome)
            }
            Operation::Send { port } => self.send(port, id),
            Operation::Receive { ports, .. } => self.receive(ports, id, outcome),
            Operation::Delivered { port } => (self.delivered(port, thread), Reply::DONE),
            Operation::HangUp { port, location } => {
                self.hang_up(port);
                let source = match self.views.is_on() {
                    true => self.put(location, outcome.back(), id, 1, false),
                    false => self.execution.locations[location.index()].write(id, 1),
                };
                (source, Reply::DONE)
            }
            Operation::Call { object, call } => {
                let reply = self.execution.objects[object.index()].apply(call, thread, outcome);
                let source = match call.is_silent() {
                    true => self.complete_silently(object, call, thread),
                    false => self.complete_call(object, id),
                };
                (source, reply)
            }
        };
        let entry = &mut self.threads[thread.index()];
        entry.reply = reply;
        if record {
            entry.events += 1;
            let operation = &entry.pending;
            if decides(operation) {
                let is_store = matches!(operation, Operation::Store { .. });
                let resolution = resolution(operation, outcome, reply);
                let decision = self.entry(id, source, resolution);
                self.execution.add_decision(decision, is_store);
            }
            // Built where it stays, and read from there, for the same reason.
            self.execution.events.push(Event {
                id,
                operation: self.threads[thread.index()].pending,
                source,
                outcome,
                reply,
                site,
            });
            if let Some(event) = self.execution.events.last() {
                if self.views.is_on() {
                    self.views.record(event, &self.execution);
                } else if self.order.is_on() {
                    self.order.record(event, &self.execution);
                }
            }
        }
        if self.watches {
            self.note(thread, outcome);
        }
        reply
    }

    #[inline(always)]
    pub(super) fn end_thread(&mut self, end: EventId) {
        self.execution.threads[end.thread.index()].end = Some(end);
        self.disable(end.thread);
        if let Some(joiner) = self.threads[end.thread.index()].joiner {
            self.enable(joiner);
        }
    }

    /// Completes a call that other threads do not observe; returns the completed call that opened
    /// it.
    fn complete_silently(
        &mut self,
        object: ObjectId,
        call: Call,
        thread: ThreadId,
    ) -> Option<EventId> {
        self.leave(Ports::One(object), thread);
        let opened_by = self.execution.objects[object.index()].opened_by(call, thread)?;
        let completed = &self.calls[object.index()].completed;
        completed.get(opened_by as usize).copied()
    }

    /// Completes a call and enables or disables the threads that wait on the object; returns the
    /// previous completed call.
    fn complete_call(&mut self, object: ObjectId, id: EventId) -> Option<EventId> {
        let calls = &mut self.calls[object.index()];
        let previous = calls.last.replace(id);
        if let Object::Condvar(_) = self.execution.objects[object.index()] {
            calls.completed.push(id);
        }
        if let Some(mine) = calls.waiting.iter().position(|&thread| thread == id.thread) {
            calls.waiting.swap_remove(mine);
        }
        if !calls.waiting.is_empty() {
            self.open_or_close_calls(object);
        }
        previous
    }

    /// Enables or disables the threads that wait on the object.
    #[inline(never)]
    pub(super) fn open_or_close_calls(&mut self, object: ObjectId) {
        let waiting = std::mem::take(&mut self.calls[object.index()].waiting);
        match self.execution.objects[object.index()] {
            // The most frequent object, and the one on which most threads wait: without the general
            // dispatch a waiting thread costs a third.
            Object::Mutex(mutex) => self.open_or_close(&waiting, |_, call, thread| match call {
                Call::Mutex(call) => mutex.open(call, thread),
                _ => unreachable!("a call of another object on a mutex"),
            }),
            _ => self.open_or_close(&waiting, |state, call, thread| {
                state.execution.objects[object.index()].open(call, thread)
            }),
        }
        self.calls[object.index()].waiting = waiting;
    }

    #[inline(always)]
    fn open_or_close(
        &mut self,
        waiting: &[ThreadId],
        is_open: impl Fn(&State, Call, ThreadId) -> bool,
    ) {
        for &thread in waiting {
            let Operation::Call { call, .. } = self.threads[thread.index()].pending else {
                unreachable!("a thread waits on an object it does not call");
            };
            let open = is_open(self, call, thread);
            self.set_enabled(thread, open);
        }
    }
}
