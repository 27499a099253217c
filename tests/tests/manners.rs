//! Access manners, race-equivalent groups and predicted races, against published examples and against the search of
//! every class.
//!
//! The examples are those of Setiadi (*Debugging and Testing Concurrent Programs with Efficient Test Case Generation*,
//! 2015), each as a program of our own.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex as StdMutex, PoisonError};

use fastrand::Rng;
use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{
    AtomicI32,
    Ordering::{Relaxed, SeqCst},
};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, Classes, FailureKind, Level, Memory, Report, Strategy, thread};
use raddle_engine::manners::{Decided, Kind, Traced, predict};
use raddle_engine::{Execution, Operation};
use raddle_tests::suite::{Suite, Verdict};

/// A variable of the program under test.
#[derive(Default)]
struct Shared(UnsafeCell<i32>);

// SAFETY: `Sync` needs exclusion between OS threads: one runs everything. Races of modelled threads are the subject of
// the tests.
unsafe impl Sync for Shared {}

impl Shared {
    #[track_caller]
    fn get(&self) -> i32 {
        // SAFETY: one OS thread runs everything, so no other access happens during this one.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    fn set(&self, new: i32) {
        // SAFETY: one OS thread runs everything, so no other access happens during this one.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}

/// Runs every class of a program, or every schedule, and passes the executions on. Their accesses are kept.
fn run_all(
    strategy: Strategy,
    program: impl Fn() + Sync,
    mut each: impl FnMut(&Execution) + Send,
) -> Report {
    let checker = Checker::new()
        .strategy(strategy)
        .memory(Memory::Sc)
        .keep_going(true)
        .shorten(false)
        .predictions(Level::Warn)
        .lock_order(Level::Allow);
    let report = raddle::__private::run_observed(checker, &program, &mut each);
    assert!(report.exhausted, "{report}");
    report
}

/// Runs every class; returns their number and that of race-equivalent groups.
fn classes_and_groups(program: impl Fn() + Sync) -> (u64, usize) {
    let mut decided = Decided::default();
    let report = run_all(Strategy::Exhaustive, program, |execution| {
        decided.look(execution);
    });
    (report.executions, decided.groups())
}

/// Returns the number of orders of those events of all schedules that are wanted.
fn interleavings(program: impl Fn() + Sync, wanted: fn(&Operation) -> bool) -> usize {
    let mut orders = BTreeSet::new();
    run_all(Strategy::Enumerate, program, |execution| {
        let events = execution.events.iter();
        let wanted = events.filter(|event| wanted(&event.operation));
        orders.insert(wanted.map(|event| event.id).collect::<Vec<_>>());
    });
    orders.len()
}

/// Runs two threads on a value made anew in every execution.
fn two<T: Default + Send + Sync + 'static>(first: fn(&T), second: fn(&T)) {
    let shared = Arc::new(T::default());
    let other = Arc::clone(&shared);
    let one = thread::spawn(move || first(&other));
    let two = thread::spawn(move || second(&shared));
    one.join().unwrap();
    two.join().unwrap();
}

/// A step of the examples that is no operation of raddle's: an access, or the evaluation of a condition.
fn step() {
    thread::yield_now();
}

fn is_step_or_call(operation: &Operation) -> bool {
    matches!(operation, Operation::Yield | Operation::Call { .. })
}

#[test]
fn lost_update_has_three_values_and_one_group() {
    fn add<const BY: i32>(x: &Shared) {
        step();
        let value = x.get();
        step();
        x.set(value + BY);
    }
    let program = || two::<Shared>(add::<1>, add::<-1>);
    assert_eq!(interleavings(program, is_step_or_call), 6);
    let mut decided = Decided::default();
    let mut races = Vec::new();
    run_all(Strategy::Enumerate, program, |execution| {
        assert!(execution.conflict.is_some(), "a race in every interleaving");
        races.extend(decided.look(execution).races);
    });
    assert_eq!(decided.groups(), 1);
    // Each write races with both accesses of the other thread.
    assert_eq!(races.len(), 3);

    // As atomics, so that the search orders the accesses.
    fn update<const BY: i32>(x: &AtomicI32) {
        x.store(x.load(Relaxed) + BY, Relaxed);
    }
    let values = StdMutex::new(BTreeSet::new());
    let classes = [Classes::ReadsFromAndCoherence, Classes::ReadsFrom].map(|classes| {
        let checker = Checker::new()
            .strategy(Strategy::Exhaustive)
            .memory(Memory::Sc);
        let report = checker.classes(classes).run(|| {
            let x = Arc::new(AtomicI32::new(10));
            let threads: [fn(&AtomicI32); 2] = [update::<1>, update::<-1>];
            let threads = threads.map(|update| {
                let x = Arc::clone(&x);
                thread::spawn(move || update(&x))
            });
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
            let mut values = values.lock().unwrap_or_else(PoisonError::into_inner);
            values.insert(x.load(Relaxed));
        });
        report.executions
    });
    // Conflict orders, and reads-from classes with the final read: the published 3 are those of the two threads
    // without it. The final value is read, so the order of the last writes counts, too.
    assert_eq!(classes[0], 4);
    let values = values.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(values.into_iter().collect::<Vec<_>>(), [9, 10, 11]);
}

#[derive(Default)]
struct Sections {
    x: (Mutex<()>, Shared),
    y: (Mutex<()>, Shared),
}

/// A critical section of the caller's place.
#[track_caller]
fn section((lock, value): &(Mutex<()>, Shared), new: i32) -> i32 {
    let _guard = lock.lock().unwrap();
    let old = value.get();
    value.set(new);
    old
}

/// The first thread branches on the value of x that it has found.
fn branches_on_x(sections: &Sections) {
    let found = section(&sections.x, 1);
    section(&sections.y, 1);
    if found == 0 {
        section(&sections.x, 3);
    }
}

#[test]
fn independent_sections_make_no_more_groups() {
    fn sections<const ROUNDS: usize>(sections: &Sections) {
        section(&sections.x, 2);
        for _ in 0..ROUNDS {
            section(&sections.y, 2);
        }
    }
    fn both(sections: &Sections) {
        section(&sections.x, 1);
        section(&sections.y, 1);
    }
    // The published numbers are those without the third section, which stands for what the branch does.
    let takes = |operation: &Operation| operation.lock_is_taken();
    let orders = |program: fn()| interleavings(program, takes);
    assert_eq!(orders(|| two::<Sections>(both, sections::<1>)), 6);
    let (classes, _) = classes_and_groups(|| two::<Sections>(both, sections::<1>));
    assert_eq!(classes, 4);
    // Two outcomes of the branch, however often the other section is repeated.
    let (_, groups) = classes_and_groups(|| two::<Sections>(branches_on_x, sections::<1>));
    assert_eq!(groups, 2);
    let (_, groups) = classes_and_groups(|| two::<Sections>(branches_on_x, sections::<2>));
    assert_eq!(groups, 2);
}

trait Takes {
    fn lock_is_taken(&self) -> bool;
}

impl Takes for Operation {
    fn lock_is_taken(&self) -> bool {
        matches!(self, Operation::Call { call, .. } if call.takes_alone())
    }
}

/// The condition is read under the lock, so that only the branch is unprotected.
#[derive(Default)]
struct Hidden {
    a: Mutex<()>,
    b: Mutex<()>,
    x: Shared,
    y: Shared,
}

fn branches(hidden: &Hidden) {
    let found = {
        let _a = hidden.a.lock().unwrap();
        step();
        hidden.x.get()
    };
    step();
    if found == 0 {
        let _a = hidden.a.lock().unwrap();
        step();
        hidden.x.set(1);
    } else {
        step();
        hidden.x.set(1);
    }
}

fn writes_with_both(hidden: &Hidden) {
    let _a = hidden.a.lock().unwrap();
    let _b = hidden.b.lock().unwrap();
    step();
    hidden.y.get();
    step();
    hidden.x.set(2);
}

#[test]
fn a_branch_selects_the_access_without_a_lock() {
    let program = || two::<Hidden>(branches, writes_with_both);
    // Without the last write of the false branch, each operation, access and evaluation of the condition is a step.
    let orders = interleavings(program, is_step_or_call);
    assert_eq!(orders, 9);
    let (classes, groups) = classes_and_groups(program);
    assert_eq!((classes, groups), (3, 2));
    let mut decided = Decided::default();
    let mut predicted = Vec::new();
    run_all(Strategy::Exhaustive, program, |execution| {
        let decision = decided.look(execution);
        if decision.is_new {
            predicted.push(decision.races.len());
        }
        // Locksets call this a race. It is none: the branch is taken only after the other thread's section.
        assert!(execution.conflict.is_none());
    });
    predicted.sort_unstable();
    assert_eq!(predicted, [0, 1], "one group of the two is racy");
}

#[test]
fn a_race_that_locksets_see_and_no_execution_has_is_not_reported_as_one() {
    let checker = Checker::new()
        .strategy(Strategy::Random)
        .max_executions(300);
    let program = || two::<Hidden>(branches, writes_with_both);
    let report = checker.clone().predictions(Level::Warn).run(program);
    assert!(report.failures.is_empty(), "{report}");
    let kinds: Vec<_> = report.warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [FailureKind::UnconfirmedRace]);
    assert!(
        report.warnings[0]
            .notes
            .iter()
            .any(|note| note.starts_with("not confirmed"))
    );
    // What was tried counts.
    assert_eq!(report.runs(), 300);
    let denied = checker.clone().predictions(Level::Deny).run(program);
    assert_eq!(denied.failures[0].kind, FailureKind::UnconfirmedRace);
    let off = checker.run(program);
    assert!(off.warnings.is_empty() && off.failures.is_empty(), "{off}");
    // A search of every class knows better.
    let exhaustive = Checker::new()
        .strategy(Strategy::Exhaustive)
        .predictions(Level::Deny);
    let report = exhaustive.run(program);
    assert!(report.exhausted && report.failures.is_empty(), "{report}");
}

