//! Programs that the tests compile.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compilers of C that are there: gcc always, clang if it is installed. Where `RADDLE_CLANG_REQUIRED` is set, it must be.
pub fn compilers() -> Vec<&'static str> {
    let has_clang = Command::new("clang").arg("--version").output().is_ok();
    let is_required = std::env::var_os("RADDLE_CLANG_REQUIRED").is_some();
    assert!(has_clang || !is_required, "there is no clang");
    if has_clang {
        vec!["gcc", "clang"]
    } else {
        eprintln!("programs of clang are left out: there is no clang");
        vec!["gcc"]
    }
}

/// A folder for the files of a test.
pub fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Compiles a source with the instrumentation, without linking.
pub fn compile_instrumented(compiler: &str, level: &str, source: &Path, object: &Path) {
    let mut command = Command::new(compiler);
    command.args(["-c", "-g0", "-w", "-fsanitize=thread", level]);
    if compiler.starts_with("clang") {
        command.args(["-mllvm", "-tsan-instrument-read-before-write"]);
    }
    run(command.arg(source).arg("-o").arg(object));
}

/// Compiles a source as it is.
pub fn compile_plain(source: &Path, object: &Path) {
    let mut command = Command::new("gcc");
    let flags = ["-c", "-O1", "-w", "-fno-builtin"];
    run(command.args(flags).arg(source).arg("-o").arg(object));
}

/// Compiles a source as it is, as a library that the program loads.
#[allow(dead_code, reason = "not every test has one")]
pub fn compile_library(source: &Path, library: &Path) {
    let mut command = Command::new("gcc");
    let flags = ["-shared", "-fPIC", "-O1", "-w", "-fno-builtin"];
    run(command.args(flags).arg(source).arg("-o").arg(library));
}
