//! Executions for other programs: traces that a race predictor can read, and graphs.

use std::collections::{HashMap, HashSet};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, RwLock};
use raddle::{Checker, Failure, Strategy, Trace, thread};
use raddle_stories::all;
use raddle_tests::races::Shared;

/// An event of the STD format.
#[derive(Clone, Debug)]
struct Event {
    thread: String,
    what: String,
    target: String,
    place: usize,
}

fn events(text: &str) -> Vec<Event> {
    let event = |line: &str| {
        let (thread, rest) = line.split_once('|').expect("a thread");
        let (event, place) = rest.split_once('|').expect("a place");
        let (what, target) = event.split_once('(').expect("a target");
        let target = target.strip_suffix(')').expect("the end of the target");
        let plain = |text: &str| !text.contains(['|', '(', ')', ' ']) && !text.is_empty();
        assert!(plain(thread) && plain(what) && plain(target), "{line}");
        Event {
            thread: thread.to_owned(),
            what: what.to_owned(),
            target: target.to_owned(),
            place: place.parse().expect("places are numbers"),
        }
    };
    text.lines().map(event).collect()
}

/// What race predictors take for granted: no thread runs before its creation or after its join,
/// and a lock is held by one thread at a time, which releases it.
fn assert_well_formed(events: &[Event]) {
    let mut born = HashSet::from(["T0".to_owned()]);
    let mut over = HashSet::new();
    let mut held: HashMap<&str, &str> = HashMap::new();
    for event in events {
        assert!(
            born.contains(&event.thread),
            "{event:?} is before its birth"
        );
        assert!(!over.contains(&event.thread), "{event:?} is after its end");
        match &*event.what {
            "fork" => assert!(born.insert(event.target.clone()), "{event:?}: born twice"),
            "join" => assert!(over.insert(event.target.clone()), "{event:?}: joined twice"),
            "acq" => {
                let before = held.insert(&event.target, &event.thread);
                assert_eq!(before, None, "{event:?}: held by another");
            }
            "rel" => {
                let by = held.remove(&*event.target);
                assert_eq!(by, Some(&*event.thread), "{event:?}: not its own");
            }
            "r" | "w" => {}
            other => panic!("no event is `{other}`"),
        }
    }
}

/// Pairs of accesses that locks, births and ends do not order, by the happens-before of Lamport: a
/// race predictor of twenty lines.
fn races(events: &[Event]) -> HashSet<String> {
    type Clock = HashMap<String, usize>;
    fn join(into: &mut Clock, from: &Clock) {
        for (thread, &time) in from {
            let own = into.entry(thread.clone()).or_default();
            *own = time.max(*own);
        }
    }
    let mut clocks: HashMap<String, Clock> = HashMap::new();
    let mut locks: HashMap<&str, Clock> = HashMap::new();
    let mut accesses: HashMap<&str, Vec<(String, usize, bool)>> = HashMap::new();
    let mut racy = HashSet::new();
    for event in events {
        let clock = clocks.entry(event.thread.clone()).or_default();
        let now = clock.entry(event.thread.clone()).or_default();
        *now += 1;
        let now = *now;
        match &*event.what {
            "acq" => join(clock, locks.entry(&event.target).or_default()),
            "rel" => {
                locks.insert(&event.target, clock.clone());
            }
            "fork" => {
                let clock = clock.clone();
                join(clocks.entry(event.target.clone()).or_default(), &clock);
            }
            "join" => {
                let end = clocks.get(&event.target).cloned().unwrap_or_default();
                join(clocks.entry(event.thread.clone()).or_default(), &end);
            }
            access => {
                let writes = access == "w";
                let before = accesses.entry(&event.target).or_default();
                let is_unseen = |(thread, time, wrote): &(String, usize, bool)| {
                    let seen = clock.get(thread).copied().unwrap_or(0);
                    *thread != event.thread && (writes || *wrote) && seen < *time
                };
                if before.iter().any(is_unseen) {
                    racy.insert(event.target.clone());
                }
                before.push((event.thread.clone(), now, writes));
            }
        }
    }
    racy
}

/// The failure of a program, from a replay.
fn replayed(failure: &Failure, body: fn()) -> Failure {
    let replay = Strategy::Replay(failure.schedule.clone());
    let mut report = Checker::new().strategy(replay).run(body);
    report.failures.remove(0)
}

