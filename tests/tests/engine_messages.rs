//! Messages in the exhaustive search against all schedules, on random scripts that run on the bare
//! engine: the same classes, none twice, no run in vain.

use std::collections::HashSet;

use fastrand::Rng;
use raddle_engine::object::{Object, port::Port};
use raddle_engine::strategy::{Dispatcher, Enumerate, Exhaustive};
use raddle_engine::{
    ClassEntry, Ending, LocationId, ObjectId, Operation, Ports, Received, SiteId, Step, Strategy,
    ThreadId, World,
};
use raddle_tests::suite::{Suite, Verdict};
use std::sync::atomic::Ordering::SeqCst;

/// What a thread of a script does. The last value it read or received steers what comes after.
#[derive(Clone, Copy, Debug)]
enum Statement {
    Load(usize),
    /// Stores the last value, plus one.
    Store(usize),
    Send(usize),
    /// To a synchronous port.
    SendAndWait(usize),
    /// From the thread's own unordered ports.
    Receive,
    ReceiveOrdered,
    TryReceiveOrdered,
    /// The thread's handle of the ordered port is gone.
    HangUp,
    /// Skips the next statement if the last value is odd.
    SkipIfOdd,
}

/// Port 0 is ordered, ports 1 and 2 are not; the first thread receives from all of them.
const PORTS: usize = 3;
const ORDERED: usize = 0;

#[derive(Clone, Debug)]
struct Script {
    threads: Vec<Vec<Statement>>,
    /// Which of the unordered ports are received from.
    listens: Vec<usize>,
}

impl Script {
    fn random(rng: &mut Rng) -> Self {
        let ordered = rng.bool();
        let listens = if rng.bool() { vec![1, 2] } else { vec![1] };
        let threads = (0..3)
            .map(|thread| {
                let mut statements: Vec<_> = (0..rng.usize(2..=3))
                    .map(|_| match (thread, rng.u8(..16)) {
                        (_, 0) => Statement::Load(0),
                        (_, 1) => Statement::Store(0),
                        (_, 2) => Statement::SkipIfOdd,
                        (0, 3..=8) if ordered => Statement::ReceiveOrdered,
                        (0, 9..=13) if ordered => Statement::TryReceiveOrdered,
                        (0, 3..=13) => Statement::Receive,
                        (_, 14..) if !ordered => Statement::SendAndWait(1),
                        _ if ordered => Statement::Send(ORDERED),
                        _ => Statement::Send(listens[rng.usize(..listens.len())]),
                    })
                    .collect();
                if ordered && rng.u8(..3) == 0 {
                    let sends = |one: &Statement| matches!(one, Statement::Send(ORDERED));
                    let first = statements.iter().rposition(sends).map_or(0, |at| at + 1);
                    statements.insert(rng.usize(first..=statements.len()), Statement::HangUp);
                }
                statements
            })
            .collect();
        Script { threads, listens }
    }
}

/// A running script.
struct Run<'a> {
    script: &'a Script,
    locations: Vec<LocationId>,
    handles: Vec<LocationId>,
    ports: Vec<ObjectId>,
    /// By port and number: the values of the messages.
    messages: Vec<Vec<u64>>,
    threads: Vec<Thread>,
}

#[derive(Clone, Default)]
struct Thread {
    begun: bool,
    position: usize,
    last: u64,
    sent: u64,
    waits_for: Option<usize>,
    operation: Option<Operation>,
}

