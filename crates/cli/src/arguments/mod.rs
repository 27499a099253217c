//! What can be typed, and the help that explains it.

pub mod budget;
pub mod help;

use std::ffi::OsString;
use std::path::{self, Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::arguments::budget::Budget;
use crate::arguments::help::{
    COMPLETIONS_HELP, COVERAGE_HELP, EXIT_CODES, MANUAL_HELP, REPLAY_HELP, REPORT_HELP, TEST_HELP,
};
use crate::commands::error::Error;
use crate::commands::run::{
    COMPILER_HELP, Manner, RUN_HELP, RunArguments, SETUP_HELP, SetupArguments,
};
use crate::toolchain::c_compiler::CompilerArguments;

/// Check concurrent code under many schedules.
#[derive(Debug, Parser)]
#[command(name = "cargo-raddle", bin_name = "cargo raddle", version, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the tests that raddle checks and run them, under limits and a strategy of your choice.
    #[command(after_help = format!("{TEST_HELP}\n{EXIT_CODES}"))]
    Test(TestArguments),
    /// Run one test on one schedule, and print what happens.
    #[command(after_help = format!("{REPLAY_HELP}\n{EXIT_CODES}"))]
    Replay(ReplayArguments),
    /// Make the pages of a run anew from their data, and open the one that lists them.
    #[command(after_help = format!("{REPORT_HELP}\n{EXIT_CODES}"))]
    Report(ReportArguments),
    /// Show what tests remember of their runs: what was covered, and what was not.
    #[command(after_help = format!("{COVERAGE_HELP}\n{EXIT_CODES}"))]
    Coverage(CoverageArguments),
    /// Check `main` of a program in C or C++, or of a Rust crate.
    #[command(after_help = format!("{RUN_HELP}\n{EXIT_CODES}"))]
    Run(RunArguments),
    /// Compile C for `cargo raddle run` and `raddle_check`.
    #[command(after_help = format!("{COMPILER_HELP}\n{EXIT_CODES}"))]
    Cc(CompilerArguments),
    /// Compile C++ for `cargo raddle run` and `raddle_check`.
    #[command(name = "c++", after_help = format!("{COMPILER_HELP}\n{EXIT_CODES}"))]
    Cxx(CompilerArguments),
    /// Build the library for programs that do not know of raddle, and put it beside this program.
    #[command(after_help = format!("{SETUP_HELP}\n{EXIT_CODES}"))]
    Setup(SetupArguments),
    /// Print completions for a shell.
    #[command(after_help = format!("{COMPLETIONS_HELP}\n{EXIT_CODES}"))]
    Completions(CompletionsArguments),
    /// Write manual pages, one for each command.
    #[command(after_help = format!("{MANUAL_HELP}\n{EXIT_CODES}"))]
    Manual(ManualArguments),
}

/// How failures are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// For people.
    Human,
    /// As the compiler's messages, for editors.
    Json,
}

/// How checks are run, for tests and programs alike.
#[derive(Args, Debug, Default, PartialEq)]
pub struct Search {
    /// Stop each check after this long: 500ms, 30s, 2m, 1h.
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Budget>,

    /// How schedules are picked, such as `exhaustive` or `random`.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub strategy: Option<String>,

    /// Stop each check after this many executions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_executions: Option<u64>,

    /// How many events one execution may have: 1,000,000 if nothing is said, 100,000 in a search.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_events: Option<u64>,

    /// Where strategies that draw at random start.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// How many workers run the executions of one check: OS threads, or processes for C and C++.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub workers: Option<u64>,

    /// Go on with exhaustive searches that were interrupted.
    #[arg(long)]
    pub resume: bool,

    /// Go on from earlier runs: what they have run and covered is known.
    #[arg(long)]
    pub remember: bool,

    /// Write a page for each check, and one that lists them, to this folder.
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
}

impl Search {
    /// What the flags are to the checks.
    pub fn environment(&self) -> Result<Vec<(&'static str, OsString)>, Error> {
        let text = |value: Option<String>| value.map(OsString::from);
        let number = |value: Option<u64>| text(value.map(|number| number.to_string()));
        let report = self.report.as_deref().map(absolute).transpose()?;
        let settings = [
            (
                "RADDLE_MAX_TIME",
                text(self.budget.as_ref().map(ToString::to_string)),
            ),
            ("RADDLE_STRATEGY", text(self.strategy.clone())),
            ("RADDLE_MAX_EXECUTIONS", number(self.max_executions)),
            ("RADDLE_MAX_EVENTS", number(self.max_events)),
            ("RADDLE_SEED", number(self.seed)),
            ("RADDLE_WORKERS", number(self.workers)),
            ("RADDLE_RESUME", self.resume.then(|| "1".into())),
            ("RADDLE_REMEMBER", self.remember.then(|| "1".into())),
            ("RADDLE_REPORT", report.map(PathBuf::into_os_string)),
        ];
        let settings = settings.into_iter();
        Ok(settings
            .filter_map(|(name, value)| Some((name, value?)))
            .collect())
    }
}

