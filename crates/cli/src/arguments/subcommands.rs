//! The arguments of each command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use clap_complete::Shell;
use raddle_settings::{SettingKind, Value};

use super::selection::{BuildArguments, CargoArguments};
use super::settings::SettingFlags;

/// Format of printed failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Text.
    Human,
    /// Compiler messages, for editors.
    Json,
}

#[derive(Args, Debug, Default, PartialEq)]
pub struct TestArguments {
    /// Run only tests whose name contains this text.
    pub filter: Option<String>,

    /// Run only the test whose name is the filter.
    #[arg(long, requires = "filter")]
    pub exact: bool,

    /// Check unmodified tests that use the types of std.
    #[arg(long)]
    pub native: bool,

    /// Number of tests to run in parallel; the number of cores by default.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub jobs: Option<u64>,

    /// Print events as lines of JSON.
    #[arg(long, conflicts_with = "message_format")]
    pub json: bool,

    /// Write the results as JUnit XML to this file.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Format of the printed failures.
    #[arg(long, value_name = "FORMAT")]
    pub message_format: Option<MessageFormat>,

    /// List the selected tests, and run none.
    #[arg(long, conflicts_with_all = ["json", "junit", "message_format"])]
    pub list: bool,

    /// Run what has changed since this revision of git, first what the change can affect, and tell what is new. Leaves
    /// out tests with the same binary and settings that passed there.
    #[arg(long, value_name = "REV", conflicts_with = "list")]
    pub since: Option<String>,

    /// Write a page of what is new since that revision, with the sources, to this file.
    #[arg(long, value_name = "FILE", requires = "since")]
    pub html: Option<PathBuf>,

    /// Share the searches with other machines, which run `cargo raddle work`, by the queue at this address, such as
    /// redis://HOST or postgres://HOST/DATABASE; without an address, that in RADDLE_QUEUE.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "")]
    pub queue: Option<String>,

    /// Move unfinished exhaustive searches from the queue to checkpoints of this machine, for `--resume` without it.
    #[arg(long, requires = "queue")]
    pub export: bool,

    /// Write the state of the run to this file every few seconds, in the text format of Prometheus.
    #[arg(long, value_name = "FILE", requires = "queue")]
    pub metrics: Option<PathBuf>,

    /// Other arguments for `cargo test`.
    #[arg(last = true, value_name = "ARGS-FOR-CARGO-TEST")]
    pub for_cargo: Vec<OsString>,

    #[command(flatten)]
    pub cargo: CargoArguments,

    #[command(flatten)]
    pub settings: SettingFlags,
}

impl TestArguments {
    /// Returns the arguments for `cargo test`, and those for the test binaries.
    pub fn split(&self) -> (Vec<OsString>, &[OsString]) {
        let mut arguments = self.for_cargo.iter();
        let (others, for_tests): (_, &[OsString]) =
            match arguments.position(|argument| argument == "--") {
                Some(at) => (&self.for_cargo[..at], &self.for_cargo[at + 1..]),
                None => (&self.for_cargo[..], &[]),
            };
        let mut for_cargo = self.cargo.for_build();
        for_cargo.extend_from_slice(others);
        (for_cargo, for_tests)
    }
}

/// The tests that judge changed operations.
#[derive(Args, Debug, Default, PartialEq)]
pub struct JudgeArguments {
    /// Use only tests whose name contains this text.
    pub filter: Option<String>,

    /// Use only the test whose name is the filter.
    #[arg(long, requires = "filter")]
    pub exact: bool,

    /// Number of processes to run in parallel; the number of cores by default.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub jobs: Option<u64>,

    /// Also change operations in the code of tests.
    #[arg(long)]
    pub in_tests: bool,

    /// Kill a test with a change after this time; by default after 90 s, or five times what the slowest test takes without
    /// a change.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub timeout: Option<Duration>,

    /// Other arguments for `cargo test`.
    #[arg(last = true, value_name = "ARGS-FOR-CARGO-TEST")]
    pub for_cargo: Vec<OsString>,

    #[command(flatten)]
    pub cargo: CargoArguments,

    #[command(flatten)]
    pub settings: SettingFlags,
}

impl JudgeArguments {
    /// Returns the arguments that select and build the same tests.
    pub fn as_test(&self) -> TestArguments {
        TestArguments {
            filter: self.filter.clone(),
            exact: self.exact,
            jobs: self.jobs,
            for_cargo: self.for_cargo.clone(),
            cargo: self.cargo.clone(),
            settings: self.settings.clone(),
            ..TestArguments::default()
        }
    }
}

#[derive(Args, Debug, Default, PartialEq)]
pub struct MutantsArguments {
    #[command(flatten)]
    pub tests: JudgeArguments,

    /// Where the changes are made.
    #[arg(long, value_name = "TIER", default_value = "runtime")]
    pub tier: Tier,

