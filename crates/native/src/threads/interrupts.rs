//! Handling of [`requests`] by threads: at scheduling points, at cancellation points and after
//! waits.

use super::requests::{self, CANCEL, Interrupt};
use super::{signals, unwind, unwritten_reads};
use crate::execution::running;

/// Handles an interrupt of the running thread; returns false if the thread must end.
pub(crate) fn act(interrupt: Interrupt, code: usize) -> bool {
    match interrupt {
        Interrupt::None => true,
        Interrupt::Cancel => {
            requests::mask(|masked| masked | CANCEL);
            unwind::ask(unwind::CANCELED);
            false
        }
        Interrupt::Signal => {
            signals::deliver(code);
            true
        }
    }
}

/// Handles a cancellation of the running thread, at a cancellation point; returns false if the
/// thread must end.
pub(crate) fn cancellation_point(code: usize) -> bool {
    if !requests::has_cancellations() || requests::masked(running().thread()) & CANCEL != 0 {
        return true;
    }
    match requests::look(code) & CANCEL {
        0 => true,
        _ => act(Interrupt::Cancel, code),
    }
}

/// Runs signal handlers of the running thread, at a scheduling point.
#[inline]
pub(crate) fn scheduling_point(code: usize) {
    unwritten_reads::settle();
    if !requests::has_signals() {
        return;
    }
    let masked = requests::masked(running().thread()) | CANCEL;
    if masked != u64::MAX && requests::look(code) & !masked != 0 {
        signals::deliver(code);
    }
}

/// Handles the signals of the running thread; returns true if there was one.
pub(crate) fn has_handled(code: usize) -> bool {
    if !requests::has_signals() {
        return false;
    }
    let masked = requests::masked(running().thread()) | CANCEL;
    let has_any = requests::look(code) & !masked != 0;
    if has_any {
        signals::deliver(code);
    }
    has_any
}
