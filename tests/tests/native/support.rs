//! Builds the programs of `tests/native/` with the C and C++ compilers, and runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

pub const EXHAUSTIVE: (&str, &str) = ("RADDLE_STRATEGY", "exhaustive");
pub const ENUMERATE: (&str, &str) = ("RADDLE_STRATEGY", "enumerate");

/// What tests build is there.
const PROGRAMS: &str = "native-programs";

/// Where the workspace is.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The folder with what this build of the tests has built.
fn builds() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().to_owned()
}

/// A folder for what a test builds.
pub fn folder(test: &str) -> PathBuf {
    let folder = builds().join(PROGRAMS).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs gcc as it is.
pub fn gcc(arguments: &[&str]) {
    succeed(Command::new("gcc").args(arguments).current_dir(workspace()));
}

/// Runs `cargo raddle` with these arguments.
pub fn command(arguments: &[&str]) -> Finished {
    command_with(arguments, &[])
}

/// The same with these settings.
pub fn command_with(arguments: &[&str], settings: &[(&str, &str)]) -> Finished {
    let program = LIBRARY.with_file_name("cargo-raddle");
    run(&program, &[&["raddle"], arguments].concat(), settings)
}

/// Whether there is a clang. Without it, what is about clang is left out; where `RADDLE_CLANG_REQUIRED` is set,
/// it must be there.
pub fn has_clang() -> bool {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        let found = Command::new("clang").arg("--version").output().is_ok();
        let is_required = std::env::var_os("RADDLE_CLANG_REQUIRED").is_some();
        assert!(found || !is_required, "there is no clang");
        found
    });
    *FOUND
}

/// The compilers for C that programs are built with.
pub fn compilers() -> Vec<&'static str> {
    match has_clang() {
        true => vec!["gcc", "clang"],
        false => vec!["gcc"],
    }
}

/// Compiles `tests/native/NAME` by `cargo raddle cc` or `c++`; the program.
pub fn compile(compiler: &str, name: &str, test: &str, flags: &[&str]) -> PathBuf {
    let source = format!("tests/native/{name}");
    let is_c = name.ends_with(".c");
    let compiler_for_cpp = if compiler == "gcc" { "g++" } else { "clang++" };
    let program = folder(test).join(format!("{name}-{compiler}"));
    let words = [if is_c { "cc" } else { "c++" }, &source, "-o"];
    let standard = (!is_c).then_some("-std=c++20");
    let rest: Vec<&str> = flags.iter().copied().chain(standard).collect();
    let all = [&words[..], &[program.to_str().unwrap()], &rest].concat();
    let compilers = [("RADDLE_CC", compiler), ("RADDLE_CXX", compiler_for_cpp)];
    command_with(&all, &compilers).exits(0);
    program
}

/// The library, and the command line beside it, built like these tests.
pub static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let builds = builds();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--lib", "--bin", "cargo-raddle"]);
    // With this binary among the targets, dependencies have the features they had for it, and none is
    // built twice.
    cargo.args(["--test", env!("CARGO_CRATE_NAME")]);
    cargo.args(builds.ends_with("release").then_some("--release"));
    cargo.arg("--target-dir").arg(builds.parent().unwrap());
    // Those of this package: a build script that reads them would run again, and what it builds be built again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&*name);
        }
    }
    succeed(cargo.current_dir(workspace()));
    builds.join("libraddle_native.so")
});

fn succeed(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}");
}

/// Compiles `tests/native/NAME`; the program. Tests run at the same time, so each has its own.
pub fn build(name: &str, test: &str) -> PathBuf {
    build_with(name, test, &[])
}

/// The same with more flags for the compiler.
pub fn build_with(name: &str, test: &str, flags: &[&str]) -> PathBuf {
    let folder = folder(test);
    let source = Path::new("tests/native").join(name);
    let is_c = source.extension().unwrap() == "c";
    let compiler = if is_c { "gcc" } else { "g++" };
    let program = folder.join(source.file_stem().unwrap());
    let object = program.with_extension("o");
    let mut compile = Command::new(compiler);
    compile.args(["-g", "-O1", "-fsanitize=thread", "-Wall", "-Wno-tsan", "-c"]);
    compile.args(flags).args((!is_c).then_some("-std=c++20"));
    compile.arg("-Icrates/native/include").arg(&source);
    succeed(compile.arg("-o").arg(&object).current_dir(workspace()));
    let mut link = Command::new(compiler);
    link.arg(&object).arg("-o").arg(&program).arg(&*LIBRARY);
    link.arg(format!(
        "-Wl,-rpath,{}",
        LIBRARY.parent().unwrap().display()
    ));
    succeed(link.current_dir(workspace()));
    program
}

