//! Flags that mirror a setting of the checks, shared by every command that runs checks.
//!
//! Tests and programs read their settings from environment variables, so each flag sets one.
//! [`SettingFlags::table`] is the list of all flags with their variables.

use std::ffi::OsString;
use std::path::{self, PathBuf};

use clap::Args;
use clap::builder::{NonEmptyStringValueParser, PathBufValueParser, TypedValueParser as _};

use super::budget::Budget;

/// Environment variables with their values, for a child process.
pub type Environment = Vec<(&'static str, OsString)>;

/// Settings of the checks in tests and programs.
#[derive(Args, Debug, Default, PartialEq)]
#[command(next_help_heading = "Settings of checks")]
pub struct SettingFlags {
    /// Time limit of each check, such as 500ms, 30s, 2m or 1h.
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Budget>,

    /// Exploration strategy, such as `exhaustive` or `random`.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub strategy: Option<String>,

    /// Maximum number of executions of each check.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_executions: Option<u64>,

    /// Maximum number of events of one execution; 1,000,000 by default, 100,000 in systematic searches.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_events: Option<u64>,

    /// Seed of the random strategies.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Number of workers of each check: threads, or processes for native programs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub workers: Option<u64>,

    /// Resume interrupted exhaustive searches.
    #[arg(long)]
    pub resume: bool,

    /// Continue from earlier runs, reusing their recorded executions and coverage.
    #[arg(long)]
    pub remember: bool,

    /// Write an HTML page for each check and an index of all pages to this directory.
    // Tests run in the directories of their packages, where a relative path would mean another one.
    #[arg(
        long,
        value_name = "DIR",
        value_parser = PathBufValueParser::new().try_map(path::absolute::<PathBuf>)
    )]
    pub report: Option<PathBuf>,

    #[command(flatten)]
    pub native: NativeSettingFlags,
}

/// Settings that only native programs have.
#[derive(Args, Debug, Default, PartialEq)]
#[command(next_help_heading = "Settings of native programs")]
pub struct NativeSettingFlags {
    /// Memory model of atomics: sequential consistency, or RC11 as in Rust and C.
    #[arg(long, value_name = "MODEL", value_parser = ["sc", "rc11"])]
    pub memory: Option<String>,

    /// Treatment of racing plain accesses: a failure (`race`), scheduling points once a race is found
    /// (`promote`), or scheduling points from the start (`explore`).
    #[arg(long, value_name = "MODE", value_parser = ["race", "promote", "explore"])]
    pub plain: Option<String>,

    /// Implementation of threads: coroutines, or OS threads, which are slower.
    #[arg(long, value_parser = ["coroutine", "os"])]
    pub substrate: Option<String>,

    /// State at the start of each execution: memory restored from a snapshot, a forked process, or the
    /// state left by the previous execution (`loop`).
    #[arg(long, value_parser = ["snapshot", "fork", "loop"])]
    pub restart: Option<String>,
}

/// A flag, the environment variable that it sets, and the value if the flag was given.
pub struct SettingFlag {
    pub flag: &'static str,
    pub variable: &'static str,
    value: Option<OsString>,
}

impl SettingFlags {
    /// Every flag, in the order of the help.
    pub fn table(&self) -> [SettingFlag; 13] {
        let row = |flag, variable, value| SettingFlag {
            flag,
            variable,
            value,
        };
        let text = |value: &Option<String>| value.as_ref().map(OsString::from);
        let number = |value: Option<u64>| value.map(|value| value.to_string().into());
        let switch = |is_on: bool| is_on.then(|| "1".into());
        let budget = self.budget.as_ref().map(|time| time.to_string().into());
        let report = self.report.as_ref().map(OsString::from);
        let native = &self.native;
        [
            row("budget", "RADDLE_MAX_TIME", budget),
            row("strategy", "RADDLE_STRATEGY", text(&self.strategy)),
            row(
                "max-executions",
                "RADDLE_MAX_EXECUTIONS",
                number(self.max_executions),
            ),
            row("max-events", "RADDLE_MAX_EVENTS", number(self.max_events)),
            row("seed", "RADDLE_SEED", number(self.seed)),
            row("workers", "RADDLE_WORKERS", number(self.workers)),
            row("resume", "RADDLE_RESUME", switch(self.resume)),
            row("remember", "RADDLE_REMEMBER", switch(self.remember)),
            row("report", "RADDLE_REPORT", report),
            row("memory", "RADDLE_MEMORY", text(&native.memory)),
            row("plain", "RADDLE_PLAIN", text(&native.plain)),
            row("substrate", "RADDLE_SUBSTRATE", text(&native.substrate)),
            row("restart", "RADDLE_RESTART", text(&native.restart)),
        ]
    }

    /// The variables of the flags that were given.
    pub fn environment(&self) -> Environment {
        let rows = self.table().into_iter();
        rows.filter_map(|row| Some((row.variable, row.value?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    #[test]
    fn every_setting_flag_is_in_the_table() {
        let command = SettingFlags::augment_args(Command::new("settings"));
        let flags: Vec<_> = command
            .get_arguments()
            .filter_map(|argument| argument.get_long())
            .collect();
        let table = SettingFlags::default().table();
        assert_eq!(flags, table.map(|row| row.flag));
    }

    #[test]
    fn only_given_flags_become_variables() {
        assert_eq!(SettingFlags::default().environment(), []);
        let settings = SettingFlags {
            seed: Some(7),
            resume: true,
            ..SettingFlags::default()
        };
        let expected = [("RADDLE_SEED", "7"), ("RADDLE_RESUME", "1")];
        assert_eq!(
            settings.environment(),
            expected.map(|(name, value)| (name, value.into()))
        );
    }
}
