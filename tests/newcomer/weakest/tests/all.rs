use raddle::sync::Arc;
use raddle::sync::atomic::AtomicBool;
use raddle::thread;
use weakest::{Counted, Gate, Ring, Spin, Ticket, buffers, enters};

/// Runs `one` and `other` at the same time.
fn beside<T: Send + Sync + 'static, R: Send + 'static>(
    shared: T,
    one: fn(&T) -> R,
    other: fn(&T) -> R,
) -> (R, R) {
    let shared = Arc::new(shared);
    let thread = thread::spawn({
        let shared = Arc::clone(&shared);
        move || one(&shared)
    });
    let result = other(&shared);
    (thread.join().unwrap(), result)
}

// Judged under weak memory all the same.
#[raddle::test(memory = "sc")]
fn spin() {
    let (one, other) = beside(Spin::default(), Spin::add, Spin::add);
    assert_eq!(one + other, 3);
}

#[raddle::test]
fn ticket() {
    beside(Ticket::default(), Ticket::add, Ticket::add);
}

#[raddle::test]
fn ring() {
    let push = |ring: &Ring| {
        for value in 1..=3 {
            while !ring.push(value) {
                thread::yield_now();
            }
        }
    };
    let pop = |ring: &Ring| {
        for expected in 1..=3 {
            loop {
                match ring.pop() {
                    Some(value) => break assert_eq!(value, expected),
                    None => thread::yield_now(),
                }
            }
        }
    };
    beside(Ring::default(), push, pop);
}

#[raddle::test]
fn counted() {
    let counted = Counted::new();
    counted.share();
    let last = |counted: &Counted| {
        assert_eq!(counted.read(), 7);
        counted.release();
    };
    beside(counted, last, last);
}

#[raddle::test]
fn dekker() {
    let flags = (AtomicBool::new(false), AtomicBool::new(false));
    let both = beside(flags, |it| enters(&it.0, &it.1), |it| enters(&it.1, &it.0));
    assert_ne!(both, (true, true));
}

#[raddle::test]
fn buffering() {
    let flags = (AtomicBool::new(false), AtomicBool::new(false));
    let both = beside(flags, |it| buffers(&it.0, &it.1), |it| buffers(&it.1, &it.0));
    assert_ne!(both, (true, true));
}

#[raddle::test]
fn gate() {
    let gate = Arc::new(Gate::default());
    let threads = [(); 2].map(|()| {
        let gate = Arc::clone(&gate);
        thread::spawn(move || gate.pass())
    });
    gate.open();
    threads.map(|thread| thread.join().unwrap());
}
