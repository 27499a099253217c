//! The frontier of the search: its untried branches, as items for another worker, another machine,
//! or a later run.
//!
//! An [`Item`] is a part of the search tree: a graph, and untried branches from it. Items share
//! nothing and are independent of order, so the same classes are found, each once, wherever they
//! are run. Their text form has no process-local identifiers: threads, locations and objects are
//! numbered within the item, source locations are written out, and objects have their initial
//! state. The book has a page on it.

pub(crate) mod item;
mod tables;

pub use crate::base::words::{Problem, VERSION};
pub use item::Item;
