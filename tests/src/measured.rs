//! Coverage by definition: every condition in its literal form, over all pairs of events. Slow, as
//! an oracle for the engine, which measures it in one pass.

use std::collections::{BTreeMap, BTreeSet};

use raddle_engine::check::notified;
use raddle_engine::coverage::{Coverage, Metric, Metrics, Requirement, Standing};
use raddle_engine::object::{Call, condvar, mutex, parker, rwlock, semaphore};
use raddle_engine::{
    Event, EventId, Execution, Grant, LocationId, ObjectId, Operation, SiteId, ThreadPath,
};

/// Requirements, each once.
pub type Requirements = BTreeSet<Requirement>;

/// Two requirements, the smaller first.
pub type Pair = (Requirement, Requirement);

/// The mode in which a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Read,
    Write,
}

/// A lock in some mode, from the event that took it to the event that released it.
#[derive(Clone, Copy, Debug)]
struct Hold {
    object: ObjectId,
    mode: Mode,
    waits: bool,
    /// Position of the event that took the lock; a downgrade is none.
    taken: Option<usize>,
    site: SiteId,
    thread: usize,
    from: usize,
    until: usize,
}

fn call(event: &Event) -> Option<(ObjectId, Call)> {
    match event.operation {
        Operation::Call { object, call } => Some((object, call)),
        _ => None,
    }
}

/// Returns the mode in which a call takes a lock, and true if it waits for it.
fn takes(call: Call) -> Option<(Mode, bool)> {
    match call {
        Call::Mutex(mutex::Call::Lock) => Some((Mode::Write, true)),
        Call::Mutex(mutex::Call::TryLock) => Some((Mode::Write, false)),
        Call::RwLock(rwlock::Call::Read) => Some((Mode::Read, true)),
        Call::RwLock(rwlock::Call::TryRead) => Some((Mode::Read, false)),
        Call::RwLock(rwlock::Call::Write) => Some((Mode::Write, true)),
        Call::RwLock(rwlock::Call::TryWrite) => Some((Mode::Write, false)),
        _ => None,
    }
}

fn releases(call: Call) -> bool {
    matches!(
        call,
        Call::Mutex(mutex::Call::Unlock { .. })
            | Call::RwLock(rwlock::Call::ReadUnlock | rwlock::Call::WriteUnlock { .. })
    )
}

fn is_taken(event: &Event) -> Option<(ObjectId, Mode, bool)> {
    let (object, call) = call(event)?;
    let (mode, waits) = takes(call)?;
    let refused = call.grant(event.reply) == Some(Grant::Refused);
    (!refused).then_some((object, mode, waits))
}

/// Returns all holds of an execution; a hold with a downgrade counts as two.
fn holds(events: &[Event]) -> Vec<Hold> {
    let mut holds = Vec::new();
    for (position, event) in events.iter().enumerate() {
        let Some((object, mode, waits)) = is_taken(event) else {
            continue;
        };
        let mut hold = Hold {
            object,
            mode,
            waits,
            taken: Some(position),
            site: event.site,
            thread: event.id.thread.index(),
            from: position,
            until: usize::MAX,
        };
        let mut depth = 1;
        for (later, other) in events.iter().enumerate().skip(position + 1) {
            if other.id.thread != event.id.thread || call(other).is_none_or(|it| it.0 != object) {
                continue;
            }
            let (_, call) = call(other).unwrap();
            if is_taken(other).is_some() {
                depth += 1;
            } else if call == Call::RwLock(rwlock::Call::Downgrade) && hold.mode == Mode::Write {
                holds.push(Hold {
                    until: later,
                    ..hold
                });
                hold = Hold {
                    mode: Mode::Read,
                    taken: None,
                    from: later,
                    ..hold
                };
            } else if releases(call) {
                depth -= 1;
                if depth == 0 {
                    hold.until = later;
                    break;
                }
            }
        }
        holds.push(hold);
    }
    holds
}

/// Returns the position of the thread's event before that one.
fn before(events: &[Event], thread: usize, position: usize) -> Option<usize> {
    events[..position]
        .iter()
        .rposition(|event| event.id.thread.index() == thread)
}

