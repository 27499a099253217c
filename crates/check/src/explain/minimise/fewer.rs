//! Every execution with fewer preemptions, if there are not too many.
//!
//! The search that is bounded by preemptions runs every class that some order of its events runs with
//! so many: with none at first, then with one more, as long as that is fewer than the best so far. The
//! first class that fails in the same way is run in its cheapest order, and then nothing with fewer
//! preemptions fails in the same way.
//!
//! As long as no thread sees stale values, that is done under sequential consistency: a story with one
//! preemption is easier to understand than one with none in which reads go back in time. A thread
//! that looks in vain in a loop counts as if it waited before its first look, which is a preemption
//! if it could have looked. So an execution in which a thread does look in vain may have fewer than any
//! that the search runs; it is then told, and nothing with fewer is searched.

use raddle_engine::memory::Model;
use raddle_engine::strategy::{Along, Exhaustive, Noise};
use raddle_engine::{Exploration, Limits};

use super::{Attempt, Effort, Minimiser, PLANS, Signature};
use crate::runtime::{Context, run_execution};

/// So much is run at first. What a search looks at for each run grows with the execution, so that events
/// count as often as there are others beside them.
const QUICK: Effort = Effort {
    runs: 2_000,
    events: 3_000_000,
};
/// So much if that was not enough.
const THOROUGH: Effort = Effort {
    runs: 4_000,
    events: 6_000_000,
};
/// In between, so many executions are drawn in which a preemption is as likely as this.
const DRAWN: [(u64, f64); 3] = [(1_000, 0.001), (1_000, 0.02), (1_000, 0.05)];
/// With this seed, whatever the seed of the check: the same execution always has the same story.
const SEED: u64 = 0;

/// In which order a search runs what there is.
#[derive(Clone, Copy)]
enum Order {
    /// As fast as it can.
    Fast,
    /// So that the first executions have little in common.
    Mixed,
}

/// How a search with so many preemptions ends.
enum Searched {
    /// With an execution that fails in the same way.
    Found(Attempt),
    /// With none. `surely` if what fails in the same way was not left out for other reasons.
    Nothing { surely: bool },
    /// Too early.
    TooMuch,
}

impl Minimiser<'_> {
    /// An execution with the fewest preemptions, or else the same one; whether these are the fewest for
    /// sure.
    pub(super) fn fewer(&mut self, best: Attempt) -> (Attempt, bool) {
        if best.cost.is_weak && self.checker.memory.model() != Model::Sc {
            let most = self.original.cost.preemptions;
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

    /// Under which model there may be a better one.
    fn model_of(&self, best: &Attempt) -> Model {
        match best.cost.is_weak || self.original.signature.is_of_memory() {
            true => self.checker.memory.model(),
            false => Model::Sc,
        }
    }

    /// The best of some executions that are drawn at random, or else the same one.
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

    /// An execution that fails in the same way with less than so many preemptions, and with as few as
    /// can be; whether there is none with fewer.
    fn fewest(
        &mut self,
        model: Model,
        less: u32,
        mut effort: Effort,
        order: Order,
    ) -> (Option<Attempt>, bool) {
        let mut surely = true;
        for preemptions in 0..less {
            // What cannot be finished leaves something for those that come after it.
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
