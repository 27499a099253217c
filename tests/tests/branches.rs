//! Branches that interleaving decides, against published examples and against the search of every class.
//!
//! The examples are those of Setiadi (*Debugging and Testing Concurrent Programs with Efficient Test Case Generation*,
//! 2015), each as a program of our own.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicI32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{BranchGraph, Branches, Checker, FailureKind, Memory, Report, Strategy, thread};
use raddle_engine::Execution;
use raddle_tests::random_program::Program;
use raddle_tests::suite::{Suite, Verdict};
use raddle_tests::variant_graph::{Access, VariantGraph};

/// Runs every class and returns the branches.
fn all_branches(program: impl Fn() + Send + Sync) -> Branches {
    let report = exhaustive().run(program);
    assert!(report.exhausted, "{report}");
    assert!(report.branches().is_complete, "{}", report.branches());
    report.branches().clone()
}

fn exhaustive() -> Checker {
    Checker::new()
        .strategy(Strategy::Exhaustive)
        .memory(Memory::Sc)
        .branches(true)
        .keep_going(true)
        .shorten(false)
}

/// Runs one execution and the directed ones after it.
fn directed(seed: u64, program: impl Fn() + Send + Sync) -> Report {
    Checker::new()
        .strategy(Strategy::Random)
        .seed(seed)
        .max_executions(500)
        .memory(Memory::Sc)
        .branches(true)
        .keep_going(true)
        .shorten(false)
        .run(program)
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

/// A step without names: its first word and its place.
fn unnamed(step: &raddle::BranchStep) -> String {
    let word = step.what.split(' ').next().unwrap();
    format!("{word} {:?}", step.place)
}

/// Outcomes of each branch by its place, without counts.
fn outcomes(branches: &Branches) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for branch in &branches.branches {
        let result = branch.result.clone().unwrap_or_default();
        let steps = branch.outcomes.iter().map(|it| unnamed(&it.step));
        all.entry(format!("{} {result}", unnamed(&branch.after)))
            .or_default()
            .extend(steps);
    }
    all
}

/// Returns every guideline of a graph as its sources.
fn guidelines(graph: &BranchGraph) -> Vec<Vec<String>> {
    match graph {
        BranchGraph::Outcome(_) => vec![Vec::new()],
        BranchGraph::Choice(choice) => {
            let mut all = Vec::new();
            for (source, rest) in &choice.sources {
                for mut guideline in guidelines(rest) {
                    guideline.insert(0, format!("{}: {source}", choice.receive.what));
                    all.push(guideline);
                }
            }
            all
        }
    }
}

struct Numbers {
    x: AtomicI32,
    y: AtomicI32,
    z: AtomicI32,
}

/// Variables have the names of the fields in the expressions that make them.
impl Default for Numbers {
    fn default() -> Self {
        Numbers {
            x: AtomicI32::new(0),
            y: AtomicI32::new(0),
            z: AtomicI32::new(0),
        }
    }
}

/// A step of a branch that touches nothing that another branch reads.
#[track_caller]
fn mark(numbers: &Numbers) {
    let _ = Location::caller();
    numbers.z.store(1, SeqCst);
}

/// Branches on the sum of two values that another thread writes.
fn branches_on_the_sum(numbers: &Numbers) {
    let sum = numbers.x.load(SeqCst) + numbers.y.load(SeqCst);
    if sum == 0 {
        mark(numbers);
    }
    numbers.y.load(SeqCst);
}

fn writes_both(numbers: &Numbers) {
    numbers.x.store(1, SeqCst);
    numbers.y.store(1, SeqCst);
    numbers.x.load(SeqCst);
}

