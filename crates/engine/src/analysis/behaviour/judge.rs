//! Judges properties on executions: on the order of a run, and on all orders of its class.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::formula::Property;
use super::monitor::{Monitor, MonitorState, WordEnd};
use super::order::ClassOrder;
use crate::base::ids::EventId;
use crate::memory::Model;
use crate::model::ending::Ending;
use crate::model::execution::Execution;

/// Maximum number of states, each a set of labelled events with a state of the monitor, that are visited for one
/// property and one class. More take seconds and hundreds of megabytes.
pub const MAX_STATES: usize = 200_000;

/// A property with a name.
#[derive(Clone, Debug)]
pub struct NamedProperty {
    /// Its name.
    pub name: String,
    /// The formula.
    pub property: Property,
    monitor: Monitor,
}

/// Properties of a check.
pub type Properties = Arc<[NamedProperty]>;

/// A property that the order of a run violates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Number of the property.
    pub number: usize,
    /// Name of the property.
    pub name: String,
    /// Text of the formula.
    pub formula: String,
    /// Positions of the labelled events up to the violation, with their labels.
    pub word: Vec<(usize, String)>,
    /// The way in which the word ends.
    pub end: ViolationEnd,
}

/// The end of a word that violates a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViolationEnd {
    /// No continuation matters: its last event violates the property.
    Event,
    /// The program ends without what the property demands.
    Complete,
    /// The threads block each other.
    Blocked,
    /// Threads spin for ever, and in a fair execution nothing else happens.
    Spins,
}

/// The judgement about all orders of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// Every order fulfils the property.
    Holds,
    /// This order of all events violates the property, if the program can run in it.
    Violated(Vec<usize>),
    /// The execution was cut, and no order violates the property up to there.
    Cut,
    /// Several threads spin for ever with labels in their loops, of which one order was judged.
    OneLasso,
    /// There are more orders than are looked at.
    TooMany,
}

impl NamedProperty {
    /// Creates a property with a name.
    #[must_use]
    pub fn new(name: String, property: Property) -> Self {
        let monitor = Monitor::new(&property);
        NamedProperty {
            name,
            property,
            monitor,
        }
    }
}

/// True when the execution of this ending has all events up to the end of the program.
#[must_use]
pub fn is_whole(execution: &Execution, ending: &Ending) -> bool {
    let is_cut = execution.left_polling || execution.polls.is_some();
    matches!(
        ending,
        Ending::Complete | Ending::Deadlock | Ending::Livelock
    ) && !is_cut
}

/// The labels that threads in spin loops repeat for ever, one round of each thread after the other, and the number of
/// threads with such labels.
fn repeated(execution: &Execution, ending: &Ending) -> (Vec<String>, usize) {
    if *ending != Ending::Livelock {
        return (Vec::new(), 0);
    }
    let mut labels = Vec::new();
    let mut threads = 0;
    for spinning in &execution.spinning {
        let before = labels.len();
        for label in &execution.labels {
            if spinning.events.contains(&label.event) {
                labels.push(label.text.clone());
            }
        }
        threads += usize::from(labels.len() > before);
    }
    (labels, threads)
}

/// Returns the first property that the order of the run violates.
#[must_use]
pub fn of_run(
    execution: &Execution,
    ending: &Ending,
    properties: &[NamedProperty],
) -> Option<Violation> {
    let mut properties = properties.iter().enumerate();
    properties.find_map(|(number, property)| violation(execution, ending, number, property))
}

/// Returns the violation of a property by the order of the run.
#[must_use]
pub fn violation(
    execution: &Execution,
    ending: &Ending,
    number: usize,
    property: &NamedProperty,
) -> Option<Violation> {
    let at = positions(execution);
    let mut labels: Vec<_> = execution.labels.iter().collect();
    labels.sort_by_key(|label| at.get(&label.event));
    let mut state = property.monitor.start();
    let mut word = Vec::new();
    let mut end = None;
    for label in labels {
        let Some(&position) = at.get(&label.event) else {
            continue;
        };
        word.push((position, label.text.clone()));
        state = property.monitor.step(&state, &label.text);
        if state.is_violated() {
            end = Some(ViolationEnd::Event);
            break;
        }
    }
    if end.is_none() {
        let (labels, _) = repeated(execution, ending);
        let word_end = match is_whole(execution, ending) {
            true => WordEnd::Lasso(&labels),
            false => WordEnd::Unknown,
        };
        if property.monitor.end(&state, word_end) == Some(false) {
            end = Some(match ending {
                Ending::Livelock => ViolationEnd::Spins,
                Ending::Deadlock => ViolationEnd::Blocked,
                _ => ViolationEnd::Complete,
            });
        }
    }
    Some(Violation {
        number,
        name: property.name.clone(),
        formula: property.property.to_string(),
        word,
        end: end?,
    })
}

fn positions(execution: &Execution) -> HashMap<EventId, usize> {
    let events = execution.events.iter().enumerate();
    events
        .map(|(position, event)| (event.id, position))
        .collect()
}

