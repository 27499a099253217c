//! Given sequences of labels: whether a class has them, and which sequences of a program are not among them.
//!
//! This is deterministic testing with sequences that were written by hand or derived from a labelled transition system
//! (reachability testing, Carver and Lei): each is feasible or not, and sequences that the program has in addition, or
//! does not have, are listed.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use super::graph::{AutError, BehaviourGraph};
use super::judge::{Labelled, is_whole};
use super::order::{ClassOrder, plan};
use crate::memory::Model;
use crate::model::choice::Planned;
use crate::model::ending::Ending;
use crate::model::execution::Execution;

/// Maximum given sequences.
pub const MAX_SEQUENCES: usize = 10_000;
/// Maximum states visited for one sequence in one class, or for the comparison with a graph.
const MAX_STATES: usize = 200_000;

/// Sequences of labels, or a labelled transition system that has them.
///
/// The text has one sequence on each line, with `;` between the labels; blank lines and lines that begin with `#` are left
/// out. A text that begins with `des` is a labelled transition system in Aldebaran's format.
///
/// A sequence may leave events out, unless the sequences are [`strict`](Self::strict).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenSequences {
    given: Given,
    is_strict: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Given {
    Batch(Vec<Vec<String>>),
    Graph(BehaviourGraph),
}

/// A text has no sequences.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SequencesError {
    /// No line has a sequence.
    Empty,
    /// There are more sequences than this.
    TooMany(usize),
    /// A sequence on this line has an empty label.
    EmptyLabel(usize),
    /// It is no labelled transition system.
    Graph(AutError),
}

impl fmt::Display for SequencesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SequencesError::Empty => {
                f.write_str("there is no sequence: write one on each line, `first; second; third`")
            }
            SequencesError::TooMany(most) => write!(f, "more than {most} sequences: split them"),
            SequencesError::EmptyLabel(line) => {
                write!(
                    f,
                    "line {line}: an empty label; one `;` stands between two labels"
                )
            }
            SequencesError::Graph(error) => write!(f, "no labelled transition system: {error}"),
        }
    }
}

impl std::error::Error for SequencesError {}

impl FromStr for GivenSequences {
    type Err = SequencesError;

    fn from_str(text: &str) -> Result<Self, SequencesError> {
        if text.trim_start().starts_with("des") {
            return text
                .parse::<BehaviourGraph>()
                .map(GivenSequences::from)
                .map_err(SequencesError::Graph);
        }
        let mut sequences = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line = line.strip_suffix(';').unwrap_or(line);
            let labels: Vec<String> = line
                .split(';')
                .map(|label| label.trim().to_owned())
                .collect();
            if labels.iter().any(String::is_empty) {
                return Err(SequencesError::EmptyLabel(number + 1));
            }
            if sequences.len() >= MAX_SEQUENCES {
                return Err(SequencesError::TooMany(MAX_SEQUENCES));
            }
            sequences.push(labels);
        }
        match sequences.is_empty() {
            true => Err(SequencesError::Empty),
            false => Ok(sequences.into()),
        }
    }
}

impl From<BehaviourGraph> for GivenSequences {
    fn from(graph: BehaviourGraph) -> Self {
        GivenSequences {
            given: Given::Graph(graph),
            is_strict: true,
        }
    }
}

impl From<Vec<Vec<String>>> for GivenSequences {
    fn from(sequences: Vec<Vec<String>>) -> Self {
        GivenSequences {
            given: Given::Batch(sequences),
            is_strict: false,
        }
    }
}

impl GivenSequences {
    /// Requires that a sequence has every labelled event of an execution, from the first to the last: an event that it
    /// leaves out is an error. A labelled transition system is always compared in this way, except that the executions may
    /// end in any of its states.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// True when no event may be left out.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Returns the sequences of a batch; empty for a labelled transition system.
    #[must_use]
    pub fn sequences(&self) -> &[Vec<String>] {
        match &self.given {
            Given::Batch(sequences) => sequences,
            Given::Graph(_) => &[],
        }
    }

    /// Returns the labelled transition system, if these are given by one.
    #[must_use]
    pub fn graph(&self) -> Option<&BehaviourGraph> {
        match &self.given {
            Given::Batch(_) => None,
            Given::Graph(graph) => Some(graph),
        }
    }
}