/// Runs every schedule; returns the accesses of the first two atomic variables in each.
fn accesses(program: impl Fn() + Send + Sync) -> BTreeSet<Vec<Access>> {
    let mut all = BTreeSet::new();
    let checker = exhaustive().strategy(Strategy::Enumerate).branches(false);
    let report = raddle::__private::run_observed(checker, program, &mut |execution: &Execution| {
        let accesses = execution.events.iter().filter_map(|event| {
            let location = event.operation.location()?.index();
            (location < 2).then(|| (event.id.thread.index(), event.writes(), location))
        });
        all.insert(accesses.collect());
    });
    assert!(report.exhausted, "{report}");
    all
}

/// Numbers of nodes of the graph of variants of a trace: prefixes in which every read has the version that it has in
/// the trace, and those in which the last access has another one.
fn variant_graph(trace: &[Access]) -> (usize, usize) {
    let graph = VariantGraph::of(trace);
    (graph.nodes, graph.variants.len())
}

#[test]
fn both_values_decide_the_branch_in_four_groups() {
    let branches = all_branches(|| threads::<Numbers, 2>([branches_on_the_sum, writes_both]));
    let [branch] = &branches.branches[..] else {
        panic!("{branches}");
    };
    assert_eq!(branch.threads, ["main.1"]);
    assert_eq!(branch.outcomes.len(), 2);
    let [graph] = &branch.graphs[..] else {
        panic!("{branches}");
    };
    // The published groups: neither write, only x, only y, both. The read of x comes before that of y and the write of
    // x before that of y, so that all four are possible.
    let all = guidelines(graph);
    assert_eq!(all.len(), 4, "{branches}");
    assert_eq!(graph.guidelines(), 4);
    assert!(all.iter().all(|guideline| guideline.len() == 2));
    // The published use-defines of the branch: x and y of the other thread, each read in the condition.
    let sources = all
        .iter()
        .flatten()
        .filter(|it| !it.ends_with("there first"));
    let words = sources.map(|it| it.split(" at ").next().unwrap());
    let words: BTreeSet<&str> = words.collect();
    assert_eq!(
        words.into_iter().collect::<Vec<_>>(),
        ["load x: store x", "load y: store y"]
    );
}

#[test]
fn four_groups_take_the_place_of_seven_variants() {
    let program = || threads::<Numbers, 2>([branches_on_the_sum, writes_both]);
    // The published trace; the threads have the numbers 1 and 2.
    let base = vec![
        (1, false, 0),
        (2, true, 0),
        (1, false, 1),
        (2, true, 1),
        (1, false, 1),
        (2, false, 0),
    ];
    assert!(accesses(program).contains(&base));
    assert_eq!(variant_graph(&base), (14, 7));
    let report = directed(1, program);
    let graph = &report.branches().branches[0].graphs[0];
    assert_eq!(graph.guidelines(), 4, "{}", report.branches());
    assert!(!report.branches().guidelines.is_open);
}

/// The sum is negative unless the other thread has written in between.
fn tests_the_sign(numbers: &Numbers) {
    numbers.x.store(-3, SeqCst);
    numbers.y.store(2, SeqCst);
    let sum = numbers.x.load(SeqCst) + numbers.y.load(SeqCst);
    if sum < 0 {
        mark(numbers);
    }
}

fn writes_and_reads(numbers: &Numbers) {
    numbers.x.store(10, SeqCst);
    numbers.x.load(SeqCst);
}

#[test]
fn a_sign_is_decided_by_one_of_two_values() {
    let program = || threads::<Numbers, 2>([tests_the_sign, writes_and_reads]);
    let branches = all_branches(program);
    let [branch] = &branches.branches[..] else {
        panic!("{branches}");
    };
    let [graph] = &branch.graphs[..] else {
        panic!("{branches}");
    };
    // The read of y has one source and is left out. Published: 10 nodes and 4. Two of the ten are for the local sum,
    // which is no operation.
    assert_eq!((branch.nodes_before, branch.nodes), (8, 4), "{branches}");
    assert_eq!(graph.guidelines(), 2);
    let BranchGraph::Choice(choice) = graph else {
        panic!("{branches}");
    };
    assert_eq!(choice.receive.what, "load x");
    // By variants there are four executions: the first and three variants.
    let base: Vec<Access> = vec![
        (1, true, 0),
        (1, true, 1),
        (1, false, 0),
        (1, false, 1),
        (2, true, 0),
        (2, false, 0),
    ];
    assert!(accesses(program).contains(&base));
    assert_eq!(variant_graph(&base), (13, 3));
    // The branch itself needs two.
    let most = (0..20).map(|seed| directed(seed, program).branches().guidelines.executions);
    // The second read of the other thread, which no branch depends on, may cost one more.
    assert!(most.max() <= Some(3));
}

