//! Shared searches of a program that is compared with an earlier version of it.

use std::fs;
use std::process::Command;

use crate::commands::{Finished, Machine, Running};
use crate::programs::{SEED, dp_alone, guided_checker, ways_out};
use crate::server::{Kind, Server, on_both_kinds};

/// What is known of an earlier version: every second requirement that some executions cover.
fn earlier_version() -> String {
    let report = guided_checker()
        .max_executions(300)
        .coverage(true)
        .run(|| ways_out(3));
    let mut keys: Vec<_> = report.coverage().covered_keys().collect();
    keys.sort();
    let mut text = "near\ttests/tests/queue/programs.rs\t1\t9999\n".to_owned();
    for key in keys.iter().step_by(2) {
        let (metric, places) = key.split_once(' ').unwrap();
        if let Some((first, second)) = places.split_once(" -> ") {
            text += &format!("covered\t{metric}\t{first}\t{second}\n");
        }
    }
    assert!(text.lines().count() > 10, "{text}");
    text
}

/// Workers have the file of the front end from the queue: their streams are those of one process that reads it.
fn streams_prefer_what_differs_from_the_version_of_the_front_end(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let test = "programs::guided";
    let body = || ways_out(3);
    let without = crate::samplers::alone(&guided_checker(), SEED, 300, body).sum;
    let machine = Machine::new(&server.address());
    let path = machine.path("earlier");
    fs::write(&path, earlier_version()).unwrap();
    let checker = guided_checker().set_option("since", path.to_str().unwrap());
    let expected = crate::samplers::alone(&checker, SEED, 300, body).sum;
    assert_ne!(expected, without, "nothing is preferred");
    for workers in [1, 3] {
        let _ = fs::remove_file(machine.path("sums"));
        let arguments = ["test", test, "--exact", "--json", "--queue"];
        let arguments = [&arguments[..], &["--", "--", "--include-ignored"]].concat();
        let mut command = machine.command(&arguments);
        command.env("RADDLE_SINCE", &path);
        let front_end = Running::of(command.spawn().unwrap());
        let workers: Vec<_> = (0..workers).map(|_| machine.worker(&[])).collect();
        let finished = front_end.finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        workers.into_iter().for_each(|worker| _ = worker.finish());
        assert_eq!(machine.sums()[test], expected);
    }
}

on_both_kinds! {
    streams_prefer_what_differs_from_the_version_of_the_front_end
}

fn git(machine: &Machine, arguments: &[&str]) {
    let identity = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ];
    let status = Command::new("git")
        .args(identity)
        .args(arguments)
        .current_dir(machine.path(""))
        .status()
        .unwrap();
    assert!(status.success(), "git {arguments:?}");
}

/// A version is recorded with what all workers have covered, and a test that has not changed needs no worker.
#[test]
fn a_test_that_has_not_changed_is_left_out() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    fs::write(machine.path(".gitignore"), "*\n!/.gitignore\n").unwrap();
    git(&machine, &["init", "--quiet"]);
    git(&machine, &["add", "--all"]);
    git(&machine, &["commit", "--quiet", "--message", "x"]);
    let run = |workers: usize| -> Finished {
        let arguments = [
            "test",
            "programs::dp4",
            "--exact",
            "--json",
            "--since",
            "HEAD",
        ];
        let others = [
            "--strategy",
            "exhaustive",
            "--queue",
            "--",
            "--",
            "--include-ignored",
        ];
        let front_end = machine.start(&[&arguments[..], &others].concat());
        let workers: Vec<_> = (0..workers).map(|_| machine.worker(&[])).collect();
        let finished = front_end.finish();
        workers.into_iter().for_each(|worker| _ = worker.finish());
        finished
    };
    let first = run(2);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert_eq!(first.events("finished")[0]["classes"], dp_alone(4).0);
    let [requirements] = &first.events("requirements")[..] else {
        panic!("{first:?}");
    };
    assert_eq!(requirements["is_complete"], true);
    assert!(!requirements["covered"].as_array().unwrap().is_empty());
    let second = run(0);
    assert_eq!(second.code, Some(0), "{second:?}");
    assert!(second.events("finished").is_empty(), "{second:?}");
}
