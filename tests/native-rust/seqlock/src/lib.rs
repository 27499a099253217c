//! A pair of values that is read without a lock: who read while it was written reads again.

use std::sync::atomic::{AtomicU32, Ordering, fence};

#[derive(Default)]
pub struct Pair {
    /// Odd while the values are written.
    version: AtomicU32,
    values: [AtomicU32; 2],
}

impl Pair {
    /// Only one thread may write.
    pub fn write(&self, value: u32) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        self.set(value);
        self.version.store(version + 2, Ordering::Release);
    }

    /// Nothing keeps the values behind the odd version.
    pub fn write_without_fence(&self, value: u32) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        self.set(value);
        self.version.store(version + 2, Ordering::Release);
    }

    fn set(&self, value: u32) {
        for slot in &self.values {
            slot.store(value, Ordering::Relaxed);
        }
    }

    fn get(&self) -> (u32, u32) {
        let [one, other] = &self.values;
        (one.load(Ordering::Relaxed), other.load(Ordering::Relaxed))
    }

    /// The values, or `None` if a write overlaps the read.
    pub fn read(&self) -> Option<(u32, u32)> {
        let version = self.version.load(Ordering::Acquire);
        let values = self.get();
        fence(Ordering::Acquire);
        let is_same = self.version.load(Ordering::Relaxed) == version;
        (version.is_multiple_of(2) && is_same).then_some(values)
    }

    /// Does not check whether a write is in progress.
    pub fn read_odd(&self) -> Option<(u32, u32)> {
        let version = self.version.load(Ordering::Acquire);
        let values = self.get();
        fence(Ordering::Acquire);
        (self.version.load(Ordering::Relaxed) == version).then_some(values)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn written_and_read(write: fn(&Pair, u32), read: fn(&Pair) -> Option<(u32, u32)>) {
        let pair = Pair::default();
        thread::scope(|scope| {
            scope.spawn(|| write(&pair, 1));
            if let Some((one, other)) = read(&pair) {
                assert_eq!(one, other, "half of it is new");
            }
        });
    }

    #[test]
    fn both_are_of_one_version() {
        written_and_read(Pair::write, Pair::read);
    }

    #[test]
    fn both_are_of_one_version_or_odd() {
        written_and_read(Pair::write, Pair::read_odd);
    }

    #[test]
    fn both_are_of_one_version_without_fence() {
        written_and_read(Pair::write_without_fence, Pair::read);
    }
}
