//! Status of requirements, and their numbers.

/// Status of a requirement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Standing {
    /// Some execution covered it.
    Covered,
    /// Not covered, and no reason against it is known.
    NotTried,
    /// Infeasible: spawn and join order the two, or put an event between them.
    NeverConcurrent,
    /// Infeasible: a lock separates the two.
    OrderedByLock,
}

/// Numbers of requirements of one metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Covered by some execution.
    pub covered: u64,
    /// Covered, or judged feasible or infeasible.
    pub known: u64,
    /// Known, not covered, and estimated to be infeasible.
    pub infeasible: u64,
}

/// Coverage after a number of executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// Number of executions.
    pub executions: u64,
    /// Number of requirements covered.
    pub requirements: u64,
    /// Number of pairs of requirements covered together.
    pub combinations: u64,
}

/// Coverage that one execution added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Gain {
    /// Number of requirements that no execution had covered before.
    pub(crate) requirements: u64,
    /// True when it covered a pair of requirements that no execution had covered together; only in
    /// guided search.
    pub(crate) has_combination: bool,
}