/// The result of the search for a sequence in one class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InClass {
    /// This plan performs the sequence, if every order of the class is that of a run.
    Found(Vec<Planned>),
    /// No order of the class has the sequence.
    NotFound,
    /// There are more orders than are looked at.
    TooMany,
}

/// Looks for a sequence among the orders of a class. With `is_strict`, the sequence has every labelled event of the
/// execution; otherwise others may come before, between and after its labels.
#[must_use]
pub fn find(
    execution: &Execution,
    ending: &Ending,
    model: Model,
    sequence: &[String],
    is_strict: bool,
) -> InClass {
    let labels = || execution.labels.iter();
    let is_there = |label: &String| labels().any(|it| it.text == *label);
    let is_cut = !is_whole(execution, ending);
    let has_all = sequence.iter().all(is_there);
    if !has_all || is_strict && (is_cut || labels().count() != sequence.len()) {
        return InClass::NotFound;
    }
    let order = ClassOrder::of(execution, model);
    let labelled = Labelled::of(execution, &order);
    let mut states: Vec<(usize, usize)> = vec![(0, 0)];
    let mut known: HashSet<(Vec<u32>, usize)> = HashSet::new();
    let mut open = vec![(vec![0; labelled.threads.len()], 0, 0)];
    while let Some((done, matched, number)) = open.pop() {
        let is_last = labelled.next(&done).next().is_none();
        if matched == sequence.len() && (!is_strict || is_last) {
            let mut word = Vec::new();
            let mut state = number;
            while state != 0 {
                word.push(states[state].1);
                state = states[state].0;
            }
            word.reverse();
            return InClass::Found(plan(execution, &order.completed(&word)));
        }
        for (slot, event) in labelled.next(&done) {
            let mut matches = matched;
            let mut fits = true;
            for label in &event.labels {
                match sequence.get(matches).is_some_and(|next| next == label) {
                    true => matches += 1,
                    false => fits = false,
                }
            }
            if is_strict && !fits {
                continue;
            }
            let mut after = done.clone();
            after[slot] += 1;
            if known.insert((after.clone(), matches)) {
                if states.len() >= MAX_STATES {
                    return InClass::TooMany;
                }
                states.push((number, event.position));
                open.push((after, matches, states.len() - 1));
            }
        }
    }
    InClass::NotFound
}

/// A sequence of one side that the other does not have.
pub type Sequence = Vec<String>;

/// The result of a comparison of the graph of a program with given sequences.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Differences {
    /// Sequences of the program that are not given, the first of them in alphabetical order.
    pub missing: Vec<Sequence>,
    /// Number of all such sequences, at most `u64::MAX`.
    pub missing_count: u64,
    /// Shortest sequences of a given transition system that the program does not have, one for each of its transitions.
    pub infeasible: Vec<Sequence>,
    /// True when there are too many states to compare.
    pub is_cut: bool,
}

/// A set of states of a graph that a sequence leads to.
type States = BTreeSet<usize>;

/// A graph without internal steps: each sequence leads to one set of states.
#[derive(Debug)]
pub struct Deterministic<'a> {
    graph: &'a BehaviourGraph,
    next: HashMap<usize, HashMap<&'a str, States>>,
}

impl<'a> Deterministic<'a> {
    /// Reads a graph.
    #[must_use]
    pub fn new(graph: &'a BehaviourGraph) -> Self {
        let mut next: HashMap<usize, HashMap<&str, States>> = HashMap::new();
        for it in &graph.transitions {
            if let Some(label) = &it.label {
                next.entry(it.from)
                    .or_default()
                    .entry(label)
                    .or_default()
                    .insert(it.to);
            }
        }
        Deterministic { graph, next }
    }

    /// Adds the states that internal steps lead to.
    fn close(&self, states: States) -> States {
        let mut open: Vec<usize> = states.iter().copied().collect();
        let mut closed = states;
        while let Some(state) = open.pop() {
            for it in self.graph.from(state).filter(|it| it.label.is_none()) {
                if closed.insert(it.to) {
                    open.push(it.to);
                }
            }
        }
        closed
    }

