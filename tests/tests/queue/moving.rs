//! Searches move from a queue to the checkpoint of one process, and back.

use std::thread;
use std::time::Duration;

use crate::commands::{Finished, Machine};
use crate::exact::{FIVE, SLOW, classes, wait_for_classes};
use crate::server::{Kind, Server, on_both_kinds};

/// A command for the slow test.
fn test(machine: &Machine, flags: &[&str]) -> Finished {
    let more = ["--", "--", "--include-ignored"];
    machine.run(&[&["test", SLOW, "--json"], flags, &more].concat())
}

fn finished(finished: &Finished) -> (String, u64) {
    let event = &finished.events("finished")[0];
    let guarantee = event["guarantee"].as_str().unwrap().to_owned();
    (guarantee, event["classes"].as_u64().unwrap())
}

/// Interrupts a shared search with a part that is leased by a worker that is killed.
fn interrupted(machine: &Machine) -> u64 {
    let front_end = machine.front_end(SLOW);
    let flags = ["--slice", "20ms", "--lease", "60s"];
    let (worker, killed) = (machine.worker(&flags), machine.worker(&flags));
    wait_for_classes(machine);
    thread::sleep(Duration::from_millis(300));
    killed.signal("-KILL");
    worker.signal("-INT");
    worker.finish();
    front_end.signal("-INT");
    assert_eq!(front_end.finish().code, Some(130));
    classes(machine)
}

fn a_search_moves_from_the_queue_to_one_process_and_back(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let before = interrupted(&machine);
    assert!((1..FIVE).contains(&before), "{before}");
    let exported = test(&machine, &["--queue", "--export"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    assert_eq!(finished(&exported), ("Sampled".to_owned(), before));
    let resume = exported.events("finished")[0]["resume"].clone();
    assert!(
        resume.as_str().unwrap().contains("RADDLE_RESUME=1"),
        "{resume}"
    );
    assert_eq!(machine.run(&["queue", "status"]).stdout, "no run\n");
    // A part of it here, which leaves a checkpoint.
    let limited = test(
        &machine,
        &["--strategy", "exhaustive", "--resume", "--budget", "1s"],
    );
    let (guarantee, now) = finished(&limited);
    assert_eq!(guarantee, "Sampled", "{limited:?}");
    assert!((before + 1..FIVE).contains(&now), "{before}, {now}");
    // The rest by the queue.
    let worker = machine.worker(&[]);
    let shared = test(&machine, &["--queue", "--resume"]);
    assert_eq!(shared.code, Some(0), "{shared:?}");
    assert_eq!(finished(&shared), ("Exhaustive".to_owned(), FIVE));
    let explored = worker.finish().stderr;
    let explored = explored.lines().last().unwrap().split(' ').next().unwrap();
    let explored: u64 = explored.replace(',', "").parse().unwrap();
    assert_eq!(explored, FIVE - now, "no class is run again");
    // The checkpoint is gone: a further search begins anew.
    let none = test(&machine, &["--queue", "--export"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(
        none.stderr
            .contains("cannot be exported: it is not in the queue"),
        "{none:?}"
    );
}

fn a_search_that_cannot_move_stays(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    interrupted(&machine);
    // The directory of checkpoints is a file.
    let place = machine.saved();
    let _ = std::fs::remove_dir_all(&place);
    std::fs::write(&place, "").unwrap();
    let failed = test(&machine, &["--queue", "--export"]);
    assert_ne!(failed.code, Some(0), "{failed:?}");
    let status = machine.run(&["queue", "status"]).stdout;
    assert!(status.contains("parts left, exported"), "{status}");
    std::fs::remove_file(&place).unwrap();
    let exported = test(&machine, &["--queue", "--export"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let whole = test(&machine, &["--resume"]);
    assert_eq!(finished(&whole), ("Exhaustive".to_owned(), FIVE));
}

#[test]
fn a_checkpoint_is_not_added_to_a_search_that_is_there() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let limited = test(
        &machine,
        &["--strategy", "exhaustive", "--budget", "1200ms"],
    );
    assert_eq!(finished(&limited).0, "Sampled", "{limited:?}");
    let front_end = machine.front_end(SLOW);
    while !machine.run(&["queue", "status"]).stdout.contains(SLOW) {
        thread::sleep(Duration::from_millis(20));
    }
    front_end.signal("-INT");
    front_end.finish();
    let refused = test(&machine, &["--queue", "--resume"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("and there is a checkpoint of it here"),
        "{refused:?}"
    );
}

on_both_kinds! {
    a_search_moves_from_the_queue_to_one_process_and_back
    a_search_that_cannot_move_stays
}
