//! Strategies that draw at random: do they draw as they say?
//!
//! Frequencies are compared with probabilities that are worked out by hand or published. Seeds are
//! fixed, so that a test that passes always passes.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, Memory, Report, Strategy, thread};
use raddle_tests::orders::{Order, Tally, orders};
use raddle_tests::programs::run_threads;

/// How far chi-square per degree of freedom may be from 1.
const EVEN: f64 = 1.3;

fn run(strategy: Strategy, executions: u64, program: impl Fn() + Send + Sync) -> Report {
    Checker::new()
        .strategy(strategy)
        // The first execution of a program has the outcomes of weak memory, whatever its accesses.
        .memory(Memory::Sc)
        .max_executions(executions)
        .max_time(std::time::Duration::from_secs(3600))
        .shorten(false)
        .run(program)
}

/// How often a program turns out how.
fn tally<T: Eq + std::hash::Hash + Send>(
    strategy: Strategy,
    executions: u64,
    program: impl Fn() -> T + Send + Sync,
) -> Tally<T> {
    let tally = Tally::default();
    let report = run(strategy, executions, || tally.count(program()));
    report.assert_ok();
    assert_eq!(tally.all(), executions);
    tally
}

/// Runs threads with these numbers of events on one atomic; returns the order of the events.
fn interleave(events: &[usize]) -> Vec<u8> {
    let (order, shared) = (Order::default(), AtomicU32::new(0));
    let (noted, events) = (order.clone(), events.to_vec());
    run_threads(events.len(), move |me| {
        for _ in 0..events[me] {
            shared.fetch_add(1, SeqCst);
            noted.note(me);
        }
    });
    order.take()
}

/// True if `count` of `all` is within four standard deviations of what the probability predicts.
fn is_about(count: u64, all: u64, probability: f64) -> bool {
    let (all, count) = (all as f64, count as f64);
    let deviation = (all * probability * (1.0 - probability)).sqrt();
    (count - all * probability).abs() <= 4.0 * deviation
}

#[test]
fn urw_is_uniform_over_5_and_5_events() {
    let all = orders(&[5, 5]);
    let tally = tally(Strategy::Urw, 200 * all, || interleave(&[5, 5]));
    assert_eq!(tally.distinct(), 252);
    let chi_square = tally.chi_square(all);
    assert!(chi_square < EVEN, "{chi_square}");
}

#[test]
fn urw_is_uniform_over_3_and_4_and_5_events() {
    let all = orders(&[3, 4, 5]);
    let tally = tally(Strategy::Urw, 20 * all, || interleave(&[3, 4, 5]));
    assert_eq!(tally.distinct(), 27_720);
    let chi_square = tally.chi_square(all);
    assert!(chi_square < EVEN, "{chi_square}");
}

/// What can be told from a chi-square: others have large ones.
#[test]
fn a_plain_random_walk_is_not_uniform() {
    for strategy in [Strategy::Random, Strategy::Pos] {
        let all = orders(&[5, 5]);
        let tally = tally(strategy, 200 * all, || interleave(&[5, 5]));
        // 200.8 and 188.1 were measured elsewhere.
        assert!(tally.chi_square(all) > 100.0);
    }
}

/// Main has three events while another thread has four, and two after it has joined that thread.
#[test]
fn urw_does_not_count_what_comes_after_a_join() {
    let tally = tally(Strategy::Urw, 200 * 35, || {
        let (order, shared) = (Order::default(), Arc::new(AtomicU32::new(0)));
        let come = |me: usize, times: usize| {
            let (order, shared) = (order.clone(), Arc::clone(&shared));
            move || {
                for _ in 0..times {
                    shared.fetch_add(1, SeqCst);
                    order.note(me);
                }
            }
        };
        let other = thread::spawn(come(1, 4));
        come(0, 3)();
        other.join().unwrap();
        come(0, 2)();
        order.take()
    });
    assert_eq!(tally.distinct(), 35, "7 over 3");
    let chi_square = tally.chi_square(35);
    assert!(chi_square < EVEN, "{chi_square}");
}

/// Thread 0 has two events. Thread 1 has two, makes thread 2 with three, and has two more. The events
/// are a forest, and so have 9! / (2 * 7 * 6 * 3! * 2) = 360 orders (the hook length formula).
#[test]
fn urw_counts_threads_that_are_still_to_be_made() {
    let tally = tally(Strategy::Urw, 200 * 360, || {
        let (order, shared) = (Order::default(), Arc::new(AtomicU32::new(0)));
        let come = |me: usize, times: usize| {
            let (order, shared) = (order.clone(), Arc::clone(&shared));
            move || {
                for _ in 0..times {
                    shared.fetch_add(1, SeqCst);
                    order.note(me);
                }
            }
        };
        let (before, made, after) = (come(1, 2), come(2, 3), come(1, 2));
        let first = thread::spawn(come(0, 2));
        let second = thread::spawn(move || {
            before();
            let third = thread::spawn(made);
            after();
            third
        });
        first.join().unwrap();
        second.join().unwrap().join().unwrap();
        order.take()
    });
    assert_eq!(tally.distinct(), 360);
    let chi_square = tally.chi_square(360);
    assert!(chi_square < EVEN, "{chi_square}");
}

