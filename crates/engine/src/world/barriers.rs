//! Barriers: the threads that wait at one, and the effect of a pass on the others.

use super::State;
use crate::base::ids::{EventId, ObjectId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::model::operation::{Operation, Ports};
use crate::object::barrier::Barrier;

impl State {
    fn barrier(&self, barrier: ObjectId) -> &Barrier {
        self.execution.objects[barrier.index()].barrier()
    }

    fn barrier_mut(&mut self, barrier: ObjectId) -> &mut Barrier {
        self.execution.objects[barrier.index()].barrier_mut()
    }

    /// Returns the number of groups in which the thread could pass.
    pub(super) fn groups(&self, barrier: ObjectId, thread: ThreadId) -> u32 {
        let waiting = &self.calls[barrier.index()].waiting;
        self.barrier(barrier).possible_groups(waiting, thread)
    }

    /// Returns the number of the group that has these members besides the thread; 0 if it has its
    /// group.
    pub(crate) fn group_of(
        &self,
        barrier: ObjectId,
        thread: ThreadId,
        members: &[ThreadId],
    ) -> Option<u32> {
        let waiting = &self.calls[barrier.index()].waiting;
        self.barrier(barrier).group_number(waiting, thread, members)
    }

    /// Returns the number of possible answers to whether a thread led its group.
    pub(super) fn leader_answers(&self, barrier: ObjectId, member: ThreadId, round: u32) -> u32 {
        1 + u32::from(self.barrier(barrier).may_lead_or_not(member, round))
    }

    /// Enables and disables the waiting threads of a barrier after one has arrived, passed or
    /// withdrawn.
    pub(super) fn count_waiting(&mut self, barrier: ObjectId) {
        let waiting = std::mem::take(&mut self.calls[barrier.index()].waiting);
        let can_pass = self.barrier(barrier).can_pass(&waiting);
        for (&thread, can_pass) in waiting.iter().zip(can_pass) {
            self.set_enabled(thread, can_pass);
        }
        self.calls[barrier.index()].waiting = waiting;
    }

    /// Lets the thread pass. The source of a group's first member is the group before, that of any
    /// other member is its own group.
    pub(super) fn meet(
        &mut self,
        barrier: ObjectId,
        id: EventId,
        outcome: Outcome,
    ) -> (Option<EventId>, Reply) {
        let State {
            execution,
            threads,
            calls,
            ..
        } = self;
        // Of the members' next events the one with the least fingerprint, which is the same in
        // every run.
        let name = |members: &[ThreadId]| {
            let next = |&thread: &ThreadId| EventId {
                thread,
                index: threads[thread.index()].events,
            };
            let fingerprint = |id: &EventId| threads[id.thread.index()].event_fingerprint(id.index);
            let least = members.iter().map(next).min_by_key(fingerprint);
            least.expect("a group has members")
        };
        let waiting = &calls[barrier.index()].waiting;
        let machine = execution.objects[barrier.index()].barrier_mut();
        let (source, round) = machine.pass(waiting, id, outcome.group(), name);
        self.leave(Ports::One(barrier), id.thread);
        self.count_waiting(barrier);
        (source, Reply::value(u64::from(round)))
    }

    pub(super) fn leads(
        &mut self,
        operation: Operation,
        outcome: Outcome,
    ) -> (Option<EventId>, Reply) {
        let Operation::Leads {
            barrier,
            member,
            round,
        } = operation
        else {
            unreachable!("only one question is about leaders");
        };
        let (group, leads) = self
            .barrier_mut(barrier)
            .leads(member, round, outcome.is_yes());
        (Some(group), Reply::answer(leads))
    }
}
