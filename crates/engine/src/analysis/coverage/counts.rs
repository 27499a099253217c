//! How requirements stand, and how many there are.

/// How a requirement stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Standing {
    /// Some execution covered it.
    Covered,
    /// Nothing is known to be in the way: it has not happened yet.
    NotTried,
    /// The two never meet: creation and joins order them, or put something between them.
    NeverConcurrent,
    /// A lock keeps the one away from the other.
    OrderedByLock,
}

/// Of the requirements of one metric, how many there are of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Covered by some execution.
    pub covered: u64,
    /// Covered, or seen to be possible or impossible.
    pub known: u64,
    /// Known, not covered, and estimated to be impossible.
    pub infeasible: u64,
}

/// How far coverage had come after some executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// So many executions.
    pub executions: u64,
    /// So many requirements covered.
    pub requirements: u64,
    /// So many pairs of requirements covered together.
    pub combinations: u64,
}

/// What one execution added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gain {
    /// Requirements that no execution had covered before.
    pub requirements: u64,
    /// Pairs of requirements that no execution had covered together.
    pub combinations: u64,
}
