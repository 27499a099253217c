//! Data races by the axioms, and as raddle finds them.
//!
//! The variable [`Z`] represents a cell. By the axioms its accesses are relaxed and order nothing,
//! and they race if one is a write and neither happens before the other. Under raddle they are
//! accesses of an `UnsafeCell`, each after a yield, so that events have the same names.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use fastrand::Rng;
use raddle::cell::UnsafeCell;
use raddle::sync::Arc;
use raddle::sync::atomic::AtomicI32;
use raddle::{Checker, Memory, Strategy, thread};

use super::graph::{EventKind, Graph};
use super::program::{self, LOCATIONS, Litmus, Operation, REGISTERS, Statement, X, Z};
use super::{Class, Model, candidate, name, run};

/// Classes, without decisions about the cell, and true for those with a race.
pub type Racy = HashMap<Class, bool>;

/// Returns the program with accesses of the cell in random places.
pub fn with_cell(litmus: &Litmus, rng: &mut Rng) -> Litmus {
    litmus.rewritten(|statement| {
        let mut statement = statement.clone();
        if let Statement::Perform(_, operation) = &mut statement {
            operation.visit(|location| {
                if *location == Z {
                    *location = X;
                }
            });
        }
        let access = match rng.u32(0..6) {
            0 => Statement::Perform(None, Operation::Load(Z, Relaxed)),
            1 => program::store(Z, 1, Relaxed),
            _ => return vec![statement],
        };
        match rng.bool() {
            true => vec![access, statement],
            false => vec![statement, access],
        }
    })
}

/// Returns the races by the axioms.
pub fn expected(litmus: &Litmus, model: Model) -> Racy {
    let mut racy = Racy::new();
    let candidates = candidate::candidates(litmus, usize::MAX).expect("no limit");
    for candidate in candidates {
        let graph = Graph::new(&candidate);
        let hb = graph.happens_before();
        let is_cell = |event: usize| {
            let kind = graph.events[event].kind;
            let named = graph.events[event].name.is_some();
            named
                && matches!(kind, EventKind::Read(location) | EventKind::Write(location) if location == Z)
        };
        let writes = |event: usize| matches!(graph.events[event].kind, EventKind::Write(_));
        let events = || (0..graph.events.len()).filter(|&event| is_cell(event));
        let races = |a: usize, b: usize| {
            (writes(a) || writes(b)) && a != b && !hb.has(a, b) && !hb.has(b, a)
        };
        let has_race = events().any(|a| events().any(|b| races(a, b)));
        for mo in graph.coherence_orders() {
            let consistent = match model {
                Model::Sc => graph.is_sequentially_consistent(&mo),
                Model::Rc11 => graph.is_rc11(&hb, &mo),
                Model::Rc11Paper => graph.is_rc11_of_the_paper(&hb, &mo),
            };
            if !consistent {
                continue;
            }
            let (mut class, _) = name(&graph, &mo);
            for event in events() {
                class.remove(&graph.events[event].name.expect("it has one"));
            }
            let known = racy.insert(class, has_race);
            assert!(known.is_none_or(|known| known == has_race), "{litmus}");
        }
    }
    racy
}

struct World {
    variables: [AtomicI32; LOCATIONS],
    cell: UnsafeCell<i32>,
}

// SAFETY: `Sync` needs exclusion between OS threads: one runs everything. Races of modelled threads
// are the subject of the test.
unsafe impl Sync for World {}

impl World {
    fn perform(&self, operation: Operation<i32>) -> i32 {
        match operation {
            Operation::Load(Z, _) => {
                thread::yield_now();
                // SAFETY: one OS thread runs everything, so no other access happens during this
                // one.
                self.cell.with(|value| unsafe { *value })
            }
            Operation::Store(Z, new, _) => {
                thread::yield_now();
                // SAFETY: one OS thread runs everything, so no other access happens during this
                // one.
                self.cell.with_mut(|value| unsafe { *value = new });
                0
            }
            operation => run::perform(&self.variables, operation),
        }
    }

    fn run(self: &Arc<Self>, registers: &mut [i32; REGISTERS], statements: &[Statement]) {
        program::run(statements, registers, &mut |operation| {
            Some(self.perform(operation))
        });
    }
}

/// Returns the races that raddle finds by running every class; `None` if the search does not end.
pub fn observed(litmus: &Litmus, model: Model, strategy: Strategy) -> Option<Racy> {
    let memory = match model {
        Model::Sc => Memory::Sc,
        Model::Rc11 => Memory::Rc11,
        Model::Rc11Paper => Memory::Rc11Paper,
    };
    let checker = Checker::new()
        .memory(memory)
        .strategy(strategy)
        .max_executions(20_000)
        .keep_going(true)
        .shorten(false);
    let body = || {
        let world = Arc::new(World {
            variables: Default::default(),
            cell: UnsafeCell::new(0),
        });
        let mut registers = [0; REGISTERS];
        world.run(&mut registers, &litmus.before);
        let threads = litmus.threads.iter().map(|body| {
            let (world, body) = (Arc::clone(&world), body.clone());
            thread::spawn(move || world.run(&mut [0; REGISTERS], &body))
        });
        let threads: Vec<_> = threads.collect();
        world.run(&mut registers, &litmus.beside);
        for thread in threads {
            thread.join().unwrap();
        }
        world.run(&mut registers, &litmus.after);
    };
    let mut racy = Racy::new();
    let report = raddle::__private::run_observed(checker, body, &mut |execution| {
        let has_race = execution.conflict.is_some();
        let known = racy.insert(run::name(execution).0, has_race);
        assert!(known.is_none_or(|known| known == has_race), "{litmus}");
    });
    let races = |failure: &raddle::Failure| failure.kind == raddle::FailureKind::DataRace;
    assert!(report.failures.iter().all(races), "{report}");
    assert_eq!(!report.failures.is_empty(), racy.values().any(|&racy| racy));
    report.exhausted.then_some(racy)
}
