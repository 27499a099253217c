#![deny(warnings)]

use checks::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// A door that one can pass.
///
/// ```
/// checks::check(|| assert!(renamed::Door::default().pass()));
/// ```
#[derive(Default)]
pub struct Door(AtomicBool);

impl Door {
    /// Whether the caller is the one.
    pub fn pass(&self) -> bool {
        !self.0.swap(true, SeqCst)
    }
}

#[cfg(test)]
mod tests {
    #[checks::test(crate = checks)]
    fn one_passes() {
        let door = super::Door::default();
        let passed = checks::thread::scope(|scope| {
            let other = scope.spawn(|| door.pass());
            [door.pass(), other.join().unwrap()]
        });
        assert!(passed == [true, false] || passed == [false, true]);
    }
}
