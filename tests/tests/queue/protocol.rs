//! The protocol on all backends: what one does, the others do.

use std::time::Duration;

use fastrand::Rng;
use raddle_queue::{
    ClassCount, Committed, End, Lease, MAX_EXACT_CLASSES, MemoryQueue, Next, Queue, Results, Run,
    Search, Token,
};

use crate::server::{Kind, Server, on_both_kinds};

/// A lease that is not over before the test, and one that is over at once.
const LONG: Duration = Duration::from_secs(1000);
const OVER: Duration = Duration::ZERO;

/// Runs the test on a queue in memory and on those of servers.
fn on_all(test: impl Fn(&mut dyn Queue)) {
    test(&mut MemoryQueue::default());
    for kind in [Kind::Redis, Kind::Postgres] {
        if let Some(server) = Server::of(kind) {
            let address = server.address().parse().unwrap();
            test(&mut *raddle_queue::connect(&address).unwrap());
        }
    }
}

fn run() -> Run {
    Run {
        version: "1".to_owned(),
        environment: vec![("A".to_owned(), "a\tb\nc".to_owned())],
    }
}

fn search(name: &str) -> Search {
    Search {
        name: name.to_owned(),
        settings: vec![("program".to_owned(), "7".to_owned())],
        limit: None,
    }
}

fn lease(queue: &mut dyn Queue, time: Duration) -> Next {
    queue.lease("worker", &Token::random(), time).unwrap()
}

fn leased(queue: &mut dyn Queue, time: Duration) -> Lease {
    match lease(queue, time) {
        Next::Item(lease) => lease,
        other => panic!("no item: {other:?}"),
    }
}

fn results(executions: u64, items: &[&str]) -> Results {
    Results {
        sums: [("executions".to_owned(), executions)].into(),
        items: items.iter().map(|item| (*item).to_owned()).collect(),
        ..Results::default()
    }
}

#[test]
fn a_search_goes_from_its_root_to_its_end() {
    on_all(|queue| {
        assert_eq!(queue.run().unwrap(), None);
        assert_eq!(queue.status().unwrap(), None);
        assert_eq!(lease(queue, LONG), Next::NoRun);
        assert_eq!(queue.open_run(&run()).unwrap(), run());
        let other = Run {
            version: "2".to_owned(),
            ..Run::default()
        };
        assert_eq!(queue.open_run(&other).unwrap(), run(), "the first stays");
        assert_eq!(queue.run().unwrap(), Some(run()));
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
        assert_eq!(queue.start(&search("a"), "root").unwrap(), None);
        let there = queue.start(&search("a"), "root").unwrap();
        assert_eq!(there, Some(search("a").settings), "nothing is added");
        let root = leased(queue, LONG);
        assert_eq!((root.search.as_str(), root.text.as_str()), ("a", "root"));
        assert_eq!((root.ready, root.workers), (0, 1));
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
        let committed = queue.commit(&root, &results(3, &["x\n", ""])).unwrap();
        assert_eq!(committed, Committed::Done);
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.end), (2, None));
        let (first, second) = (leased(queue, LONG), leased(queue, LONG));
        assert_eq!((first.text.as_str(), second.text.as_str()), ("x\n", ""));
        assert_eq!(
            queue.commit(&second, &results(4, &[])).unwrap(),
            Committed::Done
        );
        assert_eq!(queue.search("a").unwrap().unwrap().end, None);
        assert_eq!(
            queue.commit(&first, &results(5, &[])).unwrap(),
            Committed::Done
        );
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.end), (0, Some(End::Exhausted)));
        assert_eq!(state.sums["executions"], 12);
        assert_eq!(state.settings, search("a").settings);
        let status = queue.status().unwrap().unwrap();
        assert_eq!((status.ready, status.leased), (0, 0));
        assert_eq!(status.workers, ["worker"]);
        queue.remove_run().unwrap();
        assert_eq!(queue.status().unwrap(), None);
    });
}

