//! Replay: the execution that a schedule describes.
//!
//! The steps are followed in order. An operation that the schedule does not mention is new in the
//! program: its thread performs it as soon as it can, before the next operation that the schedule
//! mentions. After the end of the schedule each thread runs as far as it can.
//!
//! It may be unclear at first whether an operation is the one of a step or a new one of the same
//! name. The replay first takes it for the step. If the schedule does not fit then, or the changed
//! program does not fail, it runs again and takes one such operation for a new one, then two. If it
//! never fits, the last run follows the attempt that got furthest and stops where the program
//! differs.

mod bindings;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::analysis::check;
use crate::base::ids::ThreadId;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending, Record};
use crate::model::execution::Execution;
use crate::model::naming::Names;
use crate::model::operation::Operation;
use crate::model::schedule::{Schedule, ScheduleStep};
use crate::world::State;
use crate::world::strategy::{Progress, Repeat, Strategy};
use bindings::{Bindings, Fit};

/// Maximum number of runs; the number of combinations of new operations is exponential.
const MAX_ATTEMPTS: usize = 200;
/// Operations after which a thread is assumed never to reach its next step of the schedule.
const MAX_PASSED_OVER: usize = 1_000;

/// One execution along a schedule.
#[derive(Debug)]
pub struct Replay {
    steps: Vec<ScheduleStep>,
    /// By thread: the positions of its steps.
    of_thread: HashMap<Arc<str>, Vec<usize>>,
    /// The threads that the schedule mentions.
    names: Vec<Arc<str>>,
    attempt: Attempt,
    /// Attempts to make, each given by the operations that it takes for new.
    waiting: VecDeque<Vec<usize>>,
    attempts: usize,
    /// The attempt that got furthest, and its length.
    best: Option<(usize, Vec<usize>)>,
    retries: bool,
    over: bool,
}

/// One run.
#[derive(Debug, Default)]
struct Attempt {
    position: usize,
    bindings: Bindings,
    /// By thread of the schedule: number of its steps taken.
    taken: HashMap<Arc<str>, usize>,
    /// Indexes of the ambiguous operations that are taken for new.
    new: Vec<usize>,
    questions: usize,
    /// True when the program performed an operation that the schedule does not mention.
    differs: bool,
    /// The operation that the thread of the next step performed instead.
    instead: Option<Operation>,
    passed_over: usize,
    /// The step at which the run stops and reports the difference.
    stops_at: Option<usize>,
}

/// The action for the next step.
enum Next {
    Run(Choice),
    /// The thread performs this instead; `None` if it has ended.
    Differs(Option<Operation>),
}

impl Replay {
    /// Creates a replay of this schedule.
    pub fn new(schedule: Schedule) -> Self {
        let mut of_thread: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
        for (position, step) in schedule.steps.iter().enumerate() {
            let steps = of_thread.entry(Arc::clone(&step.thread)).or_default();
            steps.push(position);
        }
        Replay {
            steps: schedule.steps,
            names: of_thread.keys().cloned().collect(),
            of_thread,
            attempt: Attempt::default(),
            waiting: VecDeque::from([Vec::new()]),
            attempts: 0,
            best: None,
            retries: false,
            over: false,
        }
    }

    /// Returns the positions of the thread's remaining steps.
    fn to_come(&self, name: &Arc<str>) -> &[usize] {
        let taken = self.attempt.taken.get(name).copied().unwrap_or(0);
        self.of_thread.get(name).map_or(&[], |all| &all[taken..])
    }

    fn fit(&self, position: usize, thread: ThreadId, state: &State) -> Fit {
        let step = &self.steps[position];
        self.attempt.bindings.fit(step, thread, state)
    }

    /// Returns a thread that can perform an unmentioned operation before its next step.
    fn ahead(&mut self, state: &State) -> Option<ThreadId> {
        let names = std::mem::take(&mut self.names);
        let mut found: Option<ThreadId> = None;
        for name in &names {
            let Some(thread) = self.attempt.bindings.thread(name, state) else {
                continue;
            };
            let first = found.is_none_or(|found| thread < found);
            if first && state.is_enabled(thread) && self.is_ahead(name, thread, state) {
                found = Some(thread);
            }
        }
        self.names = names;
        found
    }

