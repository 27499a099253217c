//! Names of locations, objects and threads, from the front end, for schedules and stories.

use std::collections::HashMap;
use std::sync::Arc;

use super::event::Event;
use super::execution::Execution;
use super::operation::Operation;
use crate::base::ids::ThreadId;

/// Kinds and labels of the locations, or of the objects, of one execution, by their index.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    kinds: Vec<&'static str>,
    labels: Vec<Label>,
    /// Names of variables in the program's source, and the lines where they were created. Variables of
    /// native programs have no such line: they are identified by their addresses.
    variables: Vec<Option<(String, Option<u32>)>>,
}

#[derive(Clone, Debug)]
struct Label {
    thing: usize,
    text: String,
    /// Number of events when the label was given.
    since: usize,
}

impl Naming {
    pub(crate) fn reset(&mut self) {
        self.kinds.clear();
        self.labels.clear();
        self.variables.clear();
    }

    /// Sets the name of a variable in the program's source, and the line where it was created, if it is
    /// not identified by its address. Schedules do not contain it.
    pub fn set_variable(&mut self, thing: usize, name: String, line: Option<u32>) {
        if self.variables.len() <= thing {
            self.variables.resize(thing + 1, None);
        }
        self.variables[thing] = Some((name, line));
    }

    /// Returns the last label that the program gave a thing.
    pub fn label(&self, thing: usize) -> Option<&str> {
        let label = self.labels_of(thing).next_back();
        label.map(|label| &*label.text)
    }

    /// Returns the name of a thing in the program's source, and the line where it was created.
    pub fn variable(&self, thing: usize) -> Option<(&str, Option<u32>)> {
        let variable = self.variables.get(thing)?.as_ref();
        variable.map(|(name, line)| (&**name, *line))
    }

    /// Returns the name of a thing in a story, without the suffix that distinguishes it from
    /// others.
    fn name(&self, thing: usize) -> &str {
        let variable = self.variables.get(thing).and_then(Option::as_ref);
        match (self.labels_of(thing).next_back(), variable) {
            (Some(label), _) => &label.text,
            (None, Some((name, _))) => name,
            (None, None) => self.kind(thing),
        }
    }

    fn line(&self, thing: usize) -> Option<u32> {
        self.variables.get(thing)?.as_ref()?.1
    }

    /// True when the thing has the name of a variable that is identified by its address. Things with
    /// the same such name are the same memory.
    fn is_by_address(&self, thing: usize) -> bool {
        let variable = self.variables.get(thing).and_then(Option::as_ref);
        let has_no_line = variable.is_some_and(|(_, line)| line.is_none());
        has_no_line && self.labels_of(thing).next().is_none()
    }

    pub(crate) fn set_kind(&mut self, thing: usize, kind: &'static str) {
        if self.kinds.len() <= thing {
            self.kinds.resize(thing + 1, "thing");
        }
        self.kinds[thing] = kind;
    }

    pub(crate) fn add_label(&mut self, thing: usize, text: String, since: usize) {
        self.labels.push(Label { thing, text, since });
    }

    /// Returns the kind of a thing, in the program's words.
    pub fn kind(&self, thing: usize) -> &'static str {
        self.kinds.get(thing).copied().unwrap_or("thing")
    }

    fn labels_of(&self, thing: usize) -> impl DoubleEndedIterator<Item = &Label> {
        self.labels.iter().filter(move |label| label.thing == thing)
    }
}

/// A location, an object or a thread that an operation uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Thing {
    Location(usize),
    Object(usize),
    Thread(ThreadId),
}

/// Returns the things that an operation uses; a thread that it will create is not known yet.
pub(crate) fn things(operation: &Operation, execution: &Execution) -> Vec<Thing> {
    match operation {
        Operation::Join { target } | Operation::IsFinished { target } => {
            vec![Thing::Thread(*target)]
        }
        Operation::Receive { ports, .. } => {
            let ports = execution.port_list(ports).iter();
            ports.map(|port| Thing::Object(port.index())).collect()
        }
        _ => match (operation.object(), operation.location()) {
            (Some(object), _) => vec![Thing::Object(object.index())],
            (None, Some(location)) => vec![Thing::Location(location.index())],
            (None, None) => Vec::new(),
        },
    }
}

