//! The test binaries that cargo builds, and the tests that are in them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::commands::error::Error;
use crate::toolchain::rust::Control;

/// What is in every program that raddle checks, and hardly in any other.
const SIGN: &[u8] = b"RADDLE_EVENTS";
/// What is in every program with tests whose `main` is the compiler's.
const HARNESS: &[u8] = b"test_main_static";

/// A binary with tests.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// What cargo calls the target.
    pub name: String,
    /// Cargo's name for its package, which may be long.
    pub package_id: String,
    pub manifest: PathBuf,
    pub path: PathBuf,
    /// What cargo says of the target, for those who want to know more.
    pub target: Value,
    /// Who runs it, if it does not know of raddle.
    pub control: Option<Control>,
    /// Whether it has tests that can be run one by one; otherwise it is one test as a whole.
    pub has_harness: bool,
}

/// One test.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Index into the binaries.
    pub binary: usize,
    pub name: String,
}

impl Binary {
    /// A test binary, if that is what a message of cargo's is about.
    pub fn of_message(message: &Value) -> Option<Self> {
        let is_test =
            message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
        let path = message["executable"].as_str().filter(|_| is_test)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Some(Binary {
            name: text(&message["target"]["name"]),
            package_id: text(&message["package_id"]),
            manifest: text(&message["manifest_path"]).into(),
            path: path.into(),
            target: message["target"].clone(),
            control: None,
            has_harness: true,
        })
    }

    /// Whether raddle is part of it.
    pub fn uses_raddle(&self) -> bool {
        self.contains(SIGN)
    }

    /// From now on it is run under control.
    pub fn put_under(&mut self, control: &Control) {
        self.control = Some(control.clone());
        self.has_harness = self.contains(HARNESS);
    }

    fn contains(&self, sign: &[u8]) -> bool {
        let content = fs::read(&self.path).unwrap_or_default();
        content.windows(sign.len()).any(|window| window == sign)
    }

    /// A command that runs one of its tests.
    pub fn run_test(&self, test: &str) -> Command {
        let mut command = self.command();
        if self.has_harness {
            // A test that is named is wanted, ignored or not; skipping it would look like a pass.
            command.args([test, "--exact", "--include-ignored", "--nocapture"]);
        }
        if let Some(control) = &self.control {
            control.put_on(&mut command, self.has_harness);
            command.args(self.has_harness.then_some("--test-threads=1"));
        }
        command
    }

    /// A command that runs it as cargo would.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        if let Some(folder) = self.manifest.parent() {
            command
                .current_dir(folder)
                .env("CARGO_MANIFEST_DIR", folder);
        }
        command.env(LIBRARIES, self.libraries());
        command
    }

    /// Where shared libraries are looked for: beside the binary first.
    fn libraries(&self) -> OsString {
        let beside = self.path.parent().into_iter();
        let above = beside.clone().filter_map(Path::parent);
        let before = std::env::var_os(LIBRARIES).unwrap_or_default();
        let mut all: Vec<PathBuf> = beside.chain(above).map(Path::to_owned).collect();
        all.extend(std::env::split_paths(&before));
        std::env::join_paths(all).unwrap_or(before)
    }

    /// The names of its tests, as the arguments for tests ask for them; those that are ignored only if
    /// they ask for these too.
    pub fn tests(
        &self,
        filter: Option<&str>,
        arguments: &[OsString],
    ) -> Result<Vec<String>, Error> {
        if !self.has_harness {
            let is_wanted = filter.is_none_or(|filter| self.name.contains(filter));
            return Ok(is_wanted.then(|| self.name.clone()).into_iter().collect());
        }
        let asks = |flag: &str| arguments.iter().any(|argument| argument == flag);
        let all = self.list(filter, arguments)?;
        if asks("--ignored") || asks("--include-ignored") {
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

/// The variable that says where shared libraries are.
const LIBRARIES: &str = if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else if cfg!(windows) {
    "PATH"
} else {
    "LD_LIBRARY_PATH"
};
