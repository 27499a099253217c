//! The manners of one execution, with their instances and the locks of every access.

use std::collections::HashMap;

use super::{Effect, Kind, Manner, Step, Target};
use crate::base::ids::{CellId, EventId, ObjectId, SiteId, ThreadId};
use crate::memory::happens_before::{EveryEvent, HappensBefore};
use crate::model::execution::Execution;
use crate::object::effect::{Effect as LockEffect, Mode};

/// Locks that a thread holds, in the order of acquisition.
pub(super) type Lockset = Vec<(ObjectId, Mode)>;

/// One occurrence of a manner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instance {
    /// Index of the manner.
    pub manner: usize,
    /// Its thread.
    pub thread: ThreadId,
    /// Number of events of the thread before its first step; that step may be the next event.
    pub from: u32,
    /// Number of events of the thread with its last step.
    pub to: u32,
}

/// An access of a shared cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    /// Index among the accesses of the execution.
    pub(super) access: usize,
    pub(super) cell: CellId,
    /// Index of the manner, and of the access among its steps.
    pub(super) manner: usize,
    pub(super) step: usize,
    /// Index of the locks held.
    pub(super) locks: usize,
}

/// The manners of an execution whose accesses were kept.
#[derive(Debug)]
pub struct Traced<'a> {
    pub(super) execution: &'a Execution,
    /// The distinct manners of all threads.
    pub manners: Vec<Manner>,
    /// Every occurrence, thread by thread in program order.
    pub instances: Vec<Instance>,
    pub(super) touches: Vec<Touch>,
    pub(super) locksets: Vec<Lockset>,
    order: HappensBefore<EveryEvent>,
}

/// A step of a thread before it is part of a manner.
enum Raw {
    Lock(ObjectId, Option<LockEffect>),
    Access(usize),
}

/// The manner that a thread is in.
#[derive(Default)]
struct Open {
    steps: Vec<Step>,
    /// Touches with the index of the step each belongs to.
    touches: Vec<(usize, usize)>,
    from: u32,
    held: Lockset,
}

/// Targets of steps, by their first use: thread by thread in the order of the tree of creations.
#[derive(Default)]
struct Targets {
    locks: HashMap<ObjectId, Target>,
    cells: HashMap<CellId, Target>,
    /// By place: number of locks and cells that are used first there.
    counts: HashMap<SiteId, u32>,
}

impl Targets {
    fn next(counts: &mut HashMap<SiteId, u32>, first: SiteId) -> Target {
        let count = counts.entry(first).or_default();
        *count += 1;
        Target {
            first,
            number: *count - 1,
        }
    }

    fn of_lock(&mut self, object: ObjectId, site: SiteId) -> Target {
        let new = || Self::next(&mut self.counts, site);
        *self.locks.entry(object).or_insert_with(new)
    }

    fn of_cell(&mut self, cell: CellId, site: SiteId) -> Target {
        let new = || Self::next(&mut self.counts, site);
        *self.cells.entry(cell).or_insert_with(new)
    }
}

impl<'a> Traced<'a> {
    /// Extracts the manners of an execution.
    pub fn of(execution: &'a Execution) -> Self {
        let mut traced = Traced {
            execution,
            manners: Vec::new(),
            instances: Vec::new(),
            touches: Vec::new(),
            locksets: Vec::new(),
            order: super::predict::order_without_locks(execution),
        };
        let mut accesses: Vec<Vec<usize>> = vec![Vec::new(); execution.threads.len()];
        for (index, (_, access)) in execution.accesses.iter().enumerate() {
            accesses[access.thread.index()].push(index);
        }
        let mut events: Vec<Vec<usize>> = vec![Vec::new(); execution.threads.len()];
        for (position, event) in execution.events.iter().enumerate() {
            events[event.id.thread.index()].push(position);
        }
        let mut threads: Vec<ThreadId> = (0..execution.threads.len()).map(ThreadId::new).collect();
        threads.sort_by_cached_key(|&thread| execution.path(thread));
        let mut extraction = Extraction {
            traced: &mut traced,
            is_shared: shared_cells(execution),
            targets: Targets::default(),
            known: HashMap::new(),
            known_locks: HashMap::new(),
        };
        for thread in threads {
            extraction.thread(thread, &events[thread.index()], &accesses[thread.index()]);
        }
        traced
    }

