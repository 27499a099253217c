//! Matches a running execution against a partial trace.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::{LogPlace, PartialTrace};
use crate::base::ids::{EventId, LocationId, SiteId, ThreadId};
use crate::memory::Weakness;
use crate::memory::happens_before::HappensBefore;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::naming::is_thread;
use crate::model::operation::Operation;

/// Decides whether a site is at a place; the front end knows the source.
pub type MatchesPlace = Arc<dyn Fn(SiteId, &LogPlace) -> bool + Send + Sync>;

/// An event after which an execution contradicts the trace, however it continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// The event.
    pub event: EventId,
    /// True when the contradiction depends on the source of the event too, not only on its place.
    pub needs_source: bool,
}

/// Follows an execution event by event.
#[derive(Clone)]
pub struct Follower {
    trace: Arc<PartialTrace>,
    matches: MatchesPlace,
    logs: Vec<Followed>,
    noted: usize,
    contradiction: Option<Contradiction>,
    /// By site: for each log, the lines at the site, and whether the thread may be at it at the end.
    known: HashMap<SiteId, Vec<(Vec<usize>, bool)>>,
}

/// Progress of one log.
#[derive(Clone, Debug, Default)]
struct Followed {
    thread: Option<ThreadId>,
    /// The events of the lines that were passed.
    passed: Vec<EventId>,
    is_reached: bool,
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower")
            .field("trace", &self.trace)
            .field("logs", &self.logs)
            .finish_non_exhaustive()
    }
}

impl Follower {
    /// Creates a follower of this trace.
    pub fn new(trace: Arc<PartialTrace>, matches: MatchesPlace) -> Self {
        Follower {
            logs: vec![Followed::default(); trace.threads.len()],
            trace,
            matches,
            noted: 0,
            contradiction: None,
            known: HashMap::new(),
        }
    }

    /// Starts an execution.
    pub fn reset(&mut self) {
        self.logs.fill(Followed::default());
        self.noted = 0;
        self.contradiction = None;
    }

    /// Processes the events since the last call. Returns the first contradiction, if there is one.
    pub fn note(&mut self, execution: &Execution) -> Option<Contradiction> {
        while self.contradiction.is_none()
            && let Some(event) = execution.events.get(self.noted)
        {
            self.noted += 1;
            for log in 0..self.logs.len() {
                self.note_for(log, event, execution);
            }
        }
        self.contradiction
    }

    /// True when an execution that has ended is consistent with the trace.
    pub fn is_consistent(&mut self, execution: &Execution) -> bool {
        if self.note(execution).is_some() {
            return false;
        }
        self.is_possible_in_order(execution)
            && (0..self.logs.len()).all(|log| self.is_passed(log, execution))
    }

    /// True when the lines of all threads may have been passed in their order. Under weak memory only causes are
    /// compared, as the events come.
    fn is_possible_in_order(&self, execution: &Execution) -> bool {
        let operations = execution.events.iter().map(|event| &event.operation);
        if !self.trace.is_ordered || Weakness::of_all(operations).is_weak() {
            return true;
        }
        let logs = self.logs.iter().zip(&self.trace.threads);
        let mut lines: Vec<(u32, EventId)> = logs
            .flat_map(|(followed, own)| own.passed.iter().zip(&followed.passed))
            .map(|(line, &event)| (line.line, event))
            .collect();
        lines.sort();
        let ordered: Vec<EventId> = lines.into_iter().map(|(_, event)| event).collect();
        has_linearization(execution, &ordered)
    }

    /// True when the thread of a log has passed all its lines, and was where it ends.
    fn is_passed(&mut self, log: usize, execution: &Execution) -> bool {
        let count = self.trace.threads[log].passed.len();
        let Followed {
            thread: Some(thread),
            ref passed,
            is_reached,
        } = self.logs[log]
        else {
            return false;
        };
        let is_at_end = is_reached || self.trace.threads[log].at.is_empty();
        passed.len() == count && (is_at_end || self.waits_there(log, thread, execution))
    }

    /// True when the operation that a thread waits to perform is where the log ends.
    fn waits_there(&mut self, log: usize, thread: ThreadId, execution: &Execution) -> bool {
        let next = [&execution.pending, &execution.positions]
            .into_iter()
            .find_map(|all| all.get(thread.index()).copied().flatten());
        next.is_some_and(|(operation, site)| self.is_at(log, &operation, site))
    }

    /// Returns the lines of each log at a site, whatever the operation.
    fn at_site(&mut self, site: SiteId) -> &[(Vec<usize>, bool)] {
        let (trace, matches) = (&self.trace, &self.matches);
        self.known.entry(site).or_insert_with(|| {
            let logs = trace.threads.iter().map(|log| {
                let passed = log.passed.iter().enumerate();
                let passed = passed.filter(|(_, line)| matches(site, &line.place));
                let is_at = log.at.iter().any(|place| matches(site, place));
                (passed.map(|(index, _)| index).collect(), is_at)
            });
            logs.collect()
        })
    }

