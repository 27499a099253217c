//! What a check found, as data ([`Report`], [`Failure`], [`Trace`]) and as text for people.
//!
//! A report is made from finished executions and from nothing else; the front end only says how
//! things are called in the user's source ([`Names`]). Everything here can be serialised.

mod data;
mod render;
mod words;

pub use data::advice::{Advice, ClassGrowth, Prospect};
pub use data::coverage::{Coverage, CoverageCounts, CoverageGoal, CoverageGrowth, Covered};
pub use data::earlier::Earlier;
pub use data::effect::Effect;
pub use data::estimate::{Estimate, Unseen};
pub use data::failure::{Failure, FailureKind};
pub use data::guarantee::{Alone, Completeness, Guarantee};
pub use data::insight::{CriticalPair, Mark, Minimised, Receive, Source, Told, Wait};
pub use data::place::{CodePlace, Place};
pub use data::report::{Report, Search};
pub use data::trace::{CellAccess, Trace, TraceSpan, TraceStep, TraceThread};
pub use render::json::to_json;
pub use render::std_trace::StdTrace;
pub use render::{event, html};
pub use words::finding::memory::ordering_in_c;
pub use words::names::Names;
pub use words::number::{grouped, rounded};
