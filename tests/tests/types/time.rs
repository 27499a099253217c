//! Virtual time: whose clock goes on when, and parity with std outside a check.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

use raddle::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle::sync::atomic::{AtomicBool, AtomicU32, fence};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use raddle::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use raddle::{Checker, thread};
use raddle_tests::classes;
use raddle_tests::compare::behaviour;
use raddle_tests::parity::{panics, text};

const SECOND: Duration = Duration::from_secs(1);
const NANOSECOND: Duration = Duration::from_nanos(1);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

fn undisturbed() -> Checker {
    Checker::new().spurious_wakeups(false)
}

#[test]
fn time_passes_for_those_who_sleep() {
    let count = classes(|| {
        let start = Instant::now();
        assert_eq!(start.elapsed(), Duration::ZERO);
        thread::sleep(YEAR);
        assert_eq!(start.elapsed(), YEAR + NANOSECOND);
        thread::sleep(Duration::ZERO);
        assert_eq!(start.elapsed(), YEAR + 2 * NANOSECOND);
        thread::yield_now();
        drop(Mutex::new(0).lock());
        assert_eq!(Instant::now() - start, YEAR + 2 * NANOSECOND);
    });
    assert_eq!(count, 1);
}

#[test]
fn sleeping_is_no_order() {
    // The longer sleep may still end first, and two threads that only sleep are not ordered at all.
    let program = |meet: bool| {
        move || {
            let order = Arc::new(Mutex::new(Vec::new()));
            let threads = [3, 1].map(|seconds| {
                let order = Arc::clone(&order);
                thread::spawn(move || {
                    thread::sleep(seconds * SECOND);
                    if meet {
                        order.lock().unwrap().push(seconds);
                    }
                })
            });
            for thread in threads {
                thread.join().unwrap();
            }
            std::mem::take(&mut *order.lock().unwrap())
        }
    };
    assert_eq!(behaviour(&Checker::new(), program(false)).classes, 1);
    let seen = behaviour(&Checker::new(), program(true));
    assert_eq!(seen.outcomes, BTreeSet::from([vec![1, 3], vec![3, 1]]));
    assert_eq!(seen.classes, 2);
}

#[test]
fn a_thread_starts_with_its_creators_time_and_is_waited_for() {
    let seen = behaviour(&Checker::new(), || {
        let start = Instant::now();
        thread::sleep(SECOND);
        let child = thread::spawn(move || {
            let born = start.elapsed();
            thread::sleep(5 * SECOND);
            born
        });
        let other = thread::spawn(|| thread::sleep(2 * SECOND));
        let before = start.elapsed();
        let born = child.join().unwrap();
        let joined = start.elapsed();
        other.join().unwrap();
        let scope = thread::scope(|scope| {
            scope.spawn(|| thread::sleep(4 * SECOND));
            start.elapsed()
        });
        [born, before, joined, scope, start.elapsed()].map(|time| time.as_secs())
    });
    assert_eq!(seen.outcomes, BTreeSet::from([[1, 1, 6, 6, 10]]));
    assert_eq!(seen.classes, 1);
}

/// Waits for a flag until a time is over: whether it came, and after how many rounds.
fn wait_until(deadline: Instant, ready: &Mutex<bool>, changed: &Condvar) -> (bool, u32) {
    let mut rounds = 0;
    let mut guard = ready.lock().unwrap();
    while !*guard {
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            break;
        };
        guard = changed.wait_timeout(guard, left).unwrap().0;
        rounds += 1;
    }
    (*guard, rounds)
}

#[test]
fn a_loop_that_waits_until_a_time_is_over_comes_to_its_end() {
    let program = || {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let result = wait_until(Instant::now() + YEAR, &shared.0, &shared.1);
        thread.join().unwrap();
        result
    };
    let seen = behaviour(&undisturbed(), program);
    let expected = BTreeSet::from([(true, 0), (true, 1), (false, 1)]);
    assert_eq!(seen.outcomes, expected);
    // The producer locks first. Or it locks while the consumer waits, and notifies before the time
    // runs out, or after that; or when the consumer has given up and unlocked.
    assert_eq!(seen.classes, 4);
    // A spurious wake-up takes no time: there is one more round.
    let seen = behaviour(&Checker::new(), program);
    let more = [(true, 2), (false, 2)];
    assert_eq!(seen.outcomes, expected.into_iter().chain(more).collect());
}

