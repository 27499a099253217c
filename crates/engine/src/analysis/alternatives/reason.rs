//! Explains why no execution fits an alternative.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::follow::{Followed, Follower, Role, Verdict, does};
use super::text::{Alternative, AlternativeChoice, AlternativeSource, Point};
use crate::base::ids::{EventId, ThreadId};
use crate::memory::{Model, Weakness};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::naming::{called, is_thread, things, thread_name};
use crate::model::operation::Operation;

/// A reason why an alternative is impossible.
#[derive(Clone, Debug)]
pub enum Why {
    /// A thread does not exist.
    NoThread {
        /// Its name in the alternative.
        name: String,
        /// Names of the existing threads.
        threads: Vec<String>,
    },
    /// A receive, or its wanted source, never occurs.
    NeverHappens {
        /// Point that never occurs.
        point: Point,
        /// True when it is the receive.
        is_receive: bool,
        /// Maximum number of occurrences of the point in an execution.
        times: u32,
        /// Things that the thread receives from, or sends to, with the number of times.
        known: Vec<(String, u32)>,
    },
    /// The receive never has the wanted source.
    NeverSees {
        /// The choice.
        choice: AlternativeChoice,
        /// True when it has that source in executions that do not fit for other reasons.
        alone: bool,
        /// The execution that comes closest.
        execution: Box<Execution>,
        /// The receive in that execution.
        receive: EventId,
        /// Its source there.
        instead: Option<EventId>,
        /// A chain of events, each of which must precede the next.
        chain: Chain,
    },
}

/// A reason why a receive does not have a source in an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chain {
    /// The receive precedes the source.
    Before(Vec<EventId>),
    /// The source precedes an event that overwrites it, and that event precedes the receive.
    Replaced(Vec<EventId>, Vec<EventId>),
    /// An event that overwrites the initial state precedes the receive.
    NotInitial(Vec<EventId>),
    /// No simple chain exists.
    Unknown,
}

/// Observations collected while searching for an execution.
#[derive(Debug)]
pub(crate) struct Evidence {
    choices: Vec<Seen>,
    best: Option<Best>,
    /// Names of the threads.
    threads: BTreeSet<String>,
    known: HashMap<(String, bool), HashMap<String, u32>>,
    /// Number of holds learned before the last run.
    pub(crate) holds: usize,
}

#[derive(Debug)]
struct Seen {
    choice: AlternativeChoice,
    receives: u32,
    sends: u32,
    has_receiver: bool,
    has_sender: bool,
    fits: bool,
}

#[derive(Debug)]
struct Best {
    fitting: usize,
    execution: Box<Execution>,
    choice: usize,
    receive: EventId,
    source: Option<EventId>,
}

impl Evidence {
    pub(crate) fn new(alternative: &Alternative) -> Self {
        let seen = |choice: &AlternativeChoice| Seen {
            choice: choice.clone(),
            receives: 0,
            sends: 0,
            has_receiver: false,
            has_sender: false,
            fits: false,
        };
        Evidence {
            choices: alternative.choices().iter().map(seen).collect(),
            best: None,
            threads: BTreeSet::new(),
            known: HashMap::new(),
            holds: 0,
        }
    }

    /// Adds an execution.
    pub(crate) fn add(&mut self, execution: &Execution, follower: &Follower) {
        let all = || (0..execution.threads.len()).map(ThreadId::new);
        let exists = |point: &Point| all().any(|one| is_thread(execution, one, &point.thread));
        for (seen, followed) in self.choices.iter_mut().zip(&follower.choices) {
            seen.receives = seen.receives.max(followed.receives);
            seen.sends = seen.sends.max(followed.sends);
            seen.has_receiver |= exists(&seen.choice.receive);
            seen.has_sender |= match &seen.choice.sees {
                Some(AlternativeSource::Event(point)) => exists(point),
                _ => true,
            };
            seen.fits |= followed.verdict == Verdict::Fits;
        }
        self.note_names(execution);
        let mut choices = follower.choices.iter();
        let Some(choice) = choices.position(Followed::is_plainly_wrong) else {
            return;
        };
        let fitting = follower.fitting();
        if self.best.as_ref().is_none_or(|best| best.fitting < fitting) {
            let one = &follower.choices[choice];
            self.best = Some(Best {
                fitting,
                execution: Box::new(execution.clone()),
                choice,
                receive: one.receive.expect("it was wrong"),
                source: one.source,
            });
        }
    }

