//! Ports on std's lock and condition variable.
//!
//! Messages of a port are received in the order of their sends. Each has a number that grows with
//! time across all ports, so that a selection takes the message that arrived first. A thread that
//! finds no message registers a wake-up at every port it listens to, and sleeps until a sender
//! triggers it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use crate::own_sync::atomic::{AtomicU64, Ordering};
use crate::own_sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The condition under which a sender waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PortKind {
    /// Never.
    Asynchronous,
    /// Until its message has been received.
    Synchronous,
    /// While this number of messages is waiting.
    Bounded(usize),
}

impl PortKind {
    /// Creates a bounded kind, with room for at least one message.
    #[track_caller]
    pub(crate) fn bounded(bound: usize) -> Self {
        assert!(
            bound > 0,
            "raddle: a port with room for no message: use `Port::synchronous`, whose senders wait \
             until their message is received"
        );
        PortKind::Bounded(bound)
    }
}

/// The receiving end of a port. One thread at a time has it; it may be sent to another.
pub struct Port<T> {
    shared: Arc<Shared<T>>,
    /// Prevents sharing between threads.
    one_receiver: PhantomData<Cell<()>>,
}

/// A sending end of a port. Clones send to the same port.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    kind: PortKind,
    state: Mutex<PortState<T>>,
    /// Notified when a message was received.
    taken: Condvar,
}

struct PortState<T> {
    /// Messages, each with the time of its arrival.
    messages: VecDeque<(u64, T)>,
    sent: u64,
    received: u64,
    /// Wake-up of the thread that sleeps until a message arrives.
    listener: Option<Arc<Bell>>,
}

/// Time of all ports: the number of messages that have been sent.
static TIME: AtomicU64 = AtomicU64::new(0);

impl<T> Port<T> {
    /// Creates a port whose senders never wait.
    pub fn asynchronous() -> Self {
        Port::new(PortKind::Asynchronous)
    }

    /// Creates a port whose senders wait until their message has been received.
    pub fn synchronous() -> Self {
        Port::new(PortKind::Synchronous)
    }

    /// Creates a port whose senders wait while `bound` messages are waiting.
    ///
    /// # Panics
    ///
    /// If `bound` is 0: that is [`Port::synchronous`].
    #[track_caller]
    pub fn bounded(bound: usize) -> Self {
        Port::new(PortKind::bounded(bound))
    }

    fn new(kind: PortKind) -> Self {
        let state = PortState {
            messages: VecDeque::new(),
            sent: 0,
            received: 0,
            listener: None,
        };
        let shared = Shared {
            kind,
            state: Mutex::new(state),
            taken: Condvar::new(),
        };
        Port {
            shared: Arc::new(shared),
            one_receiver: PhantomData,
        }
    }

    /// Returns a sending end.
    pub fn sender(&self) -> Sender<T> {
        Sender {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Receives the next message, after waiting for one.
    pub fn receive(&self) -> T {
        first_of(&[self]);
        self.take()
    }

    /// Removes and returns the next message, which must exist.
    pub(crate) fn take(&self) -> T {
        let mut state = self.shared.state();
        let (_, message) = state.messages.pop_front().expect("a message has come");
        state.received += 1;
        drop(state);
        if self.shared.kind != PortKind::Asynchronous {
            self.shared.taken.notify_all();
        }
        message
    }
}

/// For `select!`.
#[cfg(not(feature = "check"))]
impl<T> Port<T> {
    #[doc(hidden)]
    pub fn __this(&self) -> &Self {
        self
    }

    #[doc(hidden)]
    pub fn __take(&self, _message: u32) -> T {
        self.take()
    }
}

impl<T> Sender<T> {
    /// Sends a message, after waiting if the kind of port requires it.
    pub fn send(&self, message: T) {
        let shared = &*self.shared;
        let mut state = shared.state();
        if let PortKind::Bounded(bound) = shared.kind {
            state = shared.wait_while(state, |state| state.messages.len() >= bound);
        }
        let number = state.sent;
        state.sent += 1;
        let time = TIME.fetch_add(1, Ordering::Relaxed);
        state.messages.push_back((time, message));
        if let Some(bell) = state.listener.take() {
            bell.ring();
        }
        if shared.kind == PortKind::Synchronous {
            drop(shared.wait_while(state, |state| state.received <= number));
        }
    }
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, PortState<T>> {
        // Nothing panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while<'a>(
        &self,
        state: MutexGuard<'a, PortState<T>>,
        condition: impl Fn(&PortState<T>) -> bool,
    ) -> MutexGuard<'a, PortState<T>> {
        let state = self.taken.wait_while(state, |state| condition(state));
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

/// A port that a selection waits for, with messages of any type.
pub(crate) trait Alternative {
    /// Returns an address that identifies the port.
    fn address(&self) -> *const ();

    /// Returns the arrival time of the next message, if there is one.
    fn next(&self) -> Option<u64>;

    /// Registers a wake-up for the next message; `false` if there is one already.
    fn listen(&self, bell: &Arc<Bell>) -> bool;

    /// Removes the registered wake-up.
    fn leave(&self);
}

impl<T> Alternative for Port<T> {
    fn address(&self) -> *const () {
        Arc::as_ptr(&self.shared).cast()
    }

    fn next(&self) -> Option<u64> {
        let state = self.shared.state();
        state.messages.front().map(|&(time, _)| time)
    }

    fn listen(&self, bell: &Arc<Bell>) -> bool {
        let mut state = self.shared.state();
        let empty = state.messages.is_empty();
        state.listener = empty.then(|| Arc::clone(bell));
        empty
    }

    fn leave(&self) {
        self.shared.state().listener = None;
    }
}

/// Waits until one of the ports has a message; returns the position of the port whose message
/// arrived first.
pub(crate) fn first_of(ports: &[&dyn Alternative]) -> usize {
    let earliest = || {
        let times = ports.iter().enumerate();
        let times = times.filter_map(|(position, port)| Some((port.next()?, position)));
        times.min().map(|(_, position)| position)
    };
    loop {
        if let Some(position) = earliest() {
            return position;
        }
        let bell = Arc::new(Bell::default());
        if ports.iter().all(|port| port.listen(&bell)) {
            bell.sleep();
        }
        ports.iter().for_each(|port| port.leave());
    }
}

/// Wakes one sleeping thread, also if triggered before it sleeps.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    fn sleep(&self) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let rung = self.changed.wait_while(rung, |rung| !*rung);
        drop(rung.unwrap_or_else(PoisonError::into_inner));
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T> fmt::Debug for Port<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