    /// True when the log may end at this operation.
    fn is_at(&mut self, log: usize, operation: &Operation, site: SiteId) -> bool {
        if !self.at_site(site)[log].1 {
            return false;
        }
        let (trace, matches) = (&self.trace, &self.matches);
        let places = trace.threads[log].at.iter();
        let mut places = places.filter(|place| matches(site, place));
        places.any(|place| is_operation(place, operation))
    }

    fn note_for(&mut self, log: usize, event: &Event, execution: &Execution) {
        let thread = event.id.thread;
        match self.logs[log].thread {
            Some(own) if own == thread => {}
            Some(_) => return,
            // The first thread of the name to perform an operation.
            None if is_thread(execution, thread, &self.trace.threads[log].thread) => {
                self.logs[log].thread = Some(thread);
            }
            None => return,
        }
        let (operation, site) = (&event.operation, event.site);
        let at_site = self.at_site(site)[log].0.clone();
        let trace = Arc::clone(&self.trace);
        let own = &trace.threads[log];
        let next = self.logs[log].passed.len();
        let is_line = |&index: &usize| is_operation(&own.passed[index].place, operation);
        let contradiction = |needs_source| {
            Some(Contradiction {
                event: event.id,
                needs_source,
            })
        };
        if operation == &Operation::End {
            // The last operation of the thread was another one.
            let is_open =
                next < own.passed.len() || !own.at.is_empty() && !self.logs[log].is_reached;
            if is_open {
                self.contradiction = contradiction(false);
            }
            return;
        }
        if next < own.passed.len() {
            if at_site.contains(&next) && is_line(&next) {
                if self.is_out_of_order(log, next, event.id, execution) {
                    self.contradiction = contradiction(true);
                }
                self.logs[log].passed.push(event.id);
            } else if at_site.iter().any(is_line) {
                // The log would have another line here.
                self.contradiction = contradiction(false);
            }
            return;
        }
        if !own.at.is_empty() && !self.logs[log].is_reached {
            if self.is_at(log, operation, site) {
                self.logs[log].is_reached = true;
            } else if at_site.iter().any(is_line) {
                self.contradiction = contradiction(false);
            }
        }
    }

    /// True when an event of a later line must precede that of this one.
    fn is_out_of_order(
        &self,
        log: usize,
        index: usize,
        event: EventId,
        execution: &Execution,
    ) -> bool {
        if !self.trace.is_ordered {
            return false;
        }
        let line = self.trace.threads[log].passed[index].line;
        let later: Vec<EventId> = self
            .logs
            .iter()
            .zip(&self.trace.threads)
            .flat_map(|(followed, own)| followed.passed.iter().zip(&own.passed))
            .filter(|(_, other)| other.line > line)
            .map(|(&passed, _)| passed)
            .collect();
        if later.is_empty() {
            return false;
        }
        let causes = HappensBefore::causes(execution);
        later.iter().any(|&other| causes.is_covered(other, event))
    }
}

/// True when the operation counts at a place. A lock is given back at the place where it was taken, which is no pass
/// of that place.
fn is_operation(place: &LogPlace, operation: &Operation) -> bool {
    match (&place.operation, operation) {
        (Some(label), _) => label == operation.label(),
        (None, Operation::Begin) => false,
        (None, Operation::Call { call, .. }) => !call.gives_back(),
        (None, _) => true,
    }
}

/// True when the events have a linearization in which these are in this order, given that all accesses of the execution
/// are sequentially consistent.
fn has_linearization(execution: &Execution, ordered: &[EventId]) -> bool {
    let events = &execution.events;
    let positions: HashMap<EventId, usize> = (0..)
        .zip(events)
        .map(|(at, event)| (event.id, at))
        .collect();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); events.len()];
    let mut count = vec![0; events.len()];
    let mut add = |first: EventId, second: EventId| {
        if let (Some(&first), Some(&second)) = (positions.get(&first), positions.get(&second)) {
            next[first].push(second);
            count[second] += 1;
        }
    };
    // Writes by location and predecessor in coherence order.
    let mut after: HashMap<(LocationId, Option<EventId>), EventId> = HashMap::new();
    for event in events {
        let id = event.id;
        match id.index.checked_sub(1) {
            Some(index) => add(EventId { index, ..id }, id),
            None => {
                let created = execution.threads[id.thread.index()].spawned_by;
                created.into_iter().for_each(|created| add(created, id));
            }
        }
        event.source.into_iter().for_each(|source| add(source, id));
        if let Some(location) = event.operation.location().filter(|_| event.writes()) {
            after.insert((location, event.source), id);
        }
    }
    for event in events {
        let overwritten = event.operation.location();
        let overwritten = overwritten.and_then(|it| after.get(&(it, event.source)));
        if let Some(&write) = overwritten.filter(|&&write| write != event.id) {
            add(event.id, write);
        }
    }
    ordered.windows(2).for_each(|pair| add(pair[0], pair[1]));
    let mut free: Vec<usize> = (0..events.len()).filter(|&at| count[at] == 0).collect();
    let mut done = 0;
    while let Some(at) = free.pop() {
        done += 1;
        for &later in &next[at] {
            count[later] -= 1;
            if count[later] == 0 {
                free.push(later);
            }
        }
    }
    done == events.len()
}
