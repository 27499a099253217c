//! Which requirements could be covered, as far as an execution tells.
//!
//! Every two actions of the model on one lock, location or condition variable are a candidate (p, q).
//! It is dropped if it is *impossible as long as threads do the same with the same locks*:
//!
//! - by order: q comes before p for ever, or something that must not be in between does, for ever;
//! - by a lock: one that p's thread holds from p to the next action that must not come in between is
//!   held when q begins; or one that q's thread holds from the last such action to q is held when p
//!   begins.
//!
//! What must not be in between is a hold of the same lock for sync-pair and follows, a write for
//! def-use, any access where the metric says so. That of the same thread is a case of the first rule.
//! Who waits at q for p's lock must come there before that is given back, so for blocked-pair the
//! release of p must not come before q for ever, and no lock may guard both p's section and q.
//!
//! What is left *may* be possible: threads that do other things when they see other values, and order
//! by other means than creation, joins and locks, are not understood. A requirement is possible if any
//! two actions at its places are, in any execution that was looked at.
//!
//! Conditions SP1–4 and DU1–4 of Hong (2015), section 4.3.2, with reads of the own thread, the closure
//! of creation, joins, and what is in between by another thread added.

use std::borrow::Cow;
use std::collections::HashMap;

use super::catalogue::Requirement;
use super::metric::Metric;
use super::model::{Action, ActionKind, Model};
use crate::base::ids::SiteId;
use crate::object::effect::Mode;

/// What keeps a requirement from being covered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing that is known.
    Possible,
    /// Creation, joins and program order.
    Ordered,
    /// A lock.
    Locked,
}

/// With more actions than this on one thing, none of its candidates is dropped.
const MOST: usize = 128;

/// Where verdicts go.
pub(crate) trait Verdicts {
    /// Whether the requirement is known to be possible, so that nothing more need be said of it.
    fn is_possible(&self, requirement: Requirement) -> bool;

    /// What was found.
    fn say(&mut self, requirement: Requirement, verdict: Verdict);
}

/// Says what is possible.
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

/// Two actions, if there are so many, of each thread, place and kind.
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

/// All actions on one lock, location or condition variable, in the order they were run.
struct Thing<'a> {
    model: &'a Model,
    all: Cow<'a, [usize]>,
    /// There are too many to look at each two of them, so these are some: every two of the rest are like
    /// two of these but for what comes in between, and that is not asked.
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

    /// All pairs, by position.
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

    /// Whether q can come directly after p, but for actions that may be in between.
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

    /// Whether q's thread can wait for what p has taken.
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

    /// What q may read or replace.
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

    /// What may see the initial value.
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
