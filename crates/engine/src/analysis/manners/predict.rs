//! Races that another order of the critical sections may show.
//!
//! Two accesses of one cell by different threads, one of them a write, are a predicted race if no lock is held
//! at both (two readers of one lock do not exclude each other) and nothing but locks orders them.

use std::collections::{HashMap, HashSet};

use super::traced::{Lockset, Touch, Traced};
use crate::base::ids::{CellId, EventId};
use crate::check::notified;
use crate::memory::happens_before::{EveryEvent, HappensBefore};
use crate::model::access::Access;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::effect::Mode;
use crate::object::{Call, Exclusion, condvar};

/// A predicted race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PredictedRace {
    /// The cell.
    pub cell: CellId,
    /// The earlier access in this run, as an index among the accesses of the execution.
    pub first: usize,
    /// The later access.
    pub second: usize,
}

impl PredictedRace {
    /// Returns both accesses.
    pub fn accesses(&self, execution: &Execution) -> [Access; 2] {
        [self.first, self.second].map(|index| execution.accesses[index].1)
    }
}

/// Computes happens-before without the order that locks make. A thread that was notified comes after the
/// notification.
pub(crate) fn order_without_locks(execution: &Execution) -> HappensBefore<EveryEvent> {
    order_without(execution, |_| false)
}

/// Computes the same without the order that atomic variables make.
pub(super) fn order_without_locks_and_atomics(execution: &Execution) -> HappensBefore<EveryEvent> {
    order_without(execution, |event| {
        event.operation.location().is_some() || matches!(event.operation, Operation::Fence { .. })
    })
}

fn order_without(
    execution: &Execution,
    is_left_out: impl Fn(&Event) -> bool,
) -> HappensBefore<EveryEvent> {
    let notifications = notified::all(execution);
    let is_wake = |operation: &Operation| {
        matches!(
            operation,
            Operation::Call {
                call: Call::Condvar(condvar::Call::Wake { .. }),
                ..
            }
        )
    };
    let mut woken: HashMap<EventId, EventId> = HashMap::new();
    for notification in &notifications {
        let later = &execution.events[notification.position..];
        for &thread in &notification.reached {
            let mut own = later.iter().filter(|event| event.id.thread == thread);
            if let Some(wake) = own.find(|event| is_wake(&event.operation)) {
                woken.insert(wake.id, later[0].id);
            }
        }
    }
    let is_lock = |event: &Event| {
        let object = event.operation.object();
        matches!(event.operation, Operation::Call { .. })
            && object.is_some_and(|object| {
                matches!(
                    execution.objects[object.index()].exclusion(),
                    Exclusion::Lock { .. }
                )
            })
    };
    HappensBefore::without(
        execution,
        |event| is_lock(event) || is_left_out(event),
        |event| woken.get(&event).copied(),
    )
}

/// True when a lock excludes one of the holders while the other holds it.
fn excludes(one: &Lockset, other: &Lockset) -> bool {
    let both = one
        .iter()
        .flat_map(|&first| other.iter().map(move |&second| (first, second)));
    let mut both = both.filter(|((first, _), (second, _))| first == second);
    both.any(|((_, first), (_, second))| first == Mode::Write || second == Mode::Write)
}

/// Number of occurrences of one step that are compared: the first and the last.
const ENDS: usize = 2;

impl Traced<'_> {
    /// Returns the accesses of each shared cell, with the first and the last occurrence of each step of a
    /// manner.
    fn by_cell(&self) -> Vec<Vec<Touch>> {
        let mut ends: HashMap<(CellId, usize, usize, usize), [Touch; ENDS]> = HashMap::new();
        for touch in &self.touches {
            let key = (touch.cell, touch.manner, touch.step, touch.locks);
            let both = ends.entry(key).or_insert([*touch, *touch]);
            both[ENDS - 1] = *touch;
        }
        let mut by_cell = vec![Vec::new(); self.execution.cells];
        for [first, last] in ends.into_values() {
            by_cell[first.cell.index()].push(first);
            if last.access != first.access {
                by_cell[first.cell.index()].push(last);
            }
        }
        for touches in &mut by_cell {
            touches.sort_by_key(|touch| touch.access);
        }
        by_cell
    }

    /// True when locks permit a race of these two accesses.
    fn conflict(&self, one: &Touch, other: &Touch) -> bool {
        let [first, second] = [one, other].map(|touch| &self.execution.accesses[touch.access].1);
        first.thread != second.thread
            && (first.writes || second.writes)
            && !(first.atomic && second.atomic)
            && !excludes(&self.locksets[one.locks], &self.locksets[other.locks])
    }

    /// True when every order of the critical sections has one of these accesses before the other.
    fn are_ordered(&self, one: &Touch, other: &Touch) -> bool {
        let [first, second] = [one, other].map(|touch| &self.execution.accesses[touch.access].1);
        self.must_precede(first.thread, first.index, second.thread, second.index)
            || self.must_precede(second.thread, second.index, first.thread, first.index)
    }

    /// True when locks protect all data that both manners access: no race of the two is possible in any order.
    ///
    /// Every variable must be protected, not only one of them. Two accesses are compared with each other: that
    /// one lock is held at all accesses of a variable is sufficient, and not necessary.
    pub fn is_protected(&self, one: usize, other: usize) -> bool {
        let of = |manner| {
            self.touches
                .iter()
                .filter(move |touch| touch.manner == manner)
        };
        let mut both = of(one).flat_map(|first| of(other).map(move |second| (first, second)));
        !both.any(|(first, second)| first.cell == second.cell && self.conflict(first, second))
    }

    /// Returns the predicted races, one for each pair of steps of two manners for which `is_wanted`; passes the
    /// manners of each on.
    pub(super) fn races(
        &self,
        is_wanted: impl Fn(usize, usize) -> bool,
        mut found: impl FnMut(usize, usize),
    ) -> Vec<PredictedRace> {
        let mut races = Vec::new();
        let mut known = HashSet::new();
        for touches in self.by_cell() {
            for (index, one) in touches.iter().enumerate() {
                for other in &touches[index + 1..] {
                    let key = [(one.manner, one.step), (other.manner, other.step)];
                    let is_race = self.conflict(one, other)
                        && is_wanted(one.manner.min(other.manner), one.manner.max(other.manner))
                        && !known.contains(&key)
                        && !self.are_ordered(one, other);
                    if is_race {
                        known.insert(key);
                        found(one.manner, other.manner);
                        races.push(PredictedRace {
                            cell: one.cell,
                            first: one.access,
                            second: other.access,
                        });
                    }
                }
            }
        }
        races
    }
}

/// Returns the races that an execution, whose accesses were kept, predicts.
pub fn races(execution: &Execution) -> Vec<PredictedRace> {
    Traced::of(execution).races(|_, _| true, |_, _| ())
}
