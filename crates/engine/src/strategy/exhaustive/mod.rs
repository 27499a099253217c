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

mod binding;
pub(crate) mod graph;
mod revisit;

use binding::Binding;
use graph::{Graph, Kind, covers};

use super::{Choice, Divergence, Strategy};
use crate::event::{EventId, LocationId, Operation, ThreadId};
use crate::memory::sc::linearise;
use crate::world::State;

/// Runs every class of executions exactly once.
#[derive(Debug, Default)]
pub struct Exhaustive {
    frames: Vec<Frame>,
    spare: Vec<Frame>,
    /// The operations of the present graph in the order they are replayed.
    steps: Vec<EventId>,
    position: usize,
    binding: Binding,
    extending: bool,
    started: bool,
}

/// A graph, and the choices made in it that have alternatives left.
#[derive(Debug, Default)]
struct Frame {
    graph: Graph,
    branches: Vec<Branch>,
    /// Calls that can be completed now, with their outcomes; empty between two uses.
    open_calls: Vec<(EventId, u32)>,
}

/// Another way to go on: undo the insertions after the first `keep`, then change one thing.
#[derive(Clone, Copy, Debug)]
struct Branch {
    keep: usize,
    change: Change,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    /// A read takes another write.
    Source {
        read: EventId,
        source: Option<EventId>,
    },
    /// A write stands elsewhere in coherence order.
    Place { write: EventId, position: usize },
    /// The completion with this stamp completes another call, or the same with another outcome.
    Complete {
        stamp: u32,
        call: EventId,
        outcome: u32,
    },
    /// A choice takes another alternative.
    Choose { event: EventId, outcome: u32 },
    /// An older receive takes a newer send.
    Revisit { receive: EventId, send: EventId },
}

impl Exhaustive {
    /// A search that has run nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes branches until one leads to a graph that can be run.
    fn next_graph(&mut self) -> bool {
        loop {
            let Some(frame) = self.frames.last_mut() else {
                return false;
            };
            let Some(Branch { keep, change }) = frame.branches.pop() else {
                self.spare.extend(self.frames.pop());
                continue;
            };
            frame.graph.truncate(keep);
            match change {
                Change::Revisit { receive, send } => self.start_revisit(receive, send),
                change => frame.apply(change),
            }
            if self.settle() {
                return true;
            }
        }
    }

    fn start_revisit(&mut self, receive: EventId, send: EventId) {
        let mut child = self.spare.pop().unwrap_or_default();
        let parent = self.frames.last().expect("the branch came from a frame");
        child.branches.clear();
        child.graph.restrict(&parent.graph, receive, send);
        if parent.branches.is_empty() {
            self.spare.extend(self.frames.pop());
        }
        child.take_send(receive, send);
        self.frames.push(child);
    }

    /// Makes the top graph ready to run: adds the writes of updates whose read has a new source,
    /// and puts everything in a line. `false` if no run has this graph.
    fn settle(&mut self) -> bool {
        let frame = self.frames.last_mut().expect("a graph was just made");
        if !linearise(&mut frame.graph, &mut self.steps) {
            return false;
        }
        while let Some((read, location, value)) = frame.missing_write() {
            let position = frame
                .graph
                .coherence(location, frame.graph.node(read).source);
            let write = frame.push_write(
                read.thread,
                Kind::WriteOfUpdate { location },
                location,
                value,
            );
            if !frame.graph.may_place(location, position) {
                return false;
            }
            frame.graph.place(location, write, position);
            if !linearise(&mut frame.graph, &mut self.steps) {
                return false;
            }
        }
        true
    }

    /// Called at every step past the replayed part.
    fn start_extending(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        if std::mem::replace(&mut self.extending, true) {
            return Ok(());
        }
        let frame = self.frames.last().expect("a run has a frame");
        self.binding.bind_waiting_calls(&frame.graph, state)
    }

    /// Extends the graph by one operation of the program: a call that can be completed if there is
    /// one, else the next operation of the first thread that has one.
    fn extend(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        loop {
            let frame = self.frames.last_mut().expect("a run has a frame");
            if let Some(choice) = frame.complete_a_call(&self.binding) {
                return Ok(choice);
            }
            let thread = self.first_to_go_on(state).expect(
                "raddle: the search and the world disagree on what can go on; please report this",
            );
            let here = self.binding.to_world(thread);
            if let Operation::Call { .. } = state.pending(here) {
                self.insert_call(state);
                continue;
            }
            self.insert(state, thread, here);
            return Ok(Choice::run(here));
        }
    }

    /// The first thread, in canonical order, whose pending operation can be inserted: any call
    /// that the graph does not have, whether it can be completed or not, and anything else that
    /// can be performed.
    fn first_to_go_on(&self, state: &State) -> Option<ThreadId> {
        let graph = &self.frames.last().expect("a run has a frame").graph;
        let can_go_on = |&&thread: &&ThreadId| {
            let here = self.binding.to_world(thread);
            let is_call = matches!(state.pending(here), Operation::Call { .. });
            graph.pending_call(thread).is_none()
                && (state.is_enabled(here) || is_call && !state.has_ended(here))
        };
        graph.canonical.iter().find(can_go_on).copied()
    }

