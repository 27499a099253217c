//! Settings from the environment, for a run without recompiling.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use raddle_engine::coverage::{Metrics, UnknownMetric};
use raddle_engine::{Schedule, ScheduleError};

use crate::settings::check_name::{Belongs, RunningCheck};
use crate::settings::checker::Checker;
use crate::settings::checkpoints::Every;
use crate::settings::log::Log;
use crate::settings::options::Strategy;

/// What the environment says; nothing for what it does not mention.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Environment {
    strategy: Option<Strategy>,
    replay: Option<Schedule>,
    seed: Option<u64>,
    max_executions: Option<u64>,
    max_events: Option<usize>,
    max_time: Option<Duration>,
    watchdog: Option<Duration>,
    workers: Option<usize>,
    checkpoint: Option<Duration>,
    resume: Option<bool>,
    coverage: Option<Metrics>,
    remember: Option<bool>,
    log: Option<Log>,
    report: Option<PathBuf>,
}

/// A variable that cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadVariable {
    variable: &'static str,
    problem: String,
}

impl fmt::Display for BadVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.variable, self.problem)
    }
}

impl Environment {
    pub(crate) fn read() -> Result<Self, BadVariable> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, BadVariable> {
        let mut environment = Environment::default();
        let number = |variable: &'static str| match get(variable) {
            None => Ok(None),
            Some(text) => text.trim().parse().map(Some).map_err(|_| BadVariable {
                variable,
                problem: format!("`{text}` is not a number"),
            }),
        };
        environment.seed = number("RADDLE_SEED")?;
        environment.max_executions = number("RADDLE_MAX_EXECUTIONS")?;
        environment.max_events = number("RADDLE_MAX_EVENTS")?.map(|events| events as usize);
        let workers = number("RADDLE_WORKERS")?;
        environment.workers = workers.map(|workers| workers.clamp(1, 1024) as usize);
        let time = |variable: &'static str| match get(variable) {
            None => Ok(None),
            Some(text) => duration(&text).map(Some).ok_or_else(|| BadVariable {
                variable,
                problem: format!("`{text}` is not a time; write it like 500ms, 20s, 2m or 1h"),
            }),
        };
        environment.max_time = time("RADDLE_MAX_TIME")?;
        environment.watchdog = time("RADDLE_WATCHDOG")?;
        environment.checkpoint = time("RADDLE_CHECKPOINT")?;
        let switch = |variable: &'static str| match get(variable).as_deref().map(str::trim) {
            None => Ok(None),
            Some("" | "0" | "false") => Ok(Some(false)),
            Some("1" | "true") => Ok(Some(true)),
            Some(text) => Err(BadVariable {
                variable,
                problem: format!("`{text}` is neither 1 nor 0"),
            }),
        };
        environment.resume = switch("RADDLE_RESUME")?;
        environment.remember = switch("RADDLE_REMEMBER")?;
        environment.coverage = match get("RADDLE_COVERAGE").as_deref().map(str::trim) {
            None => None,
            Some("" | "0" | "false") => Some(Metrics::NONE),
            Some("1" | "true") => Some(Metrics::USUAL),
            Some(names) => {
                let metrics = names.parse();
                Some(metrics.map_err(|error: UnknownMetric| BadVariable {
                    variable: "RADDLE_COVERAGE",
                    problem: format!("{error}; 1 measures all"),
                })?)
            }
        };
        if let Some(name) = get("RADDLE_STRATEGY") {
            let variable = "RADDLE_STRATEGY";
            let parsed = name.trim().parse();
            environment.strategy = Some(parsed.map_err(
                |error: crate::settings::options::UnknownName| BadVariable {
                    variable,
                    problem: error.to_string(),
                },
            )?);
        }
        environment.log = match get("RADDLE_LOG").as_deref().map(str::trim) {
            None | Some("") => None,
            Some("progress") => Some(Log::Progress),
            Some("off") => Some(Log::Off),
            Some(text) => {
                return Err(BadVariable {
                    variable: "RADDLE_LOG",
                    problem: format!("`{text}` is nothing to log; there are: progress, off"),
                });
            }
        };
        let folder = get("RADDLE_REPORT").filter(|folder| !folder.trim().is_empty());
        environment.report = folder.map(PathBuf::from);
        if let Some(text) = get("RADDLE_REPLAY") {
            let variable = "RADDLE_REPLAY";
            environment.replay =
                Some(schedule(&text).map_err(|problem| BadVariable { variable, problem })?);
        }
        Ok(environment)
    }

    /// Makes these the settings of a check.
    pub(crate) fn apply(
        self,
        checker: &mut Checker,
        running: &RunningCheck,
    ) -> Result<(), BadVariable> {
        if let Some(strategy) = self.strategy {
            checker.strategy = strategy;
        }
        if let Some(seed) = self.seed {
            checker.seed = seed;
        }
        checker.max_executions = self.max_executions.or(checker.max_executions);
        checker.max_events = self.max_events.or(checker.max_events);
        checker.max_time = self.max_time.or(checker.max_time);
        checker.log = self.log.unwrap_or(checker.log);
        checker.report_in = self.report.or(checker.report_in.take());
        checker.watchdog = self.watchdog.unwrap_or(checker.watchdog);
        checker.coverage = self.coverage.unwrap_or(checker.coverage);
        checker.workers = self.workers.unwrap_or(checker.workers);
        checker.remember = self.remember.unwrap_or(checker.remember);
        checker.checkpoints.resume = self.resume.unwrap_or(checker.checkpoints.resume);
        if let Some(time) = self.checkpoint {
            checker.checkpoints.every = Every::Time(time);
        }
        let Some(schedule) = self.replay else {
            return Ok(());
        };
        let there = match (&schedule.check, running.belongs(schedule.check.as_ref())) {
            (None, _) | (_, Belongs::Here) => {
                checker.strategy = Strategy::Replay(schedule);
                return Ok(());
            }
            (Some(there), Belongs::Elsewhere) => {
                let here = running.name.as_ref();
                let here = here.map_or("a check without a name".to_owned(), ToString::to_string);
                eprintln!("raddle: {here} runs as usual, because RADDLE_REPLAY is of {there}");
                return Ok(());
            }
            (Some(there), Belongs::AnotherTest) => there,
        };
        let here = running.name.as_ref();
        let here = here.map_or("another".to_owned(), ToString::to_string);
        Err(BadVariable {
            variable: "RADDLE_REPLAY",
            problem: format!(
                "the schedule is of {there}, and this is {here}; run that test alone: cargo test \
                 {} -- --exact",
                there.test
            ),
        })
    }
}

