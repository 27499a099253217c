//! How many classes there are, as far as some samples tell.

/// An estimate of the number of classes of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Estimated number of classes.
    pub classes: u64,
    /// Lower end of the 95 % confidence interval.
    pub low: u64,
    /// Upper end of the 95 % confidence interval.
    pub high: u64,
    /// How many executions it takes to run them all, with those that count for nothing.
    pub runs: u64,
    /// How many branches the search has to try, which take their time even where nothing is run.
    pub branches: u64,
    /// How many branches were tried for it.
    pub tried: u64,
    /// How many runs of the program it is based on, besides those of the search itself.
    pub samples: u64,
}
