//! A channel for one message.

use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use raddle_check::protocol::awaits::Wait;
use raddle_engine::object::Object;
use raddle_engine::object::channel::{Call, Channel};

use crate::object::{Place, Shared, State, set_waker, wake_all};

/// Errors of the channel.
pub mod error {
    pub use crate::sync::errors::RecvError;
    pub use real::sync::oneshot::error::TryRecvError;
}

use error::{RecvError, TryRecvError};

struct OneshotState<T> {
    value: Option<T>,
    has_sender: bool,
    /// True until the receiver is closed or dropped.
    is_open: bool,
    receiver: Option<Waker>,
    /// The waker of the sender that waits in `closed`.
    sender: Option<Waker>,
}

impl<T> State for OneshotState<T> {
    fn object(&self) -> Object {
        Object::Channel(Channel::new(1))
    }
}

/// Creates a channel for one message.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = OneshotState {
        value: None,
        has_sender: true,
        is_open: true,
        receiver: None,
        sender: None,
    };
    let shared = Arc::new(Shared::new("oneshot", state));
    let place = Location::caller();
    let sender = Sender {
        shared: Some(Arc::clone(&shared)),
        wait: Wait::new(),
        place,
    };
    let receiver = Receiver {
        shared,
        wait: Wait::new(),
        place,
        is_done: false,
    };
    (sender, receiver)
}

/// Sends the message.
pub struct Sender<T> {
    /// `None` once the message was sent.
    shared: Option<Arc<Shared<OneshotState<T>>>>,
    wait: Wait,
    place: Place,
}

impl<T> Sender<T> {
    /// Sends the message, or returns it if the receiver is gone.
    #[track_caller]
    pub fn send(mut self, value: T) -> Result<(), T> {
        let shared = self.shared.take().expect("it was not sent before");
        let (mut state, _) = shared.call(Location::caller(), Call::TrySend);
        state.has_sender = false;
        if !state.is_open {
            return Err(value);
        }
        state.value = Some(value);
        let waker = state.receiver.take();
        drop(state);
        wake_all(waker);
        Ok(())
    }

    fn shared(&self) -> &Shared<OneshotState<T>> {
        self.shared.as_ref().expect("it was not sent")
    }

    /// True when the receiver was closed or dropped.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        let (state, _) = self.shared().call(Location::caller(), Call::Look);
        !state.is_open
    }

    /// Waits until the receiver is closed or dropped.
    #[track_caller]
    pub fn closed(&mut self) -> impl Future<Output = ()> + use<'_, T> {
        let place = Location::caller();
        std::future::poll_fn(move |context| self.look_for_end(place, context))
    }

    /// Looks whether the receiver was closed or dropped.
    #[track_caller]
    pub fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.look_for_end(Location::caller(), context)
    }

    fn look_for_end(&mut self, place: Place, context: &mut Context<'_>) -> Poll<()> {
        let shared = self.shared.as_ref().expect("it was not sent");
        let (mut state, _) = shared.call(place, Call::Look);
        if !state.is_open {
            self.wait.end();
            return Poll::Ready(());
        }
        set_waker(&mut state.sender, context.waker());
        drop(state);
        shared.declare(&mut self.wait, place, Call::Look);
        Poll::Pending
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        let (mut state, _) = shared.call(self.place, Call::HangUp);
        state.has_sender = false;
        let waker = state.receiver.take();
        drop(state);
        wake_all(waker);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

/// Receives the message.
pub struct Receiver<T> {
    shared: Arc<Shared<OneshotState<T>>>,
    wait: Wait,
    place: Place,
    is_done: bool,
}

impl<T> Receiver<T> {
    /// Refuses a later message; one that was sent before can be received.
    #[track_caller]
    pub fn close(&mut self) {
        let (mut state, _) = self.shared.call(Location::caller(), Call::Close);
        state.is_open = false;
        let waker = state.sender.take();
        drop(state);
        wake_all(waker);
    }

    /// Receives the message if it was sent.
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        if self.is_done {
            return Err(TryRecvError::Closed);
        }
        let (mut state, _) = self.shared.call(Location::caller(), Call::TryReceive);
        match state.value.take() {
            Some(value) => {
                drop(state);
                self.is_done = true;
                Ok(value)
            }
            None if state.has_sender && state.is_open => Err(TryRecvError::Empty),
            None => {
                drop(state);
                self.is_done = true;
                Err(TryRecvError::Closed)
            }
        }
    }

    /// Receives the message from a thread that runs no task.
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        raddle::future::__block_on_thread(self)
    }

    /// True when nothing can be received any more.
    #[track_caller]
    pub fn is_terminated(&self) -> bool {
        self.is_done
    }

    /// True when there is no message now.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        let (state, _) = self.shared.call(Location::caller(), Call::Look);
        state.value.is_none()
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        assert!(!this.is_done, "called after complete");
        // A call through a trait object has no place of its own.
        let caller = Location::caller();
        let place = match caller.file() == file!() {
            true => this.place,
            false => caller,
        };
        let (mut state, _) = this.shared.call(place, Call::TryReceive);
        let result = match state.value.take() {
            Some(value) => Ok(value),
            None if state.has_sender && state.is_open => {
                set_waker(&mut state.receiver, context.waker());
                drop(state);
                this.shared.declare(&mut this.wait, place, Call::Receive);
                return Poll::Pending;
            }
            None => Err(RecvError(())),
        };
        drop(state);
        this.wait.end();
        this.is_done = true;
        Poll::Ready(result)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let (mut state, _) = self.shared.call(self.place, Call::Leave);
        state.is_open = false;
        let value = state.value.take();
        let waker = state.sender.take();
        drop(state);
        drop(value);
        wake_all(waker);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
