//! Shared memory: which writes a read may take, and where a write stands among the others.
//!
//! The boundary where memory models differ. A model answers two questions: for a *running*
//! execution, which writes the next read of a thread may take (under sequential consistency only
//! the latest); and for a *graph* built by the exhaustive search, whether some run of the program
//! has exactly these sources and this coherence order, and in which order to run it.
//!
//! A program all of whose accesses are `SeqCst`, and that has no fences, behaves the same under
//! both models. So the weak one is only asked once a program has done something weaker.

pub mod clock;
mod coherence;
mod grants;
pub mod happens_before;
pub(crate) mod psc;
pub mod races;
pub(crate) mod views;

pub(crate) use happens_before::Strength;

use std::sync::atomic::Ordering;

use crate::model::operation::{Operation, UpdateKind};

/// A memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Model {
    /// Sequential consistency: one order of all events explains every read.
    #[default]
    Sc,
    /// The repaired C11 model without reads out of thin air.
    Rc11,
}

/// Whether a program that does this may behave in ways that no single order of its events explains.
pub(crate) fn is_weak(operation: &Operation) -> bool {
    match *operation {
        Operation::Load { ordering, .. } | Operation::Store { ordering, .. } => {
            ordering != Ordering::SeqCst
        }
        Operation::Update {
            ordering,
            failure,
            update,
            ..
        } => {
            let may_fail = matches!(update.kind, UpdateKind::CompareExchange { .. });
            ordering != Ordering::SeqCst || may_fail && failure != Ordering::SeqCst
        }
        Operation::Fence { .. } => true,
        _ => false,
    }
}
