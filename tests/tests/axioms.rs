//! Random litmus programs: what raddle runs against what the axioms of the memory model allow, the
//! same classes and none twice; and what must hold of the axioms themselves.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use fastrand::Rng;
use raddle_tests::axiomatic::compare::{Agreement, compare};
use raddle_tests::axiomatic::program::{
    Litmus, Operation, R0, R1, Statement, Value, X, Y, Z, compare_exchange, fence, fetch_add,
    litmus, load, store, swap, when,
};
use raddle_tests::axiomatic::random::{dense, mixed, random};
use raddle_tests::axiomatic::shrink::shrink;
use raddle_tests::axiomatic::{Allowed, Model, allowed, is_small};
use raddle_tests::suite::{Suite, Verdict};

/// Programs with more ways to guess than this are too much for a naive enumerator.
const MAX_GUESSES: usize = 20_000;

/// Programs with more schedules than this are not run in all of them.
const MAX_SCHEDULES: u64 = 2_000;

/// Compares random programs that are small enough, after this change.
fn compare_all(
    suite: Suite,
    change: impl Fn(Litmus) -> Litmus,
    mut check: impl FnMut(&Litmus, &mut Rng),
) -> u64 {
    suite.run(
        |rng| change(random(rng)),
        |litmus, rng| {
            if !is_small(litmus, MAX_GUESSES) {
                return Verdict::Skipped;
            }
            check(litmus, rng);
            Verdict::Agreed
        },
    )
}

/// What raddle and the axioms agree on; panics with the smallest program where they do
/// not, if they do not in this one.
fn agreed(litmus: &Litmus) -> Agreement {
    compare(litmus, MAX_SCHEDULES).unwrap_or_else(|_| {
        let smallest = shrink(litmus, |smaller| compare(smaller, MAX_SCHEDULES).is_err());
        let text = compare(&smallest, MAX_SCHEDULES).expect_err("it still fails");
        panic!("{text}\nin\n{smallest}\nwhich was at first\n{litmus}");
    })
}

#[test]
fn random_programs_have_the_classes_that_the_axioms_allow() {
    let (mut in_all_schedules, mut total, mut largest) = (0, 0, 0);
    let mut by_threads = BTreeMap::<usize, u64>::new();
    let compared = compare_all(Suite::new(400, 1), same, |litmus, _| {
        let agreement = agreed(litmus);
        in_all_schedules += u64::from(agreement.in_all_schedules);
        total += agreement.classes;
        largest = largest.max(agreement.classes);
        *by_threads.entry(litmus.threads.len()).or_default() += 1;
    });
    println!(
        "{in_all_schedules} in all schedules, {total} classes, at most {largest} in one; by threads \
         beside main: {by_threads:?}"
    );
    let few = compared < 100;
    assert!(
        few || in_all_schedules * 2 >= compared,
        "only {in_all_schedules}"
    );
}

#[test]
fn what_is_wrong_is_shown_as_the_smallest_program_that_builds_it() {
    let large = litmus([
        vec![
            fence(SeqCst),
            store(X, 1, Release),
            when(R1, 0, [load(R0, Y, Acquire)]),
            fetch_add(R1, Z, R0 + 1, AcqRel),
        ],
        vec![
            swap(R0, Y, 1, Release),
            load(R1, X, SeqCst),
            store(Z, 2, Relaxed),
        ],
        vec![compare_exchange(R0, Z, 0, 1, SeqCst, Acquire)],
    ])
    .after([load(R0, X, Relaxed)]);
    let store_buffering = "\
litmus([
    vec![store(X, 1, Relaxed), load(R0, Y, Relaxed)],
    vec![swap(R0, Y, 1, Relaxed), load(R1, X, Relaxed)],
])";
    let smallest = shrink(&large, |litmus| is_weak(litmus).is_some());
    assert_eq!(smallest.to_string(), store_buffering);
    let shown = large.to_string();
    assert!(
        shown.contains("when(R1, 0, [load(R0, Y, Acquire)]), fetch_add(R1, Z, R0 + 1, AcqRel)")
    );
    assert!(shown.contains("vec![compare_exchange(R0, Z, 0, 1, SeqCst, Acquire)],"));
    assert!(shown.ends_with("])\n.after([load(R0, X, Relaxed)])"));
}

fn same(litmus: Litmus) -> Litmus {
    litmus
}

