//! Native programs and tests: their class sets are those of one process, and of the same program with raddle's types.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, Strategy};

use crate::commands::{Finished, Machine, Running, every_class};
use crate::programs::alone;
use crate::refusals::assert_refused;
use crate::server::{self, Kind, Server, on_both_kinds};
use crate::support;

/// The number of orders of the additions of some threads.
fn orders(threads: u64, additions: u64) -> u64 {
    let factorial = |number: u64| (1..=number).product::<u64>();
    factorial(threads * additions) / factorial(additions).pow(threads as u32)
}

/// The number of classes of the same program with raddle's types.
fn twin(threads: u64, additions: u64) -> u64 {
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let (classes, _) = alone(checker, move || {
        let counter = Arc::new(AtomicU32::new(0));
        let add = |_| {
            let counter = counter.clone();
            raddle::thread::spawn(move || {
                (0..additions).for_each(|_| _ = counter.fetch_add(1, SeqCst));
            })
        };
        let all: Vec<_> = (0..threads).map(add).collect();
        all.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(u64::from(counter.load(SeqCst)), threads * additions);
    });
    classes
}

/// The directory of the program with its library.
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = server::directory("adders");
    let path = |name: &str| directory.join(name).display().to_string();
    for (step, name) in [("1", "libstep.so"), ("2", "libother.so")] {
        let (step, library) = (format!("-DSTEP={step}"), path(name));
        let library = ["-shared", "-fPIC", "-o", &library];
        let source = [
            &step,
            "-Wl,--build-id",
            "-Wl,-soname,libstep.so",
            "tests/native/adders_step.c",
        ];
        support::gcc(&[&library[..], &source].concat());
    }
    let search = format!("-L{}", directory.display());
    let source = ["cc", "tests/native/adders.c", "-O1", "-o", &path("adders")];
    let libraries = [&search, "-lstep", "-Wl,-rpath,$ORIGIN"];
    support::command(&[&source[..], &libraries].concat()).exits(0);
    directory
});

/// A machine with a copy of the program.
struct Site {
    machine: Machine,
}

impl Site {
    fn new(address: &str) -> Self {
        let machine = Machine::new(address);
        for name in ["adders", "libstep.so"] {
            fs::copy(BUILT.join(name), machine.path(name)).unwrap();
        }
        Site { machine }
    }

    /// Has another build of its library.
    fn with_another_library(self) -> Self {
        fs::copy(BUILT.join("libother.so"), self.machine.path("libstep.so")).unwrap();
        self
    }

    fn command(&self, flags: &[&str], arguments: &[&str]) -> Command {
        let command = ["run", "--budget", "10m"];
        self.machine
            .command(&[&command[..], flags, &["--", "./adders"], arguments].concat())
    }

    /// Runs the check in one process.
    fn alone(&self, flags: &[&str], arguments: &[&str]) -> Finished {
        self.machine.run_command(self.command(flags, arguments))
    }

    fn front_end(&self, flags: &[&str], arguments: &[&str]) -> Running {
        let flags = [&["--queue"], flags].concat();
        Running::of(self.command(&flags, arguments).spawn().unwrap())
    }

    fn worker(&self, flags: &[&str]) -> Running {
        let program = ["--program", "./adders"];
        self.machine.worker(&[&program[..], flags].concat())
    }

    fn sum(&self) -> Option<u64> {
        self.machine.sums().get("adders").copied()
    }
}

const EXHAUSTIVE: [&str; 2] = ["--strategy", "exhaustive"];
const SMALL: [&str; 2] = ["3", "3"];

/// The sum of the fingerprints of the classes that one process runs.
fn sum_alone(flags: &[&str], arguments: &[&str]) -> Option<u64> {
    let site = Site::new("redis://127.0.0.1:1");
    assert_eq!(site.alone(flags, arguments).code, Some(0));
    site.sum()
}

