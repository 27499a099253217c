//! What executions cover: worked examples, definitions written out, and what could be covered at all.

use std::collections::BTreeSet;
use std::sync::Mutex;

use fastrand::Rng;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar};
use raddle::{Checker, Covered, Memory, Metric, Metrics, Report, Strategy, thread};
use raddle_engine::Execution;
use raddle_engine::coverage::Coverage;
use raddle_tests::measured::{Naive, Places, Requirements, covered, infeasible, sorted};
use raddle_tests::random_program::{Program, Statement};
use raddle_tests::suite::{Suite, Verdict};

/// Runs every schedule of a program.
fn every_schedule(
    metrics: impl Into<Metrics>,
    body: impl Fn() + Send + Sync,
) -> (Report, Vec<Execution>) {
    let mut executions = Vec::new();
    let checker = Checker::new()
        .strategy(Strategy::Enumerate)
        .memory(Memory::Sc)
        .coverage(metrics)
        .keep_going(true)
        .shorten(false);
    let report = raddle::__private::run_observed(checker, body, &mut |execution| {
        executions.push(execution.clone());
    });
    assert!(report.exhausted);
    (report, executions)
}

/// The covered pairs of a metric as lines, numbered as the example does: `base` is line 0.
fn pairs(report: &Report, metric: Metric, base: u32) -> BTreeSet<(u32, u32)> {
    let goals = report.coverage().goals();
    let covered = goals.filter(|(goal, it)| goal.metric == metric && *it == Covered::Yes);
    let line = |place: &raddle::CodePlace| place.line - base;
    covered
        .map(|(goal, _)| (line(&goal.first), line(goal.second.as_ref().unwrap())))
        .collect()
}

#[test]
fn an_atomicity_violation_is_a_pair_that_no_good_execution_covers() {
    let base = line!() + 3;
    let body = || {
        // 0 to 3 are the lines from here on that the example numbers so.
        let x = Arc::new(AtomicUsize::new(1)); // 0
        let read = |x: &AtomicUsize| x.load(SeqCst); // 1
        let write = |x: &AtomicUsize, old| x.store(old + 1, SeqCst); // 2
        let other = |x: &AtomicUsize| x.store(7, SeqCst); // 3
        let (one, two) = (Arc::clone(&x), Arc::clone(&x));
        let one = thread::spawn(move || {
            let old = read(&one);
            write(&one, old);
        });
        let two = thread::spawn(move || other(&two));
        one.join().unwrap();
        two.join().unwrap();
    };
    let (report, executions) = every_schedule(true, body);
    let all = BTreeSet::from([(0, 1), (0, 2), (0, 3), (2, 3), (3, 1), (3, 2)]);
    assert_eq!(pairs(&report, Metric::DefUse, base), all);
    // {01, 02, 23}, {03, 31, 32} and {01, 03, 32} have three pairs each; 03 with 32 is in two.
    assert_eq!(report.coverage().combinations.covered, 8);
    let mut orders = BTreeSet::new();
    let mut naive = Naive::default();
    for execution in &executions {
        let found = naive.note(execution);
        let uses = found.into_iter().filter(|it| it.metric == Metric::DefUse);
        orders.insert(uses.collect::<Requirements>());
    }
    assert_eq!(orders.len(), 3, "{orders:?}");
    assert!(orders.iter().all(|order| order.len() == 3), "{orders:?}");
    assert_eq!(naive.combined.len(), 8);
    // The good orders cover all six between them, the violation adds a pair with none of them.
    let in_one_only = |it: &&Requirements| {
        let others = orders.iter().filter(|other| other != it);
        let others: Requirements = others.flatten().copied().collect();
        others.len() == 6
    };
    assert_eq!(orders.iter().filter(in_one_only).count(), 1);
}

