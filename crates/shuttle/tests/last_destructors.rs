//! Destructors that run when an execution ends before its detached tasks: they may do all that the program does, and a
//! failure of one fails the test.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering::SeqCst};

use shuttle::future::JoinError;
use shuttle::scheduler::RandomScheduler;
use shuttle::sync::atomic::AtomicBool;
use shuttle::sync::{Condvar, Mutex, RwLock, mpsc};
use shuttle::{Config, MaxSteps, Runner, current, future, thread};

const EXECUTIONS: usize = 100;

/// Calls a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Starts a task that is left with a value whose destructor is `last`, and returns when the task has the value. It
/// waits for ever, between two polls or in the middle of one.
fn leave(waits_in_poll: bool, last: impl FnMut() + 'static) {
    let (begun, begins) = mpsc::channel();
    drop(future::spawn_local(async move {
        let _last = OnDrop(last);
        begun.send(()).unwrap();
        if waits_in_poll {
            let (_sender, receiver) = mpsc::channel::<()>();
            let _ = receiver.recv();
        }
        std::future::pending::<()>().await;
    }));
    begins.recv().unwrap();
}

/// Checks with random schedules, and expects each execution to call the function that the test gets `ends` times.
fn ends(ends: usize, test: impl Fn(Arc<dyn Fn() + Send + Sync>) + Send + Sync + 'static) {
    let count = Arc::new(StdAtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let end: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        counted.fetch_add(1, SeqCst);
    });
    shuttle::check_random_with_seed(move || test(Arc::clone(&end)), 7, EXECUTIONS);
    assert_eq!(count.load(SeqCst), ends * EXECUTIONS);
}

/// Returns the text of the failure.
fn failure(max_steps: MaxSteps, test: impl Fn() + Send + Sync + 'static) -> String {
    let mut config = Config::new();
    config.max_steps = max_steps;
    let run = || Runner::new(RandomScheduler::new_from_seed(7, 3), config).run(test);
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("the test fails");
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.unwrap_or_else(|| *panic.downcast::<String>().expect("a text"))
}

#[test]
fn destructors_use_locks_channels_and_tasks() {
    for waits_in_poll in [false, true] {
        ends(1, move |end| {
            let (mutex, lock) = (Mutex::new(0), RwLock::new(0));
            let (sender, receiver) = mpsc::channel();
            let me = Arc::new(StdAtomicUsize::new(0));
            let task = Arc::clone(&me);
            leave(waits_in_poll, move || {
                *mutex.lock().unwrap() += 1;
                *lock.write().unwrap() += 1;
                assert_eq!(*mutex.lock().unwrap() + *lock.read().unwrap(), 2);
                sender.send(7).unwrap();
                assert_eq!(receiver.try_recv(), Ok(7));
                assert_eq!(usize::from(current::me()), task.load(SeqCst));
                let before = current::context_switches();
                thread::yield_now();
                assert!(current::context_switches() > before);
                end();
            });
            me.store(1, SeqCst);
        });
    }
}

/// One destructor waits for the lock that another task holds, whichever is dropped first.
#[test]
fn a_lock_of_a_task_that_is_left_is_released() {
    for is_holder_first in [false, true] {
        ends(1, move |end| {
            let mutex = Arc::new(Mutex::new(()));
            let hold = |mutex: Arc<Mutex<()>>| {
                let (begun, begins) = mpsc::channel();
                drop(future::spawn_local(async move {
                    let _guard = mutex.lock().unwrap();
                    begun.send(()).unwrap();
                    std::future::pending::<()>().await;
                }));
                begins.recv().unwrap();
            };
            if is_holder_first {
                hold(Arc::clone(&mutex));
            }
            let (theirs, end) = (Arc::clone(&mutex), Arc::clone(&end));
            leave(false, move || {
                drop(theirs.lock().unwrap());
                end();
            });
            if !is_holder_first {
                hold(mutex);
            }
        });
    }
}

/// A task whose send is blocked is unwound, and another destructor waits for that by yielding.
#[test]
fn a_destructor_waits_by_yielding_until_a_blocked_sender_is_gone() {
    ends(1, |end| {
        let (sender, receiver) = mpsc::sync_channel(1);
        sender.send(1).unwrap();
        let blocked = sender.clone();
        let (begun, begins) = mpsc::channel();
        let task = future::spawn_local(async move {
            begun.send(()).unwrap();
            let _ = blocked.send(2);
        });
        let task = task.abort_handle();
        begins.recv().unwrap();
        leave(false, move || {
            while !task.is_finished() {
                thread::yield_now();
            }
            assert_eq!(receiver.try_recv(), Ok(1));
            assert_eq!(sender.try_send(3), Ok(()));
            assert_eq!(receiver.try_recv(), Ok(3));
            end();
        });
    });
}

/// A task that waits on a condition variable is unwound, and its destructor notifies that.
#[test]
fn a_destructor_notifies_the_condition_that_its_task_waited_for() {
    ends(1, |end| {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let (begun, begins) = mpsc::channel();
        drop(future::spawn_local(async move {
            let notified = Arc::clone(&shared);
            let _last = OnDrop(move || {
                notified.1.notify_all();
                notified.1.notify_one();
                end();
            });
            let guard = shared.0.lock().unwrap();
            begun.send(()).unwrap();
            let _guard = shared.1.wait(guard).unwrap();
            std::future::pending::<()>().await;
        }));
        begins.recv().unwrap();
    });
}

