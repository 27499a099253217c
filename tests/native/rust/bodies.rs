// Small programs that know `sync` and `thread` only by these names: with std's they are checked as they are,
// with raddle's in the library.

type Body = (&'static str, fn());

/// What has as many classes as there are orders, with nothing wrong in any of them.
pub const CORRECT: &[Body] = &[
    ("mutex", mutex),
    ("mutexes", mutexes),
    ("try lock", try_lock),
    ("poison", poison),
    ("question for poison", question_for_poison),
    ("locks in order", locks_in_order),
    ("condvar", condvar),
    ("two waiters", two_waiters),
    ("wait with a limit", wait_with_a_limit),
    ("rwlock", rwlock),
    ("try read and write", try_read_and_write),
    ("downgrade", downgrade),
    ("once", once),
    ("once that panics", once_that_panics),
    ("once lock", once_lock),
    ("lazy lock", lazy_lock),
    ("wait for once", wait_for_once),
    ("barrier", barrier),
    ("leader", leader),
    ("park", park),
    ("park with a limit", park_with_a_limit),
    ("scope", scope),
];

/// In which some threads wait for ever, sooner or later.
pub const STUCK: &[Body] = &[
    ("locks crosswise", locks_crosswise),
    ("locked twice", locked_twice),
    ("lost wake-up", lost_wake_up),
    ("one notification for two", one_notification_for_two),
    ("upgrade", upgrade),
    ("two upgrades", two_upgrades),
    ("once in itself", once_in_itself),
    ("waiting for nothing", waiting_for_nothing),
    ("one too few", one_too_few),
    ("lost token", lost_token),
];

fn both(one: impl FnOnce() + Send + 'static, other: impl FnOnce() + Send + 'static) {
    let one = thread::spawn(one);
    let other = thread::spawn(other);
    one.join().unwrap();
    other.join().unwrap();
}

fn repeat(count: usize, body: impl Fn() + Clone + Send + 'static) {
    let threads: Vec<_> = (0..count).map(|_| thread::spawn(body.clone())).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn mutex() {
    let shared = Arc::new(Mutex::new(0));
    let other = shared.clone();
    repeat(3, move || *other.lock().unwrap() += 1);
    assert_eq!(*shared.lock().unwrap(), 3);
}

fn mutexes() {
    let shared = Arc::new([Mutex::new(0), Mutex::new(0)]);
    repeat(2, move || {
        *shared[0].lock().unwrap() += 1;
        *shared[1].lock().unwrap() += 1;
    });
}

fn try_lock() {
    let shared = Arc::new(Mutex::new(0));
    repeat(2, move || {
        if let Ok(mut value) = shared.try_lock() {
            *value += 1;
        }
    });
}

fn poison() {
    let shared = Arc::new(Mutex::new(0));
    let other = shared.clone();
    both(
        move || {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _held = other.lock().unwrap();
                std::panic::resume_unwind(Box::new(()));
            }));
        },
        move || match shared.lock() {
            Ok(value) => assert_eq!(*value, 0),
            Err(_) => shared.clear_poison(),
        },
    );
}

fn question_for_poison() {
    let lock = Arc::new(Mutex::new(0));
    let shared = Arc::new(RwLock::new(0));
    let others = (Arc::clone(&lock), Arc::clone(&shared));
    let thread = thread::spawn(move || {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guards = (others.0.lock(), others.1.write());
            std::panic::resume_unwind(Box::new(()));
        }));
    });
    let _ = (lock.is_poisoned(), shared.is_poisoned());
    thread.join().unwrap();
    assert!(lock.is_poisoned() && shared.is_poisoned());
    lock.clear_poison();
    shared.clear_poison();
    assert!(!lock.is_poisoned() && !shared.is_poisoned());
}

fn locks_in_order() {
    let shared = Arc::new((Mutex::new(()), Mutex::new(())));
    repeat(2, move || {
        let _one = shared.0.lock().unwrap();
        let _other = shared.1.lock().unwrap();
    });
}

fn locks_crosswise() {
    let shared = Arc::new((Mutex::new(()), Mutex::new(())));
    let same = shared.clone();
    both(
        move || {
            let _one = shared.0.lock().unwrap();
            let _other = shared.1.lock().unwrap();
        },
        move || {
            let _other = same.1.lock().unwrap();
            let _one = same.0.lock().unwrap();
        },
    );
}

fn locked_twice() {
    let lock = Mutex::new(());
    let _once = lock.lock().unwrap();
    let _twice = lock.lock().unwrap();
}

fn condvar() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let same = shared.clone();
    both(
        move || {
            let mut ready = shared.0.lock().unwrap();
            while !*ready {
                ready = shared.1.wait(ready).unwrap();
            }
        },
        move || {
            *same.0.lock().unwrap() = true;
            same.1.notify_one();
        },
    );
}

fn two_waiters() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let same = shared.clone();
    let waits = move || {
        let ready = shared.0.lock().unwrap();
        drop(shared.1.wait_while(ready, |ready| !*ready).unwrap());
    };
    let one = thread::spawn(waits.clone());
    let other = thread::spawn(waits);
    *same.0.lock().unwrap() = true;
    same.1.notify_all();
    one.join().unwrap();
    other.join().unwrap();
}

fn one_notification_for_two() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let same = shared.clone();
    let waits = move || {
        let ready = shared.0.lock().unwrap();
        drop(shared.1.wait_while(ready, |ready| !*ready).unwrap());
    };
    let one = thread::spawn(waits.clone());
    let other = thread::spawn(waits);
    *same.0.lock().unwrap() = true;
    same.1.notify_one();
    one.join().unwrap();
    other.join().unwrap();
}