#[test]
fn orders_of_the_branch_that_reads_a_section() {
    fn branches(sections: &Sections) {
        section(&sections.x, 1);
        let is_own = {
            let _guard = sections.x.0.lock().unwrap();
            sections.x.1.get() == 1
        };
        match is_own {
            true => section(&sections.x, 2),
            false => section(&sections.x, 3),
        };
    }
    // The condition is read in the section that it selects: A,1,2 and 1,2,A and 1,A,3.
    fn selects(sections: &Sections) {
        section(&sections.x, 1);
        let _guard = sections.x.0.lock().unwrap();
        match sections.x.1.get() {
            1 => sections.x.1.set(2),
            _ => sections.x.1.set(3),
        }
    }
    fn other(sections: &Sections) {
        section(&sections.x, 7);
    }
    assert_eq!(
        classes_and_groups(|| two::<Sections>(selects, other)),
        (3, 2)
    );
    // With a section of its own for the condition there is one more order, and no more groups.
    assert_eq!(
        classes_and_groups(|| two::<Sections>(branches, other)),
        (4, 2)
    );
}

/// The objects, and the variable that refers to one of them.
#[derive(Default)]
struct Objects {
    a: Mutex<()>,
    b: Mutex<()>,
    c: Mutex<()>,
    x: Shared,
    y: Shared,
    ref2: Shared,
    credit: [Shared; 2],
    /// The credit of each object as an atomic, for the search.
    ordered: [AtomicI32; 2],
}