struct Sections {
    x: Mutex<i32>,
    y: Mutex<i32>,
    mark: AtomicI32,
}

impl Default for Sections {
    fn default() -> Self {
        Sections {
            x: Mutex::new(0),
            y: Mutex::new(0),
            mark: AtomicI32::new(0),
        }
    }
}

fn branches_on_x(sections: &Sections) {
    let found = std::mem::replace(&mut *sections.x.lock().unwrap(), 1);
    *sections.y.lock().unwrap() += 1;
    if found == 0 {
        sections.mark.store(1, SeqCst);
    }
}

fn writes_x_and_y<const ROUNDS: usize>(sections: &Sections) {
    *sections.x.lock().unwrap() = 2;
    for _ in 0..ROUNDS {
        *sections.y.lock().unwrap() += 1;
    }
}

#[test]
fn sections_that_do_not_matter_are_not_in_the_graph() {
    fn check<const ROUNDS: usize>(classes: u64) {
        let program = || threads::<Sections, 2>([branches_on_x, writes_x_and_y::<ROUNDS>]);
        let branches = all_branches(program);
        let [branch] = &branches.branches[..] else {
            panic!("{branches}");
        };
        assert_eq!(branches.classes, classes);
        assert_eq!(branch.nodes, 4, "{branches}");
        assert_eq!(guidelines(&branch.graphs[0]).len(), 2);
        let BranchGraph::Choice(choice) = &branch.graphs[0] else {
            panic!("{branches}");
        };
        assert_eq!(choice.receive.what, "lock x");
    }
    // Two orders of x, and one more place of the own section among those of y for each round.
    check::<1>(4);
    check::<3>(8);
}

/// The branch is decided by a value that reaches it through another thread and another variable.
#[test]
fn a_copy_is_followed_to_the_read_that_decides() {
    fn copies(numbers: &Numbers) {
        let x = numbers.x.load(SeqCst);
        numbers.y.store(x + 1, SeqCst);
    }
    fn branches(numbers: &Numbers) {
        if numbers.y.load(SeqCst) == 2 {
            mark(numbers);
        }
    }
    fn writes(numbers: &Numbers) {
        numbers.x.store(1, SeqCst);
    }
    let found = all_branches(|| threads::<Numbers, 3>([copies, branches, writes]));
    let [branch] = &found.branches[..] else {
        panic!("{found}");
    };
    assert_eq!(branch.threads, ["main.2"]);
    let receives: BTreeSet<String> = guidelines(&branch.graphs[0])
        .into_iter()
        .flatten()
        .map(|choice| choice.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        receives.into_iter().collect::<Vec<_>>(),
        ["load x", "load y"],
        "{found}"
    );
}

#[test]
fn a_branch_without_different_operations_is_not_seen() {
    fn branches(numbers: &Numbers) {
        let next = if numbers.x.load(SeqCst) == 0 { 1 } else { 2 };
        numbers.y.store(next, SeqCst);
    }
    fn writes(numbers: &Numbers) {
        numbers.x.store(1, SeqCst);
    }
    let found = all_branches(|| threads::<Numbers, 2>([branches, writes]));
    assert_eq!(found.classes, 2);
    assert!(found.branches.is_empty(), "{found}");
}