#[test]
fn a_wait_that_times_out_has_lasted_so_long() {
    let seen = behaviour(&undisturbed(), || {
        let (lock, condition, start) = (Mutex::new(()), Condvar::new(), Instant::now());
        let guard = lock.lock().unwrap();
        let (guard, _) = condition.wait_timeout(guard, SECOND).unwrap();
        let first = start.elapsed();
        drop(condition.wait_timeout_while(guard, SECOND, |()| true));
        let second = start.elapsed();
        thread::park_timeout(SECOND);
        let third = start.elapsed();
        thread::current().unpark();
        thread::park_timeout(SECOND);
        let parked = start.elapsed();
        let (_sender, receiver) = raddle::sync::mpsc::channel::<()>();
        assert!(receiver.recv_timeout(SECOND).is_err());
        let (_sender, receiver) = raddle::sync::mpsc::sync_channel::<()>(0);
        assert!(receiver.recv_timeout(SECOND).is_err());
        [first, second, third, parked, start.elapsed()].map(|time| time.as_secs())
    });
    assert_eq!(seen.outcomes, BTreeSet::from([[1, 2, 3, 3, 5]]));
    assert_eq!(seen.classes, 1);
}

#[test]
fn who_does_nothing_but_look_sees_time_pass() {
    let deadline = |looks: &mut u32, end: Instant| {
        while Instant::now() < end {
            *looks += 1;
        }
    };
    let count = classes(move || {
        let mut looks = 0;
        deadline(&mut looks, Instant::now() + Duration::from_millis(1));
        // A hundred and two to the power of twenty nanoseconds.
        assert!((100..130).contains(&looks), "{looks}");
        deadline(&mut looks, Instant::now() + 60 * SECOND);
        // Ten milliseconds a look.
        assert!(looks < 6_300, "{looks}");
    });
    assert_eq!(count, 1);
}

/// No more time passes than was slept, and what is allowed for each look. Random programs of one thread, with
/// and without work between looks.
#[test]
fn work_takes_hardly_any_time() {
    let (waiting, working) = (Duration::from_millis(10), Duration::from_micros(100));
    for seed in 0..60 {
        let report = Checker::new().max_executions(1).run(|| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let (works, sleeps) = (seed % 3 != 0, seed % 2 == 0);
            let (count, lock) = (AtomicU32::new(0), Mutex::new(0));
            let start = Instant::now();
            let (mut allowed, mut has_worked) = (waiting, false);
            for _ in 0..rng.u32(1..1_000) {
                match rng.u32(0..10) {
                    0..3 if works => {
                        count.fetch_add(1, SeqCst);
                        has_worked = true;
                    }
                    3 if works => {
                        *lock.lock().unwrap() += 1;
                        has_worked = true;
                    }
                    4 if sleeps => {
                        let time = Duration::from_micros(rng.u64(0..10_000));
                        thread::sleep(time);
                        allowed += time + NANOSECOND;
                    }
                    5 => drop(count.load(SeqCst)),
                    _ => {
                        let _ = Instant::now();
                        allowed += match std::mem::take(&mut has_worked) {
                            true => working,
                            false => waiting,
                        };
                    }
                }
            }
            let took = start.elapsed();
            assert!(took <= allowed, "{took:?} of {allowed:?}");
        });
        report.assert_ok();
    }
}

/// A thread that looks at the clock between two pieces of work, again and again.
#[test]
fn time_does_not_run_away_from_those_who_work() {
    raddle::check(|| {
        let (start, done) = (Instant::now(), AtomicU32::new(0));
        for _ in 0..20_000 {
            done.fetch_add(1, SeqCst);
            let _ = Instant::now();
        }
        assert!(start.elapsed() <= 20_000 * Duration::from_micros(100));
    });
}

#[test]
fn spinning_until_a_time_is_over_comes_to_its_end_too() {
    let seen = behaviour(&Checker::new(), || {
        let ready = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&ready);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        let end = Instant::now() + Duration::from_nanos(2);
        let mut found = false;
        while !found && Instant::now() < end {
            thread::sleep(Duration::ZERO);
            found = ready.load(SeqCst);
        }
        thread.join().unwrap();
        found
    });
    assert_eq!(seen.outcomes, BTreeSet::from([false, true]));
    // It is seen at the first look, at the second, or not at all.
    assert_eq!(seen.classes, 3);
}