/// `ref1` always refers to object 0, and a new object is number 1.
fn three(parts: [fn(&Objects); 3]) {
    let objects = Arc::new(Objects::default());
    // So both are shared data in every execution.
    objects.credit.iter().for_each(|credit| credit.set(0));
    let threads = parts.map(|part| {
        let objects = Arc::clone(&objects);
        thread::spawn(move || part(&objects))
    });
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// The closed version: everything but the credit is guarded by one lock each.
fn closed<const ORDERED: bool>() {
    fn use_credit<const ORDERED: bool>(objects: &Objects, of: i32, new: i32) {
        match ORDERED {
            true => objects.ordered[of as usize].store(new, Relaxed),
            false => objects.credit[of as usize].set(new),
        }
    }
    three([
        |objects| {
            {
                let _c = objects.c.lock().unwrap();
                objects.x.set(-3);
                objects.y.set(2);
            }
            let sum = {
                let _c = objects.c.lock().unwrap();
                objects.x.get() + objects.y.get()
            };
            if sum < 0 {
                let _a = objects.a.lock().unwrap();
                use_credit::<ORDERED>(objects, 0, 1);
            }
        },
        |objects| {
            {
                let _c = objects.c.lock().unwrap();
                objects.x.set(10);
            }
            {
                let _b = objects.b.lock().unwrap();
                objects.ref2.set(1);
            }
            let _b = objects.b.lock().unwrap();
            use_credit::<ORDERED>(objects, objects.ref2.get(), 7);
        },
        |objects| {
            let _b = objects.b.lock().unwrap();
            objects.ref2.set(0);
        },
    ]);
}

#[test]
fn the_closed_example_has_four_groups_of_which_one_is_racy() {
    // With the credit as an atomic, its accesses are ordered: the published conflict orders.
    let (classes, _) = classes_and_groups(closed::<true>);
    assert_eq!(classes, 11);
    // As plain data they are not: 3 orders of x by 3 of `ref2`.
    let mut decided = Decided::default();
    let mut racy = BTreeSet::new();
    let mut groups = Vec::new();
    let report = run_all(Strategy::Exhaustive, closed::<false>, |execution| {
        let traced = Traced::of(execution);
        let mut group = traced.manners;
        group.sort();
        if execution.conflict.is_some() {
            racy.insert(group.clone());
        }
        if decided.look(execution).is_new {
            groups.push((group, predict::races(execution).len()));
        }
    });
    assert_eq!((report.executions, decided.groups()), (9, 4));
    assert_eq!(racy.len(), 1, "one reads-from class");
    // Locksets say the same of one execution of each group.
    for (group, predicted) in groups {
        assert_eq!(predicted > 0, racy.contains(&group));
    }
}

/// The open version. The outcome of the branch and the object of `ref2` are given instead of read, and main uses both
/// objects first.
fn open<const IS_TRUE: bool, const IS_ALIAS: bool>() {
    let objects = Arc::new(Objects::default());
    objects.credit.iter().for_each(|credit| credit.set(0));
    let parts: [fn(&Objects); 3] = [
        |objects| match IS_TRUE {
            true => {
                let _a = objects.a.lock().unwrap();
                objects.credit[0].set(1);
            }
            false => drop(objects.c.lock().unwrap()),
        },
        |objects| {
            objects.ref2.set(1);
            let _b = objects.b.lock().unwrap();
            objects.ref2.get();
            objects.credit[usize::from(!IS_ALIAS)].set(7);
        },
        |objects| objects.ref2.set(0),
    ];
    let threads = parts.map(|part| {
        let objects = Arc::clone(&objects);
        thread::spawn(move || part(&objects))
    });
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// Passes the first execution of a program on.
fn first(program: fn(), mut see: impl FnMut(&Execution) + Send) {
    let checker = Checker::new()
        .strategy(Strategy::Delay { bound: 0 })
        .max_executions(1)
        .predictions(Level::Warn)
        .shorten(false)
        .keep_going(true);
    raddle::__private::run_observed(checker, program, &mut see);
}

/// Returns an execution without delays of each program. They are of one check, so that places have the same numbers.
fn of_each<const COUNT: usize>(programs: [fn(); COUNT]) -> [Execution; COUNT] {
    let running = StdMutex::new(0);
    let mut executions = [const { None }; COUNT];
    let checker = Checker::new()
        .strategy(Strategy::Delay { bound: 0 })
        .predictions(Level::Warn)
        .shorten(false)
        .keep_going(true);
    let program = || {
        let number = raddle::choose(0..COUNT);
        *running.lock().unwrap() = number;
        programs[number]();
    };
    raddle::__private::run_observed(checker, program, &mut |execution: &Execution| {
        executions[*running.lock().unwrap()].get_or_insert_with(|| execution.clone());
    });
    executions.map(|execution| execution.expect("each program runs"))
}

#[test]
fn pairs_of_a_changed_manner_are_decided_again() {
    first(open::<true, false>, |execution| {
        let traced = Traced::of(execution);
        let is_main = |manner: usize| traced.manners[manner].thread.steps().is_empty();
        let of_threads = (0..traced.manners.len()).filter(|&manner| !is_main(manner));
        assert_eq!(of_threads.count(), 4);
        let pairs = traced.concurrent_pairs();
        assert_eq!(pairs.len(), 5);
        // Main's accesses come before the threads.
        assert!(
            pairs
                .iter()
                .all(|&(one, other)| !is_main(one) && !is_main(other))
        );
        let unusual = traced
            .manners
            .iter()
            .filter(|manner| manner.kind == Kind::Unusual);
        assert_eq!(unusual.count(), 4, "two of main, and both writes of `ref2`");
    });
    let [racy, branch, reference, both] = of_each([
        open::<true, false>,
        open::<false, false>,
        open::<true, true>,
        open::<false, true>,
    ]);
    let mut decided = Decided::default();
    let mut pairs = |execution: &Execution| decided.look(execution).pairs;
    assert_eq!(pairs(&racy), 5);
    assert_eq!(pairs(&racy), 0, "the group is known");
    assert_eq!(pairs(&branch), 3, "those of the branch");
    assert_eq!(pairs(&reference), 2, "those of the reference");
    // All manners are known, and one pair of them has not been in one execution.
    assert_eq!(pairs(&both), 1);
}

#[test]
fn an_alias_is_compared_by_the_object() {
    let races = |program: fn()| {
        let mut races = Vec::new();
        first(program, |execution| {
            let predicted = predict::races(execution);
            races.extend(predicted.iter().map(|race| race.cell.index()));
        });
        races.sort_unstable();
        races
    };
    // The writes of `ref2`, its write and its read, and the credit if the two names are one object.
    assert_eq!(races(open::<true, false>), [2, 2]);
    assert_eq!(races(open::<true, true>), [0, 2, 2]);
}

/// A pool whose second thread uses the factory without a common lock if a third one has been faster.
fn pool() {
    #[derive(Default)]
    struct Pool {
        lock: Mutex<()>,
        active: Shared,
        factory: Shared,
    }
    let pool = Arc::new(Pool::default());
    let parts: [fn(&Pool); 3] = [
        |pool| {
            pool.factory.get();
        },
        |pool| {
            let _lock = pool.lock.lock().unwrap();
            if pool.active.get() == 1 {
                pool.factory.set(1);
            }
        },
        |pool| {
            let _lock = pool.lock.lock().unwrap();
            pool.active.set(1);
        },
    ];
    let threads = parts.map(|part| {
        let pool = Arc::clone(&pool);
        thread::spawn(move || part(&pool))
    });
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_pool_has_two_groups_and_its_race_is_in_the_second() {
    let mut decided = Decided::default();
    let mut races = Vec::new();
    run_all(Strategy::Exhaustive, pool, |execution| {
        let decision = decided.look(execution);
        if decision.is_new {
            races.push(decision.races.len());
        }
    });
    races.sort_unstable();
    assert_eq!(races, [0, 1]);
    first(pool, |execution| {
        assert_eq!(predict::races(execution).len(), 0)
    });
}

#[test]
fn orders_of_few_operations_are_counted() {
    fn steps<const COUNT: usize>((): &()) {
        (0..COUNT).for_each(|_| step());
    }
    let is_step = |operation: &Operation| matches!(operation, Operation::Yield);
    assert_eq!(interleavings(|| two(steps::<2>, steps::<1>), is_step), 3);
    assert_eq!(interleavings(|| two(steps::<2>, steps::<2>), is_step), 6);
}

#[test]
fn a_lock_leaves_only_reads_of_one_side() {
    // Substitute for the extended variant graph: infeasible orders are never run, so that nothing is pruned.
    let seen = StdMutex::new(BTreeSet::new());
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let sections = Arc::new((Mutex::new(()), Shared::default(), Shared::default()));
        let other = Arc::clone(&sections);
        let writer = thread::spawn(move || {
            let _lock = other.0.lock().unwrap();
            other.1.set(1);
            other.2.set(1);
        });
        let read = {
            let _lock = sections.0.lock().unwrap();
            (sections.1.get(), sections.2.get())
        };
        seen.lock().unwrap().insert(read);
        writer.join().unwrap();
    });
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.executions, 2);
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [(0, 0), (1, 1)]);
}

