//! Another order of an execution, in which some threads are at given points at the same time.
//!
//! It has those events that the points need, in the order of the execution: each thread's earlier events, the
//! source of each value, earlier calls of an object that is no lock, and the release of a lock that one of
//! these events takes later. If these include an event after one of the points, there is no such order that
//! keeps the values of reads and the order of the critical sections that it has.

use std::collections::HashMap;

use crate::base::ids::{CellId, EventId, ObjectId, ThreadId};
use crate::model::choice::Planned;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::effect::{Effect, Mode};

/// A point of a thread: the number of its events before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// The thread.
    pub thread: ThreadId,
    /// Number of events that it has performed.
    pub index: u32,
}

/// The values that a plan lets the threads read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Values {
    /// Those of the execution, so that the program follows the plan.
    Same,
    /// Any. The program may leave the plan where it reads another value.
    Any,
}

/// An interval during which a lock is held.
struct Hold {
    taken: usize,
    released: Option<usize>,
    mode: Mode,
}

/// The dependencies of an execution.
pub struct Witnesses<'a> {
    execution: &'a Execution,
    /// By thread: the positions of its events.
    positions: Vec<Vec<usize>>,
    /// By position: events that it needs, without those of its own thread.
    needs: Vec<Vec<usize>>,
    /// By position: the write whose value the event reads.
    sources: Vec<Option<usize>>,
    /// By lock: its intervals in the order of the run.
    holds: HashMap<ObjectId, Vec<Hold>>,
    /// By access: the last event before the last write of another thread, whose value it may read.
    written: Vec<Option<usize>>,
    /// By thread: indexes of its accesses.
    accesses: Vec<Vec<usize>>,
}

impl<'a> Witnesses<'a> {
    /// Computes the dependencies of an execution. Values of cells are kept only if its accesses were.
    pub fn of(execution: &'a Execution) -> Self {
        let mut this = Witnesses {
            execution,
            positions: vec![Vec::new(); execution.threads.len()],
            needs: vec![Vec::new(); execution.events.len()],
            sources: vec![None; execution.events.len()],
            holds: HashMap::new(),
            written: Vec::new(),
            accesses: vec![Vec::new(); execution.threads.len()],
        };
        let mut at: HashMap<EventId, usize> = HashMap::new();
        for (position, event) in execution.events.iter().enumerate() {
            this.positions[event.id.thread.index()].push(position);
            at.insert(event.id, position);
        }
        let mut last_use: HashMap<ObjectId, usize> = HashMap::new();
        for (position, event) in execution.events.iter().enumerate() {
            let thread = &execution.threads[event.id.thread.index()];
            let source = event.source;
            let known = match event.operation {
                Operation::Begin => thread.spawned_by,
                Operation::Join { target } => execution.threads[target.index()].end,
                _ => None,
            };
            let needs = &mut this.needs[position];
            let lock = event.lock_effect();
            let source = source.and_then(|id| at.get(&id).copied());
            match event.operation {
                // The place of a write in coherence order is no value, and calls are ordered below.
                Operation::Store { .. } | Operation::Call { .. } => {}
                Operation::Load { .. } | Operation::Update { .. } => {
                    this.sources[position] = source;
                }
                _ => needs.extend(source),
            }
            needs.extend(known.and_then(|id| at.get(&id)));
            match (lock, event.operation) {
                (Some((object, effect)), _) => {
                    this.hold(object, effect, event.id.thread, position);
                }
                (None, Operation::Receive { ports, .. }) => {
                    for &port in execution.port_list(&ports) {
                        this.needs[position].extend(last_use.insert(port, position));
                    }
                }
                (None, operation) => {
                    if let Some(object) = operation.object() {
                        this.needs[position].extend(last_use.insert(object, position));
                    }
                }
            }
        }
        this.follow_values();
        this
    }

    fn hold(&mut self, object: ObjectId, effect: Effect, thread: ThreadId, position: usize) {
        let events = &self.execution.events;
        let holds = self.holds.entry(object).or_default();
        let own = holds
            .iter_mut()
            .rfind(|hold| hold.released.is_none() && events[hold.taken].id.thread == thread);
        match effect {
            Effect::Take { mode, .. } => {
                holds.push(Hold {
                    taken: position,
                    released: None,
                    mode,
                });
            }
            Effect::Release => {
                if let Some(own) = own {
                    own.released = Some(position);
                }
            }
            // The interval keeps its stronger mode.
            Effect::Downgrade => {}
        }
    }