#[test]
fn choices_of_the_program_are_no_branches_of_interleaving() {
    let found = all_branches(|| {
        let number = Arc::new(AtomicI32::new(0));
        if raddle::any::<bool>() {
            number.store(1, SeqCst);
        }
    });
    assert_eq!(found.classes, 2);
    assert!(found.branches.is_empty(), "{found}");
}

#[test]
fn results_that_never_vary_are_named() {
    fn exchanges(numbers: &Numbers) {
        // The other thread writes y only.
        let _ = numbers.x.compare_exchange(0, 1, SeqCst, SeqCst);
        let _ = numbers.y.compare_exchange(0, 1, SeqCst, SeqCst);
    }
    fn writes(numbers: &Numbers) {
        numbers.y.store(2, SeqCst);
    }
    let found = all_branches(|| threads::<Numbers, 2>([exchanges, writes]));
    let [branch] = &found.branches[..] else {
        panic!("{found}");
    };
    assert_eq!(branch.after.what, "compare-exchange y");
    let results: Vec<_> = branch.outcomes.iter().map(|it| &*it.step.what).collect();
    assert_eq!(results.len(), 2);
    assert!(results.contains(&"succeeds") && results.contains(&"fails"));
    let [one] = &found.one_sided[..] else {
        panic!("{found}");
    };
    assert_eq!(one.operation.what, "compare-exchange x");
    assert_eq!((&*one.result, &*one.never), ("succeeds", "fails"));
}