#[test]
fn a_result_is_committed_once() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        queue.start(&search("a"), "root").unwrap();
        let root = leased(queue, LONG);
        // The reply to the first may be lost.
        assert_eq!(
            queue.commit(&root, &results(3, &["x"])).unwrap(),
            Committed::Done
        );
        assert_eq!(
            queue.commit(&root, &results(3, &["x"])).unwrap(),
            Committed::Late
        );
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.sums["executions"]), (1, 3));
    });
}

#[test]
fn an_item_follows_when_none_is_left() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        queue.start(&search("a"), "root").unwrap();
        let with_next = |items: &[&str], next: &str| Results {
            next: Some(next.to_owned()),
            ..results(1, items)
        };
        let root = leased(queue, LONG);
        queue
            .commit(&root, &with_next(&["x", "y"], "second"))
            .unwrap();
        let (x, y) = (leased(queue, LONG), leased(queue, LONG));
        queue.commit(&x, &with_next(&[], "second")).unwrap();
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
        queue.commit(&y, &with_next(&[], "second")).unwrap();
        // A repeated commit adds it no second time.
        let again = queue.commit(&y, &with_next(&[], "second")).unwrap();
        assert_eq!(again, Committed::Late);
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.end), (1, None));
        let second = leased(queue, LONG);
        assert_eq!(second.text, "second");
        queue.commit(&second, &results(1, &[])).unwrap();
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.end), (0, Some(End::Exhausted)));
        assert_eq!(state.sums["executions"], 4);
        // Nothing follows when a search is stopped, or over.
        queue.start(&search("b"), "root").unwrap();
        let root = leased(queue, LONG);
        queue.stop("b", false).unwrap();
        queue.commit(&root, &with_next(&[], "second")).unwrap();
        let state = queue.search("b").unwrap().unwrap();
        assert_eq!((state.left, state.end), (0, Some(End::Stopped)));
        queue.start(&search("c"), "root").unwrap();
        let over = Results {
            is_over: true,
            ..with_next(&[], "second")
        };
        let root = leased(queue, LONG);
        queue.commit(&root, &over).unwrap();
        let state = queue.search("c").unwrap().unwrap();
        assert_eq!((state.left, state.end), (0, Some(End::Finding)));
    });
}

#[test]
fn a_fact_is_noted_while_a_search_goes_on() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        queue.note("a", "size", "1").unwrap();
        assert_eq!(queue.search("a").unwrap(), None);
        queue.start(&search("a"), "root").unwrap();
        queue.note("a", "size", "1").unwrap();
        queue.note("a", "size", "2\n").unwrap();
        let facts = |queue: &mut dyn Queue| queue.search("a").unwrap().unwrap().facts;
        let expected = [("size".to_owned(), "2\n".to_owned())].into();
        assert_eq!(facts(queue), expected);
        let root = leased(queue, LONG);
        queue.commit(&root, &results(1, &[])).unwrap();
        queue.note("a", "size", "3").unwrap();
        assert_eq!(facts(queue), expected);
    });
}

#[test]
fn a_lease_that_is_over_belongs_to_another() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        queue.start(&search("a"), "root").unwrap();
        let first = leased(queue, OVER);
        let second = leased(queue, LONG);
        assert_eq!(first.item, second.item, "it is the same item");
        assert_ne!(first.token, second.token);
        assert!(!queue.heartbeat(&first, "worker", LONG).unwrap());
        assert!(queue.heartbeat(&second, "worker", LONG).unwrap());
        assert_eq!(
            queue.commit(&first, &results(3, &["x"])).unwrap(),
            Committed::Late
        );
        assert_eq!(
            queue.search("a").unwrap().unwrap().sums.get("executions"),
            None
        );
        assert_eq!(
            queue.commit(&second, &results(4, &["y"])).unwrap(),
            Committed::Done
        );
        // A lease that is over but not taken is still good.
        let third = leased(queue, OVER);
        assert_eq!(
            queue.commit(&third, &results(5, &["z"])).unwrap(),
            Committed::Done
        );
        // A heartbeat extends a lease.
        let fourth = leased(queue, OVER);
        assert!(queue.heartbeat(&fourth, "worker", LONG).unwrap());
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
        assert_eq!(queue.search("a").unwrap().unwrap().sums["executions"], 9);
    });
}

