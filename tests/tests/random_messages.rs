//! Random programs that pass messages, through channels of every kind and through ports: the search
//! against plain enumeration, as in `brute_force.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use raddle::port::{self, Port};
use raddle::sync::mpsc;
use raddle::{Checker, Memory, Strategy, thread};
use raddle_tests::alternatives;
use raddle_tests::bounded::{Counts, add, same_costs};
use raddle_tests::compare::{assert_same, same_classes, search, walk};
use raddle_tests::resumed::in_pieces;
use raddle_tests::suite::{Suite, Verdict};

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 10_000;

/// What a thread with a sender does.
#[derive(Clone, Copy, Debug)]
enum Sending {
    Send,
    /// In a bounded channel; elsewhere as `Send`.
    TrySend,
    /// Through a new sender, which is gone afterwards.
    SendByClone,
    /// Another thread sends, through a new sender.
    Spawn,
    /// Leaves the sender to itself for good.
    Forget,
}

/// What the thread with the receivers does.
#[derive(Clone, Copy, Debug)]
enum Receiving {
    Receive,
    TryReceive,
    ReceiveTimeout,
    Other,
    /// From either.
    Select,
    /// Receives no more.
    Leave,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Unbounded,
    /// The messages have destructors that others notice.
    Heavy,
    Bounded(usize),
    Ports,
}

#[derive(Clone, Debug)]
struct Program {
    kind: Kind,
    timeouts: bool,
    senders: Vec<Vec<Sending>>,
    receiver: Vec<Receiving>,
}

impl Program {
    fn random(rng: &mut Rng) -> Self {
        let kind = match rng.u32(0..8) {
            0..2 => Kind::Unbounded,
            2 => Kind::Heavy,
            3 => Kind::Bounded(0),
            4 => Kind::Bounded(1),
            5 => Kind::Bounded(2),
            _ => Kind::Ports,
        };
        let senders = rng.usize(1..=2);
        let longest = 4 - senders;
        let sending = |rng: &mut Rng| match rng.u32(0..10) {
            0..5 => Sending::Send,
            5..7 => Sending::TrySend,
            7 => Sending::SendByClone,
            8 => Sending::Spawn,
            _ => Sending::Forget,
        };
        let receiving = |rng: &mut Rng| match rng.u32(0..12) {
            0..4 => Receiving::Receive,
            4..6 => Receiving::TryReceive,
            6 => Receiving::ReceiveTimeout,
            7 => Receiving::Other,
            8..11 => Receiving::Select,
            _ => Receiving::Leave,
        };
        let mut some = |longest: usize| rng.usize(1..=longest);
        let lengths: Vec<usize> = (0..senders).map(|_| some(longest)).collect();
        let receives = some(3);
        Program {
            kind,
            timeouts: rng.bool(),
            senders: (lengths.into_iter())
                .map(|length| (0..length).map(|_| sending(rng)).collect())
                .collect(),
            receiver: (0..receives).map(|_| receiving(rng)).collect(),
        }
    }

    fn run(&self) {
        match self.kind {
            Kind::Unbounded => self.channel(mpsc::channel(), send, send, || ()),
            Kind::Heavy => {
                let (noticed, notices) = mpsc::channel();
                self.channel(mpsc::channel(), send, send, || noticed.clone());
                drop(noticed);
                while let Ok(()) = notices.recv() {}
            }
            Kind::Bounded(bound) => {
                let send = |end: &mpsc::SyncSender<()>, message| _ = end.send(message);
                let try_send = |end: &mpsc::SyncSender<()>, message| _ = end.try_send(message);
                self.channel(mpsc::sync_channel(bound), send, try_send, || ());
            }
            Kind::Ports => self.ports(),
        }
    }

    /// Runs the program on a channel; main receives.
    fn channel<S: Clone + Send + 'static, T: Send + 'static>(
        &self,
        (sender, receiver): (S, mpsc::Receiver<T>),
        send: fn(&S, T),
        try_send: fn(&S, T),
        message: impl Fn() -> T,
    ) {
        let ends = self.senders.iter().map(|body| {
            let messages: Vec<T> = body.iter().map(|_| message()).collect();
            (sender.clone(), body.clone(), messages)
        });
        let ends: Vec<_> = ends.collect();
        drop(sender);
        for (sender, body, messages) in ends {
            thread::spawn(move || {
                for (sending, message) in body.into_iter().zip(messages) {
                    match sending {
                        Sending::Send => send(&sender, message),
                        Sending::TrySend => try_send(&sender, message),
                        Sending::SendByClone => send(&sender.clone(), message),
                        Sending::Spawn => {
                            let sender = sender.clone();
                            thread::spawn(move || send(&sender, message));
                        }
                        Sending::Forget => return std::mem::forget(sender),
                    }
                }
            });
        }
        for receiving in &self.receiver {
            match receiving {
                Receiving::Receive | Receiving::Other => _ = receiver.recv(),
                Receiving::TryReceive | Receiving::Select => _ = receiver.try_recv(),
                Receiving::ReceiveTimeout => _ = receiver.recv_timeout(Duration::ZERO),
                Receiving::Leave => break,
            }
        }
    }

