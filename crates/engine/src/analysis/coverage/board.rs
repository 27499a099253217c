//! The requirements that an execution covers, recorded as they are covered.

use super::bits::Bits;
use super::catalogue::{Catalogue, Id};
use super::metric::Metric;
use crate::base::ids::SiteId;

/// Requirements covered by the current execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    pub(crate) catalogue: Catalogue,
    pub(crate) current: Bits,
    /// True when adjacent accesses are measured, and with them the order in which requirements are
    /// covered.
    pub(crate) keeps_order: bool,
    pub(crate) order: Vec<Id>,
}

impl Board {
    pub(crate) fn reset(&mut self) {
        self.current.clear();
        self.order.clear();
    }

    #[inline]
    pub(crate) fn cover_pair(&mut self, metric: Metric, first: SiteId, second: SiteId) {
        let id = self.catalogue.pair(metric, first, second);
        self.current.insert(id);
    }

    #[inline]
    pub(crate) fn cover(&mut self, metric: Metric, place: SiteId) {
        let id = self.catalogue.at(metric, place);
        self.current.insert(id);
    }

    /// Records two consecutive holds of a lock.
    #[inline]
    pub(crate) fn follow(&mut self, first: SiteId, second: SiteId, by_other: bool) {
        let pair = match by_other {
            false => self.catalogue.pair(Metric::SyncPair, first, second),
            true => {
                let metrics = [Metric::SyncPair, Metric::Follows];
                let [pair, follows] = self.catalogue.both(metrics, first, second);
                self.current.insert(follows);
                pair
            }
        };
        self.current.insert(pair);
        if self.keeps_order {
            self.order.push(pair);
        }
    }

    /// Records a definition and its use.
    #[inline]
    pub(crate) fn use_of(&mut self, first: SiteId, second: SiteId, by_other: bool) {
        match by_other {
            false => self.cover_pair(Metric::DefUse, first, second),
            true => {
                let metrics = [Metric::DefUse, Metric::PSet];
                for id in self.catalogue.both(metrics, first, second) {
                    self.current.insert(id);
                }
            }
        }
    }

    /// Records two consecutive accesses.
    pub(crate) fn adjoin(&mut self, first: SiteId, second: SiteId) {
        let id = self.catalogue.pair(Metric::Adjacent, first, second);
        self.current.insert(id);
        self.order.push(id);
    }

    /// Records that a thread blocks at the second location on a lock taken at the first.
    pub(crate) fn block(&mut self, first: SiteId, second: SiteId) {
        self.cover_pair(Metric::BlockedPair, first, second);
        self.cover(Metric::Blocking, first);
        self.cover(Metric::Blocked, second);
    }
}