    /// Finds the write whose value each read of a cell may take.
    fn follow_values(&mut self) {
        let mut last: HashMap<CellId, (ThreadId, u32)> = HashMap::new();
        for (index, &(cell, access)) in self.execution.accesses.iter().enumerate() {
            self.accesses[access.thread.index()].push(index);
            let write = last
                .get(&cell)
                .filter(|(thread, _)| *thread != access.thread);
            // Without an earlier event the writer has not begun.
            let write = write.and_then(|&(thread, count)| {
                let before = (count as usize).checked_sub(1)?;
                self.positions[thread.index()].get(before).copied()
            });
            self.written.push(write);
            if access.writes {
                last.insert(cell, (access.thread, access.index));
            }
        }
    }

    /// Returns the events that bring these threads to their points, in the order of the execution; `None` if that
    /// takes an event beyond one of the limits. The accesses of index `except` may read any value.
    pub(crate) fn closure(
        &self,
        points: &[Point],
        limits: &[Point],
        except: &[usize],
        values: Values,
    ) -> Option<Vec<usize>> {
        let events = &self.execution.events;
        let mut needed = vec![false; events.len()];
        // By thread: number of events that are needed.
        let mut counts = vec![0; self.positions.len()];
        let mut seen_accesses = vec![0; self.positions.len()];
        let limit = |thread: usize| {
            let point = limits.iter().find(|point| point.thread.index() == thread);
            point.map(|point| point.index as usize)
        };
        let mut work: Vec<usize> = Vec::new();
        for point in points {
            match point.index.checked_sub(1) {
                Some(last) => work.push(*self.positions[point.thread.index()].get(last as usize)?),
                None => return None,
            }
        }
        loop {
            while let Some(position) = work.pop() {
                let id = events[position].id;
                let thread = id.thread.index();
                let count = id.index as usize + 1;
                if limit(thread).is_some_and(|limit| count > limit) {
                    return None;
                }
                for earlier in counts[thread]..count {
                    let earlier = self.positions[thread][earlier];
                    needed[earlier] = true;
                    work.extend(self.needs[earlier].iter().filter(|&&it| !needed[it]));
                    let source = self.sources[earlier].filter(|_| values == Values::Same);
                    work.extend(source.filter(|&it| !needed[it]));
                }
                counts[thread] = counts[thread].max(count);
                // Accesses up to the next event.
                let own = &self.accesses[thread];
                while let Some(&access) = own.get(seen_accesses[thread]) {
                    let of = self.execution.accesses[access].1;
                    if of.index as usize > counts[thread] {
                        break;
                    }
                    seen_accesses[thread] += 1;
                    if values == Values::Same && !except.contains(&access) {
                        work.extend(self.written[access].filter(|&write| !needed[write]));
                    }
                }
            }
            self.release(&needed, &mut work)?;
            if work.is_empty() {
                break;
            }
        }
        Some((0..events.len()).filter(|&it| needed[it]).collect())
    }

    /// Adds the release of each lock that a needed event takes later; `None` if one is never released.
    fn release(&self, needed: &[bool], work: &mut Vec<usize>) -> Option<()> {
        for holds in self.holds.values() {
            let mut later: [bool; 2] = [false, false];
            for hold in holds.iter().rev().filter(|hold| needed[hold.taken]) {
                let [reads, writes] = later;
                let is_taken_again = writes || reads && hold.mode == Mode::Write;
                if is_taken_again {
                    let released = hold.released?;
                    if !needed[released] {
                        work.push(released);
                    }
                }
                later[usize::from(hold.mode == Mode::Write)] = true;
            }
        }
        Some(())
    }

    /// Returns a plan in which these threads are at their points at the same time; `None` if that takes another order of
    /// critical sections, or other values than it may.
    pub fn together(&self, points: &[Point], values: Values) -> Option<Vec<Planned>> {
        let events = self.closure(points, points, &[], values)?;
        Some(Planned::of(self.execution, events))
    }

    /// Returns a plan in which these threads are at their points at the same time, with the values of the execution if
    /// there is such a plan.
    pub fn meeting(&self, points: &[Point]) -> Option<Vec<Planned>> {
        let same = self.together(points, Values::Same);
        same.or_else(|| self.together(points, Values::Any))
    }

    /// Returns a plan in which both accesses of a race are made without an event of their threads in between.
    pub fn of_race(&self, first: usize, second: usize, values: Values) -> Option<Vec<Planned>> {
        let points = [first, second].map(|access| {
            let access = self.execution.accesses[access].1;
            Point {
                thread: access.thread,
                index: access.index,
            }
        });
        let events = self.closure(&points, &points, &[first, second], values)?;
        Some(Planned::of(self.execution, events))
    }

    /// Returns the plan of some events, and then of the others.
    pub(crate) fn plan_in_parts(&self, start: &[usize], all: &[usize]) -> Vec<Planned> {
        let rest = all.iter().filter(|&it| start.binary_search(it).is_err());
        Planned::of(self.execution, start.iter().chain(rest).copied())
    }
}
