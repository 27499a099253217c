//! Data races: for every way to order threads, a program that does and its twin that does not.
//! Messages are in `races_of_messages.rs`.

use std::time::Duration;

use raddle::cell::UnsafeCell;
use raddle::monitor::{Discipline, Monitor};
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use raddle::sync::{
    Arc, Barrier, BinarySemaphore, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore,
    TrackedArc,
};
use raddle::{Checker, FailureKind, Strategy, thread};
use raddle_tests::races::{Shared, checker, is_clean, is_racy, races_in, two, two_with};

#[test]
fn nothing_but_a_join() {
    is_racy(|| two::<()>(|cell, ()| cell.write(), |cell, ()| cell.write()));
    is_racy(|| {
        two::<()>(
            |cell, ()| cell.write(),
            |cell, ()| {
                cell.read();
            },
        );
    });
    is_racy(|| {
        two::<()>(
            |cell, ()| {
                cell.read();
            },
            |cell, ()| cell.write(),
        );
    });
    // Two who read do not race, and `two` writes after the join.
    is_clean(|| {
        two::<()>(
            |cell, ()| {
                cell.read();
            },
            |cell, ()| {
                cell.read();
            },
        );
    });
    is_clean(|| two::<()>(|cell, ()| cell.write(), |_, ()| {}));
}

#[test]
fn get_counts_as_a_write() {
    is_racy(|| {
        two::<()>(
            |cell, ()| {
                cell.0.get();
            },
            |cell, ()| {
                cell.0.get();
            },
        );
    });
}

#[test]
fn a_thread_knows_what_its_creator_did_before() {
    let program = |late: bool| {
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        if !late {
            shared.write();
        }
        let thread = thread::spawn(move || other.write());
        if late {
            shared.write();
        }
        thread.join().unwrap();
    };
    is_racy(move || program(true));
    is_clean(move || program(false));
}

#[test]
fn scoped_threads_are_joined_at_the_end_of_the_scope() {
    is_clean(|| {
        let cell = Shared::default();
        thread::scope(|scope| {
            scope.spawn(|| cell.write());
        });
        cell.write();
    });
    is_racy(|| {
        let cell = Shared::default();
        thread::scope(|scope| {
            scope.spawn(|| cell.write());
            cell.write();
        });
    });
}

#[test]
fn a_thread_that_is_finished_is_as_good_as_joined() {
    let program = |asks: bool| {
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.write());
        if !asks || thread.is_finished() {
            shared.write();
        }
        thread.join().unwrap();
    };
    is_clean(move || program(true));
    is_racy(move || program(false));
}

#[test]
fn locks() {
    is_clean(|| {
        two::<Mutex<()>>(
            |cell, lock| {
                let _held = lock.lock();
                cell.write();
            },
            |cell, lock| {
                let _held = lock.lock();
                cell.write();
            },
        );
    });
    is_racy(|| {
        two::<[Mutex<()>; 2]>(
            |cell, locks| {
                let _held = locks[0].lock();
                cell.write();
            },
            |cell, locks| {
                let _held = locks[1].lock();
                cell.write();
            },
        );
    });
}

#[test]
fn an_attempt_that_fails_orders_nothing() {
    // The lock is free or not; where it is not, main goes on without.
    let found = races_in(&checker(), || {
        two::<Mutex<()>>(
            |cell, lock| {
                cell.write();
                drop(lock.lock());
            },
            |cell, lock| {
                if lock.try_lock().is_err() {
                    cell.write();
                }
            },
        );
    });
    // main first, between lock and unlock, or last.
    assert_eq!(found, [(1, 3); 2]);
    is_clean(|| {
        two::<Mutex<bool>>(
            |cell, lock| {
                cell.write();
                *lock.lock().unwrap() = true;
            },
            |cell, lock| {
                if lock.try_lock().is_ok_and(|written| *written) {
                    cell.write();
                }
            },
        );
    });
}

#[test]
fn readers_and_writers() {
    is_clean(|| {
        two::<RwLock<()>>(
            |cell, lock| {
                let _held = lock.write();
                cell.write();
            },
            |cell, lock| {
                let _held = lock.read();
                cell.read();
            },
        );
    });
    is_racy(|| {
        two::<RwLock<()>>(
            |cell, lock| {
                let _held = lock.read();
                cell.write();
            },
            |cell, lock| {
                let _held = lock.read();
                cell.read();
            },
        );
    });
}