/// If two workers drew the same, every order would be counted twice and the chi-square be 2.
#[test]
fn two_workers_draw_differently() {
    let all = orders(&[5, 5]);
    let tally = Tally::default();
    let report = Checker::new()
        .strategy(Strategy::Urw)
        .max_executions(100 * all)
        .workers(2)
        .run(|| tally.count(interleave(&[5, 5])));
    assert_eq!(report.executions, 100 * all);
    let chi_square = tally.chi_square(all);
    assert!(chi_square < EVEN, "{chi_square}");
}

/// Two threads use one location four times each; the first has six events besides that are private
/// to it, so that which location is used first depends on the schedule.
fn with_private_events() -> Vec<u8> {
    let (order, shared) = (Order::default(), Arc::new(AtomicU32::new(0)));
    let noted = order.clone();
    run_threads(2, move |me| {
        let private = AtomicU32::new(0);
        for round in 0..4 {
            let others = [[3, 0, 2, 1], [0; 4]][me][round];
            for _ in 0..others {
                private.fetch_add(1, SeqCst);
            }
            shared.fetch_add(1, SeqCst);
            noted.note(me);
        }
    });
    order.take()
}

#[test]
fn surw_is_uniform_over_the_uses_of_what_is_shared() {
    let all = orders(&[4, 4]);
    let tally = |strategy| tally(strategy, 200 * all, with_private_events).chi_square(all);
    let chi_square = tally(Strategy::Surw);
    assert!(chi_square < EVEN, "{chi_square}");
    assert!(tally(Strategy::Urw) > 10.0, "uniform over all events");
}

/// One thread writes once, the other reads twice: who comes first?
///
/// With priorities u for the write and v for the first read, the write comes first with probability
/// 1/2. If it does not, u is drawn again, because the two race, and it comes next with probability 1/2.
/// (Were it not drawn again, it would be 1/6 and 1/3: a low u stays low.)
#[test]
fn pos_draws_again_what_races() {
    let (executions, write) = (20_000, 0);
    let tally = tally(Strategy::Pos, executions, || {
        let (order, shared) = (Order::default(), AtomicU32::new(0));
        let noted = order.clone();
        run_threads(2, move |me| match me {
            0 => {
                shared.store(1, SeqCst);
                noted.note(me);
            }
            _ => {
                for _ in 0..2 {
                    shared.load(SeqCst);
                    noted.note(me);
                }
            }
        });
        order.take().iter().position(|&who| who == write)
    });
    for (position, probability) in [(0, 0.5), (1, 0.25), (2, 0.25)] {
        let count = tally.of(&Some(position));
        assert!(is_about(count, executions, probability), "{count}");
    }
}

/// One thread writes x once, the other writes its own y and then reads x. The read comes first if both
/// of its thread's priorities are higher than that of the write, which is drawn once: the integral of
/// (1 - u)^2, 1/3. A random walk has 1/4.
#[test]
fn pos_keeps_the_priority_of_what_does_not_race() {
    let read_comes_first = |strategy, executions| {
        let tally = tally(strategy, executions, || {
            let (order, x) = (Order::default(), AtomicU32::new(0));
            let (noted, y) = (order.clone(), AtomicU32::new(0));
            run_threads(2, move |me| {
                match me {
                    0 => x.store(1, SeqCst),
                    _ => {
                        y.store(1, SeqCst);
                        x.load(SeqCst);
                    }
                }
                noted.note(me);
            });
            order.take()
        });
        tally.of(&vec![1, 0])
    };
    let executions = 20_000;
    let count = read_comes_first(Strategy::Pos, executions);
    assert!(is_about(count, executions, 1.0 / 3.0), "{count}");
    let count = read_comes_first(Strategy::Random, executions);
    assert!(is_about(count, executions, 1.0 / 4.0), "{count}");
}

