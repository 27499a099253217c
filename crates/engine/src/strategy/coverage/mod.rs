//! Coverage-guided scheduling: prefers steps that cover something new.
//!
//! Every thread runs up to its next access or lock; one of the threads that are there is chosen.
//!
//! - *Singular*: a thread whose step covers something new; else one after whose step another's
//!   does; else the one whose source location occurs in the fewest requirements that are feasible
//!   and uncovered, so that the others stay where they are needed.
//! - *Combinatorial*, after ten executions that covered nothing new: a thread whose step covers a
//!   requirement never covered together with most of those of this execution, where requirements
//!   that another's step would cover afterwards count half; else the one whose source location
//!   occurs in the fewest such requirements.
//!
//! Ties are broken at random, and so are all outcomes. That is CUVE (Hong, 2015, section 4.3) with
//! these differences:
//!
//! - A step is worth more if its thread is favoured, which is drawn for each execution. Otherwise
//!   all threads progress evenly, and the end of one never coincides with the beginning of another.
//! - CUVE looks ahead only if no step gains anything by itself.
//! - Now and then a thread is chosen at random, because otherwise a thread in a loop could run
//!   forever.
//! - Some executions of the second phase are mutations of those that covered something new: see
//!   `corpus`.
//! - All requirements that a step covers count if the metric has them, including those of threads
//!   that would block on the lock it takes.
//!
//! After a change of the program, requirements that the earlier version did not have come first: see
//! `aim`. That is Recurve (section 5.3.4 there), with unordered pairs of requirements.

mod aim;
mod corpus;
mod steps;

use crate::analysis::coverage::bits::Bits;
use crate::analysis::coverage::catalogue::Id;
use crate::analysis::coverage::{Baseline, Coverage, Metrics, Requirement, Standing};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::execution::Execution;
use crate::strategy::coverage::aim::Aim;
use crate::strategy::coverage::corpus::{Corpus, Stream};
use crate::world::State;
use crate::world::strategy::{Capabilities, Randomness, Strategy};
use steps::step;

/// Executions without new coverage after which combinations count; ten, as in CUVE.
const STALE: u32 = 10;
/// Number of choices of which one is random.
const RANDOM: usize = 64;
/// Number of executions of the second phase of which one is a mutation of an earlier one.
const CHILDREN: usize = 16;
/// Factors by which the steps of a favoured thread count more.
const FAVOURS: [u32; 3] = [1, 2, 4];
/// Factor by which a requirement counts more if it is a target of the stage.
const TARGET: u32 = 4;
/// Value of being favoured when no step gains anything.
const FAVOUR_ALONE: u32 = 6;

/// The kind of gain that is maximised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Singular,
    Combinatorial,
}

/// The way in which the current execution is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Guided,
    Child,
}

/// Coverage-guided strategy.
#[derive(Debug)]
pub struct CoverageGuided {
    coverage: Coverage,
    /// The targets after a change of the program; without it, all requirements are equal.
    aim: Option<Aim>,
    rng: Rng,
    phase: Phase,
    stale: u32,
    way: Way,
    stream: Stream,
    corpus: Corpus,
    /// By thread: its factor in this execution.
    favours: Vec<u32>,
    /// By source location: the requirements that contain it and count.
    related: Vec<Vec<Id>>,
    /// Requirements that this execution has covered so far.
    current: Bits,
    candidates: Vec<ThreadId>,
    /// Value of each requirement.
    values: Vec<u32>,
    wins: Vec<Option<Id>>,
}

impl CoverageGuided {
    /// Creates a strategy for the requirements of these metrics.
    pub fn new(metrics: Metrics, seed: u64) -> Self {
        CoverageGuided {
            coverage: Coverage::guiding(metrics),
            aim: None,
            rng: Rng::new(seed),
            phase: Phase::Singular,
            stale: 0,
            way: Way::Guided,
            stream: Stream::default(),
            corpus: Corpus::default(),
            favours: Vec::new(),
            related: Vec::new(),
            current: Bits::default(),
            candidates: Vec::new(),
            values: Vec::new(),
            wins: Vec::new(),
        }
    }

    /// Makes the search go for the targets that an earlier version of the program leaves first.
    pub fn aiming(mut self, baseline: Baseline) -> Self {
        self.aim = Some(Aim::new(baseline));
        self
    }

