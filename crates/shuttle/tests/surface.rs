//! Shuttle's public names with raddle behind them.

use std::collections::{BTreeSet, HashSet};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex as StdMutex};
use std::task::Poll;

use shuttle::current;
use shuttle::future;
use shuttle::future::batch_semaphore::{Acquire, BatchSemaphore, Fairness, TryAcquireError};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler, Schedule,
    Scheduler, Task, TaskId, UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};
use shuttle::sync::atomic::{AtomicU128, AtomicUsize};
use shuttle::sync::{Mutex, mpsc};
use shuttle::thread;
use shuttle::{Config, FailurePersistence, MaxSteps, PortfolioRunner, Runner};

/// Two threads read a counter and write it back: one update may be lost.
fn lost_update() {
    let counter = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&counter);
    let thread = thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
    counter.store(counter.load(SeqCst) + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}

/// The same with one indivisible update in each thread.
fn correct_update() {
    let counter = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&counter);
    let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
    counter.fetch_add(1, SeqCst);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2);
}

/// Returns the message of the failure.
fn failure<R>(test: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(test)).err();
    let panic = panic.expect("the test fails");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast::<&str>().expect("a message").to_string(),
    }
}

/// Returns the text of the failure and the schedule that was written.
fn recorded(test: impl FnOnce(Config)) -> (String, String) {
    static NUMBER: StdAtomicUsize = StdAtomicUsize::new(0);
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, SeqCst));
    let directory = std::env::temp_dir().join(format!("raddle-shuttle-{process}-{number}"));
    std::fs::create_dir_all(&directory).unwrap();
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::File(Some(directory.clone()));
    let text = failure(|| test(config));
    let schedule = std::fs::read_to_string(directory.join("schedule000.txt")).unwrap();
    std::fs::remove_dir_all(directory).unwrap();
    (text, schedule)
}

fn schedulers() -> Vec<Box<dyn Scheduler + Send>> {
    vec![
        Box::new(RandomScheduler::new_from_seed(7, 100)),
        Box::new(PctScheduler::new_from_seed(7, 2, 100)),
        Box::new(UrwRandomScheduler::new_from_seed(7, 100)),
        Box::new(DfsScheduler::new(None, false)),
    ]
}

#[test]
fn every_scheduler_finds_the_lost_update_and_passes_the_correct_one() {
    for (mut wrong, right) in schedulers().into_iter().zip(schedulers()) {
        // Through the trait too, as a scheduler that wraps another one calls it.
        assert!(wrong.new_execution().is_some());
        assert!(
            failure(|| Runner::new(wrong, Config::new()).run(lost_update))
                .contains("an update was lost")
        );
        let executions = Runner::new(right, Config::new()).run(correct_update);
        assert!(executions > 1);
    }
}

/// A scheduler that stands for none of raddle's.
#[derive(Debug)]
struct Wrapped<S>(S);

