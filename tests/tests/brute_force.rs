//! The exhaustive search against plain enumeration of all schedules, on random programs: the same
//! classes, none twice, no run in vain.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Mutex;

use fastrand::Rng;
use raddle::{FailureKind, Memory, Reduction, Strategy};
use raddle_engine::{ClassEntry, ThreadPath};
use raddle_tests::compare::{self, Classes, assert_same};
use raddle_tests::random_program::{Outcome, Program, Statement};
use raddle_tests::resumed::in_pieces;
use raddle_tests::suite::{Suite, Verdict};

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 20_000;

/// Every class of the program by running all its schedules; `None` if there are too many.
fn enumerate(program: &Program, strategy: Strategy) -> Option<Classes> {
    let checker = program.checker(strategy).max_executions(MAX_SCHEDULES);
    compare::enumerate(checker, || program.run())
}

/// Every class of the program as the search finds them.
fn search(program: &Program) -> Classes {
    compare::search(program.checker(Strategy::Exhaustive), || program.run()).0
}

/// Compares the search with all schedules; `None` if there are too many.
fn same_classes(program: &Program) -> Option<usize> {
    let expected = enumerate(program, Strategy::EnumeratePrivateFirst)?;
    let found = search(program);
    assert_same(&expected, &found);
    Some(found.len())
}

#[test]
fn random_programs_have_the_same_classes_as_all_their_schedules() {
    let (mut waiting, mut total, mut largest) = (0, 0, 0);
    let mut by_threads = HashMap::<usize, u64>::new();
    Suite::new(200, 1).run(Program::random, |program, _| {
        let Some(classes) = same_classes(program) else {
            return Verdict::Skipped;
        };
        waiting += u32::from(program.waits());
        total += classes;
        largest = largest.max(classes);
        *by_threads.entry(program.threads.len() + 1).or_default() += 1;
        Verdict::Agreed
    });
    println!(
        "{waiting} with waits, {total} classes, at most {largest} in one; by threads: \
         {by_threads:?}"
    );
}

#[test]
fn threads_that_pause_again_and_again_come_later_and_lose_no_class() {
    let draw = |rng: &mut Rng| Program::random(rng).with_pauses(rng);
    Suite::new(30, 6).run(draw, |program, _| same_classes(program).map(|_| ()).into());
}

#[test]
fn random_programs_with_loops_have_the_same_classes_as_all_their_schedules() {
    let draw = |rng: &mut Rng| Program::random(rng).with_loops(rng);
    let (mut livelocks, mut total) = (0, 0);
    Suite::new(20, 5).run(draw, |program, _| {
        let all = program.checker(Strategy::EnumeratePrivateFirst);
        let Some(expected) = compare::enumerate(all.max_executions(4_000), || program.run()) else {
            return Verdict::Skipped;
        };
        let exhaustive = program.checker(Strategy::Exhaustive);
        let (found, report) = compare::search(exhaustive, || program.run());
        assert_same(&expected, &found);
        let mut kinds = report.failures.iter().map(|failure| failure.kind);
        livelocks += u32::from(kinds.any(|kind| kind == FailureKind::Livelock));
        total += found.len();
        Verdict::Agreed
    });
    println!("{livelocks} programs with livelocks, {total} classes");
    assert!(livelocks > 0);
}

/// Several readers of one writer: also in pieces, and with several workers.
#[test]
fn random_readers_have_the_same_classes_as_all_their_schedules() {
    let (mut livelocks, mut several, mut total) = (0, 0, 0);
    let suite = Suite::new(60, 5);
    suite.run(Program::random_readers, |program, rng| {
        let all = program.checker(Strategy::EnumeratePrivateFirst);
        let Some(expected) = compare::enumerate(all.max_executions(4_000), || program.run()) else {
            return Verdict::Skipped;
        };
        let exhaustive = program.checker(Strategy::Exhaustive);
        let (found, report) = compare::search(exhaustive.clone(), || program.run());
        assert_same(&expected, &found);
        match rng.u32(0..3) {
            0 => assert_same(&found, &in_pieces(&exhaustive, 2, || program.run())),
            1 => {
                let shared = compare::search(exhaustive.workers(3), || program.run()).0;
                assert_same(&found, &shared);
            }
            _ => {}
        }
        let mut kinds = report.failures.iter().map(|failure| failure.kind);
        livelocks += u32::from(kinds.any(|kind| kind == FailureKind::Livelock));
        several += u32::from(found.len() > 1);
        total += found.len();
        Verdict::Agreed
    });
    println!(
        "{livelocks} programs with livelocks, {several} with several classes, {total} classes"
    );
    assert!(!suite.is_usual() || livelocks > 5 && several > 5);
}