impl Run<'_> {
    fn new<'a>(script: &'a Script, world: &mut World) -> Run<'a> {
        let senders = script.threads.len() as u32;
        Run {
            script,
            locations: (0..2).map(|_| world.add_location(0)).collect(),
            handles: script
                .threads
                .iter()
                .map(|_| world.add_location(0))
                .collect(),
            ports: (0..PORTS)
                .map(|port| match port {
                    ORDERED => world.add_object(Object::Port(Port::ordered(senders))),
                    _ => world.add_object(Object::Port(Port::unordered())),
                })
                .collect(),
            messages: vec![Vec::new(); PORTS],
            threads: vec![Thread::default(); script.threads.len() + 1],
        }
    }

    /// The thread learns what became of its operation.
    fn learn(&mut self, thread: usize, world: &World) {
        let reply = world.reply(ThreadId::new(thread));
        let Some(operation) = self.threads[thread].operation.take() else {
            return;
        };
        match operation {
            Operation::Load { .. } => self.threads[thread].last = reply.to_value(),
            Operation::Send { port } => {
                let port = self.ports.iter().position(|&one| one == port).unwrap();
                let me = &mut self.threads[thread];
                me.sent += 1;
                let value = (thread as u64 * 3 + me.sent) << 1 | me.last & 1;
                let messages = &mut self.messages[port];
                assert_eq!(messages.len() as u64, reply.to_value());
                messages.push(value >> 1);
            }
            Operation::Receive { ports, .. } => {
                let list = world.state().execution().port_list(&ports).to_vec();
                self.threads[thread].last = match reply.to_received() {
                    Received::Message { port, number } => {
                        let port = list[port as usize];
                        let port = self.ports.iter().position(|&one| one == port).unwrap();
                        self.messages[port][number as usize]
                    }
                    Received::Empty => 100,
                    Received::Closed => 101,
                };
            }
            _ => {}
        }
    }

    /// What the thread does next.
    fn next(&mut self, thread: usize, world: &mut World) -> Operation {
        let operation = self.decide(thread, world);
        self.threads[thread].operation = Some(operation);
        operation
    }

    fn decide(&mut self, thread: usize, world: &mut World) -> Operation {
        let me = &mut self.threads[thread];
        if thread == 0 {
            me.position += 1;
            let count = self.script.threads.len();
            return match me.position {
                position if position <= count => Operation::Spawn,
                _ => Operation::End,
            };
        }
        if let Some(port) = me.waits_for.take() {
            return Operation::Delivered {
                port: self.ports[port],
            };
        }
        let statements = &self.script.threads[thread - 1];
        loop {
            let Some(&statement) = statements.get(me.position) else {
                return Operation::End;
            };
            me.position += 1;
            return match statement {
                Statement::SkipIfOdd => {
                    me.position += (me.last % 2) as usize;
                    continue;
                }
                Statement::Load(location) => Operation::Load {
                    location: self.locations[location],
                    ordering: SeqCst,
                },
                Statement::Store(location) => Operation::Store {
                    location: self.locations[location],
                    ordering: SeqCst,
                    value: Some(me.last + 1),
                },
                Statement::Send(port) => Operation::Send {
                    port: self.ports[port],
                },
                Statement::SendAndWait(port) => {
                    me.waits_for = Some(port);
                    Operation::Send {
                        port: self.ports[port],
                    }
                }
                Statement::Receive => {
                    let ports: Vec<_> =
                        self.script.listens.iter().map(|&p| self.ports[p]).collect();
                    let ports = match ports[..] {
                        [one] => Ports::One(one),
                        _ => Ports::Any(world.add_ports(&ports)),
                    };
                    Operation::Receive { ports, wait: true }
                }
                Statement::ReceiveOrdered | Statement::TryReceiveOrdered => Operation::Receive {
                    ports: Ports::One(self.ports[ORDERED]),
                    wait: matches!(statement, Statement::ReceiveOrdered),
                },
                Statement::HangUp => Operation::HangUp {
                    port: self.ports[ORDERED],
                    location: self.handles[thread - 1],
                },
            };
        }
    }
}

/// Runs the script under the strategy; gives every execution's class to `seen`. `false` if there
/// are too many.
fn explore(
    script: &Script,
    strategy: impl Strategy + 'static,
    mut seen: impl FnMut(Vec<ClassEntry>),
) -> bool {
    let site = SiteId::new(0);
    let mut world = World::new(Dispatcher::other(strategy), 10_000);
    let mut executions = 0;
    while world.begin(site) {
        executions += 1;
        if executions > 20_000 {
            return false;
        }
        let mut run = Run::new(script, &mut world);
        let mut step = world.advance();
        while let Step::Run(thread) = step {
            let index = thread.index();
            if std::mem::replace(&mut run.threads[index].begun, true) {
                run.learn(index, &world);
            }
            let operation = run.next(index, &mut world);
            step = world.request(thread, operation, site);
        }
        let (execution, ending) = world.finish();
        assert!(
            matches!(ending, Ending::Complete | Ending::Deadlock),
            "{ending:?}\n{script:?}"
        );
        seen(execution.class());
    }
    true
}

fn compare(script: &Script) -> Option<usize> {
    let mut all = HashSet::new();
    if !explore(script, Enumerate::private_first(), |class| {
        all.insert(class);
    }) {
        return None;
    }
    let mut found = HashSet::new();
    explore(script, Exhaustive::new(), |class| {
        assert!(found.insert(class.clone()), "twice: {class:?}\n{script:?}");
    });
    let missing: Vec<_> = all.difference(&found).collect();
    let invented: Vec<_> = found.difference(&all).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "{} classes, {} missing, {} invented\n{script:?}\n{missing:?}",
        all.len(),
        missing.len(),
        invented.len()
    );
    Some(all.len())
}

#[test]
fn every_class_once() {
    let (mut classes, mut several) = (0, 0);
    let programs = Suite::new(150, 1).run(Script::random, |script, _| {
        let Some(count) = compare(script) else {
            return Verdict::Skipped;
        };
        classes += count;
        several += u64::from(count > 3);
        Verdict::Agreed
    });
    println!("{classes} classes");
    assert!(several * 4 > programs, "the programs are too simple");
}
