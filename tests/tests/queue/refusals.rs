//! Everything that cannot be shared is refused with the reason.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::commands::{Finished, Machine};
use crate::server::{Kind, Server, directory, exists, on_both_kinds};

pub fn assert_refused(finished: &Finished, reason: &str) {
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains(reason), "{reason}: {finished:?}");
}

#[test]
fn searches_that_cannot_be_shared_are_refused() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    for (test, reason) in [
        ("delayed", "only `auto`, `exhaustive`, `coverage` and the"),
        ("reduced_auto", "the strategy `auto` is not shared with a"),
        ("bounded_auto", "a bound of preemptions is shared with"),
        (
            "remembered_random",
            "it has a history of classes (`remember`)",
        ),
        ("verified", "it looks at every execution (`verify_"),
    ] {
        let finished = machine.front_end(&format!("programs::{test}")).finish();
        let reason = format!("the search of `programs::{test}` cannot be shared: {reason}");
        assert_refused(&finished, &reason);
        // Nothing is left that a run with other settings would have to remove.
        assert_eq!(machine.run(&["queue", "status"]).stdout, "no run\n");
    }
    for (flags, reason) in [
        (&["--workers", "2"][..], "it has several workers of its own"),
        (
            &["--strategy", "enumerate"],
            "only `auto`, `exhaustive`, `coverage`",
        ),
    ] {
        let arguments = [&["test", "programs::dp4", "--queue"], flags].concat();
        let more = ["--", "--", "--include-ignored"];
        let finished = machine.run(&[&arguments[..], &more].concat());
        assert_refused(&finished, reason);
    }
    let doc = machine.run(&["test", "--queue", "--", "--doc"]);
    assert_refused(&doc, "doc tests are not shared");
}

#[test]
fn addresses_that_cannot_be_used_are_refused() {
    if !exists(Kind::Redis) {
        return;
    }
    for (address, reason) in [
        ("", "no address of a queue is given"),
        (
            "postgres://host?sslmode=full",
            "has the unknown `sslmode` full",
        ),
        ("redis://host?cacert=ca.crt", "has an unknown option"),
        ("host:6379", "has no scheme"),
    ] {
        let machine = Machine::new(address);
        for command in [&["test", "--queue"][..], &["work"], &["queue", "status"]] {
            assert_refused(&machine.run(command), reason);
        }
    }
    let machine = Machine::new("");
    let given = machine.run(&["work", "--queue", "redis://:secret@127.0.0.1"]);
    assert_refused(
        &given,
        "help: put the address into the variable RADDLE_QUEUE",
    );
    assert!(!given.stderr.contains("secret"), "{given:?}");
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let machine = Machine::new(&format!("redis://:secret@127.0.0.1:{port}"));
    let nobody = machine.run(&["queue", "status"]);
    assert_refused(
        &nobody,
        &format!("the queue redis://127.0.0.1:{port}/0 cannot be reached"),
    );
    assert!(!nobody.stderr.contains("secret"), "{nobody:?}");
}

#[test]
fn a_server_that_may_lose_parts_is_refused() {
    let settings = ["--maxmemory-policy", "allkeys-lru", "--maxmemory", "100mb"];
    let Some(server) = Server::start_with(Kind::Redis, &settings) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let reason = "(policy allkeys-lru), and would lose parts of the search";
    assert_refused(&machine.run(&["test", "--queue"]), reason);
    assert_refused(&machine.run(&["work"]), reason);
}

