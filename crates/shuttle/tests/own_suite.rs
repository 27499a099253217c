//! Reasons why some of shuttle's own tests do not pass, each as in the tables of the book.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use shuttle::annotations::WithName;
#[cfg(feature = "vector-clocks")]
use shuttle::future::batch_semaphore::{BatchSemaphore, Fairness};
use shuttle::scheduler::{AnnotationScheduler, PctScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicBool, AtomicUsize};
use shuttle::sync::{Mutex, RwLock};
#[cfg(feature = "vector-clocks")]
use shuttle::sync::{atomic::AtomicU128, mpsc};
use shuttle::{Config, ContinuationFunctionBehavior, MaxSteps, Runner, current, future, thread};

/// Runs a test and returns the text of its failure.
fn failure(run: impl FnOnce()) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(run)).err()?;
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    Some(text.unwrap_or_else(|| *panic.downcast::<String>().expect("a text")))
}

/// A search sees no difference between schedules in which three tasks use a value of std's in another order.
#[test]
fn orders_of_values_of_std_may_be_left_out() {
    let orders = |check: fn(Box<dyn Fn() + Send + Sync>)| {
        let seen = Arc::new(StdMutex::new(BTreeSet::new()));
        let all = Arc::clone(&seen);
        check(Box::new(move || {
            let order = Arc::new(StdMutex::new(Vec::new()));
            let tasks = [0, 1, 2].map(|task| {
                let order = Arc::clone(&order);
                future::spawn(async move { order.lock().unwrap().push(task) })
            });
            for task in tasks {
                future::block_on(task).unwrap();
            }
            all.lock().unwrap().insert(order.lock().unwrap().clone());
        }));
        seen.lock().unwrap().len()
    };
    assert!(orders(|test| shuttle::check_dfs(test, None)) < 6);
    assert_eq!(
        orders(|test| shuttle::check_random_with_seed(test, 7, 1_000)),
        6
    );
}

#[test]
fn a_second_read_lock_of_a_thread_is_granted() {
    shuttle::check_dfs(
        || {
            let lock = RwLock::new(());
            let _first = lock.read().unwrap();
            assert!(lock.try_read().is_ok());
            drop(lock.read().unwrap());
        },
        None,
    );
}

#[test]
fn join_returns_the_panic_of_a_thread() {
    shuttle::check_dfs(
        || {
            let panic = thread::spawn(|| panic!("oh no")).join().unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"oh no"));
        },
        None,
    );
}

#[test]
fn priorities_need_no_second_task() {
    shuttle::check_pct(|| {}, 10, 2);
}

