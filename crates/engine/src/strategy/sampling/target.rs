//! One location or object of the program, recognised across executions.
//!
//! Locations and objects are numbered by first use, which depends on the schedule. The order in
//! which one thread first uses things depends on it less. So a target is described by that order,
//! for every thread that used it in the execution in which it was picked.

use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// A location or an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Thing(usize);

impl Thing {
    /// Returns the thing that the operation uses.
    #[inline]
    pub(crate) fn of(operation: &Operation) -> Option<Thing> {
        match operation.object() {
            Some(object) => Some(Thing(2 * object.index() + 1)),
            None => (operation.location()).map(|location| Thing(2 * location.index())),
        }
    }

    /// Returns a number that no other thing of the execution has.
    pub(crate) fn index(self) -> usize {
        self.0
    }

    /// True when the operation uses it.
    pub(crate) fn is_used_by(self, operation: &Operation) -> bool {
        Thing::of(operation) == Some(self)
    }
}

/// Uses of a location or an object.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// Bit set of the threads that use it, modulo 64.
    by: u64,
    times: u32,
    /// True when it is used where it counts.
    counts: bool,
}

/// Uses of the current execution, and the target.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    /// By position in the spawn tree: ordinal of the target, from 0, among the things that the
    /// thread comes to use.
    ordinals: Vec<Option<u32>>,
    /// The target in this execution, once a thread is about to use it.
    found: Option<Thing>,
    /// By thing.
    uses: Vec<Use>,
    /// By thread: number of different things used.
    used: Vec<u32>,
}

impl Target {
    /// Starts an execution.
    pub(crate) fn begin(&mut self) {
        self.found = None;
        self.clear();
    }

    fn clear(&mut self) {
        self.uses.clear();
        self.used.clear();
    }

    /// Returns the target in this execution, once a thread is about to use it.
    #[inline]
    pub(crate) fn found(&self) -> Option<Thing> {
        self.found
    }

    /// True when the thread at this position uses the target with this operation.
    #[inline]
    pub(crate) fn is_used(
        &mut self,
        thread: ThreadId,
        place: usize,
        operation: &Operation,
    ) -> bool {
        let Some(thing) = Thing::of(operation) else {
            return false;
        };
        if let Some(found) = self.found {
            return found == thing;
        }
        let Some(&Some(ordinal)) = self.ordinals.get(place) else {
            return false;
        };
        let used = self.used.get(thread.index()).copied().unwrap_or(0);
        let is_it = used == ordinal && !self.has_used(thread, thing);
        if is_it {
            self.found = Some(thing);
        }
        is_it
    }

    fn has_used(&self, thread: ThreadId, thing: Thing) -> bool {
        let uses = self.uses.get(thing.0);
        uses.is_some_and(|uses| uses.by & bit(thread) != 0)
    }

    /// Records that the thread performs the operation.
    #[inline]
    pub(crate) fn performs(&mut self, thread: ThreadId, operation: &Operation) {
        if self.found.is_none()
            && let Some(thing) = Thing::of(operation)
        {
            self.note(thread, thing);
        }
    }

    /// Returns the ordinal of the thing among those that the thread uses, if it is new to it.
    fn note(&mut self, thread: ThreadId, thing: Thing) -> Option<u32> {
        if self.uses.len() <= thing.0 {
            self.uses.resize(thing.0 + 1, Use::default());
        }
        if self.used.len() <= thread.index() {
            self.used.resize(thread.index() + 1, 0);
        }
        let uses = &mut self.uses[thing.0];
        let is_new = uses.by & bit(thread) == 0;
        uses.by |= bit(thread);
        uses.times += 1;
        let used = &mut self.used[thread.index()];
        *used += u32::from(is_new);
        is_new.then(|| *used - 1)
    }

    /// Picks a thing used by several threads, and by an event that counts, with a probability
    /// proportional to its uses; returns its identity in this execution.
    pub(crate) fn pick(
        &mut self,
        rng: &mut Rng,
        execution: &Execution,
        place: impl Fn(ThreadId) -> usize,
        mut counts: impl FnMut(&Event) -> bool,
    ) -> Option<Thing> {
        let uses = |event: &Event| Thing::of(&event.operation).map(|it| (event.id.thread, it));
        self.ordinals.clear();
        self.clear();
        for event in &execution.events {
            if let Some((thread, thing)) = uses(event) {
                self.note(thread, thing);
                let uses = &mut self.uses[thing.0];
                uses.counts = uses.counts || counts(event);
            }
        }
        let times = |uses: &Use| match uses.by.count_ones() {
            0 | 1 => 0,
            _ if !uses.counts => 0,
            _ => u64::from(uses.times),
        };
        let all: u64 = self.uses.iter().map(times).sum();
        if all == 0 {
            return None;
        }
        let mut left = rng.below(all as usize) as u64;
        let chosen = self.uses.iter().position(|uses| {
            let times = times(uses);
            let is_it = left < times;
            left = left.saturating_sub(times);
            is_it
        });
        let chosen = chosen.map(Thing)?;
        self.clear();
        for (thread, thing) in execution.events.iter().filter_map(uses) {
            if let Some(ordinal) = self.note(thread, thing)
                && thing == chosen
            {
                let place = place(thread);
                if self.ordinals.len() <= place {
                    self.ordinals.resize(place + 1, None);
                }
                self.ordinals[place] = Some(ordinal);
            }
        }
        Some(chosen)
    }
}

fn bit(thread: ThreadId) -> u64 {
    1 << (thread.index() % 64)
}
