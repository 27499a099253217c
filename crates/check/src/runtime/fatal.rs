//! Executions whose process is about to end.

use std::time::Duration;

use raddle_engine::check::panic::Panic;

use super::Context;

/// Reports the running execution before the process ends in the middle of it.
pub(crate) trait FatalReporter: Send + Sync {
    /// A thread has not come to a scheduling point for `limit`. The context is `None` if it cannot be
    /// read; `code` is the instruction at which the thread was interrupted, if that is known.
    fn report_hang(&self, context: Option<&Context>, limit: Duration, code: Option<usize>);

    /// A panic that std answers by ending the process.
    fn report_panic(&self, context: &Context, panic: &Panic);

    /// The running thread used an address that is not mapped.
    fn report_crash(&self, context: &Context);
}