impl<S: Scheduler> Scheduler for Wrapped<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }

    fn next_task(
        &mut self,
        tasks: &[&Task],
        current: Option<TaskId>,
        yields: bool,
    ) -> Option<TaskId> {
        assert!(!tasks.is_empty());
        self.0.next_task(tasks, current, yields)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[test]
fn schedulers_of_users_find_the_lost_update_and_are_replayed() {
    for scheduler in schedulers() {
        let run = |config| _ = Runner::new(Wrapped(scheduler), config).run(lost_update);
        let (text, schedule) = recorded(run);
        assert!(text.contains("an update was lost"), "{text}");
        let again = failure(|| shuttle::replay(lost_update, &schedule));
        assert!(again.contains("an update was lost"), "{again}");
    }
    for scheduler in schedulers() {
        assert!(Runner::new(Wrapped(scheduler), Config::new()).run(correct_update) > 1);
    }
}

/// The depth-first scheduler through the trait runs as many schedules as raddle's enumeration, an independent
/// implementation.
#[test]
fn both_enumerations_have_the_same_number_of_schedules() {
    let schedules = raddle::Checker::new()
        .strategy(raddle::Strategy::Enumerate)
        .memory(raddle::Memory::Sc);
    let own = schedules.run(correct_update).executions;
    let wrapped = Wrapped(DfsScheduler::new(None, false));
    let executions = Runner::new(wrapped, Config::new()).run(correct_update);
    assert_eq!(executions as u64, own);
}

#[test]
fn the_number_of_executions_is_the_one_asked_for() {
    let count = Arc::new(StdAtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let body = move || {
        counted.fetch_add(1, SeqCst);
        correct_update();
    };
    assert_eq!(
        Runner::new(RandomScheduler::new(25), Config::new()).run(body),
        25
    );
    assert_eq!(count.load(SeqCst), 25);
    assert_eq!(
        Runner::new(RandomScheduler::new(0), Config::new()).run(|| panic!("runs")),
        0
    );
    assert_eq!(
        Runner::new(DfsScheduler::new(Some(1), false), Config::new()).run(correct_update),
        1
    );
    assert_eq!(
        Runner::new(RoundRobinScheduler::new(4), Config::new()).run(correct_update),
        4
    );
}

#[test]
fn every_function_checks() {
    shuttle::check(correct_update);
    shuttle::check_random(correct_update, 20);
    shuttle::check_random_with_seed(correct_update, 1, 20);
    shuttle::check_pct(correct_update, 20, 3);
    shuttle::check_urw(correct_update, 20);
    shuttle::check_dfs(correct_update, None);
    shuttle::check_uncontrolled_nondeterminism(correct_update, 20);
    for check in [
        || shuttle::check_random_with_seed(lost_update, 1, 100),
        || shuttle::check_pct(lost_update, 200, 2),
        || shuttle::check_urw(lost_update, 200),
        || shuttle::check_dfs(lost_update, None),
    ] {
        assert!(failure(check).contains("an update was lost"));
    }
}

#[test]
fn uncontrolled_nondeterminism_is_found() {
    let runs = Arc::new(StdAtomicUsize::new(0));
    let body = move || {
        if runs.fetch_add(1, SeqCst) % 2 == 1 {
            thread::yield_now();
        }
    };
    let scheduler = UncontrolledNondeterminismCheckScheduler::new(RandomScheduler::new(10));
    let text = failure(|| Runner::new(scheduler, Config::new()).run(body));
    assert!(text.contains("possible nondeterminism"), "{text}");
}

#[test]
fn a_failure_is_written_as_the_configuration_says() {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    let text =
        failure(|| Runner::new(DfsScheduler::new(None, false), config.clone()).run(lost_update));
    let lost = "assertion `left == right` failed: an update was lost\n  left: 1\n right: 2";
    assert_eq!(text, lost);

    let directory = std::env::temp_dir().join(format!("raddle-shuttle-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    config.failure_persistence = FailurePersistence::File(Some(directory.clone()));
    let text = failure(|| Runner::new(DfsScheduler::new(None, false), config).run(lost_update));
    assert_eq!(text, lost);
    let path = directory.join("schedule000.txt");
    let again = failure(|| shuttle::replay_from_file(lost_update, &path));
    assert!(again.contains("an update was lost"), "{again}");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_schedule_of_shuttle_is_refused() {
    let text = failure(|| ReplayScheduler::new_from_encoded("91021000904092940400"));
    assert!(text.contains("invalid schedule"), "{text}");
}

/// In the order of creation: main creates 1, which waits until 2 has run.
#[test]
fn a_list_of_tasks_is_a_schedule() {
    let seen = Arc::new(StdMutex::new(Vec::new()));
    let order = Arc::clone(&seen);
    let body = move || {
        for task in 1..=2 {
            let order = Arc::clone(&order);
            thread::spawn(move || order.lock().unwrap().push(task));
        }
    };
    let schedule = Schedule::new_from_task_ids(0, [0, 0, 0, 2]);
    let mut scheduler = ReplayScheduler::new_from_schedule(schedule);
    scheduler.set_allow_incomplete();
    Runner::new(scheduler, Config::new()).run(body);
    assert_eq!(*seen.lock().unwrap(), [2]);
}

#[test]
fn steps_are_bounded() {
    let looped = |_| {
        let rounds = Arc::new(StdAtomicUsize::new(0));
        let counted = Arc::clone(&rounds);
        let body = move || {
            for _ in 0..100 {
                counted.fetch_add(1, SeqCst);
                thread::yield_now();
            }
        };
        (rounds, body)
    };
    let mut config = Config::new();
    config.max_steps = MaxSteps::ContinueAfter(50);
    let (rounds, body) = looped(());
    assert_eq!(
        Runner::new(RandomScheduler::new(10), config.clone()).run(body),
        10
    );
    assert_eq!(rounds.load(SeqCst), 500);

    config.max_steps = MaxSteps::FailAfter(50);
    let (_, body) = looped(());
    let text = failure(|| Runner::new(RandomScheduler::new(10), config.clone()).run(body));
    assert!(text.contains("exceeded max_steps bound 50"), "{text}");

    // Each round begins the count anew.
    let body = || {
        for _ in 0..100 {
            thread::yield_now();
            current::reset_step_count();
        }
    };
    assert_eq!(Runner::new(RandomScheduler::new(10), config).run(body), 10);
}

#[test]
fn a_portfolio_runs_all_and_fails_if_one_does() {
    let runs = Arc::new(StdAtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let mut portfolio = PortfolioRunner::new(true, Config::new());
    portfolio.add(RandomScheduler::new(10));
    portfolio.add(PctScheduler::new(2, 20));
    portfolio.run(move || {
        counted.fetch_add(1, SeqCst);
        correct_update();
    });
    assert_eq!(runs.load(SeqCst), 30);

    let mut portfolio = PortfolioRunner::new(true, Config::new());
    portfolio.add(DfsScheduler::new(None, false));
    portfolio.add(RandomScheduler::new(10));
    assert!(failure(|| portfolio.run(lost_update)).contains("an update was lost"));
}

#[test]
fn random_numbers_differ_between_executions_and_are_replayed() {
    let seen = Arc::new(StdMutex::new(HashSet::new()));
    let all = Arc::clone(&seen);
    shuttle::check_random_with_seed(
        move || {
            let threads: Vec<_> = (0..2)
                .map(|_| thread::spawn(|| thread_rng().r#gen::<u64>()))
                .collect();
            let drawn: Vec<u64> = threads.into_iter().map(|it| it.join().unwrap()).collect();
            assert_ne!(drawn[0], drawn[1]);
            all.lock().unwrap().extend(drawn);
        },
        3,
        100,
    );
    assert_eq!(seen.lock().unwrap().len(), 200);

    let draws = || assert!(thread_rng().r#gen_range(0..10) != 7, "seven");
    let scheduler = RandomScheduler::new_from_seed(3, 1_000);
    let (text, schedule) = recorded(|config| _ = Runner::new(scheduler, config).run(draws));
    assert_eq!(text, "seven");
    assert_eq!(failure(|| shuttle::replay(draws, &schedule)), "seven");
}

#[test]
fn random_numbers_of_a_depth_first_search_are_refused_or_the_same() {
    let draws = || _ = thread_rng().r#gen::<u64>();
    let text = failure(|| shuttle::check_dfs(draws, None));
    assert!(
        text.contains("requested random data from DFS scheduler"),
        "{text}"
    );

    let seen = Arc::new(StdMutex::new(BTreeSet::new()));
    let all = Arc::clone(&seen);
    let body = move || {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(1, SeqCst));
        flag.load(SeqCst);
        all.lock().unwrap().insert(thread_rng().r#gen::<u64>());
        thread.join().unwrap();
    };
    assert!(Runner::new(DfsScheduler::new(None, true), Config::new()).run(body) > 1);
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[test]
fn tasks_have_numbers_labels_and_names() {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Depth(u32);

    shuttle::check_dfs(
        || {
            assert_eq!(usize::from(current::me()), 0);
            current::set_label_for_task(current::me(), Depth(0));
            current::set_name_for_task(current::me(), "parent");
            assert_eq!(format!("{:?}", current::me()), "parent(0)");
            let thread = thread::spawn(|| {
                let inherited = current::get_label_for_task::<Depth>(current::me());
                current::set_label_for_task(current::me(), Depth(1));
                (usize::from(current::me()), inherited)
            });
            assert_eq!(usize::from(thread.thread().id()), 1);
            assert_eq!(thread.join().unwrap(), (1, Some(Depth(0))));
            let task = future::spawn(async { current::get_label_for_task::<Depth>(current::me()) });
            assert_eq!(future::block_on(task).unwrap(), Some(Depth(0)));
            let switches = current::context_switches();
            thread::yield_now();
            assert!(current::context_switches() > switches);
        },
        None,
    );
    assert_eq!(current::try_get_current_task(), None);
    assert!(failure(current::me).contains("`ExecutionState` is not set"));
}

/// The outcomes of a task that is aborted: it may have ended before.
#[test]
fn an_aborted_task_has_a_result_or_was_cancelled() {
    let seen = Arc::new(StdMutex::new(BTreeSet::new()));
    let all = Arc::clone(&seen);
    shuttle::check_dfs(
        move || {
            let task = future::spawn(async { 7 });
            task.abort_handle().abort();
            let result = future::block_on(task).map_err(|error| error.to_string());
            all.lock().unwrap().insert(result);
        },
        None,
    );
    let expected = [Ok(7), Err("task was cancelled".to_owned())];
    assert_eq!(*seen.lock().unwrap(), expected.into());
}

/// A detached task that waits for ever does not keep the test from ending, one whose handle is awaited does.
#[test]
fn a_detached_task_does_not_have_to_end() {
    shuttle::check_dfs(|| drop(future::spawn(std::future::pending::<()>())), None);
    let waits = || {
        drop(future::block_on(
            future::spawn(std::future::pending::<()>()),
        ))
    };
    assert!(failure(|| shuttle::check_dfs(waits, None)).contains("deadlock"));
}

#[test]
fn a_panic_of_a_task_fails_the_test() {
    let body = || {
        let task = future::spawn_local(async { panic!("oh no") });
        drop(future::block_on(task));
    };
    assert!(failure(|| shuttle::check_dfs(body, None)).contains("oh no"));
}

#[test]
fn a_fair_semaphore_serves_in_order_and_any_other_in_each_order() {
    for (fairness, orders) in [
        (Fairness::StrictlyFair, BTreeSet::from([vec![2, 1]])),
        (Fairness::Unfair, BTreeSet::from([vec![2, 1], vec![1, 2]])),
    ] {
        let seen = Arc::new(StdMutex::new(BTreeSet::new()));
        let all = Arc::clone(&seen);
        shuttle::check_dfs(
            move || {
                let semaphore = Arc::new(BatchSemaphore::new(0, fairness));
                let order = Arc::new(StdMutex::new(Vec::new()));
                let mut large = Box::pin(semaphore.acquire(2));
                let waker = std::task::Waker::noop();
                let mut context = std::task::Context::from_waker(waker);
                // The large request waits first.
                assert!(large.as_mut().poll(&mut context).is_pending());
                let (other, others) = (Arc::clone(&semaphore), Arc::clone(&order));
                let thread = thread::spawn(move || {
                    other.acquire_blocking(1).unwrap();
                    others.lock().unwrap().push(1);
                    other.release(1);
                });
                semaphore.release(2);
                future::block_on(large).unwrap();
                order.lock().unwrap().push(2);
                semaphore.release(2);
                thread.join().unwrap();
                assert_eq!(semaphore.available_permits(), 2);
                assert_eq!(semaphore.try_acquire(3), Err(TryAcquireError::NoPermits));
                semaphore.close();
                assert_eq!(semaphore.try_acquire(1), Err(TryAcquireError::Closed));
                all.lock().unwrap().insert(order.lock().unwrap().clone());
            },
            None,
        );
        assert_eq!(*seen.lock().unwrap(), orders, "{fairness:?}");
    }
}

/// A request outlives the task that has polled it first, and may have been polled by another one since.
#[test]
fn a_request_of_a_task_that_has_ended_keeps_no_permits() {
    shuttle::lazy_static! {
        static ref SEMAPHORE: BatchSemaphore = BatchSemaphore::new(0, Fairness::StrictlyFair);
    }
    type Request = Pin<Box<Acquire<'static>>>;
    async fn waits(request: &mut Request) -> bool {
        poll_fn(|context| Poll::Ready(request.as_mut().poll(context).is_pending())).await
    }
    for is_polled_again in [false, true] {
        shuttle::check_dfs(
            move || {
                let (sender, receiver) = mpsc::channel();
                let first = future::spawn(async move {
                    let mut request = Box::pin(SEMAPHORE.acquire(1));
                    assert!(waits(&mut request).await);
                    sender.send(request).unwrap();
                });
                let mut request: Request = receiver.recv().unwrap();
                if !is_polled_again {
                    future::block_on(first).unwrap();
                    SEMAPHORE.release(1);
                    assert_eq!(SEMAPHORE.available_permits(), 1);
                    future::block_on(request).unwrap();
                    assert_eq!(SEMAPHORE.available_permits(), 0);
                    return;
                }
                let (polled, is_polled) = mpsc::channel();
                let second = future::spawn(async move {
                    assert!(waits(&mut request).await);
                    polled.send(()).unwrap();
                    request.await.unwrap();
                });
                future::block_on(first).unwrap();
                is_polled.recv().unwrap();
                SEMAPHORE.release(1);
                future::block_on(second).unwrap();
            },
            None,
        );
    }
}

#[test]
fn atomics_of_128_bits_are_indivisible() {
    let seen = Arc::new(StdMutex::new(BTreeSet::new()));
    let all = Arc::clone(&seen);
    shuttle::check_dfs(
        move || {
            let wide = Arc::new(AtomicU128::new(0));
            let other = Arc::clone(&wide);
            let thread = thread::spawn(move || other.store(u128::MAX, SeqCst));
            all.lock().unwrap().insert(wide.load(SeqCst));
            thread.join().unwrap();
        },
        None,
    );
    assert_eq!(*seen.lock().unwrap(), [0, u128::MAX].into());
}

#[test]
fn statics_and_thread_locals_are_new_in_each_execution() {
    shuttle::lazy_static! {
        static ref COUNT: AtomicUsize = AtomicUsize::new(0);
    }
    shuttle::thread_local! {
        static LOCAL: std::cell::Cell<u32> = std::cell::Cell::new(3);
    }
    let runs = Runner::new(RandomScheduler::new(10), Config::new()).run(|| {
        let thread = thread::spawn(|| COUNT.fetch_add(1, SeqCst));
        COUNT.fetch_add(1, SeqCst);
        thread.join().unwrap();
        assert_eq!(COUNT.load(SeqCst), 2);
        assert_eq!(LOCAL.replace(4), 3);
    });
    assert_eq!(runs, 10);
}

/// Large values of a thread or task are moved to it, whatever stack that has.
#[test]
fn threads_and_tasks_may_have_large_values() {
    fn values<const N: usize>() {
        let values = [7_u8; N];
        let sum = move || values.iter().map(|&it| usize::from(it)).sum::<usize>();
        assert_eq!(thread::spawn(sum).join().unwrap(), 7 * N);
        let task = future::spawn(async move {
            future::yield_now().await;
            sum()
        });
        assert_eq!(future::block_on(task).unwrap(), 7 * N);
    }
    for test in [values::<8>, values::<900>, values::<1_000>, values::<4_000>] {
        shuttle::check_dfs(test, None);
    }
}

#[test]
fn scoped_threads_borrow() {
    shuttle::check_dfs(
        || {
            let counter = Mutex::new(0);
            thread::scope(|scope| {
                scope.spawn(|| *counter.lock().unwrap() += 1);
                *counter.lock().unwrap() += 1;
            });
            assert_eq!(counter.into_inner().unwrap(), 2);
        },
        None,
    );
}