#[test]
fn a_finding_is_kept_once_and_may_end_the_search() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        queue.start(&search("a"), "root").unwrap();
        queue.start(&search("ab"), "other").unwrap();
        let root = leased(queue, LONG);
        let other = leased(queue, LONG);
        let found = |key: &str, finding: &str, is_over| Results {
            findings: vec![(key.to_owned(), finding.to_owned())],
            facts: [("fact".to_owned(), finding.to_owned())].into(),
            is_over,
            ..results(10, &["x", "y"])
        };
        assert!(root.known.is_empty());
        queue.commit(&root, &found("k\n1", "first", false)).unwrap();
        let x = leased(queue, LONG);
        assert_eq!(x.known, ["k\n1"]);
        assert_eq!((x.search.as_str(), x.text.as_str()), ("a", "x"));
        queue.commit(&x, &found("k\n1", "again", false)).unwrap();
        let y = leased(queue, LONG);
        queue.commit(&y, &found("k2", "last", true)).unwrap();
        let state = queue.search("a").unwrap().unwrap();
        let expected = [(0, "first".to_owned()), (20, "last".to_owned())];
        assert_eq!(state.findings, expected);
        assert_eq!(
            state.facts,
            [("fact".to_owned(), "first".to_owned())].into()
        );
        assert_eq!(state.end, Some(End::Finding));
        // Its other items are dropped, and the other search is as it was.
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
        assert_eq!(queue.search("a").unwrap().unwrap().left, 0);
        let state = queue.search("ab").unwrap().unwrap();
        assert_eq!((state.left, state.findings.len(), state.end), (1, 0, None));
        assert_eq!(
            queue.commit(&other, &results(1, &[])).unwrap(),
            Committed::Done
        );
    });
}

#[test]
fn results_of_a_search_that_is_over_are_late() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        queue.start(&search("a"), "root").unwrap();
        let root = leased(queue, LONG);
        queue.commit(&root, &results(1, &["x", "y"])).unwrap();
        let (x, y) = (leased(queue, LONG), leased(queue, LONG));
        let over = Results {
            is_over: true,
            ..results(1, &[])
        };
        assert_eq!(queue.commit(&x, &over).unwrap(), Committed::Done);
        assert_eq!(
            queue.commit(&y, &results(1, &["z"])).unwrap(),
            Committed::Late
        );
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.sums["executions"]), (0, 2));
    });
}

#[test]
fn an_item_that_cannot_be_explored_ends_its_search() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        queue.start(&search("a"), "root").unwrap();
        for _ in 0..5 {
            // A worker that is not fit gives the item back.
            let lease = leased(queue, LONG);
            queue.abandon(&lease, None).unwrap();
        }
        for _ in 0..2 {
            let lease = leased(queue, LONG);
            queue.abandon(&lease, Some("it died")).unwrap();
            queue.abandon(&lease, Some("it died")).unwrap();
        }
        assert_eq!(queue.search("a").unwrap().unwrap().end, None);
        let lease_3 = leased(queue, LONG);
        queue.abandon(&lease_3, Some("it died again")).unwrap();
        let end = queue.search("a").unwrap().unwrap().end;
        assert_eq!(end, Some(End::Broken("it died again".to_owned())));
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
    });
}

#[test]
fn one_front_end_waits_for_a_run() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        let (first, second) = (Token::random(), Token::random());
        assert!(queue.hold_front(&first, LONG).unwrap());
        assert!(queue.hold_front(&first, LONG).unwrap());
        assert!(!queue.hold_front(&second, LONG).unwrap());
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: true });
        queue.release_front(&second).unwrap();
        assert!(!queue.hold_front(&second, LONG).unwrap());
        queue.release_front(&first).unwrap();
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
        assert!(queue.hold_front(&second, Duration::from_millis(1)).unwrap());
        std::thread::sleep(Duration::from_millis(5));
        assert!(queue.hold_front(&first, LONG).unwrap(), "its time is over");
    });
}

