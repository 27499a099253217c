//! The critical pair: two events whose order decides the failure of the execution.
//!
//! Pairs of events of the shortest failing execution on the same location or object are swapped one
//! by one. Stale reads come before all others. Pairs that exchange nothing else come before those
//! that exchange events on other locations or objects as well. Values come before the order of
//! locks, and pairs with the last event before a panic come last. Among equals the last decision
//! comes first. The first swap without a failure that is [about](super::about) the failure is the
//! critical pair: the two executions are the same up to that point, and only one fails. If none is
//! about the failure, the first swap without a failure is reported as one that also passes, not as
//! the reason.

use raddle_engine::Execution;
use raddle_engine::check::Finding;
use raddle_engine::minimise::{self, Moment, Swap};
use raddle_engine::strategy::{Guided, Planned};
use raddle_report::{CriticalPair, RecordedExecution};

use super::Minimiser;
use super::about::Failing;

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
        let failing = Failing::new(execution, finding);
        let end = finding.after().unwrap_or(usize::MAX);
        let swaps = minimise::swaps(execution).filter(|swap| swap.first < end);
        let mut swaps: Vec<Swap> = swaps.take(MAX_SWAPS).collect();
        swaps.sort_by_cached_key(|swap| {
            let (carries, is_lock) = (swap.carries > 0, failing.is_lock_order(swap));
            (
                !swap.is_stale,
                carries,
                is_lock,
                shows(execution, finding, swap),
            )
        });
        self.keep_accesses(failing.needs_accesses());
        let mut beside_the_point = None;
        let mut about = None;
        for swap in swaps {
            if self.is_late() {
                break;
            }
            self.set_strategy(Box::new(Guided::new(swap.plan.clone())));
            let finding_then = self.run_once();
            let goes_well = finding_then.is_none() && self.is_complete();
            let is_first = beside_the_point.is_none();
            let passing = self.context.with_execution(|passing, _| {
                if !goes_well || !swap.is_in(passing) {
                    return None;
                }
                let is_about = failing.is_about(&swap, passing);
                let is_wanted = is_about || is_first;
                is_wanted.then(|| (is_about, RecordedExecution::of(passing, &self.context)))
            });
            self.context.clean_up();
            match passing {
                Some((true, passing)) => {
                    about = Some((swap, true, passing));
                    break;
                }
                Some((false, passing)) => beside_the_point = Some((swap, false, passing)),
                None => {}
            }
        }
        self.keep_accesses(false);
        let (swap, is_about, passing) = about.or(beside_the_point)?;
        Some((
            self.in_words((&swap, is_about), execution, finding),
            passing,
        ))
    }

    fn keep_accesses(&self, keep: bool) {
        (self.context).with_exploration(|exploration| exploration.world().keep_accesses(keep));
    }

    /// Describes the pair. Names come from the last run, so the failing execution is run once more.
    fn in_words(
        &mut self,
        swap: (&Swap, bool),
        execution: &Execution,
        finding: &Finding,
    ) -> CriticalPair {
        let plan = Planned::of(execution, 0..execution.events.len());
        self.set_strategy(Box::new(Guided::new(plan)));
        self.run_once();
        let pair = CriticalPair::of(swap, finding, execution, &self.context);
        self.context.clean_up();
        pair
    }
}

/// True when one of the two is the last event of a thread before it panics. That event shows a
/// mistake that was usually made before.
fn shows(execution: &Execution, finding: &Finding, swap: &Swap) -> bool {
    let Finding::Panic(panic) = finding else {
        return false;
    };
    let mut events = execution.events[..panic.after].iter();
    let last = events.rposition(|event| event.id.thread == panic.thread);
    last.is_some() && (last == Some(swap.first) || last.map(Moment::At) == Some(swap.second))
}
