//! Binds the names of a schedule to the threads and things of the run.
//!
//! Names are bound on first use: a thread when it is created, a thing when an operation is first
//! performed on it. Numbers (`Mutex#2`) serve only to distinguish names, because one more mutex
//! changes them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::base::ids::ThreadId;
use crate::model::naming::{self, Thing};
use crate::model::operation::Operation;
use crate::model::schedule::ScheduleStep;
use crate::world::State;

/// The degree to which a step matches a pending operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// Does not match.
    No,
    /// Matches as far as is known; the schedule may not mention the thing.
    Perhaps,
    /// Matches.
    Yes,
}

#[derive(Debug, Default)]
pub(super) struct Bindings {
    /// Threads whose creation the schedule mentions.
    created: HashSet<Arc<str>>,
    threads: HashMap<Arc<str>, ThreadId>,
    things: HashMap<Arc<str>, Thing>,
    /// Things that are bound to a name.
    bound: HashSet<Thing>,
    /// Things that the schedule does not mention.
    unrelated: HashSet<Thing>,
}

impl Bindings {
    /// Creates bindings in which nothing is bound.
    pub(super) fn new(steps: &[ScheduleStep]) -> Self {
        let spawns = steps.iter().filter(|step| step.operation == "spawn");
        Bindings {
            created: spawns.flat_map(|step| step.things.clone()).collect(),
            ..Bindings::default()
        }
    }

    /// Returns the thread of this name, if it exists by now.
    pub(super) fn thread(&mut self, name: &Arc<str>, state: &State) -> Option<ThreadId> {
        if let Some(&thread) = self.threads.get(name) {
            return Some(thread);
        }
        if self.created.contains(name) {
            return None;
        }
        let execution = state.execution();
        let at_place = || execution.thread_at(&name.parse().ok()?);
        let named = || {
            let mut threads = execution.threads.iter();
            let index = threads.position(|info| info.name.as_deref() == Some(name))?;
            Some(ThreadId::new(index))
        };
        let thread = at_place().or_else(named)?;
        if self.threads.values().any(|&other| other == thread) {
            return None;
        }
        self.threads.insert(Arc::clone(name), thread);
        Some(thread)
    }

    /// True when the schedule mentions the creation of the thread.
    pub(super) fn will_be_created(&self, name: &Arc<str>) -> bool {
        self.created.contains(name)
    }

    /// Matches the thread's pending operation against the step.
    pub(super) fn fit(&self, step: &ScheduleStep, thread: ThreadId, state: &State) -> Fit {
        let operation = state.pending(thread);
        if step.operation != operation.label() {
            return Fit::No;
        }
        if matches!(operation, Operation::Spawn) {
            return Fit::Perhaps;
        }
        let things = naming::things(operation, state.execution());
        if things.len() != step.things.len() {
            return Fit::No;
        }
        if things.is_empty() {
            return match operation {
                Operation::Begin | Operation::End => Fit::Yes,
                _ => Fit::Perhaps,
            };
        }
        let fits = things.iter().zip(&step.things);
        fits.map(|(&thing, name)| self.fit_thing(thing, name, state))
            .min_by_key(|fit| *fit as u8)
            .unwrap_or(Fit::Yes)
    }

    fn fit_thing(&self, thing: Thing, name: &Arc<str>, state: &State) -> Fit {
        let yes_if = |yes| if yes { Fit::Yes } else { Fit::No };
        if let Thing::Thread(thread) = thing {
            return match self.threads.get(name) {
                Some(&bound) => yes_if(bound == thread),
                None if self.created.contains(name) => Fit::No,
                // Written by hand, without the creation of the thread.
                None => yes_if(*state.execution().path(thread).to_string() == **name),
            };
        }
        match self.things.get(name) {
            Some(&bound) => yes_if(bound == thing),
            None if self.bound.contains(&thing) || self.unrelated.contains(&thing) => Fit::No,
            None if naming::may_be_called(thing, name, state.execution()) => Fit::Perhaps,
            None => Fit::No,
        }
    }

    /// True when the thread's pending operation uses a thing that the schedule mentions, or that
    /// may be the one of the step.
    pub(super) fn is_related(&self, step: &ScheduleStep, thread: ThreadId, state: &State) -> bool {
        let execution = state.execution();
        let things = naming::things(state.pending(thread), execution);
        things.into_iter().any(|thing| match thing {
            Thing::Thread(thread) => self.threads.values().any(|bound| *bound == thread),
            thing if self.bound.contains(&thing) => true,
            thing => {
                let mut free = step
                    .things
                    .iter()
                    .filter(|name| !self.things.contains_key(*name));
                free.any(|name| naming::may_be_called(thing, name, execution))
            }
        })
    }

    /// Binds the names of the step to the thread's pending operation.
    pub(super) fn bind(&mut self, step: &ScheduleStep, thread: ThreadId, state: &State) {
        let execution = state.execution();
        if let (Operation::Spawn, [name]) = (state.pending(thread), &*step.things) {
            let created = ThreadId::new(execution.threads.len());
            self.threads.insert(Arc::clone(name), created);
            return;
        }
        let things = naming::things(state.pending(thread), execution);
        for (thing, name) in things.into_iter().zip(&step.things) {
            if !matches!(thing, Thing::Thread(_)) && self.bound.insert(thing) {
                self.things.insert(Arc::clone(name), thing);
            }
        }
    }

    /// Records that the schedule does not mention the things of the thread's pending operation.
    pub(super) fn pass_over(&mut self, thread: ThreadId, state: &State) {
        let things = naming::things(state.pending(thread), state.execution());
        let free = things
            .into_iter()
            .filter(|thing| !self.bound.contains(thing));
        self.unrelated.extend(free);
    }
}
