//! Every order of the operations near a change, those with few reversed races first.
//!
//! The first execution runs each thread as far as it gets. From every execution, each race between two operations near the
//! change is reversed (see [`groups`]), those with both at the given source locations first; none of the orders is run
//! twice. Groups of threads that share nothing near the change are independent: an execution follows an order of each, so
//! that an unrelated change costs no execution. What is not near the change runs as in [`NearWalk`](super::NearWalk).
//!
//! When the orders are used up, the strategy ends. That says nothing of what is not near the change.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::target::Thing;
use super::super::{Foregone, Impact};
use super::Region;
use super::reversals::{Order, groups};
use super::turns::Approach;
use crate::base::ids::{SiteId, ThreadId};
use crate::base::rng::Rng;
use crate::model::choice::{Choice, Planned};
use crate::model::ending::{Divergence, Ending};
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::model::schedule::ThreadPath;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Randomness, Strategy};

/// Maximum number of orders that wait, to bound the memory.
const MOST_WAITING: usize = 10_000;
/// Number of waiting orders that are looked through for those of other groups.
const LOOKED_AT: usize = 200;
/// Maximum events of an execution from which orders are derived.
const MOST_EVENTS: usize = 20_000;

/// Order in which orders are run: number of reversed races, distance from the change, and a random number.
type Rank = (u32, u8, u64);

/// Runs the orders of the operations near a change.
#[derive(Debug)]
pub struct NearOrders {
    rng: Rng,
    region: Region,
    foregone: Foregone,
    approach: Approach,
    waiting: BTreeMap<Rank, (Vec<ThreadPath>, Order)>,
    /// Names of all orders that have ever waited, and of those that executions had.
    tried: HashSet<u64>,
    seen: HashSet<u64>,
    lanes: Vec<Lane>,
    /// The thread of the last operation near the change.
    current: Option<ThreadId>,
    /// Loads that it has performed since it last did something else: one that it repeats is a loop that waits.
    loads: HashSet<(SiteId, usize)>,
    /// Numbers of outcomes of operations near the change that have several, by position.
    outcomes: HashMap<usize, u32>,
    has_run: bool,
}

/// The order that the threads of a group follow.
#[derive(Debug)]
struct Lane {
    threads: Vec<ThreadPath>,
    steps: Vec<(Planned, SiteId)>,
    next: usize,
    reversed: u32,
}

impl NearOrders {
    /// Creates the strategy for these source locations, and those that use the same locations and objects.
    pub fn new(impact: Impact, seed: u64) -> Self {
        let mut region = Region::new(impact);
        region.is_wide = true;
        NearOrders {
            rng: Rng::new(seed),
            region,
            foregone: Foregone::default(),
            approach: Approach::default(),
            waiting: BTreeMap::new(),
            tried: HashSet::new(),
            seen: HashSet::new(),
            lanes: Vec::new(),
            current: None,
            loads: HashSet::new(),
            outcomes: HashMap::new(),
            has_run: false,
        }
    }

    /// Takes the next order, and the next one of each group of other threads.
    fn take_lanes(&mut self) {
        self.lanes.clear();
        let mut taken = Vec::new();
        for (rank, (threads, _)) in self.waiting.iter().take(LOOKED_AT) {
            let is_taken = |path: &ThreadPath| {
                let mut lanes = taken.iter().map(|rank| &self.waiting[rank].0);
                lanes.any(|threads| threads.contains(path))
            };
            if !threads.iter().any(is_taken) {
                taken.push(*rank);
            }
        }
        for rank in taken {
            let (threads, order) = self.waiting.remove(&rank).expect("it waits");
            self.lanes.push(Lane {
                threads,
                steps: order.steps,
                next: 0,
                reversed: rank.0,
            });
        }
    }

    /// Returns the next thread of some group, with the outcome of its operation if the order has one that is possible.
    fn next_of_lanes(&mut self, state: &State) -> Option<Choice> {
        let there = &self.approach.there;
        for lane in &mut self.lanes {
            while let Some((step, site)) = lane.steps.get(lane.next) {
                let thread = state.execution().thread_at(&step.thread);
                let thread = thread.filter(|&thread| !state.has_ended(thread));
                let Some(thread) = thread else {
                    lane.next += 1;
                    continue;
                };
                if !there.contains(&thread) {
                    break;
                }
                // What was not shared when the order was made is no step of it.
                if state.pending_site(thread) != *site {
                    return Some(sampling::run(&mut self.rng, state, thread));
                }
                lane.next += 1;
                return Some(match state.may_replay(thread, step.outcome) {
                    true => Choice {
                        thread,
                        outcome: step.outcome,
                    },
                    false => sampling::run(&mut self.rng, state, thread),
                });
            }
        }
        None
    }

