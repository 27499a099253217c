//! Use of memory that is not there: freed, dropped, or never made into what it is used as.

pub use crate::model::fault::{Fate, MemoryError, Moment};
