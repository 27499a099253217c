//! The settings of a test.

use std::path::PathBuf;
use std::time::Duration;

/// Number of steps after which a test fails, unless it is set.
const DEFAULT_MAX_STEPS: usize = 1_000_000;

/// Settings of a test, with the fields that shuttle has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Bytes of stack of each task; at least 256 KiB are used.
    pub stack_size: usize,
    /// Destination of the schedule of a failure.
    pub failure_persistence: FailurePersistence,
    /// Maximum number of events of one execution.
    pub max_steps: MaxSteps,
    /// Time limit of the whole test; none unless it is set.
    pub max_time: Option<Duration>,
    /// No effect: there are no such warnings.
    pub silence_warnings: bool,
    /// No effect: there are no spans of `tracing`.
    pub record_steps_in_span: bool,
    /// No effect: after a failure, all tasks are unwound.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

impl Config {
    /// Returns the default settings.
    pub fn new() -> Self {
        Config {
            stack_size: 0xf000,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::FailAfter(DEFAULT_MAX_STEPS),
            max_time: None,
            silence_warnings: false,
            record_steps_in_span: false,
            ungraceful_shutdown_config: UngracefulShutdownConfig::new(),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

/// Destination of the schedule of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// The failure is its message only.
    None,
    /// The schedule is part of the failure.
    Print,
    /// The schedule is written to a file in this directory, or the current one.
    File(Option<PathBuf>),
}

/// Limit of events of one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxSteps {
    /// No limit.
    None,
    /// The test fails.
    FailAfter(usize),
    /// The execution ends, and the test goes on with the next.
    ContinueAfter(usize),
}

/// Treatment of the rest of an execution that has failed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// No effect: an execution stops at its failure.
    pub immediately_return_on_panic: bool,
    /// No effect: functions of tasks that have not begun are dropped.
    pub continuation_function_behavior: ContinuationFunctionBehavior,
}

impl UngracefulShutdownConfig {
    /// Returns the default.
    pub const fn new() -> Self {
        UngracefulShutdownConfig {
            immediately_return_on_panic: false,
            continuation_function_behavior: ContinuationFunctionBehavior::new(),
        }
    }
}

impl Default for UngracefulShutdownConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Treatment of the functions of tasks that have not begun.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ContinuationFunctionBehavior {
    /// They are dropped.
    Drop,
    /// They are leaked.
    Leak,
}

impl ContinuationFunctionBehavior {
    /// Returns the default.
    pub const fn new() -> Self {
        ContinuationFunctionBehavior::Leak
    }
}

impl Default for ContinuationFunctionBehavior {
    fn default() -> Self {
        Self::new()
    }
}
