//! Every class of executions, each exactly once, with no memory of the past.
//!
//! All nondeterminism is a receive choosing its send: a read its write, a grant its caller. The
//! search builds graphs of events. Extending a graph by one event tries every source the event
//! could have; a new send moreover *revisits* older receives that could take it. A maximality test
//! makes each graph be reached from exactly one parent, so nothing needs to be remembered.
//!
//! One run of the program is one path down that tree: the graph is put in a line and replayed,
//! then extended with the first choice at every step, while all other choices are pushed on a
//! stack of [`Branch`]es. A revisit starts a new [`Frame`] with the part of the graph it keeps.
//! Memory grows with the depth of the tree, never with its size.

mod bound;
mod cheapest_replay;
mod estimate;
mod explore;
pub mod frontier;
mod graph;
mod random_order;
mod reduce;
mod share;

use std::sync::atomic::Ordering;

use bound::Bound;
pub use cheapest_replay::CheapestReplay;
use estimate::Sampler;
pub use estimate::Sampling;
use explore::binding::Binding;
use explore::frame::{Branch, Change, Frame, MayBeOpen};
pub use frontier::item::Item;
use graph::NodeKind;
use graph::linearise::linearise;
use random_order::RandomOrder;
pub use reduce::Reductions;
pub use share::Reach;

use crate::base::ids::{EventId, ThreadId};
use crate::memory::psc::Psc;
use crate::memory::{Model, Strength, is_weak};
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::estimate::Estimate;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::world::State;
use crate::world::strategy::{self, Repeat, Strategy};

/// So often a thread may pause before others go first, and so many events it may have.
const PATIENCE: u32 = 8;
const LONG_TURN: usize = 1024;

/// Runs every class of executions exactly once.
#[derive(Debug, Default)]
pub struct Exhaustive {
    frames: Vec<Frame>,
    spare: Vec<Frame>,
    /// How many operations of the present graph have been run.
    position: usize,
    binding: Binding,
    extending: bool,
    started: bool,
    reductions: Reductions,
    /// Which thread comes first; see [`graph::Graph::shuffled`].
    order: u64,
    random_order: Option<RandomOrder>,
    /// Whether branches that only reorder writes are put off.
    sources_first: bool,
    /// How many classes have been run.
    counted: u64,
    sampler: Option<Sampler>,
    /// Whether the last run was for an estimate.
    sampled: bool,
    model: Model,
    psc: Psc,
    bound: Option<Bound>,
    /// Whether something was left out because it is not within the bound.
    left_out: bool,
    /// Whether the last execution was not within the bound.
    exceeded: bool,
    /// Whether threads have been found to see different things, and whether something had been left out
    /// before.
    weakened: bool,
    weakened_late: bool,
    /// An execution with so many events is too long, and then the search is over.
    too_long: Option<usize>,
    gave_up: bool,
}

impl Exhaustive {
    /// A search that has run nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A search that leaves out what these reductions say.
    pub fn reduced(reductions: Reductions) -> Self {
        Exhaustive {
            reductions,
            ..Self::default()
        }
    }

    /// The same search, which also estimates how large it is.
    pub fn sampling(self, sampling: Sampling) -> Self {
        Exhaustive {
            sampler: Some(Sampler::new(sampling)),
            ..self
        }
    }

    /// The same search for classes that can be run with at most so many preemptions.
    pub fn bounded(self, preemptions: u32) -> Self {
        Exhaustive {
            bound: Some(Bound { preemptions }),
            ..self
        }
    }

    /// The same search, which gives up when an execution has more events than this.
    pub fn giving_up_after(self, events: usize) -> Self {
        Exhaustive {
            too_long: Some(events),
            ..self
        }
    }

    /// The same search under another memory model.
    pub fn under(self, model: Model) -> Self {
        Exhaustive { model, ..self }
    }

    /// Takes branches until one leads to a graph that can be run.
    fn next_graph(&mut self) -> bool {
        loop {
            if !self.take_random() && !self.take_newest() {
                return false;
            }
            if self.make_runnable() && !self.is_out_of_bounds() {
                return true;
            }
        }
    }

    /// Takes the newest branch; `false` if there is none.
    fn take_newest(&mut self) -> bool {
        loop {
            let Some(frame) = self.frames.last_mut() else {
                return false;
            };
            let Some(Branch { keep, change }) = frame.branches.pop() else {
                self.spare.extend(self.frames.pop());
                continue;
            };
            frame.truncate(keep);
            match change {
                Change::Revisit { receive, send } => self.start_revisit(receive, send, None),
                Change::RevisitGroup {
                    meeting,
                    newest,
                    companions,
                } => self.start_revisit(meeting, newest, Some(companions)),
                change => frame.make(change),
            }
            return true;
        }
    }

