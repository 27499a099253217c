//! Locks in different orders, in executions that go well: what is said of them and what is not.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, RwLock};
use raddle::{Checker, FailureKind, Guarantee, Level, Report, Strategy, thread};

fn run(level: Level, program: impl Fn() + Send + Sync) -> Report {
    Checker::new()
        .strategy(Strategy::Exhaustive)
        .lock_order(level)
        .run(program)
}

/// What is said of the program, without places.
fn warnings(program: impl Fn() + Send + Sync) -> Vec<String> {
    let report = run(Level::Warn, program);
    assert_eq!(report.failures.len(), 0, "{report}");
    let lines = report.warnings.iter().map(|warning| {
        let lines = warning.message.lines();
        let facts = lines.take_while(|line| !line.starts_with("help"));
        let words = facts.flat_map(|line| line.split(' ').chain(["/"]));
        let words = words.filter(|word| *word != "at" && !word.contains(".rs:"));
        words.collect::<Vec<_>>().join(" ")
    });
    lines.collect()
}

/// One thread takes the locks in one order; when it is gone, another in the other.
fn one_after_the_other() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let other = Arc::clone(&locks);
    thread::spawn(move || {
        let _first = other.0.lock().unwrap();
        let _second = other.1.lock().unwrap();
    })
    .join()
    .unwrap();
    thread::spawn(move || {
        let _second = locks.1.lock().unwrap();
        let _first = locks.0.lock().unwrap();
    })
    .join()
    .unwrap();
}

#[test]
fn both_orders_are_a_warning_though_never_at_once() {
    let circle = "main.1 takes Mutex `locks.0` then Mutex `locks.1` / main.2 takes Mutex `locks.1` then Mutex \
         `locks.0` /";
    let said: Vec<_> = warnings(one_after_the_other)
        .iter()
        .map(|line| line.replace(',', ""))
        .collect();
    assert_eq!(said, [circle]);
    let report = run(Level::Warn, one_after_the_other);
    assert_eq!(report.guarantee(), Guarantee::Exhaustive);
    let shown = report.to_string();
    assert!(
        shown.contains("warning: lock order after 1 execution (exhaustive)"),
        "{shown}"
    );
    assert!(
        shown.contains("help: if they do so at the same time"),
        "{shown}"
    );
}

#[test]
fn it_can_be_a_failure_or_nothing() {
    let report = run(Level::Deny, one_after_the_other);
    assert_eq!(report.failures[0].kind, FailureKind::LockOrder);
    assert!(report.failures[0].replay.is_some());
    let report = run(Level::Allow, one_after_the_other);
    assert_eq!((report.failures.len(), report.warnings.len()), (0, 0));
}

#[test]
fn a_circle_may_have_three() {
    let said = warnings(|| {
        let locks: Arc<Vec<_>> = Arc::new((0..3).map(|_| Mutex::new(())).collect());
        for first in 0..3 {
            let locks = Arc::clone(&locks);
            thread::spawn(move || {
                let _first = locks[first].lock().unwrap();
                let _second = locks[(first + 1) % 3].lock().unwrap();
            })
            .join()
            .unwrap();
        }
    });
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].matches(" takes ").count(), 3, "{}", said[0]);
}

#[test]
fn one_thread_alone_is_fine() {
    let said = warnings(|| {
        let (one, two) = (Mutex::new(()), Mutex::new(()));
        drop((one.lock().unwrap(), two.lock().unwrap()));
        drop((two.lock().unwrap(), one.lock().unwrap()));
    });
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn a_lock_around_it_all_makes_it_fine() {
    let said = warnings(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(()), Mutex::new(())));
        let other = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _gate = other.2.lock().unwrap();
            let _second = other.1.lock().unwrap();
            let _first = other.0.lock().unwrap();
        });
        {
            let _gate = locks.2.lock().unwrap();
            let _first = locks.0.lock().unwrap();
            let _second = locks.1.lock().unwrap();
        }
        thread.join().unwrap();
    });
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn who_only_tries_does_not_wait() {
    let said = warnings(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _second = other.1.lock().unwrap();
            let _first = other.0.try_lock();
        });
        {
            let _first = locks.0.lock().unwrap();
            let _second = locks.1.lock().unwrap();
        }
        thread.join().unwrap();
    });
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn readers_go_together() {
    let said = warnings(|| {
        let locks = Arc::new((RwLock::new(()), RwLock::new(())));
        let other = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _second = other.1.read().unwrap();
            let _first = other.0.read().unwrap();
        });
        {
            let _first = locks.0.read().unwrap();
            let _second = locks.1.read().unwrap();
        }
        thread.join().unwrap();
    });
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn to_read_twice_is_a_warning() {
    let said = warnings(|| {
        let lock = RwLock::new(());
        let _first = lock.read().unwrap();
        let _second = lock.read().unwrap();
    });
    let expected = "main takes RwLock `lock` then RwLock `lock` which it has read-locked already /";
    assert_eq!(said, [expected]);
}

#[test]
fn a_deadlock_is_said_once() {
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .keep_going(true)
        .run(|| {
            let locks = Arc::new((Mutex::new(()), Mutex::new(())));
            let other = Arc::clone(&locks);
            let thread = thread::spawn(move || {
                let _second = other.1.lock().unwrap();
                let _first = other.0.lock().unwrap();
            });
            {
                let _first = locks.0.lock().unwrap();
                let _second = locks.1.lock().unwrap();
            }
            thread.join().unwrap();
        });
    let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
    assert_eq!(kinds, [FailureKind::Deadlock]);
    assert_eq!(report.warnings.len(), 0);
}

#[test]
fn what_a_sample_misses_is_tried() {
    // One at a time, with hardly a chance to meet: the second thread has much to do before.
    let program = || {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let noise = Arc::new(AtomicU32::new(0));
        let (other, others_noise) = (Arc::clone(&locks), Arc::clone(&noise));
        let thread = thread::spawn(move || {
            for _ in 0..200 {
                others_noise.fetch_add(1, SeqCst);
            }
            let _second = other.1.lock().unwrap();
            let _first = other.0.lock().unwrap();
        });
        {
            let _first = locks.0.lock().unwrap();
            let _second = locks.1.lock().unwrap();
        }
        thread.join().unwrap();
    };
    let search = |level| {
        let checker = Checker::new().strategy(Strategy::Random);
        checker.max_executions(3).lock_order(level).run(program)
    };
    assert_eq!(
        search(Level::Allow).failures.len(),
        0,
        "chance does not do it"
    );
    let report = search(Level::Warn);
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    assert_eq!(report.failures[0].search, "predicted");
    assert_eq!(report.warnings.len(), 0);
}
