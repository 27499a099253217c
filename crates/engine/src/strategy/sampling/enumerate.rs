//! Enumeration of all schedules, without any reduction.
//!
//! This is the oracle for every other search, so it is kept too simple to be wrong. It stores the
//! number of alternatives of each step and the one taken. The next execution takes the next
//! alternative at the last step that has one left.

use crate::base::ids::ThreadId;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending, Record};
use crate::model::execution::Execution;
use crate::world::State;
use crate::world::strategy::{Bound, Capabilities, Extent, Progress, Repeat, Strategy};

/// All schedules in depth-first order.
#[derive(Debug, Default)]
pub struct Enumerate {
    private_first: bool,
    /// Maximum number of preemptions of a schedule.
    preemptions: Option<u32>,
    left_out: bool,
    steps: Vec<Taken>,
    depth: usize,
    started: bool,
    exhausted: bool,
}

#[derive(Debug)]
struct Taken {
    alternative: usize,
    alternatives: usize,
}

impl Enumerate {
    /// Creates an enumeration that has run nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Enumerates schedules with at most `preemptions` preemptions; see [`State::interrupts`].
    pub fn bounded(preemptions: u32) -> Self {
        Enumerate {
            preemptions: Some(preemptions),
            ..Self::default()
        }
    }

    /// Creates an enumeration that performs an operation that no other thread can observe as soon
    /// as it is pending. This leaves out most schedules and no class.
    pub fn private_first() -> Self {
        Enumerate {
            private_first: true,
            ..Self::default()
        }
    }
}

impl Strategy for Enumerate {
    fn begin(&mut self) -> bool {
        if self.started {
            while self
                .steps
                .last()
                .is_some_and(|step| step.alternative + 1 == step.alternatives)
            {
                self.steps.pop();
            }
            match self.steps.last_mut() {
                Some(step) => step.alternative += 1,
                None => self.exhausted = true,
            }
        }
        self.started = true;
        self.depth = 0;
        !self.exhausted
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        if self.private_first {
            let private = |&&thread: &&ThreadId| state.pending(thread).is_private();
            if let Some(&thread) = state.enabled().iter().find(private) {
                return Ok(Choice::run(thread));
            }
        }
        let mut choices = all_choices(state);
        if let Some(most) = self.preemptions
            && state.execution().preemptions == most
        {
            let all = choices.len();
            choices.retain(|choice| !state.interrupts(choice.thread));
            self.left_out |= choices.len() < all;
        }
        if self.depth == self.steps.len() {
            self.steps.push(Taken {
                alternative: 0,
                alternatives: choices.len(),
            });
        }
        let step = &self.steps[self.depth];
        self.depth += 1;
        if step.alternatives == choices.len() {
            return Ok(choices[step.alternative]);
        }
        let thread = state.enabled()[0];
        Err(Box::new(Divergence {
            from: Record::EarlierRun,
            after: self.depth - 1,
            thread: state.execution().path(thread).to_string(),
            expected: format!(
                "one of {} ways to go on, as in the last run",
                step.alternatives
            ),
            expected_at: None,
            found: Some(state.pending(thread).label().to_owned()),
            pending: Some(*state.pending(thread)),
            found_at: Some(state.pending_site(thread)),
        }))
    }

    fn end(&mut self, _execution: &Execution, _ending: &Ending) {
        self.steps.truncate(self.depth);
    }

    /// Decides as the exhaustive search does, so that the two can be compared.
    fn repeats(&mut self, _state: &State, _thread: ThreadId) -> Repeat {
        Repeat::Stop
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            reads_all_outcomes: true,
            ..Capabilities::default()
        }
    }

    fn progress(&self) -> Progress {
        let extent = match (self.exhausted, self.left_out, self.preemptions) {
            (true, false, _) => Extent::All,
            (true, true, Some(preemptions)) => Extent::Within(Bound::Preemptions(preemptions)),
            _ => Extent::Some,
        };
        Progress {
            extent,
            ..Progress::default()
        }
    }
}

fn all_choices(state: &State) -> Vec<Choice> {
    let mut threads: Vec<ThreadId> = state.enabled().to_vec();
    threads.sort();
    let choices = |thread| state.choices(thread);
    threads.into_iter().flat_map(choices).collect()
}
