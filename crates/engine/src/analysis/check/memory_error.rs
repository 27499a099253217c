//! Uses of memory that was freed, dropped, or never initialised as the value it is used as.

pub use crate::model::fault::{Fate, MemoryError, Moment};