#[test]
fn a_wait_orders_what_a_lock_does_not() {
    use raddle::sync::Condvar;
    // The notification comes before the read in every execution in which it is not lost; then the reader is stuck.
    let program = || {
        let shared = Arc::new((Mutex::new(()), Condvar::new(), Shared::default()));
        let other = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            other.2.set(1);
            let _lock = other.0.lock().unwrap();
            other.1.notify_one();
        });
        drop(shared.1.wait(shared.0.lock().unwrap()).unwrap());
        shared.2.get();
        writer.join().unwrap();
    };
    let checker = Checker::new()
        .spurious_wakeups(false)
        .keep_going(true)
        .shorten(false);
    let checker = checker
        .strategy(Strategy::Exhaustive)
        .predictions(Level::Warn);
    let (mut complete, mut predicted) = (0, 0);
    let report = raddle::__private::run_observed(checker, program, &mut |execution: &Execution| {
        let is_complete = execution.threads.iter().all(|thread| thread.end.is_some());
        complete += usize::from(is_complete);
        predicted += predict::races(execution).len();
    });
    assert_eq!((complete, predicted), (1, 0));
    let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
    assert_eq!(kinds, [FailureKind::LostWakeup], "{report}");
}

/// The runs to the first failure of a program, from some seeds; the limit where it is not found.
fn runs_to_failure(level: Level, kind: FailureKind, program: fn()) -> Vec<u64> {
    let runs = |seed| {
        let checker = Checker::new()
            .strategy(Strategy::Random)
            .seed(seed)
            .max_executions(60);
        let checker = checker
            .predictions(level)
            .lock_order(Level::Allow)
            .shorten(false);
        let checker = match level {
            Level::Allow => checker,
            _ => checker.lock_order(Level::Warn),
        };
        let report = checker.run(program);
        for failure in &report.failures {
            assert_eq!(failure.kind, kind, "{failure}");
        }
        report.runs()
    };
    (0..20).map(runs).collect()
}

