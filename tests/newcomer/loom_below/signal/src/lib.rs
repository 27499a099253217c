//! A dependency that names loom itself.

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering};

pub struct Signal(AtomicBool);

impl Signal {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Signal(AtomicBool::new(false))
    }

    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Does not synchronize: a mistake.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