/// A schedule given directly, as a token or as text, or the file that has it.
fn schedule(text: &str) -> Result<Schedule, String> {
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

/// A time like `500ms`, `20s`, `2m` or `1h`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    match &text[digits..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Environment, String> {
        Environment::from_variables(|asked| (asked == name).then(|| value.to_owned()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(duration(" 20s"), Some(Duration::from_secs(20)));
        assert_eq!(duration("2m"), Some(Duration::from_secs(120)));
        assert_eq!(duration("1h"), Some(Duration::from_secs(3600)));
        for bad in [
            "",
            "20",
            "s",
            "1.5s",
            "-1s",
            "1 s",
            "1d",
            "99999999999999999999s",
        ] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn bad_variables_are_named() {
        assert_eq!(with("OTHER", "x"), Ok(Environment::default()));
        assert_eq!(
            with("RADDLE_SEED", "x"),
            Err("RADDLE_SEED: `x` is not a number".to_owned())
        );
        assert_eq!(
            with("RADDLE_RESUME", "yes"),
            Err("RADDLE_RESUME: `yes` is neither 1 nor 0".to_owned())
        );
        assert_eq!(
            with("RADDLE_REMEMBER", "always"),
            Err("RADDLE_REMEMBER: `always` is neither 1 nor 0".to_owned())
        );
        assert_eq!(
            with("RADDLE_MAX_TIME", "20"),
            Err(
                "RADDLE_MAX_TIME: `20` is not a time; write it like 500ms, 20s, 2m or 1h"
                    .to_owned()
            )
        );
        assert_eq!(
            with("RADDLE_COVERAGE", "sync-pair+defuse"),
            Err(
                "RADDLE_COVERAGE: unknown metric `defuse`; there are: blocked, blocking, \
                 blocked-pair, follows, sync-pair, local-def, remote-def, def-use, pset, \
                 wait-notify, lock-order, adjacent, lr-def, and several with + between them; 1 \
                 measures all"
                    .to_owned()
            )
        );
        for (value, metrics) in [
            ("0", Metrics::NONE),
            ("1", Metrics::USUAL),
            ("sync-pair+def-use", Metrics::SYNC_PAIR_DEF_USE),
        ] {
            let coverage = with("RADDLE_COVERAGE", value).unwrap().coverage;
            assert_eq!(coverage, Some(metrics));
        }
        assert_eq!(
            with("RADDLE_STRATEGY", "pct9"),
            Err(
                "RADDLE_STRATEGY: unknown strategy `pct9`; there are: auto, exhaustive, random, pct, \
                 pos, urw, surw, history, noise, enumerate, coverage, coverage(METRIC), delay, and \
                 pct:3 for bugs of depth 3, noise:0.1 for interruptions with probability 0.1, \
                 delay:3 for at most 3 delays, directed: and an alternative for one execution that does \
                 what it says"
                    .to_owned()
            )
        );
        assert_eq!(
            with("RADDLE_REPLAY", "raddle schedule 2; oops"),
            Err("RADDLE_REPLAY: line 2 of the schedule, `oops`: there is no `thread:`".to_owned())
        );
        for (value, problem) in [
            (
                "hello",
                "`hello` is neither a token nor a schedule, and cannot be read as a file: No such \
                 file or directory (os error 2)",
            ),
            (
                "raddle schedule 1; main: begin",
                "a schedule of version 1, which an older raddle wrote; this one reads version 2: \
                 run the test again to get a new one",
            ),
            (
                "r1.AAA?",
                "not a token: it has a `?`, and tokens have only letters, digits, `-` and `_`",
            ),
            (
                "r0.AAAA",
                "a token of version 0, which an older raddle wrote; this one reads version 1: run \
                 the test again to get a new one",
            ),
        ] {
            assert_eq!(
                with("RADDLE_REPLAY", value),
                Err(format!("RADDLE_REPLAY: {problem}"))
            );
        }
    }
}
