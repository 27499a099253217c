//! The watchdog: it looks at everybody who is there and at nobody who has gone, and who is held is held.

use std::sync::atomic::AtomicUsize as StdAtomicUsize;
use std::time::Duration;

use raddle::cell::UnsafeCell;
use raddle::{hint, thread};

use super::all;
use super::grip::Grip;
use super::kennel::Kennel;
use super::own_sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use super::own_sync::{Arc, Mutex};

/// A thread that runs a check: what it has done, and whether a signal is on its way to it.
struct Owner {
    done: UnsafeCell<usize>,
    signal: AtomicBool,
}

// SAFETY: that nobody looks at it while somebody changes it is what is checked.
unsafe impl Sync for Owner {}

impl Owner {
    fn new() -> Self {
        Owner {
            done: UnsafeCell::new(0),
            signal: AtomicBool::new(false),
        }
    }

    /// Goes on so often; a signal may come in between.
    fn run(&self, steps: usize, grip: &Grip) {
        for step in 1..=steps {
            // SAFETY: only the owner changes it.
            self.done.with_mut(|done| unsafe { *done = step });
            if self.signal.swap(false, SeqCst) {
                grip.stay(|| {}, hint::spin_loop);
            }
        }
    }

    /// Holds the owner, and looks at it if that went well.
    fn look(&self, grip: &Grip, patience: usize) -> Option<usize> {
        let hold = grip.want()?;
        self.signal.store(true, SeqCst);
        let is_held = (0..patience).any(|_| grip.has(hold));
        // SAFETY: who is held changes nothing.
        let look = || self.done.with(|done| unsafe { *done });
        let seen = is_held.then(look);
        grip.let_go(hold);
        seen
    }
}

#[test]
fn who_is_held_does_nothing() {
    let held = StdAtomicUsize::new(0);
    all(|| {
        let grip = Arc::new(Grip::new());
        let owners = Arc::new([Owner::new(), Owner::new()]);
        let threads = [0, 1].map(|index| {
            let (grip, owners) = (Arc::clone(&grip), Arc::clone(&owners));
            thread::spawn(move || owners[index].run(2, &grip))
        });
        // One after the other, and the first once more.
        for index in [0, 1, 0] {
            if let Some(seen) = owners[index].look(&grip, 1) {
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

/// How often a check was looked at.
struct Looks(UnsafeCell<u32>);

// SAFETY: that nobody looks at it while somebody changes it is what is checked.
unsafe impl Sync for Looks {}

impl Looks {
    fn set(&self, change: impl FnOnce(u32) -> u32) {
        // SAFETY: as above.
        self.0.with_mut(|looks| unsafe { *looks = change(*looks) });
    }
}

/// Checks come and go. At the last one the watchdog has looked twice before it goes.
#[test]
fn nobody_is_forgotten_and_nobody_is_looked_at_who_has_gone() {
    all(|| {
        let kennel = Arc::new(Kennel::<Arc<Looks>>::new());
        let guard = Mutex::new(None);
        let start = || {
            let kennel = Arc::clone(&kennel);
            *guard.lock().unwrap() = Some(thread::spawn(move || {
                kennel.rise();
                for _ in 0..2 {
                    let limit = kennel.sleep(|_| Duration::from_secs(1));
                    assert_eq!(limit, Duration::from_secs(1));
                    kennel.look(|watched| watched.set(|looks| looks + 1));
                }
            }));
            true
        };
        for visit in 0..3 {
            let check = Arc::new(Looks(UnsafeCell::new(0)));
            let number = kennel.add(Arc::clone(&check), start);
            if visit == 2 {
                let guard = guard.lock().unwrap().take();
                guard.expect("it was started").join().unwrap();
            }
            kennel.remove(number);
            // Nobody looks at it any more.
            check.set(|_| 0);
        }
    });
}
