//! What the workers of an exhaustive search share: what is left to run, and when all must stop.
//!
//! Each worker walks its own part of the tree. One that has come to the end of its part waits here;
//! the others look at a flag between two executions, and if somebody waits they give away their oldest
//! branches. Nothing else is shared while there is work, so nobody waits for anybody.
//!
//! A checkpoint is taken in the same pauses. Each worker puts down what it has counted and what is left
//! of its part; until the last one has, nothing changes hands, so that no part is missing and none is
//! there twice. Whoever is done with it goes on at once.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use raddle_engine::frontier::Item;
use raddle_engine::strategy::Exhaustive;

use crate::checkpoint::{Part, Saving};
use crate::phases::Clock;
use crate::substrate::Places;

/// Somebody waits for work.
const HUNGRY: u8 = 1;
/// A checkpoint is being taken.
const CHECKPOINT: u8 = 2;

/// The workers of an exhaustive search.
pub(crate) struct Crew {
    /// What a worker should see to between executions.
    attention: AtomicU8,
    over: AtomicBool,
    /// How many executions may still be started; all bits set if there is no limit.
    left: AtomicU64,
    counters: Box<[Counter]>,
    state: Mutex<State>,
    changed: Condvar,
    places: Arc<Places>,
    saving: Option<Arc<Saving>>,
}

/// Executions of one worker, where no other worker writes.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

#[derive(Default)]
struct State {
    /// Given away, and not yet taken.
    items: Vec<Item>,
    workers: Vec<Place>,
    end: Option<End>,
    /// Whose failure was the first to stop the search.
    first: Option<usize>,
    /// What was given away when the checkpoint began that is being taken.
    checkpoint: Option<Vec<String>>,
}

/// What is known of one worker.
#[derive(Default)]
struct Place {
    is_hungry: bool,
    /// Whether its part of the checkpoint is missing.
    is_missing: bool,
    part: Part,
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

/// What a hungry worker gets.
enum Next {
    Item(Box<Item>),
    /// Its part was the last of a checkpoint, which it must write.
    Save(Vec<Part>),
    Nothing,
}

impl Crew {
    /// So many workers that may run so many executions.
    pub(crate) fn new(
        size: usize,
        executions: Option<u64>,
        places: Arc<Places>,
        saving: Option<Arc<Saving>>,
    ) -> Self {
        Crew {
            attention: AtomicU8::new(0),
            over: AtomicBool::new(false),
            left: AtomicU64::new(executions.unwrap_or(u64::MAX)),
            counters: (0..size).map(|_| Counter::default()).collect(),
            state: Mutex::new(State {
                workers: (0..size).map(|_| Place::default()).collect(),
                ..State::default()
            }),
            changed: Condvar::new(),
            places,
            saving,
        }
    }

