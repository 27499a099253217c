//! Settings from the environment, for a run without recompiling.

use std::path::Path;

use raddle_engine::{Schedule, ScheduleError};
use raddle_settings::{BadVariable, Scope, TABLE};

use crate::settings::check_name::{Belongs, RunningCheck};
use crate::settings::checker::Checker;
use crate::settings::options::Strategy;

/// Applies the variables of the environment to the settings of the check. An empty variable counts
/// as unset.
pub(crate) fn apply(
    checker: &mut Checker,
    get: impl Fn(&str) -> Option<String>,
) -> Result<(), BadVariable> {
    for setting in TABLE.iter().filter(|row| row.scope == Scope::Check) {
        let Ok(variable) = setting.variable else {
            continue;
        };
        if let Some(text) = get(variable).filter(|text| !text.trim().is_empty()) {
            let result = checker.set_text(setting, &text);
            result.map_err(|problem| BadVariable { variable, problem })?;
        }
    }
    Ok(())
}

/// Makes the schedule in `RADDLE_REPLAY` the strategy of the check that it belongs to. Other checks of the
/// same program run as usual; another test does not run.
pub(crate) fn apply_replay(
    checker: &mut Checker,
    running: &RunningCheck,
) -> Result<(), BadVariable> {
    let Some(schedule) = checker.replay.take() else {
        return Ok(());
    };
    let here = running.name.as_ref().map(ToString::to_string);
    match (&schedule.check, running.belongs(schedule.check.as_ref())) {
        (None, _) | (_, Belongs::Here) => {
            checker.strategy = Strategy::Replay(schedule);
            checker.total_replay = None;
        }
        (Some(there), Belongs::Elsewhere) => {
            let here = here.unwrap_or("a check without a name".to_owned());
            eprintln!("raddle: {here} runs as usual, because RADDLE_REPLAY is of {there}");
        }
        (Some(there), Belongs::AnotherTest) => {
            let here = here.unwrap_or("another".to_owned());
            return Err(BadVariable {
                variable: "RADDLE_REPLAY",
                problem: format!(
                    "the schedule is of {there}, and this is {here}; run that test alone: cargo test \
                     {} -- --exact",
                    there.test
                ),
            });
        }
    }
    Ok(())
}

/// Reads a schedule from its token, its text or its file.
pub(crate) fn schedule(text: &str) -> Result<Schedule, String> {
    let is_text = text.trim_start().starts_with("raddle schedule");
    if is_text || !Path::new(text).exists() {
        match text.parse() {
            Err(ScheduleError::NotASchedule) => {}
            result => return result.map_err(|error: ScheduleError| error.to_string()),
        }
    }
    let content = std::fs::read_to_string(Path::new(text)).map_err(|error| {
        format!("`{text}` is neither a token nor a schedule, and cannot be read as a file: {error}")
    })?;
    content
        .parse()
        .map_err(|error: ScheduleError| format!("{text}: {error}"))
}

#[cfg(test)]
mod tests {
    use raddle_engine::coverage::Metrics;
    use raddle_settings::{Setting, SettingKind};

    use super::*;

    fn with(name: &str, value: &str) -> Result<Checker, String> {
        let mut checker = Checker::new();
        apply(&mut checker, |asked| {
            (asked == name).then(|| value.to_owned())
        })
        .map(|()| checker)
        .map_err(|error| error.to_string())
    }

    /// Returns the error of a value that cannot be used.
    #[track_caller]
    fn problem(name: &str, value: &str) -> String {
        with(name, value).expect_err("the value cannot be used")
    }