/// Lets the other thread pass in nearly every execution.
fn late() {
    (0..30).for_each(|_| step());
}

/// Asserts that predictions find a failure within this number of runs, the last of which repeats the one before, from every seed, and random executions do not.
fn is_found_within(most: u64, kind: FailureKind, program: fn()) {
    let with = runs_to_failure(Level::Warn, kind, program);
    assert!(with.iter().all(|&runs| runs <= most), "{with:?}");
    let without = runs_to_failure(Level::Allow, kind, program);
    let missed = without.iter().filter(|&&runs| runs == 60).count();
    assert!(missed >= 10, "{without:?}");
}

#[test]
fn a_race_that_a_lock_hides_is_found_at_once() {
    is_found_within(3, FailureKind::DataRace, || {
        two::<Sections>(
            |sections| {
                sections.y.1.set(1);
                section(&sections.x, 1);
            },
            |sections| {
                late();
                section(&sections.x, 2);
                sections.y.1.set(2);
            },
        );
    });
}

#[test]
fn a_deadlock_that_needs_a_rare_order_is_found_at_once() {
    is_found_within(3, FailureKind::Deadlock, || {
        two::<Sections>(
            |sections| {
                let _x = sections.x.0.lock().unwrap();
                let _y = sections.y.0.lock().unwrap();
            },
            |sections| {
                late();
                let _y = sections.y.0.lock().unwrap();
                let _x = sections.x.0.lock().unwrap();
            },
        );
    });
}

