//! Feasibility of requirements, estimated from an execution.
//!
//! Every pair of actions of the model on one lock, location or condition variable is a candidate
//! (p, q). It is infeasible *as long as threads perform the same actions with the same locks* in
//! these cases:
//!
//! - by order: q always precedes p, or an action that must not be in between always is;
//! - by a lock: one that p's thread holds from p to the next action that must not come in between
//!   is held when q begins; or one that q's thread holds from the last such action to q is held
//!   when p begins.
//!
//! An action that must not be in between is a hold of the same lock for sync-pair and follows, a
//! write for def-use, any access where the metric says so. One of the same thread is a case of the
//! first rule. A thread that blocks at q on p's lock must get there before the release. So for
//! blocked-pair the release of p must not always precede q, and no lock may guard both p's section
//! and q.
//!
//! The other candidates *may* be feasible: the model does not understand threads that act
//! differently on other values, nor order by other means than spawn, join and locks. A requirement
//! is feasible if any two actions at its source locations are, in any execution that was examined.
//!
//! Conditions SP1–4 and DU1–4 of Hong (2015), section 4.3.2, with reads of the own thread, the
//! closure of spawns, joins, and actions in between by another thread added.

use std::borrow::Cow;
use std::collections::HashMap;

use super::catalogue::Requirement;
use super::metric::Metric;
use super::model::{Action, ActionKind, Model};
use crate::base::ids::SiteId;
use crate::object::effect::Mode;

/// A reason why a requirement cannot be covered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// No known reason.
    Possible,
    /// Spawn, join and program order.
    Ordered,
    /// A lock.
    Locked,
}

/// Maximum number of actions on one thing whose pairs are judged, because their number is
/// quadratic; with more, no candidate of the thing is judged infeasible.
const MOST: usize = 128;

/// Receiver of verdicts.
pub(crate) trait Verdicts {
    /// True when the requirement is known to be feasible, so that no further verdict is needed.
    fn is_possible(&self, requirement: Requirement) -> bool;

    /// Records a verdict.
    fn say(&mut self, requirement: Requirement, verdict: Verdict);
}

/// Reports the feasibility of all candidates.
pub(super) fn estimate(model: &Model, with_adjacent: bool, verdicts: &mut dyn Verdicts) {
    for holds in &model.locks {
        Thing::new(model, holds).locks(verdicts);
    }
    for (accesses, made) in model.locations.iter().zip(&model.made) {
        let thing = Thing::new(model, accesses);
        thing.accesses(with_adjacent, verdicts);
        if let Some(made) = made {
            thing.first_uses(*made, verdicts);
        }
    }
    for calls in &model.condvars {
        let all = Cow::Borrowed(calls.as_slice());
        let is_large = false;
        Thing {
            model,
            all,
            is_large,
        }
        .notifications(verdicts);
    }
}

/// Returns at most two actions of each thread, source location and kind.
fn some_of(model: &Model, all: &[usize]) -> Vec<usize> {
    let mut counts: HashMap<_, u32> = HashMap::new();
    let mut is_wanted = |action: &Action| {
        let count = counts
            .entry((action.id.thread, action.site, action.kind))
            .or_default();
        *count += 1;
        *count <= 2
    };
    let wanted = all
        .iter()
        .filter(|&&position| is_wanted(&model.actions[position]));
    wanted.copied().collect()
}

/// All actions on one lock, location or condition variable, in the order of the run.
struct Thing<'a> {
    model: &'a Model,
    all: Cow<'a, [usize]>,
    /// True when there are too many actions to judge each pair, and these are a selection. Every
    /// other pair resembles one of these except for the actions in between, which are then not
    /// considered.
    is_large: bool,
}

impl<'a> Thing<'a> {
    fn new(model: &'a Model, all: &'a [usize]) -> Self {
        let is_large = all.len() > MOST;
        let all = match is_large {
            true => Cow::Owned(some_of(model, all)),
            false => Cow::Borrowed(all),
        };
        Thing {
            model,
            all,
            is_large,
        }
    }

    fn action(&self, position: usize) -> &Action {
        &self.model.actions[self.all[position]]
    }

    fn kind(&self, position: usize) -> ActionKind {
        self.action(position).kind
    }

