//! Text for terminals.

pub(crate) mod colour;
pub(crate) mod story;
