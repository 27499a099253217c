//! Loops around waits with a time limit; the first argument says which.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_millis(1);

type Shared = Arc<(Mutex<State>, Condvar)>;

#[derive(Default)]
struct State {
    is_ready: bool,
    rounds: u32,
}

fn shared() -> Shared {
    Arc::default()
}

/// Waits once; returns true if the time ran out.
fn wait<'a>(shared: &'a Shared, guard: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
    let (guard, result) = shared.1.wait_timeout(guard, LIMIT).unwrap();
    (guard, result.timed_out())
}

fn wait_until_ready(shared: &Shared) {
    let mut guard = shared.0.lock().unwrap();
    while !guard.is_ready {
        guard = wait(shared, guard).0;
    }
}

fn become_ready(shared: &Shared) {
    shared.0.lock().unwrap().is_ready = true;
    shared.1.notify_one();
}

fn in_thread(shared: &Shared, work: fn(&Shared)) -> thread::JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || work(&shared))
}

fn waits() {
    let shared = shared();
    let other = in_thread(&shared, become_ready);
    wait_until_ready(&shared);
    other.join().unwrap();
}

fn two_wait() {
    let shared = shared();
    let other = in_thread(&shared, wait_until_ready);
    become_ready(&shared);
    wait_until_ready(&shared);
    other.join().unwrap();
}

/// No thread ends the wait.
fn waits_for_ever() {
    wait_until_ready(&shared());
}

/// What the lock protects differs in every round.
fn counts() {
    let shared = shared();
    let other = in_thread(&shared, become_ready);
    let mut guard = shared.0.lock().unwrap();
    while !guard.is_ready {
        guard = wait(&shared, guard).0;
        guard.rounds += 1;
        assert!(guard.rounds < 3, "three rounds");
    }
    drop(guard);
    other.join().unwrap();
}

/// The round after a notification is another than that after a time-out.
fn is_told() {
    let shared = shared();
    let other = in_thread(&shared, |shared| shared.1.notify_one());
    let mut guard = shared.0.lock().unwrap();
    for _ in 0..3 {
        let timed_out;
        (guard, timed_out) = wait(&shared, guard);
        assert!(timed_out, "notified");
    }
    drop(guard);
    other.join().unwrap();
}

/// The loop ends by its own clock.
fn gives_up() {
    let shared = shared();
    let until = Instant::now() + 3 * LIMIT;
    let mut guard = shared.0.lock().unwrap();
    while !guard.is_ready {
        assert!(Instant::now() < until, "too late");
        guard = wait(&shared, guard).0;
    }
}

/// The notification may come before the wait, while another thread polls.
fn loses_a_wake_up() {
    let (polled, other) = (shared(), shared());
    let polling = in_thread(&polled, wait_until_ready);
    let notifying = in_thread(&other, |shared| shared.1.notify_one());
    let guard = other.0.lock().unwrap();
    drop(other.1.wait(guard).unwrap());
    become_ready(&polled);
    polling.join().unwrap();
    notifying.join().unwrap();
}

fn receive<T>(receiver: &mpsc::Receiver<T>) -> T {
    loop {
        match receiver.recv_timeout(LIMIT) {
            Ok(message) => return message,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("the message is lost"),
        }
    }
}

fn receives() {
    let (sender, receiver) = mpsc::channel();
    let other = thread::spawn(move || sender.send(7).unwrap());
    assert_eq!(receive(&receiver), 7);
    other.join().unwrap();
}

fn receives_from_a_buffer() {
    let (sender, receiver) = mpsc::sync_channel(1);
    let other = thread::spawn(move || sender.send(7).unwrap());
    assert_eq!(receive(&receiver), 7);
    other.join().unwrap();
}

/// The sender stays, and sends nothing.
fn receives_for_ever() {
    let (sender, receiver) = mpsc::channel();
    receive::<u32>(&receiver);
    drop(sender);
}

fn parks() {
    let flag = Arc::new(AtomicBool::new(false));
    let (other, main) = (Arc::clone(&flag), thread::current());
    let other = thread::spawn(move || {
        other.store(true, SeqCst);
        main.unpark();
    });
    while !flag.load(SeqCst) {
        thread::park_timeout(LIMIT);
    }
    other.join().unwrap();
}

fn sleeps() {
    let flag = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&flag);
    let other = thread::spawn(move || other.store(true, SeqCst));
    while !flag.load(SeqCst) {
        std::hint::black_box(Instant::now());
        thread::sleep(LIMIT);
    }
    other.join().unwrap();
}

/// The loop ends by its own clock, an hour later; the deadline is on the heap.
fn gives_up_after_an_hour() {
    let (sender, receiver) = mpsc::channel();
    let other = thread::spawn(move || sender.send(7).unwrap());
    let until = Box::new(Instant::now() + Duration::from_secs(3600));
    while receiver.recv_timeout(LIMIT).is_err() {
        assert!(Instant::now() < *until, "too late");
    }
    other.join().unwrap();
}

const ALL: &[(&str, fn())] = &[
    ("receives", receives),
    ("receives_from_a_buffer", receives_from_a_buffer),
    ("receives_for_ever", receives_for_ever),
    ("parks", parks),
    ("sleeps", sleeps),
    ("gives_up_after_an_hour", gives_up_after_an_hour),
    ("waits", waits),
    ("two_wait", two_wait),
    ("waits_for_ever", waits_for_ever),
    ("counts", counts),
    ("is_told", is_told),
    ("gives_up", gives_up),
    ("loses_a_wake_up", loses_a_wake_up),
];

unsafe extern "C" {
    fn raddle_check(body: extern "C" fn(*mut ()), argument: *mut ()) -> i32;
}

extern "C" fn body(which: *mut ()) {
    ALL[which as usize].1();
}

fn main() {
    let name = std::env::args().nth(1).unwrap();
    let which = ALL.iter().position(|(it, _)| *it == name).unwrap();
    // SAFETY: raddle's own function, with a body that takes such an argument.
    std::process::exit(unsafe { raddle_check(body, which as *mut ()) });
}
