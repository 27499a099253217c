//! The page of the book shows the output of the commands, but for numbers, names and places.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::commands::Machine;
use crate::server::{Kind, Server};

/// A text with `#` for every number, and the names of the page for those of this test.
fn normalised(text: &str) -> String {
    let names = text
        .replace(" queue programs::slow_dp5", " table dinner")
        .replace(" queue programs::slowly_sampled", " table dinner")
        .replace("programs::slow_dp5", "dinner")
        .replace("127.0.0.1", "10.0.0.1");
    let mut normal = String::new();
    for c in names.chars() {
        let is_number = c.is_ascii_digit() || (normal.ends_with('#') && ",.".contains(c));
        match is_number {
            true if normal.ends_with('#') => {}
            true => normal.push('#'),
            false => normal.push(c),
        }
    }
    // Units of time depend on the machine.
    normal.replace("#ms)", "#s)").trim().to_owned()
}

/// The lines about progress, and the others.
fn split(text: &str) -> (Vec<&str>, Vec<&str>) {
    text.lines().partition(|line| line.starts_with("   ... "))
}

/// The blocks of text on the page.
fn blocks() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/many-machines.md");
    let page = fs::read_to_string(page).unwrap();
    let starts = page.split("\n```text\n").skip(1);
    starts
        .map(|rest| normalised(rest.split("\n```").next().unwrap()))
        .collect()
}

#[test]
fn the_page_shows_what_is_printed() {
    let Some(server) = Server::own(Kind::Redis) else {
        return;
    };
    let [passed, worker_end, sampled, refused, resumed, status]: [String; 6] =
        blocks().try_into().unwrap();
    let machine = Machine::new(&server.address());
    let test = [
        "test",
        "programs::slow_dp5",
        "--queue",
        "--",
        "--",
        "--include-ignored",
    ];
    let worker = machine.worker(&["--slice", "20ms"]);
    let front_end = machine.start(&test);
    let current = || machine.run(&["queue", "status"]).stdout;
    // A name of a machine may contain digits.
    let names = |text: &str| {
        let is_name = |line: &&str| line.starts_with("  ") && line.ends_with(":#");
        let lines = text.lines().filter(|line| !is_name(line));
        lines.collect::<Vec<_>>().join("\n")
    };
    loop {
        let now = normalised(&current());
        if names(&now) == names(&status) {
            break;
        }
        assert!(!now.contains("every class"), "{now}\n\n{status}");
        thread::sleep(Duration::from_millis(20));
    }
    let mut other = machine.command(&["work"]);
    other.env("RADDLE_MAX_EVENTS", "1000");
    let other = normalised(&machine.run_command(other).stderr);
    assert!(other.contains(&refused), "{other}\n\n{refused}");
    worker.signal("-INT");
    worker.finish();
    front_end.signal("-INT");
    let stopped = normalised(&front_end.finish().stdout);
    // What was typed is what resumes; the page has typed another strategy and no arguments of the harness.
    let typed = "dinner --queue -- -- --include-ignored\n";
    assert!(stopped.contains(typed), "{stopped}");
    let stopped = stopped.replace(typed, "dinner --strategy exhaustive --queue\n");
    assert!(stopped.contains(&resumed), "{stopped}\n\n{resumed}");
    let worker = machine.start(&["work", "--jobs", "2", "--wait", "20s"]);
    let front_end = machine.run(&test);
    let printed = normalised(&format!("{}{}", front_end.stderr, front_end.stdout));
    // How often progress is printed depends on the machine.
    let (progress, others) = split(&printed);
    let (shown, passed) = split(&passed);
    assert_eq!(others, passed);
    for line in progress.iter().filter(|line| line.contains(" workers")) {
        assert_eq!([*line], shown[..]);
    }
    let worker = normalised(&worker.finish().stderr);
    assert_eq!(worker, worker_end);
    let (worker, other) = (machine.worker(&[]), machine.worker(&[]));
    let mut test = test;
    test[1] = "programs::slowly_sampled";
    let front_end = machine.run(&test);
    let printed = normalised(&format!("{}{}", front_end.stderr, front_end.stdout));
    let (progress, others) = split(&printed);
    let (shown, sampled) = split(&sampled);
    assert_eq!(others, sampled);
    for line in progress.iter().filter(|line| line.contains(" workers")) {
        assert_eq!([*line], shown[..]);
    }
    worker.finish();
    other.finish();
}
