//! What the stories of bounded queues share: a count of items, and who may put and take.

use super::prelude::*;

/// A queue of so many places.
pub(super) struct Queue {
    pub(super) items: Mutex<usize>,
    pub(super) places: usize,
    pub(super) changed: Condvar,
}

impl Queue {
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Queue {
            items: Mutex::new(0),
            places,
            changed: Condvar::new(),
        })
    }

    /// Waits with `changed` until there is a place.
    pub(super) fn place(&self) -> MutexGuard<'_, usize> {
        let mut items = self.items.lock().unwrap();
        while *items == self.places {
            items = self.changed.wait(items).unwrap();
        }
        items
    }

    /// Waits with `changed` until there is an item.
    pub(super) fn item(&self) -> MutexGuard<'_, usize> {
        let mut items = self.items.lock().unwrap();
        while *items == 0 {
            items = self.changed.wait(items).unwrap();
        }
        items
    }
}