/// The children of a node of a random tree.
fn children(node: u64) -> Vec<u64> {
    let mut rng = Rng::with_seed(node);
    let count = if rng.f64() < 0.3 { rng.u64(2..5) } else { 0 };
    (0..count).map(|_| rng.u64(..) >> 20).collect()
}

/// The number of nodes below a node, itself among them, and their sum.
fn below(node: u64) -> (u64, u64) {
    let below = children(node).into_iter().map(below);
    below.fold((1, node), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Explores a random number of nodes of an item, so that the rest differs each time, and splits the rest.
fn explore(item: &str, rng: &mut Rng) -> Results {
    let mut nodes: Vec<u64> = item.split(' ').map(|node| node.parse().unwrap()).collect();
    let (mut count, mut sum) = (0, 0);
    for _ in 0..rng.u64(1..8) {
        let Some(node) = nodes.pop() else { break };
        (count, sum) = (count + 1, sum + node);
        nodes.extend(children(node));
    }
    let pieces = rng.usize(1..4);
    let mut items = vec![Vec::new(); pieces];
    for (index, node) in nodes.iter().enumerate() {
        items[index % pieces].push(node.to_string());
    }
    items.retain(|item| !item.is_empty());
    Results {
        sums: [("executions".to_owned(), count), ("nodes".to_owned(), sum)].into(),
        items: items.iter().map(|item| item.join(" ")).collect(),
        ..Results::default()
    }
}

#[test]
fn a_tree_is_explored_exactly_by_workers_that_fail() {
    on_all(|queue| {
        let mut late = 0;
        for seed in 0..12 {
            let mut rng = Rng::with_seed(seed);
            let root = (0..)
                .map(|_| rng.u64(..) >> 20)
                .find(|&root| below(root).0 > 50);
            let root = root.unwrap();
            queue.open_run(&run()).unwrap();
            queue.start(&search("tree"), &root.to_string()).unwrap();
            // Commits of workers that were stopped.
            let mut stopped: Vec<(Lease, Results)> = Vec::new();
            loop {
                if rng.u32(..4) == 0 && !stopped.is_empty() {
                    let (lease, results) = stopped.swap_remove(rng.usize(..stopped.len()));
                    let committed = queue.commit(&lease, &results).unwrap();
                    late += u32::from(committed == Committed::Late);
                }
                let time = if rng.u32(..3) == 0 { OVER } else { LONG };
                let Next::Item(lease) = lease(queue, time) else {
                    break;
                };
                let results = explore(&lease.text, &mut rng);
                match rng.u32(..10) {
                    // Killed: no other worker would get an item whose lease is not over.
                    0 if time == OVER => {}
                    1 | 2 if time == OVER => stopped.push((lease, results)),
                    3 => {
                        queue.commit(&lease, &results).unwrap();
                        assert_eq!(queue.commit(&lease, &results).unwrap(), Committed::Late);
                    }
                    _ => {
                        queue.commit(&lease, &results).unwrap();
                    }
                }
            }
            let state = queue.search("tree").unwrap().unwrap();
            assert_eq!(state.end, Some(End::Exhausted), "seed {seed}");
            let (count, sum) = below(root);
            assert_eq!(state.sums["executions"], count, "seed {seed}");
            assert_eq!(state.sums["nodes"], sum, "seed {seed}");
            queue.remove_run().unwrap();
        }
        assert!(late > 10, "only {late} late commits");
    });
}

/// Results with these classes, and items.
fn with_classes(classes: impl IntoIterator<Item = u64>, items: &[&str]) -> Results {
    Results {
        // Fingerprints have all bits.
        classes: classes
            .into_iter()
            .map(|it| it.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect(),
        ..results(1, items)
    }
}

#[test]
fn classes_are_counted_once_exactly_while_they_are_few_and_then_about() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        queue.start(&search("a"), "root").unwrap();
        queue.start(&search("b"), "root").unwrap();
        let count =
            |queue: &mut dyn Queue, name: &str| queue.search(name).unwrap().unwrap().classes;
        let (root, other) = (leased(queue, LONG), leased(queue, LONG));
        assert_eq!(count(queue, "a"), ClassCount::Exact(0));
        queue.commit(&other, &with_classes(0..3, &[])).unwrap();
        queue
            .commit(&root, &with_classes(0..2_000, &["x"]))
            .unwrap();
        assert_eq!(count(queue, "a"), ClassCount::Exact(2_000));
        let mut first = 1_000;
        while first < MAX_EXACT_CLASSES {
            let item = leased(queue, LONG);
            assert!(!item.is_sketched);
            // Each commit repeats a thousand classes of the one before.
            let last = (first + 8_000).min(MAX_EXACT_CLASSES);
            queue
                .commit(&item, &with_classes(first - 1_000..last, &["x"]))
                .unwrap();
            assert_eq!(count(queue, "a"), ClassCount::Exact(last));
            first = last;
        }
        let item = leased(queue, LONG);
        let again = with_classes(0..5_000, &["x", "y"]);
        queue.commit(&item, &again).unwrap();
        assert_eq!(count(queue, "a"), ClassCount::Exact(MAX_EXACT_CLASSES));
        let (last_exact, late) = (leased(queue, LONG), leased(queue, LONG));
        let one_more = with_classes([MAX_EXACT_CLASSES], &["x"]);
        queue.commit(&last_exact, &one_more).unwrap();
        let is_about = |count: ClassCount, exact: u64| match count {
            // Five standard errors.
            ClassCount::About(about) => (about as f64 / exact as f64 - 1.0).abs() < 0.08,
            ClassCount::Exact(_) => false,
        };
        let about = count(queue, "a");
        assert!(is_about(about, MAX_EXACT_CLASSES + 1), "{about:?}");
        // A worker that was leased its item before has sent all classes; one that comes after sends their ranks.
        queue.commit(&late, &again).unwrap();
        assert_eq!(count(queue, "a"), about, "repeated classes change nothing");
        let item = leased(queue, LONG);
        assert!(item.is_sketched);
        queue
            .commit(&item, &with_classes(0..3 * MAX_EXACT_CLASSES, &[]))
            .unwrap();
        let about = count(queue, "a");
        assert!(is_about(about, 3 * MAX_EXACT_CLASSES), "{about:?}");
        assert_eq!(count(queue, "b"), ClassCount::Exact(3));
        queue.remove_run().unwrap();
        queue.open_run(&run()).unwrap();
        queue.start(&search("a"), "root").unwrap();
        assert_eq!(count(queue, "a"), ClassCount::Exact(0), "nothing is left");
        assert!(!leased(queue, LONG).is_sketched);
    });
}

