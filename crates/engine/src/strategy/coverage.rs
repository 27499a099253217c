//! Goes for what has not been covered.
//!
//! Every thread runs up to its next access or lock; of those that stand there one is chosen.
//!
//! - *Singular*: one whose step covers something new; or else one after whose step another's does; or
//!   else the one whose place is part of the fewest requirements that are possible and not covered, so
//!   that the others still stand where they are needed.
//! - *Combinatorial*, after ten executions that covered nothing new: one whose step covers something
//!   never covered together with most of what this execution has covered; or else one after whose step
//!   another's does; or else the one whose place is part of the fewest requirements that would.
//!
//! Ties are broken at random, and so is every outcome but the thread. That is CUVE (Hong, 2015, section
//! 4.3). Three things are different. Now and then a thread is chosen at random, because else one that
//! goes round in circles may be all that goes on. Many executions of the second phase are variations
//! of those that covered something new: see [`corpus`](super::corpus). And whatever a step covers counts,
//! if the metric asks for it: also who would wait for the lock it takes.

use super::corpus::{Corpus, Stream};
use super::{Choice, Divergence, Strategy};
use crate::coverage::bits::Bits;
use crate::coverage::catalogue::Id;
use crate::coverage::effect::{self, Effect};
use crate::coverage::{Coverage, Metric, Metrics, Requirement, Standing};
use crate::event::{LocationId, ObjectId, Operation, SiteId, ThreadId};
use crate::execution::Execution;
use crate::rng::Rng;
use crate::world::{Ending, State};

/// After so many executions that covered nothing new, combinations are what counts.
const STALE: u32 = 10;
/// One choice in so many is random.
const RANDOM: usize = 64;
/// One execution in so many of the second phase is a variation of an earlier one.
const CHILDREN: usize = 8;

/// What counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Singular,
    Combinatorial,
}

/// How the execution that goes on is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Guided,
    Child,
}

/// A search that goes for what has not been covered.
#[derive(Debug)]
pub struct CoverageGuided {
    coverage: Coverage,
    rng: Rng,
    phase: Phase,
    stale: u32,
    way: Way,
    stream: Stream,
    corpus: Corpus,
    /// By place: what it is part of that is to be counted.
    related: Vec<Vec<Id>>,
    /// What this execution has covered so far.
    current: Bits,
    candidates: Vec<ThreadId>,
    wins: Vec<Option<Id>>,
}

/// An access or a call that takes a lock.
#[derive(Clone, Copy)]
enum Step {
    Lock(ObjectId, Effect),
    Access {
        location: LocationId,
        reads: bool,
        writes: bool,
    },
}

fn step(operation: &Operation) -> Option<Step> {
    let access = |location, reads, writes| Step::Access {
        location,
        reads,
        writes,
    };
    match *operation {
        Operation::Load { location, .. } => Some(access(location, true, false)),
        Operation::Store { location, .. } => Some(access(location, false, true)),
        Operation::Update { location, .. } => Some(access(location, true, true)),
        _ => match effect::intended(operation) {
            Some((object, effect @ Effect::Take { .. })) => Some(Step::Lock(object, effect)),
            _ => None,
        },
    }
}

impl CoverageGuided {
    /// Goes for the requirements of these metrics.
    pub fn new(metrics: Metrics, seed: u64) -> Self {
        CoverageGuided {
            coverage: Coverage::combining(metrics, metrics),
            rng: Rng::new(seed),
            phase: Phase::Singular,
            stale: 0,
            way: Way::Guided,
            stream: Stream::default(),
            corpus: Corpus::default(),
            related: Vec::new(),
            current: Bits::default(),
            candidates: Vec::new(),
            wins: Vec::new(),
        }
    }

    /// Counts as covered what was covered elsewhere.
    pub fn cover(&mut self, requirement: Requirement) {
        self.coverage.cover(requirement);
    }

    /// Earlier runs have tried long enough for what they did not cover: one more execution that covers
    /// nothing new, and combinations are what counts.
    pub fn has_tried(&mut self) {
        self.stale = STALE - 1;
    }

    /// Notes what each place is part of.
    fn relate(&mut self) {
        self.related.iter_mut().for_each(Vec::clear);
        for (id, requirement, standing) in self.coverage.members() {
            let counts = match self.phase {
                Phase::Singular => standing == Standing::NotTried,
                Phase::Combinatorial => standing == Standing::Covered,
            };
            if !counts {
                continue;
            }
            let second = requirement.second.filter(|&it| it != requirement.first);
            for site in [Some(requirement.first), second].into_iter().flatten() {
                if site.index() >= self.related.len() {
                    self.related.resize_with(site.index() + 1, Vec::new);
                }
                self.related[site.index()].push(id);
            }
        }
    }

