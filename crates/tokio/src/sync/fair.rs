//! A fair semaphore, on which the locks and the bounded channel are built.
//!
//! Permits go to requests in the order in which these were first polled, as in tokio. A request that is
//! dropped returns its permits. The engine has a semaphore with the same rules, which names holders
//! in reports; a reply that differs from the state here is a bug of this crate.

use std::collections::VecDeque;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use raddle_check::protocol::awaits::Wait;
use raddle_engine::object::Object;
use raddle_engine::object::fair::{self, Access, Call};
use raddle_engine::{Grant, Reply};

use crate::object::{Place, Shared, State, set_waker, wake_all};

pub(crate) struct Fair(Shared<FairState>);

pub(crate) struct FairState {
    /// Permits that no request has.
    permits: usize,
    is_closed: bool,
    /// Number of requests that were queued so far.
    requests: u32,
    queue: VecDeque<Queued>,
    /// Requests that were granted and have not been polled since.
    granted: Vec<(u32, usize)>,
}

struct Queued {
    number: u32,
    permits: usize,
    waker: Option<Waker>,
}

/// The result of an attempt to take permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    Yes,
    No,
    Closed,
}

impl Taken {
    fn of(reply: Reply) -> Self {
        match reply.to_grant() {
            Grant::Taken { poisoned: false } => Taken::Yes,
            Grant::Taken { poisoned: true } => Taken::Closed,
            Grant::Refused => Taken::No,
        }
    }
}

/// Returns a number of permits as the engine has it, which needs it for reports only.
fn counted(permits: usize) -> u32 {
    u32::try_from(permits).unwrap_or(u32::MAX)
}

impl State for FairState {
    fn object(&self) -> Object {
        Object::Fair(fair::Fair::new(counted(self.permits)))
    }
}

impl FairState {
    fn take(&mut self, permits: usize) -> Taken {
        if self.is_closed {
            Taken::Closed
        } else if permits == 0 || self.queue.is_empty() && self.permits >= permits {
            self.permits -= permits;
            Taken::Yes
        } else {
            Taken::No
        }
    }

    /// Grants the requests that are next; returns their wakers.
    #[must_use]
    fn grant(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while let Some(next) = self.queue.front() {
            if self.permits < next.permits {
                break;
            }
            self.permits -= next.permits;
            let next = self.queue.pop_front().expect("there is a first one");
            self.granted.push((next.number, next.permits));
            wakers.extend(next.waker);
        }
        wakers
    }
}

impl Fair {
    #[track_caller]
    pub(crate) fn new(kind: &'static str, permits: usize) -> Self {
        Fair(Shared::new(kind, FairState::new(permits)))
    }

    #[track_caller]
    pub(crate) const fn new_const(kind: &'static str, permits: usize) -> Self {
        Fair(Shared::new_const(kind, FairState::new(permits)))
    }

    /// Takes permits if they are available and no request waits.
    pub(crate) fn try_take(&self, place: Place, access: Access, permits: usize) -> Taken {
        let call = Call::Try {
            access,
            permits: counted(permits),
        };
        let (mut state, reply) = self.0.call(place, call);
        let taken = state.take(permits);
        check(reply, taken);
        taken
    }

    /// Returns permits.
    pub(crate) fn release(&self, place: Place, access: Access, permits: usize) {
        let call = Call::Release {
            access,
            permits: counted(permits),
        };
        self.give(place, call, permits);
    }

    /// Returns all but one permit of a writer.
    pub(crate) fn downgrade(&self, place: Place, permits: usize) {
        let call = Call::Downgrade {
            permits: counted(permits),
        };
        self.give(place, call, permits);
    }

    /// Adds permits that no request had.
    pub(crate) fn add(&self, place: Place, permits: usize) {
        let call = Call::Add {
            permits: counted(permits),
        };
        self.give(place, call, permits);
    }

    fn give(&self, place: Place, call: Call, permits: usize) {
        let (mut state, _) = self.0.call(place, call);
        state.permits += permits;
        let wakers = state.grant();
        drop(state);
        wake_all(wakers);
    }

    /// Removes permits that the caller has.
    pub(crate) fn forget_held(&self, place: Place, permits: usize) {
        let (permits, held) = (counted(permits), true);
        drop(self.0.call(place, Call::Forget { permits, held }));
    }

    /// Removes available permits; returns their number.
    pub(crate) fn forget(&self, place: Place, permits: usize) -> usize {
        let call = Call::Forget {
            permits: counted(permits),
            held: false,
        };
        let (mut state, _) = self.0.call(place, call);
        // A request that waits has all that are left.
        if !state.queue.is_empty() {
            return 0;
        }
        let forgotten = permits.min(state.permits);
        state.permits -= forgotten;
        forgotten
    }