fn one_two_and_four_workers_run_every_class_once(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let sum = sum_alone(&EXHAUSTIVE, &SMALL);
    assert!(sum.is_some_and(|sum| sum > 0));
    assert_eq!(twin(3, 3), orders(3, 3));
    for count in [1, 2, 4] {
        let site = Site::new(&server.address());
        let front_end = site.front_end(&EXHAUSTIVE, &SMALL);
        // Each has a copy of its own, and the smallest slices.
        let sites: Vec<_> = (0..count).map(|_| Site::new(&server.address())).collect();
        let workers = sites.iter().map(|it| it.worker(&["--slice", "1ms"]));
        let workers: Vec<_> = workers.collect();
        let front_end = front_end.finish();
        assert_eq!(front_end.code, Some(0), "{front_end:?}");
        assert_eq!(
            every_class(&front_end.stderr),
            Some(orders(3, 3)),
            "{front_end:?}"
        );
        assert_eq!(site.sum(), sum, "{count} workers");
        for worker in workers {
            assert!(worker.finish().has_worked());
        }
    }
}

fn killed_workers_lose_nothing(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let arguments = ["3", "4"];
    let sum = sum_alone(&EXHAUSTIVE, &arguments);
    let site = Site::new(&server.address());
    let mut front_end = site.front_end(&EXHAUSTIVE, &arguments);
    let flags = ["--lease", "300ms", "--slice", "20ms"];
    let mut rng = Rng::with_seed(3);
    let mut workers = [site.worker(&flags), site.worker(&flags)];
    let mut killed = 0;
    while !front_end.has_ended() && killed < 8 {
        thread::sleep(Duration::from_millis(rng.u64(100..250)));
        let at = rng.usize(..workers.len());
        workers[at].signal("-KILL");
        workers[at] = site.worker(&flags);
        killed += 1;
    }
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    assert_eq!(every_class(&front_end.stderr), Some(orders(3, 4)));
    assert_eq!(site.sum(), sum);
    assert!(killed >= 3, "only {killed} were killed");
}

/// A crash is a failure with a schedule, and not the end of a worker.
fn a_crash_is_the_failure_that_it_is_in_one_process(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    for (end, headline) in [
        ("segv", "SIGSEGV: it used address 0x0"),
        ("abort", "the program called abort"),
        ("status", "the program ended with status 7"),
    ] {
        let site = Site::new(&server.address());
        let arguments = ["3", "3", end];
        let story = |finished: &Finished| {
            assert_eq!(finished.code, Some(1), "{finished:?}");
            let (_, story) = finished.stderr.split_once("(exhaustive)\n").unwrap();
            story.split("\n  replay: ").next().unwrap().to_owned()
        };
        let alone = story(&site.alone(&EXHAUSTIVE, &arguments));
        assert!(alone.contains(headline), "{alone}");
        let front_end = site.front_end(&EXHAUSTIVE, &arguments);
        let worker = site.worker(&["--slice", "1ms"]);
        let front_end = front_end.finish();
        assert_eq!(story(&front_end), alone);
        assert!(worker.finish().has_worked());
        // Its schedule is that of the worker.
        let token = front_end.stderr.split("RADDLE_REPLAY=").nth(1).unwrap();
        let token = token.split(' ').next().unwrap();
        let replayed = site.alone(&["--replay", token], &arguments);
        assert_eq!(replayed.code, Some(1), "{replayed:?}");
        assert!(replayed.stderr.contains(headline), "{replayed:?}");
    }
}

/// Ctrl-C of the front end leaves the search in the queue, and the same command goes on.
#[test]
fn an_interrupted_front_end_is_resumed() {
    let Some(server) = Server::start() else {
        return;
    };
    let arguments = ["3", "4"];
    let site = Site::new(&server.address());
    let first = site.front_end(&EXHAUSTIVE, &arguments);
    let worker = site.worker(&["--slice", "20ms"]);
    crate::exact::wait_for_classes(&site.machine);
    first.signal("-INT");
    let first = first.finish();
    assert_eq!(first.code, Some(130), "{first:?}");
    assert_eq!(every_class(&first.stderr), None, "{first:?}");
    for part in [
        "; stopped by the user (exhaustive",
        "\n  to resume: cargo raddle run --budget 10m --queue --strategy exhaustive -- ./adders 3 4\n",
    ] {
        assert!(first.stderr.contains(part), "{part}: {first:?}");
    }
    // Other arguments are another search; the process that is refused says nothing itself.
    let other = site.front_end(&EXHAUSTIVE, &["3", "2"]).finish();
    assert_refused(&other, "`argument 2` is 4 in the queue, and 2 here");
    assert_refused(
        &other,
        "help: resume a run with the same arguments of the program",
    );
    assert!(!other.stderr.contains("panicked"), "{other:?}");
    let second = site.front_end(&EXHAUSTIVE, &arguments).finish();
    assert_eq!(
        every_class(&second.stderr),
        Some(orders(3, 4)),
        "{second:?}"
    );
    worker.finish();
}

