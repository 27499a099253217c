//! Loops that wait for another thread: they are found to be that, so that the search ends and no
//! class is counted for having looked in vain. All is compared with every schedule.

use std::fmt::Debug;
use std::time::Duration;

use raddle::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use raddle::sync::{Arc, Condvar, Mutex, RwLock, Semaphore, mpsc};
use raddle::{Checker, Memory, Strategy, hint, thread};
use raddle_tests::compare::{Behaviour, behaviour};
use raddle_tests::programs::run_threads;

fn explored<T: Ord + Debug + Send>(program: impl Fn() -> T + Send + Sync) -> Behaviour<T> {
    let seen = behaviour(&Checker::new(), program);
    assert_eq!(seen.kinds(), []);
    seen
}

/// Threads that are inside one after the other, by a lock of any kind: the increments exclude each
/// other, and they come in every order. Returns the number of classes.
fn one_at_a_time<L: Default + Send + Sync + 'static>(
    threads: usize,
    enter: fn(&L),
    leave: fn(&L),
) -> u64 {
    let seen = explored(|| {
        let shared = Arc::new((L::default(), AtomicU32::new(0)));
        let lock = Arc::clone(&shared);
        run_threads(threads, move |_| {
            enter(&lock.0);
            let inside = lock.1.load(Relaxed);
            lock.1.store(inside + 1, Relaxed);
            leave(&lock.0);
        });
        shared.1.load(Relaxed)
    });
    assert_eq!(seen.outcomes, [threads as u32].into());
    seen.classes
}

/// A thread that waits only in some executions, and not in the first.
#[test]
fn a_loop_that_only_later_executions_have_is_found() {
    let waits = |rounds: u32| {
        let seen = explored(move || {
            let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
            let other = Arc::clone(&shared);
            let setter = thread::spawn(move || {
                for round in 1..=rounds {
                    other.0.store(round, SeqCst);
                }
                other.1.store(true, SeqCst);
            });
            // In the first execution the other thread has not begun.
            let value = shared.0.load(SeqCst);
            while value > 0 && !shared.1.load(SeqCst) {}
            setter.join().unwrap();
            value
        });
        let all: std::collections::BTreeSet<u32> = (0..=rounds).collect();
        assert_eq!(seen.outcomes, all);
        assert!(seen.report.exhausted);
        (seen.classes, seen.report.runs())
    };
    // A class for each value; without a loop, each takes one run.
    assert_eq!(waits(0), (1, 1));
    for rounds in 1..4 {
        let (classes, runs) = waits(rounds);
        assert_eq!(classes, u64::from(rounds) + 1);
        // One is run again, and some are given up.
        assert!(runs > classes, "{runs} runs of {classes} classes");
    }
}

/// A run that is repeated for a loop counts like any other.
#[test]
fn loops_are_found_within_the_allowed_runs() {
    for most in 1..=12 {
        for workers in 1..=2 {
            let report = Checker::new()
                .strategy(Strategy::Exhaustive)
                .workers(workers)
                .max_executions(most)
                .run(|| {
                    let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
                    let other = Arc::clone(&shared);
                    let setter = thread::spawn(move || {
                        (1..4).for_each(|value| other.0.store(value, SeqCst));
                        other.1.store(true, SeqCst);
                    });
                    let value = shared.0.load(SeqCst);
                    while value > 1 && !shared.1.load(SeqCst) {}
                    setter.join().unwrap();
                });
            report.assert_ok();
            assert!(report.runs() <= most, "{} of {most}", report.runs());
            assert!(!report.exhausted || report.classes() == 4);
        }
    }
}

#[test]
fn a_flag_is_waited_for() {
    fn wait(between: fn()) -> u64 {
        let seen = explored(move || {
            let shared = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            let setter = thread::spawn(move || {
                other.1.store(7, Relaxed);
                other.0.store(true, Release);
            });
            while !shared.0.load(Acquire) {
                between();
            }
            let value = shared.1.load(Relaxed);
            setter.join().unwrap();
            value
        });
        assert_eq!(seen.outcomes, [7].into());
        seen.classes
    }
    let betweens: [fn(); 4] = [
        || {},
        thread::yield_now,
        hint::spin_loop,
        || thread::sleep(Duration::from_millis(1)),
    ];
    assert_eq!(betweens.map(wait), [1; 4]);
}

