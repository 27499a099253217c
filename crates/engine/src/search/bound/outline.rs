//! A graph reduced to the data that preemptions depend on: the steps of each thread, their
//! predecessors, and the conditions under which a thread can continue.
//!
//! A step is an operation of the world: a call at its completion, an update with its read and its
//! write. The progress of a run is a *cut*: for each thread, the number of its steps that are done.

use super::MAX_EFFORT;
use crate::base::ids::{EventId, ObjectId, ThreadId};
use crate::memory::Weakness;
use crate::object::Call;
use crate::search::graph::{Graph, NodeKind};

/// For each thread, the number of its steps that are done.
pub(super) type Cut = [u32];

/// The part of a graph that an outline covers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extent<'a> {
    /// The whole graph: threads at their end have ended or wait forever.
    Whole,
    /// A causally closed prefix, given by the number of events of each thread; later events are
    /// unknown.
    Part(&'a [u32]),
}

/// A thread's progress: the number of its steps that are done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    thread: ThreadId,
    steps: u32,
}

impl Done {
    fn is_in(self, cut: &Cut) -> bool {
        cut[self.thread.index()] >= self.steps
    }
}

/// One step of a thread.
#[derive(Debug)]
pub(super) struct Step {
    /// Predecessors in other threads.
    pub(super) needs: Vec<Done>,
    /// Wait before the thread can continue with this step.
    pub(super) waits: Waits,
    /// True when the step may unblock another thread.
    pub(super) releases: bool,
    /// True when the step is a yield or a sleep.
    pub(super) makes_way: bool,
}

/// The wait of a thread before a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waits {
    /// No wait: the thread can always continue.
    Never,
    /// Until all predecessors are done.
    ForNeeds,
    /// Until the object is open for the call.
    ForObject {
        object: ObjectId,
        call: Call,
        by: ThreadId,
    },
    /// Until the port has any message, or all predecessors are done.
    ForMessage(EventId),
    /// Until enough threads for a group have arrived, or its group has met.
    ForGroup {
        barrier: ObjectId,
        group: Option<usize>,
    },
    Forever,
}

/// Threads that met at a barrier. The first of them to pass makes the group meet.
#[derive(Debug)]
struct Group {
    arrivals: Vec<Done>,
    went_on: Vec<Done>,
    /// The previous group at the same barrier.
    previous: Option<usize>,
    /// True when the step that made it meet may be outside the outline.
    may_have_met: bool,
}

impl Group {
    fn has_come(&self, cut: &Cut) -> bool {
        self.arrivals.iter().all(|one| one.is_in(cut))
    }

    fn has_met(&self, cut: &Cut) -> bool {
        self.went_on.iter().any(|one| one.is_in(cut))
    }
}

/// The outline of a graph or of a prefix of it.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    pub(super) graph: &'a Graph,
    extent: Extent<'a>,
    /// True for weak memory: a read is ordered after its source, and nothing else orders reads and
    /// writes.
    pub(super) weak: bool,
    /// By thread.
    pub(super) steps: Vec<Vec<Step>>,
    /// By thread: the condition that it waits for at its end.
    last_wait: Vec<Waits>,
    /// By thread and event: number of its steps that are done after the event.
    done: Vec<Vec<u32>>,
    groups: Vec<Group>,
}

impl<'a> Outline<'a> {
    /// Returns the outline of a complete execution, whose linearizations are those of its class.
    pub(super) fn of_class(graph: &'a Graph) -> Self {
        let weakness = match graph.weak {
            true => graph.find_weakness(),
            false => Weakness::NONE,
        };
        if !weakness.is_weak() {
            return Outline::of(graph, Extent::Whole, false);
        }
        if !weakness.has_weak_accesses() {
            let strong = Outline::of(graph, Extent::Whole, false);
            if strong.has_linearization(MAX_EFFORT) {
                return strong;
            }
        }
        Outline::of(graph, Extent::Whole, true)
    }

