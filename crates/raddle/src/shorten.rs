//! The story of a failure with as few context switches as can be found by trying.
//!
//! First the failing execution is put in another order that does the same, then interruptions are
//! taken out one by one; each time the program is run again, and what does not fail in the same way is
//! forgotten. So what the user is shown is an execution that has been run, like any other.

use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_engine::check::Finding;
use raddle_engine::check::deadlock::Blocked;
use raddle_engine::strategy::{Guided, Planned};
use raddle_engine::{Execution, Exploration, SiteId, shorten};
use raddle_report::{Failure, Names, Place};

use crate::checker::Checker;
use crate::last_words::LastWords;
use crate::substrate::{Context, run_execution};
use crate::watchdog::{self, Watch};

/// When a story is short enough.
const MAX_RUNS: usize = 400;
/// Longer executions are shown as they are.
const MAX_EVENTS: usize = 5_000;
const MAX_TIME: Duration = Duration::from_millis(500);

/// What makes two failures the same, whatever the order in which things happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Signature {
    /// Where a thread panicked.
    Panic(Option<String>),
    /// Where threads wait for ever, and why.
    Waiting(u8, Vec<Option<Place>>),
    /// Where a cell is accessed by two that nothing orders, whichever comes first.
    Race([Option<Place>; 2]),
    /// Where memory is used that is not there.
    Memory(Option<Place>),
}

impl Signature {
    /// `None` if a shorter story would not be a better one.
    pub(crate) fn of(finding: &Finding, names: &dyn Names) -> Option<Self> {
        let waiting = |kind: u8, sites: &mut dyn Iterator<Item = SiteId>| {
            let mut places: Vec<_> = sites.map(|site| names.place(site)).collect();
            places.sort();
            Some(Signature::Waiting(kind, places))
        };
        match finding {
            Finding::Panic(panic) => Some(Signature::Panic(panic.place.clone())),
            Finding::Deadlock(blocked) => waiting(0, &mut sites(blocked)),
            Finding::ThreadOutlives(blocked) => waiting(1, &mut sites(blocked)),
            Finding::LostWakeup { blocked, .. } => waiting(2, &mut sites(blocked)),
            Finding::Livelock { rounds, blocked } => {
                let spinning = rounds.iter().map(|round| round.site);
                waiting(3, &mut spinning.chain(sites(blocked)))
            }
            Finding::DataRace(race) => {
                let mut places = [race.first, race.second].map(|one| names.place(one.site));
                places.sort();
                Some(Signature::Race(places))
            }
            Finding::MemoryError(error) => Some(Signature::Memory(names.place(error.site))),
            _ => None,
        }
    }
}

fn sites(blocked: &[Blocked]) -> impl Iterator<Item = SiteId> {
    blocked.iter().map(|one| one.site)
}

/// An execution that fails in the same way.
struct Attempt {
    failure: Failure,
    cost: Cost,
    /// The same in fewer pieces.
    tidy: Vec<Planned>,
    closer: Vec<Vec<Planned>>,
}

/// Tries to find a shorter execution that fails in the same way.
pub(crate) struct Shortening<'a> {
    body: &'a (dyn Fn() + Sync),
    place: &'static Location<'static>,
    signature: Signature,
    context: Context,
    runs: usize,
    until: Instant,
}

/// Stale accesses, context switches and events: the fewer, the better the story.
pub(crate) type Cost = (usize, usize, usize);

fn cost(execution: &Execution) -> Cost {
    (
        shorten::stale(execution),
        shorten::switches(execution),
        execution.events.len(),
    )
}

impl<'a> Shortening<'a> {
    pub(crate) fn new(
        checker: &Checker,
        body: &'a (dyn Fn() + Sync),
        place: &'static Location<'static>,
        signature: Signature,
    ) -> Self {
        let exploration = Exploration::new(Box::new(Guided::new(Vec::new())), checker.limits());
        Shortening {
            body,
            place,
            signature,
            context: Context::new(exploration, checker.stack_size, checker.modelled),
            runs: 0,
            until: Instant::now() + MAX_TIME,
        }
    }

    /// These runs are watched too.
    pub(crate) fn watch(&self, limit: Duration, words: &Arc<LastWords>) -> Watch {
        watchdog::watch(&self.context, limit, words)
    }

    /// The failure as the shortest execution that was found shows it, and what that costs; `None` if
    /// none is shorter.
    pub(crate) fn run(mut self, plan: Vec<Planned>, cost: Cost) -> (Option<Failure>, Cost) {
        let Some(mut best) = self.attempt(plan) else {
            return (None, cost);
        };
        let mut improved = best.cost < cost;
        loop {
            let tidy = std::mem::take(&mut best.tidy);
            if let Some(better) = self.better(tidy, best.cost) {
                best = better;
                improved = true;
                continue;
            }
            let plans = std::mem::take(&mut best.closer);
            let better = plans
                .into_iter()
                .find_map(|plan| self.better(plan, best.cost));
            match better {
                Some(better) => best = better,
                None => break,
            }
            improved = true;
        }
        match improved {
            true => (Some(best.failure), best.cost),
            false => (None, cost),
        }
    }

    fn better(&mut self, plan: Vec<Planned>, than: Cost) -> Option<Attempt> {
        self.attempt(plan).filter(|attempt| attempt.cost < than)
    }

    /// Runs the program along the plan; `None` if it does not fail in the same way, or enough was
    /// tried.
    fn attempt(&mut self, plan: Vec<Planned>) -> Option<Attempt> {
        if self.runs >= MAX_RUNS || Instant::now() >= self.until {
            return None;
        }
        self.runs += 1;
        let context = &self.context;
        context.with_exploration(|exploration| {
            exploration
                .world()
                .set_strategy(Box::new(Guided::new(plan)));
        });
        run_execution(context, self.body, self.place);
        let finding = context.with_exploration(|exploration| exploration.finish());
        let signature = finding
            .as_ref()
            .and_then(|finding| Signature::of(finding, context));
        let attempt = finding
            .filter(|_| signature.as_ref() == Some(&self.signature))
            .map(|finding| {
                context.with_execution(|execution, _| Attempt {
                    failure: Failure::new(&finding, execution, context),
                    cost: cost(execution),
                    tidy: shorten::tidy(execution),
                    closer: shorten::closer(execution),
                })
            });
        context.clean_up();
        attempt
    }
}

/// What to try first, and what it must be better than; `None` if the story is too long for that.
pub(crate) fn first_plan(execution: &Execution) -> Option<(Vec<Planned>, Cost)> {
    (execution.events.len() <= MAX_EVENTS).then(|| {
        let tidy = shorten::tidy(execution);
        (tidy, cost(execution))
    })
}
