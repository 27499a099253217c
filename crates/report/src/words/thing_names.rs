//! Names for the locations and objects of one execution: the name that the program gave it, or what
//! its source calls it, or else its kind.

use std::collections::HashMap;

use raddle_engine::Execution;

use crate::data::place::Place;
use crate::words::names::Names;

/// A location or object.
pub(crate) struct Called {
    pub(crate) kind: String,
    pub(crate) made: Option<Place>,
    /// In a step, where the operation says what sort of thing it is.
    pub(crate) in_step: String,
    /// In a sentence.
    pub(crate) in_sentence: String,
}

/// What is known of a location or object.
struct Known<'a> {
    kind: &'a str,
    made: Option<Place>,
    label: Option<String>,
    variable: Option<String>,
}

impl Known<'_> {
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

/// The locations of an execution, then its objects, then its cells.
pub(crate) fn all(execution: &Execution, names: &dyn Names) -> Vec<Called> {
    let locations = (0..execution.locations.len()).map(|index| {
        let (kind, made) = names.location(index);
        Known {
            kind,
            made,
            label: names.location_label(index),
            variable: names.location_variable(index),
        }
    });
    let objects = (0..execution.objects.len()).map(|index| {
        let (kind, made) = names.object(index);
        Known {
            kind,
            made,
            label: names.object_label(index),
            variable: names.object_variable(index),
        }
    });
    let cells = (0..execution.cells).map(|index| {
        let (kind, made) = names.cell(index);
        Known {
            kind,
            made,
            label: names.cell_label(index),
            variable: names.cell_variable(index),
        }
    });
    let known: Vec<Known<'_>> = locations.chain(objects).chain(cells).collect();
    let mut same: HashMap<&str, Same> = HashMap::new();
    for one in &known {
        same.entry(one.name()).or_default().add(one);
    }
    let call = |one: &Known<'_>| {
        let in_step = same
            .get_mut(one.name())
            .map_or_else(String::new, |same| same.call(one));
        Called {
            kind: one.kind.to_owned(),
            made: one.made.clone(),
            in_sentence: match one.is_variable() {
                true => format!("{} `{in_step}`", one.kind),
                false => in_step.clone(),
            },
            in_step,
        }
    };
    known.iter().map(call).collect()
}

/// All that have the same name.
#[derive(Default)]
struct Same {
    count: usize,
    /// How many of them are variables, and were made on each line.
    variables: usize,
    lines: HashMap<Option<u32>, usize>,
    /// How many were called.
    called: usize,
}

impl Same {
    fn add(&mut self, one: &Known<'_>) {
        self.count += 1;
        self.variables += usize::from(one.is_variable());
        *self.lines.entry(one.line()).or_default() += 1;
    }

    /// The name of the next one; if it is not the only one of its name, with the line on which it was made
    /// behind it or, where that does not help, with a number in order of first use.
    fn call(&mut self, one: &Known<'_>) -> String {
        self.called += 1;
        let name = one.name();
        // What is known by its address is the same memory if it has the same name.
        let is_by_address = one.is_variable() && one.made.is_none();
        if is_by_address || self.count == 1 {
            return name.to_owned();
        }
        let is_alone = self.variables == self.count && self.lines[&one.line()] == 1;
        match one.line().filter(|_| is_alone) {
            Some(line) => format!("{name}@{line}"),
            None => format!("{name}#{}", self.called),
        }
    }
}
