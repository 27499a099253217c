//! Every schedule with the steps that shuttle has.
//!
//! The operations by which raddle keeps account of tasks are not steps of shuttle's: a task that looks whether it was
//! aborted, notes its end and wakes the one that waits for it goes on without a choice. With these operations as steps
//! there would be too many schedules: two tasks that do nothing have 14 in shuttle.

use std::collections::BTreeSet;

use raddle::scheduler::{Choice, OperationKind, Thread, View};

/// Runs every schedule, in depth-first order.
#[derive(Default)]
pub(crate) struct EverySchedule {
    /// True for workers that run nothing, because one runs all.
    is_idle: bool,
    has_begun: bool,
    /// The alternative that was taken at each step, and the number of alternatives.
    taken: Vec<(usize, usize)>,
    steps: usize,
    /// Places where tasks were created, which stand for the operations that account for them.
    places: BTreeSet<usize>,
    /// Events that were searched for such places.
    seen: usize,
}

impl EverySchedule {
    pub(crate) fn new(is_idle: bool) -> Self {
        EverySchedule {
            is_idle,
            ..Self::default()
        }
    }

    /// True when the next operation of the thread is no step of shuttle's.
    fn is_accounting(&self, thread: &Thread<'_>) -> bool {
        let operation = thread.operation();
        match (operation.kind(), operation.label()) {
            (OperationKind::End, _) => true,
            (OperationKind::Spawn | OperationKind::Begin, _) | (_, "park") => false,
            (_, "unpark") => {
                let name = operation.target_name();
                name.is_some_and(|name| name == "Task" || name == "Waker")
            }
            _ => self.places.contains(&operation.site()),
        }
    }
}

impl raddle::Scheduler for EverySchedule {
    fn begin(&mut self) -> bool {
        self.steps = 0;
        self.seen = 0;
        if std::mem::replace(&mut self.has_begun, true) {
            while self
                .taken
                .pop_if(|(taken, all)| *taken + 1 == *all)
                .is_some()
            {}
            let Some((taken, _)) = self.taken.last_mut() else {
                return false;
            };
            *taken += 1;
        }
        !self.is_idle
    }

    fn choose(&mut self, view: &View<'_>) -> Choice {
        let events = view.events();
        for event in events.iter().skip(self.seen) {
            let operation = event.operation();
            if operation.kind() == OperationKind::Spawn {
                self.places.insert(operation.site());
            }
        }
        self.seen = events.len();
        let last = events.last().map(|event| event.thread());
        let mut enabled: Vec<_> = view.enabled().collect();
        if let Some(at) = enabled.iter().position(|it| Some(it.id()) == last)
            && self.is_accounting(&enabled[at])
        {
            enabled = vec![enabled.swap_remove(at)];
        }
        let outcomes = |thread: &Thread<'_>| thread.outcomes() as usize;
        if self.steps == self.taken.len() {
            self.taken.push((0, enabled.iter().map(outcomes).sum()));
        }
        let (mut taken, _) = self.taken[self.steps];
        self.steps += 1;
        for thread in &enabled {
            match taken.checked_sub(outcomes(thread)) {
                Some(rest) => taken = rest,
                None => return thread.with_outcome(taken as u32),
            }
        }
        panic!("possible nondeterminism: fewer tasks can run than in the last execution")
    }
}