fn both(litmus: &Litmus) -> [Allowed; 2] {
    [Model::Sc, Model::Rc11].map(|model| allowed(litmus, model))
}

/// The program with each operation as `change` has it.
fn with_operations(
    litmus: &Litmus,
    mut change: impl FnMut(Operation<Value>) -> Operation<Value>,
) -> Litmus {
    litmus.rewritten(|statement| match statement {
        Statement::Perform(into, operation) => {
            vec![Statement::Perform(*into, change(*operation))]
        }
        Statement::When(..) => unreachable!("only operations are rewritten"),
    })
}

/// Whether there is a difference between the models, for those programs where there must not be.
fn is_weak(litmus: &Litmus) -> Option<String> {
    let [sc, rc11] = both(litmus);
    (sc.classes != rc11.classes).then(|| "RC11 is not sequential consistency".to_owned())
}

#[test]
fn what_is_sequentially_consistent_is_allowed_by_rc11_and_more() {
    let (mut weak, mut classes) = (0, [0, 0]);
    let compared = compare_all(Suite::new(200, 1), same, |litmus, _| {
        let [sc, rc11] = both(litmus);
        assert!(sc.classes.is_subset(&rc11.classes), "{litmus}");
        weak += u64::from(sc.classes != rc11.classes);
        classes[0] += sc.classes.len();
        classes[1] += rc11.classes.len();
    });
    println!("{weak} programs are weak; {classes:?} classes");
    let few = compared < 100;
    assert!(
        few || weak * 7 >= compared,
        "only {weak} of the programs are weak"
    );
}

#[test]
fn seq_cst_accesses_are_sequentially_consistent() {
    let strongest = |litmus: Litmus| {
        with_operations(&litmus, |operation| match operation {
            Operation::Fence(ordering) => Operation::Fence(ordering),
            Operation::Load(x, _) => Operation::Load(x, SeqCst),
            Operation::Store(x, value, _) => Operation::Store(x, value, SeqCst),
            Operation::FetchAdd(x, value, _) => Operation::FetchAdd(x, value, SeqCst),
            Operation::Swap(x, value, _) => Operation::Swap(x, value, SeqCst),
            Operation::CompareExchange(x, expected, new, ..) => {
                Operation::CompareExchange(x, expected, new, SeqCst, SeqCst)
            }
        })
    };
    compare_all(Suite::new(100, 1), strongest, |litmus, _| {
        assert_eq!(is_weak(litmus), None, "{litmus}");
    });
}

#[test]
fn seq_cst_fences_between_all_accesses_are_sequentially_consistent() {
    let fenced = |litmus: Litmus| {
        litmus.rewritten(|statement| vec![fence(SeqCst), statement.clone(), fence(SeqCst)])
    };
    compare_all(Suite::new(100, 1), fenced, |litmus, _| {
        assert_eq!(is_weak(litmus), None, "{litmus}");
    });
}

#[test]
fn one_location_is_sequentially_consistent() {
    let narrow = |litmus: Litmus| {
        with_operations(&litmus, |operation| match operation {
            Operation::Fence(ordering) => Operation::Fence(ordering),
            Operation::Load(_, ordering) => Operation::Load(X, ordering),
            Operation::Store(_, value, ordering) => Operation::Store(X, value, ordering),
            Operation::FetchAdd(_, value, ordering) => Operation::FetchAdd(X, value, ordering),
            Operation::Swap(_, value, ordering) => Operation::Swap(X, value, ordering),
            Operation::CompareExchange(_, expected, new, success, failure) => {
                Operation::CompareExchange(X, expected, new, success, failure)
            }
        })
    };
    compare_all(Suite::new(60, 1), narrow, |litmus, _| {
        assert_eq!(is_weak(litmus), None, "{litmus}");
    });
}

/// Something at least as strong, of those that a load (or a store, or an update) may have.
fn stronger(rng: &mut Rng, ordering: Ordering, legal: &[Ordering]) -> Ordering {
    let is_stronger = |other: Ordering| match ordering {
        Relaxed => true,
        Acquire => matches!(other, Acquire | AcqRel | SeqCst),
        Release => matches!(other, Release | AcqRel | SeqCst),
        AcqRel => matches!(other, AcqRel | SeqCst),
        _ => other == SeqCst,
    };
    let legal: Vec<_> = legal
        .iter()
        .filter(|&&other| is_stronger(other))
        .copied()
        .collect();
    *rng.choice(&legal)
        .expect("the strongest is as strong as itself")
}

