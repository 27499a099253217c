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
    files: CargoFiles,
    options: BuildOptions,
}

/// Files that the user has named instead of those that cargo finds.
#[derive(Clone, Debug, Default)]
pub struct CargoFiles {
    pub manifest: Option<PathBuf>,
    pub target: Option<PathBuf>,
}

/// Options for a build in addition to the user's.
#[derive(Debug, Default)]
pub struct BuildOptions {
    /// Arguments after the name of cargo's command.
    pub arguments: Vec<OsString>,
    pub environment: Vec<(&'static str, OsString)>,
    /// Directory of the artifacts, if it is not that of the workspace.
    pub target: Option<PathBuf>,
}

/// A package of the workspace.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    pub manifest: PathBuf,
}

/// Why a build has failed.
#[derive(Clone, Debug)]
pub struct BuildFailure {
    /// The first error of the compiler.
    pub why: String,
    /// First and last lines that errors are about, by the names of their files as the compiler writes them.
    pub lines: Vec<(String, u32, u32)>,
}

/// Returns the lines that a message of the compiler is about.
fn lines_of(message: &Value) -> Vec<(String, u32, u32)> {
    let spans = message["spans"].as_array().into_iter().flatten();
    let place = |span: &Value| {
        let line = |name: &str| span[name].as_u64().map(|line| line as u32);
        let file = span["file_name"].as_str()?.to_owned();
        Some((file, line("line_start")?, line("line_end")?))
    };
    spans.filter_map(place).collect()
}

impl Cargo {
    /// Returns the cargo that runs this command, or else the one in the path.
    pub fn from_environment() -> Self {
        Self {
            program: environment::cargo(),
            files: CargoFiles::default(),
            options: BuildOptions::default(),
        }
    }

    /// Returns the same cargo with these files.
    pub fn with_files(self, files: CargoFiles) -> Self {
        Self { files, ..self }
    }

    /// Returns the same cargo with these build options.
    pub fn with_options(&self, options: BuildOptions) -> Self {
        Self {
            program: self.program.clone(),
            files: self.files.clone(),
            options,
        }
    }