    /// Counts the requirement as covered, because it was covered elsewhere.
    pub fn cover(&mut self, requirement: Requirement) {
        self.coverage.cover(requirement);
    }

    /// Returns the coverage that guides the strategy: its own, and what was covered elsewhere.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Ends the first phase after one more execution without new coverage, because earlier runs
    /// have tried long enough.
    pub fn has_tried(&mut self) {
        self.stale = STALE - 1;
    }

    /// Recomputes the requirements of each source location.
    fn relate(&mut self) {
        self.related.iter_mut().for_each(Vec::clear);
        for (id, requirement, standing) in self.coverage.members() {
            let counts = match self.phase {
                Phase::Singular => standing == Standing::NotTried,
                Phase::Combinatorial => standing == Standing::Covered,
            };
            let is_wanted = |aim: &Aim| aim.is_target(requirement, standing);
            if !counts || !self.aim.as_ref().is_none_or(is_wanted) {
                continue;
            }
            let second = requirement.second.filter(|&it| it != requirement.first);
            for site in [Some(requirement.first), second].into_iter().flatten() {
                if site.index() >= self.related.len() {
                    self.related.resize_with(site.index() + 1, Vec::new);
                }
                self.related[site.index()].push(id);
            }
        }
    }

    /// Returns the thread to run.
    fn guided(&mut self, state: &State) -> ThreadId {
        let enabled = state.enabled();
        if enabled.len() == 1 {
            return enabled[0];
        }
        if self.rng.below(RANDOM) == 0 {
            return enabled[self.rng.below(enabled.len())];
        }
        let is_free = |&thread: &ThreadId| step(state.pending(thread)).is_none();
        self.candidates.clear();
        self.candidates
            .extend(enabled.iter().copied().filter(is_free));
        if self.candidates.is_empty() {
            self.candidates.extend_from_slice(enabled);
            self.coverage.current_members(&mut self.current);
            self.best(state);
        }
        self.draw()
    }

    /// Draws one of the candidates in proportion to their factors.
    fn draw(&mut self) -> ThreadId {
        let favours = &self.favours;
        let favour = |thread: &ThreadId| favours[thread.index()] as usize;
        let total: usize = self.candidates.iter().map(favour).sum();
        let mut drawn = self.rng.below(total);
        for thread in &self.candidates {
            let favour = favour(thread);
            if drawn < favour {
                return *thread;
            }
            drawn -= favour;
        }
        self.candidates[0]
    }

    /// Draws the factors of new threads.
    fn favour(&mut self, state: &State) {
        while self.favours.len() < state.execution().threads.len() {
            let drawn = self.rng.below(FAVOURS.len());
            self.favours.push(FAVOURS[drawn]);
        }
    }

    /// Keeps the best candidates.
    fn best(&mut self, state: &State) {
        let is_won = match self.phase {
            Phase::Singular => {
                self.keep(0, |this, thread| this.now(state, thread))
                    || self.keep(0, |this, thread| this.afterwards(state, thread))
            }
            Phase::Combinatorial => self.keep(FAVOUR_ALONE, |this, thread| {
                2 * this.now(state, thread) + this.afterwards(state, thread)
            }),
        };
        if !is_won {
            self.keep_least(state);
        }
    }

    /// Keeps the candidates of the greatest value, weighted by their factors; all of them if none
    /// has any.
    fn keep(&mut self, alone: u32, value: impl Fn(&mut Self, ThreadId) -> u32) -> bool {
        self.values.clear();
        for index in 0..self.candidates.len() {
            let value = value(self, self.candidates[index]);
            self.values.push(value);
        }
        if self.values.iter().all(|&value| value == 0) {
            return false;
        }
        for (value, thread) in self.values.iter_mut().zip(&self.candidates) {
            *value = (*value + alone).saturating_mul(self.favours[thread.index()]);
        }
        self.keep_highest();
        true
    }

    /// Keeps the candidates with the least potential.
    fn keep_least(&mut self, state: &State) {
        self.values.clear();
        for index in 0..self.candidates.len() {
            let potential = self.potential(state, self.candidates[index]);
            self.values.push(u32::MAX - potential);
        }
        self.keep_highest();
    }

    fn keep_highest(&mut self) {
        let highest = self.values.iter().max();
        let mut each = self.values.iter();
        self.candidates.retain(|_| each.next() == highest);
    }