    /// True when an access, or the end of a manner, of one thread precedes a point of another thread in every
    /// order of the critical sections: by creation, by join, by a notification or by any synchronization other
    /// than that of locks.
    pub(super) fn must_precede(
        &self,
        first: ThreadId,
        index: u32,
        second: ThreadId,
        point: u32,
    ) -> bool {
        if first == second {
            return index <= point;
        }
        let Some(last) = point.checked_sub(1) else {
            return false;
        };
        let last = EventId {
            thread: second,
            index: last,
        };
        self.order.clock_of_others(last)[first.index()] > index
    }

    /// True when another order of the critical sections can exchange steps of these two instances.
    pub fn are_concurrent(&self, one: &Instance, other: &Instance) -> bool {
        let precedes = |first: &Instance, second: &Instance| {
            // The last step is over when the thread's next event happens before the second one begins.
            self.must_precede(first.thread, first.to, second.thread, second.from)
        };
        one.thread != other.thread && !precedes(one, other) && !precedes(other, one)
    }

    /// Returns the pairs of manners, by index, that some order of the critical sections can exchange steps of.
    pub fn concurrent_pairs(&self) -> Vec<(usize, usize)> {
        let mut by_manner: Vec<Vec<&Instance>> = vec![Vec::new(); self.manners.len()];
        for instance in &self.instances {
            by_manner[instance.manner].push(instance);
        }
        let mut pairs = Vec::new();
        for (one, first) in by_manner.iter().enumerate() {
            for (other, second) in by_manner.iter().enumerate().skip(one + 1) {
                let mut both = first
                    .iter()
                    .flat_map(|&first| second.iter().map(move |&second| (first, second)));
                if both.any(|(first, second)| self.are_concurrent(first, second)) {
                    pairs.push((one, other));
                }
            }
        }
        pairs
    }
}

/// Returns, by cell, whether several threads access it. The write that stands for an allocation does not count.
fn shared_cells(execution: &Execution) -> Vec<bool> {
    let mut first: Vec<Option<ThreadId>> = vec![None; execution.cells];
    let mut shared = vec![false; execution.cells];
    for (cell, access) in &execution.accesses {
        let known = first[cell.index()].get_or_insert(access.thread);
        shared[cell.index()] |= *known != access.thread;
    }
    shared
}

struct Extraction<'t, 'a> {
    traced: &'t mut Traced<'a>,
    targets: Targets,
    is_shared: Vec<bool>,
    known: HashMap<Manner, usize>,
    known_locks: HashMap<Lockset, usize>,
}

impl Extraction<'_, '_> {
    /// Adds the manners of one thread, whose events and accesses are these.
    fn thread(&mut self, thread: ThreadId, events: &[usize], accesses: &[usize]) {
        let execution = self.traced.execution;
        let mut open = Open::default();
        let mut accesses = accesses.iter().copied().peekable();
        for &position in events {
            let event = &execution.events[position];
            let before = |&access: &usize| execution.accesses[access].1.index <= event.id.index;
            while let Some(access) = accesses.next_if(before) {
                self.step(thread, &mut open, Raw::Access(access), 0, event.site);
            }
            if let Some((object, effect)) = event.lock_effect() {
                let raw = Raw::Lock(object, Some(effect));
                self.step(thread, &mut open, raw, event.id.index, event.site);
            }
        }
        for access in accesses {
            let site = execution.accesses[access].1.site;
            self.step(thread, &mut open, Raw::Access(access), 0, site);
        }
        if !open.steps.is_empty() {
            let to = events.len() as u32;
            self.close(thread, &mut open, to, Kind::Unterminated);
        }
    }

