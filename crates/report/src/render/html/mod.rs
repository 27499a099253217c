//! The page of a check: one self-contained HTML file.
//!
//! The page is a fixed frame (`page.html`, styles and scripts in `assets`) with the check's
//! [`Document`] inside as JSON. It makes no network requests, and its content security policy
//! forbids them. [`rebuild`] regenerates the pages of a folder from the JSON files alone.

pub mod changes;
mod document;
mod folder;
mod frame;
pub mod since;

pub use document::{Document, Excerpts, Summary};
pub use folder::{Rebuilt, add, rebuild, remove, write};
pub use frame::page;
