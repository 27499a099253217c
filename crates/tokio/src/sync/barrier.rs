//! A barrier for tasks.

use std::fmt;
use std::panic::Location;
use std::task::{Poll, Waker};

use raddle_check::protocol::awaits::Wait;
use raddle_engine::object::Object;
use raddle_engine::object::serial::{Call, Serial};

use crate::object::{Shared, State, wake_all};

/// A barrier, as `tokio::sync::Barrier`. The last task to come is the leader.
pub struct Barrier {
    shared: Shared<BarrierState>,
    size: usize,
}

struct BarrierState {
    /// Tasks of the present round that have come.
    arrived: usize,
    /// Number of rounds that are over.
    rounds: u64,
    waiting: Vec<Waker>,
}

impl State for BarrierState {
    fn object(&self) -> Object {
        Object::Serial(Serial)
    }
}

impl Barrier {
    /// Creates a barrier for `size` tasks; 0 counts as 1.
    #[track_caller]
    pub fn new(size: usize) -> Self {
        let state = BarrierState {
            arrived: 0,
            rounds: 0,
            waiting: Vec::new(),
        };
        Barrier {
            shared: Shared::new("Barrier", state),
            size: size.max(1),
        }
    }

    /// Waits until as many tasks have come as the barrier is for. A task that stops waiting has come
    /// nevertheless.
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = BarrierWaitResult> + use<'_> {
        let place = Location::caller();
        let (mut joined, mut wait) = (None, Wait::new());
        std::future::poll_fn(move |context| {
            // A leader ends the round, and others wait for its end.
            let call = match joined {
                None => Call::Send,
                Some(_) => Call::Wait,
            };
            let (mut state, _) = self.shared.call(place, call);
            let round = match joined {
                Some(round) => round,
                None => {
                    state.arrived += 1;
                    if state.arrived == self.size {
                        state.arrived = 0;
                        state.rounds += 1;
                        let waiting = std::mem::take(&mut state.waiting);
                        drop(state);
                        wake_all(waiting);
                        return Poll::Ready(BarrierWaitResult(true));
                    }
                    *joined.insert(state.rounds)
                }
            };
            if state.rounds > round {
                wait.end();
                return Poll::Ready(BarrierWaitResult(false));
            }
            state.waiting.push(context.waker().clone());
            drop(state);
            self.shared.declare(&mut wait, place, Call::Wait);
            Poll::Pending
        })
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

/// The result of [`Barrier::wait`].
#[derive(Clone, Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for one task of the round.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}