/// Nine threads wait in loops that race with each other; the tenth has something else to do first.
#[test]
fn pos_comes_to_the_thread_that_others_wait_for() {
    const READY: u32 = 1 << 31;
    let report = run(Strategy::Pos, 200, || {
        let (looks, elsewhere) = (AtomicU32::new(0), AtomicU32::new(0));
        run_threads(10, move |me| {
            if me == 0 {
                elsewhere.store(1, SeqCst);
                looks.fetch_or(READY, SeqCst);
                return;
            }
            while looks.fetch_add(1, SeqCst) < READY {}
        });
    });
    report.assert_ok();
    assert_eq!(report.executions, 200);
}

/// With d - 1 points at which a priority is lowered there are at most d + 1 stretches, and with d = 3
/// the last of four is what the first change left over. Of orders of A and B, five times each and A
/// first, there are 1 with two stretches, 4 with three that end in A, and 16 with four. (42 for depth
/// 3 was measured elsewhere too.)
#[test]
fn pct_reaches_what_its_depth_allows() {
    for (depth, reached) in [(1, 2), (2, 2 * (1 + 4)), (3, 2 * (1 + 4 + 16))] {
        let tally = tally(Strategy::Pct { depth }, 10_000, || interleave(&[5, 5]));
        assert_eq!(tally.distinct(), reached, "depth {depth}");
    }
}

/// Two threads, two events each. While both can go on there is a choice, so an execution has three
/// steps at most, and the change comes at one of them. At the first, the other thread goes first, at
/// the third there is no choice any more: an update is lost if it comes at the second.
#[test]
fn pct_finds_a_lost_update_in_a_third_of_its_executions() {
    let executions = 10_000;
    let lost = |depth| {
        let tally = tally(Strategy::Pct { depth }, executions, || {
            raddle_tests::programs::racy_counter(2, 1)
        });
        tally.of(&1)
    };
    assert_eq!(lost(1), 0, "a thread is never interrupted");
    let count = lost(2);
    assert!(is_about(count, executions, 1.0 / 3.0), "{count}");
}

/// A bug of depth 3, in a program with a bystander: a1 before b1 before a2 before b2, of three events a,
/// two events b and three of the bystander's.
#[test]
fn pct_keeps_its_promise() {
    let executions = 20_000;
    let tally = tally(Strategy::Pct { depth: 3 }, executions, || {
        let order = interleave(&[3, 2, 3]);
        let mut seen = order.into_iter().filter(|&who| who != 2);
        std::array::from_fn(|_| seen.next().unwrap()) == [0, 1, 0]
    });
    let (threads, events) = (3.0, 8.0_f64);
    let promised = executions as f64 / (threads * events.powi(2));
    let slack = 4.0 * promised.sqrt();
    let found = tally.of(&true) as f64;
    assert!(found >= promised - slack, "{found} of {promised}");
}

/// A thread that sleeps again and again before its only other event, which main may not wait for: true if that
/// event came first.
fn sleeper_comes_first() -> bool {
    let ran = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&ran);
    thread::spawn(move || {
        for _ in 0..20 {
            thread::sleep(std::time::Duration::from_millis(1));
        }
        other.store(1, SeqCst);
    });
    ran.load(SeqCst) == 1
}

/// A sleep is a step like any other: the thread with the higher priority runs to its end, whether it
/// sleeps or not (figure 5 of the paper).
#[test]
fn a_thread_that_sleeps_keeps_its_priority() {
    let executions = 2_000;
    let tally = tally(Strategy::Pct { depth: 1 }, executions, sleeper_comes_first);
    let first = tally.of(&true);
    assert!(is_about(first, executions, 0.5), "{first} of {executions}");
}

/// Main is interrupted with a probability of 0.1, and the thread then left alone 20 times: one execution in
/// a hundred.
#[test]
fn noise_does_not_interrupt_a_sleep() {
    let executions = 2_000;
    let noise = Strategy::Noise { probability: 0.1 };
    let first = tally(noise, executions, sleeper_comes_first).of(&true);
    assert!(first > 0, "the thread is never left alone");
}

/// Two threads with five events each: a thread is interrupted at each of them but its last with the
/// probability asked for, or not at all if no other thread can run.
#[test]
fn noise_interrupts_as_often_as_it_is_told() {
    let executions = 20_000;
    let noise = |probability| Strategy::Noise { probability };
    let undisturbed = |probability: f64| {
        let tally = tally(noise(probability), executions, || interleave(&[5, 5]));
        tally.of(&vec![0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    };
    // One of two threads begins, and is left alone four times.
    for probability in [0.1, 0.5] {
        let count = undisturbed(probability);
        let expected = 0.5 * (1.0 - probability).powi(4);
        assert!(is_about(count, executions, expected), "{count}");
    }
    let turns = tally(noise(1.0), 100, || interleave(&[3, 3]));
    assert_eq!(turns.distinct(), 2, "always another one");
}
