//! A semaphore of which several permits can be acquired at once.
//!
//! Every call is one operation of the search, an update of `calls`. After it, no other task runs until the
//! call has changed the state, so that needs only a lock of std's.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::mem::take;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use raddle::sync::atomic::{AtomicUsize, Ordering};

use crate::current::{TaskId, current_task, has_ended};
use crate::sync::{ResourceSignature, ResourceType};

/// The order in which waiting tasks get permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// The order in which they asked.
    StrictlyFair,
    /// Any order.
    Unfair,
}

/// The reason why [`BatchSemaphore::try_acquire`] acquired nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// Too few permits are available.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "semaphore closed",
            TryAcquireError::NoPermits => "no permits available",
        })
    }
}

impl Error for TryAcquireError {}

/// The semaphore is closed.
#[derive(Debug)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl Error for AcquireError {}

/// A semaphore of which several permits can be acquired at once.
pub struct BatchSemaphore {
    calls: AtomicUsize,
    state: Mutex<State>,
    fairness: Fairness,
    signature: ResourceSignature,
}

struct State {
    /// Permits that no task holds.
    permits: usize,
    is_closed: bool,
    /// Requests that wait, in the order in which they get permits of a fair semaphore.
    queue: VecDeque<Arc<Waiter>>,
    /// The request for which all permits are kept.
    reservation: Option<Arc<Waiter>>,
}

/// A request that waits.
struct Waiter {
    /// The task that has polled the request last.
    task: Mutex<Option<TaskId>>,
    wanted: usize,
    /// True when later requests may be granted before this one.
    is_bypassable: bool,
    /// Number of available permits at which the request reserves the semaphore.
    reserves_at: Option<usize>,
    /// True when the request has its permits.
    is_granted: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl State {
    fn available(&self) -> usize {
        match self.reservation {
            Some(_) => 0,
            None => self.permits,
        }
    }

    fn is_waiting(&self, waiter: &Arc<Waiter>) -> bool {
        let mut waiters = self.queue.iter().chain(&self.reservation);
        waiters.any(|other| Arc::ptr_eq(other, waiter))
    }

    /// True when a new request has to wait behind others of a fair semaphore.
    fn has_to_queue(&self) -> bool {
        self.queue.iter().any(|waiter| !waiter.is_bypassable)
    }

    fn take_permits(
        &mut self,
        wanted: usize,
        fairness: Fairness,
        overtakes: bool,
    ) -> Result<(), TryAcquireError> {
        let is_behind = fairness == Fairness::StrictlyFair && !overtakes && self.has_to_queue();
        if self.is_closed {
            Err(TryAcquireError::Closed)
        } else if is_behind || self.available() < wanted {
            Err(TryAcquireError::NoPermits)
        } else {
            self.permits -= wanted;
            Ok(())
        }
    }

    /// Grants permits to the requests of a fair semaphore that are next; of another one, returns those that
    /// can go on. The result is the wakers to call.
    fn distribute(&mut self, fairness: Fairness) -> Vec<Waker> {
        let mut wakers = Vec::new();
        self.queue.retain(|waiter| !waiter.is_stale());
        self.reservation.take_if(|waiter| waiter.is_stale());
        match fairness {
            Fairness::StrictlyFair => {
                let mut is_blocked = false;
                let permits = &mut self.permits;
                self.queue.retain(|waiter| {
                    let is_next = !is_blocked && *permits >= waiter.wanted;
                    if is_next {
                        *permits -= waiter.wanted;
                        waiter.is_granted.store(true, Relaxed);
                        wakers.extend(waiter.take_waker());
                    }
                    is_blocked |= !is_next && !waiter.is_bypassable;
                    !is_next
                });
            }
            Fairness::Unfair => match &self.reservation {
                Some(holder) if self.permits >= holder.wanted => wakers.extend(holder.take_waker()),
                Some(_) => {}
                None => {
                    let can_go_on = |waiter: &&Arc<Waiter>| {
                        waiter.reserves_at.unwrap_or(waiter.wanted) <= self.permits
                    };
                    let waiters = self.queue.iter().filter(can_go_on);
                    wakers.extend(waiters.filter_map(|waiter| waiter.take_waker()));
                }
            },
        }
        wakers
    }
}

impl Waiter {
    /// True when the task has ended that polled the request last, although the request was not dropped. Another task
    /// may poll it, which makes it again.
    fn is_stale(&self) -> bool {
        let task = *self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.is_some_and(has_ended)
    }

