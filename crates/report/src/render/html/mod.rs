//! A check as a page: everything about it in one file that can be opened, sent and kept.
//!
//! The page is a fixed frame (`page.html`, styles and scripts beside it) with the [`Document`] of the
//! check inside as JSON. It asks nobody for anything: there is no network in it, and a policy in its
//! head forbids it. [`rebuild`] makes the pages of a folder anew from the JSON files alone.

mod document;
mod folder;
mod frame;

pub use document::{Document, Excerpts, Summary};
pub use folder::{Rebuilt, add, rebuild, remove, write};
pub use frame::page;
