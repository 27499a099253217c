//! The loom suite of this crate is in `tests`.

pub use signal::Signal;
