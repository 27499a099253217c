//! Where threads handle [`requests`]: at scheduling points, at cancellation points and when a
//! wait is over.

use super::requests::{self, CANCEL, Interrupt};
use super::{signals, unwind};
use crate::execution::running;

/// The running thread handles an interrupt; returns false if it is to end.
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

/// The running thread is at a cancellation point; returns false if it is to end.
pub(crate) fn cancellation_point(code: usize) -> bool {
    if !requests::has_cancellations() || requests::masked(running().thread()) & CANCEL != 0 {
        return true;
    }
    match requests::look(code) & CANCEL {
        0 => true,
        _ => act(Interrupt::Cancel, code),
    }
}

/// The running thread is at a scheduling point, where handlers of signals run.
#[inline]
pub(crate) fn scheduling_point(code: usize) {
    if !requests::has_signals() {
        return;
    }
    let masked = requests::masked(running().thread()) | CANCEL;
    if masked != u64::MAX && requests::look(code) & !masked != 0 {
        signals::deliver(code);
    }
}

/// True if there was a signal for the running thread, which it has handled.
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
