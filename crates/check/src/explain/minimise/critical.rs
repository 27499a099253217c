//! The two events whose order decides.
//!
//! One after the other, two events of the shortest failing execution that do something to the same
//! thing are turned round, the last first; but first of all what is stale, and last of all what a
//! thread does right before it panics, and what cannot be turned round without more. The first time that all goes well, these two are told: one
//! run of the program fails, with the one before the other; another, the same up to there, with the
//! other first, does not.

use raddle_engine::Execution;
use raddle_engine::check::Finding;
use raddle_engine::minimise::{self, Moment, Swap};
use raddle_engine::strategy::{Guided, Planned};
use raddle_report::{CriticalPair, Told};

use super::Minimiser;

/// So many pairs are turned round.
const MAX_SWAPS: usize = 400;
/// In a longer story nobody looks for them, and to look for them here would take too long.
const MAX_EVENTS: usize = 10_000;

impl Minimiser<'_> {
    /// The pair, and what happens the other way round.
    pub(super) fn critical(
        &mut self,
        execution: &Execution,
        finding: &Finding,
    ) -> Option<(CriticalPair, Told)> {
        if execution.events.len() > MAX_EVENTS {
            return None;
        }
        let end = finding.after().unwrap_or(usize::MAX);
        let swaps = minimise::swaps(execution).filter(|swap| swap.first < end);
        let mut swaps: Vec<Swap> = swaps.take(MAX_SWAPS).collect();
        let seen_last = |swap: &Swap| shows(execution, finding, swap);
        swaps.sort_by_key(|swap| (!swap.is_stale, swap.is_far, seen_last(swap)));
        for swap in swaps {
            if self.is_late() {
                return None;
            }
            self.set_strategy(Box::new(Guided::new(swap.plan.clone())));
            let finding_then = self.run_once();
            let goes_well = finding_then.is_none() && self.is_complete();
            let passing = self.context.with_execution(|passing, _| {
                (goes_well && swap.is_in(passing)).then(|| Told::of(passing, &self.context))
            });
            self.context.clean_up();
            if let Some(passing) = passing {
                return Some((self.in_words(&swap, execution, finding), passing));
            }
        }
        None
    }

    /// The names of things are those of the last run, so that is run once more.
    fn in_words(&mut self, swap: &Swap, execution: &Execution, finding: &Finding) -> CriticalPair {
        let plan = Planned::of(execution, 0..execution.events.len());
        self.set_strategy(Box::new(Guided::new(plan)));
        self.run_once();
        let pair = CriticalPair::of(swap, finding, execution, &self.context);
        self.context.clean_up();
        pair
    }
}

/// Whether one of the two is the last that a thread does before it panics: that is where the mistake
/// shows, and seldom where it is made.
fn shows(execution: &Execution, finding: &Finding, swap: &Swap) -> bool {
    let Finding::Panic(panic) = finding else {
        return false;
    };
    let mut events = execution.events[..panic.after].iter();
    let last = events.rposition(|event| event.id.thread == panic.thread);
    last.is_some() && (last == Some(swap.first) || last.map(Moment::At) == Some(swap.second))
}