    /// Returns the states before the first label.
    #[must_use]
    pub fn start(&self) -> States {
        match self.graph.states.is_empty() {
            true => States::new(),
            false => self.close(States::from([0])),
        }
    }

    /// Returns the labels that can be next, in alphabetical order.
    #[must_use]
    pub fn labels(&self, states: &States) -> Vec<&'a str> {
        let next = states.iter().filter_map(|state| self.next.get(state));
        let labels: BTreeSet<&str> = next.flat_map(|next| next.keys().copied()).collect();
        labels.into_iter().collect()
    }

    /// Returns the states after a label.
    #[must_use]
    pub fn step(&self, states: &States, label: &str) -> States {
        let next = states
            .iter()
            .filter_map(|state| self.next.get(state)?.get(label));
        self.close(next.flatten().copied().collect())
    }

    /// Returns all states that some labels lead to, these included.
    fn after(&self, states: &States) -> States {
        let mut open: Vec<usize> = states.iter().copied().collect();
        let mut found = states.clone();
        while let Some(state) = open.pop() {
            for it in self.graph.from(state) {
                if found.insert(it.to) {
                    open.push(it.to);
                }
            }
        }
        found
    }

    /// Returns the number of labels of the sequence with which some execution begins, or, unless `is_strict`, that it has
    /// among others, and the states after these.
    #[must_use]
    pub fn longest(&self, sequence: &[String], is_strict: bool) -> (usize, States) {
        let mut states = self.start();
        for (number, label) in sequence.iter().enumerate() {
            let before = match is_strict {
                true => states.clone(),
                false => self.after(&states),
            };
            let next = self.step(&before, label);
            if next.is_empty() {
                return (number, states);
            }
            states = next;
        }
        (sequence.len(), states)
    }

    /// Returns labels that come, after these states, in every execution before the first event with this label; `None` if
    /// no execution has one.
    #[must_use]
    pub fn before(&self, states: &States, label: &str) -> Option<BTreeSet<&'a str>> {
        let mut known: HashMap<usize, Option<BTreeSet<&'a str>>> = HashMap::new();
        let all = states
            .iter()
            .filter_map(|&state| self.before_from(state, label, &mut known));
        all.reduce(|one, other| one.intersection(&other).copied().collect())
    }

    fn before_from(
        &self,
        state: usize,
        label: &str,
        known: &mut HashMap<usize, Option<BTreeSet<&'a str>>>,
    ) -> Option<BTreeSet<&'a str>> {
        if let Some(found) = known.get(&state) {
            return found.clone();
        }
        // A cycle adds nothing to what other paths need.
        known.insert(state, None);
        let mut found: Option<BTreeSet<&str>> = None;
        for it in self.graph.from(state) {
            let on_path = match &it.label {
                Some(other) if other == label => Some(BTreeSet::new()),
                other => self.before_from(it.to, label, known).map(|mut labels| {
                    labels.extend(other.as_deref());
                    labels
                }),
            };
            let Some(on_path) = on_path else { continue };
            found = Some(match found {
                Some(found) => found.intersection(&on_path).copied().collect(),
                None => on_path,
            });
        }
        known.insert(state, found.clone());
        found
    }

    fn has_ending(&self, states: &States) -> bool {
        states
            .iter()
            .any(|&state| self.graph.states[state].ending.is_some())
    }
}

/// The part of given sequences that a sequence of the program has passed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Passed {
    /// By given sequence: the number of its labels that were passed; `None` if another label came.
    Batch(Vec<Option<usize>>),
    Graph(States),
}

/// Compares the graph of a program with given sequences. `listed` is the maximum number of sequences in the result.
#[must_use]
pub fn compare(program: &BehaviourGraph, given: &GivenSequences, listed: usize) -> Differences {
    let program = Deterministic::new(program);
    let graph = given.graph().map(Deterministic::new);
    let passed = match &graph {
        Some(graph) => Passed::Graph(graph.start()),
        None => Passed::Batch(vec![Some(0); given.sequences().len()]),
    };
    let mut comparison = Comparison {
        given,
        graph,
        program,
        counts: HashMap::new(),
    };
    let start = comparison.program.start();
    let mut differences = Differences::default();
    match comparison.count(&start, &passed) {
        Some(count) => differences.missing_count = count,
        None => differences.is_cut = true,
    }
    if !differences.is_cut {
        comparison.list(
            &start,
            &passed,
            listed,
            &mut Vec::new(),
            &mut differences.missing,
        );
        comparison.list_infeasible(listed, &mut differences);
    }
    differences
}