#[test]
fn three_threads_meet_in_six_orders() {
    struct Shared {
        lock: raddle::sync::Mutex<()>,
        index: AtomicUsize,
    }
    let body = || {
        let shared = Arc::new(Shared {
            lock: raddle::sync::Mutex::new(()),
            index: AtomicUsize::new(0),
        });
        let start = |part: fn(&Shared)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || part(&shared))
        };
        let threads = [
            start(|it| {
                let _held = it.lock.lock().unwrap();
                let index = it.index.load(SeqCst);
                if index + 1 < 2 {
                    it.index.store(index + 1, SeqCst);
                }
            }),
            start(|it| {
                let _held = it.lock.lock().unwrap();
                let index = it.index.load(SeqCst);
                if index < 2 {
                    it.index.store(index + 1, SeqCst);
                }
            }),
            start(|it| {
                let _held = it.lock.lock().unwrap();
                assert!(it.index.load(SeqCst) < 2, "out of bounds");
                let index = it.index.load(SeqCst);
                if index > 0 {
                    it.index.store(index - 1, SeqCst);
                }
            }),
        ];
        for thread in threads {
            thread.join().unwrap();
        }
    };
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .memory(Memory::Sc)
        .coverage(true)
        .keep_going(true)
        .shorten(false)
        .run(body);
    assert!(report.exhausted);
    assert_eq!(report.classes(), 6, "one for each order of the sections");
    let coverage = report.coverage();
    assert_eq!(coverage.counts(Metric::SyncPair).covered, 6);
    assert_eq!(coverage.counts(Metric::Follows).covered, 6);
    assert_eq!(coverage.counts(Metric::DefUse).covered, 19);
    assert_eq!(coverage.combinations.covered, 141);
    // Of the 15 pairs of sync-pairs, six: one for each order.
    let only_locks = Checker::new()
        .strategy(Strategy::Coverage {
            metric: Metric::SyncPair.into(),
        })
        .memory(Memory::Sc)
        .coverage(Metric::SyncPair)
        .keep_going(true)
        .max_executions(200)
        .run(body);
    assert_eq!(only_locks.coverage().counts(Metric::SyncPair).covered, 6);
    assert_eq!(only_locks.failures.len(), 1);
}

#[test]
fn a_read_that_is_left_out_makes_new_neighbours() {
    let run = |reads: bool| {
        let body = move || {
            let x = AtomicUsize::new(0);
            x.store(1, SeqCst);
            if reads {
                x.load(SeqCst);
            }
            x.store(0, SeqCst);
            let x = Arc::new(x);
            let other = Arc::clone(&x);
            thread::spawn(move || other.load(SeqCst)).join().unwrap();
        };
        let mut naive = Naive::default();
        let mut measured = Coverage::new(Metrics::ALL);
        let checker = Checker::new().strategy(Strategy::Enumerate);
        let report = raddle::__private::run_observed(checker, body, &mut |execution| {
            naive.note(execution);
            measured.note(execution);
        });
        report.assert_ok();
        assert_eq!(covered(&measured), naive.covered);
        let count = |metric| measured.counts(metric).covered;
        (
            [Metric::PSet, Metric::DefUse, Metric::Adjacent].map(count),
            measured.ordered_count(),
        )
    };
    // The initial value makes one more def-use. PSet (3,4); def-use (1,2) (1,3) (3,4); adjacent (1,2)
    // (2,3) (3,4), which makes three ordered pairs.
    assert_eq!(run(true), ([1, 3 + 1, 3], 3));
    // (3,4); (1,3) (3,4); (1,3) (3,4), which makes one.
    assert_eq!(run(false), ([1, 2 + 1, 2], 1));
}

