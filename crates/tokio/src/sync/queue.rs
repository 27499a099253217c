//! The queue of messages of both `mpsc` channels.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use raddle_check::protocol::awaits::Wait;
use raddle_engine::object::Object;
use raddle_engine::object::channel::{Call, Channel};

use super::fair::Fair;
use crate::object::{Place, Shared, State, set_waker, wake_all};

use real::sync::mpsc::error::TryRecvError;

pub(super) struct Queue<T> {
    shared: Shared<QueueState<T>>,
    /// Room for messages of a bounded channel.
    pub(super) room: Option<Fair>,
    pub(super) bound: usize,
}

struct QueueState<T> {
    messages: VecDeque<T>,
    senders: usize,
    /// True until the receiver is closed or dropped.
    is_open: bool,
    /// Messages that were reserved and not sent.
    reserved: usize,
    receiver: Option<Waker>,
    /// Senders that wait until the channel is closed.
    closed: Vec<Waker>,
}

impl<T> State for QueueState<T> {
    fn object(&self) -> Object {
        Object::Channel(Channel::new(u32::MAX as usize))
    }
}

/// The channel is closed, and the message was not sent.
pub(super) struct Refused<T>(pub(super) T);

impl<T> Queue<T> {
    /// Creates a queue with one sender; `bound` is the maximum number of messages.
    #[track_caller]
    pub(super) fn new(bound: Option<usize>) -> Arc<Self> {
        let state = QueueState {
            messages: VecDeque::new(),
            senders: 1,
            is_open: true,
            reserved: 0,
            receiver: None,
            closed: Vec::new(),
        };
        Arc::new(Queue {
            shared: Shared::new("mpsc", state),
            room: bound.map(|bound| Fair::new("room in the channel", bound)),
            bound: bound.unwrap_or(usize::MAX),
        })
    }

    /// Sends a message for which there is room.
    pub(super) fn push(&self, place: Place, message: T) -> Result<(), Refused<T>> {
        let (mut state, _) = self.shared.call(place, Call::TrySend);
        if !state.is_open {
            return Err(Refused(message));
        }
        state.messages.push_back(message);
        let waker = state.receiver.take();
        drop(state);
        wake_all(waker);
        Ok(())
    }

    /// Sends a message that was reserved, even if the channel was closed since.
    pub(super) fn push_reserved(&self, place: Place, message: T) {
        let (mut state, _) = self.shared.call(place, Call::TrySend);
        state.reserved -= 1;
        state.messages.push_back(message);
        let waker = state.receiver.take();
        drop(state);
        wake_all(waker);
    }

    /// Records that room was reserved, which is part of the operation that took it.
    pub(super) fn reserve(&self, messages: usize) {
        self.shared.state().reserved += messages;
    }

    /// Returns room that was reserved.
    pub(super) fn return_room(&self, place: Place, messages: usize) {
        if let Some(room) = &self.room {
            room.add(place, messages);
        }
        let (mut state, _) = self.shared.call(place, Call::Look);
        state.reserved -= messages;
        let waker = match state.is_open {
            true => None,
            false => state.receiver.take(),
        };
        drop(state);
        wake_all(waker);
    }

    /// Receives a message, if there is one.
    pub(super) fn pop(&self, place: Place) -> Result<T, TryRecvError> {
        self.pop_or(place, |_| ())
    }

    fn pop_or(
        &self,
        place: Place,
        otherwise: impl FnOnce(&mut QueueState<T>),
    ) -> Result<T, TryRecvError> {
        let (mut state, _) = self.shared.call(place, Call::TryReceive);
        match state.messages.pop_front() {
            Some(message) => {
                drop(state);
                if let Some(room) = &self.room {
                    room.add(place, 1);
                }
                Ok(message)
            }
            None if state.senders == 0 || !state.is_open && state.reserved == 0 => {
                Err(TryRecvError::Disconnected)
            }
            None => {
                otherwise(&mut state);
                Err(TryRecvError::Empty)
            }
        }
    }

    /// Receives a message; `None` if the channel has ended.
    pub(super) fn poll_pop(
        &self,
        place: Place,
        wait: &mut Wait,
        context: &Context<'_>,
    ) -> Poll<Option<T>> {
        let register = |state: &mut QueueState<T>| set_waker(&mut state.receiver, context.waker());
        let result = match self.pop_or(place, register) {
            Ok(message) => Some(message),
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => {
                self.shared.declare(wait, place, Call::Receive);
                return Poll::Pending;
            }
        };
        wait.end();
        Poll::Ready(result)
    }

    /// Refuses further messages.
    pub(super) fn close(&self, place: Place) {
        self.end(place, Call::Close);
    }

    /// Drops the messages, and refuses further ones.
    pub(super) fn leave(&self, place: Place) {
        let messages = self.end(place, Call::Leave);
        drop(messages);
    }

    fn end(&self, place: Place, call: Call) -> VecDeque<T> {
        // Senders of a bounded channel are refused from here on.
        if let Some(room) = &self.room {
            room.close(place);
        }
        let (mut state, _) = self.shared.call(place, call);
        state.is_open = false;
        let messages = match call {
            Call::Leave => std::mem::take(&mut state.messages),
            _ => VecDeque::new(),
        };
        let wakers = std::mem::take(&mut state.closed);
        drop(state);
        wake_all(wakers);
        messages
    }

    pub(super) fn add_sender(&self, place: Place) {
        self.shared.call(place, Call::Clone).0.senders += 1;
    }

    /// Adds a sender if there is one; false otherwise.
    pub(super) fn upgrade(&self, place: Place) -> bool {
        let (mut state, _) = self.shared.call(place, Call::Clone);
        let is_there = state.senders > 0;
        state.senders += usize::from(is_there);
        is_there
    }

    pub(super) fn remove_sender(&self, place: Place) {
        let (mut state, _) = self.shared.call(place, Call::HangUp);
        state.senders -= 1;
        let waker = match state.senders {
            0 => state.receiver.take(),
            _ => None,
        };
        drop(state);
        wake_all(waker);
    }

    pub(super) fn is_closed(&self, place: Place) -> bool {
        if let Some(room) = &self.room {
            return room.is_closed(place);
        }
        let (state, _) = self.shared.call(place, Call::Look);
        !state.is_open
    }

    /// True when the channel is closed, or no sender is left.
    pub(super) fn has_ended(&self, place: Place) -> bool {
        let (state, _) = self.shared.call(place, Call::Look);
        !state.is_open || state.senders == 0
    }

    pub(super) fn len(&self, place: Place) -> usize {
        let (state, _) = self.shared.call(place, Call::Look);
        state.messages.len()
    }

    pub(super) fn poll_closed(
        &self,
        place: Place,
        wait: &mut Wait,
        context: &Context<'_>,
    ) -> Poll<()> {
        let (mut state, _) = self.shared.call(place, Call::Look);
        if !state.is_open {
            wait.end();
            return Poll::Ready(());
        }
        state.closed.push(context.waker().clone());
        drop(state);
        self.shared.declare(wait, place, Call::Look);
        Poll::Pending
    }
}