    /// Whether nothing within the bound is made from the top graph.
    fn is_out_of_bounds(&mut self) -> bool {
        let frame = self.frames.last().expect("a graph was just made");
        let (graph, steps) = (&frame.graph, &frame.steps);
        // A part of another search may bring the news.
        self.weakened_late |= graph.weak && self.left_out && !self.weakened;
        self.weakened |= graph.weak;
        let excludes = |bound: Bound| bound.excludes(graph, steps, self.weakened);
        let excluded = self.bound.is_some_and(excludes);
        self.left_out |= excluded;
        excluded
    }

    fn start_revisit(&mut self, receive: EventId, send: EventId, companions: Option<u32>) {
        let mut child = self.spare.pop().unwrap_or_default();
        let parent = self.frames.last().expect("the branch came from a frame");
        child.revisit(parent, receive, send, companions);
        if parent.branches.is_empty() {
            self.spare.extend(self.frames.pop());
        }
        self.frames.push(child);
    }

    /// Makes the top graph ready to run: adds the writes of updates whose read has a new source,
    /// and puts everything in a line. `false` if no run has this graph.
    fn make_runnable(&mut self) -> bool {
        let frame = self.frames.last_mut().expect("a graph was just made");
        if frame.graph.weak {
            return frame.make_runnable_weakly(&mut self.psc);
        }
        if frame.in_order {
            return true;
        }
        frame.is_mixed = true;
        if !linearise(&mut frame.graph, &mut frame.steps) {
            return false;
        }
        while let Some((read, location, value)) = frame.missing_write() {
            let position = frame
                .graph
                .coherence(location, frame.graph.node(read).source);
            let write = frame.push_write(
                read.thread,
                NodeKind::WriteOfUpdate { location },
                location,
                value,
            );
            if !frame.graph.may_place(location, position) {
                return false;
            }
            frame.graph.place(location, write, position);
            if !linearise(&mut frame.graph, &mut frame.steps) {
                return false;
            }
        }
        frame.in_order = true;
        true
    }

    /// Forgets what is left to run.
    #[cold]
    fn give_up(&mut self) {
        self.gave_up = true;
        self.frames = Vec::new();
        self.spare = Vec::new();
        if let Some(sampler) = &mut self.sampler {
            sampler.stop();
        }
    }

    fn is_done(&self) -> bool {
        self.started && self.frames.iter().all(|frame| frame.branches.is_empty())
    }

    /// Called at every step past the replayed part.
    fn start_extending(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        if std::mem::replace(&mut self.extending, true) {
            return Ok(());
        }
        let frame = self.frames.last_mut().expect("a run has a frame");
        frame.may_be_open = MayBeOpen::AnyCall;
        self.binding.bind_waiting_calls(&frame.graph, state)
    }

    /// Extends the graph by one operation of the program: a call that can be completed if there is
    /// one, else the next operation of the first thread that has one.
    fn extend(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        loop {
            let frame = self.frames.last_mut().expect("a run has a frame");
            if let Some(caller) = frame.complete_a_call() {
                return Ok(Choice::run(self.binding.to_world(caller)));
            }
            if let Some(event) = frame.pass_a_barrier() {
                return self.binding.replay(&frame.graph, state, event);
            }
            let thread = self.first_to_go_on(state).expect(
                "raddle: the search and the world disagree on what can go on; please report this",
            );
            let here = self.binding.to_world(thread);
            if is_waited_for(state.pending(here)) {
                self.insert_call(state, thread);
                continue;
            }
            let outcome = self.insert(state, thread, here);
            return Ok(Choice {
                outcome,
                ..Choice::run(here)
            });
        }
    }

    /// The first thread, in canonical order, whose pending operation can be inserted: any call
    /// that the graph does not have, whether it can be completed or not, and anything else that
    /// can be performed. One that pauses again and again, or has very many events, comes after those of
    /// which that is less true: it may be waiting for them in a way that nobody recognises, and would
    /// never end.
    fn first_to_go_on(&self, state: &State) -> Option<ThreadId> {
        let graph = &self.frames.last().expect("a run has a frame").graph;
        let can_go_on = |&&thread: &&ThreadId| {
            let here = self.binding.to_world(thread);
            let is_call = is_waited_for(state.pending(here));
            !graph.is_waiting(thread)
                && !state.is_spinning(here)
                && (state.is_enabled(here) || is_call && !state.has_ended(here))
        };
        let mut able = graph.canonical.iter().filter(can_go_on).copied();
        let first = able.next()?;
        let impatience = |thread: &ThreadId| {
            let log = &graph.threads[thread.index()];
            log.nodes.len() / LONG_TURN + (log.pauses / PATIENCE) as usize
        };
        match impatience(&first) {
            0 => Some(first),
            _ => std::iter::once(first).chain(able).min_by_key(impatience),
        }
    }

