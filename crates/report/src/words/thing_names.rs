//! Names for the locations, objects and cells of an execution: the name that the program gave, or
//! its variable, or else its kind.

use std::collections::{HashMap, HashSet};

use raddle_engine::{Execution, Operation};

use crate::data::place::Place;
use crate::words::names::Names;

/// Names of a location, object or cell.
pub(crate) struct ThingName {
    pub(crate) kind: String,
    pub(crate) made: Option<Place>,
    /// Name in a step, where the operation implies the kind.
    pub(crate) in_step: String,
    /// Name in a sentence: with the kind, if it is a variable.
    pub(crate) in_sentence: String,
}

/// A location, object or cell as the front end describes it.
struct KnownThing<'a> {
    kind: &'a str,
    made: Option<Place>,
    label: Option<String>,
    variable: Option<String>,
}

impl KnownThing<'_> {
    fn name(&self) -> &str {
        let given = self.label.as_ref().or(self.variable.as_ref());
        given.map_or(self.kind, |name| name)
    }

    fn line(&self) -> Option<u32> {
        self.made.as_ref().map(|place| place.line)
    }

    fn is_variable(&self) -> bool {
        self.label.is_none() && self.variable.is_some()
    }
}

/// Maximum number of cells, and of locations, that are all named. In a native program each name is looked up in the
/// debug information, which took minutes for the bytes of a large buffer.
const MAX_NAMED: usize = 1_000;

/// The cells or locations that a story can mention.
enum Shown {
    All,
    These(HashSet<usize>),
}

impl Shown {
    fn cells(execution: &Execution) -> Self {
        if execution.cells <= MAX_NAMED {
            return Shown::All;
        }
        let accessed = execution.accesses.iter().map(|(cell, _)| cell.index());
        let conflict = execution.conflict.iter().map(|it| it.cell.index());
        Shown::These(accessed.chain(conflict).collect())
    }

    /// Returns the locations of the events from index `first` on, and of the operations that threads wait for or are
    /// about to do.
    fn locations(first: usize, execution: &Execution) -> Self {
        if execution.locations.len() <= MAX_NAMED {
            return Shown::All;
        }
        let events = execution.events[first..].iter();
        let pending = execution.pending.iter().chain(&execution.positions);
        let pending = pending.flatten();
        let operations = events
            .map(|event| &event.operation)
            .chain(pending.map(|(operation, _)| operation));
        let locations = operations.filter_map(Operation::location);
        Shown::These(locations.map(|location| location.index()).collect())
    }

    fn has(&self, index: usize) -> bool {
        match self {
            Shown::All => true,
            Shown::These(these) => these.contains(&index),
        }
    }
}

/// Returns the names of all locations, then of all objects, then of all cells, of an execution of which the events from
/// index `first` on are shown.
pub(crate) fn all(first: usize, execution: &Execution, names: &dyn Names) -> Vec<ThingName> {
    let shown = Shown::locations(first, execution);
    let locations = (0..execution.locations.len()).map(|index| {
        let (kind, made) = names.location(index);
        let is_shown = shown.has(index);
        KnownThing {
            kind,
            made,
            label: is_shown.then(|| names.location_label(index)).flatten(),
            variable: is_shown.then(|| names.location_variable(index)).flatten(),
        }
    });
    let objects = (0..execution.objects.len()).map(|index| {
        let (kind, made) = names.object(index);
        KnownThing {
            kind,
            made,
            label: names.object_label(index),
            variable: names.object_variable(index),
        }
    });
    let shown_cells = Shown::cells(execution);
    let cells = (0..execution.cells).map(|index| {
        let (kind, made) = names.cell(index);
        let is_shown = shown_cells.has(index);
        KnownThing {
            kind,
            made,
            label: is_shown.then(|| names.cell_label(index)).flatten(),
            variable: is_shown.then(|| names.cell_variable(index)).flatten(),
        }
    });
    let known: Vec<KnownThing<'_>> = locations.chain(objects).chain(cells).collect();
    let mut same: HashMap<&str, SameName> = HashMap::new();
    for one in &known {
        same.entry(one.name()).or_default().add(one);
    }
    let name = |one: &KnownThing<'_>| {
        let in_step = same
            .get_mut(one.name())
            .map_or_else(String::new, |same| same.name_of(one));
        ThingName {
            kind: one.kind.to_owned(),
            made: one.made.clone(),
            in_sentence: match one.is_variable() {
                true => format!("{} `{in_step}`", one.kind),
                false => in_step.clone(),
            },
            in_step,
        }
    };
    known.iter().map(name).collect()
}

