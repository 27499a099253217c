//! Consistency of a trial under RC11.
//!
//! Happens-before follows from reads-from and never from coherence. So part of the coherence order
//! of each location is known. Neither the source of a read nor the position of a write may precede
//! a write that happens before the event, and no write separates an update from its source. Without
//! SeqCst any order that extends this is consistent.

use std::collections::HashMap;

use super::trial::{Accesses, Trial};
use super::work::{Possibility, Work};
use crate::base::ids::{EventId, ThreadId};
use crate::memory::Strength;
use crate::memory::happens_before::{EveryEvent, HappensBefore};
use crate::memory::psc::{Psc, SeqCstRules, Touch};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// Decides whether the events of the trial are consistent.
pub(super) fn decide(trial: &Trial<'_>, rules: SeqCstRules, work: &Work) -> Possibility {
    let mut execution = Execution::default();
    execution.events.extend(trial.events().copied());
    execution.threads.clone_from(&trial.execution.threads);
    execution.objects.clone_from(&trial.execution.objects);
    execution.locations.clone_from(&trial.execution.locations);
    execution.port_lists.clone_from(&trial.execution.port_lists);
    let hb = HappensBefore::of(&execution);
    let before = |first: EventId, second: EventId| first != second && hb.is_covered(first, second);
    let is_strong = |event: &Event| Strength::of_operation(&event.operation, true).is_seq_cst();
    let has_strong = execution.events.iter().any(is_strong);
    let mut all = trial.accesses();
    // No event depends on the receive, so all other locations are unchanged.
    let is_here = |one: &Accesses| {
        let mut reads = one.reads.iter();
        reads.any(|&(read, _)| read == trial.receive.id)
    };
    all.retain(|one| has_strong || is_here(one));
    let pairs = |one: &Accesses| (one.reads.len() + one.writes.len()).pow(2);
    let pairs: usize = all.iter().map(pairs).sum();
    if !work.spend(4 * pairs + 64 * execution.events.len()) {
        return Possibility::Undecided;
    }
    let known = all.iter().map(|one| Coherence::of(one, &before));
    let Some(known) = known.collect::<Option<Vec<Coherence>>>() else {
        return Possibility::Impossible;
    };
    if !has_strong {
        return Possibility::Possible;
    }
    let search = Search {
        execution: &execution,
        hb: &hb,
        all: &all,
        rules,
        work,
    };
    search.decide(known, &mut work.tries())
}

/// Known part of the coherence order of one location.
#[derive(Clone)]
struct Coherence {
    after: Rows,
    /// Updates that write, with the position of their source.
    updates: Vec<(usize, Option<usize>)>,
}

/// The relation between writes by coherence, by position: one row of bits for each write, of the
/// writes after it.
#[derive(Clone)]
struct Rows {
    count: usize,
    width: usize,
    bits: Vec<u64>,
}

impl Rows {
    fn new(count: usize) -> Self {
        let width = count.div_ceil(64);
        Rows {
            count,
            width,
            bits: vec![0; count * width],
        }
    }

    fn has(&self, first: usize, second: usize) -> bool {
        self.bits[first * self.width + second / 64] >> (second % 64) & 1 == 1
    }

    /// Adds an edge; returns true when it is new.
    fn add(&mut self, first: usize, second: usize) -> bool {
        let is_new = !self.has(first, second);
        self.bits[first * self.width + second / 64] |= 1 << (second % 64);
        is_new
    }

    /// Closes the relation transitively.
    fn close(&mut self) {
        for middle in 0..self.count {
            for first in 0..self.count {
                if first != middle && self.has(first, middle) {
                    for word in 0..self.width {
                        self.bits[first * self.width + word] |=
                            self.bits[middle * self.width + word];
                    }
                }
            }
        }
    }
}

impl Coherence {
    fn of(accesses: &Accesses, before: &impl Fn(EventId, EventId) -> bool) -> Option<Self> {
        let Accesses { writes, reads } = accesses;
        let places: HashMap<EventId, usize> = writes.iter().copied().zip(0..).collect();
        let mut known = Coherence {
            after: Rows::new(writes.len()),
            updates: Vec::new(),
        };
        // Constraints of events on coherence: the position written, or the one read.
        let mut shown: Vec<(EventId, bool, Option<usize>)> = Vec::new();
        for &(read, source) in reads {
            let source = source.map(|source| places[&source]);
            shown.push((read, true, source));
            if let Some(&own) = places.get(&read) {
                known.updates.push((own, source));
                if let Some(source) = source {
                    known.after.add(source, own);
                }
            }
        }
        shown.extend(
            writes
                .iter()
                .map(|&write| (write, false, Some(places[&write]))),
        );
        for &(first, _, from) in &shown {
            for &(second, reads, to) in &shown {
                if !before(first, second) {
                    continue;
                }
                match (from, to) {
                    (None, _) => {}
                    (Some(_), None) => return None,
                    (Some(from), Some(to)) if from == to => {
                        if !reads {
                            return None;
                        }
                    }
                    (Some(from), Some(to)) => _ = known.after.add(from, to),
                }
            }
        }
        known.follow().then_some(known)
    }