    /// Runs the program on two ports, one asynchronous and one synchronous; main receives.
    fn ports(&self) {
        let (left, right) = (Port::asynchronous(), Port::synchronous());
        for (number, body) in self.senders.iter().enumerate() {
            let mut ends: Vec<port::Sender<u32>> = vec![left.sender(), right.sender()];
            ends.rotate_left(number % 2);
            let body = body.clone();
            thread::spawn(move || {
                for sending in body {
                    match sending {
                        Sending::Send | Sending::Forget => ends[0].send(1),
                        Sending::TrySend | Sending::SendByClone => ends[1].clone().send(2),
                        Sending::Spawn => {
                            let end = ends[0].clone();
                            thread::spawn(move || end.send(3));
                        }
                    }
                }
            });
        }
        for receiving in &self.receiver {
            match receiving {
                Receiving::Receive => _ = left.receive(),
                Receiving::Other => _ = right.receive(),
                Receiving::Leave => break,
                _ => raddle::select! {
                    _ = left.receive() => {}
                    _ = right.receive() => {}
                },
            }
        }
    }
}

fn send<T>(sender: &mpsc::Sender<T>, message: T) {
    let _ = sender.send(message);
}

fn checker(program: &Program) -> Checker {
    Checker::new().timeouts(program.timeouts)
}

#[test]
fn random_programs_have_the_same_classes_as_all_their_schedules() {
    let (mut total, mut largest) = (0, 0);
    let mut by_kind = BTreeMap::<Kind, u64>::new();
    Suite::new(60, 1).run(Program::random, |program, _| {
        let found = same_classes(&checker(program), MAX_SCHEDULES, || program.run());
        let Some(found) = found else {
            return Verdict::Skipped;
        };
        total += found;
        largest = largest.max(found);
        *by_kind.entry(program.kind).or_default() += 1;
        Verdict::Agreed
    });
    println!("{total} classes, at most {largest} in one; {by_kind:?}");
}

#[test]
fn searches_in_pieces_by_several_workers_and_in_any_order_have_the_same_classes() {
    Suite::new(10, 6).run(Program::random, |program, rng| {
        let checker = checker(program);
        let expected = search(checker.clone(), || program.run()).0;
        if !(2..100).contains(&expected.len()) {
            return Verdict::Skipped;
        }
        for executions in [1, 7] {
            assert_same(
                &expected,
                &in_pieces(&checker, executions, || program.run()),
            );
        }
        let several = search(checker.clone().workers(3), || program.run()).0;
        assert_same(&expected, &several);
        let scattered = checker.strategy(Strategy::Auto).seed(rng.u64(..));
        assert_same(&expected, &walk(scattered, || program.run()).0);
        Verdict::Agreed
    });
}

#[test]
fn random_programs_cost_what_their_schedules_cost() {
    let mut sums = Counts::default();
    Suite::new(30, 1).run(Program::random, |program, _| {
        let most = MAX_SCHEDULES / 5;
        let counts = same_costs(&checker(program), Memory::Sc, most, || program.run());
        counts.map(|counts| add(&mut sums, counts)).into()
    });
    println!("classes within 0, 1, … preemptions: {sums:?}");
}

#[test]
fn what_receives_are_offered_is_what_happens() {
    let (mut receives, mut alternatives) = (0, 0);
    Suite::new(30, 4).run(Program::random, |program, _| {
        // The drop of a message that is never received is no event.
        if program.kind == Kind::Heavy {
            return Verdict::Skipped;
        }
        let run = || program.run();
        let counts = alternatives::compared(&checker(program), Memory::Sc, MAX_SCHEDULES, run);
        let counts = counts.map(|counts| {
            receives += counts.receives;
            alternatives += counts.alternatives;
        });
        counts.into()
    });
    println!("{receives} receives, {alternatives} alternatives");
    assert!(alternatives > receives, "somebody has a choice");
}

#[test]
fn classes_have_the_orders_of_all_their_schedules() {
    let mut exact = 0;
    let suite = Suite::new(30, 22);
    suite.run(Program::random, |program, _| {
        let compared =
            crate::class_orders::compared(&checker(program), Memory::Rc11, || program.run());
        exact += u32::from(compared.is_some_and(|(is_exact, _)| is_exact));
        compared.map(|_| ()).into()
    });
    println!("{exact} programs with exact orders");
    assert!(!suite.is_usual() || exact > 20);
}
