//! Meetings: threads that wait for each other at a barrier.

use super::State;
use crate::base::ids::{EventId, ObjectId, ThreadId};
use crate::base::reply::Reply;
use crate::base::subsets::{number_of, subset, subsets};
use crate::model::operation::{Operation, Ports};
use crate::object::Object;
use crate::object::barrier::Barrier;

impl State {
    pub(super) fn barrier(&self, barrier: ObjectId) -> &Barrier {
        match &self.execution.objects[barrier.index()] {
            Object::Barrier(barrier) => barrier,
            other => panic!("raddle: a meeting at {other:?}; please report this"),
        }
    }

    fn barrier_mut(&mut self, barrier: ObjectId) -> &mut Barrier {
        match &mut self.execution.objects[barrier.index()] {
            Object::Barrier(barrier) => barrier,
            other => panic!("raddle: a meeting at {other:?}; please report this"),
        }
    }

    /// Those who wait for a group to be in, without this one.
    fn others(&self, barrier: ObjectId, than: ThreadId) -> Vec<ThreadId> {
        let waiting = self.calls[barrier.index()].waiting.iter().copied();
        let machine = self.barrier(barrier);
        waiting
            .filter(|&thread| thread != than && !machine.is_released(thread))
            .collect()
    }

    /// In how many groups the thread could be.
    pub(super) fn groups(&self, barrier: ObjectId, thread: ThreadId) -> u32 {
        let machine = self.barrier(barrier);
        if machine.is_released(thread) {
            return 1;
        }
        subsets(self.others(barrier, thread).len(), machine.size() - 1).max(1)
    }

    /// Which of these groups has these members besides the thread; 0 if its group has met.
    pub(crate) fn group_of(
        &self,
        barrier: ObjectId,
        thread: ThreadId,
        members: &[ThreadId],
    ) -> Option<u32> {
        if self.barrier(barrier).is_released(thread) {
            return Some(0);
        }
        let others = self.others(barrier, thread);
        let positions: Vec<usize> = (0..others.len())
            .filter(|&position| members.contains(&others[position]))
            .collect();
        let complete = positions.len() + 1 == self.barrier(barrier).size();
        complete.then(|| number_of(others.len(), &positions))
    }

    /// A thread has come, or gone, or given up.
    pub(super) fn count_waiting(&mut self, barrier: ObjectId) {
        let waiting = std::mem::take(&mut self.calls[barrier.index()].waiting);
        let machine = self.barrier(barrier);
        let released = |thread: ThreadId| machine.is_released(thread);
        let free = waiting.iter().filter(|&&thread| !released(thread)).count();
        let enough = free >= machine.size();
        let can_go_on: Vec<bool> = waiting
            .iter()
            .map(|&thread| enough || released(thread))
            .collect();
        for (&thread, can_go_on) in waiting.iter().zip(can_go_on) {
            self.set_enabled(thread, can_go_on);
        }
        self.calls[barrier.index()].waiting = waiting;
    }

    /// The thread goes on, and its group meets if it has not done so. The group's source is the group
    /// before, that of a member is the group.
    pub(super) fn meet(
        &mut self,
        barrier: ObjectId,
        id: EventId,
        outcome: u32,
    ) -> (Option<EventId>, Reply) {
        let thread = id.thread;
        let round = self.barrier(barrier).rounds(thread);
        let released = self.barrier(barrier).is_released(thread);
        if !released {
            let others = self.others(barrier, thread);
            let size = self.barrier(barrier).size();
            let positions = subset(others.len(), size - 1, outcome);
            let mut members: Vec<ThreadId> = positions.iter().map(|&one| others[one]).collect();
            members.push(thread);
            let name = self.name_of_group(&members);
            self.barrier_mut(barrier).meet(&members, name);
        }
        self.leave(Ports::One(barrier), thread);
        let (name, before) = self.barrier_mut(barrier).leave(thread);
        self.count_waiting(barrier);
        let source = if name == id { before } else { Some(name) };
        let round = round - u32::from(released);
        (source, Reply::value(u64::from(round)))
    }

    /// Of the members' next events the one whose fingerprint is least: the same in every run.
    fn name_of_group(&self, members: &[ThreadId]) -> EventId {
        let next = |&thread: &ThreadId| EventId {
            thread,
            index: self.threads[thread.index()].events,
        };
        let fingerprint = |id: &EventId| {
            let thread = &self.threads[id.thread.index()];
            thread.event_fingerprint(id.index)
        };
        let least = members.iter().map(next).min_by_key(fingerprint);
        least.expect("a group has members")
    }

    pub(super) fn leads(&mut self, operation: Operation, outcome: u32) -> (Option<EventId>, Reply) {
        let Operation::Leads {
            barrier,
            member,
            round,
        } = operation
        else {
            unreachable!("only one question is about leaders");
        };
        let (group, leads) = self.barrier_mut(barrier).leads(member, round, outcome == 1);
        (Some(group), Reply::answer(leads))
    }
}
