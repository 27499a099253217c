//! The frontier of the search: what is left to run, as items for another worker, another machine,
//! or a later run.
//!
//! An [`Item`] is a part of the search tree: a graph, and untried branches from it. Items share
//! nothing and are independent of order, so the same classes are found, each once, wherever they
//! are run. Their text form has no process-local identifiers: threads, locations and objects are
//! numbered within the item, source locations are written out, and objects have their initial
//! state. The book has a page on it.

pub(crate) mod item;
mod tables;
pub(crate) mod words;

use std::fmt;

pub use item::Item;

/// Version of the text form that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// Why a text is not an item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It has another version.
    Version(String),
    /// An unknown word.
    Unknown(String),
    /// A line has too few words.
    LineEnds,
    /// The text has too few lines.
    TextEnds,
    /// An event is referred to that the item does not have, or an event occurs twice.
    Events,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Version(version) => write!(
                f,
                "it is of version {version}, and this raddle reads version {VERSION}"
            ),
            Problem::Unknown(word) => write!(f, "`{word}` means nothing there"),
            Problem::LineEnds => write!(f, "a line ends too early"),
            Problem::TextEnds => write!(f, "it ends too early"),
            Problem::Events => write!(f, "its events do not fit together"),
        }
    }
}

impl std::error::Error for Problem {}
