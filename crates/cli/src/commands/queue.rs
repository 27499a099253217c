//! `cargo raddle queue`, and the queue of other commands.

#[cfg(not(unix))]
use crate::arguments::subcommands::{QueueArguments, TestArguments};
use crate::commands::error::Error;
#[cfg(not(unix))]
use crate::commands::verdict::Verdict;

#[cfg(unix)]
pub use on_unix::{address, open, open_for_mutants, open_for_program, run, wanted};

#[cfg(not(unix))]
pub fn run(_: &QueueArguments) -> Result<Verdict, Error> {
    Err(Error::QueueNeedsUnix)
}

/// Refuses the flag of a queue.
#[cfg(not(unix))]
pub fn refuse(options: &TestArguments) -> Result<(), Error> {
    match options.queue {
        Some(_) => Err(Error::QueueNeedsUnix),
        None => Ok(()),
    }
}

#[cfg(unix)]
mod on_unix {
    use std::env;

    use raddle_queue::{Address, ClassCount, End, SearchState, Status};
    use raddle_report::exchange::FoundFailure;
    use raddle_report::grouped;
    use serde_json::{Value, json};

    use super::Error;
    use crate::arguments::subcommands::{
        MutantsArguments, QueueAction, QueueArguments, RunArguments, TestArguments,
    };
    use crate::commands::verdict::Verdict;
    use crate::output;
    use crate::run::queue::front_end::{self, FrontEnd, executions, is_sampled, strategy};
    use crate::run::queue::metrics;
    use crate::run::queue::{Problem, SearchName, run_of};
    use crate::toolchain::environment;

    /// Returns the address of the queue: the one that is given, or else that in the environment.
    pub fn address(given: Option<&str>) -> Result<Address, Error> {
        let variable = env::var(environment::QUEUE).ok();
        let text = match given.filter(|text| !text.is_empty()) {
            Some(text) if may_have_password(text) => return Err(Error::PasswordInArguments),
            Some(text) => Some(text.to_owned()),
            None => variable.filter(|text| !text.trim().is_empty()),
        };
        let text = text.ok_or(Error::NoQueue)?;
        text.parse().map_err(|error| Problem::Queue(error).into())
    }

    /// True unless the address has no login, or is one of PostgreSQL with a user alone, who has the password elsewhere.
    fn may_have_password(address: &str) -> bool {
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        match rest.rsplit_once('@') {
            None => false,
            Some((login, _)) => !scheme.starts_with("postgres") || login.contains(':'),
        }
    }

    /// Returns the address of the queue that the searches of tests are to be shared by, if they are.
    pub fn wanted(options: &TestArguments) -> Result<Option<Address>, Error> {
        let given = options.queue.as_deref().filter(|_| !options.list);
        given.map(|given| address(Some(given))).transpose()
    }

    /// Returns the command that resumes the run of this one: the same, but for the checkpoint with which it began. A run
    /// with other settings would be refused. No password is in the arguments.
    fn same_command() -> String {
        let words = env::args_os().skip(1);
        let words: Vec<String> = words.map(|it| it.to_string_lossy().into_owned()).collect();
        let words = words.strip_prefix(&["raddle".to_owned()]).unwrap_or(&words);
        resuming(words)
    }

    fn resuming(words: &[String]) -> String {
        let flags = words.iter().position(|word| word == "--");
        let (flags, rest) = words.split_at(flags.unwrap_or(words.len()));
        let flags = flags.iter().filter(|word| *word != "--resume");
        let words: Vec<String> = flags.chain(rest).map(|word| for_shell(word)).collect();
        format!("cargo raddle {}", words.join(" "))
    }

    /// Returns a word as a shell reads it.
    fn for_shell(word: &str) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.to_owned(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    }

    /// Opens the run of these tests.
    pub fn open(place: Address, options: &TestArguments) -> Result<FrontEnd, Error> {
        let settings = &options.settings;
        let environment = settings.for_workers(options.native, |name| env::var_os(name));
        let (run, metrics) = (run_of(environment), options.metrics.clone());
        let exports = options.export;
        Ok(FrontEnd::open(
            place,
            run,
            same_command(),
            exports,
            metrics,
        )?)
    }