#[test]
fn test_and_set_locks_are_taken_in_every_order() {
    let unlock = |taken: &AtomicBool| taken.store(false, Release);
    let swap = |taken: &AtomicBool| while taken.swap(true, Acquire) {};
    let swap_and_spin = |taken: &AtomicBool| {
        while taken.swap(true, Acquire) {
            hint::spin_loop();
        }
    };
    let exchange = |taken: &AtomicBool| {
        while taken
            .compare_exchange(false, true, Acquire, Relaxed)
            .is_err()
        {}
    };
    // Looks until there is something to take.
    let look_first = |taken: &AtomicBool| {
        while taken.swap(true, Acquire) {
            while taken.load(Relaxed) {
                thread::yield_now();
            }
        }
    };
    for lock in [swap, swap_and_spin, exchange] {
        assert_eq!(one_at_a_time(2, lock, unlock), 2);
        assert_eq!(one_at_a_time(3, lock, unlock), 6);
    }
    // Looking once in vain leads to another loop.
    let _ = one_at_a_time(2, look_first, unlock);
}

#[test]
fn a_weak_compare_exchange_fails_once_more_at_most() {
    let lock = |taken: &AtomicBool| {
        while taken
            .compare_exchange_weak(false, true, Acquire, Relaxed)
            .is_err()
        {}
    };
    let unlock = |taken: &AtomicBool| taken.store(false, Release);
    // In each of two orders, the first fails spuriously or not; the second never, or when it finds
    // the lock as it was made, or when it finds it given back.
    assert_eq!(one_at_a_time(2, lock, unlock), 2 * 2 * 3);
}

#[derive(Default)]
struct Tickets {
    next: AtomicU32,
    served: AtomicU32,
}

#[test]
fn a_ticket_lock_serves_in_the_order_of_tickets() {
    let lock = |tickets: &Tickets| {
        let mine = tickets.next.fetch_add(1, Relaxed);
        while tickets.served.load(Acquire) != mine {
            hint::spin_loop();
        }
    };
    let unlock = |tickets: &Tickets| {
        let served = tickets.served.load(Relaxed);
        tickets.served.store(served + 1, Release);
    };
    assert_eq!(one_at_a_time(2, lock, unlock), 2);
    assert_eq!(one_at_a_time(3, lock, unlock), 6);
}

#[test]
fn a_reader_of_a_sequence_lock_tries_again_until_nothing_changes() {
    let seen = explored(|| {
        let shared = Arc::new([const { AtomicU32::new(0) }; 3]);
        let other = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            let [sequence, first, second] = &*other;
            sequence.store(1, SeqCst);
            first.store(7, SeqCst);
            second.store(7, SeqCst);
            sequence.store(2, SeqCst);
        });
        let [sequence, first, second] = &*shared;
        let read = loop {
            let before = sequence.load(SeqCst);
            if before % 2 == 1 {
                continue;
            }
            let read = (first.load(SeqCst), second.load(SeqCst));
            if sequence.load(SeqCst) == before {
                break read;
            }
        };
        writer.join().unwrap();
        read
    });
    assert_eq!(seen.outcomes, [(0, 0), (7, 7)].into());
}

#[test]
fn two_flags_are_waited_for_at_once() {
    let seen = explored(|| {
        let flags = Arc::new([const { AtomicBool::new(false) }; 2]);
        let other = Arc::clone(&flags);
        let setters = [0, 1].map(|index| {
            let other = Arc::clone(&other);
            thread::spawn(move || other[index].store(true, SeqCst))
        });
        while !(flags[0].load(SeqCst) && flags[1].load(SeqCst)) {}
        setters
            .into_iter()
            .for_each(|setter| setter.join().unwrap());
    });
    assert_eq!(seen.classes, 1);
}

