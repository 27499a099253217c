//! Coverage metrics, and sets of them.
//!
//! A metric defines its *requirements*; the formal definitions are where they are measured
//! ([`locks`](super::locks), [`data`](super::data), [`wakes`](super::wakes)). Requirements are
//! about one or two source locations, never about threads, so that they mean the same in all
//! executions. A *combined* metric is a set here: it has all requirements of its parts.

use std::fmt;
use std::ops::BitOr;
use std::str::FromStr;

/// Kind of requirement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Metric {
    /// A thread blocked at this request for a lock.
    Blocked,
    /// A lock taken here blocked another thread.
    Blocking,
    /// A thread blocked at the second location on a lock taken at the first.
    BlockedPair,
    /// A lock was taken at the first location and next, by another thread, at the second.
    Follows,
    /// A lock was taken at the first location and next at the second, by any thread.
    SyncPair,
    /// A read here took a write of its own thread.
    LocalDef,
    /// A read here took a write of another thread.
    RemoteDef,
    /// The second location read or overwrote the value that the first wrote.
    DefUse,
    /// The same as [`Metric::DefUse`] by another thread; or the second location overwrote a value
    /// that the first, in another thread, was the last to read.
    PSet,
    /// The first location woke a thread that waited at the second, or sent a message or permit to
    /// it.
    WaitNotify,
    /// A lock was taken at the second location while one was held that was taken at the first.
    LockOrder,
    /// A location in memory was accessed at the first source location and next at the second.
    Adjacent,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Metric; 12] = [
        Metric::Blocked,
        Metric::Blocking,
        Metric::BlockedPair,
        Metric::Follows,
        Metric::SyncPair,
        Metric::LocalDef,
        Metric::RemoteDef,
        Metric::DefUse,
        Metric::PSet,
        Metric::WaitNotify,
        Metric::LockOrder,
        Metric::Adjacent,
    ];

    /// Returns the name in settings, reports and keys.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Blocked => "blocked",
            Metric::Blocking => "blocking",
            Metric::BlockedPair => "blocked-pair",
            Metric::Follows => "follows",
            Metric::SyncPair => "sync-pair",
            Metric::LocalDef => "local-def",
            Metric::RemoteDef => "remote-def",
            Metric::DefUse => "def-use",
            Metric::PSet => "pset",
            Metric::WaitNotify => "wait-notify",
            Metric::LockOrder => "lock-order",
            Metric::Adjacent => "adjacent",
        }
    }

    /// Returns the metric with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// True when all executions of a class cover the same requirements of this metric. The others
    /// depend on the order of independent events: the arrival of a thread at a lock, or the last of
    /// two reads.
    pub fn is_of_classes(self) -> bool {
        matches!(
            self,
            Metric::Follows
                | Metric::SyncPair
                | Metric::LocalDef
                | Metric::RemoteDef
                | Metric::DefUse
                | Metric::LockOrder
        )
    }

    /// True when its requirements have two source locations.
    pub fn is_pairwise(self) -> bool {
        !matches!(
            self,
            Metric::Blocked | Metric::Blocking | Metric::LocalDef | Metric::RemoteDef
        )
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of metrics: the measured ones, or one combined metric.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Metrics(u16);

impl Metrics {
    /// No metric.
    pub const NONE: Metrics = Metrics(0);
    /// All but [`Metric::Adjacent`], which is for comparing versions of a program.
    pub const USUAL: Metrics = Metrics((1 << Metric::Adjacent as u16) - 1);
    /// All metrics.
    pub const ALL: Metrics = Metrics((2 << Metric::Adjacent as u16) - 1);
    /// Sync-pair and def-use together: the goal of guided search, because the two are complementary
    /// and correlate best with finding failures (Hong, 2015).
    pub const SYNC_PAIR_DEF_USE: Metrics =
        Metrics(1 << Metric::SyncPair as u16 | 1 << Metric::DefUse as u16);
    /// Local-def and remote-def together.
    pub const LR_DEF: Metrics =
        Metrics(1 << Metric::LocalDef as u16 | 1 << Metric::RemoteDef as u16);

    /// True when the set contains the metric.
    #[inline]
    pub fn contains(self, metric: Metric) -> bool {
        self.0 & 1 << metric as u16 != 0
    }

    /// True when the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the metrics.
    pub fn iter(self) -> impl Iterator<Item = Metric> {
        let all = Metric::ALL.into_iter();
        all.filter(move |&metric| self.contains(metric))
    }
}

impl From<Metric> for Metrics {
    fn from(metric: Metric) -> Self {
        Metrics(1 << metric as u16)
    }
}

/// `true` stands for [`Metrics::USUAL`].
impl From<bool> for Metrics {
    fn from(measured: bool) -> Self {
        match measured {
            true => Metrics::USUAL,
            false => Metrics::NONE,
        }
    }
}

impl<M: Into<Metrics>> BitOr<M> for Metrics {
    type Output = Metrics;

    fn bitor(self, other: M) -> Metrics {
        Metrics(self.0 | other.into().0)
    }
}

impl<M: Into<Metrics>> BitOr<M> for Metric {
    type Output = Metrics;

    fn bitor(self, other: M) -> Metrics {
        Metrics::from(self) | other
    }
}

/// An error: no metric has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownMetric(pub String);

impl fmt::Display for UnknownMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        write!(
            f,
            "unknown metric `{}`; there are: {}, lr-def, and several with + between them",
            self.0,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownMetric {}

/// Names of metrics, separated by `+`.
impl FromStr for Metrics {
    type Err = UnknownMetric;

    fn from_str(names: &str) -> Result<Self, UnknownMetric> {
        let mut metrics = Metrics::NONE;
        for name in names.split('+') {
            metrics = metrics
                | match name.trim() {
                    "lr-def" => Metrics::LR_DEF,
                    name => match Metric::named(name) {
                        Some(metric) => metric.into(),
                        None => return Err(UnknownMetric(name.to_owned())),
                    },
                };
        }
        Ok(metrics)
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, metric) in self.iter().enumerate() {
            let and = if index == 0 { "" } else { "+" };
            write!(f, "{and}{metric}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_read_back() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse(), Ok(Metrics::from(metric)));
        }
        let both: Metrics = "sync-pair+def-use".parse().unwrap();
        assert_eq!(both, Metrics::SYNC_PAIR_DEF_USE);
        assert_eq!(both, Metric::SyncPair | Metric::DefUse);
        assert_eq!(both.to_string(), "sync-pair+def-use");
        assert_eq!("lr-def".parse(), Ok(Metrics::LR_DEF));
        let unknown = "sync-pair+defuse".parse::<Metrics>();
        assert_eq!(unknown, Err(UnknownMetric("defuse".to_owned())));
        assert_eq!(Metrics::ALL.iter().count(), 12);
        assert_eq!(
            Metrics::USUAL | Metric::Adjacent,
            Metrics::ALL,
            "all but that"
        );
    }
}
