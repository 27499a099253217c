//! `cargo raddle test`: builds the tests and runs each in its own process.

use std::env;
use std::ffi::OsString;
use std::thread::available_parallelism;

use crate::arguments::settings::{self, Environment};
use crate::arguments::subcommands::{MessageFormat, TestArguments};
use crate::commands::error::Error;
use crate::commands::near_names::near_names;
use crate::commands::queue;
use crate::commands::verdict::Verdict;
use crate::output;
use crate::output::comparison;
use crate::output::junit;
use crate::output::plural::counted;
use crate::output::reporter::{Reporter, ResultFormat};
use crate::run::interrupts;
use crate::run::leftovers::{self, RunDirectory};
use crate::run::outcome::{TestOutcome, TestVerdict};
use crate::run::runner::Runner;
use crate::run::since::Since;
use crate::toolchain;
use crate::toolchain::binaries::{Test, TestBinary};
use crate::toolchain::cargo::{Cargo, Workspace};
use crate::toolchain::{data_directory, rust};

pub fn run(cargo: &Cargo, options: &TestArguments) -> Result<Verdict, Error> {
    if !options.native && options.settings.has_native() {
        return Err(Error::NeedsNative);
    }
    settings::check_variables(options.native, &options.settings, |name| env::var_os(name))?;
    output::set_colours(options.cargo.build.colours());
    let (for_cargo, for_tests) = options.split();
    if for_cargo.iter().any(|argument| argument == "--doc") {
        if options.queue.is_some() {
            return Err(Error::QueueDocTests);
        }
        if options.since.is_some() {
            return Err(Error::SinceDocTests);
        }
        return run_doc_tests(cargo, options, &for_cargo, for_tests);
    }
    let format = format(options);
    // Before the build, which takes time.
    #[cfg(unix)]
    let address = queue::wanted(options)?;
    #[cfg(not(unix))]
    queue::refuse(options)?;
    let since = match &options.since {
        Some(revision) => {
            let directory = data_directory::find(cargo)?;
            let root = cargo.workspace()?.root;
            Some(Since::open(&root, directory, revision)?)
        }
        None => None,
    };
    let BuiltTests {
        binaries,
        tests,
        workspace,
        environment,
    } = build_tests(cargo, options)?;
    let plan = since
        .as_ref()
        .map(|since| since.plan(&binaries, &tests, &environment));
    let all: Vec<usize> = (0..tests.len()).collect();
    let order = plan.as_ref().map_or(&all, |plan| &plan.order);
    if options.list {
        print_names(&binaries, &tests);
        return Ok(Verdict::Passed);
    }
    #[cfg(unix)]
    let front_end = match address {
        Some(address) => Some(queue::open(address, options)?),
        None => None,
    };
    let are_all = options.filter.is_none() && for_tests.is_empty();
    let mut reporter = Reporter::new(&binaries, &tests, format, workspace.root, are_all);
    if let Some(directory) = data_directory::from_environment() {
        leftovers::clear(&directory);
    }
    let raddle = data_directory::within(&workspace.target);
    let directory =
        RunDirectory::new(&raddle).map_err(output::error::Error::cannot_write(&raddle))?;
    let cores = available_parallelism().map_or(1, usize::from);
    let runner = Runner {
        binaries: &binaries,
        tests: &tests,
        environment: &environment,
        jobs: options.jobs.map_or(cores, |jobs| jobs as usize),
        directory: directory.path(),
        time_limit: None,
        since: since.as_ref(),
        #[cfg(unix)]
        front_end: front_end.as_ref(),
    };
    if let Some(since) = since.as_ref().filter(|_| format == ResultFormat::Human) {
        eprintln!("{}", comparison::beginning(since));
    }
    reporter.start(order.len(), runner.jobs);
    for (index, record) in plan.iter().flat_map(|plan| &plan.skipped) {
        let base = since.as_ref().and_then(|since| since.base.as_ref());
        let base = base.map_or("", |base| &base.commit);
        reporter.skip(*index, comparison::reason(base, record));
    }
    let run = || {
        runner.run(order, |message| reporter.receive(message));
        reporter.finish()
    };
    #[cfg(unix)]
    let outcomes = match &front_end {
        Some(front_end) => front_end.present(run),
        None => run(),
    };
    #[cfg(not(unix))]
    let outcomes = run();
    #[cfg(unix)]
    if let Some(front_end) = front_end {
        front_end.close(!interrupts::is_requested())?;
    }
    if let (Some(since), Some(plan)) = (&since, &plan) {
        let conclusion = since.conclude(plan, &binaries, &tests, &outcomes);
        comparison::print(&conclusion, since, &binaries, &tests, format);
        if let Some(path) = &options.html {
            comparison::page::write(path, &conclusion, since, &binaries, &tests, &outcomes)?;
        }
    }
    if let Some(path) = &options.junit {
        junit::write(path, &binaries, &tests, &outcomes)?;
    }
    verdict(&outcomes)
}

/// The selected tests, ready to run.
pub struct BuiltTests {
    pub binaries: Vec<TestBinary>,
    pub tests: Vec<Test>,
    pub workspace: Workspace,
    pub environment: Environment,
}

/// Builds the tests and returns the binaries that use raddle, or all if they are native.
pub fn build_binaries(cargo: &Cargo, options: &TestArguments) -> Result<Vec<TestBinary>, Error> {
    let (for_cargo, _) = options.split();
    let built = build(cargo, options, &for_cargo, format(options))?;
    match options.native {
        true => Ok(built),
        false => with_raddle(built),
    }
}

