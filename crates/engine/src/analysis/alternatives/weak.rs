//! The same where threads may see different things.
//!
//! What happens before what follows from who reads what and never from the order of writes. So for
//! each location some of that order is known: no event may see or write what is older than something
//! that is known to its thread, and nothing comes between an update and what it has read. Without
//! `SeqCst` any order that fits will do.

use std::collections::HashMap;

use super::trial::{Accesses, TRIES, Trial};
use super::work::Work;
use crate::base::ids::{EventId, ThreadId};
use crate::memory::Strength;
use crate::memory::psc::{Psc, Touch};
use crate::memory::views::Views;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// Whether the events of the trial are possible.
pub(super) fn is_possible(trial: &Trial<'_>, work: &Work) -> bool {
    let mut execution = Execution::default();
    execution.events.extend(trial.events());
    execution.threads.clone_from(&trial.execution.threads);
    execution.objects.clone_from(&trial.execution.objects);
    execution.locations.clone_from(&trial.execution.locations);
    execution.port_lists.clone_from(&trial.execution.port_lists);
    let views = Views::of(&execution);
    let before = |first: EventId, second: EventId| {
        first != second && views.clock(second)[first.thread.index()] > first.index
    };
    let is_strong = |event: &Event| {
        let ordering = event.operation.ordering();
        ordering.is_some_and(|ordering| Strength::of(ordering).is_seq_cst())
    };
    let has_strong = execution.events.iter().any(is_strong);
    let mut all = trial.accesses();
    // Nobody depends on the receive, so elsewhere everything is as it was.
    let is_here = |one: &Accesses| {
        let mut reads = one.reads.iter();
        reads.any(|&(read, _)| read == trial.receive.id)
    };
    all.retain(|one| has_strong || is_here(one));
    let pairs = |one: &Accesses| (one.reads.len() + one.writes.len()).pow(2);
    let pairs: usize = all.iter().map(pairs).sum();
    if !work.spend(4 * pairs + 64 * execution.events.len()) {
        return false;
    }
    let known = all.iter().map(|one| Coherence::of(one, &before));
    let Some(known) = known.collect::<Option<Vec<Coherence>>>() else {
        return false;
    };
    if !has_strong {
        return true;
    }
    let search = Search {
        execution: &execution,
        views: &views,
        all: &all,
        work,
    };
    search.finds(known, &mut TRIES.clone())
}

/// What is known of the order of the writes to one location.
#[derive(Clone)]
struct Coherence {
    after: Rows,
    /// Updates that write, with the position of what they have read.
    updates: Vec<(usize, Option<usize>)>,
}

/// Which writes come after which, by position: a row of bits for each.
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

    /// Whether that is news.
    fn add(&mut self, first: usize, second: usize) -> bool {
        let is_new = !self.has(first, second);
        self.bits[first * self.width + second / 64] |= 1 << (second % 64);
        is_new
    }

    /// What comes after what comes after something, comes after it.
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
        // What an event shows of the order: the place it writes, or the one it reads.
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

    /// Adds all that follows; `false` if it contradicts itself.
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

    fn undecided(&self) -> Option<(usize, usize)> {
        let count = self.after.count;
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        let mut free = pairs.filter(|&(a, b)| !self.after.has(a, b) && !self.after.has(b, a));
        free.next()
    }

    /// Where a write stands, counted from 1.
    fn place(&self, write: usize) -> u32 {
        let before = (0..self.after.count).filter(|&other| self.after.has(other, write));
        before.count() as u32 + 1
    }
}

/// Looks for an order of all writes that `SeqCst` allows.
struct Search<'a> {
    execution: &'a Execution,
    views: &'a Views,
    all: &'a [Accesses],
    work: &'a Work,
}

impl Search<'_> {
    fn finds(&self, known: Vec<Coherence>, tries: &mut u32) -> bool {
        if *tries == 0 || !self.work.spend(self.execution.events.len().pow(2)) {
            return false;
        }
        *tries -= 1;
        let free = known.iter().enumerate();
        let mut free = free.filter_map(|(at, one)| Some((at, one.undecided()?)));
        let Some((location, (a, b))) = free.next() else {
            return self.holds(&known);
        };
        [(a, b), (b, a)].into_iter().any(|(first, second)| {
            let mut known = known.clone();
            known[location].after.add(first, second);
            known[location].follow() && self.finds(known, tries)
        })
    }

    /// Whether what `SeqCst` asks holds.
    fn holds(&self, known: &[Coherence]) -> bool {
        let mut psc = Psc::default();
        for thread in 0..self.execution.threads.len() {
            psc.begin_thread();
            let own = |event: &&Event| event.id.thread.index() == thread;
            for event in self.execution.events.iter().filter(own) {
                psc.add(self.touch(event, known));
            }
        }
        psc.holds(|thread, index| {
            self.views.clock(EventId {
                thread: ThreadId::new(thread as usize),
                index,
            })
        })
    }

    fn touch(&self, event: &Event, known: &[Coherence]) -> Touch {
        let strong = |ordering| Strength::of(ordering).is_seq_cst();
        if let Operation::Fence { ordering } = event.operation {
            return Touch {
                seq_cst: strong(ordering),
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
        // What is written once and never read concerns nobody.
        let place = |write: EventId| match at {
            Some(at) => {
                let position = self.all[at].writes.iter().position(|&one| one == write);
                known[at].place(position.expect("it is written there"))
            }
            None => 1,
        };
        let writes = event.writes();
        let reads = matches!(
            event.operation,
            Operation::Load { .. } | Operation::Update { .. }
        );
        let ordering = match event.operation {
            Operation::Update { failure, .. } if !writes => Some(failure),
            operation => operation.ordering(),
        };
        Touch {
            location: Some(location.index() as u32),
            read: reads.then(|| event.source.map_or(0, place)),
            written: writes.then(|| place(event.id)),
            seq_cst: ordering.is_some_and(strong),
            fence: false,
        }
    }
}
