//! Bounded searches: exactly the classes that can be run with so few preemptions.
//!
//! The oracle runs every schedule and counts the preemptions of each by what the world says of its
//! threads; the cheapest schedule of a class is what the class costs. Programs that pass messages are
//! in `random_messages.rs`.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use raddle::sync::atomic::AtomicU32;
use raddle::sync::atomic::Ordering::{self, SeqCst};
use raddle::sync::{Arc, Mutex, mpsc};
use raddle::{Checker, Guarantee, Memory, Strategy, thread};
use raddle_tests::bounded::{Counts, add, bounded, same_costs};
use raddle_tests::compare::{Classes, assert_same};
use raddle_tests::programs::{racy_counter, run_threads};
use raddle_tests::suite::Suite;
use raddle_tests::{random_objects, random_program};

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 2_000;

#[test]
fn random_programs_cost_what_their_schedules_cost() {
    let mut sums = Counts::default();
    Suite::new(50, 1).run(random_program::Program::random, |program, _| {
        let checker = program.checker(Strategy::Exhaustive);
        let counts = same_costs(&checker, program.memory, MAX_SCHEDULES, || program.run());
        counts.map(|counts| add(&mut sums, counts)).into()
    });
    println!("classes within 0, 1, … preemptions: {sums:?}");
}

#[test]
fn random_programs_of_rarer_objects_do_too() {
    let mut sums = Counts::default();
    Suite::new(50, 1).run(random_objects::Program::random, |program, _| {
        let counts = same_costs(&Checker::new(), Memory::Sc, MAX_SCHEDULES, || program.run());
        counts.map(|counts| add(&mut sums, counts)).into()
    });
    println!("classes within 0, 1, … preemptions: {sums:?}");
}

/// The numbers of classes within 0, 1, … preemptions.
fn counts(most: u32, program: impl Fn() + Send + Sync) -> Vec<usize> {
    let count = |most| bounded(&Checker::new(), Memory::Sc, most, &program).0.len();
    (0..=most).map(count).collect()
}

/// Two threads that each read and write a counter, while main waits for them.
///
/// One after the other, in either order, costs nothing: 2 classes. Any other order interrupts a thread
/// between its read and its write. If it goes on after the other has written, the read was of what
/// was there before both: for either of the two threads that is one class, reads first and then the
/// writes in one of two orders. So there are 2 more, which cost one preemption: the last writer
/// has been interrupted once.
#[test]
fn two_increments_that_tear() {
    assert_eq!(
        counts(2, || {
            racy_counter(2, 1);
        }),
        [2, 4, 4]
    );
}

/// Main reads twice while the other thread writes once: before, in between or after. Main need not be
/// interrupted for the write to come last: the other runs when main has ended. For the others it is
/// interrupted before one of its reads.
#[test]
fn to_interrupt_main_costs_one() {
    let program = || {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        thread::spawn(move || other.store(1, SeqCst));
        value.load(SeqCst);
        value.load(SeqCst);
    };
    assert_eq!(counts(2, program), [1, 3, 3]);
}

/// The same, but main yields first: then the write may come first for nothing.
#[test]
fn to_yield_costs_nothing() {
    let program = || {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        thread::spawn(move || other.store(1, SeqCst));
        thread::yield_now();
        value.load(SeqCst);
        value.load(SeqCst);
    };
    assert_eq!(counts(2, program), [2, 3, 3]);
}

/// A lock that main holds makes the other wait for nothing; so main must be interrupted once, before it
/// takes the lock or after it gave it back, for the other to have it first or between.
#[test]
fn to_wait_for_a_lock_costs_nothing() {
    let program = || {
        let lock = Arc::new(Mutex::new(()));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || drop(other.lock()));
        drop(lock.lock());
        drop(lock.lock());
        thread.join().unwrap();
    };
    assert_eq!(counts(1, program), [1, 3]);
}

