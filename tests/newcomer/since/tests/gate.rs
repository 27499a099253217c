use std::sync::Arc;

#[raddle::test]
fn the_gate_opens() {
    let gate = Arc::new(since::Gate::default());
    let other = Arc::clone(&gate);
    let thread = raddle::thread::spawn(move || other.pass());
    gate.open();
    thread.join().unwrap();
}

#[raddle::test]
fn two_pass() {
    let gate = Arc::new(since::Gate::default());
    let threads = [0, 1].map(|_| {
        let gate = Arc::clone(&gate);
        raddle::thread::spawn(move || gate.pass())
    });
    gate.open();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