/// Tests run in the folders of their packages.
pub fn absolute(path: &Path) -> Result<PathBuf, Error> {
    path::absolute(path).map_err(|cause| Error::NoCurrentDirectory { cause })
}

#[derive(Args, Debug, Default, PartialEq)]
pub struct TestArguments {
    /// Run only tests whose name contains this.
    pub filter: Option<String>,

    /// Check all tests as they are, with the types of std: nothing in the crate needs to know of raddle.
    #[arg(long)]
    pub native: bool,

    #[command(flatten)]
    pub search: Search,

    #[command(flatten)]
    pub manner: Manner,

    /// How many tests run at once; as many as there are cores, if not given.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub jobs: Option<u64>,

    /// Print what happens as lines of JSON.
    #[arg(long, conflicts_with = "message_format")]
    pub json: bool,

    /// Write the results as JUnit XML to this file.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Print failures as this.
    #[arg(long, value_name = "FORMAT")]
    pub message_format: Option<MessageFormat>,

    /// Test only this package; may be repeated.
    #[arg(short, long = "package", value_name = "PACKAGE")]
    pub packages: Vec<String>,

    /// Arguments for `cargo test`.
    #[arg(last = true, value_name = "ARGS-FOR-CARGO-TEST")]
    pub for_cargo: Vec<OsString>,
}

impl TestArguments {
    /// The arguments for `cargo test`, and those for the tests themselves.
    pub fn split(&self) -> (&[OsString], &[OsString]) {
        let mut arguments = self.for_cargo.iter();
        match arguments.position(|argument| argument == "--") {
            Some(at) => (&self.for_cargo[..at], &self.for_cargo[at + 1..]),
            None => (&self.for_cargo, &[]),
        }
    }
}

#[derive(Args, Debug, PartialEq)]
pub struct ReplayArguments {
    /// The full name of the test, as `cargo test` prints it.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub test: String,

    /// The test was checked by `cargo raddle test --native`.
    #[arg(long)]
    pub native: bool,

    /// A token, the text of a schedule, or a file that has it; without it, the file
    /// `target/raddle/BINARY/TEST.schedule`, with `.` for each `::` of the name.
    pub schedule: Option<OsString>,

    /// Write what happened as a graph for Graphviz to this file.
    #[arg(long, value_name = "FILE")]
    pub graphviz: Option<PathBuf>,

    /// Write what happened in the STD format of offline race predictors to this file.
    #[arg(long, value_name = "FILE")]
    pub std_trace: Option<PathBuf>,
}

#[derive(Args, Debug, PartialEq)]
pub struct ReportArguments {
    /// The folder that `cargo raddle test --report` or `RADDLE_REPORT` named.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Open the page even if the output is no terminal.
    #[arg(long, conflicts_with = "no_open")]
    pub open: bool,

    /// Do not open the page.
    #[arg(long)]
    pub no_open: bool,
}

#[derive(Args, Debug, PartialEq)]
pub struct CompletionsArguments {
    /// Which shell.
    pub shell: Shell,
}

#[derive(Args, Debug, PartialEq)]
pub struct ManualArguments {
    /// The folder that gets them.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Args, Debug, PartialEq)]
pub struct CoverageArguments {
    /// Add what these files remember, which are `runs.redb` of other machines or branches.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub merge: Vec<PathBuf>,
}

/// The arguments without the `raddle` that cargo puts first when it runs `cargo raddle`.
pub fn without_name_of_subcommand(
    arguments: impl IntoIterator<Item = OsString>,
) -> impl Iterator<Item = OsString> {
    let mut arguments = arguments.into_iter();
    let program = arguments.next();
    let mut rest = arguments.peekable();
    rest.next_if(|first| first == "raddle");
    program.into_iter().chain(rest)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        let words = line.split_whitespace().map(OsString::from);
        Arguments::try_parse_from(without_name_of_subcommand(words))
            .map(|arguments| arguments.command)
    }

    fn parse_test(line: &str) -> TestArguments {
        match parse(line) {
            Ok(Command::Test(options)) => options,
            other => panic!("`{line}` is not a test command: {other:?}"),
        }
    }