/// With the highest priority, the thread that sleeps would run for ever; the loop is recognised.
#[test]
fn a_loop_that_waits_by_sleeping_ends() {
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(50);
    Runner::new(PctScheduler::new_from_seed(7, 1, 100), config).run(|| {
        let count = Arc::new(AtomicUsize::new(0));
        for _ in 0..4 {
            let count = Arc::clone(&count);
            thread::spawn(move || count.fetch_add(1, SeqCst));
        }
        while count.load(SeqCst) < 4 {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Such a loop that no other task can end fails the test, before its steps are used up.
#[test]
fn a_loop_without_end_is_a_livelock() {
    let mut config = Config::new();
    config.max_steps = MaxSteps::ContinueAfter(20);
    let run = || {
        Runner::new(RandomScheduler::new_from_seed(7, 10), config).run(|| {
            let flag = AtomicBool::new(false);
            while !flag.load(SeqCst) {}
        });
    };
    let text = failure(run).expect("the test fails");
    assert!(text.starts_with("livelock"), "{text}");
}

/// The order of the locks is noticed in an execution without the deadlock.
#[test]
fn priorities_of_depth_one_find_a_deadlock_of_depth_two() {
    let run = || {
        Runner::new(PctScheduler::new_from_seed(7, 1, 100), Config::new()).run(|| {
            let locks = Arc::new((Mutex::new(()), Mutex::new(())));
            let other = Arc::clone(&locks);
            thread::spawn(move || {
                let _guards = (other.1.lock(), other.0.lock());
            });
            let _guards = (locks.0.lock(), locks.1.lock());
        });
    };
    assert!(failure(run).is_some_and(|text| text.contains("deadlock")));
}

/// A sleep is a step like any other, so a thread with a high priority sleeps and goes on (figure 5 of the paper on
/// PCT). About half of the executions have the order that random schedules do not find.
#[test]
fn a_sleep_does_not_lower_a_priority() {
    const EXECUTIONS: usize = 1_000;
    let first = |is_random: bool| {
        let count = Arc::new(StdAtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let test = move || {
            let lock = Arc::new(Mutex::new(false));
            let other = Arc::clone(&lock);
            thread::spawn(move || {
                for _ in 0..20 {
                    thread::sleep(Duration::from_millis(1));
                }
                *other.lock().unwrap() = true;
            });
            counted.fetch_add(usize::from(*lock.lock().unwrap()), SeqCst);
        };
        match is_random {
            true => shuttle::check_random_with_seed(test, 7, EXECUTIONS),
            false => {
                _ = Runner::new(PctScheduler::new_from_seed(7, 1, EXECUTIONS), Config::new())
                    .run(test)
            }
        }
        count.load(SeqCst)
    };
    // Five standard deviations of a binomial distribution with 1/2.
    assert!((421..=579).contains(&first(false)), "{}", first(false));
    assert_eq!(first(true), 0);
}

/// A failing execution is run again to make it shorter, so the test runs more often than it was asked to.
#[test]
fn a_failing_execution_is_run_again() {
    let runs = Arc::new(StdAtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let text = failure(|| {
        shuttle::check_random_with_seed(
            move || {
                counted.fetch_add(1, SeqCst);
                panic!("oh no");
            },
            7,
            1,
        );
    });
    assert_eq!(text.as_deref(), Some("oh no"));
    assert!(runs.load(SeqCst) > 1);
}

/// After a failure all tasks are unwound. A destructor that panics then ends the process, as it does in a thread that
/// panics without a check; the failure is printed first. Shuttle leaks the stacks of these tasks instead.
#[test]
fn a_destructor_that_panics_while_its_task_is_unwound_ends_the_process() {
    const VARIABLE: &str = "RADDLE_SHUTTLE_TEST_ABORTS";
    if std::env::var_os(VARIABLE).is_some() {
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                panic!("in the destructor");
            }
        }
        shuttle::check_dfs(
            || {
                let panics = Panics;
                thread::spawn(move || {
                    let _panics = panics;
                    thread::park();
                    thread::park();
                });
                thread::yield_now();
                panic!("oh no");
            },
            None,
        );
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let name = "a_destructor_that_panics_while_its_task_is_unwound_ends_the_process";
    child
        .args([name, "--exact", "--nocapture"])
        .env(VARIABLE, "1");
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), None, "{text}");
    assert!(text.contains("in the destructor"), "{text}");
}

/// The thread has panicked, and its handle was dropped, when the execution is cut.
#[test]
fn an_execution_that_is_cut_has_no_verdict() {
    let mut config = Config::new();
    config.max_steps = MaxSteps::ContinueAfter(30);
    Runner::new(RandomScheduler::new_from_seed(7, 10), config).run(|| {
        thread::spawn(|| panic!("oh no"));
        let count = AtomicUsize::new(0);
        loop {
            count.fetch_add(1, SeqCst);
        }
    });
}

/// A lock and its release are two events, as is each operation on an atomic.
#[test]
fn a_step_is_an_event() {
    shuttle::check_dfs(
        || {
            let (lock, atomic) = (Mutex::new(()), AtomicUsize::new(0));
            let before = current::context_switches();
            drop(lock.lock());
            atomic.fetch_add(1, SeqCst);
            assert_eq!(current::context_switches() - before, 3);
        },
        None,
    );
}

#[test]
fn some_settings_have_no_effect() {
    let mut config = Config::new();
    config.silence_warnings = true;
    config.record_steps_in_span = true;
    let shutdown = &mut config.ungraceful_shutdown_config;
    shutdown.immediately_return_on_panic = true;
    shutdown.continuation_function_behavior = ContinuationFunctionBehavior::Leak;
    let dropped = Arc::new(StdAtomicUsize::new(0));
    let count = Arc::clone(&dropped);
    let run = || {
        Runner::new(RandomScheduler::new_from_seed(7, 1), config).run(move || {
            struct Counts(Arc<StdAtomicUsize>);
            impl Drop for Counts {
                fn drop(&mut self) {
                    self.0.fetch_add(1, SeqCst);
                }
            }
            let counts = Counts(Arc::clone(&count));
            thread::spawn(move || drop(counts));
            panic!("oh no");
        });
    };
    assert_eq!(failure(run).as_deref(), Some("oh no"));
    // Shuttle leaks the function of a thread that has not begun.
    assert!(dropped.load(SeqCst) > 0);
}

#[test]
fn annotations_have_no_effect() {
    let scheduler = AnnotationScheduler::new(RandomScheduler::new_from_seed(7, 10));
    let executions = Runner::new(scheduler, Config::new()).run(|| {
        let lock = Mutex::new(1).with_name("lock").with_kind("kind");
        assert_eq!(*lock.lock().unwrap(), 1);
    });
    assert_eq!(executions, 10);
    assert_eq!(shuttle::ANNOTATION_FILE, "SHUTTLE_ANNOTATION_FILE");
    assert!(!std::path::Path::new("annotated.json").exists());
}

/// A thread is after the one that created it, and after the release of a lock that it has taken.
#[test]
fn clocks_need_a_feature() {
    shuttle::check_dfs(
        || {
            let lock = Arc::new(Mutex::new(false));
            let other = Arc::clone(&lock);
            let thread = thread::spawn(move || {
                let begin = current::clock();
                if cfg!(feature = "vector-clocks") {
                    assert!(begin.get(0) > 0 && begin.get(1) == 0, "{begin:?}");
                } else {
                    assert!(begin.is_empty(), "{begin:?}");
                }
                *other.lock().unwrap() = true;
                assert!(begin <= current::clock());
            });
            let is_locked = *lock.lock().unwrap();
            let knows = current::clock().get(1) > 0;
            assert_eq!(knows, is_locked && cfg!(feature = "vector-clocks"));
            thread.join().unwrap();
        },
        None,
    );
}

/// All calls on one semaphore and on one atomic of 128 bits are ordered, and the end of a channel is after the drop of
/// its last sender. The thread only looks, so shuttle has no order from it.
#[cfg(feature = "vector-clocks")]
#[test]
fn clocks_have_orders_that_shuttle_has_not() {
    let semaphore = || {
        let semaphore = Arc::new(BatchSemaphore::new(1, Fairness::StrictlyFair));
        let other = Arc::clone(&semaphore);
        thread::spawn(move || other.available_permits());
        semaphore.available_permits();
    };
    let atomic = || {
        let atomic = Arc::new(AtomicU128::new(0));
        let other = Arc::clone(&atomic);
        thread::spawn(move || other.load(SeqCst));
        atomic.load(SeqCst);
    };
    let channel = || {
        let (sender, receiver) = mpsc::channel::<()>();
        thread::spawn(move || drop(sender));
        receiver.recv().unwrap_err();
    };
    for (test, always) in [(semaphore as fn(), false), (atomic, false), (channel, true)] {
        let seen = Arc::new(StdMutex::new(BTreeSet::new()));
        let all = Arc::clone(&seen);
        let test = move || {
            test();
            all.lock().unwrap().insert(current::clock().get(1) > 0);
        };
        shuttle::check_dfs(test, None);
        let expected = match always {
            true => BTreeSet::from([true]),
            false => BTreeSet::from([false, true]),
        };
        assert_eq!(*seen.lock().unwrap(), expected);
    }
}

/// The first of 26 threads writes after all others in some of 10,000 random schedules.
#[test]
fn random_schedules_delay_a_thread_behind_many() {
    let found = Arc::new(StdAtomicUsize::new(0));
    let count = Arc::clone(&found);
    let test = move || {
        let last = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..26)
            .map(|number| {
                let last = Arc::clone(&last);
                thread::spawn(move || last.store(number, SeqCst))
            })
            .collect();
        threads.into_iter().for_each(|it| it.join().unwrap());
        count.fetch_add(usize::from(last.load(SeqCst) == 0), SeqCst);
    };
    shuttle::check_random_with_seed(test, 0, 10_000);
    assert!(found.load(SeqCst) > 0);
}