    pub(super) fn of(graph: &'a Graph, extent: Extent<'a>, weak: bool) -> Self {
        let mut outline = Outline {
            graph,
            extent,
            weak,
            steps: Vec::with_capacity(graph.threads.len()),
            last_wait: vec![Waits::Forever; graph.threads.len()],
            done: Vec::with_capacity(graph.threads.len()),
            groups: Vec::new(),
        };
        for thread in 0..graph.threads.len() {
            outline.count_steps(ThreadId::new(thread));
        }
        outline.add_groups();
        for thread in 0..graph.threads.len() {
            outline.add_steps(ThreadId::new(thread));
        }
        outline
    }

    pub(super) fn length(&self, thread: ThreadId) -> u32 {
        let log = &self.graph.threads[thread.index()];
        match self.extent {
            _ if !log.live => 0,
            Extent::Whole => log.nodes.len() as u32,
            Extent::Part(lengths) => lengths[thread.index()],
        }
    }

    pub(super) fn has(&self, event: EventId) -> bool {
        event.index < self.length(event.thread)
    }

    fn count_steps(&mut self, thread: ThreadId) {
        let nodes = &self.graph.threads[thread.index()].nodes[..self.length(thread) as usize];
        let mut count = 0;
        let done = nodes.iter().map(|node| {
            count += u32::from(is_step(&node.kind));
            count
        });
        self.done.push(done.collect());
    }

    pub(super) fn done(&self, event: EventId) -> Done {
        Done {
            thread: event.thread,
            steps: self.done[event.thread.index()][event.index as usize],
        }
    }

    fn add_groups(&mut self) {
        let barriers = self.graph.objects.iter();
        for log in barriers.filter(|log| !log.barrier.arrivals.is_empty()) {
            let mut previous = None;
            for &pass in &log.completions {
                if !self.has(pass) {
                    break;
                }
                let arrivals: Vec<EventId> = self.graph.members(pass).collect();
                let went_on = arrivals.iter().map(|&one| next(one));
                let (known, unknown): (Vec<_>, Vec<_>) = went_on.partition(|&one| self.has(one));
                self.groups.push(Group {
                    arrivals: arrivals.iter().map(|&one| self.done(one)).collect(),
                    went_on: known.iter().map(|&one| self.done(one)).collect(),
                    previous,
                    may_have_met: !unknown.is_empty() && matches!(self.extent, Extent::Part(_)),
                });
                previous = Some(self.groups.len() - 1);
            }
        }
    }

    /// Returns the group of an arrival.
    pub(super) fn group(&self, came: EventId) -> Option<usize> {
        let is_member =
            |one: &Done| one.thread == came.thread && one.steps == self.done(came).steps;
        let mut groups = self.groups.iter();
        groups.position(|group| group.arrivals.iter().any(is_member))
    }

    fn add_steps(&mut self, thread: ThreadId) {
        let mut steps: Vec<Step> = Vec::new();
        for index in 0..self.length(thread) {
            let event = EventId { thread, index };
            let kind = self.graph.node(event).kind;
            let is_last = index + 1 == self.length(thread);
            match kind {
                NodeKind::Call { object, call } if is_last => {
                    let by = thread;
                    self.last_wait[thread.index()] = Waits::ForObject { object, call, by };
                }
                NodeKind::Arrive { barrier } => {
                    // Other arrivals may have waited for this one.
                    if let Some(step) = steps.last_mut() {
                        step.releases = true;
                    }
                    if is_last {
                        self.last_wait[thread.index()] = Waits::ForGroup {
                            barrier,
                            group: None,
                        };
                    }
                }
                _ => {}
            }
            if is_step(&kind) {
                steps.push(self.step(event, kind));
            }
        }
        self.steps.push(steps);
    }

    /// Returns the events that are the steps of a thread.
    pub(super) fn events_of(&self, thread: ThreadId) -> Vec<EventId> {
        let events = (0..self.length(thread)).map(|index| EventId { thread, index });
        events
            .filter(|&event| is_step(&self.graph.node(event).kind))
            .collect()
    }

