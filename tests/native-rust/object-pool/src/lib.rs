//! Objects that are made once and lent out; who comes when all are lent waits.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};

pub struct Pool<T> {
    free: Mutex<Vec<T>>,
    returned: Condvar,
    is_closed: AtomicBool,
}

/// An object that goes back when it is dropped.
pub struct Lent<'a, T> {
    pool: &'a Pool<T>,
    object: Option<T>,
}

impl<T> Pool<T> {
    pub fn new(objects: Vec<T>) -> Self {
        Pool {
            free: Mutex::new(objects),
            returned: Condvar::new(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// An object, or nothing once the pool is closed.
    pub fn get(&self) -> Option<Lent<'_, T>> {
        let mut free = self.free.lock().unwrap();
        while !self.is_closed.load(SeqCst) {
            if let Some(object) = free.pop() {
                return Some(Lent {
                    pool: self,
                    object: Some(object),
                });
            }
            free = self.returned.wait(free).unwrap();
        }
        None
    }

    pub fn close(&self) {
        let _free = self.free.lock().unwrap();
        self.is_closed.store(true, SeqCst);
        self.returned.notify_all();
    }

    /// The notification misses a thread that has read the flag in `get` and does not wait yet.
    pub fn close_without_lock(&self) {
        self.is_closed.store(true, SeqCst);
        self.returned.notify_all();
    }
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.object.as_ref().unwrap()
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        let object = self.object.take().unwrap();
        self.pool.free.lock().unwrap().push(object);
        self.pool.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread;

    use super::*;

    #[test]
    fn one_object_serves_two() {
        let pool = Pool::new(vec![Cell::new(0)]);
        let count = || {
            let object = pool.get().unwrap();
            object.set(object.get() + 1);
        };
        thread::scope(|scope| {
            scope.spawn(count);
            scope.spawn(count);
        });
        assert_eq!(pool.get().unwrap().get(), 2);
    }

    fn closed_while_waiting(close: fn(&Pool<u32>)) {
        let pool = Pool::new(Vec::new());
        thread::scope(|scope| {
            let waiter = scope.spawn(|| pool.get().is_none());
            close(&pool);
            assert!(waiter.join().unwrap());
        });
    }

    #[test]
    fn who_waits_is_told_of_the_end() {
        closed_while_waiting(Pool::close);
    }

    #[test]
    fn who_waits_is_told_of_the_end_without_lock() {
        closed_while_waiting(Pool::close_without_lock);
    }
}