#[test]
fn no_order_of_locks_tells_a_lost_notification_apart() {
    let failing = Mutex::new(BTreeSet::new());
    let body = || {
        let shared = Arc::new((
            raddle::sync::Mutex::new(()),
            Condvar::new(),
            AtomicUsize::new(0),
        ));
        let other = Arc::clone(&shared);
        let waiter = thread::spawn(move || {
            let (lock, condition, count) = &*other;
            let seen = count.load(SeqCst);
            if count.load(SeqCst) == seen {
                let held = lock.lock().unwrap();
                drop(condition.wait(held).unwrap());
            }
        });
        let (lock, condition, count) = &*shared;
        for _ in 0..2 {
            let held = lock.lock().unwrap();
            count.fetch_add(1, SeqCst);
            condition.notify_all();
            drop(held);
        }
        waiter.join().unwrap();
    };
    let checker = Checker::new()
        .strategy(Strategy::Enumerate)
        .memory(Memory::Sc)
        .spurious_wakeups(false)
        .keep_going(true)
        .shorten(false);
    let mut passing = BTreeSet::new();
    let report = raddle::__private::run_observed(checker, body, &mut |execution| {
        let found = Naive::default().note(execution);
        let mut measured = Coverage::new(Metrics::ALL);
        measured.note(execution);
        assert_eq!(covered(&measured), found);
        let is_stuck = !execution.pending.is_empty();
        match is_stuck {
            true => failing.lock().unwrap().extend(found),
            false => passing.extend(found),
        }
    });
    assert_eq!(report.failures.len(), 1);
    let failing = failing.into_inner().unwrap();
    let only = |metric: Metric| {
        let only = failing.difference(&passing);
        only.filter(|it| it.metric == metric).count()
    };
    assert!(failing.iter().any(|it| it.metric == Metric::SyncPair));
    assert_eq!(only(Metric::SyncPair), 0);
    assert_eq!(only(Metric::Follows), 0);
}

#[test]
fn definitions_written_out_give_the_same() {
    let mut totals = std::collections::BTreeMap::new();
    Suite::new(300, 7).run(Program::random, |program, rng| {
        let (mut naive, mut places) = (Naive::default(), Places::default());
        let mut measured = Coverage::new(Metrics::ALL);
        // Without adjacent accesses, repeated interactions take a shorter way.
        let mut usual = Coverage::new(Metrics::USUAL);
        let checker = program
            .checker(Strategy::Random)
            .max_executions(20)
            .seed(rng.u64(..))
            .lock_order(raddle::Level::Allow)
            .shorten(false);
        raddle::__private::run_observed(checker, || program.run(), &mut |execution| {
            let execution = places.rename(execution);
            let found = naive.note(&execution);
            let mut one = Coverage::new(Metrics::ALL);
            one.note(&execution);
            assert_eq!(covered(&one), found);
            measured.note(&execution);
            usual.note(&execution);
            let so_far = naive.covered.iter().copied();
            let so_far = so_far.filter(|it| Metrics::USUAL.contains(it.metric));
            assert_eq!(covered(&usual), so_far.collect());
            assert_eq!(usual.combinations().covered, naive.combined.len() as u64);
        });
        assert_eq!(sorted(usual.combined_pairs()), naive.combined);
        assert_eq!(covered(&measured), naive.covered);
        assert_eq!(sorted(measured.combined_pairs()), naive.combined);
        assert_eq!(measured.combinations().covered, naive.combined.len() as u64);
        let ordered: BTreeSet<_> = measured.ordered_pairs().collect();
        assert_eq!(ordered, naive.ordered);
        assert_eq!(measured.ordered_count(), ordered.len() as u64);
        for requirement in naive.covered {
            *totals.entry(requirement.metric).or_insert(0) += 1;
        }
        Verdict::Agreed
    });
    // Nothing is equal because there is nothing.
    for metric in Metric::ALL {
        assert!(
            totals.get(&metric).is_some_and(|&it| it > 50),
            "{metric}: {totals:?}"
        );
    }
}

/// A program whose threads do the same whatever they see.
fn unconditional(rng: &mut Rng) -> Program {
    fn body(rng: &mut Rng, depth: u32, spawns: bool) -> Vec<Statement> {
        let count = rng.usize(1..=2);
        (0..count).map(|_| statement(rng, depth, spawns)).collect()
    }
    fn statement(rng: &mut Rng, depth: u32, spawns: bool) -> Statement {
        let x = usize::from(rng.u32(0..3) == 0);
        match rng.u32(0..if depth == 0 { 6 } else { 12 }) {
            0..2 => Statement::Read(x),
            2..5 => Statement::Write(x, 1),
            5 => Statement::Add(x, 1),
            6..9 => Statement::Lock(0, body(rng, depth - 1, false)),
            9 if spawns => Statement::Spawn(body(rng, 0, false)),
            9 | 10 => Statement::LockToRead(body(rng, 0, false)),
            _ => Statement::LockToWrite(body(rng, 0, false), Vec::new()),
        }
    }
    Program {
        threads: (0..2).map(|_| body(rng, 1, true)).collect(),
        main: match rng.bool() {
            true => body(rng, 1, false),
            false => Vec::new(),
        },
        disturbed: false,
        memory: Memory::Sc,
    }
}