    /// Returns all pairs of positions.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let count = self.all.len();
        (0..count).flat_map(move |p| (0..count).filter(move |&q| q != p).map(move |q| (p, q)))
    }

    fn same_thread(&self, p: usize, q: usize) -> bool {
        self.action(p).id.thread == self.action(q).id.thread
    }

    fn pair(&self, metric: Metric, p: usize, q: usize) -> Requirement {
        Requirement::pair(metric, self.action(p).site, self.action(q).site)
    }

    fn precedes(&self, p: usize, q: usize) -> bool {
        self.model.precedes(self.action(p).id, self.action(q))
    }

    /// Judges whether q can directly follow p, except for actions that may be in between.
    fn judge(&self, p: usize, q: usize, parts: impl Fn(usize) -> bool) -> Verdict {
        if self.is_large {
            return Verdict::Possible;
        }
        if self.precedes(q, p) {
            return Verdict::Ordered;
        }
        let count = self.all.len();
        let next = (p + 1..count).find(|&x| self.same_thread(x, p) && parts(x));
        let last = (0..q).rev().find(|&x| self.same_thread(x, q) && parts(x));
        if self.precedes(p, q) {
            let between = |x: usize| parts(x) && self.precedes(p, x) && self.precedes(x, q);
            let is_parted = next.is_some_and(|next| self.precedes(next, q))
                || last.is_some_and(|last| self.precedes(p, last))
                || (0..count).any(between);
            if is_parted {
                return Verdict::Ordered;
            }
        }
        if self.same_thread(p, q) {
            return Verdict::Possible;
        }
        let shut_out = |from: usize, to: usize, other: usize| {
            self.model
                .shut_out(self.all[from], self.all[to], self.all[other])
        };
        let is_locked = next.is_some_and(|next| shut_out(p, next, q))
            || last.is_some_and(|last| shut_out(last, q, p));
        match is_locked {
            true => Verdict::Locked,
            false => Verdict::Possible,
        }
    }

    fn locks(&self, verdicts: &mut dyn Verdicts) {
        for (p, q) in self.pairs() {
            let (ActionKind::Hold { mode: first, .. }, ActionKind::Hold { mode, waits }) =
                (self.kind(p), self.kind(q))
            else {
                continue;
            };
            if first.goes_with(mode) {
                continue;
            }
            let by_other = !self.same_thread(p, q);
            let pair = self.pair(Metric::SyncPair, p, q);
            let follows = self.pair(Metric::Follows, p, q);
            let is_known =
                verdicts.is_possible(pair) && (!by_other || verdicts.is_possible(follows));
            if !is_known {
                let parts = |x| match self.kind(x) {
                    ActionKind::Hold { mode: other, .. } => {
                        mode == Mode::Write || other == Mode::Write
                    }
                    _ => false,
                };
                let verdict = self.judge(p, q, parts);
                verdicts.say(pair, verdict);
                if by_other {
                    verdicts.say(follows, verdict);
                }
            }
            if waits && by_other {
                let pair = self.pair(Metric::BlockedPair, p, q);
                if !verdicts.is_possible(pair) {
                    let verdict = self.may_wait(p, q);
                    let (first, second) = (self.action(p).site, self.action(q).site);
                    verdicts.say(pair, verdict);
                    verdicts.say(Requirement::at(Metric::Blocking, first), verdict);
                    verdicts.say(Requirement::at(Metric::Blocked, second), verdict);
                }
            }
        }
    }

    /// Judges whether q's thread can block on the lock that p has taken.
    fn may_wait(&self, p: usize, q: usize) -> Verdict {
        if self.is_large {
            return Verdict::Possible;
        }
        let over = self.model.release(self.all[p]);
        let is_over = over.is_some_and(|over| self.model.precedes(over, self.action(q)));
        if self.precedes(q, p) || is_over {
            return Verdict::Ordered;
        }
        match self.model.shut_out_of_section(self.all[p], self.all[q]) {
            true => Verdict::Locked,
            false => Verdict::Possible,
        }
    }

    fn accesses(&self, with_adjacent: bool, verdicts: &mut dyn Verdicts) {
        for (p, q) in self.pairs() {
            let (
                ActionKind::Access {
                    reads: p_reads,
                    writes: p_writes,
                    ..
                },
                ActionKind::Access { reads, writes, .. },
            ) = (self.kind(p), self.kind(q))
            else {
                continue;
            };
            let by_other = !self.same_thread(p, q);
            if p_writes {
                self.uses(p, q, by_other, reads, verdicts);
            }
            let pset = self.pair(Metric::PSet, p, q);
            let replaces = p_reads && !p_writes && writes && by_other;
            if replaces && !verdicts.is_possible(pset) {
                verdicts.say(pset, self.judge(p, q, |_| true));
            }
            let adjacent = self.pair(Metric::Adjacent, p, q);
            if with_adjacent && !verdicts.is_possible(adjacent) {
                verdicts.say(adjacent, self.judge(p, q, |_| true));
            }
        }
    }

    /// Judges def-use requirements of q on p.
    fn uses(&self, p: usize, q: usize, by_other: bool, reads: bool, verdicts: &mut dyn Verdicts) {
        let site = self.action(q).site;
        let metric = match by_other {
            true => Metric::RemoteDef,
            false => Metric::LocalDef,
        };
        let asked = [
            Some(self.pair(Metric::DefUse, p, q)),
            by_other.then(|| self.pair(Metric::PSet, p, q)),
            reads.then(|| Requirement::at(metric, site)),
        ];
        let asked = asked.into_iter().flatten();
        if asked.clone().all(|one| verdicts.is_possible(one)) {
            return;
        }
        let parts = |x| matches!(self.kind(x), ActionKind::Access { always: true, .. });
        let verdict = self.judge(p, q, parts);
        for requirement in asked {
            verdicts.say(requirement, verdict);
        }
    }

    /// Judges which actions may read the initial value.
    fn first_uses(&self, made: SiteId, verdicts: &mut dyn Verdicts) {
        for q in 0..self.all.len() {
            let pair = Requirement::pair(Metric::DefUse, made, self.action(q).site);
            if verdicts.is_possible(pair) {
                continue;
            }
            let writes = |x| matches!(self.kind(x), ActionKind::Access { always: true, .. });
            let is_late = (0..self.all.len()).any(|x| writes(x) && self.precedes(x, q));
            verdicts.say(
                pair,
                match is_late && !self.is_large {
                    true => Verdict::Ordered,
                    false => Verdict::Possible,
                },
            );
        }
    }

    fn notifications(&self, verdicts: &mut dyn Verdicts) {
        for (p, q) in self.pairs() {
            let (ActionKind::Notify, ActionKind::Wake { since }) = (self.kind(p), self.kind(q))
            else {
                continue;
            };
            if self.same_thread(p, q) {
                continue;
            }
            let mut wait = self.action(q).clone();
            wait.id.index = since;
            let too_early = self.model.precedes(self.action(p).id, &wait);
            let verdict = match too_early || self.precedes(q, p) {
                true => Verdict::Ordered,
                false => Verdict::Possible,
            };
            verdicts.say(self.pair(Metric::WaitNotify, p, q), verdict);
        }
    }
}
