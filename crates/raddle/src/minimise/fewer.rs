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
use crate::substrate::{Context, run_execution};

/// So much is run in all. What a search looks at for each run grows with the execution, so that events
/// count as often as there are others beside them.
const SEARCH: Effort = Effort {
    runs: 5_000,
    events: 10_000_000,
};
/// Where that does not come to its end, so many executions are drawn in which a preemption is as likely
/// as this.
const DRAWN: [(u64, f64); 3] = [(1_000, 0.001), (1_000, 0.02), (1_000, 0.05)];
/// With this seed, whatever the seed of the check: the same execution always has the same story.
const SEED: u64 = 0;

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
        let model = self.checker.memory.model();
        let mut effort = SEARCH;
        let mut best = best;
        if best.cost.is_weak && model != Model::Sc {
            let most = self.original.cost.preemptions;
            let (plain, _) = self.fewest(Model::Sc, most + 1, &mut effort);
            if let Some(plain) = plain {
                let best = self.improve(plain);
                return (best, true);
            }
            effort = SEARCH;
        }
        let searched = match best.cost.is_weak || self.original.signature.is_of_memory() {
            true => model,
            false => Model::Sc,
        };
        let (fewer, surely) = self.fewest(searched, best.cost.preemptions, &mut effort);
        best = match fewer {
            Some(fewer) => self.improve(fewer),
            None if surely => best,
            None => self.draw(best),
        };
        (best, surely)
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
    fn fewest(&mut self, model: Model, less: u32, effort: &mut Effort) -> (Option<Attempt>, bool) {
        let mut surely = true;
        for preemptions in 0..less {
            match self.search(model, preemptions, effort) {
                Searched::Found(attempt) => return (Some(attempt), surely),
                Searched::Nothing { surely: it } => surely &= it,
                Searched::TooMuch => return (None, false),
            }
        }
        (None, surely)
    }

    fn search(&mut self, model: Model, preemptions: u32, effort: &mut Effort) -> Searched {
        let search = Exhaustive::new().under(model).bounded(preemptions);
        let limits = Limits {
            memory: model,
            ..self.checker.limits()
        };
        let exploration = Exploration::new(Box::new(search), limits);
        let context = Context::new(exploration, self.checker.stack_size, self.checker.modelled);
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
            let same = signature.as_ref() == Some(&self.original.signature);
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
