//! Values of atomics in words.
//!
//! Addresses mean nothing to a reader and change from run to run. Pointers are therefore numbered
//! in order of first use.

use std::collections::HashMap;

use raddle_engine::{Execution, Operation, UpdateKind};

/// Kinds of the locations of an execution, and numbers for its pointers.
pub(crate) struct Values {
    /// Kind of each location.
    kinds: Vec<String>,
    /// Number of each pointer.
    pointers: HashMap<u64, usize>,
}

impl Values {
    pub(crate) fn of(execution: &Execution, kinds: Vec<String>) -> Self {
        let mut values = Values {
            kinds,
            pointers: HashMap::new(),
        };
        for event in &execution.events {
            match event.operation {
                Operation::Load { location, .. } => {
                    values.add(location.index(), event.reply.to_value());
                }
                Operation::Store {
                    location,
                    value: Some(value),
                    ..
                } => values.add(location.index(), value),
                Operation::Update {
                    location, update, ..
                } => {
                    let read = event.reply.to_value();
                    values.add(location.index(), read);
                    if let UpdateKind::CompareExchange { expected, .. } = update.kind {
                        values.add(location.index(), expected);
                    }
                    if let Some(new) = update.apply(read, event.fails_spuriously()) {
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

    /// Returns the kind of a location.
    pub(crate) fn kind(&self, location: usize) -> &str {
        &self.kinds[location]
    }

    /// Formats a value of a location.
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