/// Nothing that a destructor starts runs, but it is dropped, and its handle says so.
#[test]
fn tasks_that_a_destructor_starts_are_cancelled() {
    ends(2, |end| {
        leave(false, move || {
            let end = Arc::clone(&end);
            let dropped = OnDrop({
                let end = Arc::clone(&end);
                move || end()
            });
            let task = future::spawn_local(async move {
                let _dropped = dropped;
                unreachable!("no task runs any more");
            });
            assert!(matches!(future::block_on(task), Err(JoinError::Cancelled)));
            assert!(thread::spawn(|| {}).join().is_err());
            end();
        });
    });
}

#[test]
fn a_task_that_waits_for_ever_and_has_no_destructor_is_no_failure() {
    shuttle::check_random_with_seed(
        || {
            for waits_in_poll in [false, true] {
                leave(waits_in_poll, || ());
            }
        },
        7,
        EXECUTIONS,
    );
}

#[test]
fn a_panic_of_a_destructor_fails_the_test() {
    let text = failure(MaxSteps::None, || leave(false, || panic!("oh no")));
    assert_eq!(text, "oh no");
    // Where the task is unwound, the panic would end the process, so none is tried here.
}

/// A detached task that panics releases a lock while it unwinds, and the execution may end at that moment. Its panic
/// fails the test whenever it has begun.
#[test]
fn no_panic_of_a_detached_task_is_lost() {
    let mut failures = 0;
    for seed in 0..40 {
        // The first execution decides; a failing one is run again.
        let first = Arc::new(StdAtomicUsize::new(0));
        let state = Arc::clone(&first);
        let run = || {
            let test = move || {
                let (state, lock) = (Arc::clone(&state), Arc::new(Mutex::new(())));
                let is_first = state.fetch_or(1, SeqCst) & 1 == 0;
                drop(future::spawn(async move {
                    let _guard = lock.lock().unwrap();
                    state.fetch_or(if is_first { 2 } else { 0 }, SeqCst);
                    panic!("oh no");
                }));
                thread::yield_now();
                thread::yield_now();
            };
            shuttle::check_random_with_seed(test, seed, 1);
        };
        let has_failed = catch_unwind(AssertUnwindSafe(run)).is_err();
        assert_eq!(has_failed, first.load(SeqCst) & 2 != 0, "seed {seed}");
        failures += usize::from(has_failed);
    }
    assert!((1..40).contains(&failures), "{failures}");
}

#[test]
fn destructors_that_wait_for_ever_fail_the_test() {
    let text = failure(MaxSteps::None, || {
        let (sender, receiver) = mpsc::channel::<()>();
        leave(false, move || {
            let _ = (receiver.recv(), &sender);
        });
    });
    let headline =
        "deadlock while dropping the tasks that were unfinished at the end of the execution";
    assert!(text.starts_with(headline), "{text}");
    assert!(text.contains("main.1 waits at"), "{text}");
}

#[test]
fn the_destructor_of_a_static_that_waits_for_ever_fails_the_test() {
    shuttle::lazy_static! {
        static ref LEFT: Mutex<Option<OnDrop<Box<dyn FnMut() + Send>>>> = Mutex::new(None);
    }
    let text = failure(MaxSteps::None, || {
        let (sender, receiver) = mpsc::channel::<()>();
        let receiver = Mutex::new(receiver);
        let waits = move || {
            let _ = (receiver.lock().unwrap().recv(), &sender);
        };
        *LEFT.lock().unwrap() = Some(OnDrop(Box::new(waits)));
    });
    assert!(text.contains("A static's destructor"), "{text}");
}

/// Both a loop and tasks that start further ones.
#[test]
fn destructors_without_end_fail_the_test() {
    let headline = "a task exceeded the step bound (1000) while it was being dropped at the end of the execution";
    let text = failure(MaxSteps::FailAfter(1_000), || {
        let flag = AtomicBool::new(false);
        leave(false, move || {
            while !flag.load(SeqCst) {
                thread::yield_now();
            }
        });
    });
    assert!(text.starts_with(headline), "{text}");
    fn start_another() {
        let another = OnDrop(start_another);
        drop(future::spawn_local(async move {
            let _another = another;
        }));
    }
    let text = failure(MaxSteps::FailAfter(1_000), || leave(false, start_another));
    assert!(text.starts_with(headline), "{text}");
}

#[test]
fn a_scoped_thread_of_a_destructor_fails_the_test() {
    let text = failure(MaxSteps::None, || {
        leave(false, || {
            thread::scope(|scope| {
                scope.spawn(|| ());
            });
        });
    });
    assert!(
        text.starts_with("a destructor spawned a scoped thread"),
        "{text}"
    );
}

/// Labels are dropped as their tasks, in the order of those.
#[test]
fn labels_are_dropped_as_their_tasks() {
    #[derive(Clone, Debug)]
    struct Label(usize, Arc<std::sync::Mutex<Vec<usize>>>);

    impl Drop for Label {
        fn drop(&mut self) {
            assert_eq!(usize::from(current::me()), self.0);
            self.1.lock().unwrap().push(self.0);
        }
    }

    let dropped = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&dropped);
    shuttle::check_random_with_seed(
        move || {
            let label = |log: &Arc<_>| {
                let log = Arc::clone(log);
                move || {
                    let me = current::me();
                    current::set_label_for_task(me, Label(me.into(), log));
                }
            };
            let threads = [0; 4].map(|_| thread::spawn(label(&log)));
            threads.into_iter().for_each(|it| it.join().unwrap());
            assert!(log.lock().unwrap().len() % 4 == 0);
        },
        7,
        3,
    );
    let dropped = dropped.lock().unwrap();
    assert_eq!(*dropped, [1, 2, 3, 4].repeat(3));
}