/// The pool of the published experiments: one access without a lock, and one behind a branch that another thread
/// decides.
#[derive(Default)]
struct Pool {
    active: Mutex<i32>,
    factory: UnsafeCell<i32>,
    idle: AtomicI32,
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

fn returns(pool: &Pool) {
    *pool.active.lock().unwrap() = 1;
}

#[test]
fn a_pool_needs_two_executions() {
    let program = || threads::<Pool, 3>([uses_factory, borrows, returns]);
    for seed in 0..20 {
        let report = directed(seed, program);
        let branches = report.branches();
        let [branch] = &branches.branches[..] else {
            panic!("{branches}");
        };
        // Published: 2 executions instead of 23 or 147, and 4 nodes instead of 990.
        assert_eq!(branches.guidelines.executions, 2, "{branches}");
        assert!(!branches.guidelines.is_open);
        assert_eq!(branch.nodes, 4, "{branches}");
        let races = report.failures.iter();
        let races = races.filter(|it| it.kind == FailureKind::DataRace);
        assert!(races.count() >= 1, "{report}");
    }
}

/// A loop of some rounds of which each reads the interval that its own last round or another thread has set.
fn pings<const ROUNDS: usize>(numbers: &Numbers) {
    numbers.x.store(1, SeqCst);
    for _ in 0..ROUNDS {
        if numbers.x.load(SeqCst) > 0 {
            mark(numbers);
        } else {
            numbers.y.load(SeqCst);
        }
        numbers.x.store(2, SeqCst);
    }
}

fn sets_interval(numbers: &Numbers) {
    numbers.x.store(-1, SeqCst);
}

#[test]
fn rounds_of_a_loop_make_no_more_guidelines() {
    fn check<const ROUNDS: usize>() -> u64 {
        let found = all_branches(|| threads::<Numbers, 2>([pings::<ROUNDS>, sets_interval]));
        let [branch] = &found.branches[..] else {
            panic!("{found}");
        };
        // Published: the first round and the second have two guidelines each, with 4 nodes; all others are like the
        // second.
        let graphs: Vec<_> = branch.graphs.iter().map(BranchGraph::guidelines).collect();
        assert_eq!(graphs, [2, 2], "{found}");
        assert_eq!(branch.nodes, 4);
        assert_eq!(branch.instances, ROUNDS);
        found.classes
    }
    let classes = [check::<2>(), check::<4>(), check::<6>()];
    assert!(classes[0] < classes[1] && classes[1] < classes[2]);
}

fn connects(numbers: &Numbers) {
    numbers.x.store(0, SeqCst);
    for _ in 0..3 {
        if numbers.x.load(SeqCst) != 0 {
            mark(numbers);
            return;
        }
    }
}

fn sets_connection(numbers: &Numbers) {
    numbers.x.store(1, SeqCst);
}

#[test]
fn one_execution_is_enough_if_it_has_both_outcomes() {
    let program = || threads::<Numbers, 2>([connects, sets_connection]);
    let branches = all_branches(program);
    let nodes: Vec<_> = branches.branches.iter().map(|it| it.nodes).collect();
    assert!(nodes.iter().all(|&nodes| nodes == 4), "{branches}");
    let runs: BTreeSet<u64> = (0..40)
        .map(|seed| {
            let guidelines = directed(seed, program).branches().guidelines;
            assert!(!guidelines.is_open);
            guidelines.executions.max(1)
        })
        .collect();
    // An execution in which the write is between two rounds has both sources.
    assert_eq!(runs.into_iter().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn own_writes_make_no_branch() {
    fn sets_and_branches(numbers: &Numbers) {
        numbers.x.store(1, SeqCst);
        if numbers.x.load(SeqCst) == 1 {
            mark(numbers);
        }
    }
    fn reads(numbers: &Numbers) {
        numbers.x.load(SeqCst);
    }
    let found = all_branches(|| threads::<Numbers, 2>([sets_and_branches, reads]));
    assert_eq!(found.classes, 2);
    assert!(found.branches.is_empty(), "{found}");
}

#[test]
fn a_sample_does_not_claim_to_list_all() {
    let program = || threads::<Numbers, 2>([branches_on_the_sum, writes_both]);
    let checker = Checker::new().strategy(Strategy::Random).branches(true);
    let report = checker.max_executions(1).run(program);
    let text = report.branches().to_string();
    assert!(!report.branches().is_complete);
    assert!(text.contains("there may be others"), "{text}");
    assert!(text.ends_with("others not tried"), "{text}");
}

#[test]
fn random_programs_have_the_branches_of_all_their_schedules() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    Suite::new(40, 25).run(Program::random, |program, _| {
        let run = |strategy, limit: u64| {
            let checker = program.checker(strategy).branches(true);
            checker
                .keep_going(true)
                .max_executions(limit)
                .run(|| program.run())
        };
        let all = run(Strategy::Enumerate, 5_000);
        let found = run(Strategy::Exhaustive, 5_000);
        if !all.exhausted || !found.exhausted {
            return Verdict::Skipped;
        }
        let (all, found) = (all.branches(), found.branches());
        assert!(found.is_complete);
        assert_eq!(outcomes(all), outcomes(found), "{all}\n\n{found}");
        let undecided = found.branches.iter().filter(|it| it.graphs.is_empty());
        let undecided = undecided.count();
        // Groups of barriers are no sources.
        if !format!("{program:?}").contains("Meet") {
            assert_eq!(undecided, 0, "{found}");
        }
        // A sample lists a part, with one directed execution for each source.
        let sampled = run(Strategy::Random, 60);
        let part = outcomes(sampled.branches());
        let whole = outcomes(found);
        for (place, steps) in &part {
            // A choice of the program that agrees with a source by chance, until other executions are run.
            let Some(whole) = whole.get(place) else {
                continue;
            };
            assert!(steps.is_subset(whole), "{place}");
        }
        let mut count = |what, number: usize| *counts.entry(what).or_default() += number;
        count("branches", whole.len());
        count("undecided branches", undecided);
        count("branches by directed executions", part.len());
        count("classes", found.classes as usize);
        let runs = sampled.branches().guidelines.executions as usize;
        count("directed executions", runs);
        Verdict::Agreed
    });
    println!("{counts:?}");
}