#[test]
fn a_bounded_loop_comes_to_its_end() {
    let seen = explored(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let setter = thread::spawn(move || other.store(true, SeqCst));
        let looks = (0..3).position(|_| flag.load(SeqCst));
        setter.join().unwrap();
        looks
    });
    assert_eq!(seen.outcomes, [Some(0), Some(1), Some(2), None].into());
    assert_eq!(seen.classes, 4);
}

#[test]
fn a_bounded_loop_parks_in_the_end() {
    let program = || {
        let flag = Arc::new(AtomicBool::new(false));
        let (other, main) = (Arc::clone(&flag), thread::current());
        let setter = thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        let mut parked = false;
        let mut looks = 0;
        while !flag.load(SeqCst) {
            if looks < 2 {
                looks += 1;
                hint::spin_loop();
            } else {
                parked = true;
                thread::park();
            }
        }
        setter.join().unwrap();
        (looks, parked)
    };
    let checker = Checker::new().spurious_wakeups(false);
    let seen = behaviour(&checker, program);
    assert_eq!(seen.kinds(), []);
    let expected = [(0, false), (1, false), (2, false), (2, true)];
    assert_eq!(seen.outcomes, expected.into());
    assert_eq!(seen.classes, 4);
}

#[test]
fn locks_are_tried_until_they_are_free() {
    fn inside<L>(seen: &AtomicU32, lock: L) {
        let inside = seen.load(Relaxed);
        seen.store(inside + 1, Relaxed);
        drop(lock);
    }
    fn tried<L: Send + Sync + 'static>(make: fn() -> L, enter: fn(&L, &AtomicU32) -> bool) -> u64 {
        let seen = explored(move || {
            let shared = Arc::new((make(), AtomicU32::new(0)));
            let other = Arc::clone(&shared);
            run_threads(2, move |_| while !enter(&other.0, &other.1) {});
            shared.1.load(Relaxed)
        });
        assert_eq!(seen.outcomes, [2].into());
        seen.classes
    }
    let mutex = tried(
        || Mutex::new(()),
        |lock, seen| lock.try_lock().map(|lock| inside(seen, lock)).is_ok(),
    );
    let rwlock = tried(
        || RwLock::new(()),
        |lock, seen| lock.try_write().map(|lock| inside(seen, lock)).is_ok(),
    );
    let semaphore = tried(
        || Semaphore::new(1),
        |lock, seen| {
            let taken = lock.try_acquire();
            if taken {
                inside(seen, ());
                lock.release();
            }
            taken
        },
    );
    // In both orders, the second may try in vain once before it is found to be in a loop.
    for classes in [mutex, rwlock, semaphore] {
        assert!((2..=4).contains(&classes), "{classes}");
    }
}

#[test]
fn the_end_of_a_thread_is_waited_for() {
    let seen = explored(|| {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || other.store(1, Relaxed));
        while !thread.is_finished() {
            thread::yield_now();
        }
        value.load(Relaxed)
    });
    assert_eq!(seen.outcomes, [1].into());
    // It may ask in vain once before it is found to be in a loop.
    assert!((1..=2).contains(&seen.classes), "{}", seen.classes);
}

#[test]
fn a_message_is_tried_for_until_it_comes() {
    fn tried(channel: fn() -> (Sending, mpsc::Receiver<u32>)) -> u64 {
        let seen = explored(move || {
            let (send, receiver) = channel();
            let sender = thread::spawn(move || send(5));
            let received = loop {
                if let Ok(received) = receiver.try_recv() {
                    break received;
                }
            };
            sender.join().unwrap();
            received
        });
        assert_eq!(seen.outcomes, [5].into());
        seen.classes
    }
    type Sending = Box<dyn FnOnce(u32) + Send>;
    let unbounded = || -> (Sending, _) {
        let (sender, receiver) = mpsc::channel();
        (Box::new(move |value| sender.send(value).unwrap()), receiver)
    };
    let bounded = || -> (Sending, _) {
        let (sender, receiver) = mpsc::sync_channel(1);
        (Box::new(move |value| sender.send(value).unwrap()), receiver)
    };
    for channel in [unbounded, bounded] {
        tried(channel);
    }
}