#[test]
fn a_reader_learns_nothing_from_another_reader() {
    let program = |writes: bool| {
        two::<(RwLock<()>, AtomicBool)>(
            move |cell, (lock, done)| {
                cell.write();
                let held = lock.read();
                done.store(true, Relaxed);
                drop(held);
            },
            move |cell, (lock, done)| {
                let is_done = || done.load(Relaxed);
                let done = match writes {
                    true => lock.write().map(|_held| is_done()).unwrap(),
                    false => lock.read().map(|_held| is_done()).unwrap(),
                };
                if done {
                    cell.write();
                }
            },
        );
    };
    is_clean(move || program(true));
    is_racy(move || program(false));
}

#[test]
fn conditions_only_order_by_their_lock() {
    is_clean(|| {
        two::<(Mutex<bool>, Condvar)>(
            |cell, (ready, changed)| {
                cell.write();
                *ready.lock().unwrap() = true;
                changed.notify_one();
            },
            |cell, (ready, changed)| {
                let guard = ready.lock().unwrap();
                drop(changed.wait_while(guard, |ready| !*ready).unwrap());
                cell.write();
            },
        );
    });
    // Under the lock there is nothing, so that only the notification says that the value is there.
    let checker = checker().timeouts(true);
    let found = races_in(&checker, || {
        two::<(Mutex<()>, Condvar)>(
            |cell, (_, changed)| {
                cell.write();
                changed.notify_one();
            },
            |cell, (lock, changed)| {
                let guard = lock.lock().unwrap();
                let (_guard, result) = changed.wait_timeout(guard, Duration::ZERO).unwrap();
                if !result.timed_out() {
                    cell.write();
                }
            },
        );
    });
    // Notified too early, in time, or too late.
    assert_eq!(found, [(1, 3); 2]);
}

#[test]
fn what_is_done_once_is_known_to_whoever_comes_later() {
    is_clean(|| {
        let shared = Arc::new((Shared::default(), Once::new()));
        let other = Arc::clone(&shared);
        let use_it = |(cell, once): &(Shared, Once)| {
            once.call_once(|| cell.write());
            cell.read();
        };
        let thread = thread::spawn(move || use_it(&other));
        use_it(&shared);
        thread.join().unwrap();
    });
    let program = |asks: bool| {
        two_with(
            Once::new(),
            |cell, once| once.call_once(|| cell.write()),
            move |cell, once| {
                if !asks || once.is_completed() {
                    cell.read();
                }
            },
        );
    };
    is_clean(move || program(true));
    is_racy(move || program(false));
    is_clean(|| {
        two_with(
            OnceLock::<u32>::new(),
            |cell, once| {
                cell.write();
                once.set(1).unwrap();
            },
            |cell, once| {
                if once.get().is_some() {
                    cell.write();
                }
            },
        );
    });
}

#[test]
fn lazy_values_and_statics() {
    static CELL: Shared = Shared(UnsafeCell::new(0));
    static LAZY: LazyLock<u32> = LazyLock::new(|| {
        CELL.write();
        CELL.read()
    });
    let program = |lazily: bool| {
        let thread = thread::spawn(|| *LAZY);
        if lazily {
            assert_eq!(*LAZY, 1);
        }
        CELL.read();
        assert_eq!(thread.join().unwrap(), 1);
    };
    is_clean(move || program(true));
    is_racy(move || program(false));
}

#[test]
fn barriers() {
    let program = |early: bool| {
        two_with(
            Barrier::new(2),
            |cell, barrier| {
                cell.write();
                barrier.wait();
            },
            move |cell, barrier| {
                if early {
                    cell.read();
                }
                barrier.wait();
                cell.read();
            },
        );
    };
    is_clean(move || program(false));
    is_racy(move || program(true));
}

#[test]
fn a_token_is_known_to_come_from_whoever_left_it() {
    let program = || {
        let main = thread::current();
        two_with(
            main,
            |cell, main| {
                cell.write();
                main.unpark();
            },
            |cell, _| {
                thread::park();
                cell.write();
            },
        );
    };
    is_clean(program);
    let disturbed = races_in(&checker().spurious_wakeups(true), program);
    // Who wakes up for no reason knows nothing. Whether the token is left is then the same.
    assert!(disturbed.iter().all(|(racy, _)| *racy > 0), "{disturbed:?}");
}

