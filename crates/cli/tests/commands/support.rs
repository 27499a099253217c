//! A fake cargo that records its calls and prints configured answers.
//!
//! It is one script for all tests, written before any process is started: the system refuses to run a script
//! that is open for writing in any process, including a child before its `exec`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};

const SCRIPT: &str = r#"#!/bin/sh
{
    echo "cargo $*"
    env | grep -E '^(RADDLE_|NO_COLOR=)' | sort | sed 's/^/    /'
} >> "$FAKE_CARGO/calls"
case "$*" in
    metadata*) step=metadata ;;
    *--no-run*) step=build ;;
    *--list*) step=list ;;
    *) step=tests ;;
esac
cat "$FAKE_CARGO/$step.stdout"
cat "$FAKE_CARGO/$step.stderr" >&2
exit "$(cat "$FAKE_CARGO/$step.code")"
"#;

/// A fake test binary. It lists the tests in `names`; those in `ignored` are ignored. A test writes the events
/// in `TEST.events`, prints `TEST.output` and exits with `TEST.code`. A test with a file `TEST.waits` creates
/// `TEST.running` and runs until it is interrupted. What it is told of an earlier version is copied to `TEST.since`.
const TESTS: &str = r#"#!/bin/sh
case " $* " in
    *" --list "*)
        echo "list $*" >> "$FAKE_CARGO/calls"
        names=names
        case " $* " in *" --ignored "*) names=ignored ;; esac
        sed 's/$/: test/' "$FAKE_CARGO/$names"
        exit "$(cat "$FAKE_CARGO/names.code")"
        ;;
esac
{
    echo "run $* in $(basename "$PWD")"
    env | grep -E '^(RADDLE_|NO_COLOR=)' | grep -v RADDLE_EVENTS | sort | sed 's/^/    /'
} >> "$FAKE_CARGO/calls"
[ -z "$RADDLE_SINCE" ] || cp "$RADDLE_SINCE" "$FAKE_CARGO/$1.since"
if [ -e "$FAKE_CARGO/$1.waits" ]; then
    trap 'cat "$FAKE_CARGO/$1.events" >> "$RADDLE_EVENTS"; exit 130' INT
    : > "$FAKE_CARGO/$1.running"
    while :; do sleep 0.02; done
fi
cat "$FAKE_CARGO/$1.events" >> "$RADDLE_EVENTS"
cat "$FAKE_CARGO/$1.output"
exit "$(cat "$FAKE_CARGO/$1.code")"
"#;

/// A fake compiler for the host in `rustc.host`. It writes `rustc.object` as every object file; its sysroot is
/// `sysroot`.
const COMPILER: &str = r#"#!/bin/sh
echo "rustc $*" >> "$FAKE_CARGO/compiled"
case "$*" in
    -vV) echo "rustc 1.99.0 (fake)"; echo "host: $(cat "$FAKE_CARGO/rustc.host")"; exit 0 ;;
    "--print sysroot") echo "$FAKE_CARGO/sysroot"; exit 0 ;;
esac
while [ "$1" != "-o" ]; do shift; done
cp "$FAKE_CARGO/rustc.object" "$2" 2> /dev/null && exit 0
echo "error: no such pass" >&2
exit 1
"#;

static SCRIPT_DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let name = format!("fake-cargo-{}", process::id());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // An earlier process may have had the same identifier.
    if directory.exists() {
        fs::remove_dir_all(&directory).expect("what an earlier process left is ours");
    }
    fs::create_dir_all(&directory).expect("the test's directory is writable");
    let without_raddle = TESTS.replace("RADDLE_EVENTS", "OTHER");
    let with_harness = format!("{without_raddle}# test_main_static\n");
    for (name, text) in [
        ("cargo", SCRIPT),
        ("tests", TESTS),
        ("other-tests", &without_raddle),
        ("plain-tests", &with_harness),
        ("rebuilt-tests", &format!("{TESTS}# another build\n")),
        ("rustc", COMPILER),
    ] {
        let script = directory.join(name);
        fs::write(&script, text).expect("the test's directory is writable");
        let may_run = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&script, may_run).expect("the script is ours");
    }
    directory
});

/// Purpose of a call of cargo.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Metadata,
    Build,
    List,
    Tests,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Build => "build",
            Self::List => "list",
            Self::Tests => "tests",
        }
    }
}