/// Compiles `tests/native/NAME` and links it with the real ThreadSanitizer; the program, and a folder
/// where the loader finds raddle's library instead.
pub fn build_for_tsan(name: &str, test: &str) -> (PathBuf, PathBuf) {
    let folder = folder(test);
    let swap = folder.join("swap");
    std::fs::create_dir_all(&swap).unwrap();
    let program = folder.join("program");
    let mut compile = Command::new("gcc");
    compile.args(["-g", "-O1", "-fsanitize=thread"]);
    compile.arg(Path::new("tests/native").join(name));
    succeed(compile.arg("-o").arg(&program).current_dir(workspace()));
    let library = swap.join("libtsan.so.2");
    let _ = std::fs::remove_file(&library);
    std::os::unix::fs::symlink(&*LIBRARY, library).unwrap();
    (program, swap)
}

/// Compiles `tests/native/rust/NAME` with rustc, for a check of std as it came; the program.
pub fn rust(name: &str, test: &str, flags: &[&str]) -> PathBuf {
    let program = folder(test).join(name.trim_end_matches(".rs"));
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-Cdebuginfo=2"]);
    rustc.args([
        "-Cllvm-args=-force-attribute=sanitize_thread",
        "-Cllvm-args=-tsan-instrument-read-before-write",
        "-Cpasses=forceattrs",
        "-Cpasses=tsan-module",
        "-Cpasses=function(tsan)",
    ]);
    // The library is there when the program runs; it must be found before the C library.
    rustc.arg("-Clink-arg=-Wl,--unresolved-symbols=ignore-all");
    rustc.args(flags).arg("-o").arg(&program);
    rustc.arg(Path::new("tests/native/rust").join(name));
    succeed(rustc.current_dir(workspace()));
    program
}

/// The setting with which such a program is run.
pub fn preloaded() -> (&'static str, &'static str) {
    ("LD_PRELOAD", LIBRARY.to_str().unwrap())
}

/// How a program ended, and what raddle said.
pub struct Finished {
    pub code: Option<i32>,
    pub text: String,
}

/// Runs a program with these arguments and settings.
pub fn run(program: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Finished {
    finish(&mut prepare(program, arguments, settings))
}

/// The same with a file of the workspace as its standard input.
pub fn run_reading(input: &str, program: &Path, settings: &[(&str, &str)]) -> Finished {
    let input = std::fs::File::open(workspace().join(input)).unwrap();
    finish(prepare(program, &[], settings).stdin(input))
}

fn prepare(program: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(name);
        }
    }
    // Several tests have programs of the same name.
    if program.starts_with(builds().join(PROGRAMS)) {
        command.env("RADDLE_DIR", program.with_file_name("raddle"));
    }
    command.envs(settings.iter().copied());
    command
}

fn finish(command: &mut Command) -> Finished {
    let Output { status, stderr, .. } = command.output().unwrap();
    Finished {
        code: status.code(),
        text: String::from_utf8(stderr).unwrap(),
    }
}

impl Finished {
    /// It said so.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.text.contains(text), "no {text:?} in:\n{}", self.text);
        self
    }

    /// It ended so.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}", self.text);
        self
    }

    /// How many classes there are, if it has run them all.
    #[track_caller]
    pub fn all_classes(&self) -> u64 {
        let after = self.text.split("every behaviour was run: ").nth(1);
        let number = after.and_then(|after| after.split(' ').next()?.replace(',', "").parse().ok());
        number.unwrap_or_else(|| panic!("{}", self.text))
    }

    /// The schedule that it says to replay.
    #[track_caller]
    pub fn schedule(&self) -> &str {
        let after = self.text.split("RADDLE_REPLAY=").nth(1);
        after
            .and_then(|after| after.split(' ').next())
            .unwrap_or_else(|| panic!("{}", self.text))
    }
}
