//! A queue of bounded capacity: `put` waits while it is full, and `take` waits while it is empty.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

pub struct Queue<T> {
    items: Mutex<VecDeque<T>>,
    capacity: usize,
    not_empty: Condvar,
    not_full: Condvar,
}

impl<T> Queue<T> {
    pub fn new(capacity: usize) -> Self {
        Queue {
            items: Mutex::new(VecDeque::new()),
            capacity,
            not_empty: Condvar::new(),
            not_full: Condvar::new(),
        }
    }

    pub fn put(&self, item: T) {
        let mut items = self.items.lock().unwrap();
        while items.len() == self.capacity {
            items = self.not_full.wait(items).unwrap();
        }
        items.push_back(item);
        self.not_empty.notify_one();
    }

    pub fn take(&self) -> T {
        let mut items = self.items.lock().unwrap();
        while items.is_empty() {
            items = self.not_empty.wait(items).unwrap();
        }
        let item = items.pop_front().unwrap();
        self.not_full.notify_one();
        item
    }

    /// Does not look again after it has waited.
    pub fn take_without_loop(&self) -> T {
        let mut items = self.items.lock().unwrap();
        if items.is_empty() {
            items = self.not_empty.wait(items).unwrap();
        }
        self.not_full.notify_one();
        items.pop_front().expect("there is an item")
    }

    /// Does not notify the producers that wait for room.
    pub fn take_in_silence(&self) -> T {
        let mut items = self.items.lock().unwrap();
        while items.is_empty() {
            items = self.not_empty.wait(items).unwrap();
        }
        items.pop_front().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn two_items(take: fn(&Queue<u32>) -> u32) -> (u32, u32) {
        let queue = Arc::new(Queue::new(1));
        let producer = thread::spawn({
            let queue = Arc::clone(&queue);
            move || {
                queue.put(1);
                queue.put(2);
            }
        });
        let items = (take(&queue), take(&queue));
        producer.join().unwrap();
        items
    }

    #[test]
    fn items_come_in_order() {
        assert_eq!(two_items(Queue::take), (1, 2));
    }

    #[test]
    fn items_come_in_silence() {
        assert_eq!(two_items(Queue::take_in_silence), (1, 2));
    }

    fn two_consumers(take: fn(&Queue<u32>) -> u32) {
        let queue = Queue::new(2);
        thread::scope(|scope| {
            scope.spawn(|| take(&queue));
            scope.spawn(|| take(&queue));
            queue.put(1);
            queue.put(2);
        });
    }

    #[test]
    fn each_consumer_gets_one() {
        two_consumers(Queue::take);
    }

    #[test]
    fn each_consumer_gets_one_without_loop() {
        two_consumers(Queue::take_without_loop);
    }
}
