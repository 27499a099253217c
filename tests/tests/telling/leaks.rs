//! Messages that are never received: which of them are worth a warning.
//!
//! The programs stand at the top, so that their line numbers stay what the messages say.

use raddle::port::Port;
use raddle::sync::mpsc::{channel, sync_channel};
use raddle::{Checker, FailureKind, Level, Report, Strategy, thread};

/// Three are sent and one is received.
fn sends_too_much() {
    let port = Port::asynchronous();
    let sender = port.sender();
    let producer = thread::Builder::new().name("producer".into());
    let producer = producer.spawn(move || {
        for number in 0..3 {
            sender.send(number);
        }
    });
    assert_eq!(port.receive(), 0);
    producer.unwrap().join().unwrap();
}

fn sends_to_itself() {
    let port = Port::asynchronous();
    port.sender().send(());
}

fn everything_is_received() {
    let port = Port::synchronous();
    let sender = port.sender();
    let producer = thread::spawn(move || sender.send(1));
    assert_eq!(port.receive(), 1);
    producer.join().unwrap();
}

/// A program that drops a receiver gives up the messages that are left in it.
fn channels_are_dropped() {
    let ((sender, receiver), (bounded, _receiver)) = (channel(), sync_channel(3));
    thread::spawn(move || {
        for number in 0..3 {
            let _ = (sender.send(number), bounded.send(number));
        }
    });
    let _ = receiver.recv();
}

fn run(level: Level, program: fn()) -> Report {
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    checker.leaks(level).run(program)
}

const HELP: &str = "help: receive what is sent, or send no more than is wanted; if it does not \
                    matter, `leaks(Level::Allow)`";

#[test]
fn what_is_left_in_a_port_is_a_warning() {
    let report = run(Level::Warn, sends_too_much);
    report.assert_ok();
    let [warning] = &report.warnings[..] else {
        panic!("{report}");
    };
    assert_eq!(warning.kind, FailureKind::Leak);
    let facts = "Port `port` has 2 unreceived messages, the first sent by producer at \
                 tests/tests/telling/leaks.rs:16";
    assert_eq!(warning.message, format!("{facts}\n{HELP}"));
    let report = run(Level::Warn, sends_to_itself);
    let facts =
        "Port `port` has an unreceived message, sent by main at tests/tests/telling/leaks.rs:25";
    assert_eq!(report.warnings[0].message, format!("{facts}\n{HELP}"));
}

#[test]
fn it_can_be_a_failure_or_nothing() {
    let report = run(Level::Deny, sends_too_much);
    assert_eq!(report.failures[0].kind, FailureKind::Leak);
    let headline = "leak after 1 execution (exhaustive)";
    assert!(report.failures[0].to_string().starts_with(headline));
    let report = run(Level::Allow, sends_too_much);
    assert!(report.failures.is_empty() && report.warnings.is_empty());
}

#[test]
fn nothing_is_said_where_nothing_is_lost() {
    for program in [everything_is_received, channels_are_dropped] {
        let report = run(Level::Deny, program);
        report.assert_ok();
        assert!(report.warnings.is_empty(), "{report}");
    }
}

#[test]
fn a_test_with_one_behaviour_says_why() {
    let summary = |program: fn()| {
        let report = Checker::new().run(program);
        report.assert_ok();
        let summary = report.to_string();
        let summary = summary.rsplit_once(" (auto, ").unwrap().0;
        // Samplers and the search run the same class.
        summary.replace(&format!(" in {} runs", report.runs()), "")
    };
    assert_eq!(
        summary(|| assert_eq!(1 + 1, 2)),
        "nothing to explore: the test starts no thread and uses nothing that raddle controls"
    );
    assert_eq!(
        summary(|| drop(std::sync::Mutex::new(1).lock())),
        "nothing to explore: the test starts no thread and uses nothing that raddle controls"
    );
    let one = "every behaviour was run: 1 class";
    let thread = ", with one controlled thread; std's own threads are not controlled";
    let thread = format!("{one}{thread}");
    assert_eq!(summary(|| drop(raddle::sync::Mutex::new(1).lock())), thread);
    assert_eq!(
        summary(|| raddle::assume(raddle::choose(0..1) == 0)),
        thread
    );
    let by_std = || {
        let count = raddle::sync::atomic::AtomicU32::new(0);
        let add = || count.fetch_add(1, raddle::sync::atomic::Ordering::SeqCst);
        std::thread::scope(|scope| drop(scope.spawn(add).join()));
        add();
    };
    let kind = Checker::new().run(by_std).failures[0].kind;
    assert_eq!(kind, FailureKind::Uncontrolled);
    let order = ", because the order of controlled operations does not matter; std's own types are not \
                 controlled";
    let order = format!("{one}{order}");
    assert_eq!(summary(|| thread::spawn(|| ()).join().unwrap()), order);
    let counted_by_std = || {
        let count = std::sync::atomic::AtomicU32::new(0);
        let add = || count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        thread::scope(|scope| [scope.spawn(add), scope.spawn(add)].map(drop));
    };
    assert_eq!(summary(counted_by_std), order);
    // There are as many as orders.
    let two = || {
        let count = raddle::sync::atomic::AtomicU32::new(0);
        let add = || count.fetch_add(1, raddle::sync::atomic::Ordering::SeqCst);
        thread::scope(|scope| [scope.spawn(add), scope.spawn(add)].map(drop));
    };
    assert_eq!(summary(two), "every behaviour was run: 2 classes");
}
