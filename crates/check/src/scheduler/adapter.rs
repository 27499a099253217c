//! A user's scheduler as a strategy of the engine.
//!
//! The scheduler is called in the middle of an operation of the program under test, on the stack of
//! the thread that performs it. So it runs [outside] the check, and a panic or a choice that cannot
//! be made stops the execution; the worker then panics where the check was started.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use raddle_engine::strategy::{self, Strategy};
use raddle_engine::{Divergence, Ending, Execution, Operation, Outcome, Record, State, ThreadId};

use super::{Capabilities, Choice, Finished, Scheduler, Schedulers, View};
use crate::runtime::{Places, outside, panic_message};

/// Runs a scheduler as a strategy.
pub(crate) struct Adapter {
    name: &'static str,
    scheduler: Box<dyn Scheduler>,
    /// As the scheduler declared them for this execution.
    declared: Capabilities,
    places: Arc<Places>,
    enabled: Vec<ThreadId>,
}

impl Adapter {
    /// Makes the scheduler of a worker.
    pub(crate) fn new(
        schedulers: &Schedulers,
        seed: u64,
        worker: usize,
        places: Arc<Places>,
    ) -> Self {
        let scheduler = schedulers.make(seed, worker);
        Adapter {
            name: schedulers.name(),
            declared: scheduler.capabilities(),
            scheduler,
            places,
            enabled: Vec::new(),
        }
    }

    /// Translates a choice; the error is the reason why it cannot be made.
    fn translate(&self, state: &State, choice: Choice) -> Result<strategy::Choice, String> {
        let Choice { thread, outcome } = choice;
        let threads = &state.execution().threads;
        let problem = match threads.get(thread.index()) {
            Some(_) if state.is_enabled(thread) => {
                let possible = match *state.pending(thread) {
                    // Every alternative is possible, and there may be millions.
                    Operation::Choose { alternatives } => {
                        let outcome = Outcome::nth(outcome);
                        (choice.outcome < alternatives)
                            .then_some(strategy::Choice { thread, outcome })
                    }
                    _ => state.choices(thread).nth(outcome as usize),
                };
                match possible {
                    Some(choice) => return Ok(choice),
                    None => {
                        let outcomes = match *state.pending(thread) {
                            Operation::Choose { alternatives } => alternatives as usize,
                            _ => state.choices(thread).count(),
                        };
                        let operation = state.pending(thread).label();
                        let path = state.execution().path(thread);
                        format!(
                            "outcome {outcome} of `{operation}` of thread {path}, which has \
                             outcomes 0 to {}",
                            outcomes - 1
                        )
                    }
                }
            }
            Some(info) => {
                let has = match info.end {
                    Some(_) => "has ended",
                    None => "is blocked",
                };
                let path = state.execution().path(thread);
                format!("thread {path}, which {has}")
            }
            None => format!("thread number {}, which does not exist", thread.index()),
        };
        let view = View::new(state, &self.enabled, &self.places);
        let enabled: Vec<String> = view.enabled().map(|it| format!("\n  {it:?}")).collect();
        Err(format!(
            "the scheduler {} chose {problem}\nafter {} events; enabled are:{}",
            self.name,
            state.execution().events.len(),
            enabled.concat()
        ))
    }
}

/// Stops the execution because of the scheduler.
fn stop(state: &State, from: Record, problem: String) -> Box<Divergence> {
    Box::new(Divergence {
        from,
        after: state.execution().events.len(),
        thread: String::new(),
        expected: problem,
        expected_at: None,
        found: None,
        pending: None,
        found_at: None,
    })
}

impl Strategy for Adapter {
    fn begin(&mut self) -> bool {
        let begins = self.scheduler.begin();
        self.declared = self.scheduler.capabilities();
        begins
    }

    fn choose(&mut self, state: &State) -> Result<strategy::Choice, Box<Divergence>> {
        outside(|| {
            self.enabled.clear();
            self.enabled.extend_from_slice(state.enabled());
            self.enabled.sort_unstable();
            let view = View::new(state, &self.enabled, &self.places);
            let scheduler = &mut self.scheduler;
            let choose = AssertUnwindSafe(|| match scheduler.discards(&view) {
                true => None,
                false => Some(scheduler.choose(&view)),
            });
            let problem = match catch_unwind(choose) {
                Ok(None) => return Err(stop(state, Record::Discarded, String::new())),
                Ok(Some(choice)) => match self.translate(state, choice) {
                    Ok(choice) => return Ok(choice),
                    Err(problem) => problem,
                },
                Err(panic) => {
                    let message = panic_message(&*panic);
                    format!("the scheduler {} panicked: {message}", self.name)
                }
            };
            Err(stop(state, Record::Scheduler, problem))
        })
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        let is_stopped =
            matches!(ending, Ending::Diverged(divergence) if divergence.from == Record::Scheduler);
        if !is_stopped {
            let finished = Finished::new(execution, ending, &self.places);
            self.scheduler.end(&finished);
        }
    }

    /// Returns the declared capabilities, without the guarantees that a class occurs once or that
    /// everything was run.
    fn capabilities(&self) -> strategy::Capabilities {
        let declared = self.declared;
        strategy::Capabilities {
            reads_all_outcomes: declared.reads_all_outcomes,
            reads_repetitions: declared.reads_repetitions,
            randomness: declared.randomness,
            ..strategy::Capabilities::default()
        }
    }
}
