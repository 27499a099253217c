//! `cargo raddle` as front end and as worker, with a stand-in for cargo that has built this binary.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::server;

/// The command line, built like these tests.
static COMMAND: LazyLock<PathBuf> = LazyLock::new(|| {
    let builds = std::env::current_exe().unwrap();
    let builds = builds.parent().and_then(Path::parent).unwrap().to_owned();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    // The library for native programs, too.
    cargo.args(["build", "--quiet", "--lib", "--bin", "cargo-raddle"]);
    // With this binary among the targets, dependencies have the features they had for it, and none is built twice.
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
    let status = cargo.current_dir(workspace).status().unwrap();
    assert!(status.success(), "{cargo:?}");
    builds.join("cargo-raddle")
});

/// A stand-in for cargo. A script that is open for writing cannot be run, so it is one for all tests.
static CARGO: LazyLock<PathBuf> = LazyLock::new(|| {
    let directory = server::directory("cargo");
    let script = directory.join("cargo");
    let text = "#!/bin/sh\ncase \"$*\" in\n    metadata*) cat \"$QUEUE_TEST/metadata\" ;;\n    \
                *) cat \"$QUEUE_TEST/artifact\" ;;\nesac\n";
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script
});

/// The path of the command line.
pub fn program() -> &'static Path {
    &COMMAND
}

/// A workspace for one machine.
pub struct Machine {
    directory: PathBuf,
    address: String,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A running command, which is killed when it is dropped. Its output is read while it runs, so that it never waits for
/// that.
pub struct Running {
    process: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    })
}

impl Machine {
    pub fn new(address: &str) -> Self {
        Self::with_binary(address, &std::env::current_exe().unwrap())
    }

    /// The same with another test binary.
    pub fn with_binary(address: &str, binary: &Path) -> Self {
        let directory = server::directory("machine");
        let text = |path: &Path| path.display().to_string();
        let artifact = json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///queue#0.1.0",
            "manifest_path": text(&directory.join("Cargo.toml")),
            "target": { "name": "queue", "kind": ["test"] },
            "profile": { "test": true },
            "executable": text(binary),
        });
        let metadata = json!({
            "target_directory": text(&directory.join("target")),
            "workspace_root": text(&directory),
        });
        fs::write(directory.join("artifact"), format!("{artifact}\n")).unwrap();
        fs::write(directory.join("metadata"), metadata.to_string()).unwrap();
        Machine {
            directory,
            address: address.to_owned(),
        }
    }

    /// A command; the address is in the environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&*COMMAND);
        let inherited = ["PATH", "LD_LIBRARY_PATH", "TMPDIR"];
        let inherited = inherited.map(|name| (name, std::env::var_os(name)));
        let inherited = inherited
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        command
            .args(arguments)
            .current_dir(&self.directory)
            .env_clear()
            .envs(inherited)
            .env("CARGO", &*CARGO)
            .env("QUEUE_TEST", &self.directory)
            .env("RADDLE_QUEUE", &self.address)
            .env("RADDLE_DIR", self.saved())
            .env(
                "RADDLE_SELF_TEST",
                format!("fingerprints:{}", self.sums_file().display()),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::of(self.command(arguments).spawn().unwrap())
    }

    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).finish()
    }

    pub fn run_command(&self, mut command: Command) -> Finished {
        Running::of(command.spawn().unwrap()).finish()
    }

    /// Starts a front end for ignored tests with this part in their names.
    pub fn front_end(&self, filter: &str) -> Running {
        self.start(&[
            "test",
            filter,
            "--json",
            "--queue",
            "--",
            "--",
            "--include-ignored",
        ])
    }

    /// Starts a worker with one process.
    pub fn worker(&self, flags: &[&str]) -> Running {
        self.start(&[&["work", "--jobs", "1", "--wait", "20s"], flags].concat())
    }

    /// The path of a file in its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The directory for schedules and checkpoints.
    pub fn saved(&self) -> PathBuf {
        self.directory.join("saved")
    }

    fn sums_file(&self) -> PathBuf {
        self.directory.join("sums")
    }

    /// The sums of fingerprints that the checks of the front end were handed, by check.
    pub fn sums(&self) -> BTreeMap<String, u64> {
        let text = fs::read_to_string(self.sums_file()).unwrap_or_default();
        let line = |line: &str| {
            let (check, sum) = line.rsplit_once(' ').unwrap();
            (check.trim_matches('`').to_owned(), sum.parse().unwrap())
        };
        text.lines().map(line).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Running {
    pub fn of(mut process: Child) -> Self {
        Running {
            stdout: process.stdout.take().map(collect),
            stderr: process.stderr.take().map(collect),
            process,
        }
    }

    pub fn finish(mut self) -> Finished {
        let status = self.process.wait().unwrap();
        let text = |reader: Option<JoinHandle<String>>| reader.unwrap().join().unwrap();
        Finished {
            code: status.code(),
            stdout: text(self.stdout.take()),
            stderr: text(self.stderr.take()),
        }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        let status = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(status.success());
    }

    pub fn has_ended(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The number of classes in the summary of a native program that has run them all.
pub fn every_class(summary: &str) -> Option<u64> {
    let after = summary.split(": every behaviour was run: ").nth(1)?;
    after.split(' ').next()?.replace(',', "").parse().ok()
}

impl Finished {
    /// True for a worker that has ended with its run, or that began to work when the run was over: on a busy machine
    /// others may have done everything by then.
    pub fn has_worked(&self) -> bool {
        let came_late = self.stderr.contains("the queue has no run");
        self.code == Some(0) || self.code == Some(2) && came_late
    }

    /// The events of this kind.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let events = self
            .stdout
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        events
            .filter(|event: &Value| event["event"] == kind)
            .collect()
    }

    /// The numbers of classes of checks that have ended with every class, by test.
    pub fn classes(&self) -> BTreeMap<String, u64> {
        let finished = self.events("finished");
        let exhausted = finished
            .iter()
            .filter(|event| event["guarantee"] == "Exhaustive");
        exhausted
            .map(|event| {
                let test = event["test"].as_str().unwrap().to_owned();
                (test, event["classes"].as_u64().unwrap())
            })
            .collect()
    }
}
