//! Estimated number of classes, from samples.

/// An estimate of the number of classes of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Estimated number of classes.
    pub classes: u64,
    /// Lower end of the 95 % confidence interval.
    pub low: u64,
    /// Upper end of the 95 % confidence interval.
    pub high: u64,
    /// Number of executions that run them all, including those that do not count.
    pub runs: u64,
    /// Number of branches that the search tries; these take time even where no execution is run.
    pub branches: u64,
    /// Number of branches tried for the estimate.
    pub tried: u64,
    /// Number of runs of the program that the estimate is based on, besides those of the search.
    pub samples: u64,
    /// True when it is of the first few samples, whose agreement says nothing: the interval may miss the number.
    pub is_rough: bool,
}
