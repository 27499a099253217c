//! What was found, in words. Each kind of finding has a file of its own.

use raddle_engine::{Execution, SiteId};

use crate::data::trace::Trace;
use crate::words::names::Names;
use crate::words::things::Things;

/// Everything that the words are made of.
pub(crate) struct Words<'a> {
    pub(crate) execution: &'a Execution,
    pub(crate) trace: &'a Trace,
    pub(crate) things: &'a Things,
    pub(crate) names: &'a dyn Names,
}

impl Words<'_> {
    /// Where in the source, as the end of a sentence; nothing if that is not known.
    pub(crate) fn at(&self, site: SiteId) -> String {
        let place = self.names.place(site);
        place.map_or(String::new(), |place| format!(" at {place}"))
    }
}
