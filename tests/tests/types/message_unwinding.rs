//! Executions that stop early while messages are on their way: every message is dropped, once, and
//! every thread is unwound.

use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicIsize, Ordering::SeqCst};

use raddle::port::{self, Port};
use raddle::sync::mpsc;
use raddle::{Checker, FailureKind, Report, Strategy, thread};

/// Counts how many of its kind there are.
struct Token(StdArc<AtomicIsize>);

impl Token {
    fn new(alive: &StdArc<AtomicIsize>) -> Self {
        alive.fetch_add(1, SeqCst);
        Token(StdArc::clone(alive))
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Runs a program that is given tokens; afterwards there must be none, and no stack that had to be
/// dropped.
fn run(program: impl Fn(&dyn Fn() -> Token) + Send + Sync) -> Report {
    let alive = StdArc::new(AtomicIsize::new(0));
    let reports = [Strategy::Exhaustive, Strategy::Random].map(|strategy| {
        let checker = Checker::new().strategy(strategy).keep_going(true);
        checker
            .max_executions(500)
            .run(|| program(&|| Token::new(&alive)))
    });
    assert_eq!(alive.load(SeqCst), 0);
    for report in &reports {
        for failure in &report.failures {
            assert_eq!(failure.notes, [] as [String; 0], "{report}");
        }
    }
    let [report, _] = reports;
    assert!(report.exhausted, "{report}");
    report
}

fn is_deadlock(report: &Report) -> bool {
    report.failures.len() == 1 && report.failures[0].kind == FailureKind::Deadlock
}

#[test]
fn a_deadlock_among_ports() {
    let report = run(|token| {
        let ports = [Port::asynchronous(), Port::synchronous(), Port::bounded(1)];
        for port in &ports {
            let (sender, first, second) = (port.sender(), token(), token());
            thread::spawn(move || {
                sender.send(first);
                sender.send(second);
            });
        }
        let (_kept, never) = (token(), Port::<Token>::asynchronous());
        drop(raddle::select! {
            message = never.receive() => message,
        });
    });
    assert!(is_deadlock(&report), "{report}");
}

#[test]
fn a_deadlock_among_channels() {
    let report = run(|token| {
        let (unbounded, receiver) = mpsc::channel();
        let (waits, has_room) = mpsc::sync_channel(1);
        let (meets, nobody) = mpsc::sync_channel(0);
        unbounded.send(token()).unwrap();
        let messages = [token(), token(), token()];
        thread::spawn(move || {
            let [first, second, _kept] = messages;
            waits.send(first).unwrap();
            waits.send(second).unwrap();
        });
        let message = token();
        thread::spawn(move || meets.send(message).is_ok());
        drop(receiver.recv().unwrap());
        drop(receiver.recv().map(|message| (message, has_room, nobody)));
    });
    assert!(is_deadlock(&report), "{report}");
}

/// The threads wait for each other's ends to go, which they do when they are unwound.
#[test]
fn a_discarded_execution() {
    let report = run(|token| {
        let (sender, receiver) = mpsc::channel();
        let (meets, other) = mpsc::sync_channel(0);
        let port = Port::synchronous();
        let (to_port, messages) = (port.sender(), [token(), token(), token()]);
        thread::spawn(move || {
            let [first, second, third] = messages;
            sender.send(first).unwrap();
            let _ = meets.send(second);
            to_port.send(third);
        });
        drop(receiver.recv());
        raddle::assume(raddle::choose(0..3) == 0);
        drop(other.recv());
        raddle::assume(raddle::any());
        drop(port.receive());
    });
    report.assert_ok();
    assert!(report.executions > 0 && report.discarded > 0, "{report}");
}

/// Destructors that pass messages work while they are unwound, as far as a receiver is left.
#[test]
fn destructors_that_pass_messages() {
    struct Farewell {
        channel: mpsc::Sender<Token>,
        bounded: mpsc::SyncSender<Token>,
        port: port::Sender<Token>,
        messages: Vec<Token>,
    }
    impl Drop for Farewell {
        fn drop(&mut self) {
            let _ = self.channel.send(self.messages.pop().unwrap());
            let _ = self.bounded.try_send(self.messages.pop().unwrap());
            self.port.send(self.messages.pop().unwrap());
        }
    }
    struct Last(mpsc::Receiver<Token>);
    impl Drop for Last {
        fn drop(&mut self) {
            let _ = self.0.try_recv();
            self.0.iter().for_each(drop);
        }
    }
    let report = run(|token| {
        let (channel, receiver) = mpsc::channel();
        let (bounded, other) = mpsc::sync_channel(1);
        let port = Port::asynchronous();
        let farewell = Farewell {
            channel,
            bounded,
            port: port.sender(),
            messages: vec![token(), token(), token()],
        };
        let never = Port::<()>::asynchronous();
        thread::spawn(move || {
            let _last = (Last(receiver), Last(other));
            Port::<()>::asynchronous().receive();
        });
        let _farewell = farewell;
        never.receive();
    });
    assert!(is_deadlock(&report), "{report}");
}

/// A thread that panics hangs up like any other.
#[test]
fn a_panic_hangs_up() {
    let report = run(|token| {
        let (sender, receiver) = mpsc::channel();
        let (bounded, other) = mpsc::sync_channel(1);
        let message = token();
        let thread = thread::spawn(move || {
            let _bounded = bounded;
            sender.send(message).unwrap();
            panic!("goes away");
        });
        assert!(receiver.recv().is_ok());
        assert!(receiver.recv().is_err());
        assert!(other.recv().map(|token: Token| drop(token)).is_err());
        assert!(thread.join().is_err());
    });
    report.assert_ok();
}
