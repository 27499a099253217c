//! The work pool ([`pool`]) of an exhaustive search: items are branches of its tree, and a
//! checkpoint is a file from which the search can be resumed.

mod pool;

use std::sync::Arc;

use raddle_engine::frontier::Item;
use raddle_engine::strategy::Exhaustive;

use crate::persist::checkpoint::{Part, Saving};
use crate::runtime::Places;
use crate::runtime::sampled_clock::Clock;
use pool::{Load, Table};

pub(crate) use pool::End;

/// The work pool of an exhaustive search.
pub(crate) struct Crew {
    pub(crate) table: Table<Item, Part>,
    places: Arc<Places>,
    saving: Option<Arc<Saving>>,
}

impl Crew {
    /// A pool of `size` workers that may run this many executions together.
    pub(crate) fn new(
        size: usize,
        executions: Option<u64>,
        places: Arc<Places>,
        saving: Option<Arc<Saving>>,
    ) -> Self {
        Crew {
            table: Table::new(size, executions),
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
                self.table.end(End::Interrupted, worker);
            }
            if saving.is_due(clock, || self.table.executions()) {
                self.table.begin_checkpoint(|given| Part {
                    items: self.texts(given),
                    ..Part::default()
                });
            }
        }
        if self.table.wants_attention() {
            let mut load = SearchLoad {
                crew: self,
                search,
                counted: part,
            };
            let save = |parts| self.save(parts);
            self.table.attend(worker, &mut load, save);
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
        self.table.next_item(worker, part, |parts| self.save(parts))
    }
}

/// A worker's remaining search and counts.
struct SearchLoad<'a, F> {
    crew: &'a Crew,
    search: &'a mut Exhaustive,
    counted: F,
}

impl<F: Fn() -> Part> Load<Item, Part> for SearchLoad<'_, F> {
    fn part(&self) -> Part {
        Part {
            items: self.crew.texts(&self.search.left().unwrap_or_default()),
            reach: self.search.reach(),
            ..(self.counted)()
        }
    }

    fn give(&mut self) -> Option<Item> {
        self.search.give()
    }
}
