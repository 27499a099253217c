//! Properties of labelled events: orders that did not run, loops that go on for ever, stories and replays.

use std::sync::Mutex as StdMutex;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::{Checker, FailureKind, Property, PropertyVerdict, Strategy, thread};

fn event(label: &str) -> Property {
    Property::event(label)
}

/// Two threads that have nothing to do with each other: one class, and two orders of the labels.
fn independent() {
    let first = thread::spawn(|| {
        AtomicU32::new(0).store(1, SeqCst);
        raddle::event!("first");
    });
    let second = thread::spawn(|| {
        AtomicU32::new(0).store(1, SeqCst);
        raddle::event!("second");
    });
    first.join().unwrap();
    second.join().unwrap();
}

#[test]
fn the_order_of_independent_events_is_not_that_of_the_run() {
    for (before, after) in [("first", "second"), ("second", "first")] {
        let property = Property::always(event(after).implies(Property::once(event(before))));
        let report = Checker::new()
            .property("order", property.clone())
            .run(independent);
        assert_eq!(report.failures.len(), 1, "{report}");
        let failure = &report.failures[0];
        assert_eq!(failure.kind, FailureKind::Property);
        assert!(
            failure
                .message
                .starts_with("property `order` is violated\n"),
            "{failure}"
        );
        assert_eq!(report.properties()[0].verdict, PropertyVerdict::Violated);
        // The story is one that can be run.
        let again = Checker::new()
            .property("order", property)
            .strategy(Strategy::Replay(failure.schedule.clone()))
            .run(independent);
        assert_eq!(again.failures[0].kind, FailureKind::Property, "{again}");
    }
    let report = Checker::new().keep_going(true).run(independent);
    assert_eq!(report.classes(), 1);
}

#[test]
fn what_holds_in_every_order_is_said_of_every_execution() {
    let report = Checker::new()
        .property(
            "both",
            Property::eventually(event("first")) & Property::eventually(event("second")),
        )
        .property("never thrd", Property::always(!event("thrd")))
        .run(independent);
    report.assert_ok();
    let [both, never] = report.properties() else {
        panic!("{report}");
    };
    assert_eq!(
        both.to_string(),
        "property `both` holds in every order of 1 execution"
    );
    assert_eq!(
        never.to_string(),
        "property `never thrd` holds in every order of 1 execution; no event has the label \"thrd\""
    );
}

#[test]
fn several_properties_are_each_reported_once() {
    let report = Checker::new()
        .keep_going(true)
        .property(
            "one",
            Property::always(event("first").implies(Property::once(event("second")))),
        )
        .property(
            "two",
            Property::always(event("second").implies(Property::once(event("first")))),
        )
        .run(independent);
    let mut messages: Vec<_> = report
        .failures
        .iter()
        .map(|it| it.message.lines().next().unwrap())
        .collect();
    messages.sort_unstable();
    assert_eq!(
        messages,
        ["property `one` is violated", "property `two` is violated"]
    );
    assert!(report.exhausted);
}

/// A thread that waits for a flag which is never set.
fn spins() {
    let flag = Arc::new(AtomicBool::new(false));
    let other = flag.clone();
    let thread = thread::spawn(move || {
        while !other.load(SeqCst) {
            raddle::event!("look");
            thread::yield_now();
        }
        raddle::event!("done");
    });
    thread.join().unwrap();
}

#[test]
fn liveness_is_judged_on_the_fair_loop_and_the_result_says_so() {
    let report = Checker::new()
        .property("is done", Property::eventually(event("done")))
        .property(
            "looks again",
            Property::always(Property::eventually(event("look"))),
        )
        .run(spins);
    let failure = &report.failures[0];
    assert_eq!(failure.kind, FailureKind::Livelock, "{report}");
    let note = "this execution violates the property `is done`, judged as the fair execution in which only these loops \
                go on: eventually(\"done\")";
    assert!(failure.notes.iter().any(|it| it == note), "{failure}");
    let [done, looks] = report.properties() else {
        panic!("{report}");
    };
    assert_eq!(done.verdict, PropertyVerdict::Violated);
    assert_eq!(
        (looks.verdict, looks.fair_loops),
        (PropertyVerdict::Holds, 1)
    );
    assert!(
        looks
            .to_string()
            .ends_with("judged as if every thread in it has its turns for ever")
    );
}

