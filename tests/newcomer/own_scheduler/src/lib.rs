#![deny(warnings)]

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Counts visits.
#[derive(Default)]
pub struct Visits(AtomicU32);

impl Visits {
    pub fn add_one(&self) {
        let seen = self.0.load(SeqCst);
        self.0.store(seen + 1, SeqCst);
    }

    pub fn total(&self) -> u32 {
        self.0.load(SeqCst)
    }
}