/// True when a schedule may use this name for the thing: its label or its kind, with or without a
/// number.
pub(crate) fn may_be_called(thing: Thing, name: &str, execution: &Execution) -> bool {
    let (naming, index) = match thing {
        Thing::Location(index) => (&execution.location_names, index),
        Thing::Object(index) => (&execution.object_names, index),
        Thing::Thread(_) => return false,
    };
    let is = |name: &str| {
        naming.kind(index) == name || naming.labels_of(index).any(|label| label.text == name)
    };
    is(name) || is(without_number(name))
}

/// True when a story may use this name for the thing: its name, with the line of its creation
/// behind an `@`, or with its number among those of that name behind a `#`. The name alone stands
/// for any of them. A variable identified by its address may also have its kind as its name.
pub(crate) fn is_called(thing: Thing, name: &str, execution: &Execution) -> bool {
    let (naming, index) = match thing {
        Thing::Location(index) => (&execution.location_names, index),
        Thing::Object(index) => (&execution.object_names, index),
        Thing::Thread(thread) => return is_thread(execution, thread, name),
    };
    let own = naming.name(index);
    let Some(rest) = name.strip_prefix(own) else {
        return naming.is_by_address(index) && is_kind_and_number(thing, name, execution);
    };
    match (rest.chars().next(), rest.get(1..).map(str::parse::<u32>)) {
        (None, _) => true,
        (Some('@'), Some(Ok(line))) => naming.line(index) == Some(line),
        (Some('#'), Some(Ok(number))) => number_of(thing, own, execution) == number,
        _ => false,
    }
}

/// True when a name is the kind of a thing, alone or with its number among those of that kind without a
/// label.
fn is_kind_and_number(thing: Thing, name: &str, execution: &Execution) -> bool {
    let kind = |thing: Thing| {
        let (naming, index) = match thing {
            Thing::Location(index) => (&execution.location_names, index),
            Thing::Object(index) => (&execution.object_names, index),
            Thing::Thread(_) => return None,
        };
        let has_label = naming.labels_of(index).next().is_some();
        (!has_label).then(|| naming.kind(index))
    };
    let Some((own, rest)) = kind(thing).and_then(|own| Some((own, name.strip_prefix(own)?))) else {
        return false;
    };
    let Some(number) = rest.strip_prefix('#') else {
        return rest.is_empty();
    };
    let same = everything(execution).map(|(other, _)| other);
    let mut same = same.filter(|&other| kind(other) == Some(own));
    let place = same.position(|other| other == thing);
    place.map(|place| (place + 1).to_string()).as_deref() == Some(number)
}

/// True when a thread has this name or this path in the tree of creations.
pub(crate) fn is_thread(execution: &Execution, thread: ThreadId, name: &str) -> bool {
    let given = execution.threads[thread.index()].name.as_deref();
    given == Some(name) || execution.path(thread).to_string() == name
}

/// Returns all things that stories have names for: locations, then objects.
fn everything(execution: &Execution) -> impl Iterator<Item = (Thing, &str)> {
    let locations = (0..execution.locations.len())
        .map(|index| (Thing::Location(index), execution.location_names.name(index)));
    let objects = (0..execution.objects.len())
        .map(|index| (Thing::Object(index), execution.object_names.name(index)));
    locations.chain(objects)
}

/// Returns the number of a thing among those of its name, from 1.
fn number_of(thing: Thing, name: &str, execution: &Execution) -> u32 {
    let same = everything(execution).filter(|&(_, other)| other == name);
    let before = same.take_while(|&(other, _)| other != thing);
    before.count() as u32 + 1
}

/// Returns the name of a thing in a story.
pub(crate) fn called(thing: Thing, execution: &Execution) -> String {
    let (naming, index) = match thing {
        Thing::Location(index) => (&execution.location_names, index),
        Thing::Object(index) => (&execution.object_names, index),
        Thing::Thread(thread) => return thread_name(execution, thread),
    };
    let name = naming.name(index);
    if naming.is_by_address(index) {
        return name.to_owned();
    }
    let line = |thing: Thing| match thing {
        Thing::Location(index) => execution.location_names.line(index),
        Thing::Object(index) => execution.object_names.line(index),
        Thing::Thread(_) => None,
    };
    let same: Vec<Thing> = everything(execution)
        .filter(|&(_, other)| other == name)
        .map(|(other, _)| other)
        .collect();
    let on_line = same.iter().filter(|&&other| line(other) == line(thing));
    match (same.len(), line(thing)) {
        (1, _) => name.to_owned(),
        (_, Some(line_of)) if on_line.count() == 1 => format!("{name}@{line_of}"),
        _ => format!("{name}#{}", number_of(thing, name, execution)),
    }
}

