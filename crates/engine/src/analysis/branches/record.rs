//! The steps of all executions, as one tree for each thread.

use std::collections::{HashMap, HashSet};

use super::guidelines::{Candidates, Pair, Tried};
use super::{Named, Step};
use crate::analysis::alternatives::{self, Budget};
use crate::base::ids::{EventId, SiteId, ThreadId};
use crate::base::reply::Reply;
use crate::memory::Model;
use crate::model::event::Event;
use crate::model::execution::{Execution, resolution};
use crate::model::naming::{called, things, thread_name};
use crate::model::operation::{Operation, UpdateKind};
use crate::model::schedule::ThreadPath;

/// Maximum steps of the executions that are kept: some 50 MB.
const MAX_KEPT: usize = 1 << 20;
/// Maximum nodes of the trees.
const MAX_NODES: usize = 1 << 20;
/// Number of executions whose possible sources are computed; later ones add only the sources they had.
const MAX_ASKED: usize = 64;
/// Maximum work for the possible sources of one execution, in steps of about a nanosecond.
const WORK: u64 = 50_000_000;
/// Maximum names that are kept for the things of one place.
const MAX_NAMES: usize = 3;

/// A source of a receive. Threads and steps are indices of the recorder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Seen {
    /// Thread, step and number among the events of the thread.
    pub(super) source: Option<(u32, u32, u32)>,
    pub(super) outcome: u32,
}

/// One step of a thread in one execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) step: u32,
    /// The node that stands for the prefix that ends with the step.
    pub(super) node: u32,
    /// The source, for any event that has one: index of the thread among those of the run, and of the event.
    pub(super) source: Option<(u32, u32)>,
    /// The choice, if the step is a receive.
    pub(super) seen: Option<Seen>,
}

/// The steps of one thread in one execution.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) thread: u32,
    pub(super) points: Vec<Point>,
    /// By event: index of its point.
    pub(super) events: Vec<u32>,
    /// The event that created the thread.
    pub(super) spawned_by: Option<(u32, u32)>,
}

/// One kept execution, by the thread's index in it.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) walks: Vec<Walk>,
    pub(super) candidates: Vec<Candidates>,
}

/// A prefix of the steps of a thread.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: Option<u32>,
    pub(super) step: u32,
    pub(super) depth: u32,
    pub(super) thread: u32,
    /// Number of executions.
    pub(super) count: u64,
    /// The next nodes.
    pub(super) next: Vec<u32>,
}

/// The steps and sources of the executions of one program.
#[derive(Debug, Default)]
pub struct Recorder {
    steps: Vec<Step>,
    step_numbers: HashMap<Step, u32>,
    names: Vec<Vec<String>>,
    pub(super) threads: Vec<(ThreadPath, String)>,
    thread_numbers: HashMap<ThreadPath, u32>,
    pub(super) nodes: Vec<Node>,
    edges: HashMap<(u32, u32), u32>,
    roots: HashMap<u32, u32>,
    pub(super) runs: Vec<Run>,
    classes: HashSet<u64>,
    kept: usize,
    left_out: u64,
    pub(super) pairs: HashSet<Pair>,
    pub(super) tried: HashMap<Vec<Pair>, Tried>,
}

impl Recorder {
    /// Adds an execution unless one of its class was added before. Returns true if it is new.
    pub fn note(&mut self, execution: &Execution, model: Model) -> bool {
        if !self.classes.insert(execution.fingerprint()) {
            return false;
        }
        let size = execution.events.len() + execution.accesses.len();
        if self.kept + size > MAX_KEPT || self.nodes.len() + size > MAX_NODES {
            self.left_out += 1;
            return true;
        }
        self.kept += size;
        let mut walks = self.walks(execution);
        for walk in &mut walks {
            self.walk_tree(walk);
        }
        let candidates = match self.runs.len() < MAX_ASKED {
            true => candidates(execution, &walks, model),
            false => Vec::new(),
        };
        for walk in &walks {
            for point in &walk.points {
                let Some(seen) = point.seen else { continue };
                self.pairs.insert(Pair::of(walk.thread, point.step, seen));
            }
        }
        self.runs.push(Run { walks, candidates });
        true
    }

    /// Returns the number of classes that were recorded.
    pub fn recorded(&self) -> usize {
        self.runs.len()
    }

