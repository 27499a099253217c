//! Memory models: happens-before, coherence, `psc` and data races.
//!
//! For a running execution a model decides which writes the next read of a thread may take; under
//! sequential consistency that is the coherence-latest write only. For a graph of the exhaustive search
//! it decides whether reads-from and coherence are consistent. [`happens_before`] has a table of the
//! rules.
//!
//! A program without fences whose accesses are all `SeqCst` behaves the same under both models. So the
//! rules of RC11 are only applied once a program has performed something weaker ([`is_weak`]).

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

/// True when a program that performs this may have executions that are not sequentially consistent.
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
