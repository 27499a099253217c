//! The workers of a search: what they share is on a table ([`table`]), and this is what it means for a
//! search. Items are parts of its tree, and a checkpoint is a file from which it can go on.

mod pool;

use std::sync::Arc;

use raddle_engine::frontier::Item;
use raddle_engine::strategy::Exhaustive;

use crate::persist::checkpoint::{Part, Saving};
use crate::runtime::Places;
use crate::runtime::sampled_clock::Clock;
use pool::{Load, Table};

pub(crate) use pool::End;

/// The workers of an exhaustive search.
pub(crate) struct Crew {
    pub(crate) table: Table<Item, Part>,
    places: Arc<Places>,
    saving: Option<Arc<Saving>>,
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
            table: Table::new(size, executions),
            places,
            saving,
        }
    }

    pub(crate) fn places(&self) -> &Arc<Places> {
        &self.places
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

    /// Waits for work when a worker has none; `None` if there will be none. `part` is what it has
    /// counted.
    pub(crate) fn next_item(&self, worker: usize, part: Part) -> Option<Item> {
        self.table.next_item(worker, part, |parts| self.save(parts))
    }
}

/// What a worker has left of the search, and what it has counted.
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