#[test]
fn semaphores() {
    is_clean(|| {
        two_with(
            Semaphore::new(0),
            |cell, permits| {
                cell.write();
                permits.release();
            },
            |cell, permits| {
                permits.acquire();
                cell.write();
            },
        );
    });
    is_racy(|| {
        let use_it = |cell: &Shared, permits: &Semaphore| {
            permits.acquire();
            cell.write();
            permits.release();
        };
        two_with(Semaphore::new(2), use_it, use_it);
    });
    // A release does not synchronize with an earlier acquire.
    is_racy(|| {
        two_with(
            (Semaphore::new(1), AtomicBool::new(false)),
            |cell, (permits, done)| {
                cell.write();
                permits.acquire();
                done.store(true, Relaxed);
            },
            |cell, (permits, done)| {
                if done.load(Relaxed) {
                    permits.release();
                    cell.write();
                }
            },
        );
    });
    // Of a binary one, it has waited for that.
    is_clean(|| {
        two_with(
            BinarySemaphore::new(true),
            |cell, permit| {
                cell.write();
                permit.acquire();
            },
            |cell, permit| {
                permit.release();
                cell.write();
            },
        );
    });
}

#[test]
fn monitors() {
    for discipline in [Discipline::SignalContinue, Discipline::SignalUrgent] {
        is_clean(move || {
            two_with(
                Monitor::new(discipline, 0),
                |cell, monitor| {
                    let _inside = monitor.enter();
                    cell.write();
                },
                |cell, monitor| {
                    let _inside = monitor.enter();
                    cell.write();
                },
            );
        });
        is_racy(move || {
            two_with(
                Monitor::new(discipline, 0),
                |cell, monitor| {
                    drop(monitor.enter());
                    cell.write();
                },
                |cell, monitor| {
                    let _inside = monitor.enter();
                    cell.write();
                },
            );
        });
    }
}

#[test]
fn what_threads_have_for_themselves() {
    raddle::thread_local! {
        static OWN: Shared = Shared::default();
    }
    is_clean(|| {
        let thread = thread::spawn(|| OWN.with(Shared::write));
        OWN.with(Shared::write);
        thread.join().unwrap();
    });
}

#[test]
fn who_has_the_last_handle_knows_what_the_others_did() {
    // The counts of std's handles are not visible; that main has the value alone is proof enough.
    is_clean(|| {
        let shared = Arc::new((Shared::default(), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        drop(thread::spawn(move || other.0.write()));
        if let Ok((cell, _)) = Arc::try_unwrap(shared) {
            cell.0.into_inner();
        }
    });
    is_clean(|| {
        let mut shared = Arc::new((Shared::default(), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        drop(thread::spawn(move || {
            other.0.write();
            other.1.store(1, Relaxed);
        }));
        if let Some((cell, flag)) = Arc::get_mut(&mut shared) {
            // What was done before the last use of the flag is known now.
            flag.get_mut();
            cell.read();
            cell.0.get_mut();
            cell.write();
        }
    });
    let tracked = |looks: bool| {
        let shared = TrackedArc::new(Shared::default());
        let other = TrackedArc::clone(&shared);
        let thread = thread::spawn(move || other.write());
        let mut shared = shared;
        if !looks {
            shared.write();
        } else if let Some(shared) = TrackedArc::get_mut(&mut shared) {
            shared.write();
        }
        thread.join().unwrap();
    };
    is_clean(move || tracked(true));
    is_racy(move || tracked(false));
}

#[test]
fn a_race_in_one_class_only_is_found() {
    // Both increments see the other's old value: one of the classes of two loads and two stores.
    let program = || {
        let add = |cell: &Shared, count: &AtomicU32| {
            let before = count.load(SeqCst);
            count.store(before + 1, SeqCst);
            before == 0 && {
                cell.write();
                true
            }
        };
        let shared = Arc::new((Shared::default(), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || add(&other.0, &other.1));
        add(&shared.0, &shared.1);
        thread.join().unwrap();
    };
    for (racy, classes) in races_in(&checker(), program) {
        // Either is before the other, or they overlap: then the stores come either way round.
        assert_eq!((racy, classes), (2, 4));
    }
    let report = Checker::new().strategy(Strategy::Random).run(program);
    assert_eq!(report.failures[0].kind, FailureKind::DataRace);
}

#[test]
fn a_cell_that_is_used_for_the_first_time_in_a_late_execution_is_watched_from_the_start() {
    // In the class that is run first, no thread touches the cell.
    let program = || {
        two::<AtomicU32>(
            |cell, flag| {
                if flag.load(SeqCst) == 1 {
                    cell.write();
                }
            },
            |cell, flag| {
                if flag.swap(1, SeqCst) == 0 {
                    cell.write();
                }
            },
        );
    };
    let found = races_in(&checker(), program);
    assert_eq!(found, [(1, 2); 2]);
}