    /// List the changes, those of the source with their difference, and try none.
    #[arg(long, conflicts_with_all = ["junit", "html"])]
    pub list: bool,

    /// Try only changes in lines that differ from this revision of git.
    #[arg(long, value_name = "REV")]
    pub in_diff: Option<String>,

    /// Try only one part of the changes: part K of N, such as 1/4.
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,

    /// Print the results as lines of JSON.
    #[arg(long)]
    pub json: bool,

    /// Write the results as JUnit XML to this file.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Write a page with the sources and the results at their lines to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Have other machines judge the changes, which run `cargo raddle work`, by the queue at this address, such as
    /// redis://HOST or postgres://HOST/DATABASE; without an address, that in RADDLE_QUEUE.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "")]
    pub queue: Option<String>,
}

/// Where changes are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Tier {
    /// In operations, while the tests run, without another build.
    #[default]
    Runtime,
    /// In a copy of the source, with a build for each.
    Source,
    /// In both.
    All,
}

/// A part of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub part: usize,
    pub of: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, of)| {
            Some(Shard {
                part: part.parse().ok()?,
                of: of.parse().ok()?,
            })
        });
        numbers
            .filter(|shard| (1..=shard.of).contains(&shard.part))
            .ok_or_else(|| format!("`{text}` is not K/N with K from 1 to N"))
    }
}

#[derive(Args, Debug, Default, PartialEq)]
pub struct OrderingsArguments {
    #[command(flatten)]
    pub tests: JudgeArguments,

    /// Write the patch to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub patch: Option<PathBuf>,
}

#[derive(Args, Debug, PartialEq)]
pub struct ReplayArguments {
    /// Name of the test, as printed by `cargo test`, or a part that no other name has.
    #[arg(id = "name", value_name = "TEST", value_parser = NonEmptyStringValueParser::new())]
    pub test: String,

    /// Replay a test that was checked with `cargo raddle test --native`.
    #[arg(long)]
    pub native: bool,

    /// Token, text or file of a schedule; by default `target/raddle/BINARY/TEST.schedule`, with `.` for
    /// each `::` in the name of the test.
    pub schedule: Option<OsString>,

    /// Write the execution as a Graphviz graph to this file.
    #[arg(long, value_name = "FILE")]
    pub graphviz: Option<PathBuf>,

    /// Write the execution in the STD trace format of offline race predictors to this file.
    #[arg(long, value_name = "FILE")]
    pub std_trace: Option<PathBuf>,

    #[command(flatten)]
    pub cargo: CargoArguments,
}

#[derive(Args, Debug, PartialEq)]
pub struct AlternativesArguments {
    /// Name of the test, as printed by `cargo test`, or a part that no other name has.
    #[arg(id = "name", value_name = "TEST", value_parser = NonEmptyStringValueParser::new())]
    pub test: String,

    /// List those of a test that does not use raddle.
    #[arg(long)]
    pub native: bool,

    /// List every receive, also those that have one source only.
    #[arg(long)]
    pub all: bool,

    /// List the steps that a write depends on: its thread, its variable and its number there, such as `producer ready 0`.
    #[arg(long, value_name = "WRITE", value_parser = NonEmptyStringValueParser::new())]
    pub steps_to: Option<String>,

    /// Write the list to this file, to compare with it after an edit.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,

    /// Tell which alternatives of this list are gone, and which are new.
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,

    #[command(flatten)]
    pub cargo: CargoArguments,
}

#[derive(Args, Debug, PartialEq)]
pub struct ReportArguments {
    /// Directory given to `cargo raddle test --report` or `RADDLE_REPORT`.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// Open the index even if standard output is not a terminal.
    #[arg(long, conflicts_with = "no_open")]
    pub open: bool,

    /// Do not open the index.
    #[arg(long)]
    pub no_open: bool,
}

#[derive(Args, Debug, PartialEq)]
pub struct CoverageArguments {
    /// Merge these `runs.redb` files of other machines or branches first.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub merge: Vec<PathBuf>,
}

#[derive(Args, Debug, PartialEq)]
pub struct RunArguments {
    /// Run one schedule: the token printed with a failure, or a file.
    #[arg(long, value_name = "SCHEDULE")]
    pub replay: Option<OsString>,

    /// Share the search with other machines, which run `cargo raddle work --program`, by the queue at this address, such
    /// as redis://HOST or postgres://HOST/DATABASE; without an address, that in RADDLE_QUEUE.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "",
        conflicts_with = "replay")]
    pub queue: Option<String>,

    /// Write the state of the run to this file every few seconds, in the text format of Prometheus.
    #[arg(long, value_name = "FILE", requires = "queue")]
    pub metrics: Option<PathBuf>,

    #[command(flatten)]
    pub selection: ProgramSelection,

    /// Program and its arguments, or only arguments if a flag selects a program of the crate.
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,

    #[command(flatten)]
    pub settings: SettingFlags,
}