struct Comparison<'a> {
    given: &'a GivenSequences,
    graph: Option<Deterministic<'a>>,
    program: Deterministic<'a>,
    /// Number of missing sequences from here; `None` while it is counted.
    counts: HashMap<(States, Passed), Option<u64>>,
}

impl Comparison<'_> {
    fn pass(&self, passed: &Passed, label: &str) -> Passed {
        match passed {
            Passed::Graph(states) => {
                let graph = self.graph.as_ref().expect("it is a graph that was passed");
                Passed::Graph(graph.step(states, label))
            }
            Passed::Batch(numbers) => {
                let sequences = self.given.sequences().iter().zip(numbers);
                let next = sequences.map(|(sequence, number)| {
                    let number = (*number)?;
                    match sequence.get(number) {
                        Some(next) if next == label => Some(number + 1),
                        _ if self.given.is_strict => None,
                        _ => Some(number),
                    }
                });
                Passed::Batch(next.collect())
            }
        }
    }

    /// True when a sequence of the program that ends here is given.
    fn is_given(&self, passed: &Passed) -> bool {
        match passed {
            Passed::Graph(states) => !states.is_empty(),
            Passed::Batch(numbers) => {
                let mut sequences = self.given.sequences().iter().zip(numbers);
                sequences.any(|(sequence, number)| *number == Some(sequence.len()))
            }
        }
    }

    /// Returns the number of sequences from here to an ending that are not given; `None` if there are too many states.
    fn count(&mut self, states: &States, passed: &Passed) -> Option<u64> {
        let key = (states.clone(), passed.clone());
        if let Some(count) = self.counts.get(&key) {
            return *count;
        }
        if self.counts.len() >= MAX_STATES {
            return None;
        }
        self.counts.insert(key.clone(), None);
        let is_missing = self.program.has_ending(states) && !self.is_given(passed);
        let mut count = u64::from(is_missing);
        for label in self.program.labels(states) {
            let next = self.program.step(states, label);
            let passed = self.pass(passed, label);
            count = count.saturating_add(self.count(&next, &passed)?);
        }
        self.counts.insert(key, Some(count));
        Some(count)
    }

    fn list(
        &self,
        states: &States,
        passed: &Passed,
        most: usize,
        before: &mut Sequence,
        found: &mut Vec<Sequence>,
    ) {
        let count = self.counts.get(&(states.clone(), passed.clone()));
        if found.len() >= most || matches!(count, Some(Some(0)) | None) {
            return;
        }
        if self.program.has_ending(states) && !self.is_given(passed) {
            found.push(before.clone());
        }
        for label in self.program.labels(states) {
            let next = self.program.step(states, label);
            let passed = self.pass(passed, label);
            before.push(label.to_owned());
            self.list(&next, &passed, most, before, found);
            before.pop();
        }
    }

    /// Lists the shortest sequences of a given transition system that the program does not have.
    fn list_infeasible(&self, most: usize, differences: &mut Differences) {
        let Some(given) = &self.graph else {
            return;
        };
        let mut known: HashSet<(States, States)> = HashSet::new();
        let mut reported: HashSet<(States, &str)> = HashSet::new();
        let start = (given.start(), self.program.start());
        let mut open = VecDeque::from([(start, Sequence::new())]);
        while let Some(((theirs, own), sequence)) = open.pop_front() {
            for label in given.labels(&theirs) {
                let (next, program) = (given.step(&theirs, label), self.program.step(&own, label));
                let mut sequence = sequence.clone();
                sequence.push(label.to_owned());
                if program.is_empty() {
                    if differences.infeasible.len() < most
                        && reported.insert((theirs.clone(), label))
                    {
                        differences.infeasible.push(sequence);
                    }
                    continue;
                }
                if known.len() >= MAX_STATES {
                    differences.is_cut = true;
                    return;
                }
                if known.insert((next.clone(), program.clone())) {
                    open.push_back(((next, program), sequence));
                }
            }
        }
    }
}
