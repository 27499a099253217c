//! Schedulers from outside raddle: is what they see complete, and what becomes of their mistakes?

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex as StdMutex;
use std::time::Duration;

use raddle::scheduler::{
    Capabilities, Choice, Ended, Finished, OperationKind, Randomness, Target, Thread, ThreadId,
    View,
};
use raddle::sync::atomic::{
    AtomicU32,
    Ordering::{Relaxed, SeqCst},
};
use raddle::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use raddle::{
    Checker, FailureKind, Guarantee, Memory, Metric, Metrics, Scheduler, Strategy, thread,
};

/// A checker that only searches, for as long as it takes.
fn checker() -> Checker {
    Checker::new()
        .max_executions(u64::MAX)
        .max_time(Duration::from_secs(3600))
        .shorten(false)
}

/// Two threads that each read a counter and then write it.
fn lost_update() {
    let counter = Arc::new(AtomicU32::new(0));
    let add = |counter: &AtomicU32| counter.store(counter.load(SeqCst) + 1, SeqCst);
    let other = Arc::clone(&counter);
    let thread = thread::spawn(move || add(&other));
    add(&counter);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}

/// Every schedule by backtracking: the numbers of alternatives of each step, and the one taken.
#[derive(Default)]
struct Backtrack {
    steps: Vec<(u32, u32)>,
    depth: usize,
    started: bool,
    seen: Arc<StdMutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    classes: BTreeSet<u64>,
    endings: BTreeMap<&'static str, u64>,
}

impl Scheduler for Backtrack {
    fn begin(&mut self) -> bool {
        self.depth = 0;
        if !std::mem::replace(&mut self.started, true) {
            return true;
        }
        while let Some((taken, all)) = self.steps.pop() {
            if taken + 1 < all {
                self.steps.push((taken + 1, all));
                return true;
            }
        }
        false
    }

    fn choose(&mut self, view: &View<'_>) -> Choice {
        let all = view.enabled().map(|thread| thread.outcomes()).sum();
        if self.depth == self.steps.len() {
            self.steps.push((0, all));
        }
        let (mut left, known) = self.steps[self.depth];
        assert_eq!(known, all, "the same prefix has the same alternatives");
        self.depth += 1;
        for thread in view.enabled() {
            match left.checked_sub(thread.outcomes()) {
                Some(rest) => left = rest,
                None => return thread.with_outcome(left),
            }
        }
        unreachable!("an alternative is below the number of all")
    }

    fn end(&mut self, finished: &Finished<'_>) {
        self.steps.truncate(self.depth);
        let ending = match finished.ended() {
            Ended::Complete => "complete",
            Ended::Deadlock => "deadlock",
            Ended::Discarded => "discarded",
            other => panic!("{other:?}"),
        };
        let mut seen = self.seen.lock().unwrap();
        *seen.endings.entry(ending).or_default() += 1;
        if ending != "discarded" {
            seen.classes.insert(finished.class());
        }
    }
}

/// The view has everything: backtracking over it runs exactly the schedules that the engine's own
/// enumeration runs, which the exhaustive search is compared with elsewhere.
#[track_caller]
fn runs_what_enumerate_runs(memory: Memory, program: impl Fn() + Send + Sync + Clone) {
    let settings = || checker().memory(memory).keep_going(true);
    let enumerated = settings()
        .strategy(Strategy::Enumerate)
        .run(program.clone());
    let seen = Arc::new(StdMutex::new(Seen::default()));
    let noted = Arc::clone(&seen);
    let scheduled = settings()
        .scheduler(move |_, _| Backtrack {
            seen: Arc::clone(&noted),
            ..Backtrack::default()
        })
        .run(program);
    assert!(enumerated.exhausted && enumerated.executions > 5);
    assert_eq!(scheduled.executions, enumerated.executions);
    assert_eq!(scheduled.discarded, enumerated.discarded);
    assert_eq!(scheduled.classes(), enumerated.classes());
    assert_eq!(scheduled.failures.len(), enumerated.failures.len());
    // It has run everything, but the engine cannot know that of a user's scheduler.
    assert!(!scheduled.exhausted);
    assert_eq!(scheduled.guarantee(), Guarantee::Sampled);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.classes.len() as u64, enumerated.classes());
    let all = enumerated.executions + enumerated.discarded;
    assert_eq!(seen.endings.values().sum::<u64>(), all);
}