    pub(crate) fn places(&self) -> &Arc<Places> {
        &self.places
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Whether one more execution may be run. If it does not count in the end, it is to be given back.
    #[inline]
    pub(crate) fn may_run(&self) -> bool {
        let left = self.left.load(Relaxed);
        let take = |left: u64| left.checked_sub(1);
        left == u64::MAX || self.left.fetch_update(Relaxed, Relaxed, take).is_ok()
    }

    /// An execution did not count.
    pub(crate) fn give_back(&self) {
        if self.left.load(Relaxed) != u64::MAX {
            self.left.fetch_add(1, Relaxed);
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

    /// What to do between two executions; `part` is what the worker has counted.
    #[inline]
    pub(crate) fn pause(
        &self,
        worker: usize,
        clock: &mut Clock,
        search: &mut Exhaustive,
        part: impl Fn() -> Part,
    ) {
        if let Some(saving) = &self.saving {
            if saving.is_interrupted() {
                self.end(End::Interrupted, worker);
            }
            if saving.is_due(clock, || self.executions()) {
                self.begin_checkpoint();
            }
        }
        if self.attention.load(Relaxed) != 0 {
            self.attend(worker, search, part);
        }
    }

    #[cold]
    fn attend(&self, worker: usize, search: &mut Exhaustive, part: impl Fn() -> Part) {
        if self.attention.load(Relaxed) & CHECKPOINT != 0 {
            let mut part = part();
            part.items = self.texts(search);
            part.reach = search.reach();
            if let Some(parts) = self.put_down(&mut self.lock(), worker, part) {
                self.save(parts);
            }
        }
        let mut state = self.lock();
        if state.checkpoint.is_some() {
            return;
        }
        let hungry = state.workers.iter().filter(|one| one.is_hungry).count();
        while state.items.len() < hungry {
            let Some(item) = search.give() else { break };
            state.items.push(item);
            self.changed.notify_one();
        }
        self.look_up(&state);
    }

    /// What is left of a worker's part.
    fn texts(&self, search: &Exhaustive) -> Vec<String> {
        let items = search.left().unwrap_or_default();
        items.iter().map(|item| self.text(item)).collect()
    }

    fn text(&self, item: &Item) -> String {
        item.to_text(|site| self.places.to_text(site))
    }

    /// Sets the flag that workers look at.
    fn look_up(&self, state: &State) {
        let hungry = state.workers.iter().filter(|one| one.is_hungry).count();
        let mut attention = 0;
        if hungry > state.items.len() {
            attention |= HUNGRY;
        }
        if state.checkpoint.is_some() {
            attention |= CHECKPOINT;
        }
        self.attention.store(attention, Relaxed);
    }

    fn begin_checkpoint(&self) {
        let mut state = self.lock();
        if state.checkpoint.is_none() && state.end.is_none() {
            state.checkpoint = Some(state.items.iter().map(|item| self.text(item)).collect());
            for one in &mut state.workers {
                one.is_missing = !one.is_hungry;
            }
            self.look_up(&state);
        }
    }

    /// A worker's part of the checkpoint; the whole of it if that was the last.
    fn put_down(&self, state: &mut State, worker: usize, part: Part) -> Option<Vec<Part>> {
        let place = &mut state.workers[worker];
        place.part = part;
        if !std::mem::take(&mut place.is_missing) {
            return None;
        }
        if state.workers.iter().any(|one| one.is_missing) {
            return None;
        }
        let given = Part {
            items: state.checkpoint.take()?,
            ..Part::default()
        };
        let parts = state.workers.iter().map(|one| one.part.clone());
        let parts = parts.chain([given]).collect();
        self.look_up(state);
        self.changed.notify_all();
        Some(parts)
    }

    fn save(&self, parts: Vec<Part>) {
        if let Some(saving) = &self.saving {
            saving.save(parts);
        }
    }

    /// Waits for work when a worker has none; `None` if there will be none. `part` is what it has
    /// counted.
    pub(crate) fn next_item(&self, worker: usize, part: Part) -> Option<Item> {
        loop {
            match self.wait(worker, part.clone()) {
                Next::Item(item) => return Some(*item),
                Next::Save(parts) => self.save(parts),
                Next::Nothing => return None,
            }
        }
    }

    fn wait(&self, worker: usize, part: Part) -> Next {
        let mut state = self.lock();
        state.workers[worker].is_hungry = true;
        if let Some(parts) = self.put_down(&mut state, worker, part) {
            return Next::Save(parts);
        }
        loop {
            if state.end.is_some() {
                return Next::Nothing;
            }
            if state.checkpoint.is_none() {
                if let Some(item) = state.items.pop() {
                    state.workers[worker].is_hungry = false;
                    self.look_up(&state);
                    return Next::Item(Box::new(item));
                }
                if state.workers.iter().all(|one| one.is_hungry) {
                    drop(state);
                    self.end(End::Exhausted, worker);
                    return Next::Nothing;
                }
            }
            self.look_up(&state);
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What was given away and nobody has taken, when all have stopped.
    pub(crate) fn untaken(&self) -> Vec<Item> {
        std::mem::take(&mut self.lock().items)
    }
}
