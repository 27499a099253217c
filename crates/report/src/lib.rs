//! Results of a check as data ([`Report`], [`Failure`], [`Trace`]) and in output formats: text,
//! pages, JSON, Graphviz.
//!
//! Three layers, each of which uses only itself and those below it: `render` (output formats),
//! `words` (executions and findings in words) and `data` (serialisable types). A report is made
//! from finished executions only; the front end supplies the names of the program's source
//! ([`Names`]).

mod data;
mod render;
mod words;

pub use data::advice::{Advice, ClassGrowth, Prospect};
pub use data::alternatives::{ListedAlternatives, ListedReceive, ListedSource, ListedStep};
pub use data::branches::{
    Branch, BranchChoice, BranchGraph, BranchGuidelines, BranchOutcome, BranchSource, BranchStep,
    Branches, OneSidedResult,
};
pub use data::build;
pub use data::coverage::{Coverage, CoverageCounts, CoverageGoal, CoverageGrowth, Covered};
pub use data::earlier::Earlier;
pub use data::effect::Effect;
pub use data::estimate::{Estimate, Unseen};
pub use data::exchange;
pub use data::failure::{Failure, FailureKind};
pub use data::fold::Fold;
pub use data::guarantee::{Alone, Completeness, Guarantee};
pub use data::insight::{
    CriticalPair, Mark, Minimised, Race, RaceAccess, Receive, RecordedExecution, Source, Wait,
};
pub use data::limit::SearchLimit;
pub use data::place::{CodePlace, Place};
pub use data::properties::{PropertyResult, PropertyVerdict};
pub use data::reached::{Reached, ReachedStates};
pub use data::report::{Consistency, Report, Search};
pub use data::trace::{CellAccess, Trace, TraceSpan, TraceStep, TraceThread};
pub use render::json::to_json;
pub use render::std_trace::StdTrace;
pub use render::text::layout::Layout;
pub use render::{event, html};
pub use words::names::{Names, ordering_in_c};
pub use words::number::{grouped, rounded};