/// All locations, objects and cells with the same name.
#[derive(Default)]
struct SameName {
    count: usize,
    /// Number of those that are variables, in total and by line of creation.
    variables: usize,
    lines: HashMap<Option<u32>, usize>,
    /// Number of names returned so far.
    named: usize,
}

impl SameName {
    fn add(&mut self, one: &KnownThing<'_>) {
        self.count += 1;
        self.variables += usize::from(one.is_variable());
        *self.lines.entry(one.line()).or_default() += 1;
    }

    /// Returns the name of the next one. An ambiguous name gets a suffix: the line of creation, or
    /// a number in order of first use if the line does not distinguish it.
    fn name_of(&mut self, one: &KnownThing<'_>) -> String {
        self.named += 1;
        let name = one.name();
        // Variables identified by address are the same memory if they have the same name.
        let is_by_address = one.is_variable() && one.made.is_none();
        if is_by_address || self.count == 1 {
            return name.to_owned();
        }
        let is_alone = self.variables == self.count && self.lines[&one.line()] == 1;
        match one.line().filter(|_| is_alone) {
            Some(line) => format!("{name}@{line}"),
            None => format!("{name}#{}", self.named),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::Ordering;

    use raddle_engine::{Location, LocationId, SiteId};

    use super::*;

    /// Counts the names of cells that are looked up.
    #[derive(Default)]
    struct Counting {
        looked_up: Cell<usize>,
    }

    impl Names for Counting {
        fn place(&self, _: SiteId) -> Option<Place> {
            None
        }

        fn object(&self, _: usize) -> (&str, Option<Place>) {
            ("Mutex", None)
        }

        fn location(&self, _: usize) -> (&str, Option<Place>) {
            ("AtomicU32", None)
        }

        fn cell_variable(&self, index: usize) -> Option<String> {
            self.looked_up.update(|count| count + 1);
            Some(format!("byte {index}"))
        }

        fn location_variable(&self, index: usize) -> Option<String> {
            self.looked_up.update(|count| count + 1);
            Some(format!("word {index}"))
        }
    }

    #[test]
    fn cells_that_no_story_mentions_are_not_looked_up_if_there_are_many() {
        let looked_up = |cells: usize| {
            let mut execution = Execution::default();
            execution.cells = cells;
            let names = Counting::default();
            assert_eq!(all(0, &execution, &names).len(), cells);
            names.looked_up.get()
        };
        assert_eq!(looked_up(MAX_NAMED), MAX_NAMED);
        assert_eq!(looked_up(MAX_NAMED + 1), 0);
    }

    #[test]
    fn locations_that_no_story_mentions_are_not_looked_up_if_there_are_many() {
        let looked_up = |locations: usize| {
            let mut execution = Execution::default();
            let location = Location {
                initial: 0,
                value: 0,
                last_write: None,
                made: None,
                is_ignored: false,
            };
            execution.locations = vec![location; locations];
            // The next operation of the first thread.
            let (location, ordering) = (LocationId::new(3), Ordering::SeqCst);
            let next = Operation::Load { location, ordering };
            execution.positions = vec![Some((next, SiteId::new(0)))];
            let names = Counting::default();
            let found = all(0, &execution, &names);
            assert_eq!(found.len(), locations);
            assert_eq!(found[3].in_step, "word 3");
            names.looked_up.get()
        };
        assert_eq!(looked_up(MAX_NAMED), MAX_NAMED);
        assert_eq!(looked_up(MAX_NAMED + 1), 1);
    }
}
