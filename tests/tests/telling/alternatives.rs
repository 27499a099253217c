//! Directed runs: the worked examples of "Choosing Among Alternative Futures" (MacDonald, Chen and
//! Novillo), alternatives that are impossible, and alternatives that make no sense.

use std::collections::BTreeMap;
use std::sync::Mutex as Plain;

use raddle::sync::atomic::AtomicU32;
use raddle::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use raddle::{Alternative, Checker, FailureKind, Guarantee, Report, Strategy, thread};

/// Starts a thread with a name.
fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(body).unwrap()
}

fn directed(alternative: &Alternative, body: impl Fn() + Send + Sync) -> Report {
    Checker::new()
        .strategy(Strategy::Directed(alternative.clone()))
        .run(body)
}

/// Runs one alternative; what the program says it saw.
fn outcome<T: Clone + Send>(
    alternative: &str,
    program: impl Fn(&(dyn Fn(T) + Sync)) + Send + Sync,
) -> (Report, Option<T>) {
    let seen = Plain::new(None);
    let report = directed(&alternative.parse().unwrap(), || {
        program(&|value| *seen.lock().unwrap() = Some(value));
    });
    let seen = seen.into_inner().unwrap();
    let seen = seen.filter(|_| report.executions == 1);
    (report, seen)
}

/// The terms of a receive, without the receive.
fn terms(point: (&str, &str, u32), program: impl Fn() + Send + Sync) -> Vec<String> {
    let (thread, thing, occurrence) = point;
    let alternatives = Checker::new().alternatives(program);
    assert!(alternatives.report.exhausted);
    let terms = alternatives.of(thread, thing, occurrence).iter();
    let start = format!("{thread} {thing} {occurrence} sees ");
    terms
        .map(|term| term.to_string().strip_prefix(&start).unwrap().to_owned())
        .collect()
}

/// A thread makes the number 0, another one makes it 6 and meets a third, which divides by it.
fn example_1() {
    let n = Arc::new(AtomicU32::new(1));
    let barrier = Arc::new(Barrier::new(2));
    let (short, long, meet) = (n.clone(), n.clone(), barrier.clone());
    spawn("short", move || short.store(0, SeqCst));
    spawn("long", move || {
        long.store(6, SeqCst);
        meet.wait();
    });
    spawn("user", move || {
        barrier.wait();
        assert_eq!(42 / n.load(SeqCst), 7);
    });
}

#[test]
fn example_1_has_two_alternatives_and_takes_two_runs() {
    let terms = terms(("user", "n", 0), example_1);
    // The barrier is in between, so the initial value is none of them.
    assert_eq!(terms, ["long n 0", "short n 0"]);
    let mut runs = 0;
    let mut kinds = Vec::new();
    for term in terms {
        let alternative = format!("user n 0 sees {term}").parse().unwrap();
        let report = directed(&alternative, example_1);
        runs += report.executions + report.attempts;
        kinds.push(report.failures.first().map(|failure| failure.kind));
        let message = report.failures.first().map(|failure| &failure.message[..]);
        assert!(
            message.is_none_or(|message| message.contains("divide by zero")),
            "{report}"
        );
        assert_eq!(report.guarantee(), Guarantee::Directed);
    }
    assert_eq!(runs, 2);
    assert_eq!(kinds, [None, Some(FailureKind::Panic)]);
    let early = "user n 0 sees initial".parse().unwrap();
    assert!(directed(&early, example_1).impossible());
}

