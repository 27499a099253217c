#![doc = include_str!("../README.md")]

#[cfg(test)]
extern crate self as raddle;

pub mod alloc;
pub mod cell;
#[cfg(feature = "check")]
mod choose;
mod declared;
#[cfg(feature = "check")]
mod entered;
mod event;
pub mod future;
pub mod hint;
mod ignored;
mod label;
#[cfg(feature = "check")]
mod labelled;
#[cfg(feature = "check")]
mod linearizable;
#[cfg(feature = "check")]
mod mailbox;
pub mod monitor;
mod own_sync;
mod plain;
pub mod port;
mod reached;
pub mod sync;
pub mod thread;
#[cfg(test)]
mod three_modes;
pub mod time;

#[cfg(feature = "check")]
#[doc(hidden)]
pub mod __private;

pub use ignored::Ignored;

#[cfg(feature = "check")]
pub use choose::{Alternatives, Any, any, assume, choose};
#[cfg(feature = "check")]
pub use labelled::Labelled;
#[cfg(feature = "check")]
#[doc(hidden)]
pub use linearizable::Site as LinearizableSite;
#[cfg(feature = "check")]
pub use linearizable::{Linearizable, LinearizableReport};
#[cfg(feature = "check")]
#[doc(inline)]
pub use raddle_check::{
    AlternativeList, AlternativeTerms, Behaviour, Checker, Classes, Conformance, Feasibility,
    Level, Memory, Reduction, SequenceResult, Strategy, UnknownName, check, scheduler,
    scheduler::Scheduler,
};
#[cfg(feature = "check")]
pub use raddle_engine::alternatives::{
    Alternative, AlternativeChoice, AlternativeError, AlternativeReceive, AlternativeSource, Point,
};
#[cfg(feature = "check")]
pub use raddle_engine::behaviour::formula::Property;
#[cfg(feature = "check")]
pub use raddle_engine::behaviour::graph::{
    AutError, BehaviourEnding, BehaviourGraph, BehaviourState, BehaviourTransition,
};
#[cfg(feature = "check")]
pub use raddle_engine::behaviour::sequences::{GivenSequences, SequencesError};
#[cfg(feature = "check")]
pub use raddle_engine::coverage::{Metric, Metrics};
#[cfg(feature = "check")]
pub use raddle_engine::partial::{LogLine, LogPlace, PartialTrace, PartialTraceError, ThreadLog};
#[cfg(feature = "check")]
pub use raddle_engine::race_kinds::{Blocks, Conflicts, DataSets, RaceKind, RaceModel, SyncOrder};
#[cfg(feature = "check")]
pub use raddle_engine::schedule::{CheckName, Schedule, ScheduleError, ScheduleStep, TokenError};
#[cfg(feature = "check")]
pub use raddle_macros::test;
#[cfg(feature = "check")]
pub use raddle_report::{
    Advice, Branch, BranchChoice, BranchGraph, BranchGuidelines, BranchOutcome, BranchSource,
    BranchStep, Branches, CellAccess, ClassGrowth, CodePlace, Completeness, Consistency, Coverage,
    CoverageCounts, CoverageGoal, CoverageGrowth, Covered, CriticalPair, Earlier, Effect, Estimate,
    Failure, FailureKind, Guarantee, Layout, Mark, Minimised, OneSidedResult, Place,
    PropertyResult, PropertyVerdict, Prospect, Race, RaceAccess, Reached, ReachedStates, Receive,
    RecordedExecution, Report, Search, SearchLimit, Source, StdTrace, Trace, TraceSpan, TraceStep,
    TraceThread, Unseen, Wait,
};

/// Names of an earlier release, kept for one more release.
#[cfg(feature = "check")]
mod renamed {
    /// Renamed to [`Alternative`](crate::Alternative).
    #[deprecated(since = "0.2.0", note = "renamed to `Alternative`")]
    pub type Future = crate::Alternative;
    /// Renamed to [`AlternativeChoice`](crate::AlternativeChoice).
    #[deprecated(since = "0.2.0", note = "renamed to `AlternativeChoice`")]
    pub type FutureChoice = crate::AlternativeChoice;
    /// Renamed to [`AlternativeReceive`](crate::AlternativeReceive).
    #[deprecated(since = "0.2.0", note = "renamed to `AlternativeReceive`")]
    pub type FutureReceive = crate::AlternativeReceive;
    /// Renamed to [`AlternativeError`](crate::AlternativeError).
    #[deprecated(since = "0.2.0", note = "renamed to `AlternativeError`")]
    pub type FutureError = crate::AlternativeError;
    /// Renamed to [`AlternativeTerms`](crate::AlternativeTerms).
    #[deprecated(since = "0.2.0", note = "renamed to `AlternativeTerms`")]
    pub type FutureTerms = crate::AlternativeTerms;
    /// Renamed to [`AlternativeList`](crate::AlternativeList).
    #[deprecated(since = "0.2.0", note = "renamed to `AlternativeList`")]
    pub type Futures = crate::AlternativeList;
    /// Renamed to [`AlternativeSource`](crate::AlternativeSource).
    #[deprecated(since = "0.2.0", note = "renamed to `AlternativeSource`")]
    pub type Sees = crate::AlternativeSource;
    /// Renamed to [`RecordedExecution`](crate::RecordedExecution).
    #[deprecated(since = "0.2.0", note = "renamed to `RecordedExecution`")]
    pub type Told = crate::RecordedExecution;
}
#[cfg(feature = "check")]
#[expect(deprecated, reason = "these are the deprecated names")]
pub use renamed::{
    Future, FutureChoice, FutureError, FutureReceive, FutureTerms, Futures, Sees, Told,
};
#[cfg(not(feature = "check"))]
pub use std::thread_local;

#[cfg(feature = "check")]
#[doc(inline)]
pub use __thread_local as thread_local;