#[test]
fn backtracking_runs_every_schedule_of_a_counter() {
    for memory in [Memory::Sc, Memory::Rc11] {
        runs_what_enumerate_runs(memory, lost_update);
    }
}

#[test]
fn backtracking_runs_every_schedule_of_weak_accesses() {
    runs_what_enumerate_runs(Memory::Rc11, || {
        let (x, y) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (first, second) = (Arc::clone(&x), Arc::clone(&y));
        let thread = thread::spawn(move || {
            first.store(1, Relaxed);
            second.load(Relaxed)
        });
        y.store(1, Relaxed);
        y.store(2, Relaxed);
        x.load(Relaxed);
        thread.join().unwrap();
    });
}

/// A weak access that only later executions perform, and that may read a stale value in the first of them.
#[test]
fn backtracking_sees_weak_accesses_that_come_late() {
    runs_what_enumerate_runs(Memory::Rc11, || {
        let (flag, data) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (flag_2, data_2) = (Arc::clone(&flag), Arc::clone(&data));
        let thread = thread::spawn(move || {
            flag_2.store(1, SeqCst);
            data_2.store(1, SeqCst);
        });
        if flag.load(SeqCst) == 1 {
            data.load(Relaxed);
        }
        thread.join().unwrap();
    });
}

#[test]
fn backtracking_runs_every_schedule_of_weak_compare_exchanges() {
    runs_what_enumerate_runs(Memory::Rc11, || {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        let thread = thread::spawn(move || {
            _ = other.compare_exchange_weak(0, 1, SeqCst, Relaxed);
        });
        _ = word.compare_exchange_weak(0, 2, SeqCst, Relaxed);
        thread.join().unwrap();
    });
}

#[test]
fn backtracking_runs_every_schedule_of_locks_that_deadlock() {
    runs_what_enumerate_runs(Memory::Sc, || {
        let locks = Arc::new((Mutex::new(()), RwLock::new(())));
        let other = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _first = other.0.lock().unwrap();
            let _second = other.1.write().unwrap();
        });
        let first = locks.1.read().unwrap();
        let second = locks.0.lock().unwrap();
        drop((first, second));
        thread.join().unwrap();
    });
}

#[test]
fn backtracking_runs_every_schedule_of_a_condition_variable() {
    runs_what_enumerate_runs(Memory::Sc, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let ready = pair.0.lock().unwrap();
        drop(pair.1.wait_while(ready, |ready| !*ready).unwrap());
        thread.join().unwrap();
    });
}

#[test]
fn backtracking_runs_every_schedule_of_messages_and_choices() {
    runs_what_enumerate_runs(Memory::Sc, || {
        let (sender, receiver) = mpsc::channel();
        let second = sender.clone();
        let thread = thread::spawn(move || second.send(raddle::choose(0..2_u32)).unwrap());
        sender.send(2).unwrap();
        drop(sender);
        let got: Vec<u32> = receiver.iter().collect();
        raddle::assume(got != [0, 2]);
        thread.join().unwrap();
    });
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % u64::from(bound)) as u32
    }
}

/// A uniform random walk as raddle's own is documented: a thread that has just begun, spawns or joins goes
/// on at once; at every other step all enabled threads are equally likely, and all outcomes.
struct Walk(Random);

impl Scheduler for Walk {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let last = view.events().last();
        let goes_on = last.and_then(|event| {
            let thread = view.thread(event.thread())?;
            let is_trivial = event.operation().kind() == OperationKind::Begin
                || matches!(thread.operation().label(), "spawn" | "join");
            let ends = thread.operation().kind() == OperationKind::End;
            (is_trivial && !ends && thread.outcomes() == 1).then_some(thread)
        });
        if let Some(thread) = goes_on {
            return thread.run();
        }
        let index = self.0.below(view.enabled().len() as u32);
        let thread = view.enabled().nth(index as usize).unwrap();
        thread.with_outcome(self.0.below(thread.outcomes()))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
            .randomness(Randomness::Independent)
            .reads_all_outcomes(false)
            .reads_repetitions(false)
    }
}