    /// Inserts the pending operation of the first thread to go on, which is a call.
    fn insert_call(&mut self, state: &State) -> Option<()> {
        let thread = self.first_to_go_on(state)?;
        let Operation::Call { object, call } = *state.pending(self.binding.to_world(thread)) else {
            unreachable!("only called when the next operation is a call");
        };
        let frame = self.frames.last_mut().expect("a run has a frame");
        let object = self.binding.object(&mut frame.graph, state, object);
        frame.push_call(thread, Kind::Call { object, call });
        Some(())
    }

    /// Inserts the pending operation of a thread, which is not a call, the canonical way.
    fn insert(&mut self, state: &State, thread: ThreadId, here: ThreadId) {
        let binding = &mut self.binding;
        let frame = self.frames.last_mut().expect("a run has a frame");
        let graph = &mut frame.graph;
        match *state.pending(here) {
            Operation::Begin => frame.push_plain(thread, Kind::Begin),
            Operation::Yield | Operation::Fence { .. } => frame.push_plain(thread, Kind::Local),
            Operation::Spawn => {
                let child = graph.spawn(thread);
                binding.bind_thread(child, ThreadId::new(state.execution().threads.len()));
            }
            Operation::Join { target } => {
                let target = binding.to_graph(target);
                frame.push_plain(thread, Kind::Join { target });
            }
            Operation::Choose { alternatives } => frame.push_choice(thread, alternatives),
            Operation::End => {
                let location = graph.ended(thread);
                frame.append_write(thread, Kind::End { location }, location, 1);
            }
            Operation::IsFinished { target } => {
                let location = graph.ended(binding.to_graph(target));
                frame.push_read(thread, Kind::Read { location }, location);
            }
            Operation::Load { location, .. } => {
                let location = binding.location(graph, state, location);
                frame.push_read(thread, Kind::Read { location }, location);
            }
            Operation::Store {
                location, value, ..
            } => {
                let location = binding.location(graph, state, location);
                frame.append_write(thread, Kind::Write { location }, location, value);
            }
            Operation::Update {
                location, update, ..
            } => {
                let location = binding.location(graph, state, location);
                let kind = Kind::ReadForUpdate { location, update };
                let read = frame.push_read(thread, kind, location);
                let old = frame.graph.value(location, frame.graph.node(read).source);
                if let Some(new) = update.apply(old) {
                    frame.append_write(thread, Kind::WriteOfUpdate { location }, location, new);
                }
            }
            Operation::Call { .. } => unreachable!("calls are inserted on their own"),
        }
    }
}

impl Frame {
    fn branch(&mut self, change: Change) {
        self.branches.push(Branch {
            keep: self.graph.order.len(),
            change,
        });
    }

    fn apply(&mut self, change: Change) {
        let graph = &mut self.graph;
        match change {
            Change::Source { read, source } => graph.node_mut(read).source = source,
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
            Change::Choose { event, outcome } => graph.node_mut(event).outcome = outcome,
            Change::Revisit { .. } => unreachable!("a revisit makes a frame of its own"),
        }
    }

    /// In a graph just restricted for it: the receive takes the send, in every way it can.
    fn take_send(&mut self, receive: EventId, send: EventId) {
        let graph = &mut self.graph;
        if let Kind::Call { object, call } = graph.node(send).kind {
            let node = *graph.node(receive);
            let state = graph.machine(object).states[node.value as usize];
            let outcomes = state.outcomes(call, send.thread);
            graph.move_completion(node.stamp, send, 0);
            for outcome in 1..outcomes {
                self.branch(Change::Complete {
                    stamp: node.stamp,
                    call: send,
                    outcome,
                });
            }
            return;
        }
        graph.node_mut(receive).source = Some(send);
        let kind = graph.node(send).kind;
        let location = kind.writes().expect("a send is a call or a write");
        graph.unplace(location, send);
        if let Kind::WriteOfUpdate { .. } = kind {
            let read = EventId {
                index: send.index - 1,
                ..send
            };
            let position = graph.coherence(location, graph.node(read).source);
            graph.place(location, send, position);
            return;
        }
        let last = graph.cell(location).writes.len();
        graph.place(location, send, last);
        for position in (0..last).filter(|&position| self.graph.may_place(location, position)) {
            self.branches.push(Branch {
                keep: self.graph.order.len(),
                change: Change::Place {
                    write: send,
                    position,
                },
            });
        }
    }

    /// An update that has read a value for which it writes, but has not written.
    fn missing_write(&self) -> Option<(EventId, LocationId, u64)> {
        self.graph.canonical.iter().find_map(|&thread| {
            let (read, node) = self.graph.tail(thread)?;
            let Kind::ReadForUpdate { location, update } = node.kind else {
                return None;
            };
            let value = update.apply(self.graph.value(location, node.source))?;
            Some((read, location, value))
        })
    }

    fn push_plain(&mut self, thread: ThreadId, kind: Kind) {
        let id = self.graph.push(thread, kind);
        self.graph.set_clocks(id);
    }