    /// Returns the gain if the thread runs.
    fn now(&mut self, state: &State, thread: ThreadId) -> u32 {
        let mut wins = std::mem::take(&mut self.wins);
        wins.clear();
        self.covers(state, thread, |win| wins.push(win));
        let value = wins.iter().map(|win| self.value(*win)).max().unwrap_or(0);
        self.wins = wins;
        value
    }

    /// Returns the gain if another thread runs after this one.
    fn afterwards(&mut self, state: &State, thread: ThreadId) -> u32 {
        let others = state.enabled().iter().filter(|&&other| other != thread);
        let mut value = 0;
        for &other in others {
            self.covers_after(state, thread, other, |win| {
                value = value.max(self.value(win));
            });
        }
        value
    }

    /// Returns the value of covering a requirement; one without an identifier was never covered.
    fn value(&self, id: Option<Id>) -> u32 {
        let Some(id) = id else {
            // Neither this version nor an earlier one is known to have it: it is a new one.
            return self.factor(true)
                * match self.phase {
                    Phase::Singular => 1,
                    Phase::Combinatorial => 1 + self.current.count(),
                };
        };
        if self.coverage.is_current(id) {
            return 0;
        }
        let is_new = u32::from(!self.coverage.is_covered(id));
        let gain = match self.phase {
            Phase::Singular => is_new,
            Phase::Combinatorial => is_new + self.coverage.never_with(id, &self.current),
        };
        match &self.aim {
            Some(aim) if gain > 0 => {
                let requirement = self.coverage.requirement(id);
                gain * self.factor(aim.is_target(requirement, self.coverage.standing(id)))
            }
            _ => gain,
        }
    }

    /// Returns the factor of a requirement that is, or is not, a target of the stage.
    fn factor(&self, is_target: bool) -> u32 {
        match is_target && self.aim.is_some() {
            true => TARGET,
            false => 1,
        }
    }

    /// Returns the number of requirements that the thread's source location could still serve.
    fn potential(&self, state: &State, thread: ThreadId) -> u32 {
        let site = state.pending_site(thread);
        let related = self.related.get(site.index());
        let related = related.into_iter().flatten();
        let counts = |&&id: &&Id| {
            !self.coverage.is_current(id)
                && (self.phase == Phase::Singular
                    || self.coverage.never_with(id, &self.current) > 0)
        };
        related.filter(counts).count() as u32
    }
}

impl Strategy for CoverageGuided {
    fn begin(&mut self) -> bool {
        self.coverage.begin();
        self.stream.clear();
        self.favours.clear();
        self.way = Way::Guided;
        if self.phase == Phase::Combinatorial
            && self.rng.below(CHILDREN) == 0
            && self.corpus.child(&mut self.stream, &mut self.rng)
        {
            self.way = Way::Child;
        } else {
            self.relate();
        }
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.coverage.see(state.execution());
        let enabled = state.enabled();
        let thread = match self.way {
            Way::Child => enabled[self.stream.next(enabled.len(), &mut self.rng)],
            Way::Guided => {
                self.favour(state);
                let thread = self.guided(state);
                let index = enabled.iter().position(|&it| it == thread).unwrap_or(0);
                self.stream.push(index, enabled.len());
                thread
            }
        };
        let outcomes = state.outcomes(thread) as usize;
        let mut outcome = Outcome::FIRST;
        if outcomes > 1 {
            outcome = Outcome::nth(self.stream.next(outcomes, &mut self.rng) as u32);
            while !state.allows(thread, outcome) {
                outcome = Outcome::nth(self.rng.below(outcomes) as u32);
            }
        }
        Ok(Choice { thread, outcome })
    }

    fn end(&mut self, execution: &Execution, _ending: &Ending) {
        let gain = self.coverage.finish(execution);
        if gain.requirements > 0 || gain.has_combination {
            self.corpus.add(&self.stream);
        }
        if let Some(aim) = &mut self.aim {
            self.phase = aim.advance(self.phase, gain.requirements);
        } else if self.phase == Phase::Singular {
            self.stale = match gain.requirements {
                0 => self.stale + 1,
                _ => 0,
            };
            if self.stale >= STALE {
                self.phase = Phase::Combinatorial;
            }
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            randomness: Randomness::Seeded,
            ..Capabilities::default()
        }
    }
}
