//! Ports on std's lock and condition variable.
//!
//! Messages of a port are taken in the order they were sent. Each carries a number that grows with
//! time across all ports, so that a selection takes the message that came first. A thread that finds
//! nothing leaves a bell at every port it listens to and sleeps until a sender rings it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use crate::own_sync::atomic::{AtomicU64, Ordering};
use crate::own_sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// When a sender waits.
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
    /// A bound that makes sense.
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
    /// Not to be shared between threads.
    one_receiver: PhantomData<Cell<()>>,
}

/// An end of a port to send to. Clones send to the same port.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    kind: PortKind,
    state: Mutex<PortState<T>>,
    /// A message was taken.
    taken: Condvar,
}

struct PortState<T> {
    /// Each with the time it came.
    messages: VecDeque<(u64, T)>,
    sent: u64,
    received: u64,
    /// Bell of the thread that sleeps until a message comes.
    listener: Option<Arc<Bell>>,
}

/// Time of all ports: the number of messages that have been sent.
static TIME: AtomicU64 = AtomicU64::new(0);

impl<T> Port<T> {
    /// A port whose senders never wait.
    pub fn asynchronous() -> Self {
        Port::new(PortKind::Asynchronous)
    }

    /// A port whose senders wait until their message has been received.
    pub fn synchronous() -> Self {
        Port::new(PortKind::Synchronous)
    }

    /// A port whose senders wait while `bound` messages are waiting.
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

    /// An end to send to.
    pub fn sender(&self) -> Sender<T> {
        Sender {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Takes the next message, waiting until there is one.
    pub fn receive(&self) -> T {
        first_of(&[self]);
        self.take()
    }

    /// The next message, which must be there.
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
    /// Sends a message, waiting if the port says so.
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

/// A port to listen to, whatever its messages are.
pub(crate) trait Alternative {
    /// Tells ports apart.
    fn address(&self) -> *const ();

    /// When the next message came, if there is one.
    fn next(&self) -> Option<u64>;

    /// Has the bell rung when a message comes; `false` if there is one already.
    fn listen(&self, bell: &Arc<Bell>) -> bool;

    /// Rings no bell.
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

/// Waits until one of the ports has a message; the position of the port whose message came first.
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

/// Wakes one sleeper, also if it is rung before.
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
