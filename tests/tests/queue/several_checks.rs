//! Tests with several checks, whose later parts need the results of the earlier checks.

use std::thread;
use std::time::{Duration, Instant};

use raddle::{Checker, Strategy};
use raddle_queue::{Lease, MemoryQueue, Next, Queue, Results, Run, Search, Token};
use raddle_tests::programs::dining;
use serde_json::Value;

use crate::commands::Machine;
use crate::server::{Kind, Server, on_both_kinds};

/// The second check takes some seconds.
#[test]
#[ignore = "run by a queue"]
fn the_second_is_slow() {
    let exhaustive = || Checker::new().strategy(Strategy::Exhaustive);
    let first = exhaustive().run(|| dining(3));
    assert_eq!(first.classes(), 30);
    let second = exhaustive().run(|| {
        thread::sleep(Duration::from_millis(3));
        dining(4);
    });
    assert_eq!(second.classes(), 624);
}

/// The front end has the results of the first check, and the server has neither it nor the second. A worker gets to the
/// second only with results of the first.
fn earlier_checks_that_the_server_has_lost_are_run_again(kind: Kind) {
    let Some(mut server) = Server::own(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end("several_checks::the_second_is_slow");
    let flags = ["--lease", "500ms", "--slice", "20ms"];
    let workers = [machine.worker(&flags), machine.worker(&flags)];
    let start = Instant::now();
    loop {
        let status = machine.run(&["queue", "status", "--json"]).stdout;
        let status: Value = serde_json::from_str(&status).unwrap_or_default();
        if status["searches"][1]["executions"].as_u64() > Some(0) {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{status}");
    }
    server.forget_everything();
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    let classes = |event: &Value| event["classes"].as_u64().unwrap();
    let finished: Vec<u64> = front_end.events("finished").iter().map(classes).collect();
    assert_eq!(finished, [30, 624]);
    for worker in workers {
        let worker = worker.finish();
        assert!(worker.has_worked(), "{worker:?}");
    }
}

/// A worker that gives a part back because others must come first gets these next.
#[test]
fn an_item_that_is_given_back_comes_last() {
    let leased = |queue: &mut dyn Queue| -> Lease {
        let time = Duration::from_secs(1000);
        match queue.lease("worker", &Token::random(), time).unwrap() {
            Next::Item(lease) => lease,
            other => panic!("no item: {other:?}"),
        }
    };
    let test = |queue: &mut dyn Queue| {
        queue.open_run(&Run::default()).unwrap();
        let search = Search {
            name: "a".to_owned(),
            ..Search::default()
        };
        queue.start(&search, "root").unwrap();
        let root = leased(queue);
        let results = Results {
            items: ["x", "y", "z"].map(str::to_owned).to_vec(),
            ..Results::default()
        };
        queue.commit(&root, &results).unwrap();
        let x = leased(queue);
        queue.abandon(&x, None).unwrap();
        // A call whose reply was lost is repeated.
        queue.abandon(&x, None).unwrap();
        let texts = [(); 3].map(|()| leased(queue).text);
        assert_eq!(texts, ["y", "z", "x"]);
        assert_eq!(queue.search("a").unwrap().unwrap().left, 3);
    };
    test(&mut MemoryQueue::default());
    for kind in [Kind::Redis, Kind::Postgres] {
        if let Some(server) = Server::of(kind) {
            let address = server.address().parse().unwrap();
            test(&mut *raddle_queue::connect(&address).unwrap());
        }
    }
}

on_both_kinds! {
    earlier_checks_that_the_server_has_lost_are_run_again
}
