//! Errors gathered so that one build shows all of them.

use quote::ToTokens;
use syn::{Error, Result};

/// What was found wrong so far.
#[derive(Default)]
pub struct Faults {
    found: Option<Error>,
}

impl Faults {
    /// Adds an error that points at `place`.
    pub fn add(&mut self, place: impl ToTokens, message: &str) {
        self.add_error(Error::new_spanned(place, message));
    }

    /// Adds an error that points at `place`, if there is such a place.
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

    /// The value, or all errors at once.
    pub fn unless_any<T>(self, value: T) -> Result<T> {
        self.found.map_or(Ok(value), Err)
    }
}
