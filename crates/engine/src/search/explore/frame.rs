//! Frames of the search: a graph with its untried branches, extended by the first choice at each
//! step.

use super::revisit;
use crate::base::ids::{EventId, LocationId, ObjectId, SiteId, ThreadId};
use crate::base::outcome::Resolution;
use crate::memory::clock::covers;
use crate::object::Call;
use crate::search::graph::{Graph, NodeKind};
use crate::search::reduce::Reductions;

/// A graph, and the branches that are left from the choices made in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) graph: Graph,
    /// The operations of the graph as a linearization, or a first part of it.
    pub(crate) steps: Vec<EventId>,
    /// True when `steps` is a whole linearization; otherwise one must be found first.
    pub(crate) in_order: bool,
    /// True when `steps` may differ from insertion order.
    pub(crate) is_mixed: bool,
    pub(crate) branches: Vec<Branch>,
    /// Calls that may have become open since the last check.
    pub(crate) may_be_open: MayBeOpen,
    /// Calls that can be completed now, with their numbers of outcomes; empty between two uses.
    pub(crate) open_calls: Vec<(EventId, u32)>,
    /// In a weak graph: the read that was just revisited, and the write.
    pub(crate) revisited: Option<(EventId, EventId)>,
}

/// The calls that may be open: a completion may open any call, a call opens no other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum MayBeOpen {
    Nothing,
    CallOf(ThreadId),
    #[default]
    AnyCall,
}

/// An alternative: undo the insertions after the first `keep`, then apply one change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    pub(crate) keep: usize,
    pub(crate) change: Change,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// Another source or outcome of a read.
    Source {
        read: EventId,
        source: Option<EventId>,
        outcome: Resolution,
    },
    /// Another position of a write in coherence order.
    Place { write: EventId, position: usize },
    /// Another position in coherence order of a write that revisited a read, or another outcome of
    /// the read.
    PlaceForRead {
        write: EventId,
        position: usize,
        read: EventId,
        outcome: Resolution,
    },
    /// Another call, or another outcome, for the completion with this stamp.
    Complete {
        stamp: u32,
        call: EventId,
        outcome: Resolution,
    },
    /// Another alternative of a choice.
    Choose { event: EventId, outcome: Resolution },
    /// Another message for a receive, or none.
    Take {
        receive: EventId,
        send: Option<EventId>,
    },
    /// Another group for the pass with this stamp.
    Regroup { stamp: u32, group: u32 },
    /// Another position of a send in the arrival order of an ordered port.
    Deliver { send: EventId, position: usize },
    /// A revisit of a pass by the newest arrival, together with some of those inserted since the
    /// pass.
    RevisitGroup {
        pass: EventId,
        newest: EventId,
        companions: u32,
    },
    /// A revisit: an older receive takes a newer send.
    Revisit { receive: EventId, send: EventId },
}

impl Frame {
    /// Creates a frame with an empty graph.
    pub(crate) fn new(reductions: Reductions, order: u64) -> Self {
        Frame {
            graph: Graph::new(reductions).shuffled(order),
            in_order: true,
            ..Frame::default()
        }
    }

    pub(crate) fn branch(&mut self, change: Change) {
        self.branches.push(Branch {
            keep: self.graph.order.len(),
            change,
        });
    }

    /// Undoes insertions until `keep` events are left.
    pub(crate) fn truncate(&mut self, keep: usize) {
        let graph = &self.graph;
        let is_kept = |id: &EventId| (graph.node(*id).stamp as usize) < keep;
        if !self.is_mixed {
            while self.steps.pop_if(|id| !is_kept(id)).is_some() {}
            self.graph.truncate(keep);
            return;
        }
        let is_same =
            |id: &EventId| is_kept(id) && graph.write_of(*id).is_none_or(|it| is_kept(&it));
        let first = self.steps.iter().position(|id| !is_same(id));
        self.steps.retain(is_kept);
        self.graph.truncate(keep);
        // `hb` of what comes behind may include events that are gone.
        if let Some(first) = first
            && !self.graph.weak
            && self.graph.memory > 0
        {
            self.steps.truncate(first);
            self.in_order = false;
        }
    }