/// Four threads add one to a number each, a fifth sums up without waiting for them.
fn example_2(sum: &(dyn Fn(u32) + Sync)) {
    let n0 = Arc::new(AtomicU32::new(0));
    let n1 = Arc::new(AtomicU32::new(0));
    let n2 = Arc::new(AtomicU32::new(0));
    let n3 = Arc::new(AtomicU32::new(0));
    let all = [n0, n1, n2, n3];
    let mut threads = Vec::new();
    for (k, n) in all.iter().enumerate() {
        let n = n.clone();
        threads.push(spawn(&format!("add{k}"), move || {
            n.store(n.load(SeqCst) + 1, SeqCst);
        }));
    }
    sum(all.iter().map(|n| n.load(SeqCst)).sum());
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn example_2_takes_4_targeted_and_16_exhaustive_runs() {
    let alternatives = Checker::new().alternatives(|| example_2(&|_| ()));
    let summands: Vec<_> = (0..4)
        .map(|k| alternatives.of("main", &format!("n{k}"), 0).to_vec())
        .collect();
    assert!(
        summands.iter().all(|terms| terms.len() == 2),
        "{summands:?}"
    );
    let mut runs = 0;
    // One number is changed before it is read.
    for changed in 0..4 {
        let of = |(k, terms): (usize, &Vec<raddle::AlternativeChoice>)| {
            vec![terms[usize::from(k == changed)].clone()]
        };
        let [alternative] = &Alternative::combinations(summands.iter().enumerate().map(of))[..]
        else {
            panic!("one of each");
        };
        let (report, sum) = outcome(&alternative.to_string(), example_2);
        runs += report.executions + report.attempts;
        assert_eq!(sum, Some(1), "{alternative}");
    }
    assert_eq!(runs, 4);
    let mut sums = BTreeMap::<u32, u32>::new();
    for alternative in Alternative::combinations(summands) {
        let (report, sum) = outcome(&alternative.to_string(), example_2);
        assert_eq!(
            (report.executions, report.attempts),
            (1, 0),
            "{alternative}"
        );
        *sums.entry(sum.unwrap()).or_default() += 1;
    }
    assert_eq!(
        sums.into_iter().collect::<Vec<_>>(),
        [(0, 1), (1, 4), (2, 6), (3, 4), (4, 1)]
    );
}

/// A value that is overwritten before the lock is released is not read by another holder of it.
fn figure_2() {
    let a = Arc::new(AtomicU32::new(0));
    let lock = Arc::new(Mutex::new(()));
    let (one, its_lock) = (a.clone(), lock.clone());
    spawn("one", move || {
        let _guard = its_lock.lock();
        one.store(1, SeqCst);
        one.store(2, SeqCst);
    });
    let (other, its_lock) = (a.clone(), lock.clone());
    spawn("other", move || {
        let _guard = its_lock.lock();
        other.store(3, SeqCst);
    });
    spawn("reader", move || {
        let _guard = lock.lock();
        a.load(SeqCst);
    });
}

#[test]
fn figure_2_has_no_term_that_the_lock_hides() {
    let found = terms(("reader", "a", 0), figure_2);
    assert_eq!(found, ["initial", "one a 1", "other a 0"]);
    let hidden = "reader a 0 sees one a 0".parse().unwrap();
    let report = directed(&hidden, figure_2);
    assert!(report.impossible(), "{report}");
    let message = &report.failures[0].message;
    assert!(message.contains("takes its place"), "{message}");
}

/// Two numbers that are written together, by two threads, and read together by one of them.
fn figure_7(print: &(dyn Fn((u32, u32)) + Sync)) {
    let a = Arc::new(AtomicU32::new(0));
    let b = Arc::new(AtomicU32::new(0));
    let lock = Arc::new(Mutex::new(()));
    let (other_a, other_b, its_lock) = (a.clone(), b.clone(), lock.clone());
    let one = spawn("one", move || {
        let _guard = its_lock.lock();
        other_a.store(1, SeqCst);
        other_b.store(1, SeqCst);
    });
    {
        let _guard = lock.lock();
        a.store(2, SeqCst);
        b.store(2, SeqCst);
    }
    {
        let _guard = lock.lock();
        let seen = a.load(SeqCst);
        let z = if seen == 1 { b.load(SeqCst) } else { 0 };
        print((seen, z));
    }
    one.join().unwrap();
}

#[test]
fn figure_7_accepts_what_the_lock_allows_and_refuses_the_rest_with_the_reason() {
    let (_, seen) = outcome("main a 0 sees one a 0; main b 0 sees one b 0", figure_7);
    assert_eq!(seen, Some((1, 1)));
    let (_, seen) = outcome("main a 0 sees main a 0", figure_7);
    assert_eq!(seen, Some((2, 0)));
    let (report, seen) = outcome("main a 0 sees one a 0; main b 0 sees main b 0", figure_7);
    assert_eq!(seen, None);
    assert!(report.impossible());
    let message = &report.failures[0].message;
    let order: Vec<&str> = message
        .lines()
        .filter(|line| line.starts_with("  "))
        .map(|line| line.trim().split(" (").next().unwrap())
        .collect();
    assert_eq!(
        order,
        [
            "main: store 2 to b",
            "main: unlock lock",
            "one: lock lock",
            "one: store 1 to b",
            "one: unlock lock",
            "main: lock lock",
            "main: load b = 1",
        ]
    );
    assert!(
        message.starts_with("`main b 0` cannot see `main b 0`\nno execution does that;"),
        "{message}"
    );
}

/// Writes b and then a, three times; another thread reads a and then b.
fn figure_8(locked: bool, print: &(dyn Fn((u32, u32)) + Sync)) {
    let a = Arc::new(AtomicU32::new(1));
    let b = Arc::new(AtomicU32::new(1));
    let lock = Arc::new(Mutex::new(()));
    let (its_a, its_b, its_lock) = (a.clone(), b.clone(), lock.clone());
    let writer = spawn("writer", move || {
        let _guard = locked.then(|| its_lock.lock());
        let (mut a, mut b) = (1, 1);
        for _ in 0..3 {
            (a, b) = (a * 2, a + b);
            its_b.store(b, SeqCst);
            its_a.store(a, SeqCst);
        }
    });
    {
        let _guard = locked.then(|| lock.lock());
        print((a.load(SeqCst), b.load(SeqCst)));
    }
    writer.join().unwrap();
}

#[test]
fn figure_8_goes_by_occurrence() {
    let locked = terms(("main", "a", 0), || figure_8(true, &|_| ()));
    assert_eq!(locked, ["initial", "writer a 2"]);
    let unlocked = terms(("main", "a", 0), || figure_8(false, &|_| ()));
    let all = ["initial", "writer a 0", "writer a 1", "writer a 2"];
    assert_eq!(unlocked, all);
    let (a_values, b_values) = ([1, 2, 4, 8], [1, 2, 4, 8]);
    let mut possible = 0;
    for (i, a) in all.iter().enumerate() {
        for (j, b) in all.iter().enumerate() {
            let alternative = format!(
                "main a 0 sees {a}; main b 0 sees {}",
                b.replace(" a ", " b ")
            );
            let (report, seen) = outcome(&alternative, |print| figure_8(false, print));
            // Who has seen what was written in one round, sees the other from that round or later.
            assert_eq!(seen.is_some(), j >= i, "{alternative}: {report}");
            assert_eq!(report.impossible(), j < i, "{alternative}: {report}");
            if let Some(seen) = seen {
                assert_eq!(seen, (a_values[i], b_values[j]), "{alternative}");
                possible += 1;
            }
        }
    }
    assert_eq!(possible, 10);
}

/// Three threads that take a lock; prints the order in which they held it.
fn locks(print: &(dyn Fn(u32) + Sync)) {
    let state = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (1..4)
        .map(|number| {
            let state = state.clone();
            spawn(&format!("t{number}"), move || {
                let mut guard = state.lock().unwrap();
                *guard = *guard * 10 + number;
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    print(*state.lock().unwrap());
}

#[test]
fn locks_are_granted_in_any_order_that_is_asked_for() {
    for (alternative, order) in [
        ("t3 state 0 sees initial; t1 state 0 sees t2 state 0", 321),
        (
            "t1 state 0 sees t2 state 0; t2 state 0 sees t3 state 0",
            321,
        ),
        (
            "t2 lock(state) 0 sees initial; t3 lock(state) 0 sees t2 unlock(state) 0",
            231,
        ),
        (
            "main state 0 sees t1 state 0; t3 state 0 sees t2 state 0",
            231,
        ),
    ] {
        let (report, seen) = outcome(alternative, locks);
        assert_eq!(seen, Some(order), "{alternative}: {report}");
        assert_eq!(report.executions, 1);
    }
    let (report, _) = outcome::<u32>("main state 0 sees initial", locks);
    assert!(report.impossible(), "{report}");
}

fn messages(print: &(dyn Fn(u32) + Sync)) {
    let (sender, receiver) = mpsc::channel();
    for number in [1, 2, 3] {
        let sender = sender.clone();
        spawn(&format!("t{number}"), move || sender.send(number).unwrap());
    }
    drop(sender);
    let read = |_| receiver.recv().unwrap();
    print((0..3).map(read).fold(0, |sum, number| sum * 10 + number));
}

#[test]
fn messages_are_taken_in_any_order_that_is_asked_for() {
    let terms = Checker::new().alternatives(|| messages(&|_| ()));
    let port = &terms
        .receives
        .iter()
        .find(|one| one.terms.len() == 3)
        .unwrap()
        .receive;
    let at = |occurrence: u32| format!("main {} {occurrence}", port.thing);
    let send = |thread: &str| format!("{thread} {} 0", port.thing);
    let alternative = format!(
        "{} sees {}; {} sees {}",
        at(0),
        send("t3"),
        at(1),
        send("t1")
    );
    let (report, seen) = outcome(&alternative, messages);
    assert_eq!(seen, Some(312), "{alternative}: {report}");
}

/// A message behind a flag, with these orderings of the flag.
fn published(store: Ordering, load: Ordering, print: &(dyn Fn((u32, u32)) + Sync)) {
    let data = Arc::new(AtomicU32::new(0));
    let ready = Arc::new(AtomicU32::new(0));
    let (its_data, its_ready) = (data.clone(), ready.clone());
    spawn("producer", move || {
        its_data.store(1, Relaxed);
        its_ready.store(1, store);
    });
    print((ready.load(load), data.load(Relaxed)));
}

#[test]
fn what_memory_allows_can_be_run_and_nothing_else() {
    let stale = "main ready 0 sees producer ready 0; main data 0 sees initial";
    let (report, seen) = outcome(stale, |print| published(Relaxed, Acquire, print));
    assert_eq!((seen, report.attempts), (Some((1, 0)), 0), "{report}");
    let (report, _) = outcome(stale, |print| published(Release, Acquire, print));
    assert!(report.impossible(), "{report}");
    let fresh = "main ready 0 sees producer ready 0; main data 0 sees producer data 0";
    let (report, seen) = outcome(fresh, |print| published(Release, Acquire, print));
    assert_eq!((seen, report.attempts), (Some((1, 1)), 0), "{report}");
    // A flag that is not set does not keep the data from being there.
    let early = "main ready 0 sees initial; main data 0 sees producer data 0";
    let (report, seen) = outcome(early, |print| published(Release, Acquire, print));
    assert_eq!((seen, report.attempts), (Some((0, 1)), 0), "{report}");
}

/// The waiter is woken by a thread that notifies while it waits.
fn woken() {
    let woken = Arc::new(Condvar::new());
    let lock = Arc::new(Mutex::new(0));
    for name in ["one", "other"] {
        let (woken, lock) = (woken.clone(), lock.clone());
        spawn(name, move || {
            *lock.lock().unwrap() += 1;
            woken.notify_one();
        });
    }
    let mut count = lock.lock().unwrap();
    while *count < 2 {
        count = woken.wait(count).unwrap();
    }
}

#[test]
fn wake_ups_can_be_asked_for() {
    let report = |alternative: &str| directed(&alternative.parse().unwrap(), woken);
    for name in ["one", "other"] {
        let first = format!("main wake(woken) 0 sees {name} notify-one(woken) 0");
        assert_eq!(report(&first).executions, 1, "{first}");
    }
    // Each of them notifies once, so one notification cannot wake twice.
    let twice = "main wake(woken) 0 sees one notify-one(woken) 0; \
                 main wake(woken) 1 sees one notify-one(woken) 0";
    assert!(report(twice).impossible());
    let both = "main wake(woken) 0 sees one notify-one(woken) 0; \
                main wake(woken) 1 sees other notify-one(woken) 0";
    assert_eq!(report(both).executions, 1);
}

#[test]
fn choices_can_be_asked_for() {
    let program = |print: &(dyn Fn(u32) + Sync)| print(raddle::choose(0..5_u32));
    assert_eq!(outcome("main choose 0 is 3", program).1, Some(3));
    let (report, _) = outcome::<u32>("main choose 0 is 5", program);
    assert!(report.impossible(), "{report}");
}

#[test]
fn a_mistake_is_answered_with_what_there_is() {
    let message = |alternative: &str| {
        let (report, _) = outcome::<(u32, u32)>(alternative, figure_7);
        assert!(report.impossible(), "{report}");
        report.failures[0].message.clone()
    };
    assert_eq!(
        message("man a 0 sees initial"),
        "no thread is called `man`\nhelp: there are: main, one"
    );
    assert_eq!(
        message("main c 0 sees initial"),
        "`main c 0` never happens: main receives nothing at `c`\n\
         help: main receives: a (0), b (0), lock (0 to 1)"
    );
    assert_eq!(
        message("main a 1 sees initial"),
        "`main a 1` never happens: main receives 1 time at most at `a`\n\
         help: main receives: a (0), b (0), lock (0 to 1)"
    );
    assert_eq!(
        message("main a 0 sees one a 1"),
        "`one a 1` never happens: one sends 1 time at most at `a`\n\
         help: one sends: a (0), b (0), lock (0)"
    );
}

#[test]
fn an_alternative_that_was_mended_stays_impossible() {
    let program = |fixed: bool| {
        let balance = Arc::new(AtomicU32::new(100));
        let other = balance.clone();
        let take = move |balance: &AtomicU32| match fixed {
            true => _ = balance.fetch_sub(10, SeqCst),
            false => balance.store(balance.load(SeqCst) - 10, SeqCst),
        };
        let thread = spawn("other", move || take(&other));
        take(&balance);
        thread.join().unwrap();
        assert_eq!(balance.load(SeqCst), 80);
    };
    let lost = Alternative::new()
        .read("main", "balance", 0)
        .sees_initial()
        .read("other", "balance", 0)
        .sees_initial();
    let before = directed(&lost, || program(false));
    assert_eq!(before.failures[0].kind, FailureKind::Panic);
    assert_eq!(before.executions, 1);
    directed(&lost, || program(true)).assert_impossible();
}

#[test]
#[should_panic(expected = "this was expected to be impossible, but: the alternative was run")]
fn what_is_possible_is_not_impossible() {
    let alternative = "main choose 0 is 1".parse().unwrap();
    directed(&alternative, || _ = raddle::choose(0..2)).assert_impossible();
}

#[test]
fn a_strategy_can_be_written_as_text() {
    let text = "directed: main a 0 sees one a 0; \"a b\" x 0 is 1";
    let strategy: Strategy = text.parse().unwrap();
    assert_eq!(strategy.to_string(), text);
    let error = "directed: main a"
        .parse::<Strategy>()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("`main a` in an alternative: it does not say what is seen"),
        "{error}"
    );
}

/// Two threads read the counter before either writes it.
fn lost_update() {
    let counter = Arc::new(AtomicU32::new(0));
    let other = counter.clone();
    let add = |counter: &AtomicU32| counter.store(counter.load(SeqCst) + 1, SeqCst);
    let thread = spawn("other", move || add(&other));
    add(&counter);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2);
}

#[test]
fn a_story_says_what_its_steps_could_have_seen_and_what_to_type() {
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.named("lost").run(lost_update);
    let failure = &report.failures[0];
    let told: Vec<_> = (failure.receives.iter())
        .map(|receive| {
            let step = &failure.trace.steps[receive.step];
            let sources: Vec<_> = (receive.sources.iter())
                .map(|source| (source.what.as_str(), source.is_seen))
                .collect();
            (step.thread, step.what.as_str(), sources)
        })
        .collect();
    let (first, either) = ("the initial value", |by| {
        format!("store 1 to counter by {by}")
    });
    assert_eq!(
        told,
        [
            (
                0,
                "load counter = 0",
                vec![(first, true), (&either("other"), false)]
            ),
            (
                1,
                "load counter = 0",
                vec![(first, true), (&either("main"), false)]
            ),
            (
                0,
                "load counter = 1",
                vec![(&either("main"), true), (&either("other"), false)]
            ),
        ]
    );
    let commands = (failure.receives.iter())
        .flat_map(|receive| &receive.sources)
        .map(|source| source.command.as_deref().unwrap());
    let commands: Vec<&str> = commands.collect();
    assert_eq!(
        commands[1],
        "RADDLE_STRATEGY='directed: main counter 0 sees other counter 0' cargo test lost -- --exact"
    );
    // Every one of them takes one run, and to see what the other has written is what mends it.
    let fails = |command: &str| {
        let strategy: Strategy = command.split('\'').nth(1).unwrap().parse().unwrap();
        let report = Checker::new().strategy(strategy).run(lost_update);
        assert_eq!((report.executions, report.attempts), (1, 0), "{command}");
        !report.failures.is_empty()
    };
    let failing: Vec<bool> = commands.into_iter().map(fails).collect();
    assert!(!failing[1] && !failing[3], "{failing:?}");
}

/// Reads `x` after a number of events.
fn reads_late() {
    let x = Arc::new(AtomicU32::new(0));
    let other = x.clone();
    let writer = spawn("writer", move || other.store(1, SeqCst));
    let y = AtomicU32::new(0);
    for _ in 0..20 {
        y.fetch_add(1, SeqCst);
    }
    x.load(SeqCst);
    writer.join().unwrap();
}

#[test]
fn what_lies_behind_the_maximum_of_events_is_not_called_impossible() {
    let alternative: Alternative = "main x 0 sees initial".parse().unwrap();
    let checker = Checker::new().strategy(Strategy::Directed(alternative));
    let whole = checker.clone().run(reads_late);
    assert_eq!(
        (whole.executions, whole.impossible()),
        (1, false),
        "{whole}"
    );
    let cut = checker.max_events(10).run(reads_late);
    assert_eq!((cut.executions, cut.impossible()), (0, false), "{cut}");
    assert_eq!(cut.failures[0].kind, FailureKind::Limit);
    assert!(
        cut.failures[0]
            .message
            .contains("does not mean that it is impossible")
    );
}
