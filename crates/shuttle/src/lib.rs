#![doc = include_str!("../README.md")]

pub mod annotations;
mod checks;
mod config;
pub mod current;
mod failure;
pub mod future;
pub mod hint;
pub mod lazy_static;
mod portfolio;
pub mod rand;
mod runner;
pub mod scheduler;
pub mod sync;
pub mod thread;

pub use checks::{
    check, check_dfs, check_pct, check_random, check_random_with_seed,
    check_uncontrolled_nondeterminism, check_urw, replay, replay_from_file,
};
pub use config::{
    Config, ContinuationFunctionBehavior, FailurePersistence, MaxSteps, UngracefulShutdownConfig,
};
pub use portfolio::PortfolioRunner;
pub use raddle::thread_local;
pub use runner::Runner;

/// Name of a variable of shuttle's, which has no effect: failures always have the steps of each task.
pub const CAPTURE_BACKTRACE: &str = "SHUTTLE_CAPTURE_BACKTRACE";

/// Name of a variable of shuttle's, which has no effect: there are no such warnings.
pub const SILENCE_WARNINGS: &str = "SHUTTLE_SILENCE_WARNINGS";

/// Name of a variable of shuttle's, which has no effect: schedules are not annotated.
pub const ANNOTATION_FILE: &str = "SHUTTLE_ANNOTATION_FILE";
