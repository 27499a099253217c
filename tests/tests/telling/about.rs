//! A reason is about the failure: locks and values that have nothing to do with it are not named as its
//! reason, whichever of them happen to be exchanged, too.

use std::mem::ManuallyDrop;

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::AtomicU32;
use raddle::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use raddle::sync::mpsc::channel;
use raddle::sync::{Arc, Condvar, Mutex, OnceLock, RwLock, Semaphore};
use raddle::{Checker, Strategy, thread};

/// What a story says of the two steps that decide.
enum Told {
    /// `why:`, with this in it.
    Why(&'static str),
    /// No `why:`, but `also passes when`, with this in it.
    Also(&'static str),
}
use Told::{Also, Why};

/// A cell that threads share, whatever they do.
struct Slot(UnsafeCell<u32>);

// SAFETY: it is not, which is what the check finds.
unsafe impl Sync for Slot {}

impl Slot {
    fn new() -> Self {
        Slot(UnsafeCell::new(0))
    }

    fn add(&self) {
        // SAFETY: none; the check stops at the race.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

/// Runs the two side by side and waits for both.
fn both(one: impl FnOnce() + Send, other: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(one);
        scope.spawn(other);
    });
}

fn touch(lock: &Mutex<u32>) {
    *lock.lock().unwrap() += 1;
}

fn race_beside_a_log() {
    let (slot, log) = (Slot::new(), Mutex::new(0));
    let slot = &slot;
    both(
        || {
            slot.add();
            touch(&log);
        },
        || {
            touch(&log);
            slot.add();
        },
    );
}

fn race_beside_a_counter() {
    let (slot, hits) = (Slot::new(), AtomicU32::new(0));
    let slot = &slot;
    both(
        || {
            slot.add();
            hits.store(1, Release);
        },
        || {
            hits.load(Acquire);
            slot.add();
        },
    );
}

fn race_beside_a_channel() {
    let (slot, (sender, receiver)) = (Arc::new(Slot::new()), channel::<u32>());
    let other = Arc::clone(&slot);
    let thread = thread::spawn(move || {
        other.add();
        sender.send(1).unwrap();
    });
    let _ = receiver.try_recv();
    slot.add();
    thread.join().unwrap();
}

fn race_of_the_one_who_came_in_time() {
    let (slot, ready) = (Slot::new(), AtomicU32::new(0));
    let slot = &slot;
    both(
        || {
            slot.add();
            ready.store(1, Relaxed);
        },
        || {
            if ready.load(Relaxed) == 1 {
                slot.add();
            }
        },
    );
}

/// A pointer to a cell that may be gone.
struct Borrowed(*const UnsafeCell<u32>);

// SAFETY: as far as the lock goes.
unsafe impl Send for Borrowed {}
// SAFETY: see above.
unsafe impl Sync for Borrowed {}

fn freed_beside_a_log() {
    let mut slot = Box::new(ManuallyDrop::new(UnsafeCell::new(7)));
    let borrowed = Arc::new((Borrowed(&raw const **slot), Mutex::new(0)));
    let other = Arc::clone(&borrowed);
    let reader = thread::spawn(move || {
        touch(&other.1);
        // SAFETY: it is not, as the other thread may have dropped the slot.
        unsafe { &*other.0.0 }.with(|value| assert_eq!(unsafe { *value }, 7));
    });
    touch(&borrowed.1);
    // SAFETY: it is not, as the other thread may still use the slot.
    unsafe { ManuallyDrop::drop(&mut slot) };
    reader.join().unwrap();
}

fn freed_under_the_lock() {
    let mut slot = Box::new(ManuallyDrop::new(UnsafeCell::new(7)));
    let lock = Arc::new(Mutex::new(Borrowed(&raw const **slot)));
    let other = Arc::clone(&lock);
    let reader = thread::spawn(move || {
        let borrowed = other.lock().unwrap();
        // SAFETY: it is, unless the other thread was faster.
        unsafe { &*borrowed.0 }.with(|value| assert_eq!(unsafe { *value }, 7));
    });
    let held = lock.lock().unwrap();
    // SAFETY: it is not, as the other thread may still use the slot.
    unsafe { ManuallyDrop::drop(&mut slot) };
    drop(held);
    reader.join().unwrap();
}

fn value_stored_under_a_log() {
    let (ready, log) = (AtomicU32::new(0), Mutex::new(0));
    both(
        || {
            touch(&log);
            let seen = ready.load(SeqCst);
            touch(&log);
            assert_eq!(seen, 1);
        },
        || {
            let mut held = log.lock().unwrap();
            ready.store(1, SeqCst);
            *held += 1;
        },
    );
}

fn lost_update_between_logs() {
    let (counter, log) = (AtomicU32::new(0), Mutex::new(0));
    let count = || {
        touch(&log);
        let seen = counter.load(SeqCst);
        touch(&log);
        counter.store(seen + 1, SeqCst);
        touch(&log);
    };
    both(count, count);
    assert_eq!(counter.load(SeqCst), 2);
}

fn lost_update_of_handed_over_work() {
    let (sender, receiver) = channel();
    sender.send(1).unwrap();
    sender.send(1).unwrap();
    let (counter, jobs) = (AtomicU32::new(0), Mutex::new(receiver));
    let work = || {
        let job = jobs.lock().unwrap().recv().unwrap();
        counter.store(counter.load(SeqCst) + job, SeqCst);
    };
    both(work, work);
    assert_eq!(counter.load(SeqCst), 2);
}

/// Takes all there is, if there is enough.
fn withdraw(balance: &Mutex<u32>, between: impl Fn()) {
    between();
    let enough = *balance.lock().unwrap() >= 10;
    between();
    if enough {
        let mut left = balance.lock().unwrap();
        *left = left.checked_sub(10).expect("enough");
    }
}

fn withdrawn_twice_with_a_log() {
    let (balance, log) = (Mutex::new(10), Mutex::new(0));
    let take = || withdraw(&balance, || touch(&log));
    both(take, take);
}

fn withdrawn_twice_with_a_counter() {
    let (balance, tries) = (Mutex::new(10), AtomicU32::new(0));
    let add = || {
        tries.fetch_add(1, Relaxed);
    };
    let take = || withdraw(&balance, add);
    both(take, take);
}

fn withdrawn_under_a_log() {
    let (balance, log) = (Mutex::new(10u32), Mutex::new(0));
    both(
        || {
            touch(&log);
            let left = *balance.lock().unwrap();
            touch(&log);
            assert_eq!(left, 5, "too early");
        },
        || {
            let mut lines = log.lock().unwrap();
            *balance.lock().unwrap() -= 5;
            *lines += 1;
        },
    );
}

fn deadlock_with_a_log() {
    let (left, right, log) = (Mutex::new(0), Mutex::new(0), Mutex::new(0));
    let dine = |first: &Mutex<u32>, second: &Mutex<u32>| {
        touch(&log);
        let _first = first.lock();
        touch(&log);
        let _second = second.lock();
    };
    both(|| dine(&left, &right), || dine(&right, &left));
}

fn deadlock_chosen_by_a_flag() {
    let (left, right) = (Mutex::new(0), Mutex::new(0));
    let (turn, log) = (AtomicU32::new(0), Mutex::new(0));
    both(
        || {
            touch(&log);
            let is_other = turn.load(SeqCst) == 0;
            let (first, second) = if is_other {
                (&right, &left)
            } else {
                (&left, &right)
            };
            let _first = first.lock();
            let _second = second.lock();
        },
        || {
            touch(&log);
            turn.store(1, SeqCst);
            let _first = left.lock();
            let _second = right.lock();
        },
    );
}

fn notified_too_early_with_a_log() {
    let lock = Mutex::new(0);
    let condition = Condvar::new();
    let log = Mutex::new(0);
    both(
        || {
            touch(&log);
            condition.notify_one();
        },
        || {
            touch(&log);
            drop(condition.wait(lock.lock().unwrap()).unwrap());
        },
    );
}

fn read_before_it_is_set_with_a_configuration() {
    let value = AtomicU32::new(0);
    let config = RwLock::new(1);
    both(
        || {
            let limit = *config.read().unwrap();
            let seen = value.load(SeqCst);
            let again = *config.read().unwrap();
            assert_eq!((seen, limit), (1, again));
        },
        || {
            let limit = config.write().unwrap();
            value.store(*limit, SeqCst);
        },
    );
}

fn stale_value_with_a_log() {
    let data = AtomicU32::new(0);
    let ready = AtomicU32::new(0);
    let log = Mutex::new(0);
    both(
        || {
            touch(&log);
            data.store(7, Relaxed);
            ready.store(1, Relaxed);
        },
        || {
            let is_ready = ready.load(Relaxed) == 1;
            let seen = data.load(Relaxed);
            touch(&log);
            assert!(!is_ready || seen == 7);
        },
    );
}

fn started_in_the_wrong_order() {
    let started = Mutex::new(0);
    let value = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                touch(&started);
                value.fetch_add(1, SeqCst);
            });
        }
        touch(&started);
        assert!(value.load(SeqCst) > 0, "none has come");
    });
}