    /// Keeps only the steps before this one, which is to be changed: they do not depend on it.
    pub(crate) fn cut_steps(&mut self, step: EventId) {
        if let Some(first) = self.steps.iter().position(|&id| id == step) {
            self.steps.truncate(first);
        }
        self.in_order = false;
    }

    /// Keeps only the steps before those that depend on this event, which was changed: a write, or a read.
    fn cut_steps_after(&mut self, event: EventId) {
        let node = self.graph.node(event);
        let (location, place) = match (node.kind.reads(), node.kind.writes()) {
            (Some(location), _) => (location, node.source),
            (None, Some(location)) => (location, Some(event)),
            (None, None) => return,
        };
        let place = self.graph.coherence(location, place);
        let next = self.graph.location(location).writes.get(place).copied();
        if let Some(next) = next {
            self.cut_steps(self.graph.step_of(next));
        }
    }

    /// Applies a change, and keeps only the steps that do not depend on it.
    fn apply_and_cut(&mut self, change: Change) {
        self.in_order = false;
        match change {
            Change::Source { read: event, .. } | Change::Place { write: event, .. } => {
                self.cut_steps(event);
                self.apply(change);
                self.cut_steps_after(event);
            }
            Change::PlaceForRead { write, read, .. } => {
                self.cut_steps(read);
                self.cut_steps(write);
                self.apply(change);
                self.cut_steps_after(read);
                self.cut_steps_after(write);
            }
            Change::Complete { stamp, .. } => {
                self.cut_steps(self.graph.order[stamp as usize]);
                self.apply(change);
            }
            Change::Choose { event, .. } => {
                self.cut_steps(event);
                self.apply(change);
            }
            Change::Take { .. }
            | Change::Regroup { .. }
            | Change::Deliver { .. }
            | Change::RevisitGroup { .. }
            | Change::Revisit { .. } => {
                self.steps.clear();
                self.apply(change);
            }
        }
    }

    /// Keeps the linearization of `whole` without `receive`, in a graph just restricted for a
    /// revisit of it by `send`. With memory accesses, or if the receive is not a completion, only its
    /// first part is kept, and a new linearization must be found.
    pub(crate) fn keep_steps(
        &mut self,
        whole: &Frame,
        receive: EventId,
        send: EventId,
        prefix: &[u32],
    ) {
        let is_completion = matches!(whole.graph.node(receive).kind, NodeKind::Completion { .. });
        let is_simple = match whole.graph.weak {
            true => !whole.graph.has_barriers_or_messages(),
            false => whole.graph.memory == 0 && is_completion,
        };
        self.in_order = whole.in_order && is_simple;
        self.steps.clear();
        let last = whole.graph.node(receive).stamp;
        let is_kept = |id: &EventId| {
            *id != receive && (whole.graph.node(*id).stamp < last || covers(prefix, *id))
        };
        let steps = whole.steps.iter().copied();
        if self.in_order {
            self.steps.extend(steps.filter(is_kept));
        } else if !whole.graph.weak && !whole.graph.has_barriers_or_messages() {
            let is_same = |id: &EventId| {
                let write = whole.graph.write_of(*id);
                is_kept(id) && *id != send && write.is_none_or(|it| it != send && is_kept(&it))
            };
            self.steps.extend(steps.take_while(is_same));
        }
        self.is_mixed = true;
        self.graph.forget_accesses();
    }

    /// Appends the completion that a revisit has moved to the linearization.
    pub(crate) fn run_last(&mut self, stamp: u32) {
        let completion = self.graph.order[stamp as usize];
        self.graph.set_clocks(completion);
        self.steps.push(completion);
    }

    /// Applies a change. In a graph without memory accesses, another choice or completion keeps the
    /// linearization valid, and the clocks of all other events.
    pub(crate) fn make(&mut self, change: Change) {
        self.revisited = self.revisited_by(change);
        if self.graph.weak && self.in_order && self.make_weakly(change) {
            return;
        }
        let can_stay = self.in_order && self.graph.memory == 0;
        if can_stay {
            self.graph.forget_accesses();
        }
        match change {
            Change::Choose { .. } if can_stay => self.apply(change),
            Change::Complete { stamp, .. }
                if can_stay && self.steps.last() == Some(&self.graph.order[stamp as usize]) =>
            {
                self.steps.pop();
                self.apply(change);
                self.run_last(stamp);
            }
            change => self.apply_and_cut(change),
        }
    }

