//! Signals.

/// What a program calls that sends signals to others.
pub(crate) const SENDERS: &[&str] = &[];

/// At the beginning of an execution.
pub(crate) fn begin() {}

/// The running thread handles what it has got.
pub(crate) fn deliver(_code: usize) {}

/// Whether a wait goes on after the handlers that have just run.
pub(crate) fn restarts() -> bool {
    true
}