/// An execution in which loops look in vain has the outcome of one in which they look later. So each loop needs only
/// one round, and threads wait for ever if their conditions do not hold at the end of such an execution.
#[test]
fn random_readers_have_the_outcomes_and_livelocks_of_loops_with_one_round() {
    /// `None` if there are more failures than a check reports.
    fn outcomes(program: &Program, gives_up: bool) -> Option<(Vec<Outcome>, bool)> {
        let seen = Mutex::new(Vec::new());
        let checker = program.checker(Strategy::Exhaustive).shorten(false);
        let report = checker.run(|| {
            let outcome = program.outcome(gives_up);
            seen.lock().unwrap().push(outcome);
        });
        let mut kinds = report.failures.iter().map(|failure| failure.kind);
        assert!(kinds.all(|kind| kind == FailureKind::Livelock), "{report}");
        let livelocks = !report.failures.is_empty();
        let outcomes = seen.into_inner().unwrap();
        report.exhausted.then_some((outcomes, livelocks))
    }
    let complete = |outcomes: &[Outcome]| -> BTreeSet<_> {
        let complete = outcomes.iter().filter(|outcome| outcome.is_complete());
        complete
            .map(|it| (it.registers.clone(), it.memory))
            .collect()
    };
    let (mut total, mut livelocks) = (0, 0);
    let suite = Suite::new(100, 8);
    suite.run(Program::random_readers, |program, _| {
        let Some((found, spins)) = outcomes(program, false) else {
            return Verdict::Skipped;
        };
        let (expected, _) = outcomes(program, true).expect("no thread waits");
        assert_eq!(complete(&found), complete(&expected));
        assert_eq!(spins, expected.iter().any(Outcome::is_livelock));
        total += complete(&found).len();
        livelocks += u32::from(spins);
        Verdict::Agreed
    });
    println!("{total} outcomes, {livelocks} programs with livelocks");
    assert!(!suite.is_usual() || total > 50 && (20..=80).contains(&livelocks));
}

#[test]
fn the_order_in_which_threads_are_created_never_changes_a_count() {
    Suite::new(30, 7).run(Program::random, |program, rng| {
        if program.threads.len() < 2
            || enumerate(program, Strategy::EnumeratePrivateFirst).is_none()
        {
            return Verdict::Skipped;
        }
        let classes = search(program).len();
        let mut program = program.clone();
        program.threads.reverse();
        assert_eq!(search(&program).len(), classes, "{program:?}");
        rng.shuffle(&mut program.threads);
        assert_eq!(search(&program).len(), classes, "{program:?}");
        Verdict::Agreed
    });
}

#[test]
fn performing_private_operations_first_loses_no_class() {
    Suite::new(20, 3).run(Program::random, |program, _| {
        let Some(all) = enumerate(program, Strategy::Enumerate) else {
            return Verdict::Skipped;
        };
        assert!(enumerate(program, Strategy::EnumeratePrivateFirst) == Some(all));
        Verdict::Agreed
    });
}

#[test]
fn a_search_in_pieces_has_the_same_classes() {
    Suite::new(12, 3).run(Program::random, |program, _| {
        let expected = search(program);
        if !(2..100).contains(&expected.len()) {
            return Verdict::Skipped;
        }
        for executions in [1, 2, 3, 7] {
            let checker = program.checker(Strategy::Exhaustive);
            let found = in_pieces(&checker, executions, || program.run());
            assert_same(&expected, &found);
        }
        Verdict::Agreed
    });
}

#[test]
fn several_workers_find_the_same_classes() {
    Suite::new(40, 4).run(Program::random, |program, _| {
        let checker = program.checker(Strategy::Exhaustive).workers(3);
        let found = compare::search(checker, || program.run()).0;
        assert_same(&search(program), &found);
        Verdict::Agreed
    });
}

#[test]
fn the_order_in_which_branches_are_taken_makes_no_difference() {
    Suite::new(100, 5).run(Program::random, |program, rng| {
        let expected = search(program);
        // Its default budget is a time, which is enough for these.
        if expected.len() > 5_000 {
            return Verdict::Skipped;
        }
        let checker = program.checker(Strategy::Auto).seed(rng.u64(..));
        let found = compare::walk(checker, || program.run()).0;
        assert_same(&expected, &found);
        Verdict::Agreed
    });
}