    /// Inserts the pending operation of a thread, which is a call, or that it came to a barrier.
    fn insert_call(&mut self, state: &State, thread: ThreadId) {
        let frame = self.frames.last_mut().expect("a run has a frame");
        let here = self.binding.to_world(thread);
        frame.graph.site = Some(state.pending_site(here));
        match *state.pending(here) {
            Operation::Call { object, call } => {
                let object = self.binding.object(&mut frame.graph, state, object);
                frame.push_call(thread, NodeKind::Call { object, call });
            }
            Operation::Meet { barrier } => {
                let barrier = self.binding.object(&mut frame.graph, state, barrier);
                frame.push_arrival(thread, barrier);
            }
            _ => unreachable!("only called when the next operation is a call"),
        }
    }

    /// Inserts the pending operation of a thread, which is not a call, the canonical way; says which
    /// of its outcomes that is in the running world.
    fn insert(&mut self, state: &State, thread: ThreadId, here: ThreadId) -> u32 {
        let binding = &mut self.binding;
        let frame = self.frames.last_mut().expect("a run has a frame");
        let operation = state.pending(here);
        if self.model == Model::Rc11 && is_weak(operation) {
            frame.weaken();
            self.weakened_late |= self.left_out && !self.weakened;
            self.weakened = true;
        }
        let graph = &mut frame.graph;
        graph.site = Some(state.pending_site(here));
        (graph.strength, graph.failure) = strengths(operation);
        match *operation {
            Operation::Begin => frame.push_plain(thread, NodeKind::Begin),
            Operation::Yield | Operation::Sleep { .. } => {
                frame.push_plain(thread, NodeKind::Local);
            }
            Operation::Fence { .. } => frame.push_plain(thread, NodeKind::Fence),
            Operation::Spawn => {
                let child = frame.push_spawn(thread, state.pending_site(here));
                binding.bind_thread(child, ThreadId::new(state.execution().threads.len()));
            }
            Operation::Join { target } => {
                let target = binding.to_graph(target);
                frame.push_plain(thread, NodeKind::Join { target });
            }
            Operation::Choose { alternatives } => frame.push_choice(thread, alternatives),
            Operation::Chance { .. } => frame.push_choice(thread, 2),
            Operation::End => {
                let location = graph.ended(thread);
                frame.append_write(thread, NodeKind::End { location }, location, 1);
            }
            Operation::IsFinished { target } => {
                let location = graph.ended(binding.to_graph(target));
                frame.push_read(thread, NodeKind::Read { location }, location);
            }
            Operation::Load { location, .. } => {
                let location = binding.location(graph, state, location);
                frame.push_read(thread, NodeKind::Read { location }, location);
            }
            Operation::Store {
                location, value, ..
            } => {
                let location = binding.location(graph, state, location);
                frame.append_write(thread, NodeKind::Write { location }, location, value);
            }
            Operation::Update {
                location, update, ..
            } => {
                let location = binding.location(graph, state, location);
                let kind = NodeKind::ReadForUpdate { location, update };
                let read = frame.push_read(thread, kind, location);
                let old = frame.graph.value(location, frame.graph.node(read).source);
                if let Some(new) = update.apply(old, 0) {
                    frame.append_write(thread, NodeKind::WriteOfUpdate { location }, location, new);
                }
            }
            Operation::Leads {
                barrier,
                member,
                round,
            } => {
                let barrier = binding.object(graph, state, barrier);
                let member = binding.to_graph(member);
                let meeting = graph.group_of_member(barrier, member, round);
                let meeting = meeting.expect("who asks has seen the group meet");
                frame.push_leader_question(thread, barrier, meeting, member);
                let (_, answer) = frame.graph.tail(thread).expect("it was just inserted");
                return answer.outcome.min(state.outcomes(here) - 1);
            }
            Operation::Send { port } => {
                let port = binding.object(graph, state, port);
                frame.push_send(thread, port);
            }
            Operation::Receive { ports, wait } => {
                let ports = binding.ports(graph, state, ports);
                let source = frame.push_receive(thread, ports, wait);
                return binding
                    .message(&frame.graph, state, here, source)
                    .unwrap_or(0);
            }
            Operation::Delivered { port } => {
                let port = binding.object(graph, state, port);
                frame.push_delivered(thread, port);
            }
            Operation::HangUp { port, location } => {
                let port = binding.object(graph, state, port);
                let location = binding.location(graph, state, location);
                frame.append_write(thread, NodeKind::HangUp { port, location }, location, 1);
            }
            Operation::Call { object, call } if call.is_silent() => {
                let object = binding.object(graph, state, object);
                frame.push_silent(thread, object, call);
            }
            Operation::Call { .. } | Operation::Meet { .. } | Operation::Assume => {
                unreachable!("calls are inserted on their own, and what never goes on is not")
            }
        }
        0
    }
}