    /// The step of a thread that could go on.
    fn guided(&mut self, state: &State) -> ThreadId {
        let enabled = state.enabled();
        if enabled.len() == 1 {
            return enabled[0];
        }
        if self.rng.below(RANDOM) == 0 {
            return enabled[self.rng.below(enabled.len())];
        }
        let is_free = |&thread: &ThreadId| step(state.pending(thread)).is_none();
        self.candidates.clear();
        self.candidates
            .extend(enabled.iter().copied().filter(is_free));
        if self.candidates.is_empty() {
            self.candidates.extend_from_slice(enabled);
            self.coverage.current_members(&mut self.current);
            self.best(state);
        }
        self.candidates[self.rng.below(self.candidates.len())]
    }

    /// Keeps the best of the candidates.
    fn best(&mut self, state: &State) {
        if self.keep(|this, thread| this.now(state, thread)) {
            return;
        }
        if self.keep(|this, thread| this.afterwards(state, thread)) {
            return;
        }
        self.keep(|this, thread| u32::MAX - this.potential(state, thread));
    }

    /// Keeps the candidates with the highest value, if that is not zero.
    fn keep(&mut self, value: impl Fn(&mut Self, ThreadId) -> u32) -> bool {
        let mut candidates = std::mem::take(&mut self.candidates);
        let values: Vec<u32> = candidates
            .iter()
            .map(|&thread| value(self, thread))
            .collect();
        let highest = values.iter().copied().max().unwrap_or(0);
        if highest > 0 {
            let mut values = values.iter();
            candidates.retain(|_| values.next() == Some(&highest));
        }
        self.candidates = candidates;
        highest > 0
    }

    /// What is won if the thread goes on.
    fn now(&mut self, state: &State, thread: ThreadId) -> u32 {
        let mut wins = std::mem::take(&mut self.wins);
        wins.clear();
        self.covers(state, thread, |win| wins.push(win));
        let value = wins.iter().map(|win| self.value(*win)).max().unwrap_or(0);
        self.wins = wins;
        value
    }

    /// What is won if another thread goes on after this one.
    fn afterwards(&mut self, state: &State, thread: ThreadId) -> u32 {
        let others = state.enabled().iter().filter(|&&other| other != thread);
        let mut value = 0;
        for &other in others {
            self.covers_after(state, thread, other, |win| {
                value = value.max(self.value(win));
            });
        }
        value
    }

    /// How much it is worth to cover a requirement; one without a number was never covered.
    fn value(&self, id: Option<Id>) -> u32 {
        let Some(id) = id else {
            return match self.phase {
                Phase::Singular => 1,
                Phase::Combinatorial => 1 + self.current.count(),
            };
        };
        if self.coverage.is_current(id) {
            return 0;
        }
        let is_new = u32::from(!self.coverage.is_covered(id));
        match self.phase {
            Phase::Singular => is_new,
            Phase::Combinatorial => is_new + self.coverage.never_with(id, &self.current),
        }
    }

    /// How much the thread's place could still be good for.
    fn potential(&self, state: &State, thread: ThreadId) -> u32 {
        let site = state.pending_site(thread);
        let related = self.related.get(site.index());
        let related = related.into_iter().flatten();
        let counts = |&&id: &&Id| {
            !self.coverage.is_current(id)
                && (self.phase == Phase::Singular
                    || self.coverage.never_with(id, &self.current) > 0)
        };
        related.filter(counts).count() as u32
    }

    fn win(&self, requirement: Requirement, take: &mut impl FnMut(Option<Id>)) {
        if self.coverage.combined().contains(requirement.metric) {
            take(self.coverage.find(requirement));
        }
    }

    /// What the thread's step would cover.
    fn covers(&self, state: &State, thread: ThreadId, mut take: impl FnMut(Option<Id>)) {
        let site = state.pending_site(thread);
        let pass = self.coverage.pass();
        match step(state.pending(thread)) {
            Some(Step::Lock(object, Effect::Take { mode, .. })) => {
                if let Some(last) = pass.locks.last(object, mode) {
                    self.follows(last.site, site, last.thread != thread, &mut take);
                }
                for &(other, held) in pass.locks.held(thread) {
                    if other != object {
                        self.win(Requirement::pair(Metric::LockOrder, held, site), &mut take);
                    }
                }
                for &other in state.enabled().iter().filter(|&&other| other != thread) {
                    if let Some(Step::Lock(wanted, Effect::Take { waits: true, .. })) =
                        step(state.pending(other))
                        && wanted == object
                    {
                        let waits = state.pending_site(other);
                        let pair = Requirement::pair(Metric::BlockedPair, site, waits);
                        self.win(pair, &mut take);
                        self.win(Requirement::at(Metric::Blocking, site), &mut take);
                        self.win(Requirement::at(Metric::Blocked, waits), &mut take);
                    }
                }
            }
            Some(Step::Access {
                location,
                reads,
                writes,
            }) => {
                let variable = &state.execution().locations[location.index()];
                if let Some(last) = variable.last_write {
                    if let Some(written) = pass.site(last) {
                        self.uses(written, site, last.thread != thread, reads, &mut take);
                    }
                } else if let Some(made) = variable.made {
                    self.win(Requirement::pair(Metric::DefUse, made, site), &mut take);
                }
                if writes
                    && let Some((read, reader)) = pass.data.last_read(location)
                    && reader != thread
                {
                    self.win(Requirement::pair(Metric::PSet, read, site), &mut take);
                }
            }
            _ => {}
        }
    }

