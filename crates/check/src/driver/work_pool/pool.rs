//! The table that workers sit around: parts of the search lie there that somebody has given away, and
//! nobody has taken yet.
//!
//! A worker that has nothing left waits here; the others look at a flag between two executions, and if
//! somebody waits they give something away. Nothing else is shared while there is work, so nobody waits for
//! anybody.
//!
//! A checkpoint is taken in the same pauses. Each worker puts down what it has counted and what is left
//! of its part; until the last one has, nothing changes hands, so that no part is missing and none is
//! there twice. Whoever is done with it goes on at once, and the last one writes it. That takes a while, and
//! the next one may be complete before: then the older one is not written any more.
//!
//! What is given away, and what is put down, is not looked at here: `I` and `P`.

use crate::own_sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use crate::own_sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Somebody waits for work.
const HUNGRY: u8 = 1;
/// A checkpoint is being taken.
const CHECKPOINT: u8 = 2;

/// What workers share.
pub(crate) struct Table<I, P> {
    /// What a worker should see to between executions.
    attention: AtomicU8,
    over: AtomicBool,
    /// How many executions may still be started; all bits set if there is no limit.
    left: AtomicU64,
    counters: Box<[Counter]>,
    state: Mutex<State<I, P>>,
    changed: Condvar,
    /// The newest checkpoint that was written, by its number; locked while one is. Never taken by who has
    /// `state`.
    written: Mutex<u64>,
}

/// Executions of one worker, where no other worker writes.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

struct State<I, P> {
    /// Given away, and not yet taken.
    items: Vec<I>,
    workers: Vec<Place<P>>,
    end: Option<End>,
    /// Whose failure was the first to stop the search.
    first: Option<usize>,
    /// Of a checkpoint that is being taken: what had been given away when it began.
    checkpoint: Option<P>,
    /// How many checkpoints are complete.
    complete: u64,
}

/// What is known of one worker.
#[derive(Default)]
struct Place<P> {
    is_hungry: bool,
    /// Whether it has something to run, and may not.
    is_out: bool,
    /// Whether its part of the checkpoint is missing.
    is_missing: bool,
    part: P,
}

/// What one worker has to run.
pub(crate) trait Load<I, P> {
    /// What it has counted, and what is left.
    fn part(&self) -> P;

    /// Gives some of it away, if there is enough.
    fn give(&mut self) -> Option<I>;
}

/// Why nobody goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// Nothing is left.
    Exhausted,
    /// Time or executions are used up.
    Budget,
    /// Somebody wants the process to end.
    Interrupted,
    /// There is a failure, and nobody wants more.
    Failure,
}

impl<I, P> State<I, P> {
    fn hungry(&self) -> usize {
        self.workers.iter().filter(|one| one.is_hungry).count()
    }

    /// Whether parts of a checkpoint are missing.
    fn is_checkpoint(&self) -> bool {
        self.checkpoint.is_some()
    }
}