/// A process that ends without a word, in every execution of a class: in one process the command ends with exit
/// code 2, and no result.
#[test]
fn a_process_that_ends_without_a_word_is_no_pass() {
    let Some(server) = Server::start() else {
        return;
    };
    let site = Site::new(&server.address());
    let arguments = ["2", "1", "kill"];
    let alone = site.alone(&EXHAUSTIVE, &arguments);
    assert_eq!(alone.code, Some(2), "{alone:?}");
    let front_end = site.front_end(&EXHAUSTIVE, &arguments);
    let worker = site.worker(&[]);
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(2), "{front_end:?}");
    assert!(
        front_end.stderr.contains("ended with signal: 9"),
        "{front_end:?}"
    );
    site.machine.run(&["queue", "clear"]);
    worker.finish();
}

/// The executions of samplers and of `auto` depend on the seed, and not on the workers.
#[test]
fn samplers_run_the_executions_of_their_seed() {
    let Some(server) = Server::start() else {
        return;
    };
    let seeded = ["--seed", "11", "--max-executions", "1000"];
    for strategy in ["random", "pct", "surw", "auto"] {
        let flags = [&seeded[..], &["--strategy", strategy]].concat();
        let run = |count: usize| {
            let site = Site::new(&server.address());
            let front_end = site.front_end(&flags, &SMALL);
            let workers: Vec<_> = (0..count)
                .map(|_| site.worker(&["--slice", "1ms"]))
                .collect();
            let front_end = front_end.finish();
            assert_eq!(front_end.code, Some(0), "{front_end:?}");
            workers.into_iter().for_each(|worker| _ = worker.finish());
            let summary = front_end.stderr.split(" in 1000 runs").next().unwrap();
            assert!(front_end.stderr.contains(" in 1000 runs"), "{front_end:?}");
            // The exhaustive half of `auto` is divided by the workers.
            let streams = match strategy {
                "auto" => site.machine.sums().get("streams").copied(),
                _ => site.sum(),
            };
            let classes =
                (strategy != "auto").then(|| summary.rsplit(": ").next().unwrap().to_owned());
            (streams.unwrap(), classes)
        };
        assert_eq!(run(1), run(3), "{strategy}");
    }
    // A search that ends within its half has run everything.
    let site = Site::new(&server.address());
    let front_end = site.front_end(&["--max-executions", "5000"], &SMALL);
    let worker = site.worker(&[]);
    let front_end = front_end.finish();
    assert_eq!(
        every_class(&front_end.stderr),
        Some(orders(3, 3)),
        "{front_end:?}"
    );
    worker.finish();
}

fn another_build_of_the_program_or_of_its_library_is_refused(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let site = Site::new(&server.address());
    let front_end = site.front_end(&EXHAUSTIVE, &SMALL);
    let other = Site::new(&server.address()).with_another_library();
    let reason = "a search of program adders that is not this one: `library libstep.so` is ";
    assert_refused(&other.worker(&[]).finish(), reason);
    let other = Site::new(&server.address());
    change_build(&other.machine.path("adders"));
    let reason = "a search of program adders that is not this one: `program` is ";
    assert_refused(&other.worker(&[]).finish(), reason);
    // Another setting of the native library, which comes from the environment.
    let mut command = site
        .machine
        .command(&["work", "--jobs", "1", "--wait", "20s"]);
    command
        .args(["--program", "./adders"])
        .env("RADDLE_PLAIN", "explore");
    let reason = "that is not this one: `plain` is missing in the queue, and explore here";
    assert_refused(&site.machine.run_command(command), reason);
    // A worker for tests, and one with a program of another name.
    let tests = site.machine.worker(&[]).finish();
    assert_refused(
        &tests,
        "the run in the queue has program adders, which is not here",
    );
    fs::copy(site.machine.path("adders"), site.machine.path("renamed")).unwrap();
    let renamed = site.machine.worker(&["--program", "./renamed"]).finish();
    assert_refused(
        &renamed,
        "the run in the queue has program adders, which is not here",
    );
    // None of them has done harm.
    let worker = site.worker(&[]);
    let front_end = front_end.finish();
    assert_eq!(
        every_class(&front_end.stderr),
        Some(orders(3, 3)),
        "{front_end:?}"
    );
    worker.finish();
}

