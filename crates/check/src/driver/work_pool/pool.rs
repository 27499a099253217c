//! A pool of work that workers have split off and no worker has taken yet.
//!
//! An idle worker waits here; the others read a flag between two executions and split off work if a
//! worker is idle. Nothing else is shared while every worker has work, so no worker blocks another.
//!
//! A checkpoint is taken at the same points. Each worker adds its counts and the rest of its own
//! work. Until the last worker has done so, no item moves between workers, so each item is in the
//! checkpoint exactly once. A worker continues as soon as it has added its part, and the last one
//! writes the file. If a newer checkpoint is complete before that, the older one is not written.
//!
//! The pool does not inspect items `I` and parts of a checkpoint `P`.

use crate::own_sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use crate::own_sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Flag: a worker is idle.
const IDLE: u8 = 1;
/// Flag: a checkpoint is being taken.
const CHECKPOINT: u8 = 2;

/// The state that workers share.
pub(crate) struct WorkPool<I, P> {
    /// Requests to a worker between executions, as flags.
    attention: AtomicU8,
    over: AtomicBool,
    /// Executions that may still be started; all bits set if there is no limit.
    left: AtomicU64,
    counters: Box<[Counter]>,
    state: Mutex<PoolState<I, P>>,
    changed: Condvar,
    /// Number of the newest checkpoint written; locked while one is written. Never locked while
    /// `state` is held.
    written: Mutex<u64>,
}

/// Executions of one worker; no other worker writes it.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

struct PoolState<I, P> {
    /// Split off and not yet taken.
    items: Vec<I>,
    workers: Vec<WorkerState<P>>,
    end: Option<EndReason>,
    /// The worker whose failure was the first to stop the search.
    first: Option<usize>,
    /// The items in the pool when the checkpoint began; `None` if no checkpoint is being taken.
    checkpoint: Option<P>,
    /// Number of complete checkpoints.
    complete: u64,
}

/// The state of one worker.
#[derive(Default)]
struct WorkerState<P> {
    is_idle: bool,
    /// True when it has work but no execution left in the budget.
    is_out: bool,
    /// True when its part of the checkpoint is missing.
    is_missing: bool,
    part: P,
}

/// The work of one worker.
pub(crate) trait Load<I, P> {
    /// Returns its counts and its remaining work.
    fn part(&self) -> P;

    /// Splits off some of it, if there is enough.
    fn give(&mut self) -> Option<I>;
}

/// The reason why all workers stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndReason {
    /// No work is left.
    Exhausted,
    /// Time or executions are used up.
    Budget,
    /// A signal requested the end of the process.
    Interrupted,
    /// A failure was found and the check does not look for more.
    Failure,
}

impl<I, P> PoolState<I, P> {
    fn idle(&self) -> usize {
        self.workers.iter().filter(|one| one.is_idle).count()
    }

    /// True while a checkpoint is being taken.
    fn is_checkpoint(&self) -> bool {
        self.checkpoint.is_some()
    }
}

impl<I, P: Clone + Default> WorkPool<I, P> {
    /// Creates a pool of `size` workers that may run this many executions together.
    pub(crate) fn new(size: usize, executions: Option<u64>) -> Self {
        WorkPool {
            attention: AtomicU8::new(0),
            over: AtomicBool::new(false),
            left: AtomicU64::new(executions.unwrap_or(u64::MAX)),
            counters: (0..size).map(|_| Counter::default()).collect(),
            state: Mutex::new(PoolState {
                items: Vec::new(),
                workers: (0..size).map(|_| WorkerState::default()).collect(),
                end: None,
                first: None,
                checkpoint: None,
                complete: 0,
            }),
            changed: Condvar::new(),
            written: Mutex::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState<I, P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, PoolState<I, P>>) -> MutexGuard<'a, PoolState<I, P>> {
        let woken = self.changed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops all workers; returns true if this was the first reason to stop.
    pub(crate) fn end(&self, end: EndReason, worker: usize) -> bool {
        let mut state = self.lock();
        let is_first = state.end.is_none();
        if is_first {
            state.end = Some(end);
            state.first = (end == EndReason::Failure).then_some(worker);
        }
        self.over.store(true, Relaxed);
        self.changed.notify_all();
        is_first
    }

    /// Returns the reason why all workers stop, if they do.
    #[inline]
    pub(crate) fn ended(&self) -> Option<EndReason> {
        match self.over.load(Relaxed) {
            true => self.lock().end,
            false => None,
        }
    }

    /// Returns the worker whose failure stopped the search.
    pub(crate) fn first_to_fail(&self) -> Option<usize> {
        self.lock().first
    }

    /// Takes one execution from the budget; false if the search is over. An execution that does not
    /// count is given back later, so a worker that gets none waits as long as another worker runs.
    #[inline]
    pub(crate) fn may_run(&self, worker: usize) -> bool {
        !self.is_limited() || self.take_one() || self.wait_for_one(worker)
    }

    /// True when the number of executions has a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.left.load(Relaxed) != u64::MAX
    }

    fn take_one(&self) -> bool {
        let take = |left: u64| left.checked_sub(1);
        self.left.fetch_update(Relaxed, Relaxed, take).is_ok()
    }

    #[cold]
    fn wait_for_one(&self, worker: usize) -> bool {
        let mut state = self.lock();
        state.workers[worker].is_out = true;
        loop {
            if state.end.is_some() {
                return false;
            }
            if self.take_one() {
                state.workers[worker].is_out = false;
                return true;
            }
            if self.is_used_up(&state) {
                drop(state);
                self.end(EndReason::Budget, worker);
                return false;
            }
            state = self.wait(state);
        }
    }

