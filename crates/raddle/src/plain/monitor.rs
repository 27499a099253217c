//! Monitors on std's lock and condition variable.
//!
//! One lock guards the occupant and the waiters; all threads sleep on one condition variable and
//! check for their own ticket. Slower than one variable for each condition, and simple enough to be
//! right for both disciplines.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::own_sync::atomic::{AtomicU32, Ordering};
use crate::own_sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Behaviour of a thread that signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// It continues; the signalled thread competes with all others to re-enter.
    SignalContinue,
    /// It hands the monitor to the signalled thread, and gets it back, before any newcomer, when
    /// that thread leaves or waits.
    SignalUrgent,
}

/// A condition that threads inside a monitor can wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition(pub(crate) u32);

/// Data that one thread at a time accesses, with conditions to wait for.
pub struct Monitor<T: ?Sized> {
    discipline: Discipline,
    queues: Mutex<Queues>,
    changed: Condvar,
    conditions: AtomicU32,
    data: UnsafeCell<T>,
}

/// Threads by ticket: each entry, wait or signal that hands the monitor over draws a new one.
struct Queues {
    /// Number of sleeping threads, because a wake-up without any would cost a system call.
    asleep: usize,
    next: u64,
    inside: Option<u64>,
    waiting: Vec<(Condition, u64)>,
    signalled: Vec<u64>,
    urgent: Vec<u64>,
}

// SAFETY: one thread at a time is inside, so sharing the monitor needs what sending `T` needs.
unsafe impl<T: ?Sized + Send> Send for Monitor<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Monitor<T> {}

impl<T> Monitor<T> {
    /// Creates a free monitor around `value`.
    pub const fn new(discipline: Discipline, value: T) -> Self {
        let queues = Queues {
            asleep: 0,
            next: 0,
            inside: None,
            waiting: Vec::new(),
            signalled: Vec::new(),
            urgent: Vec::new(),
        };
        Monitor {
            discipline,
            queues: Mutex::new(queues),
            changed: Condvar::new(),
            conditions: AtomicU32::new(0),
            data: UnsafeCell::new(value),
        }
    }

    /// Returns the data, when no other thread can enter.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Monitor<T> {
    /// Returns a new condition of this monitor.
    pub fn condition(&self) -> Condition {
        Condition(self.conditions.fetch_add(1, Ordering::Relaxed))
    }

    /// Waits until the monitor is free and enters it.
    pub fn enter(&self) -> MonitorGuard<'_, T> {
        let mut queues = self.queues();
        while queues.inside.is_some() {
            queues = self.sleep(queues);
        }
        let ticket = queues.draw();
        queues.inside = Some(ticket);
        MonitorGuard {
            monitor: self,
            ticket,
            not_send: PhantomData,
        }
    }

    /// Returns the data, when no other thread can enter.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// Returns the address of the data, for a controlled monitor and the thread that is inside.
    #[cfg(feature = "check")]
    pub(crate) fn data(&self) -> *mut T {
        self.data.get()
    }

    /// Returns the discipline, for a controlled monitor.
    #[cfg(feature = "check")]
    pub(crate) fn discipline(&self) -> Discipline {
        self.discipline
    }

    /// Closes the monitor to threads outside the check, for a controlled monitor; `false` if one is
    /// inside.
    #[cfg(feature = "check")]
    pub(crate) fn close(&self) -> bool {
        let mut queues = self.queues();
        let free = queues.inside.is_none();
        if free {
            queues.inside = Some(0);
        }
        free
    }

    /// Reverts `close`, for a controlled monitor.
    #[cfg(feature = "check")]
    pub(crate) fn reopen(&self) {
        let mut queues = self.queues();
        queues.inside = None;
        self.wake(&queues);
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        // Nothing panics while the lock is held.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'a>(&self, mut queues: MutexGuard<'a, Queues>) -> MutexGuard<'a, Queues> {
        queues.asleep += 1;
        let mut queues = self
            .changed
            .wait(queues)
            .unwrap_or_else(PoisonError::into_inner);
        queues.asleep -= 1;
        queues
    }

    /// Wakes all sleeping threads to check for their ticket.
    fn wake(&self, queues: &Queues) {
        if queues.asleep > 0 {
            self.changed.notify_all();
        }
    }

    /// Sleeps until the ticket has the monitor.
    fn resume(&self, mut queues: MutexGuard<'_, Queues>, ticket: u64) {
        self.wake(&queues);
        loop {
            if queues.inside == Some(ticket) {
                return;
            }
            if queues.inside.is_none() && queues.signalled.contains(&ticket) {
                queues.signalled.retain(|&other| other != ticket);
                queues.inside = Some(ticket);
                return;
            }
            queues = self.sleep(queues);
        }
    }
}

impl Queues {
    fn draw(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn take_waiting(&mut self, condition: Condition) -> Option<u64> {
        let first = self
            .waiting
            .iter()
            .position(|&(other, _)| other == condition)?;
        Some(self.waiting.remove(first).1)
    }
}

/// Access to the data of a monitor; leaves the monitor when dropped.
#[must_use = "if unused the monitor is left at once"]
pub struct MonitorGuard<'a, T: ?Sized> {
    monitor: &'a Monitor<T>,
    ticket: u64,
    not_send: PhantomData<*const ()>,
}