#[test]
fn time_has_an_end_and_nobody_panics_there() {
    classes(|| {
        let start = Instant::now();
        thread::sleep(Duration::MAX);
        thread::sleep(Duration::MAX);
        assert!(start.elapsed() > 1_000_000 * YEAR);
        assert!(Instant::now() >= start);
    });
}

#[test]
fn points_in_time_go_in_and_out() {
    let outside = Instant::now();
    let kept = StdMutex::new(Vec::new());
    raddle::check(|| {
        let inside = Instant::now();
        assert!(inside >= outside && outside.elapsed() == inside - outside);
        assert_eq!(outside.duration_since(inside), Duration::ZERO);
        assert_eq!(outside.saturating_duration_since(inside), Duration::ZERO);
        let choice = raddle::choose(0..2_u32);
        thread::sleep(choice * YEAR);
        kept.lock().unwrap().push((inside, Instant::now()));
    });
    let kept = kept.into_inner().unwrap();
    let starts: BTreeSet<_> = kept.iter().map(|(start, _)| start).collect();
    assert_eq!(starts.len(), 1, "every execution begins at the same time");
    for (_, end) in kept {
        let _ = (end.elapsed(), end.checked_duration_since(Instant::now()));
        assert!(end >= outside);
    }
}

/// Passes one message to a thread that waits for it: the sender's half, and the receiver's.
type Message = (Box<dyn FnOnce() + Send>, Box<dyn FnOnce() -> bool>);
type MakeMessage = fn() -> Message;

/// The ways to order an event of one thread before one of another. The receiver says whether it was.
fn messages() -> Vec<(&'static str, MakeMessage)> {
    fn both<T: 'static>(
        shared: T,
        send: impl FnOnce(&T) + Send + 'static,
        receive: impl FnOnce(&T) -> bool + 'static,
    ) -> Message
    where
        Arc<T>: Send,
    {
        let shared = Arc::new(shared);
        let other = Arc::clone(&shared);
        (
            Box::new(move || send(&other)),
            Box::new(move || receive(&shared)),
        )
    }
    vec![
        ("store and load", || {
            both(
                AtomicBool::new(false),
                |flag| flag.store(true, Release),
                |flag| flag.load(Acquire),
            )
        }),
        ("fences", || {
            both(
                AtomicBool::new(false),
                |flag| {
                    fence(Release);
                    flag.store(true, Relaxed);
                },
                |flag| {
                    let is_set = flag.load(Relaxed);
                    fence(Acquire);
                    is_set
                },
            )
        }),
        ("update", || {
            both(
                AtomicU32::new(0),
                |count| {
                    count.fetch_add(1, AcqRel);
                },
                |count| count.fetch_add(1, AcqRel) == 1,
            )
        }),
        ("mutex", || {
            both(
                Mutex::new(false),
                |flag| *flag.lock().unwrap() = true,
                |flag| *flag.lock().unwrap(),
            )
        }),
        ("rwlock", || {
            both(
                RwLock::new(false),
                |flag| *flag.write().unwrap() = true,
                |flag| *flag.read().unwrap(),
            )
        }),
        ("condvar", || {
            both(
                (Mutex::new(false), Condvar::new()),
                |(flag, changed)| {
                    *flag.lock().unwrap() = true;
                    changed.notify_one();
                },
                |(flag, changed)| {
                    let flag = flag.lock().unwrap();
                    *changed.wait_while(flag, |flag| !*flag).unwrap()
                },
            )
        }),
        ("barrier", || {
            both(
                Barrier::new(2),
                |barrier| {
                    barrier.wait();
                },
                |barrier| {
                    barrier.wait();
                    true
                },
            )
        }),
        ("once", || {
            both(
                OnceLock::new(),
                |once| once.set(1).unwrap(),
                |once| once.get() == Some(&1),
            )
        }),
        ("channel", || {
            let (sender, receiver) = mpsc::channel();
            (
                Box::new(move || sender.send(()).unwrap()),
                Box::new(move || receiver.recv().is_ok()),
            )
        }),
        ("rendezvous", || {
            let (sender, receiver) = mpsc::sync_channel(0);
            (
                Box::new(move || sender.send(()).unwrap()),
                Box::new(move || receiver.recv().is_ok()),
            )
        }),
        ("park", || {
            let receiver = thread::current();
            (
                Box::new(move || receiver.unpark()),
                Box::new(|| {
                    thread::park();
                    true
                }),
            )
        }),
    ]
}

