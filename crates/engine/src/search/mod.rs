//! Exhaustive search: runs every equivalence class of executions exactly once, without a table of
//! visited classes.
//!
//! All nondeterminism is a receive choosing its send: a read its write, a grant its caller. The
//! search builds graphs of events. Extending a graph by one event tries every source that the event
//! could have; a new send also *revisits* older receives that could take it. A maximality test
//! gives each graph exactly one parent, so no visited graph needs to be stored.
//!
//! One run of the program is one path down that tree. The graph is linearized and replayed, then
//! extended with the first choice at every step. All other choices are pushed on a stack of
//! [`Branch`]es. A revisit starts a new [`Frame`] with the part of the graph that it keeps. Memory
//! grows with the depth of the tree, never with its size. A search whose tree is too deep, because
//! of loops that are not recognised, gives up.

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
use explore::vain::VainReads;
pub use frontier::item::Item;
use graph::NodeKind;
use graph::linearise::linearise;
use random_order::RandomOrder;
pub use reduce::Reductions;
pub use share::Reach;

use crate::base::ids::{EventId, ThreadId};
use crate::base::outcome::Outcome;
use crate::memory::psc::Psc;
use crate::memory::{Model, Strength, Weakness};
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::estimate::Estimate;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::world::State;
use crate::world::strategy::{self, Capabilities, Extent, KnownClass, Progress, Repeat, Strategy};

/// Number of pauses, and of events, after which a thread is scheduled after those with fewer,
/// because it may be in an unrecognised spin loop.
const PATIENCE: u32 = 8;
const LONG_TURN: usize = 1024;

/// Maximum events of all graphs that are kept for their branches: some 400 MiB.
const MAX_KEPT: usize = 1 << 20;
/// Events times threads of all graphs that take much memory: about 100 MB, measured with 100 threads.
const MUCH: usize = 1 << 22;
/// Number of graphs after which their events are counted again.
const FRAMES_BETWEEN_COUNTS: usize = 64;

/// The exhaustive search: runs every class of executions exactly once.
#[derive(Debug, Default)]
pub struct Exhaustive {
    frames: Vec<Frame>,
    spare: Vec<Frame>,
    /// Number of operations of the current graph that have been replayed.
    position: usize,
    /// Write that is performed next and whose value is unknown, with its position in the run.
    unknown: Option<(EventId, usize)>,
    binding: Binding,
    extending: bool,
    started: bool,
    reductions: Reductions,
    /// Seed of the canonical order of threads; see [`graph::Graph::shuffled`].
    order: u64,
    random_order: Option<RandomOrder>,
    /// True when branches that change only coherence are deferred.
    sources_first: bool,
    /// Number of classes run.
    counted: u64,
    sampler: Option<Sampler>,
    /// True when the last run was a sample for an estimate.
    sampled: bool,
    model: Model,
    psc: Psc,
    bound: Option<Bound>,
    /// True when a graph was left out because it exceeds the bound.
    left_out: bool,
    /// True when the last execution exceeded the bound.
    exceeded: bool,
    /// `weakened` is true once the program has used an access weaker than SeqCst; `weakened_late`
    /// when a graph had been left out before that.
    weakened: bool,
    weakened_late: bool,
    /// Maximum events of an execution; a longer one ends the search.
    too_long: Option<usize>,
    gave_up: bool,
    vain_reads: VainReads,
    /// Number of branches of the top graph when the run began.
    branches_before: usize,
}

impl Exhaustive {
    /// Creates a search that has run nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a search that leaves out the classes that `reductions` names.
    pub fn reduced(reductions: Reductions) -> Self {
        Exhaustive {
            reductions,
            ..Self::default()
        }
    }

    /// Makes the search estimate its own size as well.
    pub fn sampling(self, sampling: Sampling) -> Self {
        Exhaustive {
            sampler: Some(Sampler::new(sampling)),
            ..self
        }
    }

    /// Restricts the search to classes with a linearization of at most `preemptions` preemptions.
    pub fn bounded(self, preemptions: u32) -> Self {
        Exhaustive {
            bound: Some(Bound { preemptions }),
            ..self
        }
    }

    /// Makes the search give up when an execution has more than `events` events.
    pub fn giving_up_after(self, events: usize) -> Self {
        Exhaustive {
            too_long: Some(events),
            ..self
        }
    }