impl<T: ?Sized> MonitorGuard<'_, T> {
    /// Leaves the monitor, waits for a signal of the condition, and enters again.
    pub fn wait(&mut self, condition: Condition) {
        let mut queues = self.monitor.queues();
        queues.waiting.push((condition, self.ticket));
        queues.inside = queues.urgent.pop();
        self.monitor.resume(queues, self.ticket);
    }

    /// Wakes the thread that has waited longest for the condition, if there is one.
    pub fn signal(&mut self, condition: Condition) {
        let mut queues = self.monitor.queues();
        let Some(woken) = queues.take_waiting(condition) else {
            return;
        };
        match self.monitor.discipline {
            Discipline::SignalContinue => queues.signalled.push(woken),
            Discipline::SignalUrgent => {
                queues.urgent.push(self.ticket);
                queues.inside = Some(woken);
                self.monitor.resume(queues, self.ticket);
            }
        }
    }

    /// Wakes all threads that wait for the condition.
    ///
    /// # Panics
    ///
    /// If the signaller hands the monitor over in this discipline: it could do so to one thread
    /// only.
    pub fn signal_all(&mut self, condition: Condition) {
        check_signal_all(self.monitor.discipline);
        let mut queues = self.monitor.queues();
        while let Some(woken) = queues.take_waiting(condition) {
            queues.signalled.push(woken);
        }
    }

    /// Returns the number of threads that wait for the condition.
    pub fn waiting(&self, condition: Condition) -> usize {
        self.monitor
            .queues()
            .waiting
            .iter()
            .filter(|(other, _)| *other == condition)
            .count()
    }
}

#[track_caller]
pub(crate) fn check_signal_all(discipline: Discipline) {
    assert!(
        discipline == Discipline::SignalContinue,
        "signal_all needs a monitor with Discipline::SignalContinue"
    );
}

impl<T: ?Sized> Drop for MonitorGuard<'_, T> {
    fn drop(&mut self) {
        let mut queues = self.monitor.queues();
        queues.inside = queues.urgent.pop();
        self.monitor.wake(&queues);
    }
}

impl<T: ?Sized> Deref for MonitorGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard's thread is inside.
        unsafe { &*self.monitor.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MonitorGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard's thread is inside, and the guard is borrowed exclusively.
        unsafe { &mut *self.monitor.data.get() }
    }
}

impl<T: ?Sized> fmt::Debug for Monitor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor")
            .field("discipline", &self.discipline)
            .finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MonitorGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use super::*;

    /// Waits until this number of threads waits for the condition.
    fn await_waiting<T>(monitor: &Monitor<T>, condition: Condition, count: usize) {
        while monitor.enter().waiting(condition) < count {
            thread::yield_now();
        }
    }

    #[test]
    fn an_urgent_signaller_makes_way_and_comes_back_first() {
        let monitor = Monitor::new(Discipline::SignalUrgent, Vec::new());
        let ready = monitor.condition();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut steps = monitor.enter();
                steps.wait(ready);
                steps.push("signalled");
            });
            await_waiting(&monitor, ready, 1);
            let mut steps = monitor.enter();
            steps.push("signals");
            steps.signal(ready);
            steps.push("goes on");
        });
        assert_eq!(monitor.into_inner(), ["signals", "signalled", "goes on"]);
    }

    #[test]
    fn a_continuing_signaller_goes_on() {
        let monitor = Monitor::new(Discipline::SignalContinue, Vec::new());
        let ready = monitor.condition();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut steps = monitor.enter();
                    steps.wait(ready);
                    steps.push("signalled");
                });
            }
            await_waiting(&monitor, ready, 2);
            let mut steps = monitor.enter();
            steps.signal_all(ready);
            steps.push("goes on");
        });
        assert_eq!(monitor.into_inner(), ["goes on", "signalled", "signalled"]);
    }

    #[test]
    fn conditions_are_first_in_first_out() {
        let monitor = Monitor::new(Discipline::SignalUrgent, Vec::new());
        let ready = monitor.condition();
        thread::scope(|scope| {
            for number in 0..4 {
                let monitor = &monitor;
                scope.spawn(move || {
                    let mut order = monitor.enter();
                    order.wait(ready);
                    order.push(number);
                });
                await_waiting(monitor, ready, number + 1);
            }
            let mut order = monitor.enter();
            for _ in 0..4 {
                order.signal(ready);
            }
        });
        assert_eq!(monitor.into_inner(), [0, 1, 2, 3]);
    }

    #[test]
    fn signalling_all_needs_the_right_discipline() {
        let monitor = Monitor::new(Discipline::SignalUrgent, ());
        let ready = monitor.condition();
        assert!(catch_unwind(AssertUnwindSafe(|| monitor.enter().signal_all(ready))).is_err());
        drop(monitor.enter());
    }
}
