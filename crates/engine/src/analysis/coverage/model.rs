//! Thread model of an execution: actions, the locks held, and the order that holds in all
//! executions.
//!
//! Each action has the locks that its thread held when it began, each with the number of its
//! acquisition: the same number at two actions means that the lock was not released in between. Two
//! actions are ordered in *all* executions if program order, spawns and joins order them
//! transitively. A wait on a condition variable releases its lock, so no lock guards across a wait;
//! a notification orders nothing in all executions.

use std::ops::Range;

use crate::base::ids::{EventId, ObjectId, SiteId, ThreadId};
use crate::memory::clock::join;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::{Operation, UpdateKind};
use crate::object::effect::{Effect, Mode};
use crate::object::{Call, condvar};

/// Kind of action.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ActionKind {
    /// Takes a lock.
    Hold { mode: Mode, waits: bool },
    /// Reads, writes or both; `always` if it writes for every value read.
    Access {
        reads: bool,
        writes: bool,
        always: bool,
    },
    /// Notifies.
    Notify,
    /// Wakes up, having waited since that event of its thread.
    Wake { since: u32 },
}

/// One action of a thread.
#[derive(Clone, Debug)]
pub(super) struct Action {
    pub(super) id: EventId,
    pub(super) site: SiteId,
    pub(super) kind: ActionKind,
    /// Range in `Model::guards`.
    held: Range<usize>,
    /// Index in `Model::clocks`.
    epoch: usize,
    /// Of a hold: the releasing event, and the locks held then.
    released: Option<(EventId, Range<usize>)>,
}

/// A held lock.
#[derive(Clone, Copy, Debug)]
struct Guard {
    object: ObjectId,
    mode: Mode,
    acquisition: usize,
}

/// The actions of an execution.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) actions: Vec<Action>,
    guards: Vec<Guard>,
    /// Clocks: the number of events of each thread that precede in all executions.
    clocks: Vec<Vec<u32>>,
    /// Spawns of threads that have not begun, with their clocks.
    births: Vec<(EventId, Vec<u32>)>,
    /// Actions by lock, by location and by condition variable.
    pub(super) locks: Vec<Vec<usize>>,
    pub(super) locations: Vec<Vec<usize>>,
    /// Source locations at which locations were created.
    pub(super) made: Vec<Option<SiteId>>,
    pub(super) condvars: Vec<Vec<usize>>,
}

/// State of a thread while the model is built.
#[derive(Clone, Default)]
struct Builder {
    clock: Vec<u32>,
    epoch: usize,
    held: Vec<(Guard, Option<usize>)>,
    waits_since: u32,
}

impl Model {
    pub(super) fn of(execution: &Execution) -> Self {
        let threads = execution.threads.len();
        let mut model = Model {
            locks: vec![Vec::new(); execution.objects.len()],
            condvars: vec![Vec::new(); execution.objects.len()],
            locations: vec![Vec::new(); execution.locations.len()],
            made: execution.locations.iter().map(|it| it.made).collect(),
            ..Model::default()
        };
        let mut builders = vec![Builder::default(); threads];
        for event in &execution.events {
            model.add(event, &mut builders);
        }
        model
    }

    fn add(&mut self, event: &Event, builders: &mut [Builder]) {
        let thread = event.id.thread.index();
        match event.operation {
            Operation::Begin => {
                let mut births = self.births.iter();
                let birth = births.position(|(id, _)| Some(*id) == event.source);
                let known = birth.map_or(Vec::new(), |birth| self.births.swap_remove(birth).1);
                self.learn(&known, thread, builders);
            }
            Operation::Join { target } => {
                let known = builders[target.index()].clock.clone();
                self.learn(&known, thread, builders);
            }
            _ => {}
        }
        let builder = &mut builders[thread];
        builder.clock[thread] = event.id.index + 1;
        if event.operation == Operation::Spawn {
            self.births.push((event.id, builder.clock.clone()));
        }
        if let Some((object, effect)) = event.lock_effect() {
            self.lock(event, object, effect, builder);
        } else if let Some(kind) = access(event)
            && let Some(location) = event.operation.location()
        {
            let action = self.push(event, kind, builder);
            self.locations[location.index()].push(action);
        } else if let Operation::Call {
            object,
            call: Call::Condvar(call),
        } = event.operation
        {
            let kind = match call {
                condvar::Call::Wait { .. } => {
                    builder.waits_since = event.id.index;
                    return;
                }
                condvar::Call::Wake { .. } => ActionKind::Wake {
                    since: builder.waits_since,
                },
                condvar::Call::NotifyOne | condvar::Call::NotifyAll => ActionKind::Notify,
            };
            let action = self.push(event, kind, builder);
            self.condvars[object.index()].push(action);
        }
    }

