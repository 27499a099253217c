//! Barriers in a graph: arrivals, and the groups that pass together.
//!
//! An arrival is a send. The pass of a group is a receive that takes as many waiting arrivals as
//! the group has members, oldest first. It belongs to the thread of its oldest member, and the
//! passes of all other members depend on it. The groups of one barrier are totally ordered, like
//! the completions of an object.
//!
//! The answer to a question about a leader is free until the group has a leader, or only the thread
//! asked about can be it. The answers are not ordered.

use super::{Graph, Node, NodeKind};
use crate::base::ids::{EventId, ObjectId, ThreadId};
use crate::base::outcome::Resolution;
use crate::base::subsets::subset;
use crate::memory::clock::{covers, join};
use crate::object::barrier::only_answer;
use crate::search::explore::revisit::all_maximal;

/// Events at a barrier besides the passes of groups, which are its completions.
#[derive(Clone, Debug, Default)]
pub(crate) struct BarrierLog {
    /// Arrivals in insertion order; the source of each is the pass of its group.
    pub(crate) arrivals: Vec<EventId>,
    /// Questions about leaders in insertion order; the source of each is the pass that it is
    /// about.
    pub(crate) questions: Vec<EventId>,
}

impl BarrierLog {
    pub(crate) fn is_unused(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// Makes this the part of `whole` that `keep` selects.
    pub(crate) fn restrict(&mut self, whole: &BarrierLog, keep: impl Fn(EventId) -> bool) {
        let copy = |to: &mut Vec<EventId>, from: &[EventId]| {
            to.clear();
            to.extend(from.iter().copied().filter(|&id| keep(id)));
        };
        copy(&mut self.arrivals, &whole.arrivals);
        copy(&mut self.questions, &whole.questions);
    }
}

impl Graph {
    pub(crate) fn barrier(&self, barrier: ObjectId) -> &BarrierLog {
        &self.object(barrier).barrier
    }

    fn barrier_mut(&mut self, barrier: ObjectId) -> &mut BarrierLog {
        &mut self.object_mut(barrier).barrier
    }

    pub(crate) fn group_size(&self, barrier: ObjectId) -> usize {
        self.object(barrier).state().barrier().size()
    }

    /// Returns the arrivals that are in no group.
    pub(crate) fn waiting(&self, barrier: ObjectId) -> Vec<EventId> {
        let came = self.barrier(barrier).arrivals.iter().copied();
        came.filter(|&one| self.node(one).source.is_none())
            .collect()
    }

    /// Returns the arrivals of a group, in insertion order.
    pub(crate) fn members(&self, pass: EventId) -> impl Iterator<Item = EventId> + '_ {
        let NodeKind::Pass { barrier } = self.node(pass).kind else {
            unreachable!("only passes have members");
        };
        let came = self.barrier(barrier).arrivals.iter().copied();
        came.filter(move |&one| self.node(one).source == Some(pass))
    }

    /// Adds a new event to the log of its barrier.
    pub(crate) fn record_at_barrier(&mut self, id: EventId, kind: NodeKind) {
        match kind {
            NodeKind::Arrive { barrier } => {
                self.arrivals += 1;
                self.barrier_mut(barrier).arrivals.push(id);
            }
            NodeKind::AskLeader { barrier } => self.barrier_mut(barrier).questions.push(id),
            _ => {}
        }
    }

    /// Reverts `record_at_barrier` for the last event, which has left the log of its thread.
    pub(crate) fn unrecord_at_barrier(
        &mut self,
        id: EventId,
        kind: NodeKind,
        source: Option<EventId>,
    ) {
        match kind {
            NodeKind::Arrive { barrier } => {
                self.arrivals -= 1;
                self.barrier_mut(barrier).arrivals.pop();
            }
            NodeKind::AskLeader { barrier } => {
                self.barrier_mut(barrier).questions.pop();
            }
            NodeKind::Pass { barrier } if source.is_none() => self.dissolve(barrier, id),
            _ => {}
        }
    }

    /// Removes the last group of the barrier.
    fn dissolve(&mut self, barrier: ObjectId, pass: EventId) {
        self.object_mut(barrier).completions.pop();
        for position in 0..self.barrier(barrier).arrivals.len() {
            let one = self.barrier(barrier).arrivals[position];
            let node = self.node_mut(one);
            node.source = node.source.filter(|&other| other != pass);
        }
    }

    /// Clears the sources of arrivals whose pass is not kept, in a graph just restricted.
    pub(crate) fn forget_lost_groups(&mut self, keep: impl Fn(EventId) -> bool) {
        for index in 0..self.objects.len() {
            for position in 0..self.objects[index].barrier.arrivals.len() {
                let one = self.objects[index].barrier.arrivals[position];
                let node = self.node_mut(one);
                node.source = node.source.filter(|&pass| keep(pass));
            }
        }
    }

    /// Gives the pass with this stamp another group of the waiting arrivals. It keeps its
    /// position in insertion order and must be the last of its barrier.
    pub(crate) fn regroup(&mut self, stamp: u32, group: u32) {
        let old = self.order[stamp as usize];
        let removed = self.threads[old.thread.index()].nodes.pop();
        let removed = removed.expect("it is the last");
        let NodeKind::Pass { barrier } = removed.kind else {
            unreachable!("only passes are moved");
        };
        self.dissolve(barrier, old);
        let waiting = self.waiting(barrier);
        let members = subset(waiting.len(), self.group_size(barrier), group);
        let first = waiting[members[0]];
        let id = EventId {
            index: first.index + 1,
            ..first
        };
        // Its neighbours in insertion order belong to another thread.
        let moved = Node {
            run: stamp,
            ..removed
        };
        self.threads[id.thread.index()].nodes.push(moved);
        self.order[stamp as usize] = id;
        self.form_group(barrier, id, members.iter().map(|&member| waiting[member]));
    }