    /// What the second thread's step would cover right after that of the first.
    fn covers_after(
        &self,
        state: &State,
        first: ThreadId,
        second: ThreadId,
        mut take: impl FnMut(Option<Id>),
    ) {
        let (before, after) = (state.pending_site(first), state.pending_site(second));
        match (step(state.pending(first)), step(state.pending(second))) {
            (
                Some(Step::Lock(one, Effect::Take { mode, .. })),
                Some(Step::Lock(other, Effect::Take { mode: next, .. })),
            ) if one == other && !mode.goes_with(next) => {
                self.follows(before, after, true, &mut take);
            }
            (
                Some(Step::Access {
                    location,
                    writes: first_writes,
                    ..
                }),
                Some(Step::Access {
                    location: other,
                    reads,
                    writes,
                }),
            ) if location == other => {
                if first_writes {
                    self.uses(before, after, true, reads, &mut take);
                } else if writes {
                    self.win(Requirement::pair(Metric::PSet, before, after), &mut take);
                }
                self.win(
                    Requirement::pair(Metric::Adjacent, before, after),
                    &mut take,
                );
            }
            _ => {}
        }
    }

    fn follows(
        &self,
        first: SiteId,
        second: SiteId,
        by_other: bool,
        take: &mut impl FnMut(Option<Id>),
    ) {
        self.win(Requirement::pair(Metric::SyncPair, first, second), take);
        if by_other {
            self.win(Requirement::pair(Metric::Follows, first, second), take);
        }
    }

    fn uses(
        &self,
        first: SiteId,
        second: SiteId,
        by_other: bool,
        reads: bool,
        take: &mut impl FnMut(Option<Id>),
    ) {
        self.win(Requirement::pair(Metric::DefUse, first, second), take);
        if by_other {
            self.win(Requirement::pair(Metric::PSet, first, second), take);
        }
        if reads {
            let metric = match by_other {
                true => Metric::RemoteDef,
                false => Metric::LocalDef,
            };
            self.win(Requirement::at(metric, second), take);
        }
    }
}

impl Strategy for CoverageGuided {
    fn as_guided(&mut self) -> Option<&mut CoverageGuided> {
        Some(self)
    }

    fn begin(&mut self) -> bool {
        self.coverage.begin();
        self.stream.clear();
        self.way = Way::Guided;
        if self.phase == Phase::Combinatorial
            && self.rng.below(CHILDREN) == 0
            && self.corpus.child(&mut self.stream, &mut self.rng)
        {
            self.way = Way::Child;
        } else {
            self.relate();
        }
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.coverage.see(state.execution());
        let enabled = state.enabled();
        let thread = match self.way {
            Way::Child => enabled[self.stream.next(enabled.len(), &mut self.rng)],
            Way::Guided => {
                let thread = self.guided(state);
                let index = enabled.iter().position(|&it| it == thread).unwrap_or(0);
                self.stream.push(index, enabled.len());
                thread
            }
        };
        let outcomes = state.outcomes(thread) as usize;
        let mut outcome = 0;
        if outcomes > 1 {
            outcome = self.stream.next(outcomes, &mut self.rng) as u32;
            while !state.allows(thread, outcome) {
                outcome = self.rng.below(outcomes) as u32;
            }
        }
        Ok(Choice { thread, outcome })
    }

    fn end(&mut self, execution: &Execution, _ending: &Ending) {
        let gain = self.coverage.finish(execution);
        if gain.requirements > 0 || gain.combinations > 0 {
            self.corpus.add(&self.stream);
        }
        if self.phase == Phase::Singular {
            self.stale = match gain.requirements {
                0 => self.stale + 1,
                _ => 0,
            };
            if self.stale >= STALE {
                self.phase = Phase::Combinatorial;
            }
        }
    }
}
