//! Another thread has the lock, so it will do the work. Will it?
//!
//! ```console
//! cargo run -p raddle-examples --bin try_lock
//! ```
//!
//! Threads hand in letters; a thread that gets the lock of the postbox empties it. A thread that
//! finds the lock taken leaves its letter there, trusting that the other one sees it. But the other
//! one may have emptied the box already, and only not released the lock yet.

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, thread};

#[derive(Default)]
struct Postbox {
    letters: AtomicU32,
    sent: Mutex<u32>,
}

impl Postbox {
    /// Empties the box unless another thread has the lock.
    fn hand_in(&self) {
        self.letters.fetch_add(1, SeqCst);
        // A check explores both answers: the lock is free, or it is taken.
        if let Ok(mut sent) = self.sent.try_lock() {
            *sent += self.letters.swap(0, SeqCst);
        }
    }

    /// The fix: looks again after releasing the lock. The look is an update, which sees the latest number:
    /// a `try_lock` that fails does not synchronize with the holder of the lock, so a load might miss the
    /// letter of a thread whose `try_lock` has failed, even with `SeqCst`.
    fn hand_in_and_look_again(&self) {
        self.letters.fetch_add(1, SeqCst);
        while self.letters.fetch_or(0, SeqCst) > 0 {
            let Ok(mut sent) = self.sent.try_lock() else {
                return;
            };
            *sent += self.letters.swap(0, SeqCst);
        }
    }
}

fn two_letters(hand_in: fn(&Postbox)) {
    let postbox = Postbox::default();
    thread::scope(|scope| {
        scope.spawn(|| hand_in(&postbox));
        scope.spawn(|| hand_in(&postbox));
    });
    let sent = *postbox.sent.lock().unwrap();
    assert_eq!(sent, 2, "a letter is left in the box");
}

fn main() {
    println!("Look once:");
    let report = Checker::new()
        .named("try_lock")
        .keep_going(true)
        .run(|| two_letters(Postbox::hand_in));
    println!("{report}");

    println!("Look again:");
    let report = Checker::new().run(|| two_letters(Postbox::hand_in_and_look_again));
    report.assert_ok();
}