/// Labelled events of an execution, with the order between them that all orders of its class have.
pub(super) struct Labelled<'a> {
    /// By thread with labels: its labelled events.
    pub(super) threads: Vec<Vec<LabelledEvent<'a>>>,
}

/// An operation with labels.
pub(super) struct LabelledEvent<'a> {
    pub(super) position: usize,
    pub(super) labels: Vec<&'a str>,
    /// By thread with labels: number of its labelled events that come before this one.
    needs: Vec<u32>,
}

impl<'a> Labelled<'a> {
    pub(super) fn of(execution: &'a Execution, order: &ClassOrder) -> Self {
        let at = positions(execution);
        let mut by_position: HashMap<usize, Vec<&str>> = HashMap::new();
        for label in &execution.labels {
            if let Some(&position) = at.get(&label.event) {
                by_position.entry(position).or_default().push(&label.text);
            }
        }
        let mut slots: Vec<usize> = by_position
            .keys()
            .map(|&it| execution.events[it].id.thread.index())
            .collect();
        slots.sort_unstable();
        slots.dedup();
        let mut threads: Vec<Vec<LabelledEvent<'a>>> = slots.iter().map(|_| Vec::new()).collect();
        // The number of labelled events of each thread that come before an event, itself included.
        let mut past: Vec<Vec<u32>> = vec![vec![0; slots.len()]; execution.events.len()];
        // Under weak memory, an event may need a later one of the run.
        for position in order.completed(&[]) {
            let mut before = vec![0; slots.len()];
            for &earlier in order.needs(position) {
                for (count, other) in before.iter_mut().zip(&past[earlier]) {
                    *count = (*count).max(*other);
                }
            }
            if let Some(labels) = by_position.remove(&position) {
                let thread = execution.events[position].id.thread.index();
                let slot = slots.binary_search(&thread).expect("it has labels");
                let own = &mut threads[slot];
                own.push(LabelledEvent {
                    position,
                    labels,
                    needs: before.clone(),
                });
                before[slot] = own.len() as u32;
            }
            past[position] = before;
        }
        Labelled { threads }
    }

    /// Returns the labelled events that can be next after these numbers of each thread.
    pub(super) fn next<'s>(
        &'s self,
        done: &'s [u32],
    ) -> impl Iterator<Item = (usize, &'s LabelledEvent<'a>)> {
        let threads = self.threads.iter().enumerate();
        let next = threads
            .filter_map(move |(slot, events)| Some((slot, events.get(done[slot] as usize)?)));
        next.filter(move |(_, event)| {
            event
                .needs
                .iter()
                .zip(done)
                .all(|(need, done)| need <= done)
        })
    }
}

/// Judges all orders of the class of an execution.
#[must_use]
pub fn of_class(
    execution: &Execution,
    ending: &Ending,
    model: Model,
    property: &NamedProperty,
    max_states: usize,
) -> Judgement {
    let order = ClassOrder::of(execution, model);
    let labelled = Labelled::of(execution, &order);
    let (labels, spinning) = repeated(execution, ending);
    let word_end = match is_whole(execution, ending) {
        true => WordEnd::Lasso(&labels),
        false => WordEnd::Unknown,
    };
    let monitor = &property.monitor;
    // Each state with the one before it, by number, and the event between the two.
    let mut states: Vec<(usize, usize)> = vec![(0, 0)];
    let mut known: HashSet<(Vec<u32>, MonitorState)> = HashSet::new();
    let mut open = vec![(vec![0; labelled.threads.len()], monitor.start(), 0)];
    let mut is_cut = false;
    let violated = |states: &[(usize, usize)], mut state: usize| {
        let mut word = Vec::new();
        while state != 0 {
            word.push(states[state].1);
            state = states[state].0;
        }
        word.reverse();
        Judgement::Violated(order.completed(&word))
    };
    while let Some((done, state, number)) = open.pop() {
        if state.is_fulfilled() {
            continue;
        }
        let mut is_last = true;
        for (slot, event) in labelled.next(&done) {
            is_last = false;
            let mut next = state.clone();
            for label in &event.labels {
                next = monitor.step(&next, label);
            }
            let mut after = done.clone();
            after[slot] += 1;
            let key = (after.clone(), next.clone());
            if known.contains(&key) {
                continue;
            }
            if states.len() >= max_states {
                return Judgement::TooMany;
            }
            states.push((number, event.position));
            known.insert(key);
            if next.is_violated() {
                return violated(&states, states.len() - 1);
            }
            open.push((after, next, states.len() - 1));
        }
        if is_last {
            match monitor.end(&state, word_end) {
                Some(false) => return violated(&states, number),
                Some(true) => {}
                None => is_cut = true,
            }
        }
    }
    match (is_cut, spinning) {
        (true, _) => Judgement::Cut,
        (false, 0 | 1) => Judgement::Holds,
        (false, _) => Judgement::OneLasso,
    }
}
