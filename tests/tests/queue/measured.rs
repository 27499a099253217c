//! Coverage, bounds of preemptions and histories of searches that are shared.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use crate::commands::{Finished, Machine, Running};
use crate::programs::{GUIDED, SEED, bounded_alone, guided_checker, ways_out};
use crate::server::{Kind, Server, on_both_kinds};

/// The coverage that a check has kept.
#[derive(Debug, PartialEq, Eq)]
struct Kept {
    executions: u64,
    /// Each requirement with its status.
    goals: BTreeSet<(String, String)>,
}

impl Kept {
    fn of(machine: &Machine) -> Self {
        let text = fs::read_to_string(machine.path("coverage")).unwrap();
        let (executions, goals) = text.split_once('\n').unwrap();
        let goal = |line: &str| {
            let (status, goal) = line.split_once('\t').unwrap();
            (goal.to_owned(), status.to_owned())
        };
        Kept {
            executions: executions.parse().unwrap(),
            goals: goals.lines().map(goal).collect(),
        }
    }

    fn covered(&self) -> BTreeSet<&str> {
        let covered = self.goals.iter().filter(|(_, status)| status == "covered");
        covered.map(|(goal, _)| goal.as_str()).collect()
    }

    fn claims_impossible(&self) -> bool {
        self.goals
            .iter()
            .any(|(_, status)| status.starts_with("impossible"))
    }
}

/// Starts a front end for this test alone.
fn front_end(machine: &Machine, test: &str) -> Running {
    let flags = ["test", test, "--exact", "--json", "--queue"];
    machine.start(&[&flags[..], &["--", "--", "--include-ignored"]].concat())
}

/// Runs a test in one process.
fn alone(test: &str) -> (Finished, Machine) {
    let machine = Machine::new("redis://127.0.0.1:1");
    let flags = ["test", test, "--exact", "--json"];
    let finished = machine.run(&[&flags[..], &["--", "--", "--include-ignored"]].concat());
    (finished, machine)
}

fn shared(server: &Server, test: &str, workers: usize) -> (Finished, Machine) {
    let machine = Machine::new(&server.address());
    let front_end = front_end(&machine, test);
    let workers: Vec<_> = (0..workers)
        .map(|_| machine.worker(&["--slice", "1ms"]))
        .collect();
    let finished = front_end.finish();
    workers.into_iter().for_each(|worker| _ = worker.finish());
    (finished, machine)
}

fn an_exhaustive_search_covers_what_one_process_does(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let test = "programs::covered";
    let (finished, machine) = alone(test);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let expected = Kept::of(&machine);
    assert!(expected.claims_impossible() && expected.covered().len() > 20);
    for workers in [1, 2, 4] {
        let (finished, machine) = shared(&server, test, workers);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let kept = Kept::of(&machine);
        assert_eq!(kept.executions, expected.executions);
        assert_eq!(kept.covered(), expected.covered(), "{workers} workers");
        // More executions are examined for requirements that are possible.
        let open = |kept: &Kept| kept.goals.iter().any(|(_, status)| status == "not tried");
        assert_eq!(open(&kept), open(&expected));
        let known = |kept: &Kept| -> BTreeSet<String> {
            kept.goals.iter().map(|(goal, _)| goal.clone()).collect()
        };
        assert!(known(&kept).is_superset(&known(&expected)));
    }
}

/// Parts of workers that are stopped past their lease or killed are explored again, with their coverage.
fn the_coverage_of_stopped_and_killed_workers_is_that_of_one_process(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let expected = Kept::of(&alone("programs::covered").1);
    let machine = Machine::new(&server.address());
    let mut front_end = machine.front_end("programs::slowly_covered");
    let flags = ["--lease", "150ms", "--slice", "20ms"];
    let mut workers = [machine.worker(&flags), machine.worker(&flags)];
    crate::exact::wait_for_classes(&machine);
    let mut disturbed = 0;
    while !front_end.has_ended() && disturbed < 8 {
        workers[0].signal("-STOP");
        thread::sleep(Duration::from_millis(250));
        workers[0].signal("-CONT");
        workers[1].signal("-KILL");
        workers[1] = machine.worker(&flags);
        disturbed += 1;
        // The late worker works again.
        thread::sleep(Duration::from_millis(100));
    }
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    assert!(disturbed > 0, "nothing was disturbed");
    let kept = Kept::of(&machine);
    assert_eq!(kept.executions, expected.executions);
    // The places are those of another test, but for the program that both run.
    assert_eq!(kept.covered(), expected.covered());
    for worker in workers {
        worker.finish();
    }
}