#[test]
fn a_search_that_is_stopped_ends_with_its_leased_items() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        for name in ["a", "b"] {
            queue.start(&search(name), "root").unwrap();
        }
        let (root, other) = (leased(queue, LONG), leased(queue, LONG));
        queue
            .commit(&root, &results(1, &["v", "w", "x", "y", "z"]))
            .unwrap();
        queue.commit(&other, &results(1, &["other"])).unwrap();
        let taken: Vec<Lease> = (0..4).map(|_| leased(queue, LONG)).collect();
        queue.stop("a", false).unwrap();
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.end), (4, None), "one was ready");
        let other = leased(queue, OVER);
        assert_eq!(other.search, "b", "no item of the other is handed out");
        // Results count, and what is left of their items is dropped.
        assert_eq!(
            queue.commit(&taken[0], &results(5, &["p"])).unwrap(),
            Committed::Done
        );
        queue.abandon(&taken[1], None).unwrap();
        assert_eq!(
            leased(queue, LONG).search,
            "b",
            "the lease of that was over"
        );
        queue.stop("a", false).unwrap();
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.end), (2, None));
        assert_eq!(
            queue.commit(&taken[2], &results(6, &[])).unwrap(),
            Committed::Done
        );
        assert_eq!(queue.search("a").unwrap().unwrap().end, None);
        assert_eq!(
            queue.commit(&taken[3], &results(7, &["q"])).unwrap(),
            Committed::Done
        );
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.end), (0, Some(End::Stopped)));
        assert_eq!(state.sums["executions"], 19);
        // The item of the other search is leased.
        queue.stop("b", true).unwrap();
        assert_eq!(queue.search("b").unwrap().unwrap().end, Some(End::Stopped));
        assert_eq!(
            queue.commit(&other, &results(8, &[])).unwrap(),
            Committed::Late
        );
        assert_eq!(queue.search("b").unwrap().unwrap().sums["executions"], 1);
        queue.stop("unknown", true).unwrap();
        assert_eq!(queue.search("unknown").unwrap(), None);
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
    });
}