#[test]
fn a_block_that_is_broken_in_a_rare_order_is_found_soon() {
    // Three plans: the other update in the block of each thread, and between the load and the store of main. Under weaker
    // orderings the store could also be placed before the update in coherence order, which chance finds.
    is_found_within(6, FailureKind::Panic, || {
        let value = Arc::new(AtomicI32::new(0));
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || {
            late();
            other.fetch_add(1, SeqCst);
        });
        value.store(value.load(SeqCst) + 1, SeqCst);
        thread.join().unwrap();
        assert_eq!(value.load(SeqCst), 2);
    });
}

/// A statement of a random program with locks.
#[derive(Clone, Debug)]
enum Statement {
    /// Reads a variable into the register.
    Read(usize),
    /// Writes a variable.
    Write(usize),
    /// The statements, with a lock held.
    Lock(usize, Vec<Statement>),
    /// The statements, if the register is not 0.
    If(Vec<Statement>),
}

const LOCKS: usize = 2;
const VARIABLES: usize = 3;

/// Draws statements of a thread that holds no lock from this number on.
fn draw(rng: &mut Rng, depth: usize, first_lock: usize) -> Vec<Statement> {
    let count = rng.usize(1..=2);
    let mut statements = Vec::new();
    for _ in 0..count {
        let variable = rng.usize(..VARIABLES);
        statements.push(match rng.u32(..10) {
            0..=1 => Statement::Read(variable),
            2..=3 => Statement::Write(variable),
            4..=8 if depth > 0 && first_lock < LOCKS => {
                let lock = rng.usize(first_lock..LOCKS);
                Statement::Lock(lock, draw(rng, depth - 1, lock + 1))
            }
            _ if depth > 0 => Statement::If(draw(rng, depth - 1, first_lock)),
            _ => Statement::Write(variable),
        });
    }
    statements
}

