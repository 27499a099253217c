//! Kernels of the programs with which Setiadi (*Debugging and Testing Concurrent Programs with Efficient Test Case
//! Generation*, 2015) compares the number of tests and the size of graphs, each written anew: the number of executions of
//! the full search, of all interleavings of each pair of threads, and those after which no guideline is left.
//!
//! | subject | published: pairs -> guided; nodes | here: full search; pairs; guided; nodes |
//! | --- | --- | --- |
//! | pool | 23 -> 2; 990 -> 4 | 5; 23; 2; 900 -> 4 |
//! | telnet | 66 -> 1; 42 -> 1 | 11; 66; 2; none |
//! | map | infinite -> 4; infinite -> 8 | infinite; infinite; 4; 8 |
//! | crawler | infinite -> 1; infinite -> 4 | infinite; infinite; 1 or 2; 4 |
//! | database | 1,453,539 -> 58 | 536,870,912; 30,067,266,499,541,040; at most 58; 116 |
//!
//! Where a number differs, the test says why.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;
use std::sync::Mutex as StdMutex;

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicI32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{
    BranchGraph, Branches, Checker, FailureKind, Guarantee, Memory, Reduction, Report, Strategy,
    thread,
};
use raddle_engine::Execution;
use raddle_tests::variant_graph::{Access, VariantGraph};

fn checker(strategy: Strategy) -> Checker {
    Checker::new()
        .strategy(strategy)
        .memory(Memory::Sc)
        .branches(true)
        .keep_going(true)
        .shorten(false)
}

/// Runs one execution, and the directed ones after it.
fn guided(seed: u64, program: impl Fn() + Send + Sync) -> Report {
    let checker = checker(Strategy::Random).seed(seed);
    checker.max_executions(2_000).run(program)
}

/// The same for a program with a loop without end.
fn guided_endless(seed: u64, program: impl Fn() + Send + Sync) -> Report {
    let checker = checker(Strategy::Random).seed(seed);
    let checker = checker.reduce(Reduction::Manners);
    checker.max_executions(2_000).run(program)
}

/// Runs threads on a value made anew in every execution.
fn threads<T: Default + Send + Sync + 'static, const N: usize>(bodies: [fn(&T); N]) {
    let shared = Arc::new(T::default());
    let threads = bodies.map(|body| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || body(&shared))
    });
    threads.into_iter().for_each(|it| it.join().unwrap());
}

/// Runs threads that are not joined.
fn detached<T: Default + Send + Sync + 'static, const N: usize>(bodies: [fn(&T); N]) {
    let shared = Arc::new(T::default());
    for body in bodies {
        let shared = Arc::clone(&shared);
        thread::spawn(move || body(&shared));
    }
}

/// A variable of an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Variable {
    Location(usize),
    /// What a lock protects: a critical section counts as one write.
    Lock(usize),
    Cell(usize),
}

/// Returns the accesses of an execution to variables that several threads other than main access and one of them
/// writes, in the order of the run.
fn accesses(execution: &Execution) -> Vec<Access> {
    let mut all: Vec<(usize, usize, bool, Variable)> = Vec::new();
    for (position, event) in execution.events.iter().enumerate() {
        let thread = event.id.thread.index();
        let lock = event
            .lock_effect()
            .filter(|_| event.operation.label() == "lock");
        if let Some(location) = event.operation.location() {
            let variable = Variable::Location(location.index());
            all.push((position, thread, event.writes(), variable));
        } else if let Some((lock, _)) = lock {
            all.push((position, thread, true, Variable::Lock(lock.index())));
        }
    }
    for (cell, access) in execution.accesses.iter().filter(|(_, it)| !it.made) {
        let variable = Variable::Cell(cell.index());
        all.push((access.after, access.thread.index(), access.writes, variable));
    }
    all.retain(|it| it.1 != 0);
    all.sort_by_key(|it| it.0);
    let mut users: BTreeMap<Variable, (BTreeSet<usize>, bool)> = BTreeMap::new();
    for &(_, thread, writes, variable) in &all {
        let known = users.entry(variable).or_default();
        known.0.insert(thread);
        known.1 |= writes;
    }
    let shared = users
        .into_iter()
        .filter(|(_, (threads, writes))| threads.len() > 1 && *writes);
    let numbers: BTreeMap<Variable, usize> = shared.zip(0..).map(|((it, _), n)| (it, n)).collect();
    let numbered = all.into_iter();
    numbered
        .filter_map(|(_, thread, writes, variable)| {
            Some((thread, writes, *numbers.get(&variable)?))
        })
        .collect()
}