#[test]
fn waits_that_time_out_are_waits_too() {
    let program = || {
        let flag = Arc::new(AtomicBool::new(false));
        let (other, main) = (Arc::clone(&flag), thread::current());
        let setter = thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        while !flag.load(SeqCst) {
            thread::park_timeout(Duration::from_millis(1));
        }
        setter.join().unwrap();
    };
    let seen = behaviour(&Checker::new().spurious_wakeups(false), program);
    assert_eq!(seen.kinds(), []);
}

#[test]
fn what_a_lock_protects_is_part_of_the_state_of_who_waits() {
    let seen = behaviour(&Checker::new().spurious_wakeups(false), || {
        let (times, condvar) = (Mutex::new(0), Condvar::new());
        let mut guard = times.lock().unwrap();
        while *guard < 3 {
            guard = condvar.wait_timeout(guard, Duration::ZERO).unwrap().0;
            *guard += 1;
        }
        *guard
    });
    assert_eq!(seen.kinds(), []);
    assert_eq!(seen.outcomes, [3].into());
    assert_eq!(seen.classes, 1);
}

/// The rounds of a loop are told apart by the bytes of its stack, which may be equal a round later in one strategy than in
/// the other. So of loops with a time limit the ends are compared, and not the classes.
#[test]
fn waits_that_time_out_let_others_have_the_lock() {
    for strategy in [Strategy::Exhaustive, Strategy::EnumeratePrivateFirst] {
        let checker = Checker::new()
            .strategy(strategy.clone())
            .spurious_wakeups(false)
            .max_executions(10_000);
        let report = checker.run(|| {
            let shared = Arc::new((Mutex::new(0), Condvar::new()));
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                for _ in 0..2 {
                    *other.0.lock().unwrap() += 1;
                }
            });
            let mut guard = shared.0.lock().unwrap();
            while *guard < 2 {
                guard = shared.1.wait_timeout(guard, Duration::ZERO).unwrap().0;
            }
            assert_eq!(*guard, 2);
            drop(guard);
            thread.join().unwrap();
        });
        report.assert_ok();
        assert!(report.exhausted, "{strategy}: {report}");
    }
}

#[test]
fn sampling_waits_instead_of_looking() {
    let report = Checker::new()
        .strategy(Strategy::Random)
        .max_executions(1_000)
        .max_events(100)
        .run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&flag);
            let setter = thread::spawn(move || other.store(true, SeqCst));
            while !flag.load(SeqCst) {}
            setter.join().unwrap();
        });
    report.assert_ok();
    assert_eq!(report.executions, 1_000);
}

/// What a thread sees under a lock is not known to the engine, so that this loop is not found to be one that
/// waits. It must not run for ever while the other thread could end it.
#[test]
fn who_sleeps_between_two_looks_under_a_lock_lets_others_go_first() {
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .max_executions(100)
        .max_events(1_000)
        .run(|| {
            let done = Arc::new(Mutex::new(false));
            let other = Arc::clone(&done);
            let setter = thread::spawn(move || *other.lock().unwrap() = true);
            while !*done.lock().unwrap() {
                thread::sleep(Duration::from_millis(1));
            }
            setter.join().unwrap();
        });
    report.assert_ok();
    assert_eq!(report.executions, 100);
}