    /// True when a worker has no execution left and no worker runs.
    fn is_used_up(&self, state: &PoolState<I, P>) -> bool {
        let mut workers = state.workers.iter();
        let is_out = state.workers.iter().any(|one| one.is_out);
        // An execution given back is for a waiting worker that has not resumed yet.
        let is_used = self.left.load(Relaxed) == 0;
        is_out && is_used && workers.all(|one| one.is_idle || one.is_out)
    }

    /// Returns an execution that did not count to the budget.
    pub(crate) fn give_back(&self) {
        if self.left.load(Relaxed) != u64::MAX {
            let state = self.lock();
            self.left.fetch_add(1, Relaxed);
            if state.workers.iter().any(|one| one.is_out) {
                self.changed.notify_all();
            }
        }
    }

    /// Publishes the number of executions that a worker has run.
    #[inline]
    pub(crate) fn publish(&self, worker: usize, executions: u64) {
        self.counters[worker].0.store(executions, Relaxed);
    }

    /// Returns the number of executions of all workers.
    pub(crate) fn executions(&self) -> u64 {
        let counts = self.counters.iter().map(|counter| counter.0.load(Relaxed));
        counts.sum()
    }

    /// True when a worker should call [`attend`](Self::attend).
    #[inline]
    pub(crate) fn wants_attention(&self) -> bool {
        self.attention.load(Relaxed) != 0
    }

    /// Serves the requests of other workers between two executions. If this adds the last part of a
    /// checkpoint, `save` writes it.
    #[cold]
    pub(crate) fn attend(
        &self,
        worker: usize,
        load: &mut impl Load<I, P>,
        save: impl FnOnce(Vec<P>),
    ) {
        let mut state = self.lock();
        // While other parts are missing, this part is replaced by a newer one.
        if state.is_checkpoint() {
            drop(state);
            let part = load.part();
            state = self.add_part(self.lock(), worker, part, save);
        }
        if state.is_checkpoint() {
            return;
        }
        while state.items.len() < state.idle() {
            let Some(item) = load.give() else { break };
            state.items.push(item);
            self.changed.notify_one();
        }
        self.set_attention(&state);
    }

    /// Sets the flags that workers read.
    fn set_attention(&self, state: &PoolState<I, P>) {
        let mut attention = 0;
        if state.idle() > state.items.len() {
            attention |= IDLE;
        }
        if state.is_checkpoint() {
            attention |= CHECKPOINT;
        }
        self.attention.store(attention, Relaxed);
    }

    /// Begins a checkpoint unless one is being taken; `given` makes a part of the items in the
    /// pool.
    pub(crate) fn begin_checkpoint(&self, given: impl FnOnce(&[I]) -> P) {
        let mut state = self.lock();
        if state.checkpoint.is_none() && state.end.is_none() {
            state.checkpoint = Some(given(&state.items));
            for one in &mut state.workers {
                one.is_missing = !one.is_idle;
            }
            self.set_attention(&state);
        }
    }

    /// Adds a worker's part to the checkpoint and writes it if that was the last.
    fn add_part<'a>(
        &'a self,
        mut state: MutexGuard<'a, PoolState<I, P>>,
        worker: usize,
        part: P,
        save: impl FnOnce(Vec<P>),
    ) -> MutexGuard<'a, PoolState<I, P>> {
        let slot = &mut state.workers[worker];
        slot.part = part;
        slot.is_missing = false;
        if state.workers.iter().any(|one| one.is_missing) {
            return state;
        }
        let Some(given) = state.checkpoint.take() else {
            return state;
        };
        let parts = state.workers.iter().map(|one| one.part.clone());
        let parts = parts.chain([given]).collect();
        state.complete += 1;
        let number = state.complete;
        self.set_attention(&state);
        self.changed.notify_all();
        drop(state);
        self.write(number, || save(parts));
        self.lock()
    }

    /// Writes a checkpoint unless a newer one has been written.
    fn write(&self, number: u64, save: impl FnOnce()) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if *written < number {
            save();
            *written = number;
        }
    }

    /// Waits for work; `None` if the search has ended. `part` is the worker's counts; if it
    /// completes a checkpoint, `save` writes it.
    pub(crate) fn next_item(&self, worker: usize, part: P, save: impl FnOnce(Vec<P>)) -> Option<I> {
        let mut state = self.lock();
        state.workers[worker].is_idle = true;
        state = self.add_part(state, worker, part, save);
        loop {
            if state.end.is_some() {
                return None;
            }
            if self.is_used_up(&state) {
                drop(state);
                self.end(EndReason::Budget, worker);
                return None;
            }
            if !state.is_checkpoint() {
                if let Some(item) = state.items.pop() {
                    state.workers[worker].is_idle = false;
                    self.set_attention(&state);
                    return Some(item);
                }
                if state.workers.iter().all(|one| one.is_idle) {
                    drop(state);
                    self.end(EndReason::Exhausted, worker);
                    return None;
                }
            }
            self.set_attention(&state);
            state = self.wait(state);
        }
    }

    /// Takes the items left in the pool when all workers have stopped.
    pub(crate) fn untaken(&self) -> Vec<I> {
        std::mem::take(&mut self.lock().items)
    }
}
