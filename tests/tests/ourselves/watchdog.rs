//! The watchdog: it looks at every check on the list and at no other, and a suspended thread stays
//! suspended.

use std::sync::atomic::AtomicUsize as StdAtomicUsize;
use std::time::Duration;

use raddle::cell::UnsafeCell;
use raddle::{hint, thread};

use super::all;
use super::own_sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use super::own_sync::{Arc, Mutex};
use super::suspend_thread::Suspensions;
use super::watch_list::WatchList;

/// A thread that runs a check: its progress, and true if a signal is pending.
struct Owner {
    done: UnsafeCell<usize>,
    signal: AtomicBool,
}

// SAFETY: raddle reports a read during a write as a data race; its absence is what the test checks.
unsafe impl Sync for Owner {}

impl Owner {
    fn new() -> Self {
        Owner {
            done: UnsafeCell::new(0),
            signal: AtomicBool::new(false),
        }
    }

    /// Makes this number of steps; a signal may come in between.
    fn run(&self, steps: usize, suspensions: &Suspensions) {
        for step in 1..=steps {
            // SAFETY: only the owner changes it.
            self.done.with_mut(|done| unsafe { *done = step });
            if self.signal.swap(false, SeqCst) {
                suspensions.wait_in_handler(|| {}, hint::spin_loop);
            }
        }
    }

    /// Suspends the owner, and reads its progress if that succeeded.
    fn look(&self, suspensions: &Suspensions, patience: usize) -> Option<usize> {
        let suspension = suspensions.request()?;
        self.signal.store(true, SeqCst);
        let is_suspended = (0..patience).any(|_| suspensions.is_suspended(suspension));
        // SAFETY: a suspended thread writes nothing.
        let look = || self.done.with(|done| unsafe { *done });
        let seen = is_suspended.then(look);
        suspensions.release(suspension);
        seen
    }
}

#[test]
fn a_suspended_thread_does_nothing() {
    let held = StdAtomicUsize::new(0);
    all(|| {
        let suspensions = Arc::new(Suspensions::new());
        let owners = Arc::new([Owner::new(), Owner::new()]);
        let threads = [0, 1].map(|index| {
            let (suspensions, owners) = (Arc::clone(&suspensions), Arc::clone(&owners));
            thread::spawn(move || owners[index].run(2, &suspensions))
        });
        // One after the other, and the first once more.
        for index in [0, 1, 0] {
            if let Some(seen) = owners[index].look(&suspensions, 1) {
                assert!(seen > 0);
                held.fetch_add(1, Relaxed);
            }
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert!(held.into_inner() > 0);
}

/// Number of looks at a check.
struct Looks(UnsafeCell<u32>);

// SAFETY: raddle reports a read during a write as a data race; its absence is what the test checks.
unsafe impl Sync for Looks {}

impl Looks {
    fn set(&self, change: impl FnOnce(u32) -> u32) {
        // SAFETY: as above.
        self.0.with_mut(|looks| unsafe { *looks = change(*looks) });
    }
}

/// Checks are added and removed. The last one is removed after two looks.
#[test]
fn every_check_on_the_list_is_looked_at_and_no_other() {
    all(|| {
        let watch_list = Arc::new(WatchList::<Arc<Looks>>::new());
        let guard = Mutex::new(None);
        let start = || {
            let watch_list = Arc::clone(&watch_list);
            *guard.lock().unwrap() = Some(thread::spawn(move || {
                watch_list.started();
                for _ in 0..2 {
                    let limit = watch_list.sleep(|_| Duration::from_secs(1));
                    assert_eq!(limit, Duration::from_secs(1));
                    watch_list.look(|watched| watched.set(|looks| looks + 1));
                }
            }));
            true
        };
        for visit in 0..3 {
            let check = Arc::new(Looks(UnsafeCell::new(0)));
            let number = watch_list.add(Arc::clone(&check), start);
            if visit == 2 {
                let guard = guard.lock().unwrap().take();
                guard.expect("it was started").join().unwrap();
            }
            watch_list.remove(number);
            // The watchdog does not look at it any more.
            check.set(|_| 0);
        }
    });
}
