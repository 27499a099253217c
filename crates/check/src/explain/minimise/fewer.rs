//! The search for fewer preemptions, if it is small enough.
//!
//! The search with a preemption bound runs every class that some linearization runs within the
//! bound: first with bound 0, then with one more, up to the best so far. The first class that fails
//! in the same way is run in its cheapest linearization, and is then proved to have the fewest
//! preemptions.
//!
//! As long as no read is stale, the search uses sequential consistency: a failure with one
//! preemption is easier to understand than one with none and a stale read. A spinning thread counts
//! as if it waited before its first failed read, which is a preemption if the thread was enabled.
//! An execution with failed reads may therefore have fewer preemptions than any that the search
//! runs; then it is reported and no smaller bound is searched.

use raddle_engine::memory::Model;
use raddle_engine::strategy::{Along, Exhaustive, Noise};
use raddle_engine::{Exploration, Limits};

use super::{Attempt, Effort, Minimiser, PLANS, PRICE_OF_FRESH_READS, Signature};
use crate::runtime::{Context, run_execution};

/// Effort of the first search. The cost of each run grows with the length of the execution, so each
/// event counts as often as there are events.
const QUICK: Effort = Effort {
    runs: 2_000,
    events: 3_000_000,
};
/// Effort of the second search.
const THOROUGH: Effort = Effort {
    runs: 4_000,
    events: 6_000_000,
};
/// Number of random executions between the two searches, with the probability of a preemption.
const DRAWN: [(u64, f64); 3] = [(1_000, 0.001), (1_000, 0.02), (1_000, 0.05)];
/// Fixed seed, so that the same failing execution always has the same minimal execution.
const SEED: u64 = 0;

/// The order in which a search runs branches.
#[derive(Clone, Copy)]
enum Order {
    /// The order with the least work.
    Fast,
    /// A random order, in which the first executions differ a lot.
    Mixed,
}

/// The result of a search with one preemption bound.
enum Searched {
    /// An execution that fails in the same way.
    Found(Attempt),
    /// No execution fails in the same way. `surely` if none was cut off for other reasons.
    Nothing { surely: bool },
    /// The effort was spent before the end.
    TooMuch,
}

impl Minimiser<'_> {
    /// Returns an execution with the fewest preemptions, or `best` itself, and true if the number
    /// is proved minimal.
    pub(super) fn fewer(&mut self, best: Attempt) -> (Attempt, bool) {
        // A search of long executions does not end.
        if self.original.polls {
            return (best, false);
        }
        if best.cost.is_weak && self.checker.memory.model() != Model::Sc {
            let most = self.original.cost.preemptions + PRICE_OF_FRESH_READS;
            let (plain, surely) = self.fewest(Model::Sc, most + 1, QUICK, Order::Fast);
            if let Some(plain) = plain {
                return (self.improve(plain), surely);
            }
        }
        let model = self.model_of(&best);
        let (fewer, surely) = self.fewest(model, best.cost.preemptions, QUICK, Order::Fast);
        match fewer {
            Some(fewer) => return (self.improve(fewer), surely),
            None if surely => return (best, true),
            None => {}
        }
        let best = self.draw(best);
        let model = self.model_of(&best);
        let (fewer, surely) = self.fewest(model, best.cost.preemptions, THOROUGH, Order::Mixed);
        match fewer {
            Some(fewer) => (self.improve(fewer), surely),
            None => (best, surely),
        }
    }

    /// Returns the memory model under which a better execution may exist.
    fn model_of(&self, best: &Attempt) -> Model {
        match best.cost.is_weak || self.original.signature.is_of_memory() {
            true => self.checker.memory.model(),
            false => Model::Sc,
        }
    }

    /// Returns the best of some random executions, or `best` itself.
    fn draw(&mut self, mut best: Attempt) -> Attempt {
        for (number, probability) in DRAWN {
            self.set_strategy(Box::new(Noise::new(probability, SEED)));
            for _ in 0..number {
                let drawn = self.attempt();
                if let Some(better) = drawn.filter(|it| self.is_better(it, best.cost)) {
                    best = better;
                }
            }
        }
        self.plans = PLANS;
        self.improve(best)
    }

    /// Returns an execution that fails in the same way with the fewest preemptions below `less`,
    /// and true if that number is proved minimal.
    fn fewest(
        &mut self,
        model: Model,
        less: u32,
        mut effort: Effort,
        order: Order,
    ) -> (Option<Attempt>, bool) {
        let mut surely = true;
        for preemptions in 0..less {
            // A search that does not end leaves effort for the next bounds.
            let mut share = match preemptions + 1 == less {
                true => effort,
                false => effort.half(),
            };
            effort = effort.without(&share);
            match self.search(model, preemptions, &mut share, order) {
                Searched::Found(attempt) => return (Some(attempt), surely),
                Searched::Nothing { surely: it } => surely &= it,
                Searched::TooMuch => surely = false,
            }
            effort = effort.with(&share);
        }
        (None, surely)
    }

    fn search(
        &mut self,
        model: Model,
        preemptions: u32,
        effort: &mut Effort,
        order: Order,
    ) -> Searched {
        let search = Exhaustive::new().under(model).bounded(preemptions);
        let search = match order {
            Order::Fast => search,
            Order::Mixed => search.scattered(SEED),
        };
        let limits = Limits {
            memory: model,
            ..self.checker.limits()
        };
        let exploration = Exploration::new(search, limits);
        let context = self.checker.context(exploration, self.fatal.clone());
        let _watch = self.watch(&context);
        let mut surely = true;
        loop {
            if effort.is_spent() || self.is_late() {
                return Searched::TooMuch;
            }
            if !run_execution(&context, self.body, self.place) {
                let is_whole = context.with_exploration(|e| e.exhausted() || e.bounded().is_some());
                return Searched::Nothing {
                    surely: surely && is_whole,
                };
            }
            self.runs += 1;
            let finding = context.with_exploration(|exploration| exploration.finish());
            context.with_execution(|it, _| effort.spend(it.events.len() * it.events.len()));
            let signature = finding.and_then(|finding| Signature::of(&finding, &context));
            let same = signature.is_some_and(|other| self.original.signature.fits(&other));
            let cheapest = same.then(|| cheapest(&context, preemptions)).flatten();
            context.clean_up();
            if !same {
                continue;
            }
            let attempt = cheapest.and_then(|order| self.attempt_with(Box::new(order)));
            let is_good =
                |it: &Attempt| it.cost.preemptions <= preemptions && self.original.allows(&it.cost);
            match attempt.filter(is_good) {
                Some(attempt) => return Searched::Found(attempt),
                None => surely = false,
            }
        }
    }
}

fn cheapest(context: &Context, preemptions: u32) -> Option<Along> {
    context.with_exploration(|exploration| {
        let search = exploration.world().exhaustive()?;
        search.cheapest(preemptions)
    })
}
