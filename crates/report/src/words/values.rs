//! Values of atomics in words.
//!
//! Addresses say nothing, and are others in the next run. So the pointers of an execution are numbered
//! in the order in which they come up.

use std::collections::HashMap;

use raddle_engine::{Execution, Operation, UpdateKind};

/// What the locations of an execution hold.
pub(crate) struct Values {
    /// By location.
    kinds: Vec<String>,
    /// The number of each pointer.
    pointers: HashMap<u64, usize>,
}

impl Values {
    pub(crate) fn of(execution: &Execution, kinds: Vec<String>) -> Self {
        let mut values = Values {
            kinds,
            pointers: HashMap::new(),
        };
        for event in &execution.events {
            let read = event.reply.to_value();
            match event.operation {
                Operation::Load { location, .. } => values.add(location.index(), read),
                Operation::Store {
                    location, value, ..
                } => values.add(location.index(), value),
                Operation::Update {
                    location, update, ..
                } => {
                    values.add(location.index(), read);
                    if let UpdateKind::CompareExchange { expected, .. } = update.kind {
                        values.add(location.index(), expected);
                    }
                    if let Some(new) = update.apply(read, event.fails_spuriously().into()) {
                        values.add(location.index(), new);
                    }
                }
                _ => {}
            }
        }
        values
    }

    fn add(&mut self, location: usize, value: u64) {
        if self.kinds[location] == "AtomicPtr" && value != 0 {
            let next = self.pointers.len() + 1;
            self.pointers.entry(value).or_insert(next);
        }
    }

    /// What kind of location it is.
    pub(crate) fn kind(&self, location: usize) -> &str {
        &self.kinds[location]
    }

    /// A value of a location.
    pub(crate) fn show(&self, location: usize, value: u64) -> String {
        match (self.kind(location), value) {
            ("AtomicBool", 0) => "false".to_owned(),
            ("AtomicBool", _) => "true".to_owned(),
            ("AtomicPtr", 0) => "null".to_owned(),
            ("AtomicPtr", value) => {
                let number = self.pointers.get(&value);
                number.map_or("pointer".to_owned(), |number| format!("pointer#{number}"))
            }
            (_, value) => value.to_string(),
        }
    }
}