#[test]
fn the_runs_of_a_search_are_granted_to_its_items_and_never_exceeded() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        let limited = Search {
            limit: Some(100),
            ..search("a")
        };
        queue.start(&limited, "root").unwrap();
        let made = |runs: u64, items: &[&str]| Results {
            sums: [("runs".to_owned(), runs)].into(),
            ..results(runs, items)
        };
        let root = leased(queue, LONG);
        assert_eq!(root.granted, Some(64));
        queue.commit(&root, &made(10, &["x", "y", "z"])).unwrap();
        // 90 are left.
        let (x, y) = (leased(queue, LONG), leased(queue, OVER));
        assert_eq!((x.granted, y.granted), (Some(64), Some(26)));
        // A lease that is over gives its runs to the next.
        let y_again = leased(queue, LONG);
        assert_eq!((y_again.text.as_str(), y_again.granted), ("y", Some(26)));
        assert_eq!(queue.commit(&y, &made(26, &[])).unwrap(), Committed::Late);
        assert_eq!(
            lease(queue, LONG),
            Next::Empty { has_front: false },
            "no run is left for z"
        );
        queue.abandon(&y_again, None).unwrap();
        let z = leased(queue, LONG);
        assert_eq!(z.granted, Some(26), "of y or z");
        queue.commit(&z, &made(26, &[])).unwrap();
        assert_eq!(
            queue.search("a").unwrap().unwrap().end,
            None,
            "x may give some back"
        );
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
        queue.commit(&x, &made(60, &["u"])).unwrap();
        let y = leased(queue, LONG);
        assert_eq!(y.granted, Some(4));
        queue.commit(&y, &made(4, &["v"])).unwrap();
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.end, state.sums["runs"]), (Some(End::Spent), 100));
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
        // What follows has no limit, and follows once.
        queue.go_on("a", "more").unwrap();
        queue.go_on("a", "more").unwrap();
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.end), (1, None));
        let more = leased(queue, LONG);
        assert_eq!((more.text.as_str(), more.granted), ("more", None));
        queue.go_on("a", "more").unwrap();
        queue.commit(&more, &made(1_000, &[])).unwrap();
        queue.go_on("a", "more").unwrap();
        let state = queue.search("a").unwrap().unwrap();
        assert_eq!((state.left, state.end), (0, Some(End::Exhausted)));
        assert_eq!(state.sums["runs"], 1_100);
        // A search that ends within its runs is exhausted.
        queue
            .start(
                &Search {
                    limit: Some(64),
                    ..search("b")
                },
                "root",
            )
            .unwrap();
        let root = leased(queue, LONG);
        queue.commit(&root, &made(64, &[])).unwrap();
        assert_eq!(
            queue.search("b").unwrap().unwrap().end,
            Some(End::Exhausted)
        );
    });
}

