//! Use of memory that is not there: freed, dropped, or never made into what it is used as.

use crate::event::{SiteId, ThreadId};

/// Somebody used what is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryError {
    /// Who used it.
    pub thread: ThreadId,
    /// What it should have been.
    pub what: &'static str,
    /// Where it was used.
    pub site: SiteId,
    /// How many events the execution had by then.
    pub after: usize,
    /// What had become of it.
    pub fate: Fate,
}

/// What had become of memory that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing had been made there.
    NeverMade,
    /// It had been dropped.
    Dropped(Option<Moment>),
    /// Its memory had been given back.
    Freed(Option<Moment>),
}

/// Something that a thread did between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The thread.
    pub thread: ThreadId,
    /// How many events the execution had by then.
    pub after: usize,
}