    fn push_choice(&mut self, thread: ThreadId, alternatives: u32) {
        let event = self.graph.push(thread, Kind::Choose { alternatives });
        self.graph.set_clocks(event);
        for outcome in 1..alternatives {
            self.branch(Change::Choose { event, outcome });
        }
    }

    /// A read takes the last write; any earlier one is a branch, unless a later one is already
    /// known to the reading thread.
    fn push_read(&mut self, thread: ThreadId, kind: Kind, location: LocationId) -> EventId {
        let read = self.graph.push(thread, kind);
        let count = self.graph.cell(location).writes.len();
        let write = |place: usize| self.graph.cell(location).writes[place];
        let source = |place: usize| place.checked_sub(1).map(write);
        let known = self.known_writes(read, location);
        let sources = (known..count).map(source);
        let keep = self.graph.order.len();
        self.branches.extend(sources.map(|source| Branch {
            keep,
            change: Change::Source { read, source },
        }));
        self.graph.node_mut(read).source = self.graph.cell(location).writes.last().copied();
        self.graph.set_clocks(read);
        read
    }

    /// How many writes of the location, in coherence order, come before the event.
    fn known_writes(&self, event: EventId, location: LocationId) -> usize {
        let Some(index) = event.index.checked_sub(1) else {
            return 0;
        };
        let before = self.graph.before(EventId { index, ..event });
        let writes = &self.graph.cell(location).writes;
        writes
            .iter()
            .rposition(|&write| covers(before, write))
            .map_or(0, |place| place + 1)
    }

    /// A write goes last in coherence order; any earlier place is a branch, unless a write there
    /// is already known to the writing thread.
    fn append_write(&mut self, thread: ThreadId, kind: Kind, location: LocationId, value: u64) {
        let write = self.push_write(thread, kind, location, value);
        let last = self.graph.cell(location).writes.len();
        if let Kind::Write { .. } = kind {
            let known = self.known_writes(write, location);
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

    /// Adds a write that has no place in coherence order yet, and its revisits.
    fn push_write(
        &mut self,
        thread: ThreadId,
        kind: Kind,
        location: LocationId,
        value: u64,
    ) -> EventId {
        debug_assert_eq!(kind.writes(), Some(location));
        let write = self.graph.push(thread, kind);
        self.graph.node_mut(write).value = value;
        self.graph.set_clocks(write);
        self.push_revisits(write);
        write
    }

    fn push_call(&mut self, thread: ThreadId, kind: Kind) {
        let call = self.graph.push(thread, kind);
        self.graph.set_clocks(call);
        self.push_revisits(call);
    }

    fn push_revisits(&mut self, send: EventId) {
        let keep = self.graph.order.len();
        let branches = &mut self.branches;
        revisit::revisits(&mut self.graph, send, |receive| {
            branches.push(Branch {
                keep,
                change: Change::Revisit { receive, send },
            });
        });
    }

    /// If some call can be completed, completes the oldest one; every other is a branch.
    fn complete_a_call(&mut self, binding: &Binding) -> Option<Choice> {
        let mut calls = std::mem::take(&mut self.open_calls);
        let graph = &self.graph;
        let mut object = None;
        for &thread in &graph.canonical {
            let Some((id, called, call)) = graph.pending_call(thread) else {
                continue;
            };
            let state = graph.machine(called).state();
            if object.is_none_or(|object| object == called) && state.open(call, thread) {
                object = Some(called);
                calls.push((id, state.outcomes(call, thread)));
            }
        }
        let oldest = calls
            .iter()
            .map(|&(id, _)| id)
            .min_by_key(|&id| graph.node(id).stamp);
        if let Some(oldest) = oldest {
            let completion = self.graph.push_completion(oldest, 0);
            self.graph.node_mut(completion).oldest = true;
            self.graph.set_clocks(completion);
            let stamp = self.graph.node(completion).stamp;
            for &(call, outcomes) in &calls {
                for outcome in u32::from(call == oldest)..outcomes {
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
        oldest.map(|call| Choice::run(binding.to_world(call.thread)))
    }
}

impl Strategy for Exhaustive {
    fn begin(&mut self) -> bool {
        self.position = 0;
        self.extending = false;
        self.binding.reset();
        if std::mem::replace(&mut self.started, true) {
            return self.next_graph();
        }
        self.frames.push(Frame {
            graph: Graph::new(),
            ..Frame::default()
        });
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let frame = self.frames.last().expect("a run has a frame");
        if let Some(&event) = self.steps.get(self.position) {
            self.position += 1;
            return self.binding.replay(&frame.graph, state, event);
        }
        self.start_extending(state)?;
        self.extend(state)
    }

    /// The graph still gets the calls that nobody will complete: they may revisit.
    fn stuck(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        self.start_extending(state)?;
        while self.insert_call(state).is_some() {}
        Ok(())
    }

    fn exhausted(&self) -> bool {
        self.started && self.frames.is_empty()
    }

    fn never_repeats(&self) -> bool {
        true
    }
}