    /// True when the thread's pending operation precedes its next step and is none of its steps.
    fn is_ahead(&self, name: &Arc<str>, thread: ThreadId, state: &State) -> bool {
        let Some((&next, later)) = self.to_come(name).split_first() else {
            return false;
        };
        // The reported difference is reached when it is the thread's turn.
        self.attempt.stops_at != Some(next)
            && !is_end(state.pending(thread))
            && self.fit(next, thread, state) == Fit::No
            && later
                .iter()
                .all(|&step| self.fit(step, thread, state) != Fit::Yes)
    }

    /// Returns a thread whose pending operation no step mentions, to unblock a waiting thread.
    fn helper(&mut self, state: &State) -> Option<ThreadId> {
        let names = self.names.clone();
        let mut enabled = state.enabled().to_vec();
        enabled.sort_unstable();
        enabled.into_iter().find(|&thread| {
            let is = |name: &&Arc<str>| self.attempt.bindings.thread(name, state) == Some(thread);
            let steps = names
                .iter()
                .find(is)
                .map_or(&[][..], |name| self.to_come(name));
            // The end of the last thread ends the execution, and no further step can come.
            let is_last = || live_threads(state) == 1;
            let ends = is_end(state.pending(thread)) && (!steps.is_empty() || is_last());
            let mut fits = steps.iter().map(|&step| self.fit(step, thread, state));
            !ends && fits.all(|fit| fit == Fit::No)
        })
    }

    fn next(&mut self, state: &State) -> Next {
        if let Some(thread) = self.ahead(state) {
            self.attempt.differs = true;
            return Next::Run(Choice::run(thread));
        }
        let Some(step) = self.steps.get(self.attempt.position).cloned() else {
            self.attempt.differs = true;
            return Next::Run(Choice::run(last_enabled_thread(state)));
        };
        let thread = self.attempt.bindings.thread(&step.thread, state);
        // Written by hand, without the creation of the thread.
        if thread.is_none()
            && !self.attempt.bindings.will_be_created(&step.thread)
            && let Some(helper) = self.helper(state)
        {
            self.attempt.differs = true;
            return Next::Run(Choice::run(helper));
        }
        let Some(thread) = thread.filter(|&thread| !state.has_ended(thread)) else {
            return Next::Differs(self.attempt.instead);
        };
        let fit = self.attempt.bindings.fit(&step, thread, state);
        let enabled = state.is_enabled(thread);
        if fit != Fit::No && enabled {
            let possible = state.may_replay(thread, step.outcome);
            if !possible && fit == Fit::Yes {
                return Next::Differs(Some(*state.pending(thread)));
            }
            if possible && !(fit == Fit::Perhaps && self.attempt.is_new()) {
                self.attempt.take(&step, thread, state);
                if is_end(state.pending(thread)) && self.is_too_long(state) {
                    return Next::Differs(None);
                }
                return Next::Run(Choice {
                    thread,
                    outcome: step.outcome,
                });
            }
            self.attempt.bindings.pass_over(thread, state);
        }
        self.attempt.differs = true;
        if !enabled {
            return match self.helper(state) {
                Some(helper) => Next::Run(Choice::run(helper)),
                None => Next::Differs(Some(*state.pending(thread))),
            };
        }
        self.pass_over(&step, thread, state)
    }

    /// True when steps are left although the last thread ends.
    fn is_too_long(&self, state: &State) -> bool {
        live_threads(state) == 1 && self.attempt.position < self.steps.len()
    }

    /// Handles an operation that differs from the step.
    fn pass_over(&mut self, step: &ScheduleStep, thread: ThreadId, state: &State) -> Next {
        let attempt = &mut self.attempt;
        let found = *state.pending(thread);
        let related = attempt.bindings.is_related(step, thread, state);
        if related || attempt.instead.is_none() {
            attempt.instead = Some(found);
        }
        attempt.passed_over += 1;
        let stops = attempt.stops_at == Some(attempt.position) && related;
        let ends = is_end(&found) && step.operation != "end";
        if stops || ends || attempt.passed_over > MAX_PASSED_OVER {
            return Next::Differs(match ends && !stops {
                true => attempt.instead.filter(|it| !is_end(it)),
                false => Some(found),
            });
        }
        Next::Run(Choice::run(thread))
    }