/// A program of the crate in the current directory.
#[derive(Args, Debug, Default, PartialEq)]
pub struct ProgramSelection {
    /// Check this binary of the crate.
    #[arg(long, value_name = "NAME", conflicts_with = "example")]
    pub bin: Option<String>,

    /// Check this example of the crate.
    #[arg(long, value_name = "NAME")]
    pub example: Option<String>,

    /// Package of the binary or example.
    #[arg(short, long, value_name = "PACKAGE")]
    pub package: Option<String>,

    #[command(flatten)]
    pub build: BuildArguments,
}

impl ProgramSelection {
    /// True when a flag selects a program of the crate, and not an existing file.
    pub fn is_given(&self) -> bool {
        let names = [&self.bin, &self.example, &self.package];
        names.iter().any(|name| name.is_some()) || self.build.builds()
    }

    /// Returns the selection as arguments of `cargo build`.
    pub fn cargo_arguments(&self) -> Vec<OsString> {
        let flags = [
            ("--bin", &self.bin),
            ("--example", &self.example),
            ("--package", &self.package),
        ];
        let mut arguments: Vec<OsString> = Vec::new();
        for (flag, value) in flags {
            if let Some(value) = value {
                arguments.extend([flag.into(), value.into()]);
            }
        }
        arguments.extend(self.build.for_build());
        arguments
    }
}

#[derive(Args, Debug, PartialEq)]
#[command(disable_help_flag = true)]
pub struct CompilerArguments {
    /// Arguments for the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub for_compiler: Vec<OsString>,
}

#[derive(Args, Debug, Default, PartialEq)]
pub struct SetupArguments {
    /// Build an instrumented Rust standard library instead, so that accesses inside std are seen.
    #[arg(long)]
    pub std: bool,
}

#[derive(Args, Debug, PartialEq)]
pub struct CompletionsArguments {
    /// Shell to print completions for.
    pub shell: Shell,
}

#[derive(Args, Debug, PartialEq)]
pub struct ManualArguments {
    /// Directory for the manual pages.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

#[derive(Args, Debug, PartialEq)]
pub struct WorkArguments {
    /// Address of the queue, such as redis://HOST or postgres://HOST/DATABASE; that in RADDLE_QUEUE by default.
    #[arg(long, value_name = "ADDRESS")]
    pub queue: Option<String>,

    /// Work for `cargo raddle test --native`: unmodified tests that use the types of std.
    #[arg(long)]
    pub native: bool,

    /// Work for `cargo raddle run`: this program. Its arguments come from there.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["native", "for_cargo"])]
    pub program: Option<OsString>,

    /// Number of processes that explore in parallel; the number of cores by default.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub jobs: Option<u64>,

    /// Time to wait for a run, and for a front end when nothing is left to do.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = time)]
    pub wait: Duration,

    /// Time after which another worker gets a part that this one was exploring, if this one does not answer.
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    pub lease: Duration,

    /// Time to explore a part before its rest is handed back; by default it adapts to the speed of the queue.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub slice: Option<Duration>,

    /// Append a line of JSON for each committed part to this file.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,

    /// Other arguments for `cargo test`.
    #[arg(last = true, value_name = "ARGS-FOR-CARGO-TEST")]
    pub for_cargo: Vec<OsString>,

    #[command(flatten)]
    pub cargo: CargoArguments,
}

impl WorkArguments {
    /// Returns the arguments that build the same tests.
    pub fn as_test(&self) -> TestArguments {
        TestArguments {
            native: self.native,
            for_cargo: self.for_cargo.clone(),
            cargo: self.cargo.clone(),
            ..TestArguments::default()
        }
    }
}

#[derive(Args, Debug, PartialEq)]
pub struct QueueArguments {
    /// Action on the run.
    pub action: QueueAction,

    /// Address of the queue, such as redis://HOST or postgres://HOST/DATABASE; that in RADDLE_QUEUE by default.
    #[arg(long, value_name = "ADDRESS")]
    pub queue: Option<String>,

    /// Print the status as a JSON object.
    #[arg(long)]
    pub json: bool,

    /// Write the status to this file instead, in the text format of Prometheus.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub metrics: Option<PathBuf>,
}

/// An action on the run of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueueAction {
    /// Print its searches, workers and failures.
    Status,
    /// Remove it with everything in it.
    Clear,
}

/// Parses a time as the settings do.
fn time(text: &str) -> Result<Duration, String> {
    let kind = SettingKind::Time { from: 1 };
    match kind.parse(text) {
        Ok(Value::Time(time)) => Ok(time),
        Ok(_) => Err(format!("expected {kind}")),
        Err(error) => Err(error.reason()),
    }
}