fn locks(execution: &Execution, found: &mut Requirements) -> Vec<(usize, Requirement)> {
    let events = &execution.events;
    let holds = holds(events);
    let mut in_order = Vec::new();
    // Threads that wait for a lock, with the position at which each gets it or the execution ends.
    let mut standing: Vec<(ObjectId, Mode, SiteId, usize, usize)> = Vec::new();
    for hold in holds.iter().filter(|hold| hold.waits) {
        if let Some(taken) = hold.taken {
            standing.push((hold.object, hold.mode, hold.site, hold.thread, taken));
        }
    }
    for (thread, pending) in execution.pending.iter().enumerate() {
        if let Some((Operation::Call { object, call }, site)) = pending
            && let Some((mode, true)) = takes(*call)
        {
            standing.push((*object, mode, *site, thread, events.len()));
        }
    }
    for (object, mode, site, thread, until) in standing {
        let since = before(events, thread, until).expect("it has begun");
        for hold in &holds {
            let both_read = hold.mode == Mode::Read && mode == Mode::Read;
            let overlaps = hold.from < until && hold.until > since;
            if hold.object == object && hold.thread != thread && !both_read && overlaps {
                found.insert(Requirement::pair(Metric::BlockedPair, hold.site, site));
                found.insert(Requirement::at(Metric::Blocking, hold.site));
                found.insert(Requirement::at(Metric::Blocked, site));
            }
        }
    }
    for later in &holds {
        let Some(position) = later.taken else {
            continue;
        };
        let last = holds
            .iter()
            .filter(|hold| hold.object == later.object)
            .filter(|hold| later.mode == Mode::Write || hold.mode == Mode::Write)
            .filter(|hold| hold.taken.is_some_and(|taken| taken < position))
            .max_by_key(|hold| hold.taken);
        if let Some(last) = last {
            let pair = Requirement::pair(Metric::SyncPair, last.site, later.site);
            found.insert(pair);
            in_order.push((position, pair));
            if last.thread != later.thread {
                found.insert(Requirement::pair(Metric::Follows, last.site, later.site));
            }
        }
        for outer in &holds {
            let is_held = outer.from < position && outer.until > position;
            if outer.thread == later.thread && outer.object != later.object && is_held {
                found.insert(Requirement::pair(Metric::LockOrder, outer.site, later.site));
            }
        }
    }
    in_order
}

/// Returns the location of an event, and true for a read and for a write.
fn access(event: &Event) -> Option<(LocationId, bool, bool)> {
    match event.operation {
        Operation::Load { location, .. } => Some((location, true, false)),
        Operation::Store { location, .. } => Some((location, false, true)),
        Operation::Update {
            location, update, ..
        } => {
            let written = update.apply(event.reply.to_value(), event.fails_spuriously());
            Some((location, true, written.is_some()))
        }
        _ => None,
    }
}

fn data(execution: &Execution, found: &mut Requirements) -> Vec<(usize, Requirement)> {
    let events = &execution.events;
    let find = |id: EventId| events.iter().find(|event| event.id == id).unwrap();
    let mut in_order = Vec::new();
    for (position, event) in events.iter().enumerate() {
        let Some((location, reads, writes)) = access(event) else {
            continue;
        };
        if let Some(source) = event.source.map(find) {
            let same = source.id.thread == event.id.thread;
            found.insert(Requirement::pair(Metric::DefUse, source.site, event.site));
            if !same {
                found.insert(Requirement::pair(Metric::PSet, source.site, event.site));
            }
            if reads {
                let metric = if same {
                    Metric::LocalDef
                } else {
                    Metric::RemoteDef
                };
                found.insert(Requirement::at(metric, event.site));
            }
        }
        if event.source.is_none()
            && let Some(made) = execution.locations[location.index()].made
        {
            found.insert(Requirement::pair(Metric::DefUse, made, event.site));
        }
        let mut earlier = events[..position].iter().rev();
        let last = earlier.find(|it| access(it).is_some_and(|(other, ..)| other == location));
        if let Some(last) = last {
            let pair = Requirement::pair(Metric::Adjacent, last.site, event.site);
            found.insert(pair);
            in_order.push((position, pair));
            let only_reads = access(last).is_some_and(|(_, _, writes)| !writes);
            if only_reads && writes && last.id.thread != event.id.thread {
                found.insert(Requirement::pair(Metric::PSet, last.site, event.site));
            }
        }
    }
    in_order
}

