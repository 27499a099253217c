//! Memory of the program under test.

mod lanes;
mod quarantine;

pub use quarantine::{Quarantine, aside};
pub(crate) use quarantine::{freed_by, has_freed, made_by, release};
