//! The criteria under study: metrics, combined metrics, and pairs of requirements.

use raddle::{Metric, Metrics};

/// A set of requirements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Criterion {
    pub(super) name: &'static str,
    metrics: &'static [Metric],
    /// True for pairs of these requirements in one execution instead of the requirements.
    pub(super) is_pairs: bool,
}

impl Criterion {
    const fn new(name: &'static str, metrics: &'static [Metric]) -> Self {
        Criterion {
            name,
            metrics,
            is_pairs: false,
        }
    }

    /// True when requirements of the metric belong to the criterion, or to its pairs.
    pub(super) fn contains(&self, metric: Metric) -> bool {
        self.metrics.contains(&metric)
    }

    /// Returns the metrics as the target of a guided search.
    pub(super) fn metrics(&self) -> Metrics {
        let metrics = self.metrics.iter();
        metrics.fold(Metrics::NONE, |all, &metric| all | metric)
    }

    /// True when it is the union of several metrics that are criteria of their own.
    pub(super) fn is_combined(&self) -> bool {
        self.name.contains('+') && !self.is_pairs
    }
}

use Metric::{
    Adjacent, Blocked, BlockedPair, Blocking, DefUse, Follows, LocalDef, LockOrder, PSet,
    RemoteDef, SyncPair, WaitNotify,
};

/// The criteria, first those of the published study: single metrics, then combined ones, then ours.
pub(super) const CRITERIA: [Criterion; 18] = [
    Criterion::new("blocked", &[Blocked]),
    Criterion::new("blocking", &[Blocking]),
    Criterion::new("blocked-pair", &[BlockedPair]),
    Criterion::new("follows", &[Follows]),
    Criterion::new("sync-pair", &[SyncPair]),
    Criterion::new("lr-def", &[LocalDef, RemoteDef]),
    Criterion::new("def-use", &[DefUse]),
    Criterion::new("pset", &[PSet]),
    Criterion::new("blocked-pair+def-use", &[BlockedPair, DefUse]),
    Criterion::new("blocked-pair+pset", &[BlockedPair, PSet]),
    Criterion::new("follows+def-use", &[Follows, DefUse]),
    Criterion::new("follows+pset", &[Follows, PSet]),
    Criterion::new("sync-pair+def-use", &[SyncPair, DefUse]),
    Criterion::new("sync-pair+pset", &[SyncPair, PSet]),
    Criterion {
        name: "pairs of sync-pair+def-use",
        metrics: &[SyncPair, DefUse],
        is_pairs: true,
    },
    Criterion::new("wait-notify", &[WaitNotify]),
    Criterion::new("lock-order", &[LockOrder]),
    Criterion::new("adjacent", &[Adjacent]),
];

/// The target of guided search unless another is named.
pub(super) const DEFAULT: &str = "sync-pair+def-use";

/// The criteria that are compared as targets of guided search with the default: what the published study
/// recommends, and metrics of data alone.
pub(super) const TARGETS: [&str; 5] =
    [DEFAULT, "sync-pair+pset", "follows+pset", "pset", "def-use"];

/// The criteria of the charts.
pub(super) const DRAWN: [&str; 6] = [
    "blocked-pair",
    "follows",
    "lr-def",
    "pset",
    DEFAULT,
    "pairs of sync-pair+def-use",
];

/// Returns the criterion with this name.
pub(super) fn named(name: &str) -> Criterion {
    let known = CRITERIA.iter().find(|criterion| criterion.name == name);
    *known.expect("a criterion of the table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_metrics() {
        for criterion in CRITERIA.iter().filter(|criterion| !criterion.is_pairs) {
            let metrics: Metrics = criterion.name.parse().unwrap();
            assert_eq!(metrics, criterion.metrics(), "{}", criterion.name);
        }
        assert_eq!(named(DEFAULT).metrics(), Metrics::SYNC_PAIR_DEF_USE);
        for name in TARGETS {
            assert!(!named(name).is_pairs, "{name}");
        }
    }
}