    pub(crate) fn apply(&mut self, change: Change) {
        let graph = &mut self.graph;
        match change {
            Change::Source {
                read,
                source,
                outcome,
            } => {
                let read = graph.node_mut(read);
                (read.source, read.outcome) = (source, outcome);
            }
            Change::PlaceForRead {
                write,
                position,
                read,
                outcome,
            } => {
                graph.node_mut(read).outcome = outcome;
                self.apply(Change::Place { write, position });
            }
            Change::Place { write, position } => {
                let location = graph
                    .node(write)
                    .kind
                    .writes()
                    .expect("only writes are placed");
                graph.unplace(location, write);
                graph.place(location, write, position);
            }
            Change::Complete {
                stamp,
                call,
                outcome,
            } => {
                graph.move_completion(stamp, call, outcome);
            }
            Change::Regroup { stamp, group } => graph.regroup(stamp, group),
            Change::Take { receive, send } => graph.take_message(receive, send),
            Change::Deliver { send, position } => {
                let NodeKind::Send { port } = graph.node(send).kind else {
                    unreachable!("only messages arrive");
                };
                graph.arrive(port, send, position);
            }
            Change::Choose { event, outcome } => graph.node_mut(event).outcome = outcome,
            Change::Revisit { .. } | Change::RevisitGroup { .. } => {
                unreachable!("a revisit makes a frame of its own")
            }
        }
    }

    /// Makes this frame the result of a revisit in `parent`, without branches.
    pub(crate) fn revisit(
        &mut self,
        parent: &Frame,
        receive: EventId,
        send: EventId,
        companions: Option<u32>,
    ) {
        self.branches.clear();
        let of_group;
        let prefix = match companions {
            None => parent.graph.causal(send),
            Some(companions) => {
                of_group = parent.graph.prefix_of_revisit(receive, send, companions);
                &of_group
            }
        };
        self.graph.restrict(&parent.graph, receive, prefix);
        self.keep_steps(parent, receive, send, prefix);
        let stamp = self.graph.node(receive).stamp;
        let writes = self.graph.node(send).kind.writes().is_some();
        self.take_send(receive, send);
        self.revisited = writes.then_some((receive, send));
        if self.in_order {
            self.run_last(stamp);
        }
    }

    /// Makes the receive take the send, in a graph just restricted for it, and pushes a branch for
    /// every other way to do so.
    pub(crate) fn take_send(&mut self, receive: EventId, send: EventId) {
        let graph = &mut self.graph;
        if let NodeKind::Call { object, call } = graph.node(send).kind {
            let node = *graph.node(receive);
            let state = &graph.object(object).states[node.value as usize];
            let outcomes = state.outcomes(call, send.thread);
            graph.move_completion(node.stamp, send, Resolution::FIRST);
            for outcome in Resolution::others(outcomes) {
                self.branch(Change::Complete {
                    stamp: node.stamp,
                    call: send,
                    outcome,
                });
            }
            return;
        }
        if let NodeKind::Arrive { barrier } = graph.node(send).kind {
            self.regroup_with_late(receive, barrier);
            return;
        }
        if let NodeKind::Send { port } = graph.node(send).kind {
            graph.take_message(receive, Some(send));
            if graph.is_ordered(port) {
                graph.arrive(port, send, graph.node(receive).value as usize);
            }
            return;
        }
        graph.node_mut(receive).source = Some(send);
        let kind = graph.node(send).kind;
        let location = kind.writes().expect("a send is a call or a write");
        graph.unplace(location, send);
        let outcomes = (graph.node(receive).kind).outcomes(graph.node(send).written());
        if let NodeKind::WriteOfUpdate { .. } = kind {
            let read = EventId {
                index: send.index - 1,
                ..send
            };
            let position = graph.coherence(location, graph.node(read).source);
            graph.place(location, send, position);
            for outcome in Resolution::others(outcomes) {
                self.branch(Change::Source {
                    read: receive,
                    source: Some(send),
                    outcome,
                });
            }
            return;
        }
        let last = graph.location(location).writes.len();
        graph.place(location, send, last);
        for position in 0..=last {
            if !self.graph.may_place(location, position) {
                continue;
            }
            for outcome in untaken(outcomes, position == last) {
                self.branch(Change::PlaceForRead {
                    write: send,
                    position,
                    read: receive,
                    outcome,
                });
            }
        }
    }

