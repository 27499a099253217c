//! How fast C programs are checked: one of `tests/native`, built with gcc, in a process of its own.
//!
//! Every execution begins by putting the program's memory back, and the whole of it is counted.

use std::path::{Path, PathBuf};
use std::process::Command;

const EXECUTIONS: u64 = 200_000;
const ROUNDS: usize = 5;

/// Programs of `counts.c`, and how many events an execution has: the first thread begins and ends, each
/// other is spawned, begins, ends and is joined, and does so many operations.
const PROGRAMS: [(&str, f64); 3] = [
    ("load-store-2", 2.0 + 2.0 * (4.0 + 2.0)),
    ("load-store-3", 2.0 + 3.0 * (4.0 + 2.0)),
    ("mutex-4", 2.0 + 4.0 * (4.0 + 2.0)),
];

/// Prints executions per second and the time that an event takes.
pub fn run() {
    let library = build_library();
    let program = build_program(&library);
    for (name, events) in PROGRAMS {
        let rates = (0..ROUNDS).map(|_| EXECUTIONS as f64 / seconds(&program, name));
        let best = rates.fold(0.0, f64::max);
        let point = 1e9 / best / events;
        println!("native {name} mode=snapshot execs_per_s={best:.0} ns_per_point={point:.0}");
    }
}

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn succeed(command: &mut Command) {
    let status = command.current_dir(workspace()).status();
    let succeeded = status.as_ref().is_ok_and(|status| status.success());
    assert!(succeeded, "{command:?}: {status:?}");
}

/// The library, beside this program.
fn build_library() -> PathBuf {
    let folder = std::env::current_exe().expect("a program has a file");
    let folder = folder.parent().expect("a file is in a folder").to_owned();
    let target = folder.parent().expect("builds are in the target folder");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
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

fn build_program(library: &Path) -> PathBuf {
    let program = library.with_file_name("native-bench");
    let object = program.with_extension("o");
    let mut compile = Command::new("gcc");
    compile.args([
        "-g",
        "-O1",
        "-fsanitize=thread",
        "-Icrates/native/include",
        "-c",
    ]);
    succeed(compile.arg("tests/native/counts.c").arg("-o").arg(&object));
    let folder = library.parent().expect("a file is in a folder");
    let mut link = Command::new("gcc");
    link.arg(&object).arg("-o").arg(&program).arg(library);
    succeed(link.arg(format!("-Wl,-rpath,{}", folder.display())));
    program
}

/// How long the check took, as it says itself: `(random, 872.2ms)`.
fn seconds(program: &Path, name: &str) -> f64 {
    let mut command = Command::new(program);
    command.arg(name).env("RADDLE_STRATEGY", "random");
    command.env("RADDLE_MAX_EXECUTIONS", EXECUTIONS.to_string());
    command.env("RADDLE_MAX_TIME", "10m");
    let output = command.output().expect("the program was just built");
    let text = String::from_utf8_lossy(&output.stderr);
    let time = text
        .rsplit_once("(random, ")
        .and_then(|(_, time)| time.split_once(')'));
    let seconds = time.and_then(|(time, _)| {
        let end = time.find(|c: char| c.is_alphabetic())?;
        let number: f64 = time[..end].parse().ok()?;
        match &time[end..] {
            "s" => Some(number),
            "ms" => Some(number / 1e3),
            _ => None,
        }
    });
    seconds.unwrap_or_else(|| panic!("{text}"))
}