/// The same two threads under the weak model. With `SeqCst` everything costs the same there. With weaker
/// accesses no thread is interrupted: the second thread does not see the first one's write although
/// it came before, or puts its own before that one.
#[test]
fn stale_reads_cost_nothing() {
    let counts = |ordering: Ordering| {
        let program = move || {
            let counter = Arc::new(AtomicU32::new(0));
            run_threads(2, move |_| {
                counter.store(counter.load(ordering) + 1, ordering);
            });
        };
        let count = |most| {
            bounded(&Checker::new(), Memory::Rc11, most, program)
                .0
                .len()
        };
        [0, 1].map(count)
    };
    assert_eq!(counts(SeqCst), [2, 4]);
    assert_eq!(counts(Ordering::Relaxed), [4, 4]);
}

/// One thread writes `n` times, the other reads as often: every word of `n` writes and `n` reads is a
/// class, with one order of its reads and writes. It costs as many preemptions as a letter is followed
/// by another one and comes again later.
#[test]
fn every_class_has_its_cost() {
    for n in 1..=4 {
        let program = move || {
            let value = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&value);
            let writer = thread::spawn(move || {
                for round in 1..=n {
                    other.store(round, SeqCst);
                }
            });
            let reader = thread::spawn(move || {
                for _ in 1..=n {
                    value.load(SeqCst);
                }
            });
            writer.join().unwrap();
            reader.join().unwrap();
        };
        let all = same_costs(&Checker::new(), Memory::Sc, 1_000_000, program).unwrap();
        let mut expected = vec![0; all.len()];
        for word in 0..1_u32 << (2 * n) {
            if word.count_ones() == n {
                let letter = |at: u32| word >> at & 1;
                let left = |at: u32| (at..2 * n).any(|later| letter(later) == letter(at - 1));
                let cost = (1..2 * n)
                    .filter(|&at| letter(at) != letter(at - 1) && left(at))
                    .count();
                expected.iter_mut().skip(cost).for_each(|count| *count += 1);
            }
        }
        assert_eq!(all.to_vec(), expected, "{n} rounds");
    }
}

/// What the search adds as it always does interrupts the sender at every message here, and a write that
/// comes later takes all that back: main may have seen it for nothing, and then found all messages at
/// once. The choice before that write is a place where a search may look at the cost too early.
#[test]
fn what_costs_too_much_may_be_taken_back() {
    for messages in 1..=4 {
        let program = move || {
            let value = Arc::new(AtomicU32::new(0));
            let (sender, receiver) = mpsc::channel();
            thread::spawn(move || {
                for message in 0..messages {
                    sender.send(message).unwrap();
                }
            });
            let other = Arc::clone(&value);
            thread::spawn(move || other.store(raddle::choose(0..2_u32), SeqCst));
            thread::yield_now();
            value.load(SeqCst);
            while receiver.recv().is_ok() {
                let _ = receiver.try_recv();
            }
        };
        let mut schedules = Classes::new();
        let checker = Checker::new()
            .memory(Memory::Sc)
            .strategy(Strategy::Enumerate)
            .preemptions(0);
        raddle::__private::run_observed(checker, program, &mut |execution| {
            assert_eq!(execution.preemptions, 0);
            schedules.insert(execution.class());
        });
        let (found, _) = bounded(&Checker::new(), Memory::Sc, 0, program);
        assert_same(&schedules, &found);
    }
}