type Frequencies = BTreeMap<Vec<u32>, f64>;

fn frequencies(
    checker: Checker,
    executions: u64,
    program: impl Fn() -> Vec<u32> + Send + Sync,
) -> Frequencies {
    let counts = StdMutex::new(Frequencies::new());
    let report = checker.max_executions(executions).run(|| {
        let result = program();
        *counts.lock().unwrap().entry(result).or_default() += 1.0;
    });
    assert_eq!(report.executions, executions);
    counts.into_inner().unwrap()
}

/// Chi-square of the hypothesis that both samples, of the same size, have the same distribution, divided by
/// the degrees of freedom.
fn chi_square(one: &Frequencies, other: &Frequencies) -> f64 {
    let results: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let count = |of: &Frequencies, result| of.get(result).copied().unwrap_or(0.0);
    let terms = results.iter().map(|&result| {
        let (one, other) = (count(one, result), count(other, result));
        (one - other).powi(2) / (one + other)
    });
    terms.sum::<f64>() / (results.len() - 1) as f64
}

#[track_caller]
fn walks_like_random(
    memory: Memory,
    results: usize,
    program: impl Fn() -> Vec<u32> + Send + Sync + Copy,
) {
    const EXECUTIONS: u64 = 20_000;
    let settings = || checker().memory(memory).seed(11);
    let random = settings().strategy(Strategy::Random);
    let walk = settings().scheduler(|seed, _| Walk(Random(seed)));
    let random = frequencies(random, EXECUTIONS, program);
    let walk = frequencies(walk, EXECUTIONS, program);
    assert_eq!(random.len(), results);
    let difference = chi_square(&random, &walk);
    // With 8 degrees of freedom or more, one sample in 1,000 differs by more than 3.3.
    assert!(difference < 3.3, "{difference}: {random:?} {walk:?}");
}

/// Two threads take three numbers each: 20 orders, of which a random walk does not draw all equally often.
#[test]
fn a_random_walk_from_outside_has_the_distribution_of_the_one_inside() {
    walks_like_random(Memory::Sc, 20, || {
        let next = Arc::new(AtomicU32::new(0));
        let take =
            |next: &AtomicU32| -> Vec<u32> { (0..3).map(|_| next.fetch_add(1, SeqCst)).collect() };
        let others: Vec<_> = (0..2)
            .map(|_| {
                let next = Arc::clone(&next);
                thread::spawn(move || take(&next))
            })
            .collect();
        others
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect()
    });
}

/// Two threads write two values each and read the other's location: each of three values is possible, or two
/// stale ones.
#[test]
fn a_random_walk_from_outside_draws_stale_values_as_the_one_inside() {
    walks_like_random(Memory::Rc11, 9, || {
        let (x, y) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (x_2, y_2) = (Arc::clone(&x), Arc::clone(&y));
        let act = |mine: &AtomicU32, other: &AtomicU32| {
            mine.store(1, Relaxed);
            mine.store(2, Relaxed);
            other.load(Relaxed)
        };
        let first = thread::spawn(move || act(&x, &y));
        let second = thread::spawn(move || act(&y_2, &x_2));
        vec![first.join().unwrap(), second.join().unwrap()]
    });
}

/// One thread after the other, a step each.
struct RoundRobin;

impl Scheduler for RoundRobin {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let last = view.events().last().map(|event| event.thread());
        let later = view.enabled().find(|thread| Some(thread.id()) > last);
        later.or(view.enabled().next()).unwrap().run()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default().randomness(Randomness::None)
    }
}

