use claims::{Pair, Slot};
use raddle::sync::Arc;
use raddle::thread;

// Two behaviours: the slot is seen empty, or full and with its value. Without a release or an acquire there is a third.
#[raddle::test(strategy = "exhaustive", max_executions = 2, require = "exhaustive")]
fn slot() {
    let slot = Arc::new(Slot::default());
    let other = Arc::clone(&slot);
    let writer = thread::spawn(move || other.put(1));
    slot.get();
    writer.join().unwrap();
}

#[raddle::test(memory = "sc")]
fn pair() {
    let pair = Arc::new(Pair::default());
    let other = Arc::clone(&pair);
    let writer = thread::spawn(move || other.raise());
    assert_ne!(pair.read(), (1, 0));
    writer.join().unwrap();
}

// Nothing looks at the value.
#[raddle::test]
fn announced() {
    let slot = Arc::new(Slot::default());
    let other = Arc::clone(&slot);
    let writer = thread::spawn(move || other.put(1));
    slot.get();
    writer.join().unwrap();
}