/// Returns the name of a thread: the program's name if no other has it, or else its path in the
/// tree of creations.
pub(crate) fn thread_name(execution: &Execution, thread: ThreadId) -> String {
    thread_names(execution)[thread.index()].to_string()
}

/// Removes the number: `Mutex` of `Mutex#2`.
pub(crate) fn without_number(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((start, number)) if number.parse::<u32>().is_ok() => start,
        _ => name,
    }
}

/// Unique names of all threads, locations and objects of one execution.
pub(crate) struct Names {
    threads: Vec<Arc<str>>,
    locations: Vec<Arc<str>>,
    objects: Vec<Arc<str>>,
}

impl Names {
    pub(crate) fn of(execution: &Execution) -> Self {
        let (locations, objects) = (execution.locations.len(), execution.objects.len());
        let mut words: Vec<&str> = Vec::with_capacity(locations + objects);
        let first_uses = FirstUses::of(execution);
        for (naming, first_uses) in [
            (&execution.location_names, &first_uses.locations),
            (&execution.object_names, &first_uses.objects),
        ] {
            for (thing, first_use) in first_uses.iter().enumerate() {
                // A replay must know the name at the first use of the thing.
                let label = naming.labels_of(thing).rfind(|it| it.since <= *first_use);
                words.push(label.map_or(naming.kind(thing), |label| &label.text));
            }
        }
        let mut all = numbered(&words);
        let objects = all.split_off(locations);
        Names {
            threads: thread_names(execution),
            locations: all,
            objects,
        }
    }

    pub(crate) fn thread(&self, thread: ThreadId) -> Arc<str> {
        Arc::clone(&self.threads[thread.index()])
    }

    /// Returns the names of the things that an event used.
    pub(crate) fn of_event(&self, event: &Event, execution: &Execution) -> Vec<Arc<str>> {
        match event.operation {
            Operation::Spawn => vec![self.thread(event.reply.to_thread())],
            ref operation => self.of_operation(operation, execution),
        }
    }

    /// Returns the names of the things that an operation uses.
    pub(crate) fn of_operation(
        &self,
        operation: &Operation,
        execution: &Execution,
    ) -> Vec<Arc<str>> {
        let name = |thing: &Thing| match *thing {
            Thing::Location(index) => Arc::clone(&self.locations[index]),
            Thing::Object(index) => Arc::clone(&self.objects[index]),
            Thing::Thread(thread) => self.thread(thread),
        };
        things(operation, execution).iter().map(name).collect()
    }
}

/// Appends a number, from 1, to each word that occurs more than once.
fn numbered(words: &[&str]) -> Vec<Arc<str>> {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let mut seen: HashMap<String, u32> = HashMap::new();
    let name = |word: &&str| match counts[word] {
        1 => Arc::from(*word),
        _ => {
            let number = seen.entry((*word).to_owned()).or_default();
            *number += 1;
            Arc::from(format!("{word}#{number}"))
        }
    };
    words.iter().map(name).collect()
}

/// Returns the name of each thread: the program's name if no other has it, or else its path in the
/// tree of creations.
fn thread_names(execution: &Execution) -> Vec<Arc<str>> {
    let given = |index: usize| execution.threads[index].name.as_deref();
    let is_place = |name: &str| name == "main" || name.starts_with("main.");
    let all = 0..execution.threads.len();
    all.clone()
        .map(|index| match given(index) {
            Some(name)
                if !name.is_empty()
                    && !is_place(name)
                    && all
                        .clone()
                        .filter(|&other| given(other) == Some(name))
                        .count()
                        == 1 =>
            {
                Arc::from(name)
            }
            _ => Arc::from(execution.path(ThreadId::new(index)).to_string()),
        })
        .collect()
}

/// The position of the first event on each thing.
struct FirstUses {
    locations: Vec<usize>,
    objects: Vec<usize>,
}

impl FirstUses {
    fn of(execution: &Execution) -> Self {
        let mut uses = FirstUses {
            locations: vec![usize::MAX; execution.locations.len()],
            objects: vec![usize::MAX; execution.objects.len()],
        };
        for (position, event) in execution.events.iter().enumerate() {
            for thing in things(&event.operation, execution) {
                let first = match thing {
                    Thing::Location(index) => &mut uses.locations[index],
                    Thing::Object(index) => &mut uses.objects[index],
                    Thing::Thread(_) => continue,
                };
                *first = position.min(*first);
            }
        }
        uses
    }
}