/// A flag that is set: executions are finite, however often the loop looks in vain.
#[test]
fn a_loop_that_ends_is_no_violation_of_liveness() {
    let report = Checker::new()
        .property("is done", Property::eventually(event("done")))
        .run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let other = flag.clone();
            let thread = thread::spawn(move || {
                while !other.load(SeqCst) {
                    raddle::event!("look");
                    thread::yield_now();
                }
                raddle::event!("done");
            });
            flag.store(true, SeqCst);
            thread.join().unwrap();
        });
    report.assert_ok();
    assert_eq!(report.properties()[0].verdict, PropertyVerdict::Holds);
    assert_eq!(report.properties()[0].fair_loops, 0);
}

#[test]
fn an_execution_that_was_cut_leaves_liveness_open() {
    let counts = || {
        let counter = AtomicU32::new(0);
        for _ in 0..100 {
            counter.fetch_add(1, SeqCst);
            raddle::event!("count");
        }
    };
    let report = Checker::new()
        .max_events(20)
        .keep_going(true)
        .property("ends", Property::eventually(event("end")))
        .property("starts", Property::eventually(event("count")))
        .run(counts);
    let [ends, starts] = report.properties() else {
        panic!("{report}");
    };
    assert_ne!(ends.verdict, PropertyVerdict::Violated);
    assert_eq!(ends.executions, 0, "{ends}");
    assert_ne!(starts.verdict, PropertyVerdict::Violated);
}

#[test]
fn labels_cost_and_do_nothing_unless_they_are_asked_for() {
    let formatted = StdMutex::new(0);
    struct Counts<'a>(&'a StdMutex<u32>);
    impl std::fmt::Display for Counts<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            *self.0.lock().unwrap() += 1;
            f.write_str("x")
        }
    }
    let body = || raddle::event!("{}", Counts(&formatted));
    Checker::new().run(body).assert_ok();
    assert_eq!(*formatted.lock().unwrap(), 0);
    Checker::new()
        .property("x", Property::eventually(event("x")))
        .run(body)
        .assert_ok();
    assert_eq!(*formatted.lock().unwrap(), 1);
}

#[test]
fn each_class_is_observed_once_with_its_events() {
    let body = || {
        let value = Arc::new(AtomicU32::new(0));
        let other = value.clone();
        let writer = thread::spawn(move || {
            other.store(1, SeqCst);
            raddle::event!("write");
        });
        value.load(SeqCst);
        writer.join().unwrap();
    };
    // Every schedule is run, and each of the two classes is passed once.
    for strategy in [Strategy::Exhaustive, Strategy::Enumerate] {
        let mut classes = Vec::new();
        let report = Checker::new()
            .strategy(strategy)
            .observe(body, |execution| {
                classes.push(execution.exact_class());
                let order = execution.happens_before();
                let events: Vec<_> = execution.events().iter().collect();
                let write = events
                    .iter()
                    .find(|event| event.labels().eq(["write"]))
                    .unwrap();
                let load = events
                    .iter()
                    .find(|event| event.operation().label() == "load")
                    .unwrap();
                let end = events.last().unwrap();
                assert!(order.query(*write, *end) && !order.query(*end, *write));
                let takes = load.source().map(|it| (it.thread(), it.index()));
                assert_eq!(takes.is_some(), order.query(*write, *load));
                assert!(takes.is_none_or(|it| it == (write.thread(), write.index())));
            });
        report.assert_ok();
        assert_eq!(classes.len(), 2);
        assert_ne!(classes[0], classes[1]);
    }
}