    /// Returns a thread that no unfinished order concerns.
    fn next_free(&mut self, state: &State) -> Option<ThreadId> {
        let execution = state.execution();
        let is_free = |thread: ThreadId| {
            let mut unfinished = self
                .lanes
                .iter()
                .filter(|lane| lane.next < lane.steps.len());
            let path = execution.path(thread);
            unfinished.all(|lane| !lane.threads.contains(&path))
        };
        let there = self.approach.there.iter().copied();
        let free: Vec<_> = there.filter(|&thread| is_free(thread)).collect();
        let others = |&thread: &ThreadId| Some(thread) != self.current;
        match self.current {
            Some(current) if free.contains(&current) && !self.waits(state, current) => {
                Some(current)
            }
            _ if free.is_empty() => None,
            _ => {
                let others: Vec<_> = free.iter().copied().filter(others).collect();
                let from = if others.is_empty() { free } else { others };
                Some(from[self.rng.below(from.len())])
            }
        }
    }

    /// True when the thread is about to repeat a load and has done nothing else since.
    fn waits(&self, state: &State, thread: ThreadId) -> bool {
        let site = state.pending_site(thread);
        let thing = Thing::of(state.pending(thread));
        thing.is_some_and(|thing| self.loads.contains(&(site, thing.index())))
    }

    /// Records that the thread performs its operation near the change.
    fn performs(&mut self, state: &State, thread: ThreadId) {
        if self.current.replace(thread) != Some(thread) {
            self.loads.clear();
        }
        match (state.pending(thread), Thing::of(state.pending(thread))) {
            (Operation::Load { .. }, Some(thing)) => {
                self.loads
                    .insert((state.pending_site(thread), thing.index()));
            }
            (operation, _) if operation.makes_way() => {}
            _ => self.loads.clear(),
        }
    }

    /// Skips a step of an order that does not fit: its thread cannot run. The lock that it waits for is near, too, as another
    /// order of that could let it run first.
    fn skip(&mut self, state: &State) {
        let mut lanes = self.lanes.iter_mut();
        let lane = lanes.find(|lane| lane.next < lane.steps.len());
        let lane = lane.expect("some thread is not free");
        let (step, _) = &lane.steps[lane.next];
        if let Some(thread) = state.execution().thread_at(&step.thread)
            && Thing::of(state.pending(thread)).is_some()
        {
            self.region.add(state.pending_site(thread));
        }
        lane.next += 1;
    }

    fn pick(&mut self, state: &State) -> Choice {
        if let Some(thread) = self.approach.next(&mut self.rng, state, &mut self.region) {
            return sampling::run(&mut self.rng, state, thread);
        }
        loop {
            if let Some(choice) = self.next_of_lanes(state) {
                self.performs(state, choice.thread);
                return choice;
            }
            if let Some(thread) = self.next_free(state) {
                self.performs(state, thread);
                return self.latest(state, thread);
            }
            self.skip(state);
        }
    }

    /// Chooses the thread, with the outcome of the latest write.
    fn latest(&mut self, state: &State, thread: ThreadId) -> Choice {
        match state.pending(thread) {
            Operation::Choose { .. } | Operation::Chance { .. } => {
                sampling::run(&mut self.rng, state, thread)
            }
            _ => Choice::run(thread),
        }
    }
}

impl Strategy for NearOrders {
    fn begin(&mut self) -> bool {
        self.foregone.begin();
        self.approach.begin();
        self.current = None;
        self.loads.clear();
        self.outcomes.clear();
        self.take_lanes();
        let has_left = !self.lanes.is_empty();
        has_left || !std::mem::replace(&mut self.has_run, true)
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        if let Some(thread) = self.foregone.next(state) {
            return Ok(sampling::run(&mut self.rng, state, thread));
        }
        let mut choice = self.pick(state);
        let thread = self.approach.performs(&mut self.rng, state, choice.thread);
        if thread != choice.thread {
            choice = sampling::run(&mut self.rng, state, thread);
        }
        let outcomes = state.outcomes(thread);
        if outcomes > 1 {
            self.outcomes
                .insert(state.execution().events.len(), outcomes);
        }
        Ok(choice)
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        self.region.learn(execution);
        if !sampling::is_whole(ending) || execution.events.len() > MOST_EVENTS {
            return;
        }
        for group in groups(execution, &mut self.region, &self.outcomes) {
            if !self.seen.insert(group.name) {
                continue;
            }
            let is_its = |lane: &&Lane| lane.threads.iter().any(|it| group.threads.contains(it));
            let reversed = self
                .lanes
                .iter()
                .filter(is_its)
                .map(|lane| lane.reversed)
                .max();
            let reversed = reversed.map_or(1, |reversed| reversed + 1);
            for order in group.alternatives {
                if self.waiting.len() < MOST_WAITING && self.tried.insert(order.name) {
                    let rank = (reversed, order.distance, self.rng.next());
                    self.waiting.insert(rank, (group.threads.clone(), order));
                }
            }
        }
    }

    fn learn(&mut self, execution: &Execution, _ending: &Ending) {
        self.region.learn(execution);
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            randomness: Randomness::Seeded,
            ..Capabilities::SAMPLER
        }
    }
}