/// The ways of a thread to let a second pass.
fn waits() -> Vec<(&'static str, fn())> {
    vec![
        ("sleep", || thread::sleep(SECOND)),
        ("park_timeout", || thread::park_timeout(SECOND)),
        ("recv_timeout", || {
            let (_sender, receiver) = mpsc::channel::<()>();
            assert!(receiver.recv_timeout(SECOND).is_err());
        }),
        ("wait_timeout", || {
            let (lock, changed) = (Mutex::new(()), Condvar::new());
            drop(changed.wait_timeout(lock.lock().unwrap(), SECOND));
        }),
        ("looks", || {
            let end = Instant::now() + SECOND;
            while Instant::now() < end {}
        }),
    ]
}

/// Time does not go back along happens-before, by whatever two threads are ordered and time passes.
#[test]
fn a_message_does_not_arrive_before_it_was_sent() {
    for (message, make) in messages() {
        for (wait, pass) in waits() {
            let seen = behaviour(&undisturbed(), move || {
                let (send, receive) = make();
                let start = Instant::now();
                let sent = Arc::new(StdMutex::new(None));
                let teller = Arc::clone(&sent);
                let thread = thread::spawn(move || {
                    pass();
                    *teller.lock().unwrap() = Some(Instant::now());
                    send();
                    thread::sleep(YEAR);
                });
                let received = receive().then(|| {
                    let now = Instant::now();
                    let sent = sent.lock().unwrap().unwrap();
                    assert!(now >= sent, "{:?} early", sent - now);
                    // Later advances of the sender are in no order with this.
                    assert!(now - start < 2 * SECOND);
                    thread::sleep(SECOND);
                    assert!(sent.elapsed() > SECOND);
                    (now - start).as_secs()
                });
                thread.join().unwrap();
                received
            });
            let mut outcomes = seen.outcomes.into_iter().flatten();
            assert_eq!(outcomes.next(), Some(1), "{wait} and {message}");
            assert_eq!(outcomes.next(), None, "{wait} and {message}");
        }
    }
}

/// A third thread passes the message on, whose own clock never advances.
#[test]
fn time_goes_from_thread_to_thread() {
    let report = undisturbed().run(|| {
        let (first, middle) = mpsc::channel();
        let (last, end) = mpsc::channel();
        let start = Instant::now();
        thread::spawn(move || {
            thread::sleep(SECOND);
            first.send(Instant::now()).unwrap();
        });
        thread::spawn(move || last.send(middle.recv().unwrap()).unwrap());
        let sent = end.recv().unwrap();
        assert_eq!(start.elapsed(), SECOND + NANOSECOND);
        assert_eq!(sent.elapsed(), Duration::ZERO);
    });
    report.assert_ok();
    assert!(report.exhausted);
}

/// Threads that nothing orders have unrelated clocks.
#[test]
fn time_that_happens_before_nothing_is_not_seen() {
    let seen = behaviour(&Checker::new(), || {
        let start = Instant::now();
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || {
            thread::sleep(SECOND);
            other.store(true, Relaxed);
        });
        let seen = flag.load(Relaxed).then(|| start.elapsed());
        thread.join().unwrap();
        (seen, start.elapsed())
    });
    let joined = SECOND + NANOSECOND;
    let expected = [(None, joined), (Some(Duration::ZERO), joined)];
    assert_eq!(seen.outcomes, BTreeSet::from(expected));
}

#[test]
fn a_sleep_is_told() {
    let report = Checker::new().run(|| {
        thread::sleep(Duration::from_millis(20));
        panic!("to be told");
    });
    let mut steps = report.failures[0].trace.steps.iter();
    assert!(steps.any(|step| step.what == "sleep 20ms"));
    let schedule = report.failures[0].schedule.to_string();
    assert_eq!(
        schedule,
        "raddle schedule 2\ncheck types::time::a_sleep_is_told\nmain: begin, sleep\n"
    );
}

