//! The functions that a program compiled with `-fsanitize=thread` calls.

pub(crate) mod atomic;
pub(crate) mod calls;
mod copies;
mod other;
pub(crate) mod plain;
pub(crate) mod points;
mod rest;
mod wide;