#[test]
fn a_password_is_used_and_never_shown() {
    let Some(server) = Server::start_with(Kind::Redis, &["--requirepass", "s3cret/x"]) else {
        return;
    };
    let place = server.address().replace("redis://", "");
    let machine = Machine::new(&format!("redis://{place}"));
    assert_refused(&machine.run(&["queue", "status"]), "NOAUTH");
    let machine = Machine::new(&format!("redis://:wrong@{place}"));
    assert_refused(&machine.run(&["queue", "status"]), "WRONGPASS");
    let machine = Machine::new(&format!("redis://:s3cret%2Fx@{place}/3?prefix=mine"));
    // The test fails if it can read the address.
    let front_end = machine.front_end("programs::dp4");
    let worker = machine.worker(&[]);
    let (front_end, worker) = (front_end.finish(), worker.finish());
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    assert_eq!(front_end.classes().values().sum::<u64>(), 624);
    let place = format!("working for the queue redis://{place}/3?prefix=mine");
    assert!(worker.stderr.contains(&place), "{worker:?}");
    for text in [
        front_end.stdout,
        front_end.stderr,
        worker.stdout,
        worker.stderr,
    ] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

/// A user who may do nothing but use the keys of the queue.
#[test]
fn a_user_of_redis_needs_the_keys_of_the_queue_only() {
    let user = [
        "--user",
        "keeper",
        "on",
        ">s3cret/x",
        "~{mine}:*",
        "+@all",
        "-@dangerous",
        "-@pubsub",
        "+info",
    ];
    let Some(server) = Server::start_with(Kind::Redis, &user) else {
        return;
    };
    let place = server.address().replace("redis://", "");
    let machine = Machine::new(&format!("redis://keeper:wrong@{place}?prefix=mine"));
    assert_refused(&machine.run(&["queue", "status"]), "WRONGPASS");
    let machine = Machine::new(&format!("redis://keeper:s3cret%2Fx@{place}?prefix=other"));
    assert_refused(&machine.run(&["queue", "status"]), "NOPERM");
    let machine = Machine::new(&format!("redis://keeper:s3cret%2Fx@{place}?prefix=mine"));
    let log = directory("log").join("log");
    let worker = machine.worker(&["--log", log.to_str().unwrap()]);
    // A sampler uses all kinds of keys.
    let front_end = machine.front_end("programs::sampled_random").finish();
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    assert_eq!(front_end.events("finished")[0]["executions"], 5_000);
    let worker = worker.finish();
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("\"accepted\":true"), "{log}");
    for text in [
        front_end.stdout,
        front_end.stderr,
        worker.stdout,
        worker.stderr,
        log,
    ] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

fn a_worker_with_other_settings_or_another_build_is_refused(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let front_end = machine.front_end("programs::dp4");
    let work = ["work", "--jobs", "1", "--wait", "20s"];
    let mut other = machine.command(&work);
    other.env("RADDLE_MAX_EVENTS", "1000");
    let other = machine.run_command(other);
    let reason = "the queue has a search of queue programs::dp4 that is not this one: `max_events` is 100000 in the \
                  queue, and 1000 here";
    assert_refused(&other, reason);
    let machine_2 = Machine::with_binary(&server.address(), &another_build());
    let other = machine_2.run(&work);
    assert_refused(&other, "that is not this one: `program` is ");
    // Neither has done harm.
    let worker = machine.worker(&[]);
    let front_end = front_end.finish();
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    assert_eq!(front_end.classes().values().sum::<u64>(), 624);
    worker.finish();
}

#[test]
fn a_password_of_postgresql_is_used_and_never_shown() {
    // The file with the rules of access asks for a password unless the user is the one of the other tests.
    let Some(server) = Server::with_password("keeper", "s3cret/x") else {
        return;
    };
    let place = format!("127.0.0.1:{}/postgres", server.port());
    let status = |machine: &Machine, variables: &[(&str, &str)]| {
        let mut command = machine.command(&["queue", "status"]);
        command.envs(variables.iter().copied());
        machine.run_command(command)
    };
    let machine = Machine::new(&format!("postgres://keeper@{place}?schema=mine"));
    assert_refused(&status(&machine, &[]), "the server asks for a password");
    assert_refused(
        &status(&machine, &[("PGPASSWORD", "wrong")]),
        "password authentication failed",
    );
    assert_eq!(
        status(&machine, &[("PGPASSWORD", "s3cret/x")]).stdout,
        "no run\n"
    );
    let file = directory("pgpass").join("passwords");
    fs::write(&file, "*:*:*:keeper:s3cret/x\n").unwrap();
    let variables = [("PGPASSFILE", file.to_str().unwrap())];
    assert_eq!(status(&machine, &variables).stdout, "no run\n");
    let machine = Machine::new(&format!("postgres://keeper:s3cret%2Fx@{place}?schema=mine"));
    // The test fails if it can read the address.
    let front_end = machine.front_end("programs::dp4");
    let worker = machine.worker(&[]);
    let (front_end, worker) = (front_end.finish(), worker.finish());
    assert_eq!(front_end.code, Some(0), "{front_end:?}");
    assert_eq!(front_end.classes().values().sum::<u64>(), 624);
    let shown = format!("working for the queue postgres://{place}?schema=mine");
    assert!(worker.stderr.contains(&shown), "{worker:?}");
    for text in [
        front_end.stdout,
        front_end.stderr,
        worker.stdout,
        worker.stderr,
    ] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn a_server_of_postgresql_that_may_lose_parts_is_refused() {
    let Some(server) = Server::start_with(Kind::Postgres, &["fsync=off"]) else {
        return;
    };
    let machine = Machine::new(&server.address());
    assert_refused(&machine.run(&["queue", "status"]), "(fsync is off)");
}

/// A copy of this program that differs in its build ID, or in its last byte if it has none.
pub fn another_build() -> std::path::PathBuf {
    let mut bytes = fs::read(std::env::current_exe().unwrap()).unwrap();
    let note = b"\x03\0\0\0GNU\0";
    match bytes.windows(note.len()).position(|window| window == note) {
        Some(at) => bytes[at + note.len()] ^= 1,
        None => bytes.push(0),
    }
    let path = directory("build").join("queue");
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn a_second_front_end_and_other_settings_are_refused(kind: Kind) {
    let Some(server) = Server::of(kind) else {
        return;
    };
    let machine = Machine::new(&server.address());
    let first = machine.front_end("programs::dp4");
    let has_run = || {
        machine
            .run(&["queue", "status"])
            .stdout
            .contains("programs::dp4")
    };
    while !has_run() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = machine.front_end("programs::dp4").finish();
    assert_refused(
        &second,
        "another `cargo raddle test --queue` waits for the run",
    );
    first.signal("-INT");
    assert_eq!(first.finish().code, Some(130));
    let mut other = machine.command(&["test", "programs::dp4", "--queue"]);
    other.args(["--max-events", "1000", "--", "--", "--include-ignored"]);
    let other = machine.run_command(other);
    let reason = "an unfinished run with other settings: `RADDLE_MAX_EVENTS` is missing in the queue, and 1000 here";
    assert_refused(&other, reason);
    let status = machine.run(&["queue", "status"]).stdout;
    assert!(status.contains("no front end: resume it"), "{status}");
    let worker = machine.worker(&[]);
    let third = machine.front_end("programs::dp4").finish();
    assert_eq!(third.code, Some(0), "{third:?}");
    worker.finish();
}

#[test]
fn a_worker_without_a_run_ends_after_its_wait() {
    let Some(server) = Server::start() else {
        return;
    };
    let machine = Machine::new(&server.address());
    let finished = machine.run(&["work", "--wait", "100ms"]);
    assert_refused(&finished, "the queue has no run");
}

on_both_kinds! {
    a_worker_with_other_settings_or_another_build_is_refused
    a_second_front_end_and_other_settings_are_refused
}
