//! Flags that mirror a setting of the checks, shared by every command that runs checks.
//!
//! Tests and programs read their settings from environment variables, so each flag sets one. The flags, their
//! variables, values and help come from the table of `raddle-settings`.

use std::ffi::OsString;
use std::path::{self, PathBuf};

use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser as _};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use raddle_engine::coverage::Metrics;
use raddle_engine::strategy::StrategyName;
use raddle_engine::{Schedule, ScheduleError};
use raddle_settings::{Flag, Scope, Setting, SettingKind, TABLE, Value};

/// Environment variables with their values, for a child process.
pub type Environment = Vec<(&'static str, OsString)>;

/// Settings of the checks in tests and programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingFlags {
    given: Vec<GivenFlag>,
}

/// The variable of a flag that was given, and the value.
#[derive(Clone, Debug, PartialEq)]
struct GivenFlag {
    scope: Scope,
    variable: &'static str,
    value: OsString,
}

/// A row of the table with a flag.
pub struct SettingFlag {
    setting: &'static Setting,
    pub flag: Flag,
    pub variable: &'static str,
}

impl SettingFlag {
    /// Returns every flag, in the order of the help.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().filter_map(|setting| {
            let flag = setting.flag.ok()?;
            let variable = setting.variable.expect("a flag sets a variable");
            Some(Self {
                setting,
                flag,
                variable,
            })
        })
    }

    fn argument(&self) -> Arg {
        let heading = match self.setting.scope {
            Scope::Check => "Settings of checks",
            Scope::Native => "Settings of native programs",
        };
        let argument = Arg::new(self.flag.name)
            .long(self.flag.name)
            .help_heading(heading)
            .help(self.help());
        let with_value = |argument: Arg| argument.value_name(self.flag.value);
        match self.setting.kind {
            SettingKind::Switch => argument.action(ArgAction::SetTrue),
            SettingKind::Choice(names) => with_value(argument)
                .value_parser(PossibleValuesParser::new(names).map(OsString::from)),
            // Tests run in the directories of their packages, where a relative path would mean another one.
            SettingKind::Path => with_value(argument).value_parser(
                PathBufValueParser::new()
                    .try_map(path::absolute::<PathBuf>)
                    .map(OsString::from),
            ),
            kind => with_value(argument).value_parser(move |text: &str| {
                kind.parse(text).map_err(|error| error.reason())?;
                inspect(kind, text)?;
                Ok::<_, String>(OsString::from(text))
            }),
        }
    }

    /// Returns the summary of the setting; a flag without a value turns it on.
    fn help(&self) -> String {
        let summary = self.setting.summary.trim_end_matches('.');
        match (self.setting.kind, summary.strip_prefix("Whether to ")) {
            (SettingKind::Switch, Some(action)) => {
                let (first, rest) = action.split_at(1);
                first.to_uppercase() + rest
            }
            (SettingKind::Time { .. }, _) => format!("{summary}, such as 500ms, 20s, 2m or 1h"),
            _ => summary.to_owned(),
        }
    }

    fn given(&self, matches: &ArgMatches) -> Option<GivenFlag> {
        let name = self.flag.name;
        let value = match self.setting.kind {
            SettingKind::Switch => matches.get_flag(name).then(|| "1".into()),
            _ => matches.get_one::<OsString>(name).cloned(),
        };
        Some(GivenFlag {
            scope: self.setting.scope,
            variable: self.variable,
            value: value?,
        })
    }
}

