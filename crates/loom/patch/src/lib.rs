//! `raddle-loom` under the name of the crate that it stands in for.

pub use raddle_loom::*;
