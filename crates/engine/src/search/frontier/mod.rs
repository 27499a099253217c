//! What is left to run, as pieces that can be handed to another worker, another machine, or a later
//! day.
//!
//! An [`Item`] is a part of the tree that the exhaustive search walks: a graph, and branches from it
//! that nobody has taken. Items share nothing and depend on no order, so whoever runs them, the same
//! classes are found, each once. Their text form has no name that means something in one process only:
//! threads, locations and objects are numbered within the item, places in the source are written out,
//! and an object is described as it was before anybody used it. The book has a page on it.

pub(crate) mod item;
mod tables;
pub(crate) mod words;

use std::fmt;

pub use item::Item;

/// The version of the text form that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// Why a text is no item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It is of another version.
    Version(String),
    /// A word that is not known there.
    Unknown(String),
    /// A line has too few words.
    LineEnds,
    /// The text has too few lines.
    TextEnds,
    /// An event that the item does not have is spoken of, or one is there twice.
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
