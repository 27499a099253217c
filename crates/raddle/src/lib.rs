#![doc = include_str!("../README.md")]

#[cfg(test)]
extern crate self as raddle;

pub mod alloc;
#[cfg(feature = "check")]
mod auto;
pub mod cell;
#[cfg(feature = "check")]
mod check_name;
#[cfg(feature = "check")]
mod checker;
#[cfg(feature = "check")]
mod checkpoint;
#[cfg(feature = "check")]
mod choose;
#[cfg(feature = "check")]
mod completeness;
#[cfg(feature = "check")]
mod crew;
#[cfg(feature = "check")]
mod diary;
#[cfg(feature = "check")]
mod environment;
#[cfg(feature = "check")]
mod events;
#[cfg(feature = "check")]
mod future;
pub mod hint;
#[cfg(feature = "check")]
mod hints;
#[cfg(feature = "check")]
mod identity;
#[cfg(feature = "check")]
mod image;
#[cfg(feature = "check")]
mod interrupts;
#[cfg(feature = "check")]
mod known;
mod label;
#[cfg(feature = "check")]
mod labelled;
#[cfg(feature = "check")]
mod last_words;
#[cfg(feature = "check")]
mod mailbox;
#[cfg(feature = "check")]
mod minimise;
pub mod monitor;
mod own_sync;
#[cfg(feature = "check")]
mod pages;
#[cfg(feature = "check")]
mod phases;
mod plain;
pub mod port;
#[cfg(all(feature = "check", target_os = "linux"))]
mod processes;
#[cfg(feature = "check")]
mod resume;
#[cfg(feature = "check")]
mod run;
#[cfg(feature = "check")]
mod samplers;
#[cfg(feature = "check")]
mod saved;
#[cfg(feature = "check")]
mod settings;
#[cfg(feature = "check")]
mod status;
#[cfg(feature = "check")]
mod substrate;
pub mod sync;
pub mod thread;
#[cfg(test)]
mod three_modes;
pub mod time;
#[cfg(feature = "check")]
mod variable;
#[cfg(feature = "check")]
mod watchdog;
#[cfg(feature = "check")]
mod worker;
#[cfg(feature = "check")]
mod workers;

#[cfg(feature = "check")]
#[doc(hidden)]
pub mod __private;

#[cfg(feature = "check")]
pub use checker::{Checker, check};
#[cfg(feature = "check")]
pub use choose::{Alternatives, Any, any, assume, choose};
#[cfg(feature = "check")]
pub use future::{FutureTerms, Futures};
#[cfg(feature = "check")]
pub use labelled::Labelled;
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
#[cfg(feature = "check")]
pub use settings::{Classes, Level, Memory, Reduction, Strategy, UnknownName};
#[cfg(not(feature = "check"))]
pub use std::thread_local;

#[cfg(feature = "check")]
#[doc(inline)]
pub use __thread_local as thread_local;
