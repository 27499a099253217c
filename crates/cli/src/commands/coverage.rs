//! `cargo raddle coverage`: shows the recorded runs and coverage of checks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use raddle_runs::{EXCLUDED, Remembered, RequirementKey, Run, RunsFile, merge};

use crate::arguments::subcommands::CoverageArguments;
use crate::commands::error::Error;
use crate::commands::verdict::Verdict;
use crate::output::plural::counted;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::data_directory;

/// Time to wait for tests that hold the file; they hold it for milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of listed requirements of each kind; the rest is counted.
const MAX_LISTED: usize = 40;

/// Merges the given files and prints all records.
pub fn run(cargo: &Cargo, options: CoverageArguments) -> Result<Verdict, Error> {
    let file = RunsFile::new(data_directory::find(cargo)?.join("runs.redb"));
    for given in options.merge {
        let merged = merge(&file, &RunsFile::given(&given), PATIENCE)?;
        for check in merged.different {
            eprintln!(
                "{check}: {} is from another version of the program; only its failing schedules were merged",
                given.display()
            );
        }
    }
    let checks = file.checks(PATIENCE)?;
    if checks.is_empty() {
        return Err(Error::NothingRemembered {
            path: file.path().to_owned(),
        });
    }
    for check in checks {
        print!("{}", description(&check, &file.read(&check, PATIENCE)?));
    }
    Ok(Verdict::Passed)
}

/// Returns the records of a check, as text.
fn description(check: &str, remembered: &Remembered) -> String {
    let mut text = format!(
        "{check}: {}, {}, {}\n",
        counted(remembered.runs.len(), "run", "runs"),
        counted(remembered.executions() as usize, "execution", "executions"),
        counted(remembered.classes.len(), "class", "classes")
    );
    let growth = remembered.growth();
    if growth.len() > 1 {
        let of = |number: fn(&Run) -> u64| {
            let numbers: Vec<_> = growth.iter().map(|run| number(run).to_string()).collect();
            numbers.join(", ")
        };
        let _ = writeln!(
            text,
            "  executions after each run: {}",
            of(|run| run.executions)
        );
        let _ = writeln!(text, "  classes after each run: {}", of(|run| run.classes));
        if growth.iter().any(|run| run.requirements > 0) {
            let _ = writeln!(
                text,
                "  requirements after each run: {}",
                of(|run| run.requirements)
            );
        }
    }
    let mut metrics: BTreeMap<&str, usize> = BTreeMap::new();
    for key in &remembered.covered {
        *metrics
            .entry(key.split('\t').next().unwrap_or(key))
            .or_default() += 1;
    }
    if !metrics.is_empty() {
        let each: Vec<_> = (metrics.iter())
            .map(|(metric, count)| format!("{metric} {count}"))
            .collect();
        let _ = writeln!(text, "  covered: {}", each.join(", "));
    }
    let open = (remembered.stale.iter()).map(|(key, executions)| {
        let executions = counted(*executions as usize, "execution", "executions");
        format!("{}: not in {executions}", name(key))
    });
    list(&mut text, "not covered", open.collect());
    let (excluded, estimated): (Vec<_>, Vec<_>) =
        (remembered.impossible.iter()).partition(|(_, reason)| *reason == EXCLUDED);
    let excluded = excluded.into_iter().map(|(key, _)| name(key));
    list(&mut text, EXCLUDED, excluded.collect());
    let estimated = estimated.into_iter();
    let estimated = estimated.map(|(key, reason)| format!("{}: {reason}", name(key)));
    list(&mut text, "estimated to be impossible", estimated.collect());
    if !remembered.failures.is_empty() {
        let failures = counted(
            remembered.failures.len(),
            "failing schedule",
            "failing schedules",
        );
        let _ = writeln!(text, "  {failures}, run first by the next run");
    }
    text
}

/// Appends a list with its heading, unless it is empty.
fn list(text: &mut String, heading: &str, lines: Vec<String>) {
    if !lines.is_empty() {
        let _ = writeln!(text, "  {heading}:");
    }
    for line in lines.iter().take(MAX_LISTED) {
        let _ = writeln!(text, "    {line}");
    }
    if let Some(more) = lines.len().checked_sub(MAX_LISTED + 1) {
        let _ = writeln!(text, "    and {} more", more + 1);
    }
}

fn name(key: &str) -> String {
    RequirementKey::parse(key).map_or_else(|| key.to_owned(), |key| key.to_string())
}