    /// Adds all implied edges; returns `false` on a cycle.
    fn follow(&mut self) -> bool {
        let count = self.after.count;
        let mut learns = true;
        while std::mem::take(&mut learns) {
            self.after.close();
            for &(update, source) in &self.updates {
                for other in (0..count).filter(|&other| other != update && Some(other) != source) {
                    let behind_source = source.is_none_or(|source| self.after.has(source, other));
                    if behind_source {
                        learns |= self.after.add(update, other);
                    }
                    if self.after.has(other, update) {
                        let Some(source) = source else { return false };
                        learns |= self.after.add(other, source);
                    }
                }
            }
        }
        (0..count).all(|one| !self.after.has(one, one))
    }

    fn unordered(&self) -> Option<(usize, usize)> {
        let count = self.after.count;
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        let mut free = pairs.filter(|&(a, b)| !self.after.has(a, b) && !self.after.has(b, a));
        free.next()
    }

    /// Returns the position of a write in coherence order, counted from 1.
    fn place(&self, write: usize) -> u32 {
        let before = (0..self.after.count).filter(|&other| self.after.has(other, write));
        before.count() as u32 + 1
    }
}

/// Searches for a coherence order that satisfies SeqCst.
struct Search<'a> {
    execution: &'a Execution,
    hb: &'a HappensBefore<EveryEvent>,
    all: &'a [Accesses],
    rules: SeqCstRules,
    work: &'a Work,
}

impl Search<'_> {
    fn decide(&self, known: Vec<Coherence>, tries: &mut u32) -> Possibility {
        if !self.work.spend(self.execution.events.len().pow(2)) {
            return Possibility::Undecided;
        }
        let free = known.iter().enumerate();
        let mut free = free.filter_map(|(at, one)| Some((at, one.unordered()?)));
        let Some((location, (a, b))) = free.next() else {
            return self.holds(&known).into();
        };
        let mut with = |first, second| {
            let Some(left) = tries.checked_sub(1) else {
                return Possibility::Undecided;
            };
            *tries = left;
            let mut known = known.clone();
            known[location].after.add(first, second);
            match known[location].follow() {
                true => self.decide(known, tries),
                false => Possibility::Impossible,
            }
        };
        with(a, b).or(|| with(b, a))
    }

    /// True when the SeqCst events satisfy `psc`.
    fn holds(&self, known: &[Coherence]) -> bool {
        let mut psc = Psc::new(self.rules);
        for thread in 0..self.execution.threads.len() {
            psc.begin_thread();
            let own = |event: &&Event| event.id.thread.index() == thread;
            for event in self.execution.events.iter().filter(own) {
                psc.add(self.touch(event, known));
            }
        }
        psc.holds(|thread, index| {
            self.hb.clock_of_others(EventId {
                thread: ThreadId::new(thread as usize),
                index,
            })
        })
    }

    fn touch(&self, event: &Event, known: &[Coherence]) -> Touch {
        let writes = event.writes();
        let seq_cst = Strength::of_operation(&event.operation, writes).is_seq_cst();
        if let Operation::Fence { .. } = event.operation {
            return Touch {
                seq_cst,
                fence: true,
                ..Touch::default()
            };
        }
        let Some(location) = event.operation.location() else {
            return Touch::default();
        };
        let of = |one: &Accesses| {
            one.writes.contains(&event.id) || one.reads.iter().any(|&(read, _)| read == event.id)
        };
        let at = self.all.iter().position(of);
        // A location written once and never read has no constraints.
        let place = |write: EventId| match at {
            Some(at) => {
                let position = self.all[at].writes.iter().position(|&one| one == write);
                known[at].place(position.expect("it is written there"))
            }
            None => 1,
        };
        let reads = matches!(
            event.operation,
            Operation::Load { .. } | Operation::Update { .. }
        );
        Touch {
            location: Some(location.index() as u32),
            read: reads.then(|| event.source.map_or(0, place)),
            written: writes.then(|| place(event.id)),
            seq_cst,
            ..Touch::default()
        }
    }
}