    /// True when all points of the alternative are known to occur, and an execution that has got
    /// this far adds nothing new.
    pub(crate) fn is_enough(&self, follower: &Follower) -> bool {
        let happens = |seen: &Seen| {
            let sends = match &seen.choice.sees {
                Some(AlternativeSource::Event(source)) => seen.sends > source.occurrence,
                _ => true,
            };
            sends && seen.receives > seen.choice.receive.occurrence
        };
        let best = self.best.as_ref().map_or(0, |best| best.fitting + 1);
        self.choices.iter().all(happens)
            && (follower.fitting() < best || follower.wrong().any(Followed::is_plainly_wrong))
    }

    fn note_names(&mut self, execution: &Execution) {
        for thread in (0..execution.threads.len()).map(ThreadId::new) {
            self.threads.insert(thread_name(execution, thread));
        }
        let mut counts: HashMap<(String, bool), HashMap<String, u32>> = HashMap::new();
        for event in &execution.events {
            for role in [Role::Receives, Role::Sends] {
                let name = match things(&event.operation, execution).first() {
                    Some(&thing) => called(thing, execution),
                    None => event.operation.label().to_owned(),
                };
                if does(&event.operation, role, execution) && event.operation != Operation::End {
                    let thread = thread_name(execution, event.id.thread);
                    let of_thread = counts.entry((thread, role == Role::Receives)).or_default();
                    *of_thread.entry(name).or_default() += 1;
                }
            }
        }
        for (key, things) in counts {
            let known = self.known.entry(key).or_default();
            for (name, count) in things {
                let most = known.entry(name).or_default();
                *most = count.max(*most);
            }
        }
    }

    fn known(&self, thread: &str, receives: bool) -> Vec<(String, u32)> {
        let known = self.known.get(&(thread.to_owned(), receives));
        let known = known.into_iter().flatten();
        let mut known: Vec<(String, u32)> =
            known.map(|(name, &count)| (name.clone(), count)).collect();
        known.sort();
        known
    }

    /// Returns the reason why no execution fits, after all were examined.
    pub(crate) fn why(&self, model: Model) -> Why {
        for seen in &self.choices {
            if let Some(why) = self.why_not_there(seen) {
                return why;
            }
        }
        let Some(best) = &self.best else {
            // No single choice was wrong, so some point never occurred together with the rest.
            let last = self.choices.last().expect("an empty alternative fits");
            return self.never_happens(&last.choice.receive, true, last.receives);
        };
        let choice = &self.choices[best.choice];
        let execution = &best.execution;
        let links = Links::of(execution, model);
        let receive = &execution.events[links.positions[&best.receive]];
        Why::NeverSees {
            choice: choice.choice.clone(),
            alone: choice.fits,
            receive: best.receive,
            instead: receive.source,
            chain: links.chain(receive, best.source, choice.choice.sees.as_ref()),
            execution: execution.clone(),
        }
    }

    fn why_not_there(&self, seen: &Seen) -> Option<Why> {
        let no_thread = |name: &str| Why::NoThread {
            name: name.to_owned(),
            threads: self.threads.iter().cloned().collect(),
        };
        let receive = &seen.choice.receive;
        if !seen.has_receiver {
            return Some(no_thread(&receive.thread));
        }
        if seen.receives <= receive.occurrence {
            return Some(self.never_happens(receive, true, seen.receives));
        }
        if let Some(AlternativeSource::Event(source)) = &seen.choice.sees {
            if !seen.has_sender {
                return Some(no_thread(&source.thread));
            }
            if seen.sends <= source.occurrence {
                return Some(self.never_happens(source, false, seen.sends));
            }
        }
        None
    }

    fn never_happens(&self, point: &Point, is_receive: bool, times: u32) -> Why {
        Why::NeverHappens {
            point: point.clone(),
            is_receive,
            times,
            known: self.known(&point.thread, is_receive),
        }
    }
}

