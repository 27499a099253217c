//! The same programs with the locks of std and with those of parking_lot, which never give errors.

#[cfg(test)]
mod tests {
    macro_rules! programs {
        ($name:ident, $locks:ident) => {
            mod $name {
                use super::$locks::{Mutex, RwLock, lock, read, write};

                #[test]
                fn three_lock() {
                    let sum = Mutex::new(0);
                    std::thread::scope(|scope| {
                        for _ in 0..2 {
                            scope.spawn(|| *lock(&sum) += 1);
                        }
                        *lock(&sum) += 1;
                    });
                    assert_eq!(*lock(&sum), 3);
                }

                #[test]
                fn one_tries() {
                    let sum = Mutex::new(0);
                    std::thread::scope(|scope| {
                        scope.spawn(|| *lock(&sum) += 1);
                        drop(sum.try_lock());
                    });
                }

                #[test]
                fn two_read_and_one_writes() {
                    let value = RwLock::new(0);
                    std::thread::scope(|scope| {
                        scope.spawn(|| *write(&value) += 1);
                        scope.spawn(|| assert!(*read(&value) <= 1));
                        assert!(*read(&value) <= 1);
                    });
                }

                #[test]
                fn one_tries_to_read_and_one_to_write() {
                    let value = RwLock::new(0);
                    std::thread::scope(|scope| {
                        scope.spawn(|| drop(value.try_read()));
                        drop(value.try_write());
                    });
                }
            }
        };
    }

    mod of_std {
        pub use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

        pub fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
            lock.lock().unwrap()
        }

        pub fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
            lock.read().unwrap()
        }

        pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
            lock.write().unwrap()
        }
    }

    mod of_parking_lot {
        pub use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

        pub fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
            lock.lock()
        }

        pub fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
            lock.read()
        }

        pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
            lock.write()
        }
    }

    programs!(with_std, of_std);
    programs!(with_parking_lot, of_parking_lot);

    #[test]
    fn one_waits_in_time() {
        use parking_lot::{Condvar, Mutex};
        use std::time::Duration;

        let (ready, told) = (Mutex::new(false), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *ready.lock() = true;
                told.notify_one();
            });
            let mut ready = ready.lock();
            let mut in_time = true;
            while !*ready && in_time {
                in_time = !told
                    .wait_for(&mut ready, Duration::from_secs(1))
                    .timed_out();
            }
            assert!(*ready || !in_time);
        });
    }

    #[test]
    fn one_locks_in_time() {
        let sum = parking_lot::Mutex::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| *sum.lock() += 1);
            if let Some(mut sum) = sum.try_lock_for(std::time::Duration::from_secs(1)) {
                *sum += 1;
            }
        });
        assert!((1..=2).contains(&*sum.lock()));
    }

    #[test]
    fn notifying_says_who_was_woken_up() {
        use parking_lot::{Condvar, Mutex};

        let (ready, told) = (Mutex::new(false), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut ready = ready.lock();
                while !*ready {
                    told.wait(&mut ready);
                }
            });
            *ready.lock() = true;
            assert!(told.notify_all() <= 1);
        });
        assert!(!told.notify_one());
    }
}
