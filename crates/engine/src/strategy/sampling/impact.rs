//! Source locations that a change of the program can affect.

use std::fmt;
use std::sync::Arc;

use crate::base::ids::SiteId;

/// A set of source locations, for strategies that prefer what is near a change of the program.
#[derive(Clone)]
pub struct Impact {
    contains: Arc<dyn Fn(SiteId) -> bool + Send + Sync>,
    /// By source location: the answer, once it was asked for.
    known: Vec<Option<bool>>,
}

impl Impact {
    /// Creates the set of the source locations for which `contains` is true. It is called once for
    /// each.
    pub fn new(contains: impl Fn(SiteId) -> bool + Send + Sync + 'static) -> Self {
        Impact {
            contains: Arc::new(contains),
            known: Vec::new(),
        }
    }

    /// True when the set has the source location.
    pub(crate) fn contains(&mut self, site: SiteId) -> bool {
        let Impact { contains, known } = self;
        if site.index() >= known.len() {
            known.resize(site.index() + 1, None);
        }
        *known[site.index()].get_or_insert_with(|| contains(site))
    }
}

impl fmt::Debug for Impact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Impact").finish_non_exhaustive()
    }
}
