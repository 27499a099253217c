//! Names for the locations and objects of one execution: the name that the program gave it, or what
//! its source calls it, or else its kind.

use raddle_engine::Execution;

use crate::trace::{Names, Place};

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
    let call = |(index, one): (usize, &Known<'_>)| {
        let in_step = unique(index, &known);
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
    known.iter().enumerate().map(call).collect()
}

/// The name of one; if it is not the only one of its name, with the line on which it was made behind
/// it or, where that does not help, with a number in order of first use.
fn unique(index: usize, all: &[Known<'_>]) -> String {
    let one = &all[index];
    let name = one.name();
    let same = || {
        let all = all.iter().enumerate();
        all.filter(|(_, other)| other.name() == name)
    };
    // What is known by its address is the same memory if it has the same name.
    let is_by_address = one.is_variable() && one.made.is_none();
    if is_by_address || same().nth(1).is_none() {
        return name.to_owned();
    }
    let mut same_line = same().filter(|(_, other)| other.line() == one.line());
    let variables = same().all(|(_, other)| other.is_variable());
    match one.line() {
        Some(line) if variables && same_line.nth(1).is_none() => format!("{name}@{line}"),
        _ => {
            let before = same().take_while(|(other, _)| *other < index);
            format!("{name}#{}", before.count() + 1)
        }
    }
}
