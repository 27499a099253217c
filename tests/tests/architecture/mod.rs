//! The architecture page as tests: which crate may use which, which layer of a crate may use which,
//! the invariants that no type can express, and that the page names things that exist.
//!
//! The edges are computed from the token streams of the sources, so that macros count and comments and
//! strings do not.

mod crates;
mod invariants;
mod layers;
mod native_state;
mod page;
mod sources;
mod words;
