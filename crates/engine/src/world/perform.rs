//! What a thread wants to do, and what happens when it does it.

use super::{State, Thread};
use crate::base::ids::{EventId, ObjectId, SiteId, ThreadId};
use crate::base::reply::Reply;
use crate::model::event::Event;
use crate::model::execution::{decides, distinguishing};
use crate::model::operation::{Operation, Ports};
use crate::object::{Call, Object};

impl State {
    // Inlined so that what is known of the operation where it is made is known here too.
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

    /// Performs the pending operation of an enabled thread and keeps its reply.
    #[inline(always)]
    pub(super) fn perform(&mut self, thread: ThreadId, outcome: u32, record: bool) -> Reply {
        let Thread {
            pending: ref operation,
            site,
            events,
            ..
        } = self.threads[thread.index()];
        let (operation, id) = (
            *operation,
            EventId {
                thread,
                index: events,
            },
        );
        let (source, reply) = match operation {
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
                // Whether it has ended, it may learn later.
                let end = end.filter(|_| outcome == 0);
                (end, Reply::answer(end.is_some()))
            }
            Operation::Load { .. } | Operation::Store { .. } | Operation::Update { .. }
                if self.views.is_on() =>
            {
                self.access(&operation, id, outcome)
            }
            Operation::Yield | Operation::Sleep { .. } | Operation::Fence { .. } => {
                (None, Reply::DONE)
            }
            Operation::Assume => unreachable!("never enabled"),
            Operation::Choose { .. } | Operation::Chance { .. } => {
                (None, Reply::value(u64::from(outcome)))
            }
            Operation::Load { location, .. } => {
                let location = &self.execution.locations[location.index()];
                (location.last_write, Reply::value(location.value))
            }
            Operation::Store {
                location, value, ..
            } => {
                let location = &mut self.execution.locations[location.index()];
                (location.write(id, value), Reply::DONE)
            }
            Operation::Update {
                location, update, ..
            } => {
                let location = &mut self.execution.locations[location.index()];
                let (old, source) = (location.value, location.last_write);
                if let Some(new) = update.apply(old, outcome) {
                    location.write(id, new);
                }
                (source, Reply::value(old))
            }
            Operation::Meet { barrier } => self.meet(barrier, id, outcome),
            Operation::Leads { .. } => self.leads(operation, outcome),
            Operation::Send { port } => self.send(port, id),
            Operation::Receive { ports, .. } => self.receive(ports, id, outcome),
            Operation::Delivered { port } => (self.delivered(port, thread), Reply::DONE),
            Operation::HangUp { port, location } => {
                self.hang_up(port);
                let source = match self.views.is_on() {
                    true => self.put(location, outcome, id, 1, false),
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
            let decision = if decides(&operation) {
                self.entry(id, source, distinguishing(&operation, outcome, reply))
            } else {
                0
            };
            let event = Event {
                id,
                operation,
                source,
                outcome,
                reply,
                site,
            };
            if self.views.is_on() {
                self.views.record(&event, &self.execution);
            } else if self.order.is_on() {
                self.order.record(&event, &self.execution);
            }
            self.execution.record(event, decision);
        }
        if self.watches {
            self.note(thread, outcome);
        }
        reply
    }

    fn end_thread(&mut self, end: EventId) {
        self.execution.threads[end.thread.index()].end = Some(end);
        self.disable(end.thread);
        if let Some(joiner) = self.threads[end.thread.index()].joiner {
            self.enable(joiner);
        }
    }

    /// Says which completed call opened this one; nobody else notices.
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

    /// Whoever else waits on the object may be able to go on now, or not any more.
    fn complete_call(&mut self, object: ObjectId, id: EventId) -> Option<EventId> {
        let calls = &mut self.calls[object.index()];
        let previous = calls.last.replace(id);
        if let Object::Condvar(_) = self.execution.objects[object.index()] {
            calls.completed.push(id);
        }
        if let Some(mine) = calls.waiting.iter().position(|&thread| thread == id.thread) {
            calls.waiting.swap_remove(mine);
        }
        if calls.waiting.is_empty() {
            return previous;
        }
        let waiting = std::mem::take(&mut calls.waiting);
        for &thread in &waiting {
            let Operation::Call { call, .. } = self.threads[thread.index()].pending else {
                unreachable!("a thread waits on an object it does not call");
            };
            let open = self.execution.objects[object.index()].open(call, thread);
            self.set_enabled(thread, open);
        }
        self.calls[object.index()].waiting = waiting;
        previous
    }
}
