//! Test binaries built by cargo, and their tests.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::toolchain::bytes;
use crate::toolchain::environment;
use crate::toolchain::error::Error;
use crate::toolchain::native_runtime::{CheckedPart, NativeRuntime};

/// The name of a variable that raddle reads, which is in every binary with raddle and hardly in any other.
const RADDLE_MARK: &[u8] = b"RADDLE_EVENTS";
/// A symbol of every binary whose `main` is libtest's.
const HARNESS_MARK: &[u8] = b"test_main_static";

/// The variable with the search path of shared libraries.
const LIBRARY_PATH: &str = if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else if cfg!(windows) {
    "PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// A binary with tests.
#[derive(Clone, Debug, PartialEq)]
pub struct TestBinary {
    /// Name of cargo's target.
    pub name: String,
    /// Cargo's identifier of the package.
    pub package_id: String,
    pub manifest: PathBuf,
    pub path: PathBuf,
    /// Cargo's description of the target, copied into compiler messages.
    pub target: Value,
    /// Set if the tests are native.
    pub runtime: Option<NativeRuntime>,
    /// True when `main` is libtest's. Any other binary is one test.
    pub has_harness: bool,
}

/// One test.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Index of its binary.
    pub binary: usize,
    pub name: String,
}

impl TestBinary {
    /// Returns the test binary that a JSON message of cargo reports, if it reports one.
    pub fn from_message(message: &Value) -> Option<Self> {
        let is_test =
            message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
        let path = message["executable"].as_str().filter(|_| is_test)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Some(TestBinary {
            name: text(&message["target"]["name"]),
            package_id: text(&message["package_id"]),
            manifest: text(&message["manifest_path"]).into(),
            path: path.into(),
            target: message["target"].clone(),
            runtime: None,
            has_harness: true,
        })
    }

    /// True when the binary is linked with raddle.
    pub fn uses_raddle(&self) -> bool {
        self.contains(RADDLE_MARK)
    }

    /// Makes its tests native.
    pub fn attach(&mut self, runtime: &NativeRuntime) {
        self.runtime = Some(runtime.clone());
        self.has_harness = self.contains(HARNESS_MARK);
    }

    fn contains(&self, mark: &[u8]) -> bool {
        let content = fs::read(&self.path).unwrap_or_default();
        bytes::contains(&content, mark)
    }

    /// Returns the command that runs one of its tests.
    pub fn test_command(&self, test: &str) -> Command {
        let mut command = self.command();
        if self.has_harness {
            // Skipping an ignored test that the user named would look like a pass.
            command.args([test, "--exact", "--include-ignored", "--nocapture"]);
        }
        if let Some(runtime) = &self.runtime {
            let part = match self.has_harness {
                true => CheckedPart::Test,
                false => CheckedPart::Program,
            };
            runtime.attach(&mut command, part);
            command.args(self.has_harness.then_some("--test-threads=1"));
        }
        command
    }

    /// Returns the command that runs it as cargo would.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        if let Some(directory) = self.manifest.parent() {
            command
                .current_dir(directory)
                .env("CARGO_MANIFEST_DIR", directory);
        }
        command.env(LIBRARY_PATH, self.library_path());
        command.env_remove(environment::QUEUE);
        command
    }

    /// Returns the search path of shared libraries, with the binary's own directory and its parent
    /// first.
    fn library_path(&self) -> OsString {
        let own = self.path.parent().into_iter();
        let parent = own.clone().filter_map(Path::parent);
        let inherited = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
        let mut all: Vec<PathBuf> = own.chain(parent).map(Path::to_owned).collect();
        all.extend(std::env::split_paths(&inherited));
        std::env::join_paths(all).unwrap_or(inherited)
    }

    /// Returns the names of its tests, selected by a filter and arguments of libtest. Ignored tests
    /// are left out unless the arguments include them.
    pub fn tests(
        &self,
        filter: Option<&str>,
        arguments: &[OsString],
    ) -> Result<Vec<String>, Error> {
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        if !self.has_harness {
            let is_selected = filter.is_none_or(|filter| match has("--exact") {
                true => self.name == filter,
                false => self.name.contains(filter),
            });
            return Ok(is_selected.then(|| self.name.clone()).into_iter().collect());
        }
        let all = self.list(filter, arguments)?;
        if has("--ignored") || has("--include-ignored") {
            return Ok(all);
        }
        let ignored = [arguments, &["--ignored".into()]].concat();
        let ignored = self.list(filter, &ignored)?;
        let is_run = |name: &String| !ignored.contains(name);
        Ok(all.into_iter().filter(is_run).collect())
    }

    fn list(&self, filter: Option<&str>, arguments: &[OsString]) -> Result<Vec<String>, Error> {
        let mut command = self.command();
        command.args(filter).args(arguments);
        command.args(["--list", "--format", "terse"]);
        let output = command.output();
        let output = output.map_err(|cause| Error::BinaryNotStarted {
            path: self.path.clone(),
            cause,
        })?;
        let listing = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(Error::BinaryDoesNotList {
                name: self.name.clone(),
                output: String::from_utf8_lossy(&output.stderr)
                    .trim_end()
                    .to_owned(),
            });
        }
        let lines = listing.lines();
        let names = lines.filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }
}