    #[test]
    fn definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_word_that_cargo_adds_is_dropped_once() {
        assert_eq!(parse_test("cargo-raddle test"), TestArguments::default());
        assert_eq!(
            parse_test("cargo-raddle raddle test"),
            TestArguments::default()
        );
        assert_eq!(
            parse_test("cargo-raddle raddle test raddle"),
            TestArguments {
                filter: Some("raddle".to_owned()),
                ..TestArguments::default()
            }
        );
        let error = parse("cargo-raddle raddle raddle").expect_err("`raddle` is no command");
        assert_eq!(error.kind(), ErrorKind::InvalidSubcommand);
    }

    #[test]
    fn every_flag_of_test_is_read() {
        let line = "cargo-raddle test counter --budget 30s --strategy pct --max-executions 9 --max-events 50 \
                    --seed 7 --workers 3 --resume --remember --jobs 2 --report pages --junit j.xml \
                    --message-format json -p one --package two -- --release -- --nocapture";
        assert_eq!(
            parse_test(line),
            TestArguments {
                filter: Some("counter".to_owned()),
                native: false,
                manner: Manner::default(),
                search: Search {
                    budget: Some("30s".parse().expect("a budget")),
                    strategy: Some("pct".to_owned()),
                    max_executions: Some(9),
                    max_events: Some(50),
                    seed: Some(7),
                    workers: Some(3),
                    resume: true,
                    remember: true,
                    report: Some("pages".into()),
                },
                jobs: Some(2),
                json: false,
                junit: Some("j.xml".into()),
                message_format: Some(MessageFormat::Json),
                packages: vec!["one".to_owned(), "two".to_owned()],
                for_cargo: ["--release", "--", "--nocapture"]
                    .map(OsString::from)
                    .to_vec(),
            }
        );
    }

    #[test]
    fn native_tests_and_programs_are_run_in_the_same_manner() {
        let flags = "--memory rc11 --plain explore --substrate os --restart fork";
        let test = parse_test(&format!("cargo-raddle test --native {flags}"));
        assert!(test.native);
        match parse(&format!("cargo-raddle run --bin queue {flags} -- 3")) {
            Ok(Command::Run(options)) => assert_eq!(options.manner, test.manner),
            other => panic!("not a run: {other:?}"),
        }
        assert_ne!(test.manner, Manner::default());
    }

    #[test]
    fn run_has_the_flags_of_test() {
        let flags = "--budget 30s --strategy pct --max-executions 9 --seed 7 --workers 3 --resume \
                     --remember --report pages";
        let search = parse_test(&format!("cargo-raddle test {flags}")).search;
        match parse(&format!(
            "cargo-raddle run {flags} --replay r1.A -- ./queue 3"
        )) {
            Ok(Command::Run(options)) => {
                assert_eq!(options.search, search);
                assert_eq!(options.replay, Some("r1.A".into()));
                assert_eq!(options.program, ["./queue", "3"].map(OsString::from));
            }
            other => panic!("not a run: {other:?}"),
        }
    }

    #[test]
    fn replay_takes_a_test_and_perhaps_a_schedule() {
        for (line, schedule) in [
            ("cargo-raddle replay a::b", None),
            (
                "cargo-raddle replay a::b a.schedule",
                Some(OsString::from("a.schedule")),
            ),
        ] {
            match parse(line) {
                Ok(Command::Replay(options)) => {
                    assert_eq!(
                        options,
                        ReplayArguments {
                            test: "a::b".to_owned(),
                            native: false,
                            schedule,
                            graphviz: None,
                            std_trace: None,
                        }
                    );
                }
                other => panic!("`{line}` is not a replay command: {other:?}"),
            }
        }
        let error = parse("cargo-raddle replay").expect_err("the test is missing");
        assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        for line in [
            "cargo-raddle test --budget soon",
            "cargo-raddle test --max-executions 0",
            "cargo-raddle test --seed -1",
            "cargo-raddle test --workers 0",
            "cargo-raddle test --seed seven",
        ] {
            let error = parse(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn help_has_examples_environment_and_exit_codes() {
        for mut command in Arguments::command().get_subcommands().cloned() {
            let help = command.render_long_help().to_string();
            let mut parts = vec!["Examples:\n", "Exit code: 0"];
            match command.get_name() {
                "completions" | "manual" | "report" => {}
                "run" | "cc" | "c++" | "setup" => parts.push("Environment"),
                _ => parts.extend(["Environment", "  CARGO ", "  NO_COLOR "]),
            }
            for part in parts {
                assert!(help.contains(part), "`{part}` is not in {help}");
            }
        }
    }
}