    /// Returns an update without its write, although the value that it read requires one, with the
    /// value to write.
    pub(crate) fn missing_write(&self) -> Option<(EventId, LocationId, Option<u64>)> {
        self.graph.canonical.iter().find_map(|&thread| {
            let (read, node) = self.graph.tail(thread)?;
            let NodeKind::ReadForUpdate { location, update } = node.kind else {
                return None;
            };
            let old = self.graph.value(location, node.source)?;
            let value = update.apply(old, node.outcome.fails_spuriously())?;
            Some((read, location, Some(value)))
        })
    }

    pub(crate) fn push_plain(&mut self, thread: ThreadId, kind: NodeKind) {
        let id = self.push_step(thread, kind);
        self.graph.set_clocks(id);
    }

    pub(crate) fn push_spawn(&mut self, thread: ThreadId, place: SiteId) -> ThreadId {
        let child = self.graph.spawn(thread, place);
        let (spawn, _) = self.graph.tail(thread).expect("it was just inserted");
        self.steps.push(spawn);
        child
    }

    /// Appends an event at which an operation is performed.
    pub(crate) fn push_step(&mut self, thread: ThreadId, kind: NodeKind) -> EventId {
        let id = self.graph.push(thread, kind);
        self.steps.push(id);
        id
    }

    pub(crate) fn push_choice(&mut self, thread: ThreadId, alternatives: u32) {
        let event = self.push_step(thread, NodeKind::Choose { alternatives });
        self.graph.set_clocks(event);
        for outcome in Resolution::others(alternatives) {
            self.branch(Change::Choose { event, outcome });
        }
    }

    /// Inserts a read of the last write. Every other source at or above the coherence floor is a
    /// branch, and so is every other outcome.
    pub(crate) fn push_read(
        &mut self,
        thread: ThreadId,
        kind: NodeKind,
        location: LocationId,
    ) -> EventId {
        let read = self.push_step(thread, kind);
        let count = self.graph.location(location).writes.len();
        let write = |place: usize| self.graph.location(location).writes[place];
        let source = |place: usize| place.checked_sub(1).map(write);
        let known = self.coherence_floor(read, location);
        let keep = self.graph.order.len();
        for place in known..=count {
            let source = source(place);
            let outcomes = kind.outcomes(self.graph.value(location, source));
            let changes = untaken(outcomes, place == count).map(|outcome| Change::Source {
                read,
                source,
                outcome,
            });
            self.branches
                .extend(changes.map(|change| Branch { keep, change }));
        }
        self.graph.node_mut(read).source = self.graph.location(location).writes.last().copied();
        self.graph.set_clocks(read);
        read
    }

    /// Returns the number of writes, in coherence order, that the event must not precede: those up
    /// to the last one that happens before it.
    fn coherence_floor(&self, event: EventId, location: LocationId) -> usize {
        if self.graph.weak {
            return self.graph.weak_coherence_floor(event, location);
        }
        let Some(index) = event.index.checked_sub(1) else {
            return 0;
        };
        let before = self.graph.hb(EventId { index, ..event });
        let writes = &self.graph.location(location).writes;
        writes
            .iter()
            .rposition(|&write| covers(before, write))
            .map_or(0, |place| place + 1)
    }

    /// Inserts a write at the end of coherence order. Every other position at or above the
    /// coherence floor is a branch.
    pub(crate) fn append_write(
        &mut self,
        thread: ThreadId,
        kind: NodeKind,
        location: LocationId,
        value: Option<u64>,
    ) {
        let write = self.push_write(thread, kind, location, value);
        if !matches!(kind, NodeKind::WriteOfUpdate { .. }) {
            self.steps.push(write);
        }
        let last = self.graph.location(location).writes.len();
        if let NodeKind::Write { .. } = kind {
            let known = self.coherence_floor(write, location);
            let keep = self.graph.order.len();
            let graph = &self.graph;
            self.branches.extend(
                (known..last)
                    .filter(|&position| graph.may_place(location, position))
                    .map(|position| Branch {
                        keep,
                        change: Change::Place { write, position },
                    }),
            );
        }
        self.graph.place(location, write, last);
    }