fn race_beside_two_logs() {
    let slot = Slot::new();
    let slot = &slot;
    let log = Mutex::new(0);
    let errors = Mutex::new(0);
    both(
        || {
            touch(&errors);
            slot.add();
            touch(&log);
        },
        || {
            touch(&log);
            slot.add();
            touch(&errors);
        },
    );
}

fn race_beside_a_configuration() {
    let slot = Slot::new();
    let slot = &slot;
    let config = RwLock::new(0);
    both(
        || {
            slot.add();
            *config.write().unwrap() += 1;
        },
        || {
            let limit = *config.read().unwrap();
            slot.add();
            assert!(limit < 2);
        },
    );
}

fn race_beside_a_semaphore() {
    let slot = Slot::new();
    let slot = &slot;
    let permits = Semaphore::new(1);
    both(
        || {
            slot.add();
            permits.release();
        },
        || {
            let _ = permits.try_acquire();
            slot.add();
        },
    );
}

fn freed_beside_a_configuration() {
    let mut slot = Box::new(ManuallyDrop::new(UnsafeCell::new(7)));
    let borrowed = Arc::new((Borrowed(&raw const **slot), RwLock::new(0)));
    let other = Arc::clone(&borrowed);
    let reader = thread::spawn(move || {
        let limit = *other.1.read().unwrap();
        // SAFETY: it is not, as the other thread may have dropped the slot.
        unsafe { &*other.0.0 }.with(|value| assert_eq!(unsafe { *value }, 7));
        assert!(limit < 2);
    });
    *borrowed.1.write().unwrap() += 1;
    // SAFETY: it is not, as the other thread may still use the slot.
    unsafe { ManuallyDrop::drop(&mut slot) };
    reader.join().unwrap();
}