    fn take_waker(&self) -> Option<Waker> {
        self.waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

fn wake(wakers: Vec<Waker>) {
    for waker in wakers {
        waker.wake();
    }
}

impl BatchSemaphore {
    /// Creates a semaphore.
    #[track_caller]
    pub fn new(num_permits: usize, fairness: Fairness) -> Self {
        let signature = ResourceSignature::numbered(ResourceType::BatchSemaphore);
        Self::with_signature(num_permits, fairness, signature)
    }

    /// Creates a semaphore.
    #[track_caller]
    pub const fn const_new(num_permits: usize, fairness: Fairness) -> Self {
        let signature = ResourceSignature::new_const(ResourceType::BatchSemaphore);
        Self::with_signature(num_permits, fairness, signature)
    }

    #[track_caller]
    const fn with_signature(
        permits: usize,
        fairness: Fairness,
        signature: ResourceSignature,
    ) -> Self {
        BatchSemaphore {
            calls: AtomicUsize::new(0),
            state: Mutex::new(State {
                permits,
                is_closed: false,
                queue: VecDeque::new(),
                reservation: None,
            }),
            fairness,
            signature,
        }
    }

    /// Performs the operation of a call.
    #[track_caller]
    fn call(&self) -> MutexGuard<'_, State> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.state()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of permits that can be acquired.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        self.call().available()
    }

    /// True when the semaphore is closed.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.call().is_closed
    }

    /// Closes the semaphore: requests that wait, and later ones, get an error.
    #[track_caller]
    pub fn close(&self) {
        let mut state = self.call();
        state.is_closed = true;
        let waiters = take(&mut state.queue)
            .into_iter()
            .chain(state.reservation.take());
        let wakers: Vec<_> = waiters.filter_map(|waiter| waiter.take_waker()).collect();
        drop(state);
        wake(wakers);
    }

    /// Closes the semaphore, as [`close`](Self::close).
    #[track_caller]
    pub fn close_no_scheduling_point(&self) {
        self.close();
    }

    /// Acquires permits if that is possible at once.
    #[track_caller]
    pub fn try_acquire(&self, num_permits: usize) -> Result<(), TryAcquireError> {
        self.call().take_permits(num_permits, self.fairness, false)
    }

    /// Acquires permits.
    pub fn acquire(&self, num_permits: usize) -> Acquire<'_> {
        Acquire::new(self, num_permits)
    }

    /// Acquires permits; later requests that need fewer may come first.
    pub fn acquire_bypassable(&self, num_permits: usize) -> Acquire<'_> {
        let mut acquire = Acquire::new(self, num_permits);
        acquire.is_bypassable = true;
        acquire
    }

    /// Acquires permits and waits for them on the calling task.
    #[track_caller]
    pub fn acquire_blocking(&self, num_permits: usize) -> Result<(), AcquireError> {
        super::block_on(self.acquire(num_permits))
    }

    /// Acquires permits of an unfair semaphore; when `min_permits` are available, all are kept for this
    /// request.
    ///
    /// # Panics
    ///
    /// If the semaphore is fair, or `num_permits` is 0 or less than `min_permits`.
    pub fn acquire_reserving(&self, min_permits: usize, num_permits: usize) -> Acquire<'_> {
        assert_eq!(
            self.fairness,
            Fairness::Unfair,
            "only an unfair semaphore supports reservations"
        );
        assert!(num_permits > 0 && min_permits <= num_permits);
        let mut acquire = Acquire::new(self, num_permits);
        acquire.reserves_at = Some(min_permits);
        acquire
    }

    /// Acquires the permits that are missing to `permits_to_be_held`, before all requests that wait.
    ///
    /// # Panics
    ///
    /// If no permits are held, or none are missing.
    pub fn upgrade(&self, permits_currently_held: usize, permits_to_be_held: usize) -> Acquire<'_> {
        let missing = missing(permits_currently_held, permits_to_be_held);
        match self.fairness {
            Fairness::StrictlyFair => {
                let mut acquire = Acquire::new(self, missing);
                acquire.overtakes = true;
                acquire
            }
            Fairness::Unfair => self.acquire_reserving(0, missing),
        }
    }

    /// Acquires the permits that are missing to `permits_to_be_held` if that is possible at once.
    ///
    /// # Panics
    ///
    /// As [`upgrade`](Self::upgrade).
    #[track_caller]
    pub fn try_upgrade(
        &self,
        permits_currently_held: usize,
        permits_to_be_held: usize,
    ) -> Result<(), TryAcquireError> {
        let missing = missing(permits_currently_held, permits_to_be_held);
        self.call().take_permits(missing, self.fairness, true)
    }

    /// Returns permits.
    #[track_caller]
    pub fn release(&self, num_permits: usize) {
        let mut state = self.call();
        state.permits += num_permits;
        let wakers = state.distribute(self.fairness);
        drop(state);
        wake(wakers);
    }

    /// Returns an identity that is the same in all executions.
    pub fn signature(&self) -> &ResourceSignature {
        &self.signature
    }
}

fn missing(held: usize, wanted: usize) -> usize {
    assert!(held > 0 && wanted > held);
    wanted - held
}