#[test]
fn a_search_is_exported_with_all_its_items_and_begins_elsewhere_with_its_results() {
    on_all(|queue| {
        queue.open_run(&run()).unwrap();
        queue.start(&search("a"), "root").unwrap();
        queue.start(&search("b"), "other").unwrap();
        let root = leased(queue, LONG);
        let found = Results {
            findings: vec![("k".to_owned(), "found".to_owned())],
            facts: [("fact".to_owned(), "detail".to_owned())].into(),
            ..results(3, &["x", "y", "z"])
        };
        queue.commit(&root, &found).unwrap();
        let other = leased(queue, LONG);
        let x = leased(queue, OVER);
        assert_eq!((other.search.as_str(), x.text.as_str()), ("b", "x"));
        let (state, mut items) = queue.export("a").unwrap().unwrap();
        items.sort();
        assert_eq!(items, ["x", "y", "z"], "leased or not");
        assert_eq!(
            (state.sums["executions"], state.end),
            (3, Some(End::Exported))
        );
        // Nothing changes any more, and the call may be repeated.
        assert_eq!(queue.commit(&x, &results(5, &[])).unwrap(), Committed::Late);
        assert_eq!(lease(queue, LONG), Next::Empty { has_front: false });
        queue.stop("a", true).unwrap();
        let (state, mut items) = queue.export("a").unwrap().unwrap();
        items.sort();
        assert_eq!(
            (items.len(), state.left, state.sums["executions"]),
            (3, 3, 3)
        );
        assert_eq!(queue.export("unknown").unwrap(), None);
        queue.commit(&other, &results(1, &[])).unwrap();
        assert_eq!(queue.export("b").unwrap(), None, "it has ended");
        let begun = Results {
            sums: state.sums,
            facts: state.facts,
            items,
            ..found
        };
        assert_eq!(queue.start_with(&search("c"), &begun).unwrap(), None);
        let there = queue.start_with(&search("c"), &begun).unwrap();
        assert_eq!(there, Some(search("c").settings), "nothing is added");
        let new = queue.search("c").unwrap().unwrap();
        assert_eq!((new.left, new.end), (3, None));
        assert_eq!(new.facts["fact"], "detail");
        assert_eq!(new.findings, [(0, "found".to_owned())]);
        let x = leased(queue, LONG);
        assert_eq!((x.text.as_str(), x.known), ("x", vec!["k".to_owned()]));
    });
}

/// No lease ends in this test: a commit is late only because the server does not know the lease any more.
fn a_server_that_is_rolled_back_refuses_later_leases_and_knows_earlier_ones(kind: Kind) {
    let Some(mut server) = Server::own(kind) else {
        return;
    };
    let address = server.address().parse().unwrap();
    let mut queue = raddle_queue::connect(&address).unwrap();
    queue.open_run(&run()).unwrap();
    queue.start(&search("a"), "root").unwrap();
    let root = leased(&mut *queue, LONG);
    let later = server.undo(|| {
        assert_eq!(
            queue.commit(&root, &results(3, &["x", "y"])).unwrap(),
            Committed::Done
        );
        let (x, y) = (leased(&mut *queue, LONG), leased(&mut *queue, LONG));
        assert_eq!(
            queue.commit(&x, &results(4, &["z"])).unwrap(),
            Committed::Done
        );
        y
    });
    let state = queue.search("a").unwrap().unwrap();
    assert_eq!((state.left, state.sums.get("executions")), (1, None));
    assert_eq!(
        queue.commit(&later, &results(5, &[])).unwrap(),
        Committed::Late
    );
    assert!(!queue.heartbeat(&later, "worker", LONG).unwrap());
    assert!(queue.heartbeat(&root, "worker", LONG).unwrap());
    assert_eq!(
        queue.commit(&root, &results(3, &["x"])).unwrap(),
        Committed::Done
    );
    let x = leased(&mut *queue, LONG);
    assert_eq!(queue.commit(&x, &results(4, &[])).unwrap(), Committed::Done);
    let state = queue.search("a").unwrap().unwrap();
    assert_eq!(
        (state.sums["executions"], state.end),
        (7, Some(End::Exhausted))
    );
}

on_both_kinds! {
    a_server_that_is_rolled_back_refuses_later_leases_and_knows_earlier_ones
}