    /// Inserts a write without a position in coherence order, and its revisits.
    pub(crate) fn push_write(
        &mut self,
        thread: ThreadId,
        kind: NodeKind,
        location: LocationId,
        value: Option<u64>,
    ) -> EventId {
        debug_assert_eq!(kind.writes(), Some(location));
        let write = self.graph.push(thread, kind);
        self.graph.node_mut(write).set_written(value);
        self.graph.set_clocks(write);
        self.push_revisits(write);
        write
    }

    pub(crate) fn push_call(&mut self, thread: ThreadId, kind: NodeKind) {
        let call = self.graph.push(thread, kind);
        self.graph.set_clocks(call);
        self.push_revisits(call);
        self.may_be_open = match self.may_be_open {
            MayBeOpen::Nothing => MayBeOpen::CallOf(thread),
            _ => MayBeOpen::AnyCall,
        };
    }

    /// Inserts a silent call, which must be open.
    pub(crate) fn push_silent(&mut self, thread: ThreadId, object: ObjectId, call: Call) {
        let log = self.graph.object(object);
        let opened_by = log.state().opened_by(call, thread);
        let source = opened_by.map(|position| log.completions[position as usize]);
        let id = self.push_step(thread, NodeKind::Silent { object, call });
        self.graph.node_mut(id).source = source;
        self.graph.set_clocks(id);
    }

    pub(crate) fn push_revisits(&mut self, send: EventId) {
        let keep = self.graph.order.len();
        let branches = &mut self.branches;
        revisit::revisits(&mut self.graph, send, |receive| {
            branches.push(Branch {
                keep,
                change: Change::Revisit { receive, send },
            });
        });
    }

    /// Completes the first open call by [`Graph::rank`], if any is open, and returns its thread.
    /// Every other open call is a branch.
    pub(crate) fn complete_a_call(&mut self) -> Option<ThreadId> {
        let one;
        let callers = match self.may_be_open {
            MayBeOpen::Nothing => return None,
            MayBeOpen::CallOf(thread) => {
                one = [thread];
                &one[..]
            }
            MayBeOpen::AnyCall => &self.graph.canonical,
        };
        let mut calls = std::mem::take(&mut self.open_calls);
        let graph = &self.graph;
        let mut object = None;
        for &thread in callers {
            let Some((id, called, call)) = graph.pending_call(thread) else {
                continue;
            };
            let state = graph.object(called).state();
            if object.is_none_or(|object| object == called) && state.open(call, thread) {
                object = Some(called);
                calls.push((id, state.outcomes(call, thread)));
            }
        }
        self.may_be_open = match calls.is_empty() {
            true => MayBeOpen::Nothing,
            false => MayBeOpen::AnyCall,
        };
        let oldest = calls
            .iter()
            .map(|&(id, _)| id)
            .min_by_key(|&id| graph.rank(id));
        if let Some(oldest) = oldest {
            let completion = self.graph.push_completion(oldest, Resolution::FIRST);
            self.steps.push(completion);
            self.graph.node_mut(completion).oldest = true;
            self.graph.set_clocks(completion);
            let stamp = self.graph.node(completion).stamp;
            let settled = self.graph.is_early_release(oldest);
            for (position, &(call, outcomes)) in calls.iter().enumerate() {
                let stands_for = |&(other, _): &(EventId, u32)| {
                    other != call && self.graph.are_interchangeable(other, call)
                };
                let left_out =
                    settled || stands_for(&(oldest, 0)) || calls[..position].iter().any(stands_for);
                if call != oldest && left_out {
                    continue;
                }
                for outcome in untaken(outcomes, call == oldest) {
                    self.branch(Change::Complete {
                        stamp,
                        call,
                        outcome,
                    });
                }
            }
        }
        calls.clear();
        self.open_calls = calls;
        oldest.map(|call| call.thread)
    }
}

/// Returns the resolutions out of this number that are branches: all but the first if the graph has
/// that one.
fn untaken(count: u32, has_first: bool) -> impl Iterator<Item = Resolution> {
    (u32::from(has_first)..count).map(Resolution::nth)
}
