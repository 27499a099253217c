//! Random programs under a random walk, with and without the direct path of accesses, locks and lives of threads.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use super::{any, below, run};
use crate::base::ids::{LocationId, ObjectId, SiteId, ThreadId};
use crate::base::rng::Rng;
use crate::memory::Model;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::event::Event;
use crate::model::operation::{Operation, Update, UpdateKind};
use crate::object::{Call, Object, mutex};
use crate::world::strategy::{Capabilities, Dispatch, Strategy};
use crate::world::{State, Step, World};

const PROGRAMS: u64 = 300;
const THREADS: usize = 4;
/// Enough that some executions are long ones, which are watched for spin loops.
const MAX_OPERATIONS: u32 = 120;

/// A random walk; the one for users is above the world.
struct Walk(Rng);

impl Strategy for Walk {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let thread = any(&mut self.0, state);
        Ok(run(&mut self.0, state, thread))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SAMPLER
    }
}

impl Dispatch for Walk {
    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        Strategy::choose(self, state)
    }

    fn random_walk(&mut self) -> Option<&mut Rng> {
        Some(&mut self.0)
    }

    fn strategy(&self) -> &dyn Strategy {
        self
    }

    fn strategy_mut(&mut self) -> &mut dyn Strategy {
        self
    }
}

fn location(rng: &mut Rng) -> LocationId {
    LocationId::new(below(rng, 2) as usize)
}

fn operation(rng: &mut Rng, only_seq_cst: bool) -> Operation {
    let mut any = |orderings: [_; 3]| match only_seq_cst {
        true => SeqCst,
        false => orderings[below(rng, 3) as usize],
    };
    let load = any([Relaxed, Acquire, SeqCst]);
    let store = any([Relaxed, Release, SeqCst]);
    let update = any([Relaxed, AcqRel, SeqCst]);
    let value = u64::from(below(rng, 3));
    let kinds = [
        UpdateKind::Add(1),
        UpdateKind::CompareExchange {
            expected: value,
            new: value + 1,
            weak: below(rng, 2) == 1,
        },
    ];
    match below(rng, 8) {
        0..=2 => Operation::Load {
            location: location(rng),
            ordering: load,
        },
        3..=4 => Operation::Store {
            location: location(rng),
            ordering: store,
            value: Some(value),
        },
        5..=6 => Operation::Update {
            location: location(rng),
            ordering: update,
            failure: load,
            update: Update {
                kind: kinds[below(rng, 2) as usize],
                bits: 64,
            },
        },
        _ => Operation::Yield,
    }
}

/// Inserts critical sections of two mutexes, which may be nested.
fn with_locks(rng: &mut Rng, operations: Vec<Operation>) -> Vec<Operation> {
    let call = |mutex: usize, call| Operation::Call {
        object: ObjectId::new(mutex),
        call: Call::Mutex(call),
    };
    let (mut held, mut all) = (Vec::new(), Vec::new());
    for operation in operations {
        let mutex = below(rng, 2) as usize;
        match below(rng, 6) {
            0 if !held.contains(&mutex) => {
                held.push(mutex);
                all.push(call(mutex, mutex::Call::Lock));
            }
            1 | 2 => all.extend(
                (held.pop()).map(|mutex| call(mutex, mutex::Call::Unlock { poison: false })),
            ),
            _ => {}
        }
        all.push(operation);
    }
    all
}

/// Runs one execution; returns its events, preemptions and fingerprint, and whether all threads have ended.
fn execution(
    world: &mut World<Walk>,
    program: &[Vec<Operation>],
    is_direct: bool,
    watches: bool,
) -> (Vec<Event>, u32, u64, bool) {
    assert!(world.begin(SiteId::new(0)));
    world.add_location(0);
    world.add_location(0);
    for _ in 0..2 {
        world.add_object(Object::Mutex(mutex::Mutex::new(false)));
    }
    if watches {
        world.watch();
    }
    if !is_direct {
        world.looks_from = 0;
    }
    let mut done = [0_usize; THREADS];
    let mut step = world.advance();
    while let Step::Run(thread) = step {
        let next = done[thread.index()];
        done[thread.index()] += 1;
        let children = match thread {
            ThreadId::MAIN => THREADS - 1,
            _ => 0,
        };
        let own = &program[thread.index()];
        let operation = match next.checked_sub(children) {
            None => Some(Operation::Spawn),
            Some(next) if next < own.len() => Some(own[next]),
            // The first threads that main joins may have ended, and the others may not.
            Some(next) if next < own.len() + children => Some(Operation::Join {
                target: ThreadId::new(children - (next - own.len())),
            }),
            Some(_) => None,
        };
        let site = SiteId::new(next);
        step = match operation {
            Some(operation) => world.request(thread, operation, site),
            None => {
                world.announce_end(thread, site);
                world.advance()
            }
        };
    }
    let (execution, ending) = world.finish();
    let events = execution.events.to_vec();
    let ended = matches!(ending, Ending::Complete);
    (
        events,
        execution.preemptions,
        execution.fingerprint(),
        ended,
    )
}

#[test]
fn the_direct_path_performs_the_same_events() {
    let (mut most, mut deadlocks) = (0, 0);
    for seed in 0..PROGRAMS {
        let rng = &mut Rng::new(seed);
        let only_seq_cst = below(rng, 4) == 0;
        let watches = below(rng, 2) == 0;
        let locks = below(rng, 2) == 0;
        let model = [Model::Sc, Model::Rc11][below(rng, 2) as usize];
        let mut thread = || {
            let length = below(rng, MAX_OPERATIONS);
            let operations = (0..length).map(|_| operation(rng, only_seq_cst));
            let operations = operations.collect::<Vec<_>>();
            match locks {
                true => with_locks(rng, operations),
                false => operations,
            }
        };
        let program: Vec<_> = (0..THREADS).map(|_| thread()).collect();
        let world = || World::<Walk>::new(Walk(Rng::new(seed)), 10_000).under(model);
        let (mut direct, mut general) = (world(), world());
        // The first execution is a weak one, later ones only if the program is weak.
        for _ in 0..3 {
            let ours = execution(&mut direct, &program, true, watches);
            let expected = execution(&mut general, &program, false, watches);
            assert_eq!(
                format!("{:?}", ours.0),
                format!("{:?}", expected.0),
                "{seed}"
            );
            assert_eq!(
                (ours.1, ours.2, ours.3),
                (expected.1, expected.2, expected.3),
                "{seed}"
            );
            deadlocks += u32::from(!ours.3);
            most = most.max(ours.0.len());
        }
    }
    assert!(most > 256, "no execution was long: {most}");
    assert!(deadlocks > 10, "too few deadlocks: {deadlocks}");
}
