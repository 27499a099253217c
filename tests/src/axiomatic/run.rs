//! Litmus programs under raddle.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use raddle::sync::Arc;
use raddle::sync::atomic::{self, AtomicI32};
use raddle::{Checker, Classes, Memory, Strategy, thread};
use raddle_engine::{ClassEntry, Execution, Operation as Performed, ThreadPath};

use super::program::{self, LOCATIONS, Litmus, Operation, REGISTERS, Statement};
use super::{Class, Model};

/// The classes that raddle ran.
#[derive(Debug, Default)]
pub struct Observed {
    /// Every class with its number of executions.
    pub classes: HashMap<Class, u64>,
    /// The classes without the writes.
    pub reads_from: HashSet<Class>,
}

/// The models that raddle has.
pub const MODELS: [Model; 3] = [Model::Sc, Model::Rc11, Model::Rc11Paper];

/// The strategies that run every class: once only, in one order or another, or in every schedule.
pub const STRATEGIES: [Strategy; 3] = [
    Strategy::Exhaustive,
    Strategy::Auto,
    Strategy::EnumeratePrivateFirst,
];

/// Runs the program to its end under a model and a strategy; `None` if that takes more executions
/// than `max_executions`. Returns other failures as an error.
pub fn observe(
    litmus: &Litmus,
    model: Model,
    strategy: &Strategy,
    max_executions: u64,
) -> Result<Option<Observed>, String> {
    let memory = match model {
        Model::Sc => Memory::Sc,
        Model::Rc11 => Memory::Rc11,
        Model::Rc11Paper => Memory::Rc11Paper,
    };
    // `Auto` does not run uncounted executions.
    let counts = match strategy {
        Strategy::Auto => Classes::ReadsFromAndCoherence,
        _ => Classes::ReadsFrom,
    };
    let checker = Checker::new()
        .memory(memory)
        .classes(counts)
        .strategy(strategy.clone())
        .max_executions(max_executions)
        .keep_going(true)
        .shorten(false);
    let mut observed = Observed::default();
    let report = catch_unwind(AssertUnwindSafe(|| {
        raddle::__private::run_observed(checker, || run(litmus), &mut |execution| {
            let (class, reads) = name(execution);
            *observed.classes.entry(class).or_default() += 1;
            observed.reads_from.insert(reads);
        })
    }));
    let report = report.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.unwrap_or_else(|| "the check panicked".to_owned())
    })?;
    let (counted, named) = match counts {
        Classes::ReadsFrom => (report.classes(), observed.reads_from.len()),
        _ => (report.classes(), observed.classes.len()),
    };
    if counted != named as u64 {
        return Err(format!("{counted} classes were counted, not {named}"));
    }
    match report.failures.first() {
        Some(failure) => Err(failure.to_string()),
        None => Ok(report.exhausted.then_some(observed)),
    }
}

/// Returns the name of the class of an execution, and the part of it about reads.
pub(super) fn name(execution: &Execution) -> (Class, Class) {
    let short = |(path, index): &(ThreadPath, u32)| (number(path), *index);
    let mut class = Class::new();
    for entry in execution.class() {
        let ClassEntry {
            event,
            source,
            outcome,
        } = entry;
        assert!(outcome.is_first(), "no litmus program leaves a choice");
        let twice = class.insert(short(&event), source.as_ref().map(short));
        assert_eq!(twice, None, "two decisions of one event");
    }
    let mut reads = class.clone();
    for event in &execution.events {
        if matches!(event.operation, Performed::Store { .. }) {
            let thread = number(&execution.path(event.id.thread));
            reads.remove(&(thread, event.id.index));
        }
    }
    (class, reads)
}

/// Returns the number of a thread: main is 0, and it starts all the others.
fn number(path: &ThreadPath) -> usize {
    match path.steps() {
        [] => 0,
        [child] => *child as usize,
        _ => panic!("only main starts threads"),
    }
}

type Variables = [AtomicI32; LOCATIONS];

/// Runs the program once, inside a check.
fn run(litmus: &Litmus) {
    let variables = Arc::<Variables>::default();
    let mut registers = [0; REGISTERS];
    let mut main = |statements: &[Statement]| {
        program::run(statements, &mut registers, &mut |operation| {
            Some(perform(&variables, operation))
        });
    };
    main(&litmus.before);
    let threads: Vec<_> = litmus
        .threads
        .iter()
        .map(|body| {
            let (variables, body) = (Arc::clone(&variables), body.clone());
            thread::spawn(move || {
                program::run(&body, &mut [0; REGISTERS], &mut |operation| {
                    Some(perform(&variables, operation))
                });
            })
        })
        .collect();
    main(&litmus.beside);
    for thread in threads {
        thread.join().unwrap();
    }
    main(&litmus.after);
}

/// Performs an operation and returns the value read.
pub(super) fn perform(variables: &Variables, operation: Operation<i32>) -> i32 {
    match operation {
        Operation::Load(x, ordering) => variables[x.0].load(ordering),
        Operation::Store(x, value, ordering) => {
            variables[x.0].store(value, ordering);
            0
        }
        Operation::FetchAdd(x, value, ordering) => variables[x.0].fetch_add(value, ordering),
        Operation::Swap(x, value, ordering) => variables[x.0].swap(value, ordering),
        Operation::CompareExchange(x, expected, new, success, failure) => variables[x.0]
            .compare_exchange(expected, new, success, failure)
            .unwrap_or_else(|found| found),
        Operation::Fence(ordering) => {
            atomic::fence(ordering);
            0
        }
    }
}