#[test]
fn a_search_that_has_not_ended_calls_nothing_impossible() {
    let Some(server) = Server::start() else {
        return;
    };
    let (finished, machine) = shared(&server, "programs::covered_in_part", 2);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let kept = Kept::of(&machine);
    assert!(!kept.claims_impossible(), "{kept:?}");
    assert!(
        kept.goals.iter().any(|(_, status)| status == "not tried"),
        "{kept:?}"
    );
    assert_eq!(kept.executions, 40);
}

#[test]
fn streams_cover_what_their_seed_says() {
    let Some(server) = Server::start() else {
        return;
    };
    for test in ["programs::covered_at_random", "programs::guided"] {
        let run = |workers| {
            let (finished, machine) = shared(&server, test, workers);
            assert_eq!(finished.code, Some(0), "{finished:?}");
            (Kept::of(&machine), machine.sums())
        };
        let (one, sums) = run(1);
        assert!(!one.claims_impossible());
        assert_eq!(one.executions, 300);
        assert!(sums.values().all(|&sum| sum > 0) && sums.len() == 1);
        assert_eq!(run(3), (one, sums), "{test}");
    }
}

/// A stream begins with what those of earlier generations have covered, and with nothing of its own generation, whose
/// streams end in any order.
fn guided_streams_learn_from_earlier_generations_only(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let run = |test: &str, workers| {
        let (finished, machine) = shared(&server, test, workers);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let sums = machine.sums();
        (Kept::of(&machine), sums[test])
    };
    let body = || ways_out(3);
    let alone = |executions| crate::samplers::alone(&guided_checker(), SEED, executions, body).sum;
    // The streams of the first generation are checks of their own.
    assert_eq!(run("programs::guided", 2).1, alone(300));
    let test = "programs::guided_for_long";
    let expected = run(test, 1);
    assert_eq!(expected.0.executions, GUIDED);
    assert_ne!(expected.1, alone(GUIDED), "nothing was learned");
    for workers in [3, 4] {
        assert_eq!(run(test, workers), expected, "{workers} workers");
    }
}

fn a_bound_of_preemptions_is_that_of_one_process(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let test = "programs::bounded";
    let (classes, sum) = bounded_alone();
    let (by_one, _) = alone(test);
    for workers in [1, 3] {
        let (finished, machine) = shared(&server, test, workers);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let [end] = &finished.events("finished")[..] else {
            panic!("{finished:?}");
        };
        assert_eq!(end["guarantee"], by_one.events("finished")[0]["guarantee"]);
        assert_eq!(end["guarantee"]["Bounded"]["preemptions"], 1, "{end}");
        assert_eq!(end["classes"], classes);
        assert_eq!(machine.sums(), [(test.to_owned(), sum)].into());
    }
}

/// What one run finds, the next one replays first, which needs no worker.
#[test]
fn a_failure_of_a_shared_search_is_remembered() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = front_end(&machine, "programs::remembered");
    let worker = machine.worker(&[]);
    let first = front_end.finish();
    assert_eq!(first.code, Some(1), "{first:?}");
    worker.finish();
    let again = self::front_end(&machine, "programs::remembered").finish();
    assert_eq!(again.code, Some(1), "{again:?}");
    let search = &again.events("failure")[0]["failure"]["search"];
    assert_ne!(search, "exhaustive");
    assert_eq!(
        first.events("failure")[0]["failure"]["search"],
        "exhaustive"
    );
}

on_both_kinds! {
    an_exhaustive_search_covers_what_one_process_does
    the_coverage_of_stopped_and_killed_workers_is_that_of_one_process
    guided_streams_learn_from_earlier_generations_only
    a_bound_of_preemptions_is_that_of_one_process
}
