//! A portfolio of samplers and a search that take turns.
//!
//! No sampler is best for all programs: one is uniform over schedules, another finds bugs of small
//! depth, a third concentrates on one variable. So they take turns. The exhaustive search takes
//! turns as well: it terminates, which samplers never do, and never repeats a class. The more often
//! samplers repeat known classes, the more turns the search gets. So a small program is soon
//! searched, and a large one is sampled from the first execution on. A class that was run before is
//! not counted again.
//!
//! After a change of the program, *focused* samplers have most of the first turns, and half of the later ones. They run
//! what is not near the change in one way only, so that they repeat classes of a program that is large: that gives the
//! search no turns.

use std::collections::VecDeque;

use super::sampling;
use crate::analysis::classes::Fingerprints;
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::execution::Execution;
use crate::search::Exhaustive;
use crate::world::State;
use crate::world::strategy::{
    Capabilities, Extent, KnownClass, Progress, Randomness, Repeat, Strategy,
};

/// Number of turns of which one is for the search, if there is one.
const SEARCH: usize = 3;
/// Number of executions before the search's first turn, unless a sampler repeats a class before.
const FIRST: u64 = 2;
/// Number of executions that all samplers learn from; later each learns from its own only.
const LESSONS: u64 = 64;
/// Turns after which the search estimates its size, and the maximum number of runs for that.
const ESTIMATE_AFTER: u64 = 1_000;
const ESTIMATE_RUNS: u64 = 2_000;
/// Maximum number of reads-from fingerprints stored, to bound the memory.
const MOST_KNOWN: usize = 1 << 20;
/// Maximum number of consecutive turns of the search.
const MOST_TURNS: u64 = 1 << 20;
/// Number of first turns of which all but one in `FOCUS` are for focused samplers, if there are any; later one in two.
const FOCUSED: u64 = 256;
const FOCUS: u64 = 4;

/// Samplers that take turns, with or without a search.
pub struct Portfolio {
    /// The samplers, then the focused ones.
    samplers: Vec<Box<dyn Strategy>>,
    /// Number of those that are not focused.
    unfocused: usize,
    /// Indexes of focused samplers that have executions left, in the order of their turns.
    focus: VecDeque<usize>,
    /// Number of turns since the focused samplers had their first.
    focus_turns: u64,
    search: Option<Exhaustive>,
    rng: Rng,
    /// Number of executions that all samplers have learned from.
    lessons: u64,
    /// Number of turns, if there is a search.
    runs: u64,
    /// Index of the sampler that runs; the number of samplers for the search.
    turn: usize,
    /// Reads-from fingerprints of the executions so far.
    known: Fingerprints,
    /// Turns that the search still has in a row, and the number it was given last.
    owed: u64,
    given: u64,
    /// Index of the next sampler.
    next_sampler: usize,
}

