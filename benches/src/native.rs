//! The speed of checks of C and C++ programs: those of `tests/native/speed.*`, in processes of
//! their own, in every mode, and next to the prototype of raddle's approach.
//!
//! Each execution counts as a whole, from the reset of memory to its end, with clocks and race
//! detection. Then follow tests of a Rust crate, next to the checkers for which such tests are
//! written.

mod peers;
mod prototype;
mod unit_tests;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure;

pub use prototype::Prototype;

const ROUNDS: usize = 5;
/// Executions for counting the points of one.
const COUNTED: u64 = 200;

/// Programs: their names, their sources, and the arguments that choose the test.
const PROGRAMS: [(&str, &str, &[&str]); 4] = [
    ("counter", "speed.c", &["counter"]),
    ("mutex", "speed.c", &["mutex"]),
    ("philosophers", "speed.c", &["philosophers"]),
    ("cpp", "speed.cpp", &[]),
];

/// A way to reset memory between executions, and the substrate of threads.
struct Mode {
    name: &'static str,
    settings: [(&'static str, &'static str); 2],
    executions: u64,
}

const fn mode(
    name: &'static str,
    restart: &'static str,
    substrate: &'static str,
    executions: u64,
) -> Mode {
    Mode {
        name,
        settings: [("RADDLE_RESTART", restart), ("RADDLE_SUBSTRATE", substrate)],
        executions,
    }
}

const MODES: [Mode; 4] = [
    mode("loop", "loop", "coroutine", 500_000),
    mode("snapshot", "snapshot", "coroutine", 100_000),
    mode("fork", "fork", "coroutine", 2_000),
    mode("os", "snapshot", "os", 5_000),
];

/// Cost of a point in the prototype by NATIVE.md, if the prototype is not available.
const PUBLISHED: f64 = 60.0;

/// Prints executions per second and the time of a point.
pub fn run(prototype: Option<&Path>) {
    let library = build_library();
    let prototype = prototype.map(|folder| Prototype::build(folder, &library));
    for (name, source, arguments) in PROGRAMS {
        let program = build_program(&library, source);
        let points = points(&mut check(&program, arguments, COUNTED));
        for mode in &MODES {
            let rates = (0..ROUNDS).map(|_| rate(&program, arguments, mode));
            let best = rates.fold(0.0, f64::max);
            let point = 1e9 / best / points;
            let mode = mode.name;
            println!("native {name} mode={mode} execs_per_s={best:.0} ns_per_point={point:.0}");
            if (name, mode) == ("counter", "loop") {
                compare(prototype.as_ref(), point);
            }
        }
    }
    unit_tests::run(&library);
}

/// Prints the cost of a point next to that of the prototype.
fn compare(prototype: Option<&Prototype>, point: f64) {
    let (peer, whose) = match prototype {
        Some(prototype) => (prototype.point(ROUNDS), "prototype"),
        None => (PUBLISHED, "published"),
    };
    let ratio = point / peer;
    println!("native counter mode={whose} ns_per_point={peer:.0} ratio={ratio:.1}");
}

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn succeed(command: &mut Command) {
    let status = command.current_dir(workspace()).status();
    let succeeded = status.as_ref().is_ok_and(|status| status.success());
    assert!(succeeded, "{command:?}: {status:?}");
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds the library, beside this program.
fn build_library() -> PathBuf {
    let folder = std::env::current_exe().expect("a program has a file");
    let folder = folder.parent().expect("a file is in a folder").to_owned();
    let target = folder.parent().expect("builds are in the target folder");
    let mut cargo = cargo();
    cargo.args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "raddle-native",
    ]);
    succeed(cargo.arg("--target-dir").arg(target));
    target.join("release/libraddle_native.so")
}

/// Builds the library in the profile of this program, for what does not depend on its speed.
pub(crate) fn build_library_like_this() -> PathBuf {
    if !cfg!(debug_assertions) {
        return build_library();
    }
    let folder = std::env::current_exe().expect("a program has a file");
    let folder = folder.parent().expect("a file is in a folder").to_owned();
    let target = folder.parent().expect("builds are in the target folder");
    let mut cargo = cargo();
    succeed(
        cargo
            .args(["build", "--quiet", "--lib", "--target-dir"])
            .arg(target),
    );
    target.join("debug/libraddle_native.so")
}

pub(crate) fn build_program(library: &Path, source: &str) -> PathBuf {
    let compiler = match source.ends_with("cpp") {
        true => "g++",
        false => "gcc",
    };
    let program = library.with_file_name(format!("native-{}", source.replace('.', "-")));
    let object = program.with_extension("o");
    let mut compile = Command::new(compiler);
    compile.args([
        "-g",
        "-O1",
        "-fsanitize=thread",
        "-Icrates/native/include",
        "-c",
    ]);
    let source = Path::new("tests/native").join(source);
    succeed(compile.arg(source).arg("-o").arg(&object));
    let folder = library.parent().expect("a file is in a folder");
    let mut link = Command::new(compiler);
    link.arg(&object).arg("-o").arg(&program).arg(library);
    succeed(link.arg(format!("-Wl,-rpath,{}", folder.display())));
    program
}

fn check(program: &Path, arguments: &[&str], executions: u64) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env("RADDLE_STRATEGY", "random");
    command.env("RADDLE_MAX_EXECUTIONS", executions.to_string());
    command.env("RADDLE_MAX_TIME", "10m");
    command
}

/// Returns the number of points of an execution: all events except begins and ends of threads.
fn points(check: &mut Command) -> f64 {
    let file = std::env::temp_dir().join(format!("raddle-bench-{}.trace", std::process::id()));
    let _ = std::fs::remove_file(&file);
    check.env("RADDLE_MAX_EXECUTIONS", COUNTED.to_string());
    succeed(check.env("RADDLE_TRACE", &file));
    let trace = std::fs::read_to_string(&file).expect("the program has just written it");
    let _ = std::fs::remove_file(&file);
    let (executions, events): (Vec<&str>, Vec<&str>) = trace
        .lines()
        .partition(|line| line.starts_with("execution "));
    let is_point = |line: &&&str| {
        let operation = line.split(' ').nth(1);
        !matches!(operation, Some("Begin" | "End"))
    };
    events.iter().filter(is_point).count() as f64 / executions.len() as f64
}

/// Returns executions per second of processor time, of the program and all its children.
fn rate(program: &Path, arguments: &[&str], mode: &Mode) -> f64 {
    let mut command = check(program, arguments, mode.executions);
    mode.executions as f64 / time_of(command.envs(mode.settings))
}

/// Returns the seconds of processor time of a check.
fn time_of(command: &mut Command) -> f64 {
    let before = measure::processor_time_of_children();
    let output = command.output().expect("the program was just built");
    let time = measure::processor_time_of_children() - before;
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    time.as_secs_f64()
}