/// Threads that spin are left where they would look in vain. So there is no class in which they did,
/// and the thread they wait for must run before: that interrupts a thread that is about to look.
#[test]
fn loops_that_wait_have_their_costs() {
    let take_turns = || {
        let turn = Arc::new(AtomicU32::new(0));
        run_threads(3, move |number| {
            while turn.load(SeqCst) != number as u32 {
                raddle::hint::spin_loop();
            }
            turn.store(number as u32 + 1, SeqCst);
        });
    };
    let same = |program: fn()| same_costs(&Checker::new(), Memory::Sc, 1_000_000, program).unwrap();
    assert_eq!(same(take_turns), [1; 5], "in the order they were made");
    let wait_for_another = || {
        let ready = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&ready);
        thread::spawn(move || other.store(1, SeqCst));
        while ready.load(SeqCst) == 0 {}
    };
    assert_eq!(same(wait_for_another), [0, 1, 1, 1, 1]);
    let wait_for_nobody = || {
        let ready = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&ready);
        thread::spawn(move || other.store(2, SeqCst));
        while ready.load(SeqCst) != 1 {}
    };
    assert_eq!(same(wait_for_nobody), [0, 1, 1, 1, 1], "a livelock");
}

/// With any number of workers, strong or weak, the same classes are within the bound.
#[test]
fn workers_share_a_bound() {
    for ordering in [SeqCst, Ordering::Relaxed] {
        let program = move || {
            let values = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
            run_threads(3, move |number| {
                let (one, other) = (&values[number % 2], &values[(number + 1) % 2]);
                one.store(other.load(ordering) + 1, ordering);
                other.fetch_add(1, ordering);
            });
        };
        for most in 0..=2 {
            let run = |workers| {
                let checker = Checker::new().workers(workers);
                bounded(&checker, Memory::Rc11, most, program)
            };
            let (alone, guarantee) = run(1);
            assert_ne!(guarantee, Guarantee::Sampled);
            for workers in [2, 4] {
                let (together, same) = run(workers);
                assert_same(&alone, &together);
                assert_eq!(same, guarantee, "{workers} workers, {most} preemptions");
            }
        }
    }
}

#[test]
fn the_report_says_how_far_it_went() {
    let run = |most: u32| {
        let checker = Checker::new().strategy(Strategy::Exhaustive);
        checker.preemptions(most).run(|| {
            racy_counter(3, 1);
        })
    };
    let report = run(0);
    assert_eq!(report.guarantee(), Guarantee::Bounded { preemptions: 0 });
    assert!(!report.exhausted);
    let text = report.to_string();
    assert!(
        text.starts_with("every behaviour up to 0 preemptions was run: 6 classes in "),
        "{text}"
    );
    let text = run(1).to_string();
    assert!(
        text.starts_with("every behaviour up to 1 preemption was run: 24 classes in "),
        "{text}"
    );
    let report = run(2);
    assert!(report.exhausted, "there is no class beyond the bound");
    assert_eq!(report.guarantee(), Guarantee::Exhaustive);
}

/// Of the 7,134 classes of three threads that increment twice, 6 cost nothing and 60 cost one
/// preemption at most; few others are run to find them.
#[test]
fn a_bound_saves_runs() {
    let runs = |most: Option<u32>| {
        let runs = AtomicU64::new(0);
        let mut checker = Checker::new().strategy(Strategy::Exhaustive);
        if let Some(most) = most {
            checker = checker.preemptions(most);
        }
        let report = checker.run(|| {
            runs.fetch_add(1, Relaxed);
            racy_counter(3, 2);
        });
        (report.executions, runs.into_inner())
    };
    let (all, all_runs) = runs(None);
    assert_eq!((all, all_runs), (7_134, 7_134));
    let (free, free_runs) = runs(Some(0));
    assert_eq!(free, 6);
    assert!(free_runs < all_runs / 15, "{free_runs} runs");
    let (cheap, cheap_runs) = runs(Some(1));
    assert_eq!(cheap, 60);
    assert!(cheap_runs < all_runs / 5, "{cheap_runs} runs");
}

/// Runs that are beyond the bound are spent all the same.
#[test]
fn runs_beyond_the_bound_count_for_the_budget() {
    let runs = AtomicU64::new(0);
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .preemptions(0)
        .max_executions(100)
        .run(|| {
            runs.fetch_add(1, Relaxed);
            racy_counter(3, 2);
        });
    assert_eq!(report.guarantee(), Guarantee::Sampled);
    assert_eq!(runs.into_inner(), 100);
}