    pub(super) fn is_complete(&self, cut: &Cut) -> bool {
        let steps = self.steps.iter().zip(cut);
        steps
            .into_iter()
            .all(|(steps, &done)| steps.len() == done as usize)
    }

    /// Returns the thread's next step if its predecessors are done.
    pub(super) fn next_ready(&self, thread: usize, cut: &Cut) -> Option<&Step> {
        let step = self.next(thread, cut)?;
        self.is_ready(step, cut).then_some(step)
    }

    fn next(&self, thread: usize, cut: &Cut) -> Option<&Step> {
        self.steps[thread].get(cut[thread] as usize)
    }

    fn is_ready(&self, step: &Step, cut: &Cut) -> bool {
        let in_order = |group: usize| {
            let previous = self.groups[group].previous.map(|one| &self.groups[one]);
            self.groups[group].has_come(cut)
                && previous.is_none_or(|one| one.may_have_met || one.has_met(cut))
        };
        step.needs.iter().all(|need| need.is_in(cut))
            && match step.waits {
                Waits::ForGroup { group, .. } => group.is_some_and(in_order),
                _ => true,
            }
    }

    /// True when the thread could continue at this cut, possibly with an event that is ordered
    /// later in the class.
    pub(super) fn can_go_on(&self, thread: usize, cut: &Cut) -> bool {
        match self.next(thread, cut) {
            Some(step) => self.is_open(step.waits, Some(step), cut),
            None => match self.extent {
                Extent::Whole => self.is_open(self.last_wait[thread], None, cut),
                Extent::Part(_) => false,
            },
        }
    }

    fn is_open(&self, waits: Waits, step: Option<&Step>, cut: &Cut) -> bool {
        let is_ready = || step.is_some_and(|step| self.is_ready(step, cut));
        match waits {
            Waits::Never => true,
            Waits::Forever => false,
            Waits::ForNeeds => is_ready(),
            Waits::ForObject { object, call, by } => {
                let log = self.graph.object(object);
                let has_happened = |&id: &EventId| self.has(id) && self.done(id).is_in(cut);
                let completed = log.completions.partition_point(has_happened);
                log.states[completed].open(call, by)
            }
            Waits::ForMessage(receive) => is_ready() || self.finds_message(receive, cut),
            Waits::ForGroup { barrier, group } => {
                let come = group.is_some_and(|group| self.groups[group].has_come(cut));
                come || matches!(self.extent, Extent::Whole) && self.are_enough(barrier, cut)
            }
        }
    }

    fn finds_message(&self, receive: EventId, cut: &Cut) -> bool {
        let NodeKind::Receive { ports, .. } = self.graph.node(receive).kind else {
            return false;
        };
        let has_happened = |id: EventId| self.has(id) && self.done(id).is_in(cut);
        let is_there = |&send: &EventId| {
            has_happened(send) && !self.graph.node(send).source.is_some_and(has_happened)
        };
        let mut ports = self.graph.port_list(&ports).iter();
        ports.any(|&port| self.graph.port(port).sends.iter().any(is_there))
    }

    /// True when enough threads wait at the barrier to form a group.
    fn are_enough(&self, barrier: ObjectId, cut: &Cut) -> bool {
        let waits = |&&came: &&EventId| {
            let group = self.group(came).map(|group| &self.groups[group]);
            self.done(came).is_in(cut) && !group.is_some_and(|group| group.has_met(cut))
        };
        let waiting = self
            .graph
            .barrier(barrier)
            .arrivals
            .iter()
            .filter(waits)
            .count();
        waiting >= self.graph.group_size(barrier)
    }
}

/// True when the world performs an operation at this event. A call is performed at its completion.
fn is_step(kind: &NodeKind) -> bool {
    !matches!(
        kind,
        NodeKind::Call { .. } | NodeKind::Arrive { .. } | NodeKind::WriteOfUpdate { .. }
    )
}

pub(super) fn next(event: EventId) -> EventId {
    EventId {
        index: event.index + 1,
        ..event
    }
}

pub(super) fn previous_of(event: EventId) -> EventId {
    EventId {
        index: event.index - 1,
        ..event
    }
}