fn wakes(execution: &Execution, found: &mut Requirements) {
    let events = &execution.events;
    let notifications = notified::all(execution);
    for (position, event) in events.iter().enumerate() {
        let Some((object, now)) = call(event) else {
            continue;
        };
        let earlier = || {
            let before = events[..position].iter().enumerate().rev();
            before.filter(|(_, other)| call(other).is_some_and(|it| it.0 == object))
        };
        let mut pair = |first: &Event| {
            found.insert(Requirement::pair(
                Metric::WaitNotify,
                first.site,
                event.site,
            ));
        };
        match now {
            Call::Condvar(condvar::Call::Wake { .. }) if !event.reply.to_answer() => {
                let mine = |other: &Event| other.id.thread == event.id.thread;
                let waits = |other: &Event| {
                    let wait = call(other).map(|it| it.1);
                    matches!(wait, Some(Call::Condvar(condvar::Call::Wait { .. })))
                };
                let wait = earlier().find(|(_, other)| mine(other) && waits(other));
                let since = wait.expect("it has waited").0;
                let by = notifications.iter().find(|one| {
                    let is_between = since < one.position && one.position < position;
                    let (on, _) = call(&events[one.position]).unwrap();
                    is_between && on == object && one.reached.contains(&event.id.thread)
                });
                if let Some(by) = by {
                    pair(&events[by.position]);
                }
            }
            Call::Parker(parker::Call::Park { .. }) if !event.reply.to_answer() => {
                let took = |other: &Event| {
                    let park = call(other).map(|it| it.1);
                    matches!(park, Some(Call::Parker(parker::Call::Park { .. })))
                        && !other.reply.to_answer()
                };
                let left = earlier()
                    .take_while(|(_, other)| !took(other))
                    .find(|(_, other)| {
                        call(other).is_some_and(|it| it.1 == Call::Parker(parker::Call::Unpark))
                    });
                if let Some((_, left)) = left {
                    pair(left);
                }
            }
            Call::Semaphore(semaphore::Call::Acquire | semaphore::Call::TryAcquire)
                if now.grant(event.reply) != Some(Grant::Refused) =>
            {
                let refused = |other: &Event| {
                    call(other).is_some_and(|it| it.1.grant(other.reply) == Some(Grant::Refused))
                };
                let last = earlier().find(|(_, other)| !refused(other));
                if let Some((_, last)) = last
                    && call(last).unwrap().1 == Call::Semaphore(semaphore::Call::Release)
                {
                    pair(last);
                }
            }
            _ => {}
        }
    }
}

/// The coverage of executions, by definition.
#[derive(Debug, Default)]
pub struct Naive {
    /// Requirements of all metrics.
    pub covered: Requirements,
    /// Pairs of sync-pair and def-use in one execution.
    pub combined: BTreeSet<Pair>,
    /// Pairs of sync-pair and adjacent in one execution and in this order.
    pub ordered: BTreeSet<Pair>,
}

impl Naive {
    /// Adds an execution and returns the requirements it covers.
    pub fn note(&mut self, execution: &Execution) -> Requirements {
        let mut found = Requirements::new();
        let mut in_order = locks(execution, &mut found);
        in_order.extend(data(execution, &mut found));
        wakes(execution, &mut found);
        let is_member = |it: &&Requirement| Metrics::SYNC_PAIR_DEF_USE.contains(it.metric);
        let members: Vec<_> = found.iter().filter(is_member).collect();
        for (index, one) in members.iter().enumerate() {
            for other in &members[index + 1..] {
                self.combined.insert((**one, **other));
            }
        }
        for (first, one) in &in_order {
            for (second, other) in &in_order {
                if first < second && one != other {
                    self.ordered.insert((*one, *other));
                }
            }
        }
        self.covered.extend(&found);
        found
    }
}

/// Returns the requirements that the engine reports as covered.
pub fn covered(coverage: &Coverage) -> Requirements {
    let all = coverage.requirements();
    let covered = all.filter(|(_, standing)| *standing == Standing::Covered);
    covered.map(|(requirement, _)| requirement).collect()
}

/// Returns the requirements that the engine reports as infeasible.
pub fn infeasible(coverage: &Coverage) -> Requirements {
    let out = |standing| {
        matches!(
            standing,
            Standing::NeverConcurrent | Standing::OrderedByLock
        )
    };
    let all = coverage.requirements();
    let infeasible = all.filter(|(_, standing)| out(*standing));
    infeasible.map(|(requirement, _)| requirement).collect()
}

/// Returns the pairs with the smaller requirement first.
pub fn sorted(pairs: impl IntoIterator<Item = Pair>) -> BTreeSet<Pair> {
    let sort = |(one, other): Pair| (one.min(other), one.max(other));
    pairs.into_iter().map(sort).collect()
}

/// Gives every event a site of its own, which is the same in all executions of a program whose
/// threads always perform the same operations.
#[derive(Default)]
pub struct Places(BTreeMap<(ThreadPath, u32), SiteId>);

impl Places {
    /// Returns the execution with these places.
    pub fn rename(&mut self, execution: &Execution) -> Execution {
        let mut renamed = execution.clone();
        let mut site = |path: ThreadPath, index: u32| {
            let next = SiteId::new(self.0.len());
            *self.0.entry((path, index)).or_insert(next)
        };
        let mut events = vec![0; execution.threads.len()];
        for event in &mut renamed.events {
            event.site = site(execution.path(event.id.thread), event.id.index);
            events[event.id.thread.index()] = event.id.index + 1;
        }
        for (index, location) in renamed.locations.iter_mut().enumerate() {
            // No thread has this path.
            location.made = Some(site(ThreadPath::new(vec![u32::MAX]), index as u32));
        }
        for (thread, pending) in renamed.pending.iter_mut().enumerate() {
            if let Some((_, place)) = pending {
                let path = execution.path(raddle_engine::ThreadId::new(thread));
                *place = site(path, events[thread]);
            }
        }
        renamed
    }
}
