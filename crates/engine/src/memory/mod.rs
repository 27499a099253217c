//! Memory models: happens-before, coherence, `psc` and data races.
//!
//! For a running execution a model decides which writes the next read of a thread may take; under
//! sequential consistency that is the coherence-latest write only. For a graph of the exhaustive search
//! it decides whether reads-from and coherence are consistent. [`happens_before`] has a table of the
//! rules.
//!
//! Some programs have the same executions under both models: they have no fences, their accesses
//! are all `SeqCst`, and every call on an object synchronizes with the earlier calls whose effect
//! it observes. So the rules of RC11 are applied only once a program has performed another kind of
//! operation (`Weakness`).

pub mod clock;
mod coherence;
mod grants;
pub mod happens_before;
pub(crate) mod psc;
pub mod races;
mod strong_order;
pub(crate) mod views;

pub(crate) use happens_before::Strength;

use std::sync::atomic::Ordering;

use self::psc::SeqCstRules;
use crate::model::operation::{Operation, UpdateKind};

/// A memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Model {
    /// Sequential consistency: one order of all events explains every read.
    #[default]
    Sc,
    /// The repaired C11 model without reads out of thin air, with the order of `SeqCst` of C++20.
    Rc11,
    /// The same model with the order of `SeqCst` of the paper.
    Rc11Paper,
}

impl Model {
    /// True when a read may take a write that is not the coherence-latest.
    #[inline]
    pub fn is_weak(self) -> bool {
        self != Model::Sc
    }

    pub(crate) fn seq_cst_rules(self) -> SeqCstRules {
        match self {
            Model::Sc | Model::Rc11 => SeqCstRules::Cpp20,
            Model::Rc11Paper => SeqCstRules::Paper,
        }
    }
}

/// The performed operations by which a program may have executions that are not sequentially consistent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Weakness(u8);

impl Weakness {
    /// No operation.
    pub(crate) const NONE: Weakness = Weakness(0);
    /// An access of any strength.
    pub(crate) const ACCESS: Weakness = Weakness(1);
    /// A call that may observe the effect of another without synchronizing with it.
    pub(crate) const LOOSE: Weakness = Weakness(2);
    /// A fence, or an access that is not `SeqCst`.
    pub(crate) const WEAK: Weakness = Weakness(4);

    /// Returns the weakness of an access, which is `SeqCst` or not.
    #[inline(always)]
    pub(crate) fn of_access(is_seq_cst: bool) -> Self {
        match is_seq_cst {
            true => Weakness::ACCESS,
            false => Weakness::WEAK,
        }
    }

    #[inline(always)]
    pub(crate) fn of(operation: &Operation) -> Self {
        match *operation {
            Operation::Load { ordering, .. } | Operation::Store { ordering, .. } => {
                Weakness::of_access(ordering == Ordering::SeqCst)
            }
            Operation::Update {
                ordering,
                failure,
                update,
                ..
            } => {
                let may_fail = matches!(update.kind, UpdateKind::CompareExchange { .. });
                Weakness::of_access(
                    ordering == Ordering::SeqCst && (!may_fail || failure == Ordering::SeqCst),
                )
            }
            Operation::Fence { .. } => Weakness::WEAK,
            Operation::Call { call, .. } if !call.is_tight() => Weakness::LOOSE,
            Operation::IsFinished { .. } | Operation::Receive { wait: false, .. } => {
                Weakness::LOOSE
            }
            _ => Weakness::NONE,
        }
    }

    /// Returns the union of both.
    #[inline(always)]
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Weakness(self.0 | other.0)
    }

    /// True when a program that performs these may have executions that are not sequentially consistent.
    #[inline(always)]
    pub(crate) fn is_weak(self) -> bool {
        // Loose calls are observed only through accesses that the model does not order with them.
        self.0 > Weakness::LOOSE.0
    }

    /// True when these are not weaker than those. Weak accesses are weaker than loose calls beside accesses, and these
    /// than either alone.
    #[inline(always)]
    pub(crate) fn is_within(self, limit: Self) -> bool {
        self.0 <= limit.0
    }

    /// True when there is a fence or an access that is not `SeqCst`.
    pub(crate) fn has_weak_accesses(self) -> bool {
        self.0 & Weakness::WEAK.0 != 0
    }

    /// Returns the union over all operations of an execution.
    pub(crate) fn of_all<'a>(operations: impl IntoIterator<Item = &'a Operation>) -> Self {
        let all = operations.into_iter().map(Weakness::of);
        all.fold(Weakness::NONE, Weakness::and)
    }
}