    /// Closes the semaphore: requests that wait, and later ones, fail.
    pub(crate) fn close(&self, place: Place) {
        let (mut state, _) = self.0.call(place, Call::Close);
        state.is_closed = true;
        let queue = std::mem::take(&mut state.queue);
        drop(state);
        wake_all(queue.into_iter().filter_map(|one| one.waker));
    }

    pub(crate) fn is_closed(&self, place: Place) -> bool {
        self.0.call(place, Call::Look).0.is_closed
    }

    /// Returns the number of permits that can be taken.
    pub(crate) fn available(&self, place: Place) -> usize {
        let (state, _) = self.0.call(place, Call::Look);
        match state.queue.is_empty() {
            true => state.permits,
            false => 0,
        }
    }

    /// Returns a future that takes permits.
    #[track_caller]
    pub(crate) fn acquire(&self, access: Access, permits: usize) -> Acquire<'_> {
        self.acquire_at(Location::caller(), access, permits)
    }

    /// Returns a future that takes permits.
    pub(crate) fn acquire_at(&self, place: Place, access: Access, permits: usize) -> Acquire<'_> {
        Acquire {
            fair: self,
            access,
            permits,
            place,
            progress: Progress::New,
            wait: Wait::new(),
        }
    }
}

impl FairState {
    const fn new(permits: usize) -> Self {
        FairState {
            permits,
            is_closed: false,
            requests: 0,
            queue: VecDeque::new(),
            granted: Vec::new(),
        }
    }
}

fn check(reply: Option<Reply>, taken: Taken) {
    if let Some(reply) = reply {
        let engine = Taken::of(reply);
        assert_eq!(
            engine, taken,
            "raddle-tokio: a semaphore differs from the engine's; please report this"
        );
    }
}

/// The future of a request; the result is false if the semaphore is closed.
#[must_use = "futures do nothing unless they are awaited or polled"]
pub(crate) struct Acquire<'a> {
    fair: &'a Fair,
    access: Access,
    permits: usize,
    place: Place,
    progress: Progress,
    wait: Wait,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    New,
    Queued(u32),
    Done,
}

impl Future for Acquire<'_> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        let this = self.get_mut();
        let taken = match this.progress {
            Progress::New => this.request(context.waker()),
            Progress::Queued(number) => this.claim(number, context.waker()),
            Progress::Done => panic!("a future is polled after it was ready"),
        };
        if let (Taken::No, Progress::Queued(number)) = (taken, this.progress) {
            let access = this.access;
            let claim = Call::Claim { access, number };
            this.fair.0.declare(&mut this.wait, this.place, claim);
            return Poll::Pending;
        }
        this.wait.end();
        // A request that finds the semaphore closed may have permits, which its drop returns.
        if taken == Taken::Yes {
            this.progress = Progress::Done;
        }
        Poll::Ready(taken == Taken::Yes)
    }
}

impl Acquire<'_> {
    fn request(&mut self, waker: &Waker) -> Taken {
        let call = Call::Request {
            access: self.access,
            permits: counted(self.permits),
        };
        let (mut state, reply) = self.fair.0.call(self.place, call);
        let taken = state.take(self.permits);
        check(reply, taken);
        if taken == Taken::No {
            let number = state.requests;
            state.requests += 1;
            state.queue.push_back(Queued {
                number,
                permits: self.permits,
                waker: Some(waker.clone()),
            });
            self.progress = Progress::Queued(number);
        }
        taken
    }

    fn claim(&self, number: u32, waker: &Waker) -> Taken {
        let access = self.access;
        let (mut state, reply) = self.fair.0.call(self.place, Call::Claim { access, number });
        let granted = state.granted.iter().position(|(one, _)| *one == number);
        let taken = match granted {
            _ if state.is_closed => Taken::Closed,
            Some(index) => {
                state.granted.remove(index);
                Taken::Yes
            }
            None => {
                let queued = state.queue.iter_mut().find(|one| one.number == number);
                set_waker(&mut queued.expect("it waits").waker, waker);
                Taken::No
            }
        };
        check(reply, taken);
        taken
    }
}

/// A request that waits leaves the queue, and one that was granted passes its permits on.
impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Progress::Queued(number) = self.progress else {
            return;
        };
        let (mut state, _) = self.fair.0.call(self.place, Call::Cancel { number });
        state.queue.retain(|one| one.number != number);
        if let Some(index) = state.granted.iter().position(|(one, _)| *one == number) {
            let (_, permits) = state.granted.remove(index);
            state.permits += permits;
        }
        let wakers = match state.is_closed {
            true => Vec::new(),
            false => state.grant(),
        };
        drop(state);
        wake_all(wakers);
    }
}