    /// Joins a clock into that of the thread, at its begin or after a join.
    fn learn(&mut self, known: &[u32], thread: usize, builders: &mut [Builder]) {
        let threads = builders.len();
        let builder = &mut builders[thread];
        builder.clock.resize(threads, 0);
        join(&mut builder.clock, known);
        builder.epoch = self.clocks.len();
        self.clocks.push(builder.clock.clone());
    }

    fn push(&mut self, event: &Event, kind: ActionKind, builder: &Builder) -> usize {
        let held = self.snapshot(builder);
        self.actions.push(Action {
            id: event.id,
            site: event.site,
            kind,
            held,
            epoch: builder.epoch,
            released: None,
        });
        self.actions.len() - 1
    }

    fn snapshot(&mut self, builder: &Builder) -> Range<usize> {
        let start = self.guards.len();
        self.guards
            .extend(builder.held.iter().map(|(guard, _)| *guard));
        start..self.guards.len()
    }

    fn lock(&mut self, event: &Event, object: ObjectId, effect: Effect, builder: &mut Builder) {
        let mine = |(guard, _): &(Guard, Option<usize>)| guard.object == object;
        match effect {
            Effect::Take { mode, waits } => {
                let action = self.push(event, ActionKind::Hold { mode, waits }, builder);
                self.locks[object.index()].push(action);
                let guard = Guard {
                    object,
                    mode,
                    acquisition: action,
                };
                builder.held.push((guard, Some(action)));
            }
            Effect::Release => {
                if let Some(one) = builder.held.iter().rposition(mine) {
                    let (_, action) = builder.held.remove(one);
                    let held = self.snapshot(builder);
                    if let Some(action) = action {
                        self.actions[action].released = Some((event.id, held));
                    }
                }
            }
            Effect::Downgrade => {
                if let Some((guard, _)) = builder.held.iter_mut().find(|held| mine(held)) {
                    guard.mode = Mode::Read;
                }
            }
        }
    }

    /// True when the first precedes the second in all executions.
    pub(super) fn precedes(&self, first: EventId, second: &Action) -> bool {
        if first.thread == second.id.thread {
            return first.index < second.id.index;
        }
        self.knows(second, first.thread) > first.index
    }

    fn knows(&self, action: &Action, thread: ThreadId) -> u32 {
        self.clocks[action.epoch]
            .get(thread.index())
            .copied()
            .unwrap_or(0)
    }

    /// True when a lock is held without interruption from the first action to the second, and is
    /// also held when the other begins: the other cannot come in between.
    pub(super) fn shut_out(&self, first: usize, second: usize, other: usize) -> bool {
        self.shuts_out(
            self.actions[first].held.clone(),
            self.actions[second].held.clone(),
            other,
        )
    }

    /// True when a lock held from a hold to its release keeps the other action from coming in
    /// between.
    pub(super) fn shut_out_of_section(&self, hold: usize, other: usize) -> bool {
        let hold = &self.actions[hold];
        hold.released
            .as_ref()
            .is_some_and(|(_, held)| self.shuts_out(hold.held.clone(), held.clone(), other))
    }

    /// Returns the event that released the lock that the action took.
    pub(super) fn release(&self, hold: usize) -> Option<EventId> {
        let released = self.actions[hold].released.as_ref();
        released.map(|(id, _)| *id)
    }

    fn shuts_out(&self, first: Range<usize>, second: Range<usize>, other: usize) -> bool {
        let others = &self.guards[self.actions[other].held.clone()];
        let (first, second) = (&self.guards[first], &self.guards[second]);
        first.iter().any(|guard| {
            let same = |later: &&Guard| later.acquisition == guard.acquisition;
            let Some(later) = second.iter().find(same) else {
                return false;
            };
            let mode = match later.mode {
                Mode::Read => Mode::Read,
                Mode::Write => guard.mode,
            };
            let conflicts =
                |other: &Guard| other.object == guard.object && !other.mode.goes_with(mode);
            others.iter().any(conflicts)
        })
    }
}

fn access(event: &Event) -> Option<ActionKind> {
    let (reads, always) = match event.operation {
        Operation::Load { .. } => (true, false),
        Operation::Store { .. } | Operation::HangUp { .. } => (false, true),
        Operation::Update { update, .. } => {
            let may_fail = matches!(update.kind, UpdateKind::CompareExchange { .. });
            (true, !may_fail)
        }
        _ => return None,
    };
    Some(ActionKind::Access {
        reads,
        writes: event.writes(),
        always,
    })
}