#[test]
fn a_failure_is_minimised_replayed_and_covered() {
    let report = Checker::new()
        .scheduler(|_, _| RoundRobin)
        .coverage(Metrics::USUAL)
        .run(lost_update);
    let [failure] = &report.failures[..] else {
        panic!("{} failures", report.failures.len())
    };
    assert_eq!(failure.kind, FailureKind::Panic);
    assert_eq!(
        (failure.search.as_str(), failure.execution),
        ("RoundRobin", 1)
    );
    // Round robin preempts at every step; one preemption loses an update.
    let minimised = failure.minimised.as_ref().expect("it is minimised");
    assert_eq!(minimised.preemptions_after, 1);
    assert!(failure.critical.is_some());
    // Load after store and the other way round: the pairs that the lost update consists of.
    assert!(report.coverage().counts(Metric::DefUse).covered > 0);
    let replayed = Checker::new()
        .strategy(Strategy::Replay(failure.schedule.clone()))
        .run(lost_update);
    assert_eq!(replayed.failures[0].message, failure.message);
}

#[test]
fn a_program_without_failures_has_no_promise_but_that_of_a_sample() {
    let report = checker()
        .scheduler(|_, _| RoundRobin)
        .max_executions(20)
        .run(|| {});
    report.assert_ok();
    assert_eq!((report.executions, report.classes()), (20, 1));
    assert!(!report.exhausted);
    assert_eq!(report.guarantee(), Guarantee::Sampled);
    // Nothing is known of how it draws.
    assert!(report.unseen().is_none());
}

/// Ends after a number of executions, and remembers what it was made from.
struct Few(u32);

impl Scheduler for Few {
    fn begin(&mut self) -> bool {
        self.0 = self.0.wrapping_sub(1);
        self.0 != u32::MAX
    }

    fn choose(&mut self, view: &View<'_>) -> Choice {
        view.enabled().next().unwrap().run()
    }
}

#[test]
fn every_worker_has_its_own_scheduler_and_seed() {
    let made = Arc::new(StdMutex::new(BTreeMap::new()));
    let noted = Arc::clone(&made);
    let report = checker()
        .workers(3)
        .seed(7)
        .scheduler(move |seed, worker| {
            noted.lock().unwrap().insert(worker, seed);
            Few(10 * (worker as u32 + 1))
        })
        .run(|| thread::spawn(|| ()).join().unwrap());
    report.assert_ok();
    // Each ends by itself, whatever the others have left.
    assert_eq!(report.executions, 10 + 20 + 30);
    let made = made.lock().unwrap();
    assert_eq!(made.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(made[&0], 7);
    let seeds: BTreeSet<_> = made.values().collect();
    assert_eq!(seeds.len(), 3);
}

/// Chooses what it is told to.
struct Fixed<F>(F);

impl<F: FnMut(&View<'_>) -> Choice + Send> Scheduler for Fixed<F> {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        (self.0)(view)
    }
}

