//! Reports of executions whose process is about to end.

use std::time::Duration;

use raddle_engine::check::panic::Panic;

use super::Context;

/// Reports the running execution before the process ends in the middle of it.
pub(crate) trait FatalReporter: Send + Sync {
    /// Reports that a thread has not reached a scheduling point for `limit`. The context is `None`
    /// if it cannot be read; `code` is the instruction at which the thread was interrupted, if
    /// known.
    fn report_hang(&self, context: Option<&Context>, limit: Duration, code: Option<usize>);

    /// Reports a panic after which std ends the process.
    fn report_panic(&self, context: &Context, panic: &Panic);

    /// Reports that the running thread used an unmapped address.
    fn report_crash(&self, context: &Context);
}