/// Builds the tests and lists those that are selected.
pub fn build_tests(cargo: &Cargo, options: &TestArguments) -> Result<BuiltTests, Error> {
    let (for_cargo, for_tests) = options.split();
    let built = build(cargo, options, &for_cargo, format(options))?;
    let workspace = cargo.workspace()?;
    let mut environment = environment(options);
    let binaries = match options.native {
        true => {
            environment.extend(data_directory::for_native_tests(&workspace.target));
            built
        }
        false => with_raddle(built)?,
    };
    let tests = selected(&binaries, options, for_tests)?;
    Ok(BuiltTests {
        binaries,
        tests,
        workspace,
        environment,
    })
}

/// Lists the selected tests of binaries that were built in another way.
pub fn with_binaries(
    binaries: Vec<TestBinary>,
    workspace: Workspace,
    options: &TestArguments,
) -> Result<BuiltTests, Error> {
    let (_, for_tests) = options.split();
    let tests = selected(&binaries, options, for_tests)?;
    Ok(BuiltTests {
        tests,
        binaries,
        workspace,
        environment: environment(options),
    })
}

/// Runs `cargo test --doc`, because only cargo can run doc tests.
fn run_doc_tests(
    cargo: &Cargo,
    options: &TestArguments,
    for_cargo: &[OsString],
    for_tests: &[OsString],
) -> Result<Verdict, Error> {
    if options.native {
        return Err(Error::NativeDocTests);
    }
    let mut arguments = for_cargo.to_vec();
    if !for_tests.is_empty() {
        arguments.push("--".into());
        arguments.extend_from_slice(for_tests);
    }
    let status = cargo.run_tests(&arguments, &environment(options))?;
    Verdict::of_cargo_test(status)
}

fn format(options: &TestArguments) -> ResultFormat {
    match options.message_format {
        Some(MessageFormat::Json) => ResultFormat::Diagnostics,
        _ if options.json => ResultFormat::JsonLines,
        _ => ResultFormat::Human,
    }
}

/// Returns the variables of the tests.
fn environment(options: &TestArguments) -> Environment {
    let mut environment = options.settings.environment();
    // This command displays the progress.
    environment.push(("RADDLE_LOG", "off".into()));
    environment
}

fn build(
    cargo: &Cargo,
    options: &TestArguments,
    for_cargo: &[OsString],
    format: ResultFormat,
) -> Result<Vec<TestBinary>, Error> {
    let as_json = format == ResultFormat::Diagnostics;
    let built = match options.native {
        true => rust::build_tests(cargo, for_cargo, as_json)?,
        false => cargo.build_binaries(for_cargo, as_json)?,
    };
    Ok(built)
}

/// Prints the names of tests as libtest does.
fn print_names(binaries: &[TestBinary], tests: &[Test]) {
    for test in tests {
        println!("{}: test", test.name);
    }
    let tests = counted(tests.len(), "test", "tests");
    let binaries = counted(binaries.len(), "binary", "binaries");
    eprintln!("{tests} in {binaries}");
}

/// Returns the binaries that use raddle.
fn with_raddle(built: Vec<TestBinary>) -> Result<Vec<TestBinary>, Error> {
    let binaries: Vec<_> = built.into_iter().filter(TestBinary::uses_raddle).collect();
    match binaries.is_empty() {
        true => Err(Error::NothingUsesRaddle),
        false => Ok(binaries),
    }
}

/// Returns the tests that the filter selects. A filter that selects none is an error.
fn selected(
    binaries: &[TestBinary],
    options: &TestArguments,
    for_tests: &[OsString],
) -> Result<Vec<Test>, Error> {
    let filter = options.filter.as_deref();
    let exact = options.exact.then(|| OsString::from("--exact"));
    let with_exact: Vec<_> = for_tests.iter().cloned().chain(exact).collect();
    let tests = list(binaries, filter, &with_exact)?;
    let filter = match filter {
        Some(filter) if tests.is_empty() => filter.to_owned(),
        _ => return Ok(tests),
    };
    if !options.exact {
        return Err(Error::NoTestMatches { filter });
    }
    let all = list(binaries, None, for_tests)?;
    let names: Vec<String> = all.into_iter().map(|test| test.name).collect();
    Err(Error::NoSuchTest {
        near: near_names(&filter, &names),
        name: filter,
    })
}

/// Returns the tests of all binaries with the filter in their names. A binary that cannot list its tests is skipped with
/// a warning.
fn list(
    binaries: &[TestBinary],
    filter: Option<&str>,
    for_tests: &[OsString],
) -> Result<Vec<Test>, Error> {
    let mut tests = Vec::new();
    for (index, binary) in binaries.iter().enumerate() {
        match binary.tests(filter, for_tests) {
            Ok(names) => tests.extend(names.into_iter().map(|name| Test {
                binary: index,
                name,
            })),
            Err(error @ toolchain::error::Error::BinaryDoesNotList { .. }) => {
                eprintln!("warning: {error}");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(tests)
}

fn verdict(outcomes: &[TestOutcome]) -> Result<Verdict, Error> {
    let any = |verdict| outcomes.iter().any(|one| one.verdict == verdict);
    match () {
        () if any(TestVerdict::Failed) => Ok(Verdict::Failed),
        () if any(TestVerdict::Broke) => Err(Error::TestsBroke),
        () if any(TestVerdict::TooLong) => Err(Error::TestsTooLong),
        () if interrupts::is_requested() => Ok(Verdict::Interrupted),
        () => Ok(Verdict::Passed),
    }
}