#[test]
fn what_is_called_impossible_never_happens() {
    let (mut impossible, mut open, mut happened) = (0, 0, 0);
    Suite::new(120, 11).run(unconditional, |program, _| {
        let mut places = Places::default();
        let mut all = Coverage::new(Metrics::ALL);
        // What single executions say.
        let mut said: Vec<Requirements> = Vec::new();
        let checker = program
            .checker(Strategy::EnumeratePrivateFirst)
            .max_executions(4_000)
            .shorten(false);
        let report = raddle::__private::run_observed(checker, || program.run(), &mut |execution| {
            let execution = places.rename(execution);
            if said.len() < 8 {
                let mut one = Coverage::new(Metrics::ALL);
                one.note(&execution);
                said.push(infeasible(&one));
            }
            all.note(&execution);
        });
        if !report.exhausted || !report.failures.is_empty() {
            return Verdict::Skipped;
        }
        let happens = covered(&all);
        for said in &said {
            let wrong: Vec<_> = said.intersection(&happens).collect();
            assert!(wrong.is_empty(), "{wrong:?}");
            impossible += said.len();
        }
        let counts = Metric::ALL.map(|metric| all.counts(metric));
        happened += happens.len();
        open += counts
            .iter()
            .map(|it| it.known - it.covered - it.infeasible)
            .sum::<u64>() as usize;
        Verdict::Agreed
    });
    assert!(impossible > 1_000, "{impossible}");
    // An estimate, and not a bad one: of all that is called possible, nearly all happens.
    assert!(open * 20 < happened, "{open} of {happened}");
}

/// One execution of each class covers what all executions cover, for the metrics that conclude.
#[test]
fn one_execution_of_each_class_covers_what_all_of_them_cover() {
    let mut compared = 0;
    Suite::new(100, 13).run(unconditional, |program, _| {
        let mut places = Places::default();
        let mut measure = |strategy| {
            let mut all = Coverage::new(Metrics::ALL);
            let checker = program
                .checker(strategy)
                .max_executions(4_000)
                .shorten(false);
            let report =
                raddle::__private::run_observed(checker, || program.run(), &mut |execution| {
                    let mut execution = places.rename(execution);
                    // Variables are numbered by their first use, which differs.
                    let made = execution.locations.iter_mut();
                    made.for_each(|location| location.made = None);
                    all.note(&execution);
                });
            let of_classes = covered(&all)
                .into_iter()
                .filter(|requirement| requirement.metric.is_of_classes());
            report
                .exhausted
                .then(|| of_classes.collect::<Requirements>())
        };
        let all = measure(Strategy::Enumerate);
        let Some((all, each)) = all.zip(measure(Strategy::Exhaustive)) else {
            return Verdict::Skipped;
        };
        assert_eq!(all, each);
        compared += all.len();
        Verdict::Agreed
    });
    assert!(compared > 300, "{compared}");
}