    #[test]
    fn bad_variables_are_named() {
        for (name, value, problem) in [
            ("RADDLE_SEED", "x", "`x` is not a whole number"),
            (
                "RADDLE_WORKERS",
                "0",
                "`0` is not a whole number from 1 to 1024",
            ),
            ("RADDLE_RESUME", "yes", "`yes` is not 1 or 0"),
            (
                "RADDLE_MAX_TIME",
                "20",
                "`20` is not a time such as 500ms, 20s, 2m or 1h, of at least 1ms",
            ),
            ("RADDLE_LOG", "all", "`all` is not one of: progress, off"),
            (
                "RADDLE_COVERAGE",
                "sync-pair+defuse",
                "unknown metric `defuse`; there are: blocked, blocking, blocked-pair, follows, \
                 sync-pair, local-def, remote-def, def-use, pset, wait-notify, lock-order, adjacent, \
                 lr-def, and several with + between them; 1 measures all",
            ),
            (
                "RADDLE_STRATEGY",
                "pct9",
                "unknown strategy `pct9`; there are: auto, exhaustive, random, pct, pos, urw, surw, \
                 history, noise, race-directed, atomicity-directed, deadlock-directed, enumerate, \
                 coverage, coverage(METRIC), delay, and pct:3 for bugs of depth 3, noise:0.1 for interruptions with probability 0.1, delay:3 for at most 3 \
                 delays, directed: and an alternative for one execution that does what it says",
            ),
            (
                "RADDLE_REPLAY",
                "raddle schedule 2; oops",
                "line 2 of the schedule, `oops`: there is no `thread:`",
            ),
            (
                "RADDLE_REPLAY",
                "hello",
                "`hello` is neither a token nor a schedule, and cannot be read as a file: No such \
                 file or directory (os error 2)",
            ),
            (
                "RADDLE_REPLAY",
                "raddle schedule 1; main: begin",
                "a schedule of version 1, which an older raddle wrote; this one reads version 2: \
                 run the test again to get a new one",
            ),
            (
                "RADDLE_REPLAY",
                "r1.AAA?",
                "not a token: it has a `?`, and tokens have only letters, digits, `-` and `_`",
            ),
            (
                "RADDLE_REPLAY",
                "r0.AAAA",
                "a token of version 0, which an older raddle wrote; this one reads version 1: run \
                 the test again to get a new one",
            ),
        ] {
            assert_eq!(self::problem(name, value), format!("{name}: {problem}"));
        }
    }

    #[test]
    fn coverage_is_a_switch_or_names() {
        for (value, metrics) in [
            ("0", Metrics::NONE),
            ("1", Metrics::USUAL),
            ("sync-pair+def-use", Metrics::SYNC_PAIR_DEF_USE),
        ] {
            let coverage = with("RADDLE_COVERAGE", value).unwrap().coverage;
            assert_eq!(coverage, metrics);
        }
    }

    /// Returns texts of this kind; not all of them are the default of a setting.
    fn examples(kind: SettingKind) -> Vec<&'static str> {
        match kind {
            SettingKind::Number { .. } | SettingKind::Size { .. } => vec!["3"],
            SettingKind::Time { .. } => vec!["3s"],
            SettingKind::Switch | SettingKind::Metrics => vec!["0", "1"],
            SettingKind::Choice(names) | SettingKind::List(names) => names.to_vec(),
            SettingKind::Strategy => vec!["random"],
            SettingKind::Guarantee => vec!["exhaustive", "bounded:2"],
            SettingKind::Schedule => vec!["raddle schedule 2; main: begin"],
            SettingKind::Mutant => vec!["list", "src/lib.rs:7:9 store Relaxed"],
            SettingKind::Name | SettingKind::Names | SettingKind::Path => vec!["example"],
        }
    }

    fn rows() -> impl Iterator<Item = &'static Setting> {
        TABLE.iter().filter(|row| row.scope == Scope::Check)
    }

    #[test]
    fn every_variable_changes_its_setting_and_refuses_what_is_none() {
        let usual = format!("{:?}", Checker::new());
        for row in rows() {
            let Ok(variable) = row.variable else { continue };
            let changed = examples(row.kind).into_iter().filter(|value| {
                let checker = with(variable, value).expect("an example of its kind");
                format!("{checker:?}") != usual
            });
            assert!(changed.count() > 0, "{variable} is not read");
            assert_eq!(format!("{:?}", with(variable, " ").unwrap()), usual);
            if row.kind != SettingKind::Path {
                let problem = problem(variable, "?!");
                assert!(problem.starts_with(&format!("{variable}: ")), "{problem}");
                assert!(problem.contains("?!"), "{problem}");
            }
        }
        assert_eq!(format!("{:?}", with("OTHER", "x").unwrap()), usual);
    }

    #[test]
    fn every_option_takes_the_values_of_its_kind() {
        for row in rows().filter(|row| row.option.is_ok()) {
            for value in examples(row.kind) {
                let _ = Checker::new().set_option(row.name, value);
            }
        }
    }

    #[test]
    fn the_table_states_the_defaults() {
        let checker = format!("{:?}", Checker::new());
        for row in rows() {
            let start = format!(" {}: ", row.name);
            let field = checker.split_once(&start).expect("a field").1;
            let value = field.split([',', ' ']).next().unwrap().to_lowercase();
            match row.kind {
                SettingKind::Switch => {
                    assert!(row.default.starts_with(&format!("`{value}`")), "{row:?}")
                }
                SettingKind::Choice(names) if row.method.is_ok() => {
                    let stated = row.default.trim_matches('`');
                    assert_eq!(stated.replace('-', ""), value, "{row:?}");
                    assert!(names.contains(&stated), "{row:?}");
                }
                _ => {}
            }
        }
    }
}