/// Nor may this one, which takes a lock in every round, and releases it: what it protects is not
/// visible.
#[test]
fn who_tries_again_and_again_lets_others_go_first_after_a_while() {
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .max_executions(20)
        .max_events(10_000)
        .run(|| {
            let shared = Arc::new((AtomicBool::new(false), AtomicBool::new(true)));
            let other = Arc::clone(&shared);
            let writer = thread::spawn(move || other.1.store(false, SeqCst));
            while !shared.0.swap(true, SeqCst) && shared.1.load(SeqCst) {
                shared.0.store(false, SeqCst);
            }
            writer.join().unwrap();
        });
    report.assert_ok();
    assert_eq!(report.executions, 20);
}

#[test]
fn how_often_threads_pause_makes_no_difference_to_the_classes() {
    fn pause(times: usize) {
        for _ in 0..times {
            thread::yield_now();
        }
    }
    for (one, other) in [(0, 0), (9, 0), (0, 9), (9, 17), (40, 8)] {
        let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
            let shared = Arc::new((
                AtomicBool::new(false),
                AtomicBool::new(false),
                Mutex::new(0),
            ));
            let theirs = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                pause(one);
                theirs.0.store(true, SeqCst);
                pause(one);
                let seen = theirs.1.load(SeqCst);
                *theirs.2.lock().unwrap() += 1;
                seen
            });
            pause(other);
            shared.1.store(true, SeqCst);
            pause(other);
            let seen = shared.0.load(SeqCst);
            *shared.2.lock().unwrap() += 1;
            assert!(seen | thread.join().unwrap());
        });
        report.assert_ok();
        assert!(report.exhausted);
        // Three ways to see the flags, two orders of taking the lock.
        assert_eq!(report.classes(), 6, "{one} {other}");
    }
}

/// Threads that wait until a writer has written its last value. The writer is main, or a thread that main starts
/// before or after the readers.
fn readers_of_one_writer(readers: usize, writes: u32, writer: Option<usize>) {
    let value = Arc::new(AtomicU32::new(0));
    let write = move |value: &AtomicU32| (1..=writes).for_each(|next| value.store(next, SeqCst));
    let mut threads: Vec<_> = Vec::new();
    for position in 0..=readers {
        let value = Arc::clone(&value);
        if writer == Some(position) {
            threads.push(thread::spawn(move || write(&value)));
        } else if position < readers || writer.is_some() {
            threads.push(thread::spawn(move || while value.load(SeqCst) != writes {}));
        }
    }
    if writer.is_none() {
        write(&value);
    }
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// A look in vain that no write can make good any more ends its run, and is not tried again.
#[test]
fn runs_grow_linearly_with_the_values_that_several_readers_look_at() {
    for memory in [Memory::Sc, Memory::Rc11] {
        for (readers, writer) in [
            (1, None),
            (2, None),
            (3, None),
            (2, Some(0)),
            (2, Some(1)),
            (2, Some(2)),
            (3, Some(2)),
            (3, Some(3)),
        ] {
            for writes in [5, 10, 20, 40] {
                let report = Checker::new()
                    .strategy(Strategy::Exhaustive)
                    .memory(memory)
                    .max_executions(10_000)
                    .run(|| readers_of_one_writer(readers, writes, writer));
                report.assert_ok();
                assert!(report.exhausted);
                assert_eq!(report.classes(), 1);
                // Each reader looks once at each value in vain; one run may be repeated for the loop.
                let most = 2 + readers as u64 * u64::from(writes);
                assert!(
                    report.runs() <= most,
                    "{} runs of {readers} readers, {writes} values, writer {writer:?}, {memory:?}",
                    report.runs()
                );
            }
        }
    }
}

/// The local state of a thread depends on results and on protected data too: the same look is in vain or not.
#[test]
fn what_is_waited_for_may_come_from_other_threads() {
    for smallest_first in [true, false] {
        let number = move |choice: u32| match smallest_first {
            true => 1 + choice,
            false => 2 - choice,
        };
        let joined = explored(move || {
            let value = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&value);
            let reader = thread::spawn(move || {
                let chooser = thread::spawn(move || number(raddle::choose(0..2_u32)));
                wait_for_at_least(&other, chooser.join().unwrap())
            });
            (1..3).for_each(|next| value.store(next, SeqCst));
            reader.join().unwrap()
        });
        assert_eq!(joined.outcomes, [(1, 1), (1, 2), (2, 2)].into());
        let locked = explored(move || {
            let shared = Arc::new((AtomicU32::new(0), Mutex::new(2)));
            let setter = Arc::clone(&shared);
            let setter = thread::spawn(move || *setter.1.lock().unwrap() = number(0));
            let reader = Arc::clone(&shared);
            let reader = thread::spawn(move || {
                let wanted = *reader.1.lock().unwrap();
                wait_for_at_least(&reader.0, wanted)
            });
            (1..3).for_each(|next| shared.0.store(next, SeqCst));
            setter.join().unwrap();
            reader.join().unwrap()
        });
        let expected: &[(u32, u32)] = match smallest_first {
            true => &[(1, 1), (1, 2), (2, 2)],
            false => &[(2, 2)],
        };
        assert_eq!(locked.outcomes, expected.iter().copied().collect());
    }
}

