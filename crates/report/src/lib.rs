//! What a check found, as data ([`Report`], [`Failure`], [`Trace`]) and as text for people.
//!
//! A report is made from finished executions and from nothing else; the front end only says how
//! things are called in the user's source ([`Names`]). Everything here can be serialised.

mod advice;
mod called;
mod coverage;
mod earlier;
mod estimate;
mod failure;
mod impossible;
mod insight;
mod livelock;
mod memory;
mod nondeterminism;
mod paint;
mod panicked;
mod report;
mod stale;
mod stuck;
mod text;
mod trace;
mod value;

pub use advice::{Advice, ClassGrowth, Prospect};
pub use coverage::{CodePlace, Coverage, CoverageCounts, CoverageGoal, CoverageGrowth, Covered};
pub use earlier::Earlier;
pub use estimate::{Estimate, Unseen};
pub use failure::{Failure, FailureKind};
pub use insight::{CriticalPair, Mark, Minimised, Receive, Source, Told, Wait};
pub use report::{Completeness, Guarantee, Report, Search};
pub use trace::{Names, Place, Trace, TraceStep, TraceThread};