/// What the operation does besides reading and writing, and what it does if it fails.
fn strengths(operation: &Operation) -> (Strength, Strength) {
    match *operation {
        Operation::Load { ordering, .. }
        | Operation::Store { ordering, .. }
        | Operation::Fence { ordering } => (Strength::of(ordering), Strength::RELAXED),
        Operation::Update {
            ordering, failure, ..
        } => (Strength::of(ordering), Strength::of(failure)),
        Operation::IsFinished { .. } => (Strength::of(Ordering::Acquire), Strength::RELAXED),
        _ => (Strength::RELAXED, Strength::RELAXED),
    }
}

/// Whether the operation is a send that waits for its receive.
fn is_waited_for(operation: &Operation) -> bool {
    match operation {
        Operation::Call { call, .. } => !call.is_silent(),
        operation => matches!(operation, Operation::Meet { .. }),
    }
}

impl Strategy for Exhaustive {
    fn begin(&mut self) -> bool {
        self.position = 0;
        self.extending = false;
        self.binding.reset();
        if self.begin_sample() {
            return true;
        }
        if std::mem::replace(&mut self.started, true) {
            return self.next_graph();
        }
        self.frames.push(Frame::new(self.reductions, self.order));
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let frame = self.frames.last().expect("a run has a frame");
        if let Some(&event) = frame.steps.get(self.position) {
            self.position += 1;
            return self.binding.replay(&frame.graph, state, event);
        }
        self.start_extending(state)?;
        self.position += 1;
        self.extend(state)
    }

    /// The graph still gets the calls that nobody will complete: they may revisit.
    fn stuck(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        self.start_extending(state)?;
        while let Some(thread) = self.first_to_go_on(state) {
            self.insert_call(state, thread);
        }
        Ok(())
    }

    /// What the search has run counts if its class is within the bound. The order of the run is one of
    /// those that the class has.
    fn end(&mut self, execution: &Execution, ending: &Ending) {
        self.exceeded = false;
        if self.too_long.is_some() && *ending == Ending::TooManyEvents {
            return self.give_up();
        }
        let whole = matches!(
            ending,
            Ending::Complete | Ending::Deadlock | Ending::Livelock
        );
        if let Some(bound) = self.bound
            && whole
            && execution.preemptions > bound.preemptions
        {
            let frame = self.frames.last().expect("a run has a frame");
            self.exceeded = !bound.includes(&frame.graph);
            self.left_out |= self.exceeded;
        }
        let counts = !self.exceeded && *ending != Ending::Discarded;
        match self.sampled {
            true => self.end_sample(counts),
            false => self.counted += u64::from(counts),
        }
    }

    fn retries(&self) -> bool {
        self.exceeded
    }

    fn samples(&self) -> bool {
        self.sampled
    }

    fn gave_up(&self) -> bool {
        self.gave_up
    }

    fn most_events(&self) -> usize {
        self.too_long.unwrap_or(usize::MAX)
    }

    fn estimate(&self) -> Option<Estimate> {
        self.sampler.as_ref()?.estimate()
    }

    fn exhausted(&self) -> bool {
        self.is_done() && !self.left_out && !self.gave_up
    }

    fn bounded(&self) -> Option<strategy::Bound> {
        let all = self.is_done() && !self.weakened_late;
        let bound = self.bound.filter(|_| all && self.left_out)?;
        Some(strategy::Bound::Preemptions(bound.preemptions))
    }

    /// A send that comes after an `assume` may revisit the receive that made it fail.
    fn runs_on(&self) -> bool {
        true
    }

    /// A thread that looks again before there is anything new to see is of no interest: a later write
    /// will revisit what it read at first.
    fn repeats(&mut self, _state: &State, thread: ThreadId) -> Repeat {
        let frame = self.frames.last().expect("a run has a frame");
        let thread = self.binding.to_graph(thread);
        let left = &frame.steps[self.position.min(frame.steps.len())..];
        let is_known = left.iter().any(|event| event.thread == thread);
        match is_known || frame.graph.is_waiting(thread) {
            true => Repeat::GoOn,
            false => Repeat::Stop,
        }
    }

    fn never_repeats(&self) -> bool {
        true
    }
}