#[test]
fn stronger_orderings_allow_no_more() {
    let mut fewer = 0;
    let compared = compare_all(Suite::new(100, 1), same, |litmus, rng| {
        let loads = &[Relaxed, Acquire, SeqCst];
        let stores = &[Relaxed, Release, SeqCst];
        let updates = &[Relaxed, Acquire, Release, AcqRel, SeqCst];
        let mut strengthen = |ordering, legal: &[Ordering]| stronger(rng, ordering, legal);
        let strong = with_operations(litmus, |operation| match operation {
            Operation::Fence(o) => Operation::Fence(strengthen(o, updates)),
            Operation::Load(x, o) => Operation::Load(x, strengthen(o, loads)),
            Operation::Store(x, value, o) => Operation::Store(x, value, strengthen(o, stores)),
            Operation::FetchAdd(x, value, o) => {
                Operation::FetchAdd(x, value, strengthen(o, updates))
            }
            Operation::Swap(x, value, o) => Operation::Swap(x, value, strengthen(o, updates)),
            Operation::CompareExchange(x, expected, new, success, failure) => {
                let (success, failure) = (strengthen(success, updates), strengthen(failure, loads));
                Operation::CompareExchange(x, expected, new, success, failure)
            }
        });
        let [weaker, stronger] =
            [litmus, &strong].map(|litmus| allowed(litmus, Model::Rc11).classes);
        assert!(stronger.is_subset(&weaker), "{litmus}\n{strong}");
        fewer += u64::from(stronger != weaker);
    });
    let few = compared < 100;
    assert!(
        few || fewer * 20 >= compared,
        "only {fewer} of the programs have fewer classes"
    );
}

/// A relaxed write of the same location stands between a SeqCst write and the SeqCst read after it: in C++20
/// the two are in that order all the same.
#[test]
fn weaker_accesses_pass_the_order_of_seq_cst_on_in_cpp20() {
    let program = litmus([
        vec![store(Y, 1, SeqCst), store(X, 1, SeqCst)],
        vec![store(X, 2, Relaxed)],
        vec![load(R0, X, SeqCst), load(R1, Y, SeqCst)],
    ]);
    let [cpp20, paper] =
        [Model::Rc11, Model::Rc11Paper].map(|model| allowed(&program, model).classes);
    assert!(cpp20.is_subset(&paper));
    // The read of x takes 2, which overwrote 1, and the read of y takes the initial value.
    assert_eq!(paper.len() - cpp20.len(), 1);
    agreed(&program);
}

/// Where accesses of one location differ in strength, raddle follows the axioms, those of C++20 and those of
/// the paper. Without fences C++20 allows no more than the paper; with fences it may.
#[test]
fn mixed_accesses_have_the_classes_that_the_axioms_allow() {
    let (mut differ, mut less, mut more) = (0, 0, 0);
    let compared = Suite::new(150, 3).run(mixed, |litmus, _| {
        if !is_small(litmus, MAX_GUESSES) {
            return Verdict::Skipped;
        }
        agreed(litmus);
        let [cpp20, paper] =
            [Model::Rc11, Model::Rc11Paper].map(|model| allowed(litmus, model).classes);
        differ += u64::from(cpp20 != paper);
        less += paper.difference(&cpp20).count();
        more += cpp20.difference(&paper).count();
        let mut has_fences = false;
        let _ = litmus.rewritten(|statement| {
            has_fences |= format!("{statement:?}").contains("Fence");
            vec![statement.clone()]
        });
        assert!(has_fences || cpp20.is_subset(&paper), "{litmus}");
        Verdict::Agreed
    });
    println!("{differ} programs differ: C++20 has {less} classes less and {more} more");
    assert!(compared < 150 || less > 0, "none of the programs differs");
}

/// Programs in which fences, updates and accesses of every strength meet at one or two locations.
#[test]
fn dense_programs_have_the_classes_that_the_axioms_allow() {
    Suite::new(40, 7).run(dense, |litmus, _| {
        if !is_small(litmus, MAX_GUESSES) {
            return Verdict::Skipped;
        }
        agreed(litmus);
        Verdict::Agreed
    });
}
