//! Flags that mirror a setting of the checks, shared by every command that runs checks.
//!
//! Tests and programs read their settings from environment variables, so each flag sets one. The flags, their
//! variables, values and help come from the table of `raddle-settings`.

use std::ffi::OsString;
use std::path::{self, PathBuf};

use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser as _};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use raddle_settings::{Flag, Scope, Setting, SettingKind, TABLE};

/// Environment variables with their values, for a child process.
pub type Environment = Vec<(&'static str, OsString)>;

/// Settings of the checks in tests and programs.
#[derive(Debug, Default, PartialEq)]
pub struct SettingFlags {
    given: Vec<GivenFlag>,
}

/// The variable of a flag that was given, and the value.
#[derive(Debug, PartialEq)]
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
    /// Every flag, in the order of the help.
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
            kind => with_value(argument).value_parser(move |text: &str| match kind.parse(text) {
                Ok(_) => Ok(OsString::from(text)),
                Err(error) => Err(error.reason()),
            }),
        }
    }

    /// The summary of the setting; a flag without a value turns it on.
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
    /// The variables of the flags that were given.
    pub fn environment(&self) -> Environment {
        let given = self.given.iter();
        given
            .map(|flag| (flag.variable, flag.value.clone()))
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
    fn every_flag_sets_its_variable_and_refuses_other_values() {
        for row in SettingFlag::all() {
            let name = format!("--{}", row.flag.name);
            let value = example(row.setting.kind);
            let line: Vec<&str> = [name.as_str()].into_iter().chain(value).collect();
            let settings = parse(&line).unwrap();
            let set = (row.variable, value.unwrap_or("1").into());
            assert_eq!(settings.environment(), [set]);
            assert_eq!(settings.has_native(), row.setting.scope == Scope::Native);
            if matches!(
                row.setting.kind,
                SettingKind::Path | SettingKind::Strategy | SettingKind::Switch
            ) {
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
                kind => format!(": expected {kind}\n"),
            };
            assert!(error.contains(&allowed), "{error}");
        }
    }
}
