//! Several samplers and a search, taking turns.
//!
//! No sampler is best for all programs: one spreads its executions evenly, another goes for bugs that
//! need few things in a certain order, a third for what happens to one variable. So they take turns.
//! Beside them goes the search, which comes to an end where samplers never do, and comes to nothing twice.
//! The more often samplers come to what is known, the more turns it has. So a small program is soon the
//! search's, and a large one is sampled from the first execution on. A class that somebody else has run
//! before counts nowhere, whoever comes to it.

use super::sampling;
use crate::analysis::classes::Fingerprints;
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::model::ending::Ending;
use crate::model::estimate::Estimate;
use crate::model::execution::Execution;
use crate::search::Exhaustive;
use crate::world::State;
use crate::world::strategy::{Bound, Repeat, Strategy};

/// One turn in so many is the search's, if there is one.
const SEARCH: usize = 3;
/// The search has no turn before so many executions, unless a sampler comes to a known class.
const FIRST: u64 = 2;
/// From so many executions everybody learns, and then only from their own.
const LESSONS: u64 = 64;
/// After so many turns the search estimates how large it is, in so many runs if it can.
const ESTIMATE_AFTER: u64 = 1_000;
const ESTIMATE_RUNS: u64 = 2_000;
/// No more than so many sets of sources are remembered.
const MOST_KNOWN: usize = 1 << 20;
/// The search has at most so many turns in a row.
const MOST_TURNS: u64 = 1 << 20;

/// Samplers that take turns, with a search or without.
pub struct Portfolio {
    samplers: Vec<Box<dyn Strategy>>,
    search: Option<Exhaustive>,
    rng: Rng,
    /// Executions so far, of which everybody has learned.
    lessons: u64,
    /// Turns so far, if there is a search.
    runs: u64,
    /// Whose turn it is; the search's if there is no such sampler.
    turn: usize,
    /// What has been run, by its sources.
    known: Fingerprints,
    /// How many turns the search has before anybody else, and how many it was given the last time.
    owed: u64,
    given: u64,
    /// Who is next of the samplers.
    next_sampler: usize,
}

impl Portfolio {
    /// Samplers in the order of their turns, and a search that has one at times.
    pub fn new(samplers: Vec<Box<dyn Strategy>>, search: Option<Exhaustive>, seed: u64) -> Self {
        Portfolio {
            samplers,
            search,
            rng: Rng::new(seed),
            lessons: 0,
            runs: 0,
            turn: 0,
            known: Fingerprints::default(),
            owed: 0,
            given: 1,
            next_sampler: 0,
        }
    }

    /// The search, if there is one.
    pub(super) fn search(&mut self) -> Option<&mut Exhaustive> {
        self.search.as_mut()
    }

    fn now(&self) -> &dyn Strategy {
        match (self.samplers.get(self.turn), &self.search) {
            (Some(sampler), _) => &**sampler,
            (None, Some(search)) => search,
            (None, None) => unreachable!("somebody has a turn"),
        }
    }

    fn now_mut(&mut self) -> &mut dyn Strategy {
        match (self.samplers.get_mut(self.turn), &mut self.search) {
            (Some(sampler), _) => &mut **sampler,
            (None, Some(search)) => search,
            (None, None) => unreachable!("somebody has a turn"),
        }
    }

    /// Whether it is the search's turn.
    fn searches(&mut self) -> bool {
        let Some(search) = &mut self.search else {
            return false;
        };
        if search.gave_up() {
            return false;
        }
        self.runs += 1;
        if self.runs == ESTIMATE_AFTER {
            search.sample_now(ESTIMATE_RUNS);
        }
        if search.is_estimating() {
            return true;
        }
        if self.owed > 0 {
            self.owed -= 1;
            return true;
        }
        self.samplers.is_empty() || self.runs > FIRST && self.rng.below(SEARCH) == 0
    }

    /// An execution with these sources was run. If it was a sampler that came to what is known, the
    /// search has more turns, until samplers come to something new again.
    fn share_out(&mut self, sources: u64) {
        let is_new = self.known.len() == MOST_KNOWN || self.known.insert(sources);
        if self.turn == self.samplers.len() {
            return;
        }
        self.given = match is_new {
            true => (self.given / 2).max(1),
            false => (4 * self.given).min(MOST_TURNS),
        };
        if !is_new {
            self.owed = self.given;
        }
    }

    /// Every sampler has one turn in a round.
    fn next(&mut self) -> usize {
        let next = self.next_sampler;
        self.next_sampler = (next + 1) % self.samplers.len();
        next
    }
}

impl Strategy for Portfolio {
    fn begin(&mut self) -> bool {
        self.turn = match self.searches() {
            true => self.samplers.len(),
            false => self.next(),
        };
        self.now_mut().begin()
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.now_mut().choose(state)
    }

    fn stuck(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        self.now_mut().stuck(state)
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        self.now_mut().end(execution, ending);
        if sampling::is_whole(ending) && self.search.is_some() && !self.now().samples() {
            self.share_out(execution.reads_from_fingerprint());
        }
        self.lessons += 1;
        if self.lessons <= LESSONS {
            for (index, sampler) in self.samplers.iter_mut().enumerate() {
                if index != self.turn {
                    sampler.learn(execution, ending);
                }
            }
        }
    }

    /// A search comes to what is new in the end; without one, everything that was run counts.
    fn skips_known(&self) -> bool {
        self.search.as_ref().is_some_and(|search| !search.gave_up())
    }

    fn retries(&self) -> bool {
        self.now().retries()
    }

    fn samples(&self) -> bool {
        self.now().samples()
    }

    fn gave_up(&self) -> bool {
        self.now().gave_up()
    }

    fn most_events(&self) -> usize {
        self.now().most_events()
    }

    fn estimate(&self) -> Option<Estimate> {
        self.search.as_ref()?.estimate()
    }

    fn exhausted(&self) -> bool {
        self.search.as_ref().is_some_and(Strategy::exhausted)
    }

    fn bounded(&self) -> Option<Bound> {
        self.search.as_ref()?.bounded()
    }

    fn runs_on(&self) -> bool {
        self.now().runs_on()
    }

    fn is_exact(&self) -> bool {
        self.now().is_exact()
    }

    fn repeats(&mut self, state: &State, thread: ThreadId) -> Repeat {
        self.now_mut().repeats(state, thread)
    }

    fn watches(&self) -> bool {
        self.now().watches()
    }

    fn draws(&self) -> bool {
        self.now().draws()
    }

    /// The samplers alone: somebody else has the search.
    fn with_seed(&self, seed: u64) -> Option<Box<dyn Strategy>> {
        let mut rng = Rng::new(seed);
        let samplers = self.samplers.iter();
        let samplers = samplers
            .filter_map(|one| one.with_seed(rng.next()))
            .collect();
        Some(Box::new(Portfolio::new(samplers, None, seed)))
    }
}
