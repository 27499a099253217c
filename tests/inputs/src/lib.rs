//! Everything that raddle reads and did not necessarily write itself, fed with arbitrary bytes.
//!
//! A reader takes whatever it is given: it ends in a value or in a message, and a value that is written and
//! read again is the same. The functions here say so by panicking. The fuzz targets in `fuzz/` call them
//! with new inputs, and the tests of this crate with those that are kept in `fuzz/corpus`.

mod attribute;
mod database;
mod messages;
mod schedules;
mod searches;
mod traces;

// A procedural macro cannot be called as a function, so these are its own modules.
#[path = "../../../crates/macros/src/expand.rs"]
mod expand;
#[path = "../../../crates/macros/src/faults.rs"]
mod faults;
#[path = "../../../crates/macros/src/function.rs"]
mod function;
#[path = "../../../crates/macros/src/options.rs"]
mod options;

pub use attribute::attribute;
pub use database::{database, sample as sample_database};
pub use messages::message;
pub use schedules::{alternative, schedule, token};
pub use searches::search;
pub use traces::trace;

/// Reads bytes as one sort of input.
pub type Reader = fn(&[u8]);

/// All readers, by the names of the fuzz targets and of their folders.
pub const READERS: [(&str, Reader); 8] = [
    ("attribute", attribute),
    ("database", database),
    ("alternative", alternative),
    ("message", message),
    ("schedule", schedule),
    ("search", search),
    ("token", token),
    ("trace", trace),
];

/// What cannot be read must be told in words.
fn assert_told(problem: &impl std::fmt::Display) {
    assert!(!problem.to_string().is_empty(), "a problem without words");
}
