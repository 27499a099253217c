#![doc = include_str!("../README.md")]

#[cfg(test)]
extern crate self as raddle;

pub mod alloc;
pub mod cell;
#[cfg(feature = "check")]
mod choose;
pub mod hint;
mod label;
#[cfg(feature = "check")]
mod labelled;
#[cfg(feature = "check")]
mod mailbox;
pub mod monitor;
mod own_sync;
mod plain;
pub mod port;
pub mod sync;
pub mod thread;
#[cfg(test)]
mod three_modes;
pub mod time;

#[cfg(feature = "check")]
#[doc(hidden)]
pub mod __private;

#[cfg(feature = "check")]
pub use choose::{Alternatives, Any, any, assume, choose};
#[cfg(feature = "check")]
pub use labelled::Labelled;
#[cfg(feature = "check")]
#[doc(inline)]
pub use raddle_check::{
    Checker, Classes, FutureTerms, Futures, Level, Memory, Reduction, Strategy, UnknownName, check,
};
#[cfg(feature = "check")]
pub use raddle_engine::coverage::{Metric, Metrics};
#[cfg(feature = "check")]
pub use raddle_engine::futures::{Future, FutureChoice, FutureError, FutureReceive, Point, Sees};
#[cfg(feature = "check")]
pub use raddle_engine::schedule::{CheckName, Schedule, ScheduleError, ScheduleStep, TokenError};
#[cfg(feature = "check")]
pub use raddle_macros::test;
#[cfg(feature = "check")]
pub use raddle_report::{
    Advice, CellAccess, ClassGrowth, CodePlace, Completeness, Coverage, CoverageCounts,
    CoverageGoal, CoverageGrowth, Covered, CriticalPair, Earlier, Effect, Estimate, Failure,
    FailureKind, Guarantee, Mark, Minimised, Place, Prospect, Receive, Report, Search, Source,
    StdTrace, Told, Trace, TraceSpan, TraceStep, TraceThread, Unseen, Wait,
};
#[cfg(not(feature = "check"))]
pub use std::thread_local;

#[cfg(feature = "check")]
#[doc(inline)]
pub use __thread_local as thread_local;
