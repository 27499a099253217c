//! The work pool ([`pool`]) of an exhaustive search: items are branches of its tree, and a
//! checkpoint is a file from which the search can be resumed.

mod pool;

use std::sync::Arc;

use raddle_engine::frontier::Item;
use raddle_engine::strategy::Exhaustive;

use crate::persist::checkpoint::{Part, Saving};
use crate::runtime::Places;
use crate::runtime::sampled_clock::Clock;
use pool::{Load, WorkPool};

pub(crate) use pool::EndReason;

/// The work pool of an exhaustive search.
pub(crate) struct SearchPool {
    pub(crate) shared: WorkPool<Item, Part>,
    /// True when the workers share one search and its budget. If not, each samples on its own.
    pub(crate) shares_search: bool,
    places: Arc<Places>,
    saving: Option<Arc<Saving>>,
}

impl SearchPool {
    /// Creates a pool of `size` workers that may run this many executions together.
    pub(crate) fn new(
        size: usize,
        shares_search: bool,
        executions: Option<u64>,
        places: Arc<Places>,
        saving: Option<Arc<Saving>>,
    ) -> Self {
        SearchPool {
            shared: WorkPool::new(size, executions),
            shares_search,
            places,
            saving,
        }
    }

    pub(crate) fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// Serves the requests of other workers between two executions; `part` is the worker's counts.
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
                self.shared.end(EndReason::Interrupted, worker);
            }
            if saving.is_due(clock, || self.shared.executions()) {
                self.shared.begin_checkpoint(|given| Part {
                    items: self.texts(given),
                    ..Part::default()
                });
            }
        }
        if self.shared.wants_attention() {
            let mut load = SearchLoad {
                pool: self,
                search,
                counted: part,
            };
            let save = |parts| self.save(parts);
            self.shared.attend(worker, &mut load, save);
        }
    }

    /// Returns the reason for the end of a search whose time is over.
    pub(crate) fn reason_of_budget(&self) -> EndReason {
        let saving = self.saving.as_ref();
        match saving.is_some_and(|saving| saving.is_interrupted()) {
            true => EndReason::Interrupted,
            false => EndReason::Budget,
        }
    }

    fn texts(&self, items: &[Item]) -> Vec<String> {
        let text = |item: &Item| item.to_text(|site| self.places.to_text(site));
        items.iter().map(text).collect()
    }

    fn save(&self, parts: Vec<Part>) {
        if let Some(saving) = &self.saving {
            saving.save(parts);
        }
    }

    /// Waits for work; `None` if the search has ended. `part` is the worker's counts.
    pub(crate) fn next_item(&self, worker: usize, part: Part) -> Option<Item> {
        self.shared
            .next_item(worker, part, |parts| self.save(parts))
    }
}

/// A worker's remaining search and counts.
struct SearchLoad<'a, F> {
    pool: &'a SearchPool,
    search: &'a mut Exhaustive,
    counted: F,
}

impl<F: Fn() -> Part> Load<Item, Part> for SearchLoad<'_, F> {
    fn part(&self) -> Part {
        Part {
            items: self.pool.texts(&self.search.left().unwrap_or_default()),
            reach: self.search.reach(),
            ..(self.counted)()
        }
    }

    fn give(&mut self) -> Option<Item> {
        self.search.give()
    }
}