    /// Sets the memory model.
    pub fn under(self, model: Model) -> Self {
        Exhaustive {
            model,
            psc: Psc::new(model.seq_cst_rules()),
            ..self
        }
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

    /// Takes the newest branch; returns `false` if there is none.
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
                    pass,
                    newest,
                    companions,
                } => self.start_revisit(pass, newest, Some(companions)),
                change => frame.make(change),
            }
            return true;
        }
    }

    /// True when no graph within the bound descends from the top graph.
    fn is_out_of_bounds(&mut self) -> bool {
        let frame = self.frames.last().expect("a graph was just made");
        let (graph, steps) = (&frame.graph, &frame.steps);
        // A graph taken over from another worker may be the first weak one here.
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
    /// and linearizes it. Returns `false` if the graph is inconsistent.
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
            frame.cut_steps(read);
            if !linearise(&mut frame.graph, &mut frame.steps) {
                return false;
            }
        }
        frame.in_order = true;
        true
    }

    /// True when the graphs that are kept for their branches have too many events. Loops that are not
    /// recognised make ever longer graphs, each with branches.
    fn is_too_large(&self) -> bool {
        let count = self.frames.len();
        if count == 0 || !count.is_multiple_of(FRAMES_BETWEEN_COUNTS) {
            return false;
        }
        let events = self.frames.iter().map(|frame| frame.steps.len());
        events.sum::<usize>() > MAX_KEPT
    }

    /// Drops the branches of the current run: all graphs that descend from that with which it began.
    pub(crate) fn leave_out_descendants(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.branches.truncate(self.branches_before);
        }
    }

    /// Drops all branches that are left to run.
    #[cold]
    fn give_up(&mut self) {
        self.gave_up = true;
        self.frames = Vec::new();
        self.spare = Vec::new();
        if let Some(sampler) = &mut self.sampler {
            sampler.stop();
        }
    }

    /// True when no branch is left. The newest frames usually have one.
    fn is_done(&self) -> bool {
        let mut frames = self.frames.iter().rev();
        self.started && frames.all(|frame| frame.branches.is_empty())
    }

    /// Returns the part of the classes that has been run.
    pub(crate) fn extent(&self) -> Extent {
        if self.gave_up || !self.is_done() {
            return Extent::Some;
        }
        match self.bound {
            _ if !self.left_out => Extent::All,
            Some(bound) if !self.weakened_late => {
                Extent::Within(strategy::Bound::Preemptions(bound.preemptions))
            }
            _ => Extent::Some,
        }
    }

    /// True when the graphs of unfinished branches take much memory. Every event has a clock of all
    /// threads, so the number of threads counts too.
    pub(crate) fn is_large(&self) -> bool {
        let size = |frame: &Frame| frame.steps.len() * frame.graph.threads.len();
        self.frames.len() * self.frames.last().map_or(0, size) > MUCH
    }

    /// True when an execution was too long, or too many events are kept, and the search runs no more.
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Returns the estimated number of classes.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        self.sampler.as_ref()?.estimate()
    }

    /// Prepares the first step after the replayed part; later calls do nothing.
    fn start_extending(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        if std::mem::replace(&mut self.extending, true) {
            return Ok(());
        }
        let frame = self.frames.last_mut().expect("a run has a frame");
        frame.may_be_open = MayBeOpen::AnyCall;
        self.binding.bind_waiting_calls(&frame.graph, state)
    }

    /// Extends the graph by one operation: a call that can be completed if there is one, else the
    /// next operation of the first thread that has one.
    fn extend(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        loop {
            let frame = self.frames.last_mut().expect("a run has a frame");
            if let Some(caller) = frame.complete_a_call() {
                return Ok(Choice::run(self.binding.to_world(caller)));
            }
            if let Some(event) = frame.pass_a_barrier() {
                return self.binding.replay(&mut frame.graph, state, event);
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

    /// Returns the first thread, in canonical order, whose pending operation can be inserted. That
    /// is any call that the graph does not have, even one that cannot be completed, and any other
    /// enabled operation.
    ///
    /// Threads with many pauses or many events come after threads with fewer: they may wait for
    /// others in a loop that is not recognised as one, and such a run would never end. Threads that
    /// poll after the end of the program come last.
    fn first_to_go_on(&self, state: &State) -> Option<ThreadId> {
        self.first(state, |_| true)
    }

    /// Returns the first such thread among those that `select` returns true for, in the running
    /// world.
    #[inline]
    fn first(&self, state: &State, select: impl Fn(ThreadId) -> bool) -> Option<ThreadId> {
        let graph = &self.frames.last().expect("a run has a frame").graph;
        let can_go_on = |&&thread: &&ThreadId| {
            let here = self.binding.to_world(thread);
            let is_call = || is_waited_for(state.pending(here)) && !state.has_ended(here);
            (state.is_enabled(here) || is_call())
                && !graph.is_waiting(thread)
                && !state.is_spinning(here)
                && select(here)
        };
        let mut able = graph.canonical.iter().filter(can_go_on).copied();
        let first = able.next()?;
        let impatience = |thread: &ThreadId| {
            let log = &graph.threads[thread.index()];
            let polls = state.is_polling(self.binding.to_world(*thread));
            (
                polls,
                log.nodes.len() / LONG_TURN + (log.pauses / PATIENCE) as usize,
            )
        };
        match impatience(&first) {
            (false, 0) => Some(first),
            _ => std::iter::once(first).chain(able).min_by_key(impatience),
        }
    }

    /// Makes the graph a weak one if the operation that is inserted next requires it.
    fn note_weakness(&mut self, operation: &Operation) {
        if !self.model.is_weak() {
            return;
        }
        let weakness = Weakness::of(operation);
        if weakness == Weakness::NONE {
            return;
        }
        let frame = self.frames.last_mut().expect("a run has a frame");
        frame.graph.weakness = frame.graph.weakness.and(weakness);
        if frame.graph.weakness.is_weak() {
            frame.weaken();
            self.weakened_late |= self.left_out && !self.weakened;
            self.weakened = true;
        }
    }

    /// Inserts the pending call of a thread, or its arrival at a barrier.
    fn insert_call(&mut self, state: &State, thread: ThreadId) {
        let here = self.binding.to_world(thread);
        self.note_weakness(state.pending(here));
        let frame = self.frames.last_mut().expect("a run has a frame");
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

    /// Sets the value of a write that the program has performed by itself since the last choice.
    #[inline]
    fn learn_written(&mut self, execution: &Execution) {
        let Some((write, position)) = self.unknown.take() else {
            return;
        };
        let event = execution.events.get(position);
        if let Some(Operation::Store { value, .. }) = event.map(|event| event.operation)
            && let Some(frame) = self.frames.last_mut()
        {
            frame.graph.node_mut(write).set_written(value);
        }
    }

    /// Inserts a pending access that is left out. It takes the latest write of the run.
    #[cold]
    fn insert_left_out(&mut self, state: &State, thread: ThreadId, here: ThreadId) -> Outcome {
        let frame = self.frames.last_mut().expect("a run has a frame");
        frame.graph.site = Some(state.pending_site(here));
        (frame.graph.strength, frame.graph.failure) = (Strength::RELAXED, Strength::RELAXED);
        frame.push_plain(thread, NodeKind::LeftOut);
        Outcome::FIRST
    }

    /// Inserts the pending operation of a thread, which is not a call, with its first choice.
    /// Returns the outcome that this choice has in the running world.
    fn insert(&mut self, state: &State, thread: ThreadId, here: ThreadId) -> Outcome {
        let operation = state.pending(here);
        if self.reductions.leaves_out(state, here) {
            return self.insert_left_out(state, thread, here);
        }
        self.note_weakness(operation);
        let binding = &mut self.binding;
        let frame = self.frames.last_mut().expect("a run has a frame");
        let graph = &mut frame.graph;
        graph.site = Some(state.pending_site(here));
        (graph.strength, graph.failure) = strengths(operation);
        let branches = frame.branches.len();
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
                frame.append_write(thread, NodeKind::End { location }, location, Some(1));
            }
            Operation::IsFinished { target } => {
                let location = graph.ended(binding.to_graph(target));
                frame.push_read(thread, NodeKind::Read { location }, location);
                self.vain_reads.leave_out(frame, branches);
            }
            Operation::Load { location, .. } => {
                let location = binding.location(graph, state, location);
                frame.push_read(thread, NodeKind::Read { location }, location);
                self.vain_reads.leave_out(frame, branches);
            }
            Operation::Store {
                location, value, ..
            } => {
                let location = binding.location(graph, state, location);
                frame.append_write(thread, NodeKind::Write { location }, location, value);
                if value.is_none() {
                    let write = frame.graph.tail(thread).map(|(write, _)| write);
                    let position = state.execution().events.len();
                    self.unknown = write.map(|write| (write, position));
                }
            }
            Operation::Update {
                location, update, ..
            } => {
                let location = binding.location(graph, state, location);
                let kind = NodeKind::ReadForUpdate { location, update };
                let read = frame.push_read(thread, kind, location);
                self.vain_reads.leave_out(frame, branches);
                let old = frame.graph.value(location, frame.graph.node(read).source);
                let new = old.and_then(|old| update.apply(old, false));
                if new.is_some() {
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
                let pass = graph.group_of_member(barrier, member, round);
                let pass = pass.expect("who asks has seen the group meet");
                frame.push_leader_question(thread, barrier, pass, member);
                let (_, answer) = frame.graph.tail(thread).expect("it was just inserted");
                return answer.outcome.answer_of(state.outcomes(here));
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
                    .unwrap_or(Outcome::FIRST);
            }
            Operation::Delivered { port } => {
                let port = binding.object(graph, state, port);
                frame.push_delivered(thread, port);
            }
            Operation::HangUp { port, location } => {
                let port = binding.object(graph, state, port);
                let location = binding.location(graph, state, location);
                frame.append_write(
                    thread,
                    NodeKind::HangUp { port, location },
                    location,
                    Some(1),
                );
            }
            Operation::Call { object, call } if call.is_silent() => {
                let object = binding.object(graph, state, object);
                frame.push_silent(thread, object, call);
            }
            Operation::Call { .. } | Operation::Meet { .. } | Operation::Assume => {
                unreachable!("calls are inserted on their own, and what never goes on is not")
            }
        }
        Outcome::FIRST
    }
}

/// Returns the ordering constraints of an operation, and those that it has if it fails.
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

/// True when the operation is a send that blocks until its receive.
fn is_waited_for(operation: &Operation) -> bool {
    match operation {
        Operation::Call { call, .. } => !call.is_silent(),
        operation => matches!(operation, Operation::Meet { .. }),
    }
}

impl Strategy for Exhaustive {
    fn begin(&mut self) -> bool {
        self.begin_again();
        if self.begin_sample() {
            return true;
        }
        let has_graph = match std::mem::replace(&mut self.started, true) {
            true => self.next_graph(),
            false => {
                self.frames.push(Frame::new(self.reductions, self.order));
                true
            }
        };
        let top = self.frames.last();
        self.branches_before = top.map_or(0, |frame| frame.branches.len());
        has_graph
    }

    /// All operations so far are in the graph, in an order that can be run.
    fn begin_again(&mut self) {
        self.position = 0;
        self.unknown = None;
        self.vain_reads.begin_run();
        self.extending = false;
        self.binding.reset();
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.learn_written(state.execution());
        let frame = self.frames.last_mut().expect("a run has a frame");
        if let Some(&event) = frame.steps.get(self.position) {
            self.position += 1;
            let choice = self.binding.replay(&mut frame.graph, state, event);
            if frame.graph.node(event).is_unknown {
                self.unknown = Some((event, state.execution().events.len()));
            }
            return choice;
        }
        self.start_extending(state)?;
        self.position += 1;
        self.extend(state)
    }

    /// Inserts the calls that cannot be completed as well, because they may revisit. Threads that
    /// were left polling are enabled, and are not extended.
    fn stuck(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        self.learn_written(state.execution());
        self.start_extending(state)?;
        let execution = state.execution();
        let left_polling = execution.left_polling || execution.polls.is_some();
        let select = |here| !left_polling || !state.is_enabled(here);
        while let Some(thread) = self.first(state, select) {
            self.insert_call(state, thread);
        }
        Ok(())
    }

    /// Counts the execution if its class is within the bound. The class may have a linearization
    /// with fewer preemptions than the run had.
    fn end(&mut self, execution: &Execution, ending: &Ending) {
        self.learn_written(execution);
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
        {
            let frame = self.frames.last().expect("a run has a frame");
            // A stale read may hide preemptions that are part of the cost of a sequentially
            // consistent class.
            let hides = || execution.events.iter().any(|event| event.back() > 0);
            if execution.preemptions > bound.preemptions || frame.graph.weak && hides() {
                self.exceeded = !bound.includes(&frame.graph);
                self.left_out |= self.exceeded;
            }
        }
        let counts = !self.exceeded && *ending != Ending::Discarded;
        match self.sampled {
            true => self.end_sample(counts),
            false => self.counted += u64::from(counts),
        }
        if self.is_too_large() {
            self.give_up();
        }
    }

    /// A weak graph may have been taken over from another search, so the world must offer stale reads even if it has
    /// not performed the operations yet for which the graph is weak.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            reads_all_outcomes: self.frames.last().is_some_and(|frame| frame.graph.weak),
            begins_again: true,
            watches_on_demand: true,
            reads_discarded: true,
            known_class: KnownClass::NeverOccurs,
            max_events: self.too_long.unwrap_or(usize::MAX),
            ..Capabilities::default()
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            is_attempt: self.exceeded,
            is_sample: self.sampled,
            gave_up: self.gave_up,
            extent: self.extent(),
            estimate: self.estimate(),
        }
    }

    /// Stops a thread that repeats a read before any new write exists: a later write will revisit
    /// its first read.
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

    /// True when no later write will revisit the thread's last read.
    fn is_in_vain(&mut self, thread: ThreadId) -> bool {
        let frame = self.frames.last().expect("a run has a frame");
        let thread = self.binding.to_graph(thread);
        self.vain_reads.add(&frame.graph, thread)
    }
}
