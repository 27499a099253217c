#![doc = include_str!("../README.md")]

mod driver;
mod explain;
mod own_sync;
mod persist;
pub mod program;
pub mod protocol;
pub mod runtime;
pub mod scheduler;
mod settings;

pub use driver::alternatives::{AlternativeList, AlternativeTerms};
pub use driver::behaviour::Behaviour;
pub use driver::check::{check, replay, run_observed, with_mutant};
pub use driver::conformance::{Conformance, Feasibility, SequenceResult};
// Types that a check returns and that a program under test names.
pub use raddle_report::{Failure, FailureKind, Layout, Place, Report};
pub use settings::checker::Checker;
pub use settings::options::{Classes, Level, Memory, Reduction, Strategy, UnknownName};

/// Readers of files and of messages between processes, for tests that feed them arbitrary bytes.
pub mod reading {
    #[cfg(target_os = "linux")]
    pub use crate::driver::processes::read_results;
    #[cfg(unix)]
    pub use crate::driver::shared_search::read_part;
    pub use crate::persist::checkpoint::{read_search, seal as seal_search};
}