/// Changes the build ID of a program.
fn change_build(program: &Path) {
    let mut bytes = fs::read(program).unwrap();
    let note = b"\x03\0\0\0GNU\0";
    match bytes.windows(note.len()).position(|window| window == note) {
        Some(at) => bytes[at + note.len()] ^= 1,
        None => bytes.push(0),
    }
    fs::write(program, bytes).unwrap();
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

const BEGINS_AGAIN: &str = "a search that explores what races lead to begins again";

#[test]
fn searches_that_begin_again_are_refused() {
    let Some(server) = Server::start() else {
        return;
    };
    let site = Site::new(&server.address());
    for (flags, reason) in [
        (&["--keep-going"][..], BEGINS_AGAIN),
        (&["--plain", "promote"], BEGINS_AGAIN),
        (
            &["--uninitialised"],
            "it compares reads of unwritten memory",
        ),
    ] {
        let finished = site.front_end(flags, &SMALL).finish();
        assert_refused(
            &finished,
            &format!("the search of `adders` cannot be shared: {reason}"),
        );
        assert_eq!(site.machine.run(&["queue", "status"]).stdout, "no run\n");
    }
    let flags = [
        "--keep-going",
        "--plain",
        "explore",
        "--strategy",
        "exhaustive",
    ];
    let front_end = site.front_end(&flags, &["2", "2"]);
    let worker = site.worker(&[]);
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    worker.finish();
}

/// Tests without raddle's types, in a crate whose build is a stand-in.
#[test]
fn native_tests_are_shared() {
    let Some(server) = Server::start() else {
        return;
    };
    let library = format!("-Clink-arg={}", support::LIBRARY.display());
    let search = support::LIBRARY.parent().unwrap().display();
    let search = format!("-Clink-arg=-Wl,-rpath,{search}");
    let flags = ["--test", &library, &search];
    let binary = support::rust("shared.rs", "queue-shared", &flags);
    let machine = Machine::with_binary(&server.address(), &binary);
    let run = |flags: &[&str]| {
        let command = ["test", "--native", "--json", "--strategy", "exhaustive"];
        machine.start(&[&command[..], flags].concat())
    };
    let alone = run(&[]).finish();
    let front_end = run(&["--queue"]);
    let workers = [0, 1].map(|_| machine.worker(&["--native", "--slice", "1ms"]));
    let front_end = front_end.finish();
    // One of the tests fails.
    assert_eq!(
        (alone.code, front_end.code),
        (Some(1), Some(1)),
        "{front_end:?}"
    );
    let adds = ("adds".to_owned(), orders(3, 2));
    assert_eq!(front_end.classes(), [adds].into(), "{front_end:?}");
    assert_eq!(alone.classes(), front_end.classes());
    let failures = |finished: &Finished| -> Vec<String> {
        let failures = finished.events("failure");
        let message =
            |it: &serde_json::Value| it["failure"]["message"].as_str().unwrap().to_owned();
        failures.iter().map(message).collect()
    };
    assert_eq!(failures(&front_end), failures(&alone));
    assert_eq!(failures(&front_end).len(), 1);
    assert!(
        failures(&front_end)[0].contains("an update was lost"),
        "{front_end:?}"
    );
    workers.into_iter().for_each(|worker| _ = worker.finish());
}

on_both_kinds! {
    one_two_and_four_workers_run_every_class_once
    killed_workers_lose_nothing
    a_crash_is_the_failure_that_it_is_in_one_process
    another_build_of_the_program_or_of_its_library_is_refused
}