    /// Makes the arrivals a group, the next one of its barrier.
    pub(crate) fn form_group(
        &mut self,
        barrier: ObjectId,
        pass: EventId,
        members: impl Iterator<Item = EventId>,
    ) {
        for member in members {
            self.node_mut(member).source = Some(pass);
        }
        let groups = &mut self.object_mut(barrier).completions;
        groups.push(pass);
        let position = groups.len() as u64 - 1;
        self.node_mut(pass).value = position;
    }

    /// True when the group is the search's first choice, given the kept events.
    pub(crate) fn is_maximal_group(
        &self,
        barrier: ObjectId,
        pass: EventId,
        kept: impl Fn(EventId) -> bool,
    ) -> bool {
        let position = self.node(pass).value;
        let waits = |&one: &EventId| {
            let group = self.node(one).source;
            let met_before = |other: EventId| kept(other) && self.node(other).value < position;
            kept(one) && !group.is_some_and(met_before)
        };
        let came = self.barrier(barrier).arrivals.iter().copied();
        let mut oldest = came.filter(waits).take(self.group_size(barrier));
        self.members(pass).all(&kept) && self.members(pass).all(|one| oldest.next() == Some(one))
    }

    /// Returns the arrivals inserted after the pass that do not depend on it and are in no
    /// earlier group, except `newest`.
    fn late_arrivals(&self, pass: EventId, newest: EventId) -> Vec<EventId> {
        let NodeKind::Pass { barrier } = self.node(pass).kind else {
            unreachable!("only passes have members");
        };
        let at = self.node(pass);
        let met_before = |other: EventId| self.node(other).value < at.value;
        let is_late = |&one: &EventId| {
            one != newest
                && self.node(one).stamp > at.stamp
                && !covers(self.causal(one), pass)
                && !self.node(one).source.is_some_and(met_before)
        };
        let came = self.barrier(barrier).arrivals.iter().copied();
        came.filter(is_late).collect()
    }

    /// Returns the joined causal clocks of `newest` and of the late arrivals selected by the bit
    /// set `companions`.
    pub(crate) fn prefix_of_revisit(
        &self,
        pass: EventId,
        newest: EventId,
        companions: u32,
    ) -> Vec<u32> {
        let mut prefix = self.causal(newest).to_vec();
        for (position, &one) in self.late_arrivals(pass, newest).iter().enumerate() {
            if companions >> position & 1 == 1 {
                join(&mut prefix, self.causal(one));
            }
        }
        prefix
    }

    /// Returns the sets of late arrivals, as bit sets, with which `newest` could revisit the
    /// pass.
    pub(crate) fn companions(&self, pass: EventId, newest: EventId) -> Vec<u32> {
        let NodeKind::Pass { barrier } = self.node(pass).kind else {
            unreachable!("only passes have members");
        };
        if covers(self.causal(newest), pass) {
            return Vec::new();
        }
        let late = self.late_arrivals(pass, newest).len();
        assert!(
            late < 32,
            "raddle: more than 32 threads wait at a barrier at once; please make the test smaller"
        );
        let room = self.group_size(barrier) - 1;
        let all = (0..1u32 << late).filter(|set| set.count_ones() as usize <= room);
        all.filter(|&set| {
            let prefix = self.prefix_of_revisit(pass, newest, set);
            !covers(&prefix, pass) && all_maximal(self, pass, newest, &prefix)
        })
        .collect()
    }

    /// Returns the first answer of the search to a question about a leader, given the kept events,
    /// and whether it is the only possible one.
    pub(crate) fn first_leader_answer(
        &self,
        barrier: ObjectId,
        question: EventId,
        kept: impl Fn(EventId) -> bool,
    ) -> (Resolution, bool) {
        let group = self.node(question).source;
        let about_it = |&&other: &&EventId| {
            other != question && self.node(other).source == group && kept(other)
        };
        let others = self.barrier(barrier).questions.iter().filter(about_it);
        let answered = others.map(|&other| {
            let other = self.node(other);
            (other.value, other.outcome.is_yes())
        });
        let member = self.node(question).value;
        match only_answer(answered, member, self.group_size(barrier)) {
            Some(leads) => (Resolution::of_answer(leads), true),
            None => (Resolution::of_answer(true), false),
        }
    }

    /// Returns the pass of the group that the thread was in, counted by its arrivals at the
    /// barrier.
    pub(crate) fn group_of_member(
        &self,
        barrier: ObjectId,
        member: ThreadId,
        round: u32,
    ) -> Option<EventId> {
        let came = self.barrier(barrier).arrivals.iter();
        let mut mine = came.filter(|one| one.thread == member);
        let one = mine.nth(round as usize)?;
        self.node(*one).source
    }

    /// True when a pass can be next in a linearization: the pass of its group is placed, or it
    /// is the pass itself, the earlier groups have met, and all members have arrived.
    pub(crate) fn is_pass_ready(
        &self,
        barrier: ObjectId,
        pass: EventId,
        is_placed: impl Fn(EventId) -> bool,
    ) -> bool {
        let node = self.node(pass);
        match node.source {
            Some(pass) => is_placed(pass),
            None => {
                self.object(barrier).placed as u64 == node.value
                    && self.members(pass).all(is_placed)
            }
        }
    }
}
