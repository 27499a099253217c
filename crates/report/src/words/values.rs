//! Values of atomics in words.
//!
//! Addresses mean nothing to a reader and change from run to run. Pointers are therefore numbered
//! in order of first use.

use std::collections::HashMap;

use raddle_engine::{Event, LocationId, Operation, UpdateKind};

use crate::words::names::Names;

/// Kinds of the locations of an execution, and numbers for its pointers.
pub(crate) struct Values {
    /// Kind of each location.
    kinds: Vec<String>,
    /// Number of each pointer.
    pointers: HashMap<u64, usize>,
}

impl Values {
    pub(crate) fn of(events: &[Event], kinds: Vec<String>, names: &dyn Names) -> Self {
        let mut values = Values {
            kinds,
            pointers: HashMap::new(),
        };
        // A native program looks a value up in its heap, which takes long for each of a million events.
        let mut known: HashMap<u64, bool> = HashMap::new();
        let mut may_point = |value| {
            *known
                .entry(value)
                .or_insert_with(|| names.is_pointer(value))
        };
        let mut add = |location: LocationId, value| {
            let is_pointer = values.kind(location.index()) == "AtomicPtr" || may_point(value);
            if is_pointer && value != 0 {
                let next = values.pointers.len() + 1;
                values.pointers.entry(value).or_insert(next);
            }
        };
        for event in events {
            match event.operation {
                Operation::Load { location, .. } => {
                    add(location, event.reply.to_value());
                }
                Operation::Store {
                    location,
                    value: Some(value),
                    ..
                } => add(location, value),
                Operation::Update {
                    location, update, ..
                } => {
                    let read = event.reply.to_value();
                    add(location, read);
                    if let UpdateKind::CompareExchange { expected, .. } = update.kind {
                        add(location, expected);
                    }
                    if let Some(new) = update.apply(read, event.fails_spuriously()) {
                        add(location, new);
                    }
                }
                _ => {}
            }
        }
        values
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
            (kind, value) => match self.pointers.get(&value) {
                Some(number) => format!("pointer#{number}"),
                None if kind == "AtomicPtr" => "pointer".to_owned(),
                None => value.to_string(),
            },
        }
    }
}
