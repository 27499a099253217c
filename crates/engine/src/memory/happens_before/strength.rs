//! Memory orderings, reduced to the properties that the rules depend on.

use std::sync::atomic::Ordering;

use crate::model::operation::Operation;

/// The ordering of an access or a fence as three flags: acquires, releases, `SeqCst`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Strength(u8);

impl Strength {
    pub(crate) const RELAXED: Strength = Strength(0);
    pub(crate) const RELEASE: Strength = Strength(Self::RELEASES);
    const ACQUIRES: u8 = 1;
    const RELEASES: u8 = 2;
    const SEQ_CST: u8 = 4;

    /// Returns the strength of an ordering.
    #[inline]
    pub fn of(ordering: Ordering) -> Self {
        Strength(match ordering {
            Ordering::Acquire => Self::ACQUIRES,
            Ordering::Release => Self::RELEASES,
            Ordering::AcqRel => Self::ACQUIRES | Self::RELEASES,
            Ordering::SeqCst => Self::ACQUIRES | Self::RELEASES | Self::SEQ_CST,
            _ => 0,
        })
    }

    /// Returns the strength of an operation; a compare-exchange that does not write has its failure
    /// ordering.
    pub(crate) fn of_operation(operation: &Operation, writes: bool) -> Self {
        match *operation {
            Operation::Update { failure, .. } if !writes => Self::of(failure),
            Operation::HangUp { .. } => Self::RELEASE,
            _ => operation.ordering().map_or(Self::RELAXED, Self::of),
        }
    }

    /// True for an acquire read or fence.
    #[inline]
    pub fn acquires(self) -> bool {
        self.0 & Self::ACQUIRES != 0
    }

    /// True for a release write or fence.
    #[inline]
    pub fn releases(self) -> bool {
        self.0 & Self::RELEASES != 0
    }

    pub(crate) fn is_seq_cst(self) -> bool {
        self.0 & Self::SEQ_CST != 0
    }
}
