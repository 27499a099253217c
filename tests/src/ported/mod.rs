//! Tests that were written for loom, by search and replace; the originals are in `tests/ported`.

pub mod queue;
pub mod ring;
