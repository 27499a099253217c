//! The functions that a program compiled with `-fsanitize=thread` calls.

mod annotations;
pub(crate) mod atomic;
mod atomic128;
mod copies;
mod ignored;
pub(crate) mod plain;
