//! Directed execution: runs the program so that given receives have given sources.
//!
//! First by holding threads back: a receive until its source exists, the source until no other
//! thread can run, and others from overwriting it in between. If that blocks, because a thread that
//! is held back holds an object that another one needs, the next run holds it back earlier. If that
//! does not help, the exhaustive search looks for an execution that fits. If there is none, the
//! alternative is impossible, and the executions of the search show the reason.

mod holds;
mod pending;

use holds::{Hold, Stance};

use crate::analysis::alternatives::Alternative;
use crate::analysis::alternatives::follow::{Followed, Follower};
use crate::analysis::alternatives::reason::{Evidence, Why};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::memory::Model;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending, Record};
use crate::model::execution::Execution;
use crate::search::Exhaustive;
use crate::world::State;
use crate::world::strategy::{Capabilities, Extent, Progress, Repeat, Strategy};

/// Maximum number of runs that hold threads back before the search begins.
const MAX_GREEDY: u32 = 12;

/// Searches for one execution that fits an alternative.
#[derive(Debug)]
pub struct Directed {
    alternative: Alternative,
    follower: Follower,
    holds: Vec<Hold>,
    phase: Phase,
    /// Number of runs that did not fit.
    attempts: u64,
    /// The thread that ran last.
    last: ThreadId,
    /// Number of choices found wrong in the current run.
    wrong: usize,
    found: bool,
    /// True when a run was cut off at the maximum number of events before it contradicted the
    /// alternative.
    is_cut: bool,
    evidence: Evidence,
    model: Model,
}

#[derive(Debug)]
enum Phase {
    /// Number of runs that have held threads back.
    Holding(u32),
    Searching(Box<Exhaustive>),
}

impl Directed {
    /// Creates a strategy that searches for an execution of this alternative under this memory model.
    pub fn new(alternative: Alternative, model: Model) -> Self {
        Directed {
            follower: Follower::new(&alternative),
            evidence: Evidence::new(&alternative),
            alternative,
            holds: Vec::new(),
            phase: Phase::Holding(0),
            attempts: 0,
            last: ThreadId::MAIN,
            wrong: 0,
            found: false,
            is_cut: false,
            model,
        }
    }

    /// True when an execution fits.
    pub fn found(&self) -> bool {
        self.found
    }

    /// Returns the number of runs that did not fit.
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Returns the alternative.
    pub fn alternative(&self) -> &Alternative {
        &self.alternative
    }

    /// Returns the reason why no execution fits; `None` unless all were examined to their ends.
    pub fn why(&self) -> Option<Why> {
        match &self.phase {
            Phase::Searching(search)
                if !self.found && !self.is_cut && search.extent() == Extent::All =>
            {
                Some(self.evidence.why(self.model))
            }
            _ => None,
        }
    }

    /// Stops a run that cannot fit.
    fn abandon(&self, state: &State) -> Box<Divergence> {
        Box::new(Divergence {
            from: Record::Alternative,
            after: state.execution().events.len(),
            thread: String::new(),
            expected: String::new(),
            expected_at: None,
            found: None,
            pending: None,
            found_at: None,
        })
    }

    fn hold_back(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let mut threads: Vec<ThreadId> = state.enabled().to_vec();
        threads.sort_by_key(|&thread| (thread != self.last, thread));
        let stances: Vec<Stance> = threads
            .iter()
            .map(|&thread| holds::stance(&self.follower, &self.holds, state, thread))
            .collect();
        let of = |wanted: fn(&Stance) -> bool| stances.iter().position(wanted);
        let next = of(|stance| matches!(stance, Stance::Ready(_)))
            .or_else(|| of(|stance| matches!(stance, Stance::Free)))
            .or_else(|| of(|stance| matches!(stance, Stance::IsSource)))
            .or_else(|| {
                of(|stance| matches!(stance, Stance::Overwrites(_))).filter(|_| state.is_weak())
            });
        let Some(next) = next else {
            for (&thread, stance) in threads.iter().zip(&stances) {
                holds::learn(&self.follower, state, thread, *stance, &mut self.holds);
            }
            return Err(self.abandon(state));
        };
        self.last = threads[next];
        let outcome = match stances[next] {
            Stance::Ready(outcome) => outcome,
            _ => Outcome::FIRST,
        };
        Ok(Choice {
            thread: self.last,
            outcome,
        })
    }
}

impl Strategy for Directed {
    fn begin(&mut self) -> bool {
        self.follower.reset();
        self.last = ThreadId::MAIN;
        self.wrong = 0;
        if self.found {
            return false;
        }
        match &mut self.phase {
            Phase::Holding(_) => true,
            Phase::Searching(search) => search.begin(),
        }
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.follower.note(state.execution());
        if let Phase::Searching(search) = &mut self.phase {
            let wrong = self.follower.wrong().count();
            if wrong > self.wrong {
                self.wrong = wrong;
                // No descendant of this graph fits either.
                let fixed = |one: &Followed| one.receive.is_some_and(|it| search.is_fixed(it));
                if self.evidence.is_enough(&self.follower) && self.follower.wrong().any(fixed) {
                    return Err(self.abandon(state));
                }
            }
            return search.choose(state);
        }
        match self.follower.wrong().count() {
            0 => self.hold_back(state),
            _ => Err(self.abandon(state)),
        }
    }

    fn stuck(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        match &mut self.phase {
            Phase::Holding(_) => Ok(()),
            Phase::Searching(search) => search.stuck(state),
        }
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        self.follower.note(execution);
        let counts = !matches!(ending, Ending::Discarded | Ending::Diverged(_));
        self.found = counts && self.follower.fits();
        self.attempts += u64::from(!self.found);
        let is_cut = matches!(ending, Ending::TooManyEvents | Ending::OutOfTime);
        self.is_cut |= is_cut && self.follower.wrong().next().is_none();
        self.evidence.add(execution, &self.follower);
        match &mut self.phase {
            Phase::Searching(search) => search.end(execution, ending),
            Phase::Holding(runs) => {
                *runs += 1;
                let known = self.evidence.holds;
                self.evidence.holds = self.holds.len();
                if known == self.holds.len() || *runs >= MAX_GREEDY {
                    let search = Exhaustive::new().under(self.model);
                    self.phase = Phase::Searching(Box::new(search));
                }
            }
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            reads_discarded: matches!(self.phase, Phase::Searching(_)),
            ..Capabilities::default()
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            is_attempt: !self.found,
            ..Progress::default()
        }
    }

    fn repeats(&mut self, state: &State, thread: ThreadId) -> Repeat {
        match &mut self.phase {
            Phase::Holding(_) => Repeat::Wait,
            Phase::Searching(search) => search.repeats(state, thread),
        }
    }

    fn is_in_vain(&mut self, thread: ThreadId) -> bool {
        match &mut self.phase {
            Phase::Holding(_) => false,
            Phase::Searching(search) => search.is_in_vain(thread),
        }
    }
}