/// Order of the events of an execution.
struct Links<'a> {
    execution: &'a Execution,
    positions: HashMap<EventId, usize>,
    /// By position: events that must follow.
    next: Vec<Vec<usize>>,
    /// By position: events that follow by coherence.
    overwriting: Vec<Vec<usize>>,
}

impl<'a> Links<'a> {
    fn of(execution: &'a Execution, model: Model) -> Self {
        let positions = execution.events.iter().map(|event| event.id).zip(0..);
        let mut links = Links {
            execution,
            positions: positions.collect(),
            next: vec![Vec::new(); execution.events.len()],
            overwriting: vec![Vec::new(); execution.events.len()],
        };
        let operations = execution.events.iter().map(|event| &event.operation);
        let is_weak = model.is_weak() && Weakness::of_all(operations).is_weak();
        let mut last: Vec<Option<usize>> = vec![None; execution.threads.len()];
        for (position, event) in execution.events.iter().enumerate() {
            if let Some(before) = last[event.id.thread.index()].replace(position) {
                links.next[before].push(position);
            }
            if let Some(&source) = event.source.and_then(|id| links.positions.get(&id)) {
                match event.is_store() {
                    true if is_weak => {}
                    true => links.overwriting[source].push(position),
                    false => links.next[source].push(position),
                }
            }
            if !is_weak && event.writes() {
                // Reads of the overwritten value precede the write (from-reads).
                let location = event.operation.location();
                for (earlier, read) in execution.events[..position].iter().enumerate() {
                    if read.operation.location() == location
                        && !read.is_store()
                        && read.source == event.source
                    {
                        links.overwriting[earlier].push(position);
                    }
                }
            }
        }
        links
    }

    /// Returns the shortest path between two events, through coherence if `with_writes`.
    fn path(&self, from: EventId, to: EventId, with_writes: bool) -> Option<Vec<EventId>> {
        let (start, end) = (self.positions[&from], self.positions[&to]);
        let mut came_from: Vec<Option<usize>> = vec![None; self.next.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            let overwriting = self.overwriting[at].iter().filter(|_| with_writes);
            for &next in self.next[at].iter().chain(overwriting) {
                if next != start && came_from[next].is_none() {
                    came_from[next] = Some(at);
                    queue.push_back(next);
                }
            }
        }
        let mut path = vec![to];
        let mut at = end;
        while at != start {
            at = came_from[at]?;
            path.push(self.execution.events[at].id);
        }
        path.reverse();
        Some(path)
    }

    fn chain(
        &self,
        receive: &Event,
        source: Option<EventId>,
        sees: Option<&AlternativeSource>,
    ) -> Chain {
        if sees.is_none() {
            return Chain::Unknown;
        }
        if let Some(source) = source
            && let Some(path) = self.path(receive.id, source, false)
        {
            return Chain::Before(path);
        }
        let replaces = |other: &&Event| {
            Some(other.id) != source
                && other.id != receive.id
                && match receive.operation {
                    Operation::Call { object, .. } => matches!(
                        other.operation,
                        Operation::Call { object: of, call } if of == object && !call.is_silent()
                    ),
                    operation => {
                        other.writes() && other.operation.location() == operation.location()
                    }
                }
        };
        let before = receive.id.index.checked_sub(1).map(|index| EventId {
            index,
            ..receive.id
        });
        // The receive's own source is not evidence.
        let to_receive = |from: EventId, with_writes: bool| {
            let mut path = self.path(from, before?, with_writes)?;
            path.push(receive.id);
            Some(path)
        };
        let shortest = |with_writes: bool| {
            let others = self.execution.events.iter().filter(replaces);
            let chains = others.filter_map(|other| {
                let second = to_receive(other.id, with_writes)?;
                match source {
                    Some(source) => {
                        let first = self.path(source, other.id, with_writes)?;
                        Some((first.len() + second.len(), Chain::Replaced(first, second)))
                    }
                    None => Some((second.len(), Chain::NotInitial(second))),
                }
            });
            let shortest = chains.min_by_key(|&(length, _)| length);
            shortest.map(|(_, chain)| chain)
        };
        shortest(false)
            .or_else(|| shortest(true))
            .unwrap_or(Chain::Unknown)
    }
}