    /// Returns the number of classes that were left out, because those before took too much memory.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(super) fn step(&self, number: u32) -> Step {
        self.steps[number as usize]
    }

    pub(super) fn named(&self, number: u32) -> Named {
        Named {
            step: self.step(number),
            things: self.names[number as usize].clone(),
        }
    }

    pub(super) fn thread_title(&self, number: u32) -> &str {
        &self.threads[number as usize].1
    }

    fn step_number(&mut self, step: Step) -> u32 {
        *self.step_numbers.entry(step).or_insert_with(|| {
            self.steps.push(step);
            self.names.push(Vec::new());
            self.steps.len() as u32 - 1
        })
    }

    fn thread_number(&mut self, execution: &Execution, thread: ThreadId) -> u32 {
        let path = execution.path(thread);
        if let Some(&number) = self.thread_numbers.get(&path) {
            return number;
        }
        let number = self.threads.len() as u32;
        self.threads
            .push((path.clone(), thread_name(execution, thread)));
        self.thread_numbers.insert(path, number);
        number
    }

    /// Returns the step of an operation, and adds the names of its things.
    fn operation(&mut self, operation: &Operation, site: SiteId, execution: &Execution) -> u32 {
        let number = self.step_number(Step::Operation(operation.label(), site));
        if self.names[number as usize].len() < MAX_NAMES {
            for thing in things(operation, execution) {
                let name = called(thing, execution);
                let names = &mut self.names[number as usize];
                if names.len() < MAX_NAMES && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        number
    }

    /// Returns the steps of every thread, without nodes.
    fn walks(&mut self, execution: &Execution) -> Vec<Walk> {
        let all = (0..execution.threads.len()).map(ThreadId::new);
        let place = |id: EventId| (id.thread.index() as u32, id.index);
        let mut walks: Vec<Walk> = Vec::with_capacity(execution.threads.len());
        for thread in all {
            walks.push(Walk {
                thread: self.thread_number(execution, thread),
                points: Vec::new(),
                events: Vec::new(),
                spawned_by: execution.threads[thread.index()].spawned_by.map(place),
            });
        }
        let mut accesses: Vec<Vec<(u32, u32)>> = vec![Vec::new(); walks.len()];
        for (_, access) in execution.accesses.iter().filter(|(_, it)| !it.made) {
            let (writes, site) = (access.writes, access.site);
            let step = self.step_number(Step::Access { writes, site });
            accesses[access.thread.index()].push((access.index, step));
        }
        let mut accesses: Vec<_> = (accesses.into_iter())
            .map(|all| all.into_iter().peekable())
            .collect();
        let plain = |step| Point {
            step,
            node: 0,
            source: None,
            seen: None,
        };
        // Number of every event's step, to name sources.
        let mut of_event: HashMap<EventId, u32> = HashMap::with_capacity(execution.events.len());
        for event in &execution.events {
            let index = event.id.thread.index();
            while let Some((_, step)) = accesses[index].next_if(|it| it.0 <= event.id.index) {
                walks[index].points.push(plain(step));
            }
            let step = match event.operation {
                Operation::End => {
                    let own = |panic: &crate::model::fault::Panic| panic.thread == event.id.thread;
                    let panics = execution.panics.iter().any(own);
                    self.step_number(if panics { Step::Panic } else { Step::End })
                }
                ref operation => self.operation(operation, event.site, execution),
            };
            of_event.insert(event.id, step);
            let seen = choice(event).map(|seen| Seen {
                source: seen.source.and_then(|id| {
                    let thread = walks[id.thread.index()].thread;
                    Some((thread, *of_event.get(&id)?, id.index))
                }),
                outcome: seen.outcome.number(),
            });
            let walk = &mut walks[index];
            walk.events.push(walk.points.len() as u32);
            walk.points.push(Point {
                source: event.source.map(place),
                seen,
                ..plain(step)
            });
            if let Some(result) = result(event) {
                let step = self.step_number(Step::Result(result));
                walks[index].points.push(plain(step));
            }
        }
        for (index, rest) in accesses.into_iter().enumerate() {
            walks[index]
                .points
                .extend(rest.map(|(_, step)| plain(step)));
            // The next operation of a thread that has not ended.
            let next = [&execution.pending, &execution.positions]
                .into_iter()
                .find_map(|all| all.get(index).cloned().flatten());
            if let Some((operation, site)) = next {
                let step = self.operation(&operation, site, execution);
                walks[index].points.push(plain(step));
            }
        }
        walks
    }

    /// Adds the steps of a thread to its tree.
    fn walk_tree(&mut self, walk: &mut Walk) {
        let mut node = match self.roots.get(&walk.thread) {
            Some(&root) => root,
            None => {
                let root = self.add_node(None, 0, 0, walk.thread);
                self.roots.insert(walk.thread, root);
                root
            }
        };
        self.nodes[node as usize].count += 1;
        for point in &mut walk.points {
            let next = match self.edges.get(&(node, point.step)) {
                Some(&next) => next,
                None => {
                    let depth = self.nodes[node as usize].depth + 1;
                    let next = self.add_node(Some(node), point.step, depth, walk.thread);
                    self.edges.insert((node, point.step), next);
                    self.nodes[node as usize].next.push(next);
                    next
                }
            };
            self.nodes[next as usize].count += 1;
            (point.node, node) = (next, next);
        }
    }

    fn add_node(&mut self, parent: Option<u32>, step: u32, depth: u32, thread: u32) -> u32 {
        self.nodes.push(Node {
            parent,
            step,
            depth,
            thread,
            count: 0,
            next: Vec::new(),
        });
        self.nodes.len() as u32 - 1
    }
}

/// Returns the possible sources of every receive of an execution.
fn candidates(execution: &Execution, walks: &[Walk], model: Model) -> Vec<Candidates> {
    let budget = Budget {
        work: WORK,
        ..Budget::default()
    };
    let step = |id: EventId| {
        let walk = &walks[id.thread.index()];
        (
            walk.thread,
            walk.points[walk.events[id.index as usize] as usize].step,
        )
    };
    let candidates = |receive: alternatives::Receive| {
        let id = execution.events[receive.position].id;
        let all = receive.alternatives.iter().chain(&receive.undecided);
        let option = |&candidate: &alternatives::Candidate| {
            let source = candidate.source.map(|id| {
                let (thread, step) = step(id);
                (thread, step, id.index)
            });
            let choice = alternatives::choice(execution, receive.position, candidate)?;
            let outcome = candidate.outcome.number();
            Some((Seen { source, outcome }, choice))
        };
        let (thread, step) = step(id);
        Candidates {
            walk: id.thread.index() as u32,
            event: id.index,
            thread,
            step,
            options: all.filter_map(option).collect(),
        }
    };
    let receives = alternatives::of_some(execution, model, budget);
    receives.into_iter().map(candidates).collect()
}

/// Returns the choice of an event that the rest of its thread depends on: the source of a receive, or the group with
/// which it passed a barrier.
fn choice(event: &Event) -> Option<alternatives::Candidate> {
    match event.operation {
        Operation::Meet { .. } | Operation::Leads { .. } => Some(alternatives::Candidate {
            source: event.source,
            outcome: resolution(&event.operation, event.outcome, event.reply),
        }),
        _ => alternatives::seen(event),
    }
}

/// Returns the result of an operation on which a program usually branches.
fn result(event: &Event) -> Option<&'static str> {
    match event.operation {
        Operation::Update { update, .. } => match update.kind {
            UpdateKind::CompareExchange { .. } if event.writes() => Some("succeeds"),
            UpdateKind::CompareExchange { .. } => Some("fails"),
            _ => None,
        },
        Operation::IsFinished { .. } | Operation::Receive { .. } | Operation::Leads { .. } => {
            event.reply.result()
        }
        Operation::Call { .. } => {
            let result = event.reply.result()?;
            // A call that waits always succeeds.
            let waits = result == Reply::TAKEN && !event.operation.label().starts_with("try");
            (!waits).then_some(result)
        }
        _ => None,
    }
}

/// Returns the other result of an operation that has two.
pub(super) fn opposite(result: &str) -> Option<&'static str> {
    const PAIRS: [(&str, &str); 4] = [
        ("succeeds", "fails"),
        (Reply::TAKEN, Reply::REFUSED),
        (Reply::YES, Reply::NO),
        (Reply::MESSAGE, Reply::EMPTY),
    ];
    PAIRS.iter().find_map(|&(one, other)| match result {
        _ if result == one => Some(other),
        _ if result == other => Some(one),
        _ => None,
    })
}
