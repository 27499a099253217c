//! Delay-bounded scheduling: every schedule that differs little from round-robin.
//!
//! Without delays, a thread runs until it blocks or ends, and then the next one runs, in order of
//! creation and cyclically. A *delay* skips an enabled thread whose turn it is. All schedules
//! within a bound of delays are run, each once, those with the fewest first. Their number grows
//! with the length of the program only, not with its threads (Emmi, Qadeer, Rakamarić,
//! "Delay-Bounded Scheduling", POPL 2011).

use std::collections::BTreeMap;

use crate::base::ids::ThreadId;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Record};
use crate::world::State;
use crate::world::strategy::{Bound, Strategy};

/// All schedules with few delays.
#[derive(Debug)]
pub struct Delay {
    bound: u32,
    /// Schedules that are still to be run, by number of delays.
    waiting: BTreeMap<u32, Vec<Vec<Departure>>>,
    /// The schedule being run, and the current position in it.
    departures: Vec<Departure>,
    next: usize,
    step: u32,
    started: bool,
    done: bool,
    left_out: bool,
}

/// A departure from round-robin. Everywhere else the first alternative is taken.
#[derive(Clone, Copy, Debug)]
struct Departure {
    step: u32,
    alternative: u32,
    delays: u32,
}

impl Delay {
    /// Creates a strategy that runs every schedule with at most `bound` delays.
    pub fn new(bound: u32) -> Self {
        Delay {
            bound,
            waiting: BTreeMap::new(),
            departures: Vec::new(),
            next: 0,
            step: 0,
            started: false,
            done: false,
            left_out: false,
        }
    }

    /// Keeps the other alternatives of this step for later.
    fn branch(&mut self, alternatives: &[(Choice, u32)]) {
        let spent: u32 = self.departures.iter().map(|one| one.delays).sum();
        for (alternative, &(_, delays)) in alternatives.iter().enumerate().skip(1) {
            let total = spent.saturating_add(delays);
            if total > self.bound {
                self.left_out = true;
                continue;
            }
            let mut departures = self.departures.clone();
            departures.push(Departure {
                step: self.step,
                alternative: alternative as u32,
                delays,
            });
            self.waiting.entry(total).or_default().push(departures);
        }
    }
}

impl Strategy for Delay {
    fn begin(&mut self) -> bool {
        self.next = 0;
        self.step = 0;
        if !std::mem::replace(&mut self.started, true) {
            return true;
        }
        let mut by_delays = self.waiting.values_mut();
        match by_delays.find_map(Vec::pop) {
            Some(departures) => self.departures = departures,
            None => self.done = true,
        }
        !self.done
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let alternatives = alternatives(state);
        let mut chosen = 0;
        match self.departures.get(self.next) {
            None => self.branch(&alternatives),
            Some(departure) if departure.step == self.step => {
                self.next += 1;
                chosen = departure.alternative as usize;
            }
            Some(_) => {}
        }
        self.step += 1;
        if let Some(&(choice, _)) = alternatives.get(chosen) {
            return Ok(choice);
        }
        let thread = alternatives[0].0.thread;
        Err(Box::new(Divergence {
            from: Record::EarlierRun,
            after: self.step as usize - 1,
            thread: state.execution().path(thread).to_string(),
            expected: format!(
                "one of {} or more ways to go on, as in an earlier run",
                chosen + 1
            ),
            expected_at: None,
            found: Some(state.pending(thread).label().to_owned()),
            pending: Some(*state.pending(thread)),
            found_at: Some(state.pending_site(thread)),
        }))
    }

    fn exhausted(&self) -> bool {
        self.done && !self.left_out
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn bounded(&self) -> Option<Bound> {
        (self.done && self.left_out).then_some(Bound::Delays(self.bound))
    }
}

/// Returns the possible choices, each with its delays, starting with the one that costs none.
fn alternatives(state: &State) -> Vec<(Choice, u32)> {
    let last = state.execution().events.last();
    let last = last.map_or(ThreadId::MAIN, |event| event.id.thread);
    let mut threads: Vec<ThreadId> = state.enabled().to_vec();
    threads.sort_by_key(|&thread| (thread < last, thread));
    let mut alternatives = Vec::new();
    for (delays, thread) in threads.into_iter().enumerate() {
        let outcomes = state
            .each_outcome(thread)
            .filter(|&it| state.allows(thread, it));
        let choices = outcomes.map(|outcome| Choice { thread, outcome });
        alternatives.extend(choices.map(|choice| (choice, delays as u32)));
    }
    alternatives
}