fn two_values_under_a_log() {
    let low = AtomicU32::new(0);
    let high = AtomicU32::new(1);
    let log = Mutex::new(0);
    both(
        || {
            touch(&log);
            let seen = high.load(SeqCst);
            touch(&log);
            assert!(low.load(SeqCst) < seen, "out of order");
        },
        || {
            let mut held = log.lock().unwrap();
            high.store(3, SeqCst);
            low.store(2, SeqCst);
            *held += 1;
        },
    );
}

fn exchanged_under_a_log() {
    let owner = AtomicU32::new(0);
    let log = Mutex::new(0);
    both(
        || {
            touch(&log);
            let result = owner.compare_exchange(1, 2, SeqCst, SeqCst);
            touch(&log);
            assert!(result.is_ok(), "not there yet");
        },
        || {
            let mut held = log.lock().unwrap();
            owner.store(1, SeqCst);
            *held += 1;
        },
    );
}

fn set_once_under_a_log() {
    let name = OnceLock::new();
    let log = Mutex::new(0);
    both(
        || {
            touch(&log);
            let seen = name.get().copied();
            touch(&log);
            assert_eq!(seen, Some(1));
        },
        || {
            let mut held = log.lock().unwrap();
            name.set(1).unwrap();
            *held += 1;
        },
    );
}