/// With every class run, a requirement that none covers is not merely untried.
#[test]
fn what_no_class_covers_is_impossible() {
    let body = || {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.0.store(1, SeqCst);
            other.1.store(1, SeqCst);
        });
        // It reads the second only if it has read the first.
        if shared.0.load(SeqCst) == 0 && shared.1.load(SeqCst) == 1 {
            shared.0.load(SeqCst);
        }
        thread.join().unwrap();
    };
    let run = |checker: Checker| checker.coverage(true).run(body);
    let standings = |report: &Report| -> Vec<(Metric, Covered)> {
        let goals = report.coverage().goals();
        goals
            .map(|(goal, covered)| (goal.metric, covered))
            .collect()
    };
    let exhaustive = run(Checker::new().strategy(Strategy::Exhaustive));
    assert!(exhaustive.exhausted);
    let all = standings(&exhaustive);
    let is_open = |(metric, covered): &(Metric, Covered)| {
        metric.is_of_classes() && *covered == Covered::NotTried
    };
    assert!(!all.iter().any(is_open), "{all:?}");
    let impossible = |all: &[(Metric, Covered)]| {
        let found = all.iter().filter(|(_, it)| *it == Covered::Impossible);
        found.count()
    };
    assert!(impossible(&all) > 0, "{all:?}");
    let text = exhaustive.coverage().to_string();
    assert!(
        text.contains(": impossible, as every behaviour was run"),
        "{text}"
    );
    let json = raddle_report::to_json(&exhaustive);
    assert!(json.contains("\"Impossible\""), "{json}");
    // What was not run may be possible.
    for checker in [
        Checker::new().strategy(Strategy::Random).max_executions(50),
        Checker::new()
            .strategy(Strategy::Exhaustive)
            .max_executions(1),
        Checker::new().strategy(Strategy::Exhaustive).preemptions(0),
    ] {
        let report = run(checker);
        assert!(!report.exhausted);
        assert_eq!(impossible(&standings(&report)), 0, "{report}");
    }
}

#[test]
fn reasons_are_told_apart() {
    let base = line!();
    let report = Checker::new().coverage(true).run(|| {
        let shared = Arc::new((
            raddle::sync::Mutex::new(()),
            AtomicUsize::new(0),
            AtomicUsize::new(0),
        ));
        shared.2.store(1, SeqCst); // 7
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let _held = other.0.lock().unwrap();
            other.1.store(1, SeqCst); // 11
            other.1.store(2, SeqCst); // 12
            other.2.store(2, SeqCst); // 13
        });
        let held = shared.0.lock().unwrap();
        shared.1.load(SeqCst); // 16
        drop(held);
        thread.join().unwrap();
        shared.2.load(SeqCst); // 19
    });
    assert!(report.exhausted);
    let coverage = report.coverage();
    let standing = |metric: Metric, first: u32, second: u32| {
        let mut goals = coverage.goals();
        let line = |place: &raddle::CodePlace| place.line - base;
        let found = goals.find(|(goal, _)| {
            goal.metric == metric
                && line(&goal.first) == first
                && goal.second.as_ref().map(line) == Some(second)
        });
        found.map(|(_, covered)| covered)
    };
    let def_use = Metric::DefUse;
    assert_eq!(standing(def_use, 12, 16), Some(Covered::Yes));
    // The lock is not given back between the two writes.
    assert_eq!(standing(def_use, 11, 16), Some(Covered::OrderedByLock));
    assert_eq!(standing(def_use, 13, 19), Some(Covered::Yes));
    // The thread has always written by then.
    assert_eq!(standing(def_use, 7, 19), Some(Covered::NeverConcurrent));
    assert_eq!(
        standing(def_use, 19, 7),
        None,
        "nobody reads that way round"
    );
}

fn guided(seed: u64, body: impl Fn() + Send + Sync) -> Report {
    Checker::new()
        .strategy(Strategy::Coverage {
            metric: Metrics::SYNC_PAIR_DEF_USE,
        })
        .seed(seed)
        .max_executions(100)
        .keep_going(true)
        .shorten(false)
        .run(body)
}

