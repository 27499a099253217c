//! The critical pair: two events whose order decides whether the execution fails.
//!
//! Pairs of events of the shortest failing execution on the same location or object are swapped one
//! by one, the last first. Stale reads come before all others. Pairs with the last event before a
//! panic, and pairs that need further changes, come at the end. The first swap without a failure is
//! the critical pair: the two executions are the same up to that point, and only one fails.

use raddle_engine::Execution;
use raddle_engine::check::Finding;
use raddle_engine::minimise::{self, Moment, Swap};
use raddle_engine::strategy::{Guided, Planned};
use raddle_report::{CriticalPair, RecordedExecution};

use super::Minimiser;

/// Maximum number of pairs that are swapped.
const MAX_SWAPS: usize = 400;
/// Maximum events of an execution whose pairs are swapped; beyond it the search takes too long.
const MAX_EVENTS: usize = 10_000;

impl Minimiser<'_> {
    /// Returns the critical pair and the outcome with the pair swapped.
    pub(super) fn critical(
        &mut self,
        execution: &Execution,
        finding: &Finding,
    ) -> Option<(CriticalPair, RecordedExecution)> {
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
                (goes_well && swap.is_in(passing))
                    .then(|| RecordedExecution::of(passing, &self.context))
            });
            self.context.clean_up();
            if let Some(passing) = passing {
                return Some((self.in_words(&swap, execution, finding), passing));
            }
        }
        None
    }

    /// Describes the pair. Names come from the last run, so the failing execution is run once more.
    fn in_words(&mut self, swap: &Swap, execution: &Execution, finding: &Finding) -> CriticalPair {
        let plan = Planned::of(execution, 0..execution.events.len());
        self.set_strategy(Box::new(Guided::new(plan)));
        self.run_once();
        let pair = CriticalPair::of(swap, finding, execution, &self.context);
        self.context.clean_up();
        pair
    }
}

/// True when one of the two is the last event of a thread before it panics: there the mistake shows
/// and is seldom made.
fn shows(execution: &Execution, finding: &Finding, swap: &Swap) -> bool {
    let Finding::Panic(panic) = finding else {
        return false;
    };
    let mut events = execution.events[..panic.after].iter();
    let last = events.rposition(|event| event.id.thread == panic.thread);
    last.is_some() && (last == Some(swap.first) || last.map(Moment::At) == Some(swap.second))
}