    /// Records how far the attempt got, and the attempts to try next.
    fn give_up(&mut self, reached: usize) {
        let attempt = &self.attempt;
        if self.best.as_ref().is_none_or(|(best, _)| reached > *best) {
            self.best = Some((reached, attempt.new.clone()));
        }
        let first = attempt.new.last().map_or(0, |last| last + 1);
        for question in first..attempt.questions {
            if self.attempts + self.waiting.len() >= MAX_ATTEMPTS {
                break;
            }
            let mut new = attempt.new.clone();
            new.push(question);
            self.waiting.push_back(new);
        }
        self.retries = true;
    }
}

impl Attempt {
    /// Resolves the next ambiguous operation; true when it is taken for new.
    fn is_new(&mut self) -> bool {
        self.questions += 1;
        self.new.contains(&(self.questions - 1))
    }

    fn take(&mut self, step: &ScheduleStep, thread: ThreadId, state: &State) {
        self.bindings.bind(step, thread, state);
        *self.taken.entry(Arc::clone(&step.thread)).or_default() += 1;
        self.position += 1;
        self.instead = None;
        self.passed_over = 0;
    }
}

/// Returns the last thread while it is enabled, else the first enabled one.
fn last_enabled_thread(state: &State) -> ThreadId {
    let last = state.execution().events.last().map(|event| event.id.thread);
    let first = state.enabled().iter().min().copied();
    let last = last.filter(|&thread| state.is_enabled(thread));
    last.or(first).expect("some thread is enabled")
}

fn live_threads(state: &State) -> usize {
    let threads = (0..state.execution().threads.len()).map(ThreadId::new);
    threads.filter(|&thread| !state.has_ended(thread)).count()
}

fn is_end(operation: &Operation) -> bool {
    matches!(operation, Operation::End)
}

/// Describes a pending operation.
fn in_words(operation: &Operation, execution: &Execution) -> String {
    let mut words = vec![Arc::from(operation.label())];
    words.extend(Names::of(execution).of_operation(operation, execution));
    words.join(" ")
}

impl Strategy for Replay {
    fn begin(&mut self) -> bool {
        self.retries = false;
        let (new, stops_at) = match (self.waiting.pop_front(), self.best.take()) {
            _ if self.over => return false,
            (Some(new), best) => {
                self.best = best;
                (new, None)
            }
            (None, Some((reached, new))) => {
                self.over = true;
                (new, Some(reached))
            }
            (None, None) => return false,
        };
        self.attempts += 1;
        self.attempt = Attempt {
            bindings: Bindings::new(&self.steps),
            new,
            stops_at,
            ..Attempt::default()
        };
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let found = match self.next(state) {
            Next::Run(choice) => return Ok(choice),
            Next::Differs(found) => found,
        };
        let position = self.attempt.position;
        let step = &self.steps[position];
        let divergence = Divergence {
            from: Record::Schedule,
            after: position,
            thread: step.thread.to_string(),
            expected: step.to_string(),
            found: found.map(|operation| in_words(&operation, state.execution())),
            expected_at: None,
            pending: None,
            found_at: None,
        };
        if !self.over {
            self.give_up(position);
        }
        Err(Box::new(divergence))
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        if self.over || self.retries {
            return;
        }
        let well = check::check(execution, ending, usize::MAX).is_none();
        let undecided = self.attempt.differs && *ending == Ending::Complete && well;
        if undecided {
            self.give_up(usize::MAX);
        } else {
            self.over = true;
        }
    }

    /// The loop may have looked different in the build that the schedule comes from.
    fn repeats(&mut self, state: &State, thread: ThreadId) -> Repeat {
        let names = std::mem::take(&mut self.names);
        let is = |name: &&Arc<str>| self.attempt.bindings.thread(name, state) == Some(thread);
        let name = names.iter().find(is).cloned();
        self.names = names;
        match name.is_some_and(|name| !self.to_come(&name).is_empty()) {
            true => Repeat::GoOn,
            false => Repeat::Wait,
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            is_attempt: self.retries,
            ..Progress::default()
        }
    }
}
