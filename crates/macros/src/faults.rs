//! Collects errors, so that one build reports all of them.

use quote::ToTokens;
use syn::{Error, Result};

/// Errors found so far.
#[derive(Default)]
pub struct Faults {
    found: Option<Error>,
}

impl Faults {
    /// Adds an error that points at `place`.
    pub fn add(&mut self, place: impl ToTokens, message: &str) {
        self.add_error(Error::new_spanned(place, message));
    }

    /// Adds an error that points at `place` if it is present.
    pub fn add_if_present(&mut self, place: &Option<impl ToTokens>, message: &str) {
        if let Some(place) = place {
            self.add(place, message);
        }
    }

    /// Adds an error.
    pub fn add_error(&mut self, error: Error) {
        match &mut self.found {
            Some(found) => found.combine(error),
            None => self.found = Some(error),
        }
    }

    /// Returns the value if there are no errors, and else all errors combined.
    pub fn unless_any<T>(self, value: T) -> Result<T> {
        self.found.map_or(Ok(value), Err)
    }
}
