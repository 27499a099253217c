//! Builds, lists and runs tests with cargo, and reads its metadata.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Output, Stdio};

use serde_json::Value;

use crate::toolchain::binaries::TestBinary;
use crate::toolchain::environment;
use crate::toolchain::error::Error;

/// Directories of a workspace.
pub struct Workspace {
    pub root: PathBuf,
    pub target: PathBuf,
}

/// The cargo executable, and options for its builds.
pub struct Cargo {
    program: OsString,
    options: BuildOptions,
}

/// Options for a build in addition to the user's.
#[derive(Debug, Default)]
pub struct BuildOptions {
    /// Arguments after the name of cargo's command.
    pub arguments: Vec<OsString>,
    pub environment: Vec<(&'static str, OsString)>,
}

impl Cargo {
    /// The cargo that runs this command, or else the one in the path.
    pub fn from_environment() -> Self {
        Self {
            program: environment::cargo(),
            options: BuildOptions::default(),
        }
    }

    /// The same cargo with these build options.
    pub fn with_options(&self, options: BuildOptions) -> Self {
        Self {
            program: self.program.clone(),
            options,
        }
    }

    /// Builds the tests first, so that a later failure of `cargo test` is a failure of a test.
    pub fn build_tests(&self, arguments: &[OsString]) -> Result<(), Error> {
        let mut build = self.command(["test", "--no-run"]);
        build.args(arguments);
        if self.status(&mut build)?.success() {
            Ok(())
        } else {
            Err(Error::BuildFailed)
        }
    }

    /// Builds the tests and returns their binaries. Compiler messages go to standard error, or as JSON to
    /// standard output.
    pub fn build_binaries(
        &self,
        arguments: &[OsString],
        as_json: bool,
    ) -> Result<Vec<TestBinary>, Error> {
        let build = self.command(["test", "--no-run"]);
        let mut binaries = Vec::new();
        self.build(build, arguments, as_json, |message| {
            binaries.extend(TestBinary::from_message(&message));
        })?;
        Ok(binaries)
    }

    /// Builds programs and returns their paths.
    pub fn build_programs(&self, arguments: &[OsString]) -> Result<Vec<PathBuf>, Error> {
        let build = self.command(["build"]);
        let mut programs = Vec::new();
        self.build(build, arguments, false, |message| {
            let is_built = message["reason"] == "compiler-artifact";
            let path = message["executable"].as_str().filter(|_| is_built);
            programs.extend(path.map(PathBuf::from));
        })?;
        Ok(programs)
    }

    /// Runs a build and passes each JSON message of cargo on.
    fn build(
        &self,
        mut build: Command,
        arguments: &[OsString],
        as_json: bool,
        mut receive: impl FnMut(Value),
    ) -> Result<(), Error> {
        let format = match as_json {
            true => "json",
            false => "json-render-diagnostics",
        };
        build.args(["--message-format", format]);
        build.args(&self.options.arguments).args(arguments);
        let environment = self.options.environment.iter();
        build.envs(environment.map(|(name, value)| (name, value)));
        build.stdout(Stdio::piped());
        let mut child = build.spawn().map_err(|cause| self.not_started(cause))?;
        for line in child
            .stdout
            .take()
            .into_iter()
            .flat_map(|it| BufReader::new(it).lines())
        {
            let Ok(line) = line else { break };
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if as_json && message["reason"] == "compiler-message" {
                println!("{line}");
            }
            receive(message);
        }
        let status = child.wait().map_err(|cause| self.not_started(cause))?;
        match status.success() {
            true => Ok(()),
            false => Err(Error::BuildFailed),
        }
    }

    /// Runs `cargo test` with these arguments.
    pub fn run_tests(
        &self,
        arguments: &[OsString],
        environment: &[(&str, OsString)],
    ) -> Result<ExitStatus, Error> {
        let mut tests = self.command(["test"]);
        tests
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)));
        self.status(&mut tests)
    }

    /// Names of all tests of all targets.
    pub fn test_names(&self) -> Result<Vec<String>, Error> {
        let output = self.output(["test", "--", "--list", "--format", "terse"])?;
        if !output.status.success() {
            return Err(Error::ListFailed {
                output: printed(&output),
            });
        }
        let listing = String::from_utf8_lossy(&output.stdout);
        let names = listing
            .lines()
            .filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }

    /// The target directory.
    pub fn target_directory(&self) -> Result<PathBuf, Error> {
        self.workspace().map(|workspace| workspace.target)
    }

    /// The `default-run` program of the package in the current directory.
    pub fn default_program(&self) -> Result<Option<String>, Error> {
        let metadata = self.metadata()?;
        let directory = env::current_dir().unwrap_or_default();
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let mut here = packages.filter(|package| {
            let manifest = package["manifest_path"].as_str().map(PathBuf::from);
            let place = manifest.as_deref().and_then(|path| path.parent());
            place.is_some_and(|place| directory.starts_with(place))
        });
        let found = here.find_map(|package| package["default_run"].as_str().map(str::to_owned));
        Ok(found)
    }

    /// The output of `cargo metadata`.
    fn metadata(&self) -> Result<Value, Error> {
        let output = self.output(["metadata", "--no-deps", "--format-version", "1"])?;
        if !output.status.success() {
            return Err(Error::MetadataFailed {
                output: printed(&output),
            });
        }
        serde_json::from_slice(&output.stdout).map_err(|_| Error::MetadataUnreadable)
    }

    /// The directories of the workspace.
    pub fn workspace(&self) -> Result<Workspace, Error> {
        let metadata = self.metadata()?;
        let directory = |name: &str| {
            let value = metadata[name].as_str();
            value.map(PathBuf::from).ok_or(Error::MetadataUnreadable)
        };
        let target = directory("target_directory")?;
        let root = directory("workspace_root").unwrap_or_default();
        Ok(Workspace { root, target })
    }

    /// A value of cargo's configuration, if it is set and this cargo can print it.
    pub fn config(&self, key: &str) -> Option<Value> {
        let arguments = ["config", "get", key, "--format", "json-value"];
        let mut command = self.command(["-Zunstable-options"]);
        command.args(arguments).env("RUSTC_BOOTSTRAP", "1");
        let output = command.output().ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    fn command<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        command
    }

    fn status(&self, command: &mut Command) -> Result<ExitStatus, Error> {
        command.status().map_err(|cause| self.not_started(cause))
    }

    fn output<const N: usize>(&self, arguments: [&str; N]) -> Result<Output, Error> {
        self.command(arguments)
            .output()
            .map_err(|cause| self.not_started(cause))
    }

    fn not_started(&self, cause: std::io::Error) -> Error {
        Error::CargoNotStarted {
            program: self.program.clone(),
            cause,
        }
    }
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr)
        .trim_end()
        .to_owned()
}