/// All orders of the numbers below `count`.
fn permutations(count: u32) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    for number in 0..count {
        let with = |order: Vec<u32>| {
            (0..=order.len()).map(move |place| {
                let mut order = order.clone();
                order.insert(place, number);
                order
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    all
}

/// The class with the threads that main started renamed.
fn renamed(class: &[ClassEntry], order: &[u32]) -> Vec<ClassEntry> {
    let rename = |(path, index): &(ThreadPath, u32)| {
        let mut numbers = path.steps().to_vec();
        // Main may start others later.
        if let Some(first) = numbers.first_mut()
            && let Some(other) = order.get(*first as usize - 1)
        {
            *first = other + 1;
        }
        (ThreadPath::new(numbers), *index)
    };
    let mut class: Vec<_> = class
        .iter()
        .map(|entry| ClassEntry {
            event: rename(&entry.event),
            source: entry.source.as_ref().map(rename),
            ..entry.clone()
        })
        .collect();
    class.sort();
    class
}

/// What symmetry leaves out is, with other names of the threads, in what it runs.
#[test]
fn symmetry_leaves_out_other_names_only() {
    let (mut all, mut left) = (0, 0);
    let draw = |rng: &mut Rng| {
        let mut program = Program::random(rng);
        let count = rng.usize(2..=3);
        program.threads = vec![program.threads[0].clone(); count];
        program
    };
    Suite::new(60, 12).run(draw, |program, _| {
        // Which thread of a group is named first depends on the names.
        if format!("{program:?}").contains("Meet") {
            return Verdict::Skipped;
        }
        let Some(every) = enumerate(program, Strategy::EnumeratePrivateFirst) else {
            return Verdict::Skipped;
        };
        let checker = program
            .checker(Strategy::Exhaustive)
            .reduce(Reduction::Symmetry);
        let mut some = Classes::new();
        let checker = checker.shorten(false);
        raddle::__private::run_observed(checker, || program.run(), &mut |execution| {
            assert!(some.insert(execution.class()), "a class was run twice");
        });
        assert!(some.is_subset(&every), "a class was invented");
        let orders = permutations(program.threads.len() as u32);
        let ran: HashSet<_> = some
            .iter()
            .flat_map(|class| orders.iter().map(move |order| renamed(class, order)))
            .collect();
        for class in &every {
            let mut class = class.clone();
            class.sort();
            assert!(ran.contains(&class), "lost {class:#?}");
        }
        all += every.len();
        left += some.len();
        Verdict::Agreed
    });
    println!("{left} of {all} classes are left");
    assert!(left < all);
}

/// Calls that tell a thread of another, but do not synchronize with it, give programs executions that are
/// not sequentially consistent even if all their accesses are `SeqCst`.
#[test]
fn programs_of_seq_cst_accesses_have_the_same_classes_as_all_their_schedules() {
    Suite::new(60, 9).run(Program::random_seq_cst, |program, _| {
        same_classes(program).map(|_| ()).into()
    });
}

#[test]
fn every_pair_of_calls_between_seq_cst_accesses_has_the_classes_of_all_its_schedules() {
    use Statement::*;
    let calls = [
        Lock(0, vec![]),
        TryLock(0, vec![]),
        LockToRead(vec![]),
        TryLockToRead(vec![]),
        LockToWrite(vec![], vec![]),
        LockToWrite(vec![], vec![Yield]),
        TryLockToWrite(vec![]),
        Meet,
        MeetAndLead,
        Wait(0, vec![]),
        WaitTimeout(0, vec![]),
        NotifyOne,
        NotifyAll,
        Acquire,
        TryAcquire,
        Release,
        Spawn(vec![]),
        IsFinished,
        Park,
        Unpark,
    ];
    let (mut compared, mut weak) = (0, 0);
    for (a, b) in calls.iter().flat_map(|a| calls.iter().map(move |b| (a, b))) {
        let threads = |shape: u32| match shape {
            0 => [vec![Write(0, 1), a.clone()], vec![b.clone(), Read(0)]],
            1 => [
                vec![Write(0, 1), a.clone(), Read(1)],
                vec![Write(1, 1), b.clone(), Read(0)],
            ],
            _ => [
                vec![Write(0, 1), a.clone(), b.clone()],
                vec![b.clone(), a.clone(), Read(0)],
            ],
        };
        for shape in 0..3 {
            let mut program = Program {
                threads: threads(shape).to_vec(),
                main: vec![],
                disturbed: false,
                memory: Memory::Rc11,
            };
            let Some(classes) = same_classes(&program) else {
                continue;
            };
            compared += 1;
            program.memory = Memory::Sc;
            weak += u32::from(classes > search(&program).len());
        }
    }
    println!("{compared} programs, {weak} of them weak");
    assert!(weak >= 100, "{weak}");
}