    /// Opens the run of a native program.
    pub fn open_for_program(place: Address, options: &RunArguments) -> Result<FrontEnd, Error> {
        let settings = &options.settings;
        let run = run_of(settings.for_workers(true, |name| env::var_os(name)));
        let metrics = options.metrics.clone();
        Ok(FrontEnd::open(place, run, same_command(), false, metrics)?)
    }

    /// Opens the run of changes that tests judge.
    pub fn open_for_mutants(place: Address, options: &MutantsArguments) -> Result<FrontEnd, Error> {
        let settings = &options.tests.settings;
        let run = run_of(settings.for_workers(false, |name| env::var_os(name)));
        Ok(FrontEnd::open(place, run, same_command(), false, None)?)
    }

    pub fn run(arguments: &QueueArguments) -> Result<Verdict, Error> {
        let address = address(arguments.queue.as_deref())?;
        let mut queue = raddle_queue::connect(&address).map_err(Problem::Queue)?;
        match arguments.action {
            QueueAction::Status => {
                let status = queue.status().map_err(Problem::Queue)?;
                let status = status.as_ref();
                match &arguments.metrics {
                    Some(path) => metrics::write(path, &metrics::text(status))
                        .map_err(output::error::Error::cannot_write(path))?,
                    None if arguments.json => println!("{}", as_json(status)),
                    None => print!("{}", as_text(status)),
                }
            }
            QueueAction::Clear => {
                queue.remove_run().map_err(Problem::Queue)?;
                eprintln!("the queue {address} is empty");
            }
        }
        Ok(Verdict::Passed)
    }

    fn title(name: &str) -> String {
        SearchName::of_text(name).map_or(name.to_owned(), |name| name.to_string())
    }

    /// True when the last parts of a search are streams. Those of `auto` come after the exhaustive search.
    fn has_streams(state: &SearchState) -> bool {
        match strategy(state) {
            "exhaustive" => false,
            "auto" => state.facts.contains_key(raddle_queue::CONTINUED),
            _ => true,
        }
    }

    /// Returns the work done so far in words.
    fn done(state: &SearchState) -> String {
        if strategy(state) == SearchName::MUTANTS {
            return format!("{} changes", grouped(executions(state)));
        }
        match is_sampled(state) {
            true => {
                let classes = front_end::classes(state);
                format!("{} executions, {classes}", grouped(executions(state)))
            }
            false => format!(
                "{} classes{}",
                grouped(executions(state)),
                front_end::of_all(state)
            ),
        }
    }

    fn headlines(state: &SearchState) -> Vec<String> {
        let found = state
            .findings
            .iter()
            .filter_map(|(_, text)| FoundFailure::of_text(text).ok());
        found.map(|failure| failure.headline).collect()
    }