    /// Adds one step of a thread to the manner that it is in.
    fn step(&mut self, thread: ThreadId, open: &mut Open, raw: Raw, index: u32, site: SiteId) {
        match raw {
            Raw::Access(access) => {
                let (cell, access_of) = self.traced.execution.accesses[access];
                let target = self.targets.of_cell(cell, access_of.site);
                if !self.is_shared[cell.index()] {
                    return;
                }
                let effect = match access_of.writes {
                    true => Effect::Write,
                    false => Effect::Read,
                };
                if open.held.is_empty() {
                    open.from = access_of.index;
                }
                open.touches.push((access, open.steps.len()));
                open.steps.push(Step {
                    effect,
                    target,
                    site: access_of.site,
                });
                self.record(open, access);
                if open.held.is_empty() {
                    self.close(thread, open, access_of.index, Kind::Unusual);
                }
            }
            Raw::Lock(object, Some(LockEffect::Take { mode, .. })) => {
                if open.held.is_empty() {
                    open.from = index;
                }
                open.held.push((object, mode));
                self.add_lock(open, Effect::Lock, object, site);
            }
            Raw::Lock(object, Some(LockEffect::Downgrade)) => {
                let held = open.held.iter_mut().rfind(|(held, _)| *held == object);
                if let Some((_, mode)) = held {
                    *mode = Mode::Read;
                }
            }
            Raw::Lock(object, _) => {
                if open.held.is_empty() {
                    open.from = index;
                    self.add_lock(open, Effect::Unlock, object, site);
                    self.close(thread, open, index + 1, Kind::Unusual);
                    return;
                }
                self.add_lock(open, Effect::Unlock, object, site);
                // One that the thread does not hold changes nothing.
                if let Some(held) = open.held.iter().rposition(|&(held, _)| held == object) {
                    open.held.remove(held);
                }
                if open.held.is_empty() {
                    self.close(thread, open, index + 1, Kind::Usual);
                }
            }
        }
    }

    fn add_lock(&mut self, open: &mut Open, effect: Effect, object: ObjectId, site: SiteId) {
        open.steps.push(Step {
            effect,
            target: self.targets.of_lock(object, site),
            site,
        });
    }

    /// Records an access with the locks held; its manner is known when that ends.
    fn record(&mut self, open: &Open, access: usize) {
        let locksets = &mut self.traced.locksets;
        let locks = match self.known_locks.get(&open.held) {
            Some(&known) => known,
            None => {
                locksets.push(open.held.clone());
                self.known_locks
                    .insert(open.held.clone(), locksets.len() - 1);
                locksets.len() - 1
            }
        };
        self.traced.touches.push(Touch {
            access,
            cell: self.traced.execution.accesses[access].0,
            manner: usize::MAX,
            step: 0,
            locks,
        });
    }

    /// Ends the manner that a thread is in.
    fn close(&mut self, thread: ThreadId, open: &mut Open, to: u32, kind: Kind) {
        let manner = Manner {
            thread: self.traced.execution.path(thread),
            kind,
            steps: std::mem::take(&mut open.steps),
        };
        let manners = &mut self.traced.manners;
        let index = *self.known.entry(manner).or_insert_with_key(|manner| {
            manners.push(manner.clone());
            manners.len() - 1
        });
        self.traced.instances.push(Instance {
            manner: index,
            thread,
            from: open.from,
            to,
        });
        let count = open.touches.len();
        let all = self.traced.touches.len();
        let touches = &mut self.traced.touches[all - count..];
        for (touch, (_, step)) in touches.iter_mut().zip(open.touches.drain(..)) {
            (touch.manner, touch.step) = (index, step);
        }
    }
}

#[cfg(test)]
mod tests {
    //! A loop that gives a lock back more often than it has taken it, which no guard does: so the executions are made by
    //! hand.