/// Examines names that only the engine knows: those of strategies and metrics, and schedules.
fn inspect(kind: SettingKind, text: &str) -> Result<(), String> {
    let metrics = |names: &str| match names.parse::<Metrics>() {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    match kind {
        SettingKind::Strategy => match text.trim().parse::<StrategyName>() {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        },
        SettingKind::Metrics => match kind.parse(text) {
            Ok(Value::Text(names)) => metrics(names),
            _ => Ok(()),
        },
        SettingKind::Schedule => match text.parse::<Schedule>() {
            // Perhaps the name of a file, relative to the directory of a package.
            Ok(_) | Err(ScheduleError::NotASchedule) => Ok(()),
            Err(error) => Err(error.to_string()),
        },
        _ => Ok(()),
    }
}

/// An environment variable with a value that its setting does not take.
#[derive(Debug, PartialEq, Eq)]
pub struct BadVariable {
    pub variable: &'static str,
    pub problem: String,
}

/// Examines the variables that checks read, those of native programs only if there are any. A bad one would be a
/// failure of every test.
pub fn check_variables(
    native: bool,
    given: &SettingFlags,
    get: impl Fn(&str) -> Option<OsString>,
) -> Result<(), BadVariable> {
    let rows = TABLE
        .iter()
        .filter(|row| native || row.scope == Scope::Check);
    for row in rows {
        let Ok(variable) = row.variable else { continue };
        // A flag takes precedence.
        if given.given.iter().any(|flag| flag.variable == variable) {
            continue;
        }
        let Some(value) = get(variable) else { continue };
        let problem = match value.to_str() {
            Some(text) if text.trim().is_empty() => continue,
            Some(text) => match row.kind.parse(text) {
                Ok(_) => inspect(row.kind, text),
                Err(error) => Err(error.to_string()),
            },
            // The variable counts as unset.
            None => continue,
        };
        problem.map_err(|problem| BadVariable { variable, problem })?;
    }
    Ok(())
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        SettingFlag::all().fold(command, |command, flag| command.arg(flag.argument()))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = SettingFlag::all().filter_map(|flag| flag.given(matches));
        Ok(Self {
            given: given.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl SettingFlags {
    /// Returns the variables of the flags that were given.
    pub fn environment(&self) -> Environment {
        let given = self.given.iter();
        given
            .map(|flag| (flag.variable, flag.value.clone()))
            .collect()
    }

    /// Returns the variables with which other machines run the same checks: of flags, and from the environment.
    /// Files are those of this machine, also that of a search to resume. Settings of native programs are left out
    /// unless the checks are native.
    pub fn for_workers(
        &self,
        is_native: bool,
        get: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<(String, String)> {
        let is_shared = |row: &&Setting| {
            let is_of_one_machine = matches!(row.kind, SettingKind::Path | SettingKind::Schedule);
            let has_effect = row.scope == Scope::Check || is_native;
            has_effect && !is_of_one_machine && row.name != "resume"
        };
        let rows = TABLE.iter().filter(is_shared);
        rows.filter_map(|row| {
            let variable = row.variable.ok()?;
            let flag = self.given.iter().find(|flag| flag.variable == variable);
            let value = flag
                .map(|flag| flag.value.clone())
                .or_else(|| get(variable))?;
            let value = value
                .into_string()
                .ok()
                .filter(|text| !text.trim().is_empty())?;
            Some((variable.to_owned(), value))
        })
        .collect()
    }

    /// True when a flag was given that only native programs have.
    pub fn has_native(&self) -> bool {
        self.given.iter().any(|flag| flag.scope == Scope::Native)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[&str]) -> Result<SettingFlags, String> {
        let command = SettingFlags::augment_args(Command::new("settings").no_binary_name(true));
        let matches = command.try_get_matches_from(line);
        let matches = matches.map_err(|error| error.to_string())?;
        Ok(SettingFlags::from_arg_matches(&matches).expect("the matches are those of the flags"))
    }

    fn example(kind: SettingKind) -> Option<&'static str> {
        match kind {
            SettingKind::Switch => None,
            SettingKind::Number { .. } | SettingKind::Size { .. } => Some("3"),
            SettingKind::Time { .. } => Some("3s"),
            SettingKind::Choice(names) | SettingKind::List(names) => Some(names[0]),
            SettingKind::Guarantee => Some("bounded:2"),
            SettingKind::Strategy => Some("pct:2"),
            _ => Some("/example"),
        }
    }

    #[test]
    fn only_given_flags_become_variables() {
        assert_eq!(parse(&[]).unwrap().environment(), []);
        let expected = [("RADDLE_SEED", "7"), ("RADDLE_RESUME", "1")];
        assert_eq!(
            parse(&["--resume", "--seed", "7"]).unwrap().environment(),
            expected.map(|(name, value)| (name, value.into()))
        );
    }

    #[test]
    fn other_machines_get_flags_before_variables_and_no_files() {
        let given = parse(&["--seed", "7", "--report", "/a"]).unwrap();
        let get = |name: &str| match name {
            "RADDLE_SEED" => Some("8".into()),
            "RADDLE_STRATEGY" => Some("exhaustive".into()),
            "RADDLE_MAX_TIME" => Some(" ".into()),
            _ => None,
        };
        let mut expected = [("RADDLE_SEED", "7"), ("RADDLE_STRATEGY", "exhaustive")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        expected.sort();
        let mut found = given.for_workers(false, get);
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_flag_sets_its_variable_and_refuses_other_values() {
        for row in SettingFlag::all() {
            let name = format!("--{}", row.flag.name);
            let value = example(row.setting.kind);
            let line: Vec<&str> = [name.as_str()].into_iter().chain(value).collect();
            let settings = parse(&line).unwrap();
            let set = (row.variable, value.unwrap_or("1").into());
            assert_eq!(settings.environment(), [set]);
            assert_eq!(settings.has_native(), row.setting.scope == Scope::Native);
            if matches!(row.setting.kind, SettingKind::Path | SettingKind::Switch) {
                continue;
            }
            let error = parse(&[&name, "?!"]).unwrap_err();
            let start = format!(
                "error: invalid value '?!' for '{name} <{}>'",
                row.flag.value
            );
            assert!(error.starts_with(&start), "{error}");
            let allowed = match row.setting.kind {
                SettingKind::Choice(names) => format!("[possible values: {}]", names.join(", ")),
                SettingKind::Strategy => "unknown strategy `?!`; there are: auto, ".to_owned(),
                kind => format!(": expected {kind}\n"),
            };
            assert!(error.contains(&allowed), "{error}");
        }
    }

    /// The error about a variable with this value.
    fn problem(native: bool, line: &[&str], variable: &str, value: &str) -> Option<String> {
        let given = parse(line).unwrap();
        let get = |name: &str| (name == variable).then(|| OsString::from(value));
        let error = check_variables(native, &given, get).err()?;
        assert_eq!(error.variable, variable);
        Some(error.problem)
    }

    #[test]
    fn a_bad_variable_is_an_error() {
        let mut bad = 0;
        for row in TABLE {
            let Ok(variable) = row.variable else { continue };
            assert_eq!(problem(true, &[], variable, " "), None);
            if matches!(row.kind, SettingKind::Path | SettingKind::Schedule) {
                continue;
            }
            assert!(problem(true, &[], variable, "?!").is_some(), "{variable}");
            bad += 1;
        }
        assert!(bad > 15, "{bad}");
        for (variable, value, expected) in [
            (
                "RADDLE_STRATEGY",
                "foo",
                "unknown strategy `foo`; there are: auto, ",
            ),
            (
                "RADDLE_STRATEGY",
                "coverage(foo)",
                "unknown metric `foo`; there are: ",
            ),
            (
                "RADDLE_COVERAGE",
                "sync-pair+x",
                "unknown metric `x`; there are: ",
            ),
            ("RADDLE_MAX_TIME", "20", "`20` is not a time such as 500ms"),
            ("RADDLE_REQUIRE", "all", "`all` is not one of: exhaustive, "),
            ("RADDLE_REPLAY", "r1.AAA?", "not a token: it has a `?`"),
        ] {
            let problem = problem(false, &[], variable, value).expect(value);
            assert!(problem.starts_with(expected), "{problem}");
        }
    }

    #[test]
    fn variables_that_are_not_read_may_have_any_value() {
        let flag = ["--strategy", "random"];
        assert_eq!(problem(false, &flag, "RADDLE_STRATEGY", "foo"), None);
        assert_eq!(problem(false, &[], "RADDLE_PLAIN", "foo"), None);
        assert!(problem(true, &[], "RADDLE_PLAIN", "foo").is_some());
    }
}
