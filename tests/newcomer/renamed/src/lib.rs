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
        let passed = !self.0.swap(true, SeqCst);
        TRIES.set(TRIES.get() + 1);
        passed
    }
}

/// A door for everybody.
pub static FRONT: Door = Door(AtomicBool::new(false));

checks::thread_local! {
    /// How often the thread has tried to pass a door.
    pub static TRIES: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
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
        assert_eq!(super::TRIES.get(), 1);
    }

    #[checks::test(crate = checks)]
    fn the_front_door_is_new_in_every_execution() {
        checks::choose(0..3);
        assert!(super::FRONT.pass() && !super::FRONT.pass());
    }

    #[test]
    fn the_front_door_is_one_outside() {
        assert!(super::FRONT.pass() && !super::FRONT.pass());
    }
}