/// A directory in which to run `cargo raddle`, with the answers of the fake cargo.
pub struct Workspace {
    pub directory: PathBuf,
}

/// Exit code and output of `cargo raddle`.
#[derive(Debug, PartialEq)]
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Workspace {
    /// An empty workspace in which every call of cargo succeeds and prints nothing.
    pub fn new(test: &str) -> Self {
        let directory = SCRIPT_DIRECTORY.join(test);
        fs::create_dir(&directory).expect("each test has a name of its own");
        let workspace = Self { directory };
        workspace.write("calls", "");
        for step in [Step::Metadata, Step::Build, Step::List, Step::Tests] {
            workspace.answer(step, 0, "", "");
        }
        workspace
    }

    /// Makes cargo build a test binary with passing tests of these names.
    pub fn build(&self, names: &[&str]) {
        self.build_from("tests", names);
    }

    /// The same with another fake binary.
    pub fn build_from(&self, script: &str, names: &[&str]) {
        let text = |path: PathBuf| path.display().to_string();
        let artifact = json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///queue#0.1.0",
            "manifest_path": text(self.directory.join("Cargo.toml")),
            "target": { "name": "queue", "kind": ["lib"] },
            "profile": { "test": true },
            "executable": text(SCRIPT_DIRECTORY.join(script)),
        });
        let library = json!({
            "reason": "compiler-artifact", "profile": { "test": false }, "executable": null,
        });
        let messages = format!("{library}\n{artifact}\n");
        self.answer(Step::Build, 0, &messages, "built\n");
        let metadata = json!({
            "target_directory": text(self.directory.join("target")),
            "workspace_root": text(self.directory.clone()),
        });
        self.answer(Step::Metadata, 0, &metadata.to_string(), "");
        self.write("names", &names.join("\n"));
        self.write("names.code", "0");
        self.write("ignored", "");
        for name in names {
            self.test(name, 0, &[], "");
        }
    }

    /// Sets the behaviour of a test.
    pub fn test(&self, name: &str, code: u8, events: &[Value], output: &str) {
        let events: Vec<_> = events.iter().map(|event| format!("{event}\n")).collect();
        self.write(&format!("{name}.events"), &events.concat());
        self.write(&format!("{name}.output"), output);
        self.write(&format!("{name}.code"), &code.to_string());
    }

    /// Sets the output and exit code of cargo for a step.
    pub fn answer(&self, step: Step, code: u8, stdout: &str, stderr: &str) {
        let step = step.name();
        self.write(&format!("{step}.code"), &code.to_string());
        self.write(&format!("{step}.stdout"), stdout);
        self.write(&format!("{step}.stderr"), stderr);
    }

    pub fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.directory.join(file);
        fs::create_dir_all(path.parent().expect("a file is in a directory"))
            .and_then(|()| fs::write(&path, text))
            .expect("the test's directory is writable");
        path
    }

    /// The command, with an environment that contains only the path and the fake cargo.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-raddle"));
        command
            .args(arguments)
            .current_dir(&self.directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("CARGO", SCRIPT_DIRECTORY.join("cargo"))
            .env("FAKE_CARGO", &self.directory);
        command
    }

    /// The same with the fake compiler and an empty native library.
    pub fn native_command(&self, arguments: &[&str], host: &str) -> Command {
        self.write("rustc.host", host);
        let library = self.write("libraddle_native.so", "");
        let mut command = self.command(arguments);
        command
            .env("RUSTC", SCRIPT_DIRECTORY.join("rustc"))
            .env("RADDLE_LIBRARY", library);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Finished {
        finish(&mut self.command(arguments))
    }

    /// Waits until a fake test has created the file.
    pub fn wait_for(&self, file: &str) {
        while !self.directory.join(file).exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Calls of cargo so far: a line for each call, followed by its environment variables.
    pub fn calls(&self) -> String {
        fs::read_to_string(self.directory.join("calls")).expect("the file was written at the start")
    }
}

pub fn finish(command: &mut Command) -> Finished {
    let output = command
        .output()
        .expect("the command was built with its tests");
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text is printed"),
        stderr: String::from_utf8(output.stderr).expect("text is printed"),
    }
}

/// The directory with the fake cargo, for the path.
pub fn script_directory() -> &'static Path {
    &SCRIPT_DIRECTORY
}