fn lost_wake_up() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let same = shared.clone();
    both(
        move || {
            let ready = shared.0.lock().unwrap();
            assert!(!*ready);
            drop(shared.1.wait(ready).unwrap());
        },
        move || same.1.notify_one(),
    );
}

fn wait_with_a_limit() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let same = shared.clone();
    both(
        move || {
            let ready = shared.0.lock().unwrap();
            let limit = std::time::Duration::from_millis(1);
            let result = shared.1.wait_timeout(ready, limit).unwrap();
            drop(result);
        },
        move || {
            *same.0.lock().unwrap() = true;
            same.1.notify_one();
        },
    );
}

fn rwlock() {
    let shared = Arc::new(RwLock::new(0));
    let (one, other) = (shared.clone(), shared.clone());
    let reader = thread::spawn(move || assert!(*one.read().unwrap() < 2));
    let writer = thread::spawn(move || *other.write().unwrap() += 1);
    assert!(*shared.read().unwrap() < 2);
    reader.join().unwrap();
    writer.join().unwrap();
}

fn try_read_and_write() {
    let shared = Arc::new(RwLock::new(0));
    let (one, other) = (shared.clone(), shared.clone());
    let reader = thread::spawn(move || drop(one.try_read().map(|value| *value)));
    let writer = thread::spawn(move || drop(other.try_write().map(|mut value| *value += 1)));
    *shared.write().unwrap() += 1;
    reader.join().unwrap();
    writer.join().unwrap();
}

fn downgrade() {
    let shared = Arc::new(RwLock::new(0));
    let same = shared.clone();
    both(
        move || {
            let mut value = shared.write().unwrap();
            *value += 1;
            let value = RwLockWriteGuard::downgrade(value);
            assert_eq!(*value, 1);
        },
        move || assert!(*same.read().unwrap() < 2),
    );
}

fn upgrade() {
    let lock = RwLock::new(0);
    let value = lock.read().unwrap();
    *lock.write().unwrap() = *value + 1;
}

fn two_upgrades() {
    let shared = Arc::new(RwLock::new(0));
    repeat(2, move || {
        let value = shared.read().unwrap();
        let next = *value + 1;
        if next > 5 {
            drop(value);
            return;
        }
        *shared.write().unwrap() = next;
    });
}

fn once() {
    let shared = Arc::new((Once::new(), Mutex::new(0)));
    let same = shared.clone();
    repeat(2, move || shared.0.call_once(|| *shared.1.lock().unwrap() += 1));
    assert!(same.0.is_completed());
    assert_eq!(*same.1.lock().unwrap(), 1);
}

fn once_that_panics() {
    let shared = Arc::new(Once::new());
    let same = shared.clone();
    both(
        move || {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                shared.call_once(|| std::panic::resume_unwind(Box::new(())));
            }));
        },
        move || same.call_once_force(|_| ()),
    );
}

fn once_lock() {
    let shared = Arc::new(OnceLock::new());
    let same = shared.clone();
    both(
        move || assert_eq!(*shared.get_or_init(|| 5), 5),
        move || {
            if let Some(value) = same.get() {
                assert_eq!(*value, 5);
            }
        },
    );
}

fn lazy_lock() {
    let shared = Arc::new(LazyLock::<u32>::new(|| 5));
    repeat(2, move || assert_eq!(**shared, 5));
}

fn wait_for_once() {
    let shared = Arc::new(Once::new());
    let same = shared.clone();
    both(move || shared.call_once(|| ()), move || same.wait());
}

fn once_in_itself() {
    let once = Once::new();
    once.call_once(|| once.call_once(|| ()));
}

fn waiting_for_nothing() {
    let shared = Arc::new(OnceLock::<u32>::new());
    let same = shared.clone();
    both(
        move || {
            shared.wait();
        },
        move || {
            if same.get().is_some() {
                let _ = same.set(1);
            }
        },
    );
}

fn barrier() {
    let shared = Arc::new((Barrier::new(3), Mutex::new(0)));
    repeat(3, move || {
        *shared.1.lock().unwrap() += 1;
        shared.0.wait();
        assert_eq!(*shared.1.lock().unwrap(), 3);
    });
}

fn leader() {
    let shared = Arc::new((Barrier::new(2), Mutex::new(0)));
    let same = shared.clone();
    repeat(2, move || {
        if shared.0.wait().is_leader() {
            *shared.1.lock().unwrap() += 1;
        }
    });
    assert_eq!(*same.1.lock().unwrap(), 1);
}

fn one_too_few() {
    let shared = Arc::new(Barrier::new(2));
    repeat(3, move || {
        shared.wait();
    });
}

fn park() {
    let waiter = thread::spawn(thread::park);
    waiter.thread().unpark();
    waiter.join().unwrap();
}

fn park_with_a_limit() {
    let waiter = thread::spawn(|| thread::park_timeout(std::time::Duration::from_millis(1)));
    waiter.thread().unpark();
    waiter.join().unwrap();
}

fn lost_token() {
    let waiter = thread::spawn(|| {
        thread::park();
        thread::park();
    });
    // A thread has one token at most.
    waiter.thread().unpark();
    waiter.thread().unpark();
    waiter.join().unwrap();
}

fn scope() {
    let shared = Mutex::new(0);
    thread::scope(|scope| {
        scope.spawn(|| *shared.lock().unwrap() += 1);
        scope.spawn(|| *shared.lock().unwrap() += 1);
    });
    assert_eq!(*shared.lock().unwrap(), 2);
}
