//! Ports and selections inside a check, each program run by the search and by plain enumeration. What
//! they do outside one is tested where they are.

use std::collections::BTreeSet;

use raddle::port::{Port, Sender};
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, thread};
use raddle_tests::classes;
use raddle_tests::compare::outcomes;
use raddle_tests::messages::{
    distributed_mutual_exclusion, selecting_buffer, selecting_readers_and_writers,
};
use raddle_tests::parity::panics;

/// What the receiver gets from two threads that each send some numbers to the same port.
fn received(sent: [&'static [u32]; 2], port: fn() -> Port<u32>) -> (BTreeSet<Vec<u32>>, usize) {
    outcomes(move || {
        let port = port();
        for numbers in sent {
            let sender = port.sender();
            thread::spawn(move || numbers.iter().for_each(|&number| sender.send(number)));
        }
        let count = sent.iter().map(|numbers| numbers.len()).sum();
        (0..count).map(|_| port.receive()).collect()
    })
}

#[test]
fn messages_of_one_thread_keep_their_order_and_those_of_two_do_not() {
    let expected = BTreeSet::from([vec![1, 2, 3], vec![1, 3, 2], vec![3, 1, 2]]);
    for port in [Port::asynchronous, Port::synchronous] {
        assert_eq!(received([&[1], &[2]], port).1, 2);
        assert_eq!(received([&[1, 2], &[3]], port), (expected.clone(), 3));
    }
    let (seen, _) = received([&[1, 2], &[3]], || Port::bounded(1));
    assert_eq!(seen, expected);
}

/// Unlike in a channel: the second message is sent when the first one has been, and may still be
/// received first.
#[test]
fn messages_may_overtake_each_other() {
    let (seen, classes) = outcomes(|| {
        let (port, told) = (Port::asynchronous(), Port::asynchronous());
        let (first, second, tell) = (port.sender(), port.sender(), told.sender());
        thread::spawn(move || {
            first.send(1);
            tell.send(());
        });
        thread::spawn(move || {
            told.receive();
            second.send(2);
        });
        [port.receive(), port.receive()]
    });
    assert_eq!((seen, classes), (BTreeSet::from([[1, 2], [2, 1]]), 2));
}

/// How many of two sends may be over before the first receive.
fn sends_before_a_receive(port: fn() -> Port<u32>) -> Vec<u32> {
    let (seen, _) = outcomes(move || {
        let (port, done) = (port(), Arc::new(AtomicU32::new(0)));
        let (sender, counted) = (port.sender(), Arc::clone(&done));
        thread::spawn(move || {
            for number in 1..=2 {
                sender.send(number);
                counted.store(number, SeqCst);
            }
        });
        let before = done.load(SeqCst);
        assert_eq!([port.receive(), port.receive()], [1, 2]);
        before
    });
    seen.into_iter().collect()
}

#[test]
fn senders_wait_as_the_port_says() {
    assert_eq!(sends_before_a_receive(Port::asynchronous), [0, 1, 2]);
    assert_eq!(sends_before_a_receive(|| Port::bounded(2)), [0, 1, 2]);
    assert_eq!(sends_before_a_receive(|| Port::bounded(1)), [0, 1]);
    assert_eq!(sends_before_a_receive(Port::synchronous), [0]);
}

#[test]
fn a_selection_takes_from_whichever_port_has_a_message() {
    let select = |first_is_open: bool| {
        outcomes(move || {
            let (numbers, words) = (Port::asynchronous(), Port::synchronous());
            let (number, word) = (numbers.sender(), words.sender());
            thread::spawn(move || number.send(1));
            thread::spawn(move || word.send("a"));
            let mut open = first_is_open;
            let mut next = || {
                raddle::select! {
                    number = numbers.receive(), when open => number.to_string(),
                    word = words.receive() => {
                        open = true;
                        word.to_owned()
                    }
                }
            };
            [next(), next()].concat()
        })
    };
    let (first, second) = ("1a".to_owned(), "a1".to_owned());
    assert_eq!(select(true), (BTreeSet::from([first, second.clone()]), 2));
    assert_eq!(select(false), (BTreeSet::from([second]), 1));
}

/// The receiving end goes from thread to thread, but only one has it at a time.
#[test]
fn a_port_can_be_handed_on() {
    let (seen, classes) = outcomes(|| {
        let port = Port::asynchronous();
        let sender = port.sender();
        thread::spawn(move || (1..=2).for_each(|number| sender.send(number)));
        let first = port.receive();
        thread::spawn(move || [first, port.receive()])
            .join()
            .unwrap()
    });
    assert_eq!((seen, classes), (BTreeSet::from([[1, 2]]), 1));
}

#[test]
fn small_published_programs() {
    for (producers, consumers, slots, expected) in [(1, 1, 1, 1), (2, 2, 1, 4), (2, 2, 2, 8)] {
        let found = classes(move || selecting_buffer(producers, consumers, slots));
        assert_eq!(found, expected, "{producers}, {consumers}, {slots}");
    }
    for (readers, writers, expected) in [(1, 1, 2), (2, 1, 14), (1, 2, 6), (2, 2, 48)] {
        let found = classes(move || selecting_readers_and_writers(readers, writers));
        assert_eq!(found, expected, "{readers}, {writers}");
    }
    assert_eq!(classes(|| distributed_mutual_exclusion(2)), 6);
}

#[test]
fn a_port_is_used_where_it_was_made() {
    let (port, other) = (
        std::sync::Mutex::new(Port::<u32>::asynchronous()),
        Port::<u32>::bounded(1),
    );
    let sender = other.sender();
    let report = Checker::new().keep_going(true).run(|| {
        let port = port.lock().unwrap_or_else(|error| error.into_inner());
        match raddle::choose(0..3) {
            0 => sender.send(1),
            1 => drop(port.receive()),
            _ => raddle::port::select! { _ = port.receive() => {} },
        }
    });
    assert_eq!(report.failures.len(), 3);
    let told = "outside the check is used inside it; make it inside the body";
    assert!(
        report
            .failures
            .iter()
            .all(|failure| failure.message.contains(told)),
        "{report}"
    );
    sender.send(2);
    assert_eq!(other.receive(), 2);

    let leaked = std::sync::Mutex::new(None);
    raddle::check(|| {
        let port = Port::<u32>::asynchronous();
        *leaked.lock().unwrap() = Some((port.sender(), port));
    });
    let (sender, port): (Sender<u32>, Port<u32>) = leaked.into_inner().unwrap().unwrap();
    let told = "inside a check is used outside its execution";
    assert!(panics(|| sender.send(1)).contains(told));
    assert!(panics(|| _ = port.receive()).contains(told));
    assert!(panics(|| raddle::select! { _ = port.receive() => {} }).contains(told));
}