fn counter() {
    let counter = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                for _ in 0..2 {
                    counter.store(counter.load(SeqCst) + 1, SeqCst);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn guided_search_does_the_same_from_the_same_seed() {
    let classes = |seed| {
        let mut classes = Vec::new();
        let checker = Checker::new()
            .strategy("coverage".parse().unwrap())
            .seed(seed)
            .max_executions(200);
        let report = raddle::__private::run_observed(checker, counter, &mut |execution| {
            classes.push(execution.fingerprint());
        });
        report.assert_ok();
        assert_eq!(report.executions, 200);
        let keys: Vec<_> = report.coverage().covered_keys().collect();
        (classes, keys, report.coverage().growth.clone())
    };
    assert_eq!(classes(3), classes(3));
    assert_ne!(classes(3).0, classes(4).0);
}

#[test]
fn guided_search_finds_what_only_pairs_tell() {
    for seed in 0..20 {
        let report = guided(seed, || {
            let x = Arc::new(AtomicUsize::new(0));
            let (one, two) = (Arc::clone(&x), Arc::clone(&x));
            let one = thread::spawn(move || one.store(one.load(SeqCst) + 1, SeqCst));
            let two = thread::spawn(move || two.store(two.load(SeqCst) + 1, SeqCst));
            one.join().unwrap();
            two.join().unwrap();
            assert_eq!(x.load(SeqCst), 2, "an update was lost");
        });
        assert!(!report.failures.is_empty(), "seed {seed}");
    }
}

/// One thread takes a lock at eight places, another at two.
fn long_and_short() {
    let lock = Arc::new(raddle::sync::Mutex::new(0));
    let other = Arc::clone(&lock);
    let long = thread::spawn(move || {
        *other.lock().unwrap() += 1;
        *other.lock().unwrap() += 1;
        *other.lock().unwrap() += 1;
        *other.lock().unwrap() += 1;
        *other.lock().unwrap() += 1;
        *other.lock().unwrap() += 1;
        *other.lock().unwrap() += 1;
        *other.lock().unwrap() += 1;
    });
    let short = thread::spawn(move || {
        *lock.lock().unwrap() += 1;
        *lock.lock().unwrap() += 1;
    });
    long.join().unwrap();
    short.join().unwrap();
}

#[test]
fn guided_search_comes_where_chance_does_not() {
    // Each of the two before and after each of the eight, seven steps of the one and one of the other.
    const ALL: u64 = 2 * 8 * 2 + 7 + 1;
    let pairs = |strategy: Strategy, executions: u64, seed| {
        let report = Checker::new()
            .strategy(strategy)
            .coverage(Metric::SyncPair)
            .max_executions(executions)
            .seed(seed)
            .run(long_and_short);
        report.assert_ok();
        report.coverage().counts(Metric::SyncPair)
    };
    let all = pairs(Strategy::Exhaustive, 1_000, 0);
    assert_eq!((all.covered, all.open()), (ALL, 0));
    for seed in 0..10 {
        let guided = Strategy::Coverage {
            metric: Metric::SyncPair.into(),
        };
        assert_eq!(pairs(guided, 100, seed).covered, ALL, "seed {seed}");
        assert!(
            pairs(Strategy::Random, 100, seed).covered < ALL,
            "seed {seed}"
        );
    }
}

#[test]
fn guided_search_waits_for_nobody_who_goes_round_in_circles() {
    let report = guided(1, || {
        let ready = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&ready);
        let thread = thread::spawn(move || {
            let mut looked = 0;
            while other.load(SeqCst) == 0 {
                looked += 1;
                thread::yield_now();
            }
            looked
        });
        ready.store(1, SeqCst);
        thread.join().unwrap();
    });
    report.assert_ok();
    assert_eq!(report.executions, 100);
}

#[test]
fn several_workers_cover_the_same() {
    let covered = |workers: usize| {
        let report = Checker::new()
            .strategy(Strategy::Exhaustive)
            .coverage(true)
            .workers(workers)
            .run(counter);
        report.assert_ok();
        assert!(report.exhausted);
        let coverage = report.coverage();
        assert_eq!(coverage.executions, report.executions);
        let keys: Vec<_> = coverage.covered_keys().collect();
        (keys, coverage.combinations)
    };
    let alone = covered(1);
    assert!(!alone.0.is_empty());
    assert_eq!(covered(2), alone);
    assert_eq!(covered(3), alone);
    let guided = Checker::new()
        .strategy("coverage".parse().unwrap())
        .workers(2)
        .max_executions(300)
        .run(counter);
    assert_eq!(guided.executions, 300);
    assert_eq!(guided.coverage().executions, 300);
}

#[test]
fn merging_is_looking_at_all() {
    Suite::new(60, 5).run(Program::random, |program, _| {
        let mut parts = [(); 3].map(|()| Coverage::new(Metrics::ALL));
        let (mut whole, mut places) = (Coverage::new(Metrics::ALL), Places::default());
        let checker = program
            .checker(Strategy::Random)
            .max_executions(30)
            .lock_order(raddle::Level::Allow)
            .shorten(false);
        let mut count = 0;
        raddle::__private::run_observed(checker, || program.run(), &mut |execution| {
            let execution = places.rename(execution);
            parts[count % 3].note(&execution);
            whole.note(&execution);
            count += 1;
        });
        let [mut merged, second, third] = parts;
        merged.merge(&second);
        merged.merge(&third);
        assert_eq!(covered(&merged), covered(&whole));
        assert_eq!(
            sorted(merged.combined_pairs()),
            sorted(whole.combined_pairs())
        );
        assert_eq!(merged.combinations().covered, whole.combinations().covered);
        assert_eq!(merged.ordered_count(), whole.ordered_count());
        assert_eq!(merged.executions(), whole.executions());
        Verdict::Agreed
    });
}

#[test]
fn growth_is_noted_at_powers_of_two() {
    let report = guided(1, counter);
    let coverage = report.coverage();
    let executions: Vec<_> = coverage.growth.iter().map(|it| it.executions).collect();
    assert_eq!(executions, [1, 2, 4, 8, 16, 32, 64, 100]);
    let grows = coverage.growth.windows(2).all(|two| {
        two[0].requirements <= two[1].requirements && two[0].combinations <= two[1].combinations
    });
    assert!(grows, "{:?}", coverage.growth);
    let last = coverage.growth.last().unwrap();
    assert_eq!(last.combinations, coverage.combinations.covered);
    assert_eq!(last.requirements, coverage.covered_keys().count() as u64);
}

#[test]
fn nothing_is_measured_unless_asked() {
    let report = Checker::new().run(counter);
    assert!(!report.coverage().is_measured());
    assert_eq!(report.coverage().goals().count(), 0);
    assert_eq!(report.coverage().to_string(), "coverage was not measured");
}

#[test]
fn what_is_covered_is_told_with_its_places() {
    let lock_at = line!() + 3;
    let report = Checker::new().coverage(true).run(|| {
        let lock = Arc::new(raddle::sync::Mutex::new(0));
        let use_it = |lock: &raddle::sync::Mutex<u32>| *lock.lock().unwrap() += 1;
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || use_it(&other));
        use_it(&lock);
        thread.join().unwrap();
    });
    let file = file!();
    let place = format!("{file}:{lock_at}:62");
    let expected = format!(
        "coverage after 2 executions\n  \
           metric          covered    known  infeasible\n  \
           blocked               1        1           0\n  \
           blocking              1        1           0\n  \
           blocked-pair          1        1           0\n  \
           follows               1        1           0\n  \
           sync-pair             1        1           0\n  \
           0 of at most 0 pairs of sync-pair+def-use in one execution\n  \
           {place}: 5 of 5"
    );
    assert_eq!(report.coverage().to_string(), expected);
    let key = format!("sync-pair {place} -> {place}");
    assert!(report.coverage().covered_keys().any(|it| it == key));
    let json = serde_json::to_value(report.coverage()).unwrap();
    assert_eq!(json["executions"], 2);
    assert_eq!(json["goals"].as_array().unwrap().len(), 5);
}

#[test]
fn names_of_strategies_say_the_metric() {
    let named = |name: &str| name.parse::<Strategy>();
    let usual = Strategy::Coverage {
        metric: Metrics::SYNC_PAIR_DEF_USE,
    };
    assert_eq!(named("coverage"), Ok(usual.clone()));
    assert_eq!(usual.to_string(), "coverage");
    for name in ["coverage(pset)", "coverage(blocked-pair+def-use)"] {
        assert_eq!(named(name).unwrap().to_string(), name);
    }
    assert_eq!(named("coverage:pset"), named("Coverage(PSet)"));
    let error = named("coverage(syncpair)").unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown metric `syncpair`; there are: blocked, blocking, blocked-pair, follows, sync-pair, \
         local-def, remote-def, def-use, pset, wait-notify, lock-order, adjacent, lr-def, and several \
         with + between them"
    );
}

#[raddle::test(coverage = true, strategy = "coverage(sync-pair)", max_executions = 20)]
fn the_attribute_takes_both() {
    counter();
}