    /// Builds the tests, so that a later failure of `cargo test` is a failure of a test.
    pub fn build_tests(&self, arguments: &[OsString]) -> Result<(), Error> {
        let mut build = self.command(["test", "--no-run"]);
        build.args(self.file_arguments()).args(arguments);
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

    /// Builds the tests without a word, and returns their binaries.
    pub fn build_silently(&self, arguments: &[OsString]) -> Result<Vec<TestBinary>, BuildFailure> {
        let mut build = self.command(["test", "--no-run", "--message-format", "json"]);
        build.args(&self.options.arguments);
        build.args(self.file_arguments()).args(arguments);
        let environment = self.options.environment.iter();
        build.envs(environment.map(|(name, value)| (name, value)));
        let output = build.stdin(Stdio::null()).output();
        let output = output.map_err(|cause| BuildFailure {
            why: self.not_started(cause).to_string(),
            lines: Vec::new(),
        })?;
        let lines = output.stdout.split(|byte| *byte == b'\n');
        let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let (mut binaries, mut problem, mut places) = (Vec::new(), None, Vec::new());
        for message in messages {
            binaries.extend(TestBinary::from_message(&message));
            let text = message["message"]["message"].as_str();
            let is_error = message["message"]["level"] == "error";
            problem = problem.or(text.filter(|_| is_error).map(str::to_owned));
            if is_error {
                places.extend(lines_of(&message["message"]));
            }
        }
        match output.status.success() {
            true => Ok(binaries),
            false => Err(BuildFailure {
                why: problem.unwrap_or_else(|| {
                    let text = printed(&output);
                    let line = text.lines().rfind(|line| line.starts_with("error"));
                    line.unwrap_or("the build failed").to_owned()
                }),
                lines: places,
            }),
        }
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

    /// Runs a build and forwards each JSON message of cargo.
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
        build.args(&self.options.arguments);
        build.args(self.file_arguments()).args(arguments);
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
            .args(self.file_arguments())
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)));
        self.status(&mut tests)
    }

    /// Returns the names of the tests of the selected targets.
    pub fn test_names(&self, arguments: &[OsString]) -> Result<Vec<String>, Error> {
        let mut list = self.command(["test"]);
        list.args(self.file_arguments()).args(arguments);
        list.args(["--", "--list", "--format", "terse"]);
        let output = self.output(&mut list)?;
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

    /// Returns the target directory.
    pub fn target_directory(&self) -> Result<PathBuf, Error> {
        self.workspace().map(|workspace| workspace.target)
    }

    /// Returns the `default-run` program of the package in the current directory, or of the given
    /// manifest.
    pub fn default_program(&self) -> Result<Option<String>, Error> {
        let metadata = self.metadata()?;
        let manifest = self.files.manifest.as_deref();
        let manifest = manifest.and_then(|path| std::path::absolute(path).ok());
        let directory = match manifest.as_deref().and_then(|path| path.parent()) {
            Some(directory) => directory.to_owned(),
            None => env::current_dir().unwrap_or_default(),
        };
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let mut here = packages.filter(|package| {
            let manifest = package["manifest_path"].as_str().map(PathBuf::from);
            let place = manifest.as_deref().and_then(|path| path.parent());
            place.is_some_and(|place| directory.starts_with(place))
        });
        let found = here.find_map(|package| package["default_run"].as_str().map(str::to_owned));
        Ok(found)
    }

    /// Returns the output of `cargo metadata`.
    fn metadata(&self) -> Result<Value, Error> {
        let mut metadata = self.command(["metadata", "--no-deps", "--format-version", "1"]);
        metadata.args(self.manifest_arguments());
        let output = self.output(&mut metadata)?;
        if !output.status.success() {
            return Err(Error::MetadataFailed {
                output: printed(&output),
            });
        }
        serde_json::from_slice(&output.stdout).map_err(|_| Error::MetadataUnreadable)
    }

    /// Returns the packages of the workspace.
    pub fn members(&self) -> Result<Vec<Member>, Error> {
        let metadata = self.metadata()?;
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(packages
            .map(|package| Member {
                name: text(&package["name"]),
                manifest: text(&package["manifest_path"]).into(),
            })
            .collect())
    }

    /// Returns the files that the user has named.
    pub fn files(&self) -> &CargoFiles {
        &self.files
    }

    /// Returns the directories of the workspace.
    pub fn workspace(&self) -> Result<Workspace, Error> {
        let metadata = self.metadata()?;
        let directory = |name: &str| {
            let value = metadata[name].as_str();
            value.map(PathBuf::from).ok_or(Error::MetadataUnreadable)
        };
        let target = match &self.files.target {
            Some(target) => std::path::absolute(target).unwrap_or_else(|_| target.clone()),
            None => directory("target_directory")?,
        };
        let root = directory("workspace_root").unwrap_or_default();
        Ok(Workspace { root, target })
    }

    /// Returns a value of cargo's configuration, if it is set and this cargo can print it.
    pub fn config(&self, key: &str) -> Option<Value> {
        let arguments = ["config", "get", key, "--format", "json-value"];
        let mut command = self.command(["-Zunstable-options"]);
        command.args(arguments).env("RUSTC_BOOTSTRAP", "1");
        let output = command.output().ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    fn command<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env_remove(environment::QUEUE);
        command
    }

    fn status(&self, command: &mut Command) -> Result<ExitStatus, Error> {
        command.status().map_err(|cause| self.not_started(cause))
    }

    fn output(&self, command: &mut Command) -> Result<Output, Error> {
        command.output().map_err(|cause| self.not_started(cause))
    }

    fn manifest_arguments(&self) -> Vec<OsString> {
        let manifest = self.files.manifest.as_ref();
        let flag = |path: &PathBuf| ["--manifest-path".into(), path.into()];
        manifest.map(flag).into_iter().flatten().collect()
    }

    /// The flags for where cargo finds and puts files.
    fn file_arguments(&self) -> Vec<OsString> {
        let target = self.options.target.as_ref().or(self.files.target.as_ref());
        let flag = |path: &PathBuf| ["--target-dir".into(), path.into()];
        let mut arguments = self.manifest_arguments();
        arguments.extend(target.map(flag).into_iter().flatten());
        arguments
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