/// Returns the wanted number and the first value that is not less.
fn wait_for_at_least(value: &AtomicU32, wanted: u32) -> (u32, u32) {
    loop {
        let found = value.load(SeqCst);
        if found >= wanted {
            return (wanted, found);
        }
    }
}

/// Loops whose state is in memory that raddle does not see: all their rounds look the same, but they end.
#[test]
fn loops_that_end_by_memory_that_is_not_seen_are_explored() {
    /// Looks up to `limit` times; counts in a box.
    fn looks(ready: &AtomicBool, limit: u32) -> bool {
        let mut rounds = Box::new(0);
        while !ready.load(SeqCst) {
            *std::hint::black_box(&mut *rounds) += 1;
            if *std::hint::black_box(&*rounds) == limit {
                return false;
            }
        }
        true
    }
    /// As `looks`, with the counter in a variable.
    fn counts(ready: &AtomicBool, limit: u32) -> bool {
        (0..limit).any(|_| ready.load(SeqCst))
    }
    // Schedules are enumerated without trials.
    let run = |look: fn(&AtomicBool, u32) -> bool, limit: u32, sets: bool| {
        let outcomes = std::sync::Mutex::new(std::collections::BTreeSet::new());
        let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
            let ready = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&ready);
            let setter = thread::spawn(move || {
                if sets {
                    other.store(true, SeqCst);
                }
            });
            let seen = look(&ready, limit);
            setter.join().unwrap();
            outcomes.lock().unwrap().insert(seen);
        });
        report.assert_ok();
        assert!(report.exhausted);
        (outcomes.into_inner().unwrap(), report.classes())
    };
    for limit in [2, 3, 10] {
        for sets in [true, false] {
            let (seen, known) = (run(looks, limit, sets), run(counts, limit, sets));
            assert_eq!(seen, known, "{limit} rounds, {sets}");
        }
    }
}

/// Samplers do not take such a loop for a livelock either.
#[test]
fn loops_that_end_by_memory_that_is_not_seen_are_no_livelocks() {
    let run = |strategy: Strategy, limit: u32| {
        Checker::new()
            .strategy(strategy)
            .max_executions(200)
            .run(move || {
                let (ready, mut rounds) = (AtomicBool::new(false), Box::new(0));
                while !ready.load(SeqCst) && *std::hint::black_box(&*rounds) < limit {
                    *std::hint::black_box(&mut *rounds) += 1;
                }
            })
    };
    for strategy in [Strategy::Random, Strategy::Pct { depth: 2 }, Strategy::Auto] {
        let report = run(strategy.clone(), 700);
        let kinds: Vec<_> = report.failures.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [], "{strategy}");
        // A loop that does not end within the rounds that are tried.
        let report = run(strategy.clone(), u32::MAX);
        assert_eq!(report.failures.len(), 1, "{strategy}");
        assert_eq!(
            report.failures[0].kind,
            raddle::FailureKind::Livelock,
            "{strategy}"
        );
    }
}
