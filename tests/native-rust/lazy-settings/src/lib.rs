//! Settings that are read on their first use.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, Once, OnceLock};

/// How often it was looked where the program is.
static LOOKS: AtomicU32 = AtomicU32::new(0);

/// What the whole program uses.
pub static HOME: LazyLock<u32> = LazyLock::new(|| LOOKS.fetch_add(1, Ordering::SeqCst));

/// By std's own means.
#[derive(Default)]
pub struct Settings {
    limit: OnceLock<u32>,
}

impl Settings {
    pub fn limit(&self, read: impl FnOnce() -> u32) -> u32 {
        *self.limit.get_or_init(read)
    }
}

/// By double-checked locking.
pub struct Checked {
    is_read: AtomicBool,
    lock: Mutex<()>,
    limit: UnsafeCell<u32>,
}

// SAFETY: the limit is written under the lock, before `is_read` is set, and read after.
unsafe impl Sync for Checked {}

impl Checked {
    pub const fn new() -> Self {
        Checked {
            is_read: AtomicBool::new(false),
            lock: Mutex::new(()),
            limit: UnsafeCell::new(0),
        }
    }

    pub fn limit(&self) -> u32 {
        self.limit_with(Ordering::Acquire, Ordering::Release)
    }

    /// Nothing orders the limit after the flag.
    pub fn limit_relaxed(&self) -> u32 {
        self.limit_with(Ordering::Relaxed, Ordering::Relaxed)
    }

    fn limit_with(&self, look: Ordering, tell: Ordering) -> u32 {
        if !self.is_read.load(look) {
            let _guard = self.lock.lock().unwrap();
            if !self.is_read.load(Ordering::Relaxed) {
                // SAFETY: only who has the lock, and only once.
                unsafe { *self.limit.get() = 42 };
                self.is_read.store(true, tell);
            }
        }
        // SAFETY: it was read.
        unsafe { *self.limit.get() }
    }
}

impl Default for Checked {
    fn default() -> Self {
        Checked::new()
    }
}

/// Does what must be done before anything else.
pub fn set_up(once: &Once, act: impl FnOnce()) {
    once.call_once(act);
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn by_two(ask: impl Fn() -> u32 + Sync) -> (u32, u32) {
        thread::scope(|scope| {
            let one = scope.spawn(&ask);
            let other = scope.spawn(&ask);
            (one.join().unwrap(), other.join().unwrap())
        })
    }

    #[test]
    fn a_once_lock_is_filled_once() {
        let settings = Settings::default();
        let reads = AtomicU32::new(0);
        let limits = by_two(|| settings.limit(|| reads.fetch_add(1, Ordering::SeqCst)));
        assert_eq!((limits, reads.into_inner()), ((0, 0), 1));
    }

    #[test]
    fn a_static_is_filled_once() {
        assert_eq!(by_two(|| *HOME), (0, 0));
        assert_eq!(LOOKS.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_once_runs_once() {
        let once = Once::new();
        let runs = AtomicU32::new(0);
        let seen = by_two(|| {
            set_up(&once, || {
                runs.store(runs.load(Ordering::Relaxed) + 1, Ordering::Relaxed)
            });
            runs.load(Ordering::Relaxed)
        });
        assert_eq!(seen, (1, 1));
    }

    #[test]
    fn checked_twice() {
        let settings = Checked::new();
        assert_eq!(by_two(|| settings.limit()), (42, 42));
    }

    #[test]
    fn checked_twice_without_ordering() {
        let settings = Checked::new();
        assert_eq!(by_two(|| settings.limit_relaxed()), (42, 42));
    }
}
