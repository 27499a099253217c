//! What the program calls the things it uses: words that the front end gives and the engine passes
//! on to schedules.

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
    /// What the program's source calls them, and the lines where they were made.
    variables: Vec<Option<(String, u32)>>,
}

#[derive(Clone, Debug)]
struct Label {
    thing: usize,
    text: String,
    /// How many events there were when it was given.
    since: usize,
}

impl Naming {
    pub(crate) fn reset(&mut self) {
        self.kinds.clear();
        self.labels.clear();
        self.variables.clear();
    }

    /// Says what the program's source calls a thing, and on which line it was made. Schedules do not
    /// know it.
    pub fn set_variable(&mut self, thing: usize, name: String, line: u32) {
        if self.variables.len() <= thing {
            self.variables.resize(thing + 1, None);
        }
        self.variables[thing] = Some((name, line));
    }

    /// The name that the program gave a thing last.
    pub fn label(&self, thing: usize) -> Option<&str> {
        let label = self.labels_of(thing).next_back();
        label.map(|label| &*label.text)
    }

    /// What the program's source calls a thing, and on which line it was made.
    pub fn variable(&self, thing: usize) -> Option<(&str, u32)> {
        let variable = self.variables.get(thing)?.as_ref();
        variable.map(|(name, line)| (&**name, *line))
    }

    /// What a story calls a thing, but for what tells it from others of that name.
    fn name(&self, thing: usize) -> &str {
        let variable = self.variables.get(thing).and_then(Option::as_ref);
        match (self.labels_of(thing).next_back(), variable) {
            (Some(label), _) => &label.text,
            (None, Some((name, _))) => name,
            (None, None) => self.kind(thing),
        }
    }

    fn line(&self, thing: usize) -> Option<u32> {
        let variable = self.variables.get(thing)?.as_ref();
        variable.map(|&(_, line)| line)
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

    /// What kind of thing the program calls it.
    pub fn kind(&self, thing: usize) -> &'static str {
        self.kinds.get(thing).copied().unwrap_or("thing")
    }

    fn labels_of(&self, thing: usize) -> impl DoubleEndedIterator<Item = &Label> {
        self.labels.iter().filter(move |label| label.thing == thing)
    }
}

/// Something that an operation is done to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Thing {
    Location(usize),
    Object(usize),
    Thread(ThreadId),
}

/// What an operation is done to; a thread that it will create is not known yet.
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

/// Whether a schedule may mean this thing by this name: its label or its kind, with or without a
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

/// Whether a story may call this thing so: by its name, with the line where it was made behind an `@`,
/// or with its number among those of that name behind a `#`. The name alone stands for any of them.
pub(crate) fn is_called(thing: Thing, name: &str, execution: &Execution) -> bool {
    let (naming, index) = match thing {
        Thing::Location(index) => (&execution.location_names, index),
        Thing::Object(index) => (&execution.object_names, index),
        Thing::Thread(thread) => return is_thread(execution, thread, name),
    };
    let own = naming.name(index);
    let Some(rest) = name.strip_prefix(own) else {
        return false;
    };
    match (rest.chars().next(), rest.get(1..).map(str::parse::<u32>)) {
        (None, _) => true,
        (Some('@'), Some(Ok(line))) => naming.line(index) == Some(line),
        (Some('#'), Some(Ok(number))) => number_of(thing, own, execution) == number,
        _ => false,
    }
}

/// Whether a thread has this name or this place in the tree of creations.
pub(crate) fn is_thread(execution: &Execution, thread: ThreadId, name: &str) -> bool {
    let given = execution.threads[thread.index()].name.as_deref();
    given == Some(name) || execution.path(thread).to_string() == name
}

/// Everything that stories have names for: locations, then objects.
fn everything(execution: &Execution) -> impl Iterator<Item = (Thing, &str)> {
    let locations = (0..execution.locations.len())
        .map(|index| (Thing::Location(index), execution.location_names.name(index)));
    let objects = (0..execution.objects.len())
        .map(|index| (Thing::Object(index), execution.object_names.name(index)));
    locations.chain(objects)
}

/// The how manieth of its name a thing is, from 1.
fn number_of(thing: Thing, name: &str, execution: &Execution) -> u32 {
    let same = everything(execution).filter(|&(_, other)| other == name);
    let before = same.take_while(|&(other, _)| other != thing);
    before.count() as u32 + 1
}

/// What a story calls a thing.
pub(crate) fn called(thing: Thing, execution: &Execution) -> String {
    let (naming, index) = match thing {
        Thing::Location(index) => (&execution.location_names, index),
        Thing::Object(index) => (&execution.object_names, index),
        Thing::Thread(thread) => return thread_name(execution, thread),
    };
    let name = naming.name(index);
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

/// What to call a thread: its name if no other has it, or else its place in the tree of creations.
pub(crate) fn thread_name(execution: &Execution, thread: ThreadId) -> String {
    thread_names(execution)[thread.index()].to_string()
}

/// `Mutex` of `Mutex#2`.
pub(crate) fn without_number(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((start, number)) if number.parse::<u32>().is_ok() => start,
        _ => name,
    }
}

/// A name for everything in one execution.
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
                // A replay must know the name when it first sees the thing.
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

    /// What an event was done to.
    pub(crate) fn of_event(&self, event: &Event, execution: &Execution) -> Vec<Arc<str>> {
        match event.operation {
            Operation::Spawn => vec![self.thread(event.reply.to_thread())],
            ref operation => self.of_operation(operation, execution),
        }
    }

    /// What an operation is done to.
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

/// Numbers those that are not the only ones of their name, from 1.
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

/// The name that the program gave a thread if no other has it, or else its place in the tree of
/// creations.
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
