//! `cargo raddle test`: every test is run once and reported to its end, even after an interrupt.

use std::sync::Mutex as Notes;

use raddle::sync::atomic::{AtomicBool, Ordering::Relaxed};
use raddle::thread;

use super::all;
use super::parallel::run_in_parallel;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Message {
    Begins(usize),
    Ends(usize),
}

/// Runs this number of tests, two at once, and returns the messages.
fn run(tests: usize, interrupted: &AtomicBool) -> Vec<Message> {
    let mut heard = Vec::new();
    run_in_parallel(
        tests,
        2,
        || interrupted.load(Relaxed),
        |index, sender| {
            sender.send(Message::Begins(index)).unwrap();
            sender.send(Message::Ends(index)).unwrap();
        },
        |message| heard.push(message),
    );
    heard
}

/// The tests that were run, each from its beginning to its end.
fn whole(heard: &[Message]) -> Vec<usize> {
    let at = |message| heard.iter().position(|&other| other == message);
    let tests = (0..heard.len()).filter(|&test| {
        let (begins, ends) = (at(Message::Begins(test)), at(Message::Ends(test)));
        assert_eq!(begins.is_some(), ends.is_some(), "{heard:?}");
        begins.zip(ends).is_some_and(|(begins, ends)| begins < ends)
    });
    let tests: Vec<_> = tests.collect();
    assert_eq!(heard.len(), 2 * tests.len(), "{heard:?}");
    tests
}

#[test]
fn every_test_is_run_once() {
    all(|| {
        let heard = run(3, &AtomicBool::new(false));
        assert_eq!(whole(&heard), [0, 1, 2]);
    });
}

#[test]
fn an_interrupted_run_ends_what_it_has_begun() {
    let seen = Notes::new([false; 3]);
    all(|| {
        let interrupted = AtomicBool::new(false);
        let heard = thread::scope(|scope| {
            scope.spawn(|| interrupted.store(true, Relaxed));
            run(2, &interrupted)
        });
        seen.lock().unwrap()[whole(&heard).len()] = true;
    });
    // None, some, and all.
    assert_eq!(seen.into_inner().unwrap(), [true; 3]);
}
