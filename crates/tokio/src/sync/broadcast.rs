//! A channel from which each receiver gets each message.

use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, Waker};

use raddle_check::protocol::awaits::Wait;
use raddle_engine::object::Object;
use raddle_engine::object::serial::{Call, Serial};

use crate::object::{Place, Shared, State, wake_all};

pub use real::sync::broadcast::error;

use error::{RecvError, SendError, TryRecvError};

struct BroadcastState<T> {
    capacity: usize,
    /// The last messages, of which the first has the number `first`.
    messages: VecDeque<Message<T>>,
    first: u64,
    senders: usize,
    receivers: usize,
    waiting: Vec<Waker>,
}

struct Message<T> {
    value: Arc<T>,
    /// Number of receivers that have not received it.
    left: usize,
}

impl<T> State for BroadcastState<T> {
    fn object(&self) -> Object {
        Object::Serial(Serial)
    }
}

impl<T> BroadcastState<T> {
    /// Returns the number of the next message.
    fn next(&self) -> u64 {
        self.first + self.messages.len() as u64
    }

    /// Counts a message as received by one more receiver; the last one frees it.
    fn received(&mut self, number: u64) {
        let index = usize::try_from(number - self.first).expect("it is kept");
        self.messages[index].left -= 1;
    }
}

/// Creates a channel that keeps the last messages, as many as the next power of two.
///
/// # Panics
///
/// If `capacity` is 0 or more than half of the maximum.
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(capacity);
    let receiver = Receiver::new(&sender.shared, sender.shared.state(), Location::caller());
    (sender, receiver)
}

/// Sends messages.
pub struct Sender<T> {
    shared: Arc<Shared<BroadcastState<T>>>,
    place: Place,
}

impl<T> Sender<T> {
    /// Creates a sender without receivers.
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "broadcast channel capacity cannot be zero");
        assert!(
            capacity <= usize::MAX >> 1,
            "broadcast channel capacity exceeded `usize::MAX / 2`"
        );
        let state = BroadcastState {
            capacity: capacity.next_power_of_two(),
            messages: VecDeque::new(),
            first: 0,
            senders: 1,
            receivers: 0,
            waiting: Vec::new(),
        };
        Sender {
            shared: Arc::new(Shared::new("broadcast", state)),
            place: Location::caller(),
        }
    }

    /// Sends a message to all receivers; returns their number, or the message if there is none.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let (mut state, _) = self.shared.call(Location::caller(), Call::Send);
        if state.receivers == 0 {
            return Err(SendError(value));
        }
        let left = state.receivers;
        state.messages.push_back(Message {
            value: Arc::new(value),
            left,
        });
        let dropped = match state.messages.len() > state.capacity {
            true => {
                state.first += 1;
                state.messages.pop_front()
            }
            false => None,
        };
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(dropped);
        wake_all(waiting);
        Ok(left)
    }

    /// Returns a receiver of later messages.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::subscribed(&self.shared, Location::caller())
    }

    /// Returns the number of messages that a receiver has not received.
    #[track_caller]
    pub fn len(&self) -> usize {
        let (state, _) = self.shared.call(Location::caller(), Call::Look);
        let received = state.messages.iter().take_while(|one| one.left == 0);
        state.messages.len() - received.count()
    }

    /// True when all receivers have received all messages.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of receivers.
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        let (state, _) = self.shared.call(Location::caller(), Call::Look);
        state.receivers
    }

    /// True when both send to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let place = Location::caller();
        self.shared.call(place, Call::Clone).0.senders += 1;
        Sender {
            shared: Arc::clone(&self.shared),
            place,
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let (mut state, _) = self.shared.call(self.place, Call::Drop);
        state.senders -= 1;
        let waiting = match state.senders {
            0 => std::mem::take(&mut state.waiting),
            _ => Vec::new(),
        };
        drop(state);
        wake_all(waiting);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

/// Receives messages.
pub struct Receiver<T> {
    shared: Arc<Shared<BroadcastState<T>>>,
    /// The number of the next message.
    next: u64,
    place: Place,
}

impl<T: Clone> Receiver<T> {
    /// Receives the next message that is kept.
    #[track_caller]
    pub fn recv(&mut self) -> impl Future<Output = Result<T, RecvError>> + use<'_, T> {
        let (place, mut wait) = (Location::caller(), Wait::new());
        std::future::poll_fn(move |context| {
            let result = match self.receive(place, Some(context)) {
                Ok(value) => Ok(value),
                Err(TryRecvError::Closed) => Err(RecvError::Closed),
                Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
                Err(TryRecvError::Empty) => {
                    self.shared.declare(&mut wait, place, Call::Receive);
                    return Poll::Pending;
                }
            };
            wait.end();
            Poll::Ready(result)
        })
    }

    /// Receives the next message that is kept, if there is one.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.receive(Location::caller(), None)
    }

    /// Receives a message from a thread that runs no task.
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        raddle::future::__block_on_thread(self.recv())
    }

    fn receive(
        &mut self,
        place: Place,
        context: Option<&mut Context<'_>>,
    ) -> Result<T, TryRecvError> {
        let (mut state, _) = self.shared.call(place, Call::Receive);
        if self.next < state.first {
            let missed = state.first - self.next;
            self.next = state.first;
            return Err(TryRecvError::Lagged(missed));
        }
        let index = usize::try_from(self.next - state.first).expect("it is kept");
        let Some(message) = state.messages.get(index) else {
            if state.senders == 0 {
                return Err(TryRecvError::Closed);
            }
            if let Some(context) = context {
                state.waiting.push(context.waker().clone());
            }
            return Err(TryRecvError::Empty);
        };
        let value = Arc::clone(&message.value);
        state.received(self.next);
        self.next += 1;
        drop(state);
        // Outside of the lock: the clone is code of the user.
        Ok((*value).clone())
    }
}

impl<T> Receiver<T> {
    /// Creates a receiver of the messages after this state.
    fn new(
        shared: &Arc<Shared<BroadcastState<T>>>,
        mut state: MutexGuard<'_, BroadcastState<T>>,
        place: Place,
    ) -> Self {
        state.receivers += 1;
        Receiver {
            shared: Arc::clone(shared),
            next: state.next(),
            place,
        }
    }

    fn subscribed(shared: &Arc<Shared<BroadcastState<T>>>, place: Place) -> Self {
        let (state, _) = shared.call(place, Call::Subscribe);
        Receiver::new(shared, state, place)
    }

    /// Returns the number of messages that were not received, those that are not kept included.
    #[track_caller]
    pub fn len(&self) -> usize {
        let (state, _) = self.shared.call(Location::caller(), Call::Look);
        usize::try_from(state.next() - self.next).expect("there are as many")
    }

    /// True when all messages were received.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a receiver of later messages.
    #[track_caller]
    pub fn resubscribe(&self) -> Self {
        Receiver::subscribed(&self.shared, Location::caller())
    }

    /// True when both receive from the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let (mut state, _) = self.shared.call(self.place, Call::Drop);
        state.receivers -= 1;
        for number in self.next.max(state.first)..state.next() {
            state.received(number);
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
