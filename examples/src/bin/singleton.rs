//! A value that is made at its first use, and by one thread too many.
//!
//! ```console
//! cargo run -p raddle-examples --bin singleton
//! ```
//!
//! Statics work inside checks: every execution starts with a new one.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Mutex, OnceLock};
use raddle::{Checker, Strategy, thread};

/// Number of times it was made.
static MADE: AtomicU32 = AtomicU32::new(0);

fn make() -> u32 {
    MADE.fetch_add(1, SeqCst);
    42
}

static VALUE: Mutex<Option<u32>> = Mutex::new(None);

/// Looks under the lock, but makes the value without it.
fn get() -> u32 {
    let known = *VALUE.lock().unwrap();
    known.unwrap_or_else(|| {
        let value = make();
        *VALUE.lock().unwrap() = Some(value);
        value
    })
}

static ONCE: OnceLock<u32> = OnceLock::new();

/// The fix: the second caller waits for the first.
fn get_once() -> u32 {
    *ONCE.get_or_init(make)
}

fn two_ask(get: fn() -> u32) {
    let threads = [(); 2].map(|()| thread::spawn(get));
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 42);
    }
    assert_eq!(MADE.load(SeqCst), 1, "it was made twice");
}

fn main() {
    let checker = || Checker::new().strategy(Strategy::Exhaustive);
    println!("With a lock around each half:");
    let report = checker().named("singleton").run(|| two_ask(get));
    println!("{report}");

    println!("With a OnceLock:");
    let report = checker().run(|| two_ask(get_once));
    report.assert_ok();
}