/// What a check panics with whose scheduler is this function.
#[track_caller]
fn stopped(workers: usize, choose: fn(&View<'_>) -> Choice) -> String {
    let run = || {
        checker()
            .workers(workers)
            .scheduler(move |_, _| Fixed(choose))
            .run(lost_update)
    };
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it stops");
    let message = panic.downcast_ref::<String>().expect("a text").clone();
    // The next check of the same thread is not affected.
    let report = checker()
        .strategy(Strategy::Exhaustive)
        .keep_going(true)
        .run(lost_update);
    assert!(report.exhausted);
    // Lines of this file may change.
    let place = message.find(file!()).map(|start| start + file!().len());
    let cut = |from: usize| from + message[from..].find([')', '\n']).unwrap();
    match place {
        Some(from) => message[..from].to_owned() + &message[cut(from)..],
        None => message,
    }
}

fn main_thread(outcome: u32) -> Choice {
    Choice {
        thread: ThreadId::MAIN,
        outcome,
    }
}

#[test]
fn a_thread_that_is_blocked_cannot_be_chosen() {
    // main begins, spawns, loads, stores, and then waits for the other, which has not begun.
    let expected = "raddle: the scheduler Fixed chose thread main, which is blocked\n\
                    after 4 events; enabled are:\n  main.1 (begin at ";
    let message = stopped(1, |_| main_thread(0));
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_thread_that_has_ended_cannot_be_chosen() {
    let message = stopped(1, |view| {
        let is_over = view.events().iter().any(|event| {
            event.operation().kind() == OperationKind::End && event.thread() != ThreadId::MAIN
        });
        match view.enabled().next_back() {
            Some(last) if !is_over => last.run(),
            _ => Choice {
                thread: ThreadId::new(1),
                outcome: 0,
            },
        }
    });
    let expected = "raddle: the scheduler Fixed chose thread main.1, which has ended\n";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_thread_that_does_not_exist_cannot_be_chosen() {
    let message = stopped(1, |_| Choice {
        thread: ThreadId::new(9),
        outcome: 0,
    });
    assert_eq!(
        message,
        format!(
            "raddle: the scheduler Fixed chose thread number 9, which does not exist\nafter 0 \
             events; enabled are:\n  main (begin at {})",
            file!()
        )
    );
}

#[test]
fn an_outcome_that_does_not_exist_cannot_be_chosen() {
    let message = stopped(1, |_| main_thread(1));
    let expected = "raddle: the scheduler Fixed chose outcome 1 of `begin` of thread main, which has \
                    outcomes 0 to 0\nafter 0 events; enabled are:\n  main (begin at ";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_scheduler_that_panics_stops_the_check_with_its_own_words() {
    let message = stopped(1, |view| match view.events().len() {
        3 => panic!("no idea"),
        _ => view.enabled().next().unwrap().run(),
    });
    assert_eq!(message, "raddle: the scheduler Fixed panicked: no idea");
}

#[test]
fn a_mistake_of_one_worker_stops_all() {
    let message = stopped(2, |_| main_thread(7));
    assert!(message.contains("chose outcome 7 of `begin`"), "{message}");
}

/// Everything that a view says of one step of a known program.
#[test]
fn a_view_names_operations_objects_and_places() {
    let told = Arc::new(StdMutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    let line = line!() + 10;
    let report = checker()
        .max_executions(1)
        .scheduler(move |_, _| {
            let noted = Arc::clone(&noted);
            Fixed(move |view: &View<'_>| describe(view, &noted))
        })
        .run(move || {
            let value = Arc::new(AtomicU32::new(0));
            raddle::label!("value", &*value);
            value.store(1, Relaxed);
            let lock = Mutex::new(());
            drop(lock.lock().unwrap());
        });
    report.assert_ok();
    let told = told.lock().unwrap();
    let file = file!();
    let place = |line: u32, column: u32| format!("{file}:{line}:{column}");
    let (store, lock) = (line, line + 2);
    let expected = [
        (
            "Store",
            "store",
            Some(Target::Location(0)),
            Some("value"),
            place(store, 19),
        ),
        (
            "Call",
            "lock",
            Some(Target::Object(0)),
            Some("Mutex"),
            place(lock, 23),
        ),
    ];
    for (kind, label, target, name, place) in expected {
        let text = format!("{kind} {label} {target:?} {name:?} {place}");
        assert!(told.contains(&text), "{text} is not in {told:#?}");
    }
    assert!(told[0].starts_with("Begin begin None None "), "{told:#?}");
    assert!(
        told.last().unwrap().starts_with("End end None None "),
        "{told:#?}"
    );
}

fn describe(view: &View<'_>, told: &StdMutex<Vec<String>>) -> Choice {
    // A type of raddle's is std's own here.
    let guard = Mutex::new(1);
    assert_eq!(*guard.lock().unwrap(), 1);
    let only: Vec<Thread<'_>> = view.enabled().collect();
    let [thread] = only[..] else {
        panic!("{only:?}")
    };
    assert_eq!((thread.path().as_str(), view.thread_count()), ("main", 1));
    assert!(!thread.preempts() && view.preemptions() == 0);
    let operation = thread.operation();
    told.lock().unwrap().push(format!(
        "{:?} {} {:?} {:?} {}",
        operation.kind(),
        operation.label(),
        operation.target(),
        operation.target_name().as_deref(),
        operation.location().unwrap()
    ));
    thread.run()
}
