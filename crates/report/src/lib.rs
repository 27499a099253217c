//! What a check found, as data ([`Report`], [`Failure`], [`Trace`]) and as text for people.
//!
//! A report is made from finished executions and from nothing else; the front end only says how
//! things are called in the user's source ([`Names`]). Everything here can be serialised.

mod advice;
mod called;
mod coverage;
mod earlier;
mod effect;
mod estimate;
pub mod event;
mod failure;
mod graphviz;
pub mod html;
mod impossible;
mod insight;
mod json;
mod livelock;
mod lock_order;
mod marks;
mod memory;
mod nondeterminism;
mod number;
mod paint;
mod panicked;
mod report;
mod stale;
mod std_trace;
mod stuck;
mod text;
mod things;
mod trace;
mod value;
mod waits;
mod why;
mod words;

pub use advice::{Advice, ClassGrowth, Prospect};
pub use coverage::{CodePlace, Coverage, CoverageCounts, CoverageGoal, CoverageGrowth, Covered};
pub use earlier::Earlier;
pub use effect::Effect;
pub use estimate::{Estimate, Unseen};
pub use failure::{Failure, FailureKind};
pub use insight::{CriticalPair, Mark, Minimised, Receive, Source, Told, Wait};
pub use json::to_json;
pub use memory::ordering_in_c;
pub use number::{grouped, rounded};
pub use report::{Alone, Completeness, Guarantee, Report, Search};
pub use std_trace::StdTrace;
pub use trace::{CellAccess, Names, Place, Trace, TraceSpan, TraceStep, TraceThread};
