//! Active testing: predicts failures from executions that pass, and steers later ones towards them.
//!
//! A prediction is a target: places at which threads should be at the same time. An execution first follows the
//! predicted order of events, if there is one and it is new, as far as the program permits. Otherwise, and after
//! it, a random walk in which a thread that arrives at a place of the target waits there for a thread at the
//! place that fits. Predictions need not be possible, so targets take turns and some executions have none.
//!
//! Races are directed as in RaceFuzzer (Sen, PLDI 2008), atomicity violations as in AtomFuzzer (Park, Sen, FSE
//! 2008), deadlocks as in DeadlockFuzzer (Joshi, Park, Sen, Naik, PLDI 2009). Those predict once; here every
//! examined execution may add targets.

mod predictors;
mod target;

pub use predictors::{Atomicity, Deadlocks, Predictor, Races};
use target::{Role, Target};

use super::Foregone;
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::execution::Execution;
use crate::strategy::guided::PlanSteps;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Randomness, Strategy};

/// Number of first executions that are all examined, and the interval of examinations after them: most of what
/// can be predicted is predicted from a few.
const FIRST_EXAMINED: u64 = 64;
const EXAMINED_EVERY: u64 = 16;
/// Maximum events and accesses of an examined execution: all pairs of some are compared.
const MOST_EVENTS: usize = 20_000;
const MOST_ACCESSES: usize = 100_000;
/// Maximum number of targets: each has fewer executions the more there are.
const MOST_TARGETS: usize = 128;
/// One of this number of executions is a random walk without a target.
const PLAIN: usize = 4;
/// Probability that a thread waits at a place of the target, in every second execution; in the others it always
/// does. A place in a loop may have to be passed some times first.
const PATIENCE: f64 = 0.5;
/// Maximum number of steps that a thread waits: others may be in a loop that waits for it.
const LONGEST_WAIT: u64 = 1_000;

/// Directed at pairs of conflicting accesses.
pub type RaceDirected = Active<Races>;
/// Directed at uses of a variable or lock between two uses by another thread.
pub type AtomicityDirected = Active<Atomicity>;
/// Directed at locks that are taken in a circle.
pub type DeadlockDirected = Active<Deadlocks>;

/// Random walks that are directed at what earlier ones predict.
#[derive(Debug)]
pub struct Active<P> {
    rng: Rng,
    predictor: P,
    targets: Vec<Target>,
    /// Number of first targets whose plans were followed.
    followed: usize,
    executions: u64,
    /// Index of the target of this execution.
    current: Option<usize>,
    plan: PlanSteps,
    patience: f64,
    foregone: Foregone,
    steps: u64,
    /// By thread: its arrival at its pending operation, once it was looked at.
    arrivals: Vec<Option<Arrival>>,
}

/// A thread at an operation, and its part in the target.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    role: Role,
    /// True when the thread waits there.
    waits: bool,
    /// Number of steps of the execution before it.
    since: u64,
}

impl<P: Predictor> Active<P> {
    /// Creates the strategy; schedules depend only on the seed and the program.
    pub fn new(seed: u64) -> Self {
        Active {
            rng: Rng::new(seed),
            predictor: P::default(),
            targets: Vec::new(),
            followed: 0,
            executions: 0,
            current: None,
            plan: PlanSteps::default(),
            patience: 1.0,
            foregone: Foregone::default(),
            steps: 0,
            arrivals: Vec::new(),
        }
    }

    /// Draws the target of the next execution: a new one, whose plan is followed, or any.
    fn draw_target(&mut self) {
        self.plan = PlanSteps::default();
        if self.followed < self.targets.len() {
            let target = &mut self.targets[self.followed];
            self.current = Some(self.followed);
            self.plan = PlanSteps::new(target.plan.take().unwrap_or_default());
            self.followed += 1;
            return;
        }
        self.current = match self.targets.len() {
            0 => None,
            _ if self.rng.below(PLAIN) == 0 => None,
            count => Some(self.rng.below(count)),
        };
    }

    /// Returns the part of the thread in the target, and whether it waits for others.
    fn arrival(&mut self, state: &State, target: usize, thread: ThreadId) -> (Role, bool) {
        let arrival = match self.arrivals[thread.index()] {
            Some(arrival) => arrival,
            None => {
                let role = self.targets[target].role(state, thread);
                let arrival = Arrival {
                    role,
                    waits: role != Role::None && self.rng.unit() < self.patience,
                    since: self.steps,
                };
                self.arrivals[thread.index()] = Some(arrival);
                arrival
            }
        };
        let waits = arrival.waits && self.steps - arrival.since < LONGEST_WAIT;
        (arrival.role, waits)
    }

    /// Returns the next thread: one of two that meet, or one that does not wait.
    fn steer(&mut self, state: &State, target: usize) -> ThreadId {
        let (mut free, mut waiting) = (Vec::new(), Vec::new());
        for &thread in state.enabled() {
            match self.arrival(state, target, thread) {
                (role, true) => waiting.push((thread, role)),
                (_, false) => free.push(thread),
            }
        }
        for (index, &(one, role)) in waiting.iter().enumerate() {
            for &(other, other_role) in &waiting[..index] {
                let first = match Role::meet(state, (one, role), (other, other_role)) {
                    None => continue,
                    Some(Some(first)) => first,
                    Some(None) => [one, other][self.rng.below(2)],
                };
                // The other one goes on in any order with the rest.
                for thread in [one, other] {
                    if let Some(arrival) = &mut self.arrivals[thread.index()] {
                        arrival.waits = false;
                    }
                }
                return first;
            }
        }
        match free.as_slice() {
            [] => sampling::any(&mut self.rng, state),
            free => free[sampling::below(&mut self.rng, free.len() as u32) as usize],
        }
    }

    fn pick(&mut self, state: &State) -> Choice {
        if let Some((thread, outcome)) = self.plan.next(state) {
            return match outcome {
                Some(outcome) => Choice { thread, outcome },
                None => sampling::run(&mut self.rng, state, thread),
            };
        }
        let thread = match (self.foregone.next(state), self.current) {
            (Some(thread), _) => thread,
            (None, Some(target)) => self.steer(state, target),
            (None, None) => sampling::any(&mut self.rng, state),
        };
        sampling::run(&mut self.rng, state, thread)
    }
}

impl<P: Predictor> Strategy for Active<P> {
    fn begin(&mut self) -> bool {
        self.draw_target();
        self.patience = match self.rng.below(2) {
            0 => 1.0,
            _ => PATIENCE,
        };
        self.foregone.begin();
        self.steps = 0;
        self.arrivals.clear();
        self.executions += 1;
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.arrivals.resize(state.execution().threads.len(), None);
        let choice = self.pick(state);
        self.arrivals[choice.thread.index()] = None;
        self.steps += 1;
        Ok(choice)
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        let is_due =
            self.executions <= FIRST_EXAMINED || self.executions.is_multiple_of(EXAMINED_EVERY);
        let left = MOST_TARGETS - self.targets.len();
        let is_wanted = is_due
            && left > 0
            && execution.threads.len() > 1
            && execution.events.len() <= MOST_EVENTS
            && execution.accesses.len() <= MOST_ACCESSES
            && sampling::is_whole(ending);
        if is_wanted {
            let mut new = self.predictor.predict(execution, left);
            new.truncate(left);
            self.targets.extend(new);
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            randomness: Randomness::Seeded,
            reads_cell_accesses: P::READS_CELL_ACCESSES,
            ..Capabilities::SAMPLER
        }
    }
}