    fn standing(state: &SearchState) -> &'static str {
        match &state.end {
            None => "running",
            Some(End::Exhausted) if strategy(state) == SearchName::MUTANTS => {
                "every change was tried"
            }
            Some(End::Exhausted) if has_streams(state) => "every stream was run",
            Some(End::Exhausted) => "every class was run",
            Some(End::Stopped) => "its time is over",
            Some(End::Spent) => "its runs are spent",
            Some(End::Exported) => "exported",
            Some(End::Finding) => "a failure was found",
            Some(End::Broken(_)) => "a part could not be explored",
        }
    }

    fn as_text(status: Option<&Status>) -> String {
        let Some(status) = status else {
            return "no run\n".to_owned();
        };
        let Status {
            searches,
            ready,
            leased,
            workers,
            has_front,
        } = status;
        let names = searches.keys().filter_map(|name| SearchName::of_text(name));
        let command = names.map(|name| name.command()).next();
        let front = match has_front {
            true => "a front end waits for it".to_owned(),
            false => {
                let command = command.unwrap_or("cargo raddle test --queue");
                format!("no front end: resume it with the same `{command}`")
            }
        };
        let mut text = format!("parts: {ready} ready, {leased} leased; {front}\n");
        let share = metrics::utilisation(status);
        let share = share.map(|share| format!(", {:.0} % of their time in tests", 100.0 * share));
        text += &format!("workers: {}{}\n", workers.len(), share.unwrap_or_default());
        for worker in workers {
            text += &format!("  {worker}\n");
        }
        text += &format!("searches: {}\n", searches.len());
        for (name, state) in searches {
            let (name, done, left) = (title(name), done(state), front_end::parts_left(state));
            let standing = standing(state);
            text += &format!("  {name}: {done}, {left}, {standing}\n");
            if let Some(End::Broken(problem)) = &state.end {
                text += &format!("    {problem}\n");
            }
            for headline in headlines(state) {
                let line = headline.lines().next().unwrap_or_default();
                text += &format!("    found {line}\n");
            }
        }
        text
    }

    fn as_json(status: Option<&Status>) -> Value {
        let Some(status) = status else {
            return Value::Null;
        };
        let searches = status.searches.iter().map(|(name, state)| {
            let (classes, is_estimated) = match state.classes {
                _ if !is_sampled(state) => (executions(state), false),
                ClassCount::Exact(count) => (count, false),
                ClassCount::About(count) => (count, true),
            };
            json!({
                "search": title(name),
                "executions": executions(state),
                "classes": classes,
                "classes_are_estimated": is_estimated,
                "sums": state.sums,
                "parts": state.left,
                "standing": standing(state),
                "estimate": front_end::estimate(state),
                "failures": headlines(state),
            })
        });
        json!({
            "ready": status.ready,
            "leased": status.leased,
            "workers": status.workers,
            "utilisation": metrics::utilisation(status),
            "has_front_end": status.has_front,
            "searches": searches.collect::<Vec<_>>(),
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn an_address_with_a_password_is_for_the_variable() {
            for address in [
                "redis://:x@host",
                "redis://x@host",
                "postgres://me:x@host",
                "x@host",
            ] {
                assert!(may_have_password(address), "{address}");
            }
            for address in [
                "redis://host",
                "postgres://host/db",
                "postgres://me@host/db",
            ] {
                assert!(!may_have_password(address), "{address}");
            }
        }

        #[test]
        fn a_run_is_resumed_by_the_same_command() {
            let words = |line: &str| -> Vec<String> {
                line.split(' ').map(|word| word.replace('_', " ")).collect()
            };
            for (typed, resuming) in [
                (
                    "test dinner --strategy exhaustive --resume --queue redis://h/1?prefix=a",
                    "test dinner --strategy exhaustive --queue 'redis://h/1?prefix=a'",
                ),
                (
                    "run --queue -- ./p --resume it's_here",
                    r"run --queue -- ./p --resume 'it'\''s here'",
                ),
            ] {
                let expected = format!("cargo raddle {resuming}");
                assert_eq!(super::resuming(&words(typed)), expected);
            }
        }

        #[test]
        fn a_run_is_described() {
            assert_eq!(as_text(None), "no run\n");
            assert_eq!(as_json(None), Value::Null);
            let failure = FoundFailure {
                headline: "deadlock: of\ntwo".to_owned(),
                ..FoundFailure::default()
            };
            let state = |end, findings| SearchState {
                left: 3,
                sums: [("executions".to_owned(), 12_345)].into(),
                end,
                findings,
                ..SearchState::default()
            };
            let found = vec![(7, failure.to_text())];
            let status = Status {
                searches: [
                    ("suite\ta::b\ta::b\t1".to_owned(), state(None, found)),
                    (
                        "suite\tc\tc\t2".to_owned(),
                        state(Some(End::Exhausted), vec![]),
                    ),
                ]
                .into(),
                ready: 2,
                leased: 1,
                workers: vec!["host:7:0".to_owned()],
                has_front: true,
            };
            let expected = "\
                parts: 2 ready, 1 leased; a front end waits for it\n\
                workers: 1\n  host:7:0\n\
                searches: 2\n  \
                suite a::b: 12,345 classes, 3 parts left, running\n    found deadlock: of\n  \
                suite c, check 2: 12,345 classes, 3 parts left, every class was run\n";
            assert_eq!(as_text(Some(&status)), expected);
            let json = as_json(Some(&status));
            assert_eq!(json["searches"][0]["failures"][0], "deadlock: of\ntwo");
            assert_eq!(json["searches"][1]["classes"], 12_345);
        }
    }
}
