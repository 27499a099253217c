//! PCT: random thread priorities with a few priority change points.
//!
//! Every thread gets a random priority at its creation, and the enabled thread with the highest
//! runs. At d - 1 random steps the priority of the thread about to run drops below all that have
//! not dropped. A bug of *depth* d needs d events in a certain order; with n threads and k steps
//! one execution finds it with a probability of at least 1 / (n k^(d - 1)) (Burckhardt, Kothari,
//! Musuvathi, Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
//! ASPLOS 2010).
//!
//! Only steps with several enabled threads count; their number is learned from earlier executions.
//! The guarantee holds for threads that do not busy-wait for each other. For fairness to those that
//! do, a thread that yields drops below all others, and so does one that has run for very long. If
//! that does not help, the rest of the execution is a random walk. A sleep is a step like any other.

use super::{Foregone, Turns};
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Lesson, Strategy};

/// Number of first executions for which the expected length is raised, because longer ones are
/// likely to follow.
const FEW: u64 = 10;
/// Consecutive steps after which a thread is assumed to busy-wait, or twice the length of the
/// longest execution if that is more.
const LONG_TURN: u64 = 256;
/// Number of such turns after which the rest of the execution is a random walk.
const MOST_LONG_TURNS: u32 = 8;

/// Random priorities with few changes.
#[derive(Clone, Debug)]
pub struct Pct {
    rng: Rng,
    shallowest: u32,
    deepest: u32,
    foregone: Foregone,
    /// Priority of each thread.
    levels: Vec<i64>,
    /// Change points and the priorities that they set, last first.
    changes: Vec<(u64, i64)>,
    /// Lowest priority in use.
    lowest: i64,
    steps: u64,
    turns: Turns,
    long_turns: u32,
    /// Steps of the longest execution.
    longest: u64,
    executions: u64,
}

impl Pct {
    /// Creates the strategy for bugs of this depth, at least 1.
    pub fn new(depth: u32, seed: u64) -> Self {
        let depth = depth.max(1);
        Self::between(depth, depth, seed)
    }

    /// Creates the strategy for bugs of all depths up to `deepest`: every execution draws its own.
    pub fn portfolio(deepest: u32, seed: u64) -> Self {
        Self::between(1, deepest.max(1), seed)
    }

    fn between(shallowest: u32, deepest: u32, seed: u64) -> Self {
        Pct {
            rng: Rng::new(seed),
            shallowest,
            deepest,
            foregone: Foregone::default(),
            levels: Vec::new(),
            changes: Vec::new(),
            lowest: 0,
            steps: 0,
            turns: Turns::default(),
            long_turns: 0,
            longest: 0,
            executions: 0,
        }
    }

    /// Returns the expected number of steps; 0 if unknown.
    fn length(&self) -> u64 {
        match self.executions {
            0..FEW => self.longest + self.longest.div_ceil(5),
            _ => self.longest,
        }
    }

    fn highest(&self, state: &State) -> ThreadId {
        let level = |thread: &&ThreadId| self.levels[thread.index()];
        let highest = state.enabled().iter().max_by_key(level);
        *highest.expect("some thread is enabled")
    }

    /// Drops the thread's priority below all others.
    fn lower(&mut self, thread: ThreadId) {
        self.lowest -= 1;
        self.levels[thread.index()] = self.lowest;
    }

    fn pick(&mut self, state: &State) -> ThreadId {
        if let Some(thread) = self.foregone.next(state) {
            return thread;
        }
        if let [only] = *state.enabled() {
            return only;
        }
        if self.long_turns >= MOST_LONG_TURNS {
            return sampling::any(&mut self.rng, state);
        }
        self.steps += 1;
        let mut thread = self.highest(state);
        while let Some(&(step, level)) = self.changes.last()
            && step == self.steps
        {
            self.changes.pop();
            self.levels[thread.index()] = level;
            thread = self.highest(state);
        }
        if self.turns.note(state, thread) > LONG_TURN.max(2 * self.longest) {
            self.long_turns += 1;
            self.turns = Turns::default();
            self.lower(thread);
            thread = self.highest(state);
        }
        thread
    }
}

impl Strategy for Pct {
    fn begin(&mut self) -> bool {
        self.foregone.begin();
        self.levels.clear();
        self.lowest = 0;
        self.steps = 0;
        self.turns = Turns::default();
        self.long_turns = 0;
        let depths = self.deepest - self.shallowest + 1;
        let depth = self.shallowest + sampling::below(&mut self.rng, depths);
        self.changes.clear();
        let length = self.length();
        if length > 0 {
            for level in 1..depth {
                let step = 1 + self.rng.below(length as usize) as u64;
                self.changes.push((step, i64::from(level)));
            }
        }
        self.changes.sort_by(|one, other| other.cmp(one));
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        while self.levels.len() < state.execution().threads.len() {
            // Above all priorities that threads drop to.
            let level = (self.rng.next() >> 2) as i64 + (1 << 32);
            self.levels.push(level);
        }
        let thread = self.pick(state);
        if *state.pending(thread) == Operation::Yield {
            self.lower(thread);
        }
        Ok(sampling::run(&mut self.rng, state, thread))
    }

    fn end(&mut self, _execution: &Execution, _ending: &Ending) {
        self.executions += 1;
        if self.long_turns == 0 {
            self.longest = self.longest.max(self.steps);
        }
    }

    fn lessons(&self) -> Vec<Lesson> {
        let has_run = self.executions > 0;
        has_run
            .then_some(Lesson::Longest(self.longest))
            .into_iter()
            .collect()
    }

    fn recall(&mut self, lesson: &Lesson) {
        if let Lesson::Longest(steps) = lesson {
            self.longest = self.longest.max(*steps);
            // The longest of a whole stream is not raised.
            self.executions = self.executions.max(FEW);
        }
    }

    /// A priority starves the others while its thread busy-waits, so short executions are watched
    /// for spin loops as well.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            reads_repetitions: true,
            ..Capabilities::SAMPLER
        }
    }
}