/// Returns the accesses of the first execution that `is_wanted`.
fn trace(program: impl Fn() + Send + Sync, is_wanted: fn(&[Access]) -> bool) -> Vec<Access> {
    let mut found = None;
    let checker = checker(Strategy::Enumerate).max_executions(20_000);
    raddle::__private::run_observed(checker, program, &mut |execution: &Execution| {
        if found.is_none() {
            found = Some(accesses(execution)).filter(|it| is_wanted(it));
        }
    });
    found.expect("some schedule has the wanted order")
}

fn binomial(n: u64, k: u64) -> u64 {
    (1..=k).fold(1, |all, it| all * (n - k + it) / it)
}

/// Returns the number of interleavings of each pair of threads, without the others (Lu, Jiang, Zhou: thread-pair
/// interleaving criterion, 2007).
fn plain_pairs(trace: &[Access]) -> u64 {
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    trace
        .iter()
        .for_each(|it| *counts.entry(it.0).or_default() += 1);
    let counts: Vec<u64> = counts.into_values().collect();
    let pairs = (0..counts.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    pairs
        .map(|(one, other)| binomial(counts[one] + counts[other], counts[one]))
        .sum()
}

/// Returns the number of classes.
fn classes(program: impl Fn() + Send + Sync) -> u64 {
    let report = checker(Strategy::Exhaustive).run(program);
    assert!(report.exhausted, "{report}");
    report.classes()
}

fn guidelines(branches: &Branches) -> usize {
    let graphs = branches.branches.iter().flat_map(|it| &it.graphs);
    graphs.map(BranchGraph::guidelines).sum()
}

/// The pool: a factory that one thread uses without a lock, and another one behind a branch that a third one decides.
/// With `IDLE`, the threads do other things besides, which no other thread is concerned with.
#[derive(Default)]
struct Pool {
    active: Mutex<i32>,
    factory: UnsafeCell<i32>,
    idle: AtomicI32,
    /// Read and written by each thread, read before by all.
    other: [AtomicI32; 3],
}

// SAFETY: `Sync` needs exclusion between OS threads: one runs everything. Races of modelled threads are the subject of
// the test.
unsafe impl Sync for Pool {}

impl Pool {
    #[track_caller]
    fn use_factory(&self) {
        // SAFETY: one OS thread runs everything, so no other access happens during this one.
        self.factory.with_mut(|it| unsafe { *it += 1 });
    }
}

fn uses_factory(pool: &Pool) {
    pool.use_factory();
}

fn borrows(pool: &Pool) {
    let active = pool.active.lock().unwrap();
    if *active == 0 {
        pool.idle.store(1, SeqCst);
    } else {
        pool.use_factory();
    }
}

fn returns<const TIMES: i32>(pool: &Pool) {
    for _ in 0..TIMES {
        *pool.active.lock().unwrap() += 1;
    }
}

#[test]
fn a_pool_needs_two_executions_and_four_nodes() {
    let program = || threads::<Pool, 3>([uses_factory, borrows, returns::<4>]);
    // One access, two and four: 3 + 5 + 15.
    let wants = |trace: &[Access]| trace.len() == 7;
    assert_eq!(plain_pairs(&trace(program, wants)), 23);
    // The section of the borrower comes before, between or after four others.
    assert_eq!(classes(program), 5);
    for seed in 0..20 {
        let report = guided(seed, program);
        let branches = report.branches();
        let [branch] = &branches.branches[..] else {
            panic!("{branches}");
        };
        assert_eq!(branches.guidelines.executions, 2, "{branches}");
        assert!(!branches.guidelines.is_open);
        assert_eq!((branch.nodes, guidelines(branches)), (4, 2), "{branches}");
        let mut races = report.failures.iter();
        assert!(races.any(|it| it.kind == FailureKind::DataRace), "{report}");
    }
}

/// The graph of variants grows with every access, that of the branch does not.
#[test]
fn a_pool_with_more_to_do_has_the_same_graph() {
    fn counts<const OF: usize, const TIMES: usize>(pool: &Pool) {
        for _ in 0..TIMES {
            pool.other[OF].fetch_add(1, SeqCst);
        }
    }
    fn uses(pool: &Pool) {
        counts::<0, 7>(pool);
        pool.use_factory();
    }
    fn borrows_and_counts(pool: &Pool) {
        counts::<1, 7>(pool);
        borrows(pool);
    }
    fn returns_and_counts(pool: &Pool) {
        counts::<2, 8>(pool);
        returns::<1>(pool);
    }
    // The published order of accesses: the first run takes the other side of the branch. Each thread's own counts are
    // shared data for the one that makes the graph.
    let mut all: Vec<Access> = Vec::new();
    for (thread, own, section) in [(1, 7, 0), (2, 7, 1), (3, 8, 1)] {
        all.extend(std::iter::repeat_n((thread, true, thread + 1), own));
        all.push((thread, true, section));
        if thread == 2 {
            all.push((2, true, 0));
        }
    }
    let graph = VariantGraph::of(&all);
    // Counted by another program as well; 990 nodes are published.
    assert_eq!((graph.nodes, graph.variants.len()), (748, 152));
    let program = || threads::<Pool, 3>([uses, borrows_and_counts, returns_and_counts]);
    let report = guided(1, program);
    let branches = report.branches();
    assert_eq!(branches.guidelines.executions, 2, "{branches}");
    assert_eq!(branches.branches[0].nodes, 4, "{branches}");
}

#[derive(Default)]
struct Numbers {
    x: AtomicI32,
    y: AtomicI32,
    mark: AtomicI32,
}

#[track_caller]
fn mark(numbers: &Numbers) {
    let _ = Location::caller();
    numbers.mark.store(1, SeqCst);
}

/// The branch of one thread depends on its own write; what the other one reads changes values only.
#[test]
fn own_writes_need_one_execution() {
    fn sets_and_branches(numbers: &Numbers) {
        numbers.x.store(1, SeqCst);
        if numbers.x.load(SeqCst) == 1 {
            mark(numbers);
        }
    }
    fn shows(numbers: &Numbers) {
        for _ in 0..10 {
            numbers.x.load(SeqCst);
        }
    }
    let program = || threads::<Numbers, 2>([sets_and_branches, shows]);
    assert_eq!(plain_pairs(&trace(program, |it| it.len() == 12)), 66);
    assert_eq!(classes(program), 11);
    for seed in 0..10 {
        let report = guided(seed, program);
        let branches = report.branches();
        assert!(branches.branches.is_empty(), "{branches}");
        // One is published. The second one lets the reader take the other value: whether a branch depends on it is only
        // known then, as machine code is not read.
        assert!(branches.guidelines.executions <= 2, "{branches}");
        assert!(!branches.guidelines.is_open);
    }
}

/// A loop without end whose rounds read an interval that the round before or another thread has set.
fn pings(numbers: &Numbers) {
    numbers.x.store(1, SeqCst);
    loop {
        if numbers.x.load(SeqCst) > 0 {
            mark(numbers);
        } else {
            numbers.y.store(1, SeqCst);
        }
        numbers.x.store(2, SeqCst);
    }
}

fn sets_interval(numbers: &Numbers) {
    numbers.x.store(-1, SeqCst);
}

#[test]
fn a_loop_without_end_needs_four_executions() {
    let program = || detached::<Numbers, 2>([pings, sets_interval]);
    let full = checker(Strategy::Exhaustive).max_events(400);
    let full = full.max_executions(100).run(program);
    assert_eq!(full.guarantee(), Guarantee::Sampled, "no end: {full}");
    assert!(full.too_long() > 0);

    let report = checker(Strategy::Exhaustive)
        .reduce(Reduction::Manners)
        .run(program);
    assert_eq!(report.guarantee(), Guarantee::Manners, "{report}");
    let branches = report.branches();
    let [branch] = &branches.branches[..] else {
        panic!("{branches}");
    };
    // The first round and the second have two guidelines each, with 4 nodes; all others are like the second.
    let graphs: Vec<_> = branch.graphs.iter().map(BranchGraph::guidelines).collect();
    assert_eq!(graphs, [2, 2], "{branches}");
    assert_eq!(branch.nodes * branch.graphs.len(), 8);
    // Not all classes of the program were run, so the list does not claim to be all.
    assert!(!branches.is_complete);
    for seed in 0..20 {
        let report = guided_endless(seed, program);
        let branches = report.branches();
        assert!(branches.guidelines.executions <= 4, "{branches}");
        assert!(!branches.guidelines.is_open);
        let outcomes = branches.branches[0].outcomes.len();
        assert_eq!(outcomes, 2, "{branches}");
    }
}

/// A loop without end that looks for a connection.
fn looks(numbers: &Numbers) {
    numbers.x.store(0, SeqCst);
    loop {
        if numbers.x.load(SeqCst) != 0 {
            mark(numbers);
        }
        numbers.y.fetch_add(1, SeqCst);
    }
}

fn connects(numbers: &Numbers) {
    numbers.x.store(1, SeqCst);
}

#[test]
fn a_loop_without_end_that_has_both_outcomes_needs_one_execution() {
    let program = || detached::<Numbers, 2>([looks, connects]);
    let report = checker(Strategy::Exhaustive)
        .reduce(Reduction::Manners)
        .run(program);
    assert_eq!(report.guarantee(), Guarantee::Manners, "{report}");
    let nodes: Vec<_> = report
        .branches()
        .branches
        .iter()
        .map(|it| it.nodes)
        .collect();
    assert_eq!(nodes, [4], "{report}");
    // One execution, if the write comes between two rounds; two, if not.
    let runs: BTreeSet<u64> = (0..60)
        .map(|seed| {
            let guidelines = guided_endless(seed, program).branches().guidelines;
            assert!(!guidelines.is_open);
            // None, if the first execution leaves no guideline.
            guidelines.executions.max(1)
        })
        .collect();
    assert!(
        runs.contains(&1) && runs.iter().all(|&it| it <= 2),
        "{runs:?}"
    );
}

/// A database: many branches, each decided by a write of another thread.
struct Database<const BRANCHES: usize> {
    requests: [AtomicI32; BRANCHES],
    mark: AtomicI32,
}

impl<const BRANCHES: usize> Default for Database<BRANCHES> {
    fn default() -> Self {
        Database {
            requests: [(); BRANCHES].map(|()| AtomicI32::new(0)),
            mark: AtomicI32::new(0),
        }
    }
}

impl<const BRANCHES: usize> Database<BRANCHES> {
    /// Branches on a request, at the place of the caller.
    #[track_caller]
    fn handle(&self, number: usize) {
        let request = self.requests.get(number);
        let Some(request) = request else { return };
        if request.load(SeqCst) == 1 {
            self.mark.store(1, SeqCst);
        }
    }
}

/// Each branch has a line of its own.
fn handles<const BRANCHES: usize>(database: &Database<BRANCHES>) {
    database.handle(0);
    database.handle(1);
    database.handle(2);
    database.handle(3);
    database.handle(4);
    database.handle(5);
    database.handle(6);
    database.handle(7);
    database.handle(8);
    database.handle(9);
    database.handle(10);
    database.handle(11);
    database.handle(12);
    database.handle(13);
    database.handle(14);
    database.handle(15);
    database.handle(16);
    database.handle(17);
    database.handle(18);
    database.handle(19);
    database.handle(20);
    database.handle(21);
    database.handle(22);
    database.handle(23);
    database.handle(24);
    database.handle(25);
    database.handle(26);
    database.handle(27);
    database.handle(28);
}

fn requests<const BRANCHES: usize>(database: &Database<BRANCHES>) {
    for request in &database.requests {
        request.store(1, SeqCst);
    }
}

#[test]
fn many_branches_need_two_executions_each_at_most() {
    fn program<const BRANCHES: usize>() {
        threads::<Database<BRANCHES>, 2>([handles, requests]);
    }
    // Every read takes either value, whatever the others take. Counted where that is possible.
    for (classes, power) in [
        (classes(program::<1>), 1),
        (classes(program::<4>), 4),
        (classes(program::<8>), 8),
    ] {
        assert_eq!(classes, 1 << power);
    }
    let full = 1u64 << 29;
    let pairs = binomial(58, 29);
    assert!(full > 500_000_000 && pairs > full);
    for seed in 0..3 {
        let report = guided(seed, program::<29>);
        let branches = report.branches();
        assert_eq!(branches.branches.len(), 29, "{branches}");
        assert_eq!(guidelines(branches), 58);
        let nodes: usize = branches.branches.iter().map(|it| it.nodes).sum();
        assert_eq!(nodes, 29 * 4);
        assert!(!branches.guidelines.is_open);
        // One execution for each guideline is published; an execution follows many.
        let executions = branches.guidelines.executions;
        assert!((2..=58).contains(&executions), "{executions}");
        println!("{executions} of 58");
    }
}

/// Two branches have four combinations of outcomes. Executions that follow all guidelines need not have all of them:
/// this is what the list of branches does not say. Published: 4 of 6 variants are run to have all combinations.
#[test]
fn combinations_of_branches_are_those_of_the_search() {
    fn first(numbers: &Numbers) -> bool {
        let is_first = numbers.x.load(SeqCst) == 0;
        if is_first {
            mark(numbers);
        }
        is_first
    }
    fn second(numbers: &Numbers) -> bool {
        let is_first = numbers.y.load(SeqCst) == 0;
        if is_first {
            mark(numbers);
        }
        is_first
    }
    fn writes(numbers: &Numbers) {
        numbers.x.store(1, SeqCst);
        numbers.y.store(1, SeqCst);
    }
    let seen = StdMutex::new(Vec::new());
    let program = || {
        let numbers = Arc::new(Numbers::default());
        let bodies: [fn(&Numbers) -> bool; 2] = [first, second];
        let threads = bodies.map(|body| {
            let numbers = Arc::clone(&numbers);
            thread::spawn(move || body(&numbers))
        });
        writes(&numbers);
        let outcomes = threads.map(|it| it.join().unwrap());
        seen.lock().unwrap().push(outcomes);
    };
    let all = |from: usize| {
        seen.lock().unwrap()[from..]
            .iter()
            .copied()
            .collect::<BTreeSet<_>>()
    };
    let report = checker(Strategy::Exhaustive).run(program);
    assert!(report.exhausted);
    assert_eq!(all(0).len(), 4, "the search runs every combination");
    for seed in 0..20 {
        let checker = checker(Strategy::Random).seed(seed).max_executions(40);
        let report = checker.run(program);
        let branches = report.branches();
        assert_eq!((branches.branches.len(), guidelines(branches)), (2, 4));
        assert!(!branches.guidelines.is_open);
        assert!(!branches.is_complete, "combinations are not claimed");
        // A single execution never has both outcomes of a branch.
        assert!(branches.guidelines.executions >= 2, "{branches}");
    }
}

/// The program of the graph with seven variants, with locks around the first accesses of both threads.
#[derive(Default)]
struct Locked {
    lock: Mutex<()>,
    x: AtomicI32,
    y: AtomicI32,
    condvar: Condvar,
}

/// Returns the variants of a trace, and those that some schedule has.
fn variants(program: impl Fn() + Send + Sync, base: &[Access]) -> (VariantGraph, usize) {
    let graph = VariantGraph::of(base);
    let mut feasible = BTreeSet::new();
    let mut has_base = false;
    let enumerate = checker(Strategy::Enumerate).branches(false);
    let enumerate = enumerate.spurious_wakeups(false);
    raddle::__private::run_observed(enumerate, program, &mut |execution: &Execution| {
        let of = |event: &raddle_engine::Event| {
            let location = event.operation.location()?.index();
            Some((event.id.thread.index(), event.writes(), location))
        };
        let all: Vec<Access> = execution.events.iter().filter_map(of).collect();
        has_base |= all == base;
        feasible.extend(graph.variant_of(&all));
    });
    assert!(has_base, "the trace is one of the program");
    assert!(feasible.is_subset(&graph.variants));
    let feasible = feasible.len();
    (graph, feasible)
}

#[test]
fn locks_leave_four_of_seven_variants() {
    fn reads(locked: &Locked) {
        {
            let _lock = locked.lock.lock().unwrap();
            locked.x.load(SeqCst);
            locked.y.load(SeqCst);
        }
        locked.y.load(SeqCst);
    }
    fn writes(locked: &Locked) {
        {
            let _lock = locked.lock.lock().unwrap();
            locked.x.store(1, SeqCst);
            locked.y.store(1, SeqCst);
        }
        locked.x.load(SeqCst);
    }
    let base = [
        (1, false, 0),
        (1, false, 1),
        (2, true, 0),
        (2, true, 1),
        (2, false, 0),
        (1, false, 1),
    ];
    let (graph, feasible) = variants(|| threads::<Locked, 2>([reads, writes]), &base);
    assert_eq!(graph.variants.len(), 7);
    assert_eq!(feasible, 4);
}

#[test]
fn a_wait_leaves_no_variant() {
    fn waits(locked: &Locked) {
        let lock = locked.lock.lock().unwrap();
        drop(locked.condvar.wait(lock).unwrap());
        locked.x.load(SeqCst);
    }
    fn notifies(locked: &Locked) {
        locked.x.store(1, SeqCst);
        let _lock = locked.lock.lock().unwrap();
        locked.condvar.notify_one();
    }
    let base = [(2, true, 0), (1, false, 0)];
    let program = || threads::<Locked, 2>([waits, notifies]);
    let (graph, feasible) = variants(program, &base);
    assert_eq!((graph.variants.len(), feasible), (1, 0));
    // The stuck node: the notification came before the wait.
    let report = checker(Strategy::Exhaustive)
        .spurious_wakeups(false)
        .run(program);
    let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
    assert_eq!(kinds, [FailureKind::LostWakeup], "{report}");
}