/// Each program, and what its story must say. In most of them exchanging two calls of `log` also makes
/// the failure go away, in some of them nothing else does.
const PROGRAMS: [(&str, fn(), Told); 25] = [
    ("race_beside_a_log", race_beside_a_log, Also("locks log ")),
    (
        "race_beside_a_counter",
        race_beside_a_counter,
        Also(" hits "),
    ),
    (
        "race_beside_a_channel",
        race_beside_a_channel,
        Also(" Sender "),
    ),
    ("race_beside_two_logs", race_beside_two_logs, Also("locks ")),
    (
        "race_beside_a_configuration",
        race_beside_a_configuration,
        Also("-locks config "),
    ),
    (
        "race_beside_a_semaphore",
        race_beside_a_semaphore,
        Also(" permits "),
    ),
    (
        "race_of_the_one_who_came_in_time",
        race_of_the_one_who_came_in_time,
        Why("loads ready "),
    ),
    (
        "freed_beside_a_log",
        freed_beside_a_log,
        Also("locks borrowed.1 "),
    ),
    (
        "freed_beside_a_configuration",
        freed_beside_a_configuration,
        Also("-locks borrowed.1 "),
    ),
    (
        "freed_under_the_lock",
        freed_under_the_lock,
        Why("locks lock "),
    ),
    (
        "value_stored_under_a_log",
        value_stored_under_a_log,
        Why("loads ready "),
    ),
    (
        "two_values_under_a_log",
        two_values_under_a_log,
        Why(" low "),
    ),
    (
        "exchanged_under_a_log",
        exchanged_under_a_log,
        Why("updates owner "),
    ),
    (
        "set_once_under_a_log",
        set_once_under_a_log,
        Why("`is-completed name`"),
    ),
    (
        "read_before_it_is_set_with_a_configuration",
        read_before_it_is_set_with_a_configuration,
        Why("loads value "),
    ),
    (
        "withdrawn_under_a_log",
        withdrawn_under_a_log,
        Why("locks balance "),
    ),
    (
        "withdrawn_twice_with_a_log",
        withdrawn_twice_with_a_log,
        Why("locks balance "),
    ),
    (
        "withdrawn_twice_with_a_counter",
        withdrawn_twice_with_a_counter,
        Why("locks balance "),
    ),
    (
        "lost_update_between_logs",
        lost_update_between_logs,
        Why("loads counter "),
    ),
    (
        "lost_update_of_handed_over_work",
        lost_update_of_handed_over_work,
        Why("loads counter "),
    ),
    (
        "deadlock_with_a_log",
        deadlock_with_a_log,
        Why("locks right "),
    ),
    (
        "deadlock_chosen_by_a_flag",
        deadlock_chosen_by_a_flag,
        Why("locks left "),
    ),
    (
        "notified_too_early_with_a_log",
        notified_too_early_with_a_log,
        Why("notifies condition "),
    ),
    (
        "stale_value_with_a_log",
        stale_value_with_a_log,
        Why(" data "),
    ),
    (
        "started_in_the_wrong_order",
        started_in_the_wrong_order,
        Why("loads value "),
    ),
];

#[test]
fn a_reason_is_about_the_failure() {
    let mut wrong = Vec::new();
    for (name, program, told) in PROGRAMS {
        let checker = Checker::new().strategy(Strategy::Exhaustive).page(false);
        let report = checker.run(program);
        let story = report.failures[0].to_string();
        let line = |start: &str| story.lines().find(|line| line.starts_with(start));
        let (why, also) = (line("  why:    fails when "), line("  also passes when "));
        let is_about = report.failures[0]
            .critical
            .as_ref()
            .map(|pair| pair.is_about);
        assert_eq!(is_about.unwrap_or(true), also.is_none(), "{name}:\n{story}");
        let is_right = match told {
            Why(part) => also.is_none() && why.is_some_and(|line| line.contains(part)),
            Also(part) => why.is_none() && also.is_some_and(|line| line.contains(part)),
        };
        if !is_right {
            wrong.push(format!("{name}:\n{story}"));
        }
    }
    let (count, all) = (wrong.len(), wrong.join("\n"));
    assert!(wrong.is_empty(), "{count} of {}:\n{all}", PROGRAMS.len());
}
