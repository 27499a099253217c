//! Stores that the program performs by itself, whose values the engine learns afterwards: the search has
//! the same classes as with values that are known before, and as all schedules have.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::SeqCst;

use fastrand::Rng;
use raddle_engine::strategy::{Dispatcher, Enumerate, Exhaustive};
use raddle_engine::{
    ClassEntry, Ending, LocationId, Operation, SiteId, Step, ThreadId, Update, UpdateKind, World,
};

#[derive(Clone, Copy, Debug)]
enum Statement {
    Load(usize),
    /// Stores the last value that the thread read, plus one.
    Store(usize),
    Add(usize),
    /// Expects the last value that the thread read.
    Exchange(usize),
}

type Script = Vec<Vec<Statement>>;

#[derive(Clone, Default)]
struct Thread {
    begun: bool,
    position: usize,
    last: u64,
    operation: Option<Operation>,
    stored: u64,
}

fn random(rng: &mut Rng) -> Script {
    let statement = |rng: &mut Rng| {
        let location = rng.usize(..2);
        match rng.u8(..4) {
            0 => Statement::Load(location),
            1 => Statement::Store(location),
            2 => Statement::Add(location),
            _ => Statement::Exchange(location),
        }
    };
    let thread = |rng: &mut Rng| (0..3).map(|_| statement(rng)).collect();
    (0..2).map(|_| thread(rng)).collect()
}

/// Returns the next operation of a thread; `is_known` says if stores have their values.
fn next(
    thread: usize,
    me: &mut Thread,
    script: &Script,
    locations: &[LocationId],
    is_known: bool,
) -> Operation {
    me.position += 1;
    if thread == 0 {
        return match me.position <= script.len() {
            true => Operation::Spawn,
            false => Operation::End,
        };
    }
    let Some(statement) = script[thread - 1].get(me.position - 1) else {
        return Operation::End;
    };
    let update = |location: usize, kind| Operation::Update {
        location: locations[location],
        ordering: SeqCst,
        failure: SeqCst,
        update: Update { kind, bits: 64 },
    };
    match *statement {
        Statement::Load(location) => Operation::Load {
            location: locations[location],
            ordering: SeqCst,
        },
        Statement::Store(location) => {
            me.stored = me.last + 1;
            Operation::Store {
                location: locations[location],
                ordering: SeqCst,
                value: is_known.then_some(me.stored),
            }
        }
        Statement::Add(location) => update(location, UpdateKind::Add(10)),
        Statement::Exchange(location) => {
            let (expected, new, weak) = (me.last, me.last + 100, false);
            update(
                location,
                UpdateKind::CompareExchange {
                    expected,
                    new,
                    weak,
                },
            )
        }
    }
}

/// Classes, each with the values that its execution read.
type Seen = BTreeSet<(Vec<ClassEntry>, Vec<u64>)>;

/// Runs the script; returns the classes and the values that each execution read.
fn explore(script: &Script, strategy: impl Into<Dispatcher>, is_known: bool) -> (usize, Seen) {
    let site = SiteId::new(0);
    let mut world = World::new(strategy, 10_000);
    let (mut executions, mut seen) = (0, BTreeSet::new());
    while world.begin(site) {
        executions += 1;
        let locations: Vec<LocationId> = (0..2).map(|_| world.add_location(0)).collect();
        let mut threads = vec![Thread::default(); script.len() + 1];
        let mut step = world.advance();
        while let Step::Run(thread) = step {
            let index = thread.index();
            let me = &mut threads[index];
            if std::mem::replace(&mut me.begun, true) {
                match me.operation.take() {
                    Some(Operation::Load { .. } | Operation::Update { .. }) => {
                        me.last = world.reply(thread).to_value();
                    }
                    Some(Operation::Store {
                        location,
                        value: None,
                        ..
                    }) => world.set_stored_value(location, me.stored),
                    _ => {}
                }
            }
            let operation = next(index, me, script, &locations, is_known);
            me.operation = Some(operation);
            step = world.request(ThreadId::new(index), operation, site);
        }
        let (execution, ending) = world.finish();
        assert_eq!(*ending, Ending::Complete, "{script:?}");
        let class = execution.class();
        let last = threads.iter().map(|thread| thread.last);
        seen.insert((class, last.collect()));
    }
    (executions, seen)
}

#[test]
fn values_that_are_learned_afterwards_change_no_class() {
    let mut rng = Rng::with_seed(7);
    let mut classes = 0;
    for _ in 0..60 {
        let script = random(&mut rng);
        let (runs, known) = explore(&script, Exhaustive::new(), true);
        let (own_runs, learned) = explore(&script, Exhaustive::new(), false);
        assert_eq!(runs, known.len(), "no class twice: {script:?}");
        assert_eq!((own_runs, &learned), (runs, &known), "{script:?}");
        let (_, all) = explore(&script, Dispatcher::other(Enumerate::private_first()), true);
        assert_eq!(known, all, "{script:?}");
        classes += known.len();
    }
    assert!(classes > 200, "{classes} classes");
}