impl<I, P: Clone + Default> Table<I, P> {
    /// So many workers that may run so many executions.
    pub(crate) fn new(size: usize, executions: Option<u64>) -> Self {
        Table {
            attention: AtomicU8::new(0),
            over: AtomicBool::new(false),
            left: AtomicU64::new(executions.unwrap_or(u64::MAX)),
            counters: (0..size).map(|_| Counter::default()).collect(),
            state: Mutex::new(State {
                items: Vec::new(),
                workers: (0..size).map(|_| Place::default()).collect(),
                end: None,
                first: None,
                checkpoint: None,
                complete: 0,
            }),
            changed: Condvar::new(),
            written: Mutex::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<I, P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<I, P>>) -> MutexGuard<'a, State<I, P>> {
        let woken = self.changed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody goes on; whether there was no reason for that before.
    pub(crate) fn end(&self, end: End, worker: usize) -> bool {
        let mut state = self.lock();
        let is_first = state.end.is_none();
        if is_first {
            state.end = Some(end);
            state.first = (end == End::Failure).then_some(worker);
        }
        self.over.store(true, Relaxed);
        self.changed.notify_all();
        is_first
    }

    /// Why nobody goes on, if nobody does.
    #[inline]
    pub(crate) fn ended(&self) -> Option<End> {
        match self.over.load(Relaxed) {
            true => self.lock().end,
            false => None,
        }
    }

    /// Whose failure stopped the search.
    pub(crate) fn first_to_fail(&self) -> Option<usize> {
        self.lock().first
    }

    /// Whether one more execution may be run. If it does not count in the end, it is to be given back. The
    /// search is over if all are used up and nobody is left who could give one back: who has none waits
    /// until then.
    #[inline]
    pub(crate) fn may_run(&self, worker: usize) -> bool {
        self.left.load(Relaxed) == u64::MAX || self.take_one() || self.wait_for_one(worker)
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
                self.end(End::Budget, worker);
                return false;
            }
            state = self.wait(state);
        }
    }

    /// Whether somebody may not run, and nobody runs.
    fn is_used_up(&self, state: &State<I, P>) -> bool {
        let mut workers = state.workers.iter();
        let is_out = state.workers.iter().any(|one| one.is_out);
        // What was given back is for somebody who has not woken up yet.
        let is_used = self.left.load(Relaxed) == 0;
        is_out && is_used && workers.all(|one| one.is_hungry || one.is_out)
    }

    /// An execution did not count.
    pub(crate) fn give_back(&self) {
        if self.left.load(Relaxed) != u64::MAX {
            let state = self.lock();
            self.left.fetch_add(1, Relaxed);
            if state.workers.iter().any(|one| one.is_out) {
                self.changed.notify_all();
            }
        }
    }

    /// Tells the others how many executions a worker has run.
    #[inline]
    pub(crate) fn publish(&self, worker: usize, executions: u64) {
        self.counters[worker].0.store(executions, Relaxed);
    }

    /// How many executions all have run.
    pub(crate) fn executions(&self) -> u64 {
        let counts = self.counters.iter().map(|counter| counter.0.load(Relaxed));
        counts.sum()
    }

    /// Whether a worker has something to see to: [`attend`](Self::attend).
    #[inline]
    pub(crate) fn wants_attention(&self) -> bool {
        self.attention.load(Relaxed) != 0
    }

    /// Sees to what others want between two executions. A checkpoint whose last part this was is written by
    /// `save`.
    #[cold]
    pub(crate) fn attend(
        &self,
        worker: usize,
        load: &mut impl Load<I, P>,
        save: impl FnOnce(Vec<P>),
    ) {
        let mut state = self.lock();
        // As long as others are missing, what this one has counted is put down again: the newer the better.
        if state.is_checkpoint() {
            drop(state);
            let part = load.part();
            state = self.put_down(self.lock(), worker, part, save);
        }
        if state.is_checkpoint() {
            return;
        }
        while state.items.len() < state.hungry() {
            let Some(item) = load.give() else { break };
            state.items.push(item);
            self.changed.notify_one();
        }
        self.look_up(&state);
    }

    /// Sets the flag that workers look at.
    fn look_up(&self, state: &State<I, P>) {
        let mut attention = 0;
        if state.hungry() > state.items.len() {
            attention |= HUNGRY;
        }
        if state.is_checkpoint() {
            attention |= CHECKPOINT;
        }
        self.attention.store(attention, Relaxed);
    }

    /// Begins a checkpoint, unless there is one; `given` is the part of what nobody has taken yet.
    pub(crate) fn begin_checkpoint(&self, given: impl FnOnce(&[I]) -> P) {
        let mut state = self.lock();
        if state.checkpoint.is_none() && state.end.is_none() {
            state.checkpoint = Some(given(&state.items));
            for one in &mut state.workers {
                one.is_missing = !one.is_hungry;
            }
            self.look_up(&state);
        }
    }

    /// A worker's part of the checkpoint, which is written if that was the last.
    fn put_down<'a>(
        &'a self,
        mut state: MutexGuard<'a, State<I, P>>,
        worker: usize,
        part: P,
        save: impl FnOnce(Vec<P>),
    ) -> MutexGuard<'a, State<I, P>> {
        let place = &mut state.workers[worker];
        place.part = part;
        place.is_missing = false;
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
        self.look_up(&state);
        self.changed.notify_all();
        drop(state);
        self.write(number, || save(parts));
        self.lock()
    }

    /// Writes a checkpoint, unless there is a newer one.
    fn write(&self, number: u64, save: impl FnOnce()) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if *written < number {
            save();
            *written = number;
        }
    }

    /// Waits for work when a worker has none; `None` if there will be none. `part` is what it has
    /// counted; a checkpoint whose last part that was is written by `save`.
    pub(crate) fn next_item(&self, worker: usize, part: P, save: impl FnOnce(Vec<P>)) -> Option<I> {
        let mut state = self.lock();
        state.workers[worker].is_hungry = true;
        state = self.put_down(state, worker, part, save);
        loop {
            if state.end.is_some() {
                return None;
            }
            if self.is_used_up(&state) {
                drop(state);
                self.end(End::Budget, worker);
                return None;
            }
            if !state.is_checkpoint() {
                if let Some(item) = state.items.pop() {
                    state.workers[worker].is_hungry = false;
                    self.look_up(&state);
                    return Some(item);
                }
                if state.workers.iter().all(|one| one.is_hungry) {
                    drop(state);
                    self.end(End::Exhausted, worker);
                    return None;
                }
            }
            self.look_up(&state);
            state = self.wait(state);
        }
    }

    /// What was given away and nobody has taken, when all have stopped.
    pub(crate) fn untaken(&self) -> Vec<I> {
        std::mem::take(&mut self.lock().items)
    }
}