#[derive(Default)]
struct World {
    locks: [Mutex<()>; LOCKS],
    variables: [Shared; VARIABLES],
}

fn interpret(world: &World, statements: &[Statement], register: &mut i32) {
    for statement in statements {
        match statement {
            Statement::Read(variable) => *register = world.variables[*variable].get(),
            Statement::Write(variable) => world.variables[*variable].set(1),
            Statement::Lock(lock, inner) => {
                let _lock = world.locks[*lock].lock().unwrap();
                interpret(world, inner, register);
            }
            Statement::If(inner) if *register != 0 => interpret(world, inner, register),
            Statement::If(_) => {}
        }
    }
}

fn run_random(threads: &[Vec<Statement>]) {
    let world = Arc::new(World::default());
    // So that variables have the same numbers in every execution.
    world.variables.iter().for_each(|variable| variable.set(0));
    let threads: Vec<_> = threads
        .iter()
        .map(|statements| {
            let (world, statements) = (Arc::clone(&world), statements.clone());
            thread::spawn(move || interpret(&world, &statements, &mut 0))
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// A race without places, which are the same for all statements: the variable, and both threads with whether they
/// write.
type Race = (usize, BTreeSet<(usize, bool)>);

#[test]
fn races_of_random_programs_are_predicted_from_one_execution_of_each_group() {
    let draw = |rng: &mut Rng| -> Vec<Vec<Statement>> {
        let count = rng.usize(2..=3);
        (0..count).map(|_| draw(rng, 2, 0)).collect()
    };
    let mut counts: HashMap<&str, u64> = HashMap::new();
    let suite = Suite::new(150, 7);
    suite.run(draw, |threads, rng| {
        let mut decided = Decided::default();
        let (mut seen, mut predicted) = (BTreeSet::<Race>::new(), BTreeSet::<Race>::new());
        let mut executions = 0;
        let checker = Checker::new()
            .strategy(Strategy::Exhaustive)
            .memory(Memory::Sc)
            .keep_going(true)
            .shorten(false)
            .predictions(Level::Warn)
            .max_executions(250);
        let program = || run_random(threads);
        let report = raddle::__private::run_observed(
            checker.clone(),
            program,
            &mut |execution: &Execution| {
                executions += 1;
                let ends = execution.threads.iter().all(|thread| thread.end.is_some());
                assert!(ends, "also executions with a race are whole");
                let race = |cell: usize, accesses: [raddle_engine::memory::races::Access; 2]| {
                    (
                        cell,
                        accesses
                            .map(|access| (access.thread.index(), access.writes))
                            .into(),
                    )
                };
                if let Some(conflict) = &execution.conflict {
                    seen.insert(race(
                        conflict.cell.index(),
                        [conflict.first, conflict.second],
                    ));
                }
                if decided.look(execution).is_new {
                    for one in predict::races(execution) {
                        predicted.insert(race(one.cell.index(), one.accesses(execution)));
                    }
                }
            },
        );
        if !report.exhausted {
            return Verdict::Skipped;
        }
        assert!(seen.is_subset(&predicted), "{seen:?} {predicted:?}");
        let mut count = |what, number: usize| *counts.entry(what).or_default() += number as u64;
        count("executions", executions);
        count("groups", decided.groups());
        count("races", seen.len());
        count("predicted", predicted.len());

        // Confirmed predictions are races of some class.
        let sampled = checker
            .strategy(Strategy::Random)
            .max_executions(40)
            .seed(rng.u64(..));
        let with = sampled.clone().keep_going(false).run(program);
        for failure in &with.failures {
            assert_eq!(failure.kind, FailureKind::DataRace, "{failure}");
            assert!(!seen.is_empty(), "{failure}");
        }
        let without = sampled
            .keep_going(false)
            .predictions(Level::Allow)
            .run(program);
        count("racy", usize::from(!seen.is_empty()));
        count("racy with", with.failures.len());
        count("racy without", without.failures.len());
        count("runs with", with.runs() as usize);
        count("runs without", without.runs() as usize);
        Verdict::Agreed
    });
    println!("{counts:?}");
    let of = |what| counts.get(what).copied().unwrap_or(0);
    if suite.is_usual() {
        assert!(
            of("groups") < of("executions"),
            "groups are fewer than classes"
        );
        assert!(of("races") > 50, "there are races to find");
    }
}
