//! Checks of the declaration that values of [ignored locations](raddle_engine::Location::is_ignored) decide nothing.
//!
//! Some executions that pass are run again along their schedules, and every read of an ignored location is served
//! another value that such a location had. If an operation changes, the declaration is wrong, and the search has left
//! out executions that matter.

use std::panic::Location;

use raddle_engine::check::Finding;
use raddle_engine::check::ignored::{IgnoredValue, difference};
use raddle_engine::strategy::{Dispatcher, Guided, Planned};
use raddle_engine::{Ending, Execution, Exploration, IgnoredValues, Served};

use crate::driver::worker::Worker;
use crate::runtime::{run_execution, watchdog};

/// Number of first executions that are run again with every value, and the interval of those after them, which are run
/// again once. So the check costs little of a long search.
const FIRST: u64 = 16;
const EVERY: u64 = 16;
/// Maximum runs for one of the first executions.
const MAX_TURNS: usize = 8;

/// The executions that are run again, and the values that they are served.
#[derive(Default)]
pub(crate) struct IgnoredReads {
    values: IgnoredValues,
    /// The last execution, if it is to be run again, and the first turn and the number of turns.
    noted: Option<(Execution, usize, usize)>,
}

impl Worker<'_, '_> {
    /// Notes the execution that has just passed, if it is one of those that are run again.
    #[cold]
    pub(super) fn note_ignored(&mut self) {
        if self.checker.replays() || self.checker.is_directed() {
            return;
        }
        let mut reads = self.ignored.take().unwrap_or_default();
        self.context.with_execution(|execution, executions| {
            if executions > FIRST && !executions.is_multiple_of(EVERY) {
                return;
            }
            reads.values.add(execution);
            let (turns, number) = (reads.values.turns(execution), executions as usize);
            reads.noted = match executions {
                _ if turns == 0 => None,
                ..=FIRST => Some((execution.clone(), 0, turns.min(MAX_TURNS))),
                _ => Some((execution.clone(), number / EVERY as usize, 1)),
            };
        });
        self.ignored = Some(reads);
    }

    /// Runs the noted execution again with other values. Returns true if the check is over.
    #[cold]
    pub(super) fn check_ignored(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
        name: &'static str,
    ) -> bool {
        let Some(mut reads) = self.ignored.take() else {
            return false;
        };
        let mut is_over = false;
        if let Some((recorded, first, turns)) = reads.noted.take() {
            let mut turns = first..first + turns;
            let served = |turn| reads.values.served(&recorded, turn);
            let changed = turns.find_map(|turn| self.changed(&recorded, served(turn), body, place));
            if let Some(value) = changed {
                // Also if no branch is left: the reduction has left out what the value decides.
                (self.context).with_exploration(|exploration| exploration.note_refusal());
                is_over = self.add_failure(&Finding::IgnoredValue(value), name);
            }
        }
        self.ignored = Some(reads);
        is_over
    }

    fn changed(
        &self,
        recorded: &Execution,
        served: Served,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> Option<IgnoredValue> {
        let plan = || Planned::of(recorded, 0..recorded.events.len());
        let with_others = self.run_again(plan(), Some(served), body, place)?;
        difference(recorded, &with_others, None)?;
        let with_same = self.run_again(plan(), None, body, place)?;
        difference(recorded, &with_others, Some(&with_same))
    }

    /// Runs the program along a plan; `None` if no time or no run is left for it.
    fn run_again(
        &self,
        plan: Vec<Planned>,
        served: Option<Served>,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> Option<Execution> {
        if self.is_spent() {
            return None;
        }
        let strategy = Dispatcher::other(Guided::new(plan));
        let exploration = Exploration::new(strategy, self.checker.limits());
        let context = self.checker.context(exploration, self.fatal.clone());
        context.share_places(&self.context.places());
        let _watch = watchdog::watch(&context, self.checker.watchdog, self.deadline);
        context.with_world(|world| served.into_iter().for_each(|served| world.serve(served)));
        run_execution(&context, body, place);
        let execution = context.with_exploration(|exploration| {
            exploration.finish();
            let is_whole = !matches!(exploration.ending(), Ending::OutOfTime);
            is_whole.then(|| exploration.execution().clone())
        });
        context.clean_up();
        (self.context).with_exploration(|exploration| exploration.add_runs(1));
        execution
    }
}