/// The trace of the execution without preemptions.
fn trace(body: fn()) -> Trace {
    let failing = move || {
        body();
        panic!("the end");
    };
    let report = Checker::new()
        .strategy(Strategy::Delay { bound: 0 })
        .run(failing);
    let replay = Strategy::Replay(report.failures[0].schedule.clone());
    let mut report = Checker::new().strategy(replay).run(failing);
    report.failures.remove(0).trace
}

#[test]
fn every_story_is_a_trace_that_predictors_can_read() {
    for story in all() {
        let checker = Checker::new().max_executions(20_000);
        let report = checker.run(story.buggy);
        let failure = report.failures.first().expect("it is found");
        let failure = replayed(failure, story.buggy);
        assert_eq!(failure.kind, report.failures[0].kind, "{}", story.name);
        let exported = failure.trace.std_trace();
        let events = events(&exported.events);
        assert_well_formed(&events);
        let places: Vec<_> = exported.places.lines().collect();
        for (index, place) in places.iter().enumerate() {
            assert!(place.starts_with(&format!("{} ", index + 1)), "{place}");
        }
        assert!(events.iter().all(|event| event.place <= places.len()));
    }
}

fn unguarded() {
    let cell = Arc::new(Shared::default());
    let there = cell.clone();
    let other = thread::spawn(move || there.write());
    cell.write();
    other.join().unwrap();
}

fn guarded() {
    let both = Arc::new((Shared::default(), Mutex::new(())));
    let there = both.clone();
    let other = thread::spawn(move || {
        let _guard = there.1.lock().unwrap();
        there.0.write();
    });
    {
        let _guard = both.1.lock().unwrap();
        both.0.write();
    }
    other.join().unwrap();
}

fn shared() {
    let both = Arc::new((Shared::default(), RwLock::new(())));
    let readers = [(); 2].map(|()| {
        let there = both.clone();
        thread::spawn(move || {
            let _guard = there.1.read().unwrap();
            there.0.read();
        })
    });
    {
        let _guard = both.1.write().unwrap();
        both.0.write();
    }
    for reader in readers {
        reader.join().unwrap();
    }
}

#[test]
fn a_predictor_finds_the_race_that_is_there_and_no_other() {
    let found = |body| {
        let trace = trace(body);
        assert!(!trace.accesses.is_empty());
        let events = events(&trace.std_trace().events);
        assert_well_formed(&events);
        races(&events).len()
    };
    assert_eq!(found(guarded), 0);
    assert_eq!(found(shared), 0);
    let report = Checker::new().run(unguarded);
    let failure = replayed(&report.failures[0], unguarded);
    assert_eq!(races(&events(&failure.trace.std_trace().events)).len(), 1);
}

#[test]
fn a_writer_excludes_all_readers() {
    let text = trace(shared).std_trace().events;
    let own = |event: &Event| event.thread == "T0" && event.what == "acq";
    let taken: Vec<_> = events(&text).into_iter().filter(own).collect();
    let targets: HashSet<_> = taken.iter().map(|event| &event.target).collect();
    assert_eq!(
        targets.len(),
        3,
        "main's lock and one for each reader:\n{text}"
    );
}

fn locked_by_its_name() {
    let (x, x_lock) = (AtomicU32::new(0), Mutex::new(()));
    let _guard = x_lock.lock().unwrap();
    x.store(1, SeqCst);
}

#[test]
fn a_lock_is_not_taken_for_the_one_that_an_atomic_of_a_similar_name_is_under() {
    let text = trace(locked_by_its_name).std_trace().events;
    assert_well_formed(&events(&text));
    assert!(text.contains("|acq(x_lock)|"), "{text}");
}

#[test]
fn a_graph_has_every_step_and_who_it_has_its_turn_from() {
    let failing = || {
        guarded();
        panic!("the end");
    };
    let report = Checker::new().run(failing);
    let failure = &report.failures[0];
    let graph = failure.graphviz();
    assert!(graph.starts_with("digraph execution {\n") && graph.ends_with("}\n"));
    for (index, step) in failure.trace.steps.iter().enumerate() {
        let node = format!("s{index} [label=\"{} {}", index + 1, step.what);
        assert!(graph.contains(&node), "{node} is not in {graph}");
    }
    // A thread begins where it was created, ends before it is joined, and one has the lock from the
    // other.
    let across = graph.matches("constraint=false").count();
    assert_eq!(across, 3, "{graph}");
    let open = graph.matches('{').count();
    assert_eq!(open, graph.matches('}').count());
}