    use super::*;
    use crate::analysis::manners::{Decided, predict};
    use crate::base::outcome::Outcome;
    use crate::base::reply::{Grant, Reply};
    use crate::model::access::Access;
    use crate::model::event::Event;
    use crate::model::operation::Operation;
    use crate::object::{Call, Object, mutex};

    /// Adds an event at a line of the example, which stands for its site.
    fn add(execution: &mut Execution, thread: ThreadId, line: usize, operation: Operation) {
        let own = |event: &&Event| event.id.thread == thread;
        let index = execution.events.iter().filter(own).count() as u32;
        let takes = matches!(
            operation,
            Operation::Call {
                call: Call::Mutex(mutex::Call::Lock),
                ..
            }
        );
        execution.events.extend([Event {
            id: EventId { thread, index },
            operation,
            source: None,
            outcome: Outcome::FIRST,
            reply: match takes {
                true => Reply::grant(Grant::Taken { poisoned: false }),
                false => Reply::DONE,
            },
            site: SiteId::new(line),
        }]);
    }

    fn access(execution: &mut Execution, thread: ThreadId, line: usize, writes: bool) {
        let own = |event: &&Event| event.id.thread == thread;
        let index = execution.events.iter().filter(own).count() as u32;
        let access = Access {
            thread,
            index,
            writes,
            made: false,
            atomic: false,
            site: SiteId::new(line),
            after: execution.events.len(),
        };
        execution.accesses.push((CellId::new(0), access));
    }

    /// The first thread locks once and unlocks in each of some rounds; the second reads under the lock.
    fn rounds(count: usize) -> Execution {
        let mut execution = Execution::default();
        let call = |call| Operation::Call {
            object: ObjectId::new(0),
            call: Call::Mutex(call),
        };
        execution.objects.push(Object::Mutex(Default::default()));
        execution.cells = 1;
        let main = execution.add_thread(None);
        add(&mut execution, main, 0, Operation::Begin);
        let threads = [0, 1].map(|_| {
            add(&mut execution, main, 0, Operation::Spawn);
            let spawn = execution.events.last().map(|event| event.id);
            let thread = execution.add_thread(spawn);
            let begin = execution.events.len();
            add(&mut execution, thread, 0, Operation::Begin);
            execution.events[begin].source = spawn;
            thread
        });
        let [first, second] = threads;
        add(&mut execution, first, 1, call(mutex::Call::Lock));
        for _ in 0..count {
            access(&mut execution, first, 3, true);
            add(
                &mut execution,
                first,
                4,
                call(mutex::Call::Unlock { poison: false }),
            );
        }
        add(&mut execution, second, 20, call(mutex::Call::Lock));
        access(&mut execution, second, 21, false);
        add(
            &mut execution,
            second,
            22,
            call(mutex::Call::Unlock { poison: false }),
        );
        execution
    }

    #[test]
    fn rounds_after_the_second_make_no_new_group() {
        let mut decided = Decided::default();
        for count in 1..=8 {
            let execution = rounds(count);
            let traced = Traced::of(&execution);
            let own = |manner: &&Manner| manner.thread == execution.path(ThreadId::new(1));
            let own: Vec<_> = traced.manners.iter().filter(own).collect();
            let lengths: Vec<_> = own.iter().map(|manner| manner.steps.len()).collect();
            // Lock, write and unlock; from the second round on also a write and an unlock without the lock.
            match count {
                1 => assert_eq!(lengths, [3]),
                _ => assert_eq!(lengths, [3, 1, 1]),
            }
            assert_eq!(own[0].kind, Kind::Usual);
            assert!(own[1..].iter().all(|manner| manner.kind == Kind::Unusual));
            let races = predict::races(&execution);
            assert_eq!(races.is_empty(), count == 1, "{count} rounds");
            let decision = decided.look(&execution);
            assert_eq!(decision.is_new, count <= 2, "{count} rounds");
        }
        assert_eq!(decided.groups(), 2);
    }
}
