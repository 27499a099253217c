//! The protocol on all backends: what one does, the others do.

use std::time::Duration;

use fastrand::Rng;
use raddle_queue::{Committed, End, Lease, MemoryQueue, Next, Queue, Results, Run, Search, Token};

use crate::server::{Kind, Server};

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