impl Default for BatchSemaphore {
    #[track_caller]
    fn default() -> Self {
        Self::new(0, Fairness::StrictlyFair)
    }
}

impl fmt::Debug for BatchSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("BatchSemaphore")
            .field("permits", &state.permits)
            .field("closed", &state.is_closed)
            .field("fairness", &self.fairness)
            .finish_non_exhaustive()
    }
}

/// The future of [`BatchSemaphore::acquire`].
#[must_use = "futures do nothing unless they are awaited or polled"]
pub struct Acquire<'a> {
    semaphore: &'a BatchSemaphore,
    wanted: usize,
    is_bypassable: bool,
    /// True when it comes before all requests that wait.
    overtakes: bool,
    reserves_at: Option<usize>,
    /// Set while it waits.
    waiter: Option<Arc<Waiter>>,
    is_done: bool,
}

impl<'a> Acquire<'a> {
    fn new(semaphore: &'a BatchSemaphore, wanted: usize) -> Self {
        Acquire {
            semaphore,
            wanted,
            is_bypassable: false,
            overtakes: false,
            reserves_at: None,
            waiter: None,
            is_done: false,
        }
    }

    /// Takes the permits; `None` if they are not available.
    fn try_take(&self, state: &mut State) -> Option<Result<(), AcquireError>> {
        let Acquire {
            semaphore, wanted, ..
        } = *self;
        if self
            .waiter
            .as_ref()
            .is_some_and(|waiter| waiter.is_granted.load(Relaxed))
        {
            return Some(Ok(()));
        }
        if state.is_closed {
            return Some(Err(AcquireError(())));
        }
        if let Some(waiter) = &self.waiter {
            if semaphore.fairness == Fairness::StrictlyFair && state.is_waiting(waiter) {
                // Granted by a release.
                return None;
            }
            let is_holder = |holder: &Arc<Waiter>| Arc::ptr_eq(holder, waiter);
            if state.reservation.as_ref().is_some_and(is_holder) {
                (state.permits >= wanted).then(|| state.reservation = None)?;
            }
        }
        let taken = state.take_permits(wanted, semaphore.fairness, self.overtakes);
        taken.is_ok().then_some(Ok(()))
    }

    /// Removes the request from those that wait.
    fn leave(&mut self, state: &mut State) {
        if let Some(waiter) = self.waiter.take() {
            state.queue.retain(|other| !Arc::ptr_eq(other, &waiter));
            let is_holder = |holder: &mut Arc<Waiter>| Arc::ptr_eq(holder, &waiter);
            state.reservation.take_if(is_holder);
        }
    }
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        assert!(!this.is_done, "an `Acquire` is polled after it was ready");
        let semaphore = this.semaphore;
        semaphore.calls.fetch_add(1, Ordering::SeqCst);
        let mut state = semaphore.state();
        if let Some(result) = this.try_take(&mut state) {
            this.is_done = true;
            this.leave(&mut state);
            // A reservation that has ended lets others go on.
            let wakers = match this.reserves_at {
                Some(_) => state.distribute(semaphore.fairness),
                None => Vec::new(),
            };
            drop(state);
            wake(wakers);
            return Poll::Ready(result);
        }
        // A request whose task had ended was forgotten, and is made again.
        this.waiter.take_if(|waiter| !state.is_waiting(waiter));
        let is_new = this.waiter.is_none();
        let waiter = this.waiter.get_or_insert_with(|| {
            Arc::new(Waiter {
                task: Mutex::new(None),
                wanted: this.wanted,
                is_bypassable: this.is_bypassable,
                reserves_at: this.reserves_at,
                is_granted: AtomicBool::new(false),
                waker: Mutex::new(None),
            })
        });
        *waiter.task.lock().unwrap_or_else(PoisonError::into_inner) = current_task();
        let waker = context.waker().clone();
        *waiter.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
        if is_new {
            match this.overtakes {
                true => state.queue.push_front(Arc::clone(waiter)),
                false => state.queue.push_back(Arc::clone(waiter)),
            }
        }
        if state.reservation.is_none() && this.reserves_at.is_some_and(|at| at <= state.permits) {
            state.queue.retain(|other| !Arc::ptr_eq(other, waiter));
            state.reservation = Some(Arc::clone(waiter));
        }
        Poll::Pending
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let semaphore = self.semaphore;
        let Some(waiter) = &self.waiter else { return };
        // Another task may release permits, and grant them to this request, before the operation is performed.
        let mut state = semaphore.call();
        let is_granted = waiter.is_granted.load(Relaxed);
        if is_granted && !self.is_done {
            state.permits += self.wanted;
        }
        self.leave(&mut state);
        let wakers = state.distribute(semaphore.fairness);
        drop(state);
        wake(wakers);
    }
}

impl fmt::Debug for Acquire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire")
            .field("permits", &self.wanted)
            .finish_non_exhaustive()
    }
}
