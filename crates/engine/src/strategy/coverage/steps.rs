//! The requirements that the next step of a thread would cover.

use super::CoverageGuided;
use crate::analysis::coverage::catalogue::Id;
use crate::analysis::coverage::{Metric, Requirement};
use crate::base::ids::{LocationId, ObjectId, SiteId, ThreadId};
use crate::model::operation::Operation;
use crate::object::effect::Effect;
use crate::world::State;

/// An access, or a call that takes a lock.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Lock(ObjectId, Effect),
    Access {
        location: LocationId,
        reads: bool,
        writes: bool,
    },
}

pub(super) fn step(operation: &Operation) -> Option<Step> {
    let access = |location, reads, writes| Step::Access {
        location,
        reads,
        writes,
    };
    match *operation {
        Operation::Load { location, .. } => Some(access(location, true, false)),
        Operation::Store { location, .. } => Some(access(location, false, true)),
        Operation::Update { location, .. } => Some(access(location, true, true)),
        _ => match operation.lock_effect() {
            Some((object, effect @ Effect::Take { .. })) => Some(Step::Lock(object, effect)),
            _ => None,
        },
    }
}

impl CoverageGuided {
    fn win(&self, requirement: Requirement, take: &mut impl FnMut(Option<Id>)) {
        if self.coverage.combined().contains(requirement.metric) {
            take(self.coverage.find(requirement));
        }
    }

    /// Reports the requirements that the thread's step would cover.
    pub(super) fn covers(&self, state: &State, thread: ThreadId, mut take: impl FnMut(Option<Id>)) {
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
                if let Some(last) = pass.data.last_access(location) {
                    self.win(Requirement::pair(Metric::Adjacent, last, site), &mut take);
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

    /// Reports the requirements that the second thread's step would cover directly after the
    /// first's.
    pub(super) fn covers_after(
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