impl Portfolio {
    /// Creates a portfolio of samplers, in the order of their turns, and a search.
    pub fn new(samplers: Vec<Box<dyn Strategy>>, search: Option<Exhaustive>, seed: u64) -> Self {
        Portfolio {
            unfocused: samplers.len(),
            samplers,
            focus: VecDeque::new(),
            focus_turns: 0,
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

    /// Adds focused samplers, in the order of their turns.
    pub fn focused(mut self, samplers: Vec<Box<dyn Strategy>>) -> Self {
        self.samplers.extend(samplers);
        self.focus = (self.unfocused..self.samplers.len()).collect();
        self
    }

    /// Returns the search, if there is one.
    pub(super) fn search(&mut self) -> Option<&mut Exhaustive> {
        self.search.as_mut()
    }

    fn now(&self) -> &dyn Strategy {
        match (self.samplers.get(self.turn), &self.search) {
            (Some(sampler), _) => &**sampler,
            (None, Some(search)) => search,
            (None, None) => unreachable!("some strategy has a turn"),
        }
    }

    fn now_mut(&mut self) -> &mut dyn Strategy {
        match (self.samplers.get_mut(self.turn), &mut self.search) {
            (Some(sampler), _) => &mut **sampler,
            (None, Some(search)) => search,
            (None, None) => unreachable!("some strategy has a turn"),
        }
    }

    /// True when the next turn is the search's.
    fn searches(&mut self) -> bool {
        let Some(search) = &mut self.search else {
            return false;
        };
        if search.gave_up() {
            return false;
        }
        self.runs += 1;
        let is_large = search.is_large();
        if self.runs == ESTIMATE_AFTER && !is_large {
            search.sample_now(ESTIMATE_RUNS);
        }
        if search.is_estimating() {
            return true;
        }
        if self.owed > 0 {
            self.owed -= 1;
            return true;
        }
        // A search that takes much memory would never end; it goes on if samplers repeat classes.
        self.unfocused == 0 || self.runs > FIRST && !is_large && self.rng.below(SEARCH) == 0
    }

    /// Records the fingerprint of an execution. If a sampler repeated a known one, the search gets
    /// more turns, until samplers find new ones again.
    fn share_out(&mut self, sources: u64) {
        let is_new = self.known.len() == MOST_KNOWN || self.known.insert(sources);
        if self.turn >= self.unfocused {
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

    /// Returns the next sampler; each has one turn in a round.
    fn next(&mut self) -> usize {
        let next = self.next_sampler;
        self.next_sampler = (next + 1) % self.unfocused;
        next
    }

    /// Begins an execution of a focused sampler, if one of them has the next turn.
    fn begin_focused(&mut self) -> bool {
        let estimates = |search: &Exhaustive| search.is_estimating();
        if self.focus.is_empty() || self.owed > 0 || self.search.as_ref().is_some_and(estimates) {
            return false;
        }
        self.focus_turns += 1;
        let share = match self.focus_turns {
            ..=FOCUSED => FOCUS,
            _ => 2,
        };
        if self.focus_turns.is_multiple_of(share) {
            return false;
        }
        while let Some(next) = self.focus.pop_front() {
            if self.samplers[next].begin() {
                self.focus.push_back(next);
                self.turn = next;
                return true;
            }
        }
        false
    }
}

impl Strategy for Portfolio {
    fn begin(&mut self) -> bool {
        if self.begin_focused() {
            return true;
        }
        self.turn = match self.searches() {
            true => self.samplers.len(),
            false => self.next(),
        };
        self.now_mut().begin()
    }

    fn begin_again(&mut self) {
        self.now_mut().begin_again();
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.now_mut().choose(state)
    }

    fn stuck(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        self.now_mut().stuck(state)
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        self.now_mut().end(execution, ending);
        if sampling::is_whole(ending) && self.search.is_some() && !self.now().progress().is_sample {
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

    fn repeats(&mut self, state: &State, thread: ThreadId) -> Repeat {
        self.now_mut().repeats(state, thread)
    }

    fn is_in_vain(&mut self, thread: ThreadId) -> bool {
        self.now_mut().is_in_vain(thread)
    }

    /// Returns those of the strategy whose turn it is. A known class is an attempt while there is a
    /// search, because the search reaches new classes in the end.
    fn capabilities(&self) -> Capabilities {
        let now = self.now().capabilities();
        let searches = |search: &Exhaustive| !search.gave_up();
        Capabilities {
            known_class: match self.search.as_ref().is_some_and(searches) {
                true => KnownClass::IsAttempt,
                false => KnownClass::Counts,
            },
            randomness: match now.randomness {
                Randomness::None => Randomness::Seeded,
                drawn => drawn,
            },
            ..now
        }
    }

    /// Returns the progress of the strategy whose turn it was; only the search has an extent.
    fn progress(&self) -> Progress {
        Progress {
            extent: self
                .search
                .as_ref()
                .map_or(Extent::Some, Exhaustive::extent),
            estimate: self.search.as_ref().and_then(Exhaustive::estimate),
            ..self.now().progress()
        }
    }
}
