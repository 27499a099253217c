//! The input of every message.

use raddle_engine::{Execution, SiteId};

use crate::data::trace::Trace;
use crate::words::names::Names;
use crate::words::things::Things;

/// A finding's execution, its trace and its names. Each kind of finding has its methods in its own
/// file.
pub(crate) struct FindingContext<'a> {
    pub(crate) execution: &'a Execution,
    pub(crate) trace: &'a Trace,
    pub(crate) things: &'a Things,
    pub(crate) names: &'a dyn Names,
}

impl FindingContext<'_> {
    /// Returns the place of a site as the end of a clause; empty if it is not known.
    pub(crate) fn at(&self, site: SiteId) -> String {
        let place = self.names.place(site);
        place.map_or(String::new(), |place| format!(" at {place}"))
    }
}