/// What can be compared of a clock that is real: everything but what it shows.
macro_rules! arithmetic {
    ($time:path, $thread:path) => {{
        use time::{Duration, Instant};
        use $thread as thread;
        use $time as time;
        let start = Instant::now();
        thread::sleep(Duration::from_millis(2));
        let passed = start.elapsed() >= Duration::from_millis(2);
        let later = start + SECOND;
        let mut moved = later;
        moved += SECOND;
        moved -= 2 * SECOND;
        let longest = Duration::MAX;
        let overflow = [
            panics(move || drop(text(start + longest))),
            panics(move || drop(text(start - longest))),
        ];
        let differences = (
            later - start,
            start - later,
            later.duration_since(start),
            start.duration_since(later),
            later.checked_duration_since(start),
            start.checked_duration_since(later),
            start.saturating_duration_since(later),
        );
        let compared = (
            moved == start,
            later > start,
            later.cmp(&start),
            later.max(start) == later,
        );
        let checked = (
            start.checked_add(longest).is_none(),
            start.checked_sub(longest).is_none(),
            start.checked_add(SECOND) == Some(later),
            later.checked_sub(SECOND) == Some(start),
        );
        let set = std::collections::HashSet::from([start, later, moved]);
        let name = text(start).split(' ').next().unwrap().to_owned();
        (
            passed,
            overflow,
            differences,
            compared,
            checked,
            set.len(),
            name,
        )
    }};
}

#[test]
fn points_in_time_are_computed_with_as_stds() {
    let std = arithmetic!(std::time, std::thread);
    assert_eq!(std, arithmetic!(raddle::time, raddle::thread));
    raddle::check(|| assert_eq!(std, arithmetic!(raddle::time, raddle::thread)));
}

#[test]
#[allow(deprecated)]
fn outside_a_check_time_is_real() {
    let start = std::time::Instant::now();
    thread::sleep(Duration::from_millis(3));
    thread::sleep_ms(3);
    assert!(start.elapsed() >= Duration::from_millis(6));
    let before = std::time::SystemTime::now();
    let other: std::time::SystemTime = SystemTime::now().into();
    assert!(other >= before && SystemTime::from(other) > UNIX_EPOCH);
}

#[test]
fn every_execution_begins_at_the_same_time_of_day() {
    let report = raddle::Checker::new().run(|| {
        let start = SystemTime::now();
        let seconds = start.duration_since(UNIX_EPOCH).unwrap();
        assert_eq!(seconds, Duration::from_secs(1_000_000_000));
        let clock = Instant::now();
        let thread = thread::spawn(move || {
            thread::sleep(Duration::from_secs(u64::from(raddle::choose(1u32..4))));
            (start.elapsed().unwrap(), clock.elapsed())
        });
        let (by_day, by_clock) = thread.join().unwrap();
        assert_eq!(by_day, by_clock);
        assert!(SystemTime::now() >= start + by_day);
        assert!(start.duration_since(start + by_day).is_err());
    });
    report.assert_ok();
    assert_eq!(report.classes(), 3);
}

/// A program whose threads do something else when the clock shows something else.
fn branches_on(odd: impl Fn() -> bool + Sync) -> impl Fn() + Sync {
    move || {
        let (one, two) = (raddle::sync::Mutex::new(()), raddle::sync::Mutex::new(()));
        thread::scope(|scope| {
            scope.spawn(|| drop(one.lock()));
            match odd() {
                true => drop(one.lock()),
                false => drop(two.lock()),
            }
        });
    }
}

#[test]
fn real_time_is_nondeterminism_and_virtual_time_is_not() {
    let toggle = std::sync::atomic::AtomicBool::new(true);
    let check = || raddle::Checker::new().strategy(raddle::Strategy::Exhaustive);
    // As a real clock does, it shows something else whenever it is read.
    let real = branches_on(|| toggle.fetch_xor(true, std::sync::atomic::Ordering::SeqCst));
    let report = check().run(real);
    let failure = &report.failures[0];
    assert_eq!(failure.kind, raddle::FailureKind::Nondeterminism);
    for cause in [
        "`HashMap<K, V, BuildHasherDefault<DefaultHasher>>`",
        "`raddle::time`, whose `Instant` and `SystemTime` are virtual",
        "`raddle::any()` or `raddle::choose(0..n)`",
    ] {
        assert!(failure.message.contains(cause), "{}", failure.message);
    }
    let nanoseconds = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .subsec_nanos()
    };
    let report = check().run(branches_on(move || nanoseconds() % 2 == 0));
    report.assert_ok();
    assert_eq!((report.exhausted, report.classes()), (true, 2));
}
