//! The uses of data in an execution: accesses of cells, accesses of atomic variables, and critical sections, which
//! use the data in their lock.

use std::collections::HashMap;

use crate::base::ids::{EventId, LocationId, ObjectId, SiteId, ThreadId};
use crate::check::held;
use crate::model::declared::Datum;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::Object;
use crate::object::effect::Mode;

/// A use of data by a thread, from one of its points up to another.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// The thread.
    pub thread: ThreadId,
    /// The data.
    pub datum: Datum,
    /// Its place in the source.
    pub site: SiteId,
    /// True when it reads.
    pub reads: bool,
    /// True when it writes.
    pub writes: bool,
    /// Number of events of the thread with which it has certainly not begun.
    pub(super) from: u32,
    /// Number of events of the thread with which it is over.
    pub(super) to: u32,
    /// Index of the thread's event that is the end of the use or follows it.
    pub(super) last: u32,
    /// Its beginning and its end in the order of the run: twice the number of events before a point between two
    /// events, and one more for the event after it.
    pub(super) span: [usize; 2],
    /// Its place in coherence order if it is an access of an atomic variable: of a write an even number, of a read the
    /// number after that of its source.
    pub(super) rank: usize,
    /// The index of the access, if it is one of a cell.
    pub(super) access: Option<usize>,
}

impl Use {
    /// The event whose clock shows what comes before the use.
    pub(super) fn first_event(&self) -> Option<EventId> {
        let thread = self.thread;
        let index = match self.access {
            Some(_) => self.last.checked_sub(1)?,
            None => self.from,
        };
        Some(EventId { thread, index })
    }

    /// True when the use was over before the other one began.
    pub(super) fn was_before(&self, other: &Use) -> bool {
        self.span[1] < other.span[0]
            || self.access.is_some() && other.access.is_some() && {
                self.span[1] == other.span[0] && self.access < other.access
            }
    }

    /// True when the language or a lock makes the use atomic.
    pub(super) fn is_atomic(&self) -> bool {
        !matches!(self.datum, Datum::Cell(_))
    }
}

/// The treatment of critical sections whose thread has not recorded how it used the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sections {
    /// Every critical section uses the data in its lock.
    All,
    /// A critical section of a `Mutex` uses the data if it is recorded; every other one does.
    Recorded,
}

/// Returns all uses in the order in which they began.
pub(super) fn all(execution: &Execution, sections: Sections) -> Vec<Use> {
    let mut uses = Vec::new();
    accesses_of_locations(execution, &mut uses);
    critical_sections(execution, sections, &mut uses);
    for (index, &(cell, access)) in execution.accesses.iter().enumerate() {
        // An allocation is no use.
        if access.made {
            continue;
        }
        uses.push(Use {
            thread: access.thread,
            datum: Datum::Cell(cell),
            site: access.site,
            reads: !access.writes,
            writes: access.writes,
            from: access.index.saturating_sub(1),
            to: access.index,
            last: access.index,
            span: [2 * access.after; 2],
            rank: 0,
            access: Some(index),
        });
    }
    uses.sort_by_key(|one| (one.span[0], one.access));
    uses
}

fn accesses_of_locations(execution: &Execution, uses: &mut Vec<Use>) {
    let ranks = coherence(execution);
    for (position, event) in execution.events.iter().enumerate() {
        let reads = !matches!(event.operation, Operation::Store { .. });
        let is_access = matches!(
            event.operation,
            Operation::Load { .. } | Operation::Store { .. } | Operation::Update { .. }
        );
        let Some(location) = event.operation.location().filter(|_| is_access) else {
            continue;
        };
        let rank = match event.writes() {
            true => ranks.get(&event.id).copied().unwrap_or(0),
            false => {
                let source = event.source.and_then(|source| ranks.get(&source));
                source.copied().unwrap_or(0) + 1
            }
        };
        uses.push(Use {
            thread: event.id.thread,
            datum: Datum::Location(location),
            site: event.site,
            reads,
            writes: event.writes(),
            from: event.id.index,
            to: event.id.index + 1,
            last: event.id.index,
            span: [2 * position + 1; 2],
            rank,
            access: None,
        });
    }
}

/// Returns the place of each write in the coherence order of its location: 2, 4 and so on.
fn coherence(execution: &Execution) -> HashMap<EventId, usize> {
    let mut after: HashMap<(LocationId, Option<EventId>), EventId> = HashMap::new();
    for event in &execution.events {
        if let Some(location) = event.operation.location().filter(|_| event.writes()) {
            after.insert((location, event.source), event.id);
        }
    }
    let mut ranks = HashMap::new();
    for location in (0..execution.locations.len()).map(LocationId::new) {
        let (mut last, mut rank) = (None, 0);
        while let Some(&next) = after.get(&(location, last)) {
            rank += 2;
            ranks.insert(next, rank);
            last = Some(next);
        }
    }
    ranks
}

fn critical_sections(execution: &Execution, sections: Sections, uses: &mut Vec<Use>) {
    let recorded = execution.declared.iter().flat_map(|it| &it.uses);
    let recorded: HashMap<_, _> = recorded
        .map(|it| ((it.thread, it.lock, it.released), it.writes))
        .collect();
    for hold in held::all(execution) {
        let Some(end) = hold.to else { continue };
        let (from, to) = (&execution.events[hold.from], &execution.events[end]);
        let lock = hold.object;
        let is_mutex = matches!(execution.objects[lock.index()], Object::Mutex(_));
        let writes = match sections {
            Sections::Recorded if is_mutex => {
                match recorded.get(&(hold.thread, lock, to.id.index)) {
                    Some(&writes) => writes,
                    None => continue,
                }
            }
            _ => !hold.shared,
        };
        uses.push(Use {
            thread: hold.thread,
            datum: Datum::Lock(lock),
            site: from.site,
            reads: true,
            writes,
            from: from.id.index,
            to: to.id.index + 1,
            last: to.id.index,
            span: [2 * hold.from + 1, 2 * end + 1],
            rank: 0,
            access: None,
        });
    }
}

/// The locks that a thread holds during a use, and whether it shares them. The lock of a critical section counts.
pub(super) fn locks(holds: &[held::Held], one: &Use) -> Vec<(ObjectId, Mode)> {
    during(holds, one, one)
}

/// The locks that a thread holds without a pause from one of its uses to another.
pub(super) fn during(holds: &[held::Held], first: &Use, second: &Use) -> Vec<(ObjectId, Mode)> {
    let is_held = |hold: &&held::Held| {
        hold.thread == first.thread
            && 2 * hold.from < first.span[0]
            && hold.to.is_none_or(|to| 2 * to + 1 >= second.span[1])
    };
    let holds = holds.iter().filter(is_held);
    let mode = |shared| match shared {
        true => Mode::Read,
        false => Mode::Write,
    };
    holds.map(|hold| (hold.object, mode(hold.shared))).collect()
}
