//! Changes of operations that a queue hands out: each is an item, with the tests that judge it.
//!
//! A worker judges one change as one process would, and commits the judgement as a fact in the step that removes the item. So
//! every change has one judgement, whatever happens to workers.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use raddle_queue::{End, Lease, Results, Search, Settings};
use raddle_report::build;
use raddle_settings::{Scope, SettingKind, TABLE};
use serde_json::{Value, json};

use crate::run::interrupts;
use crate::run::mutant::{self, Judgement};
use crate::run::queue::front_end::FrontEnd;
use crate::run::queue::{Problem, SearchName};
use crate::run::runner::Runner;
use crate::toolchain::binaries::{Test, TestBinary};

/// Interval of looks at the queue.
const INTERVAL: Duration = Duration::from_millis(50);
/// Time after which a missing worker is mentioned.
const PATIENCE: Duration = Duration::from_secs(2);
/// Prefix of the settings that are builds of binaries.
const BINARY: &str = "binary ";
/// Prefix of facts with judgements.
const MUTANT: &str = "mutant ";

/// A change, and the tests that judge it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The change as `RADDLE_MUTANT` takes it.
    pub change: String,
    /// The binaries and names of the tests, in the order in which they run.
    pub tests: Vec<(String, String)>,
}

impl Job {
    fn to_text(&self, number: usize) -> String {
        json!({ "number": number, "change": self.change, "tests": self.tests }).to_string()
    }

    fn of_text(text: &str) -> Option<(usize, Self)> {
        let value: Value = serde_json::from_str(text).ok()?;
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let tests = value["tests"].as_array()?.iter();
        let tests = tests.map(|test| Some((word(&test[0])?, word(&test[1])?)));
        let job = Job {
            change: word(&value["change"])?,
            tests: tests.collect::<Option<_>>()?,
        };
        Some((usize::try_from(value["number"].as_u64()?).ok()?, job))
    }
}

/// Returns what must be the same on every machine: the changes, and the builds of the binaries that judge them.
pub fn settings(jobs: &[Job], binaries: &[TestBinary]) -> Settings {
    let mut hasher = DefaultHasher::new();
    for job in jobs {
        // Their order depends on their speed.
        let tests: BTreeSet<_> = job.tests.iter().collect();
        (&job.change, tests).hash(&mut hasher);
    }
    let tests = jobs.iter().flat_map(|job| &job.tests);
    let used: BTreeSet<&String> = tests.map(|(binary, _)| binary).collect();
    let mut settings = vec![
        ("strategy".to_owned(), SearchName::MUTANTS.to_owned()),
        ("changes".to_owned(), format!("{:016x}", hasher.finish())),
    ];
    let used = binaries.iter().filter(|one| used.contains(&one.name));
    settings.extend(used.map(build_of));
    settings
}

fn build_of(binary: &TestBinary) -> (String, String) {
    let name = format!("{BINARY}{}", binary.name);
    (name, build::fingerprint_of(&binary.path))
}

impl FrontEnd {
    /// Has workers judge all changes, and passes the number of each with its judgement to `receive`, until all are judged
    /// or the user interrupts. `index` returns the index of the test with this binary and name.
    pub fn judge(
        &self,
        jobs: &[Job],
        settings: Settings,
        index: &dyn Fn(&str, &str) -> Option<usize>,
        mut receive: impl FnMut(usize, Judgement),
    ) -> Result<(), Problem> {
        let name = SearchName::of_mutants();
        let search = Search {
            name: name.to_text(),
            settings,
            limit: None,
        };
        let numbered = jobs.iter().enumerate();
        let first = Results {
            items: numbered.map(|(number, job)| job.to_text(number)).collect(),
            ..Results::default()
        };
        let mut queue = raddle_queue::connect(self.address())?;
        self.start(&mut *queue, &name, &search, &first)?;
        let begin = Instant::now();
        let mut is_warned = false;
        let mut judged = BTreeSet::new();
        loop {
            let status = queue.status()?.unwrap_or_default();
            let Some(state) = status.searches.get(&search.name) else {
                eprintln!("warning: the queue has lost the changes, which are judged again");
                self.start(&mut *queue, &name, &search, &first)?;
                continue;
            };
            for (number, judgement) in judgements(&state.facts, index) {
                // A server that forgot a judgement has the change judged again.
                if number < jobs.len() && judged.insert(number) {
                    receive(number, judgement);
                }
            }
            let broken = |problem: &str| Problem::Broken {
                test: name.to_string(),
                problem: problem.to_owned(),
            };
            match &state.end {
                Some(End::Broken(problem)) => return Err(broken(problem)),
                Some(_) if judged.len() < jobs.len() => {
                    return Err(broken("not every change has a judgement"));
                }
                Some(_) => return Ok(()),
                None if interrupts::is_requested() => return Ok(()),
                None => {}
            }
            if status.workers.is_empty() && begin.elapsed() >= PATIENCE && !is_warned {
                is_warned = true;
                eprintln!("   ... no worker: start `cargo raddle work`");
            }
            thread::sleep(INTERVAL);
        }
    }
}

fn judgements(
    facts: &BTreeMap<String, String>,
    index: &dyn Fn(&str, &str) -> Option<usize>,
) -> impl Iterator<Item = (usize, Judgement)> {
    facts.iter().filter_map(|(fact, detail)| {
        let number = fact.strip_prefix(MUTANT)?.parse().ok()?;
        Some((number, judgement_of_text(detail, index)?))
    })
}

/// Judges the change of an item in a worker, with calls of `keep_lease` at this interval; `None` if the worker is to
/// end.
pub fn judge(
    lease: &Lease,
    settings: &Settings,
    binaries: &[TestBinary],
    environment: &Settings,
    directory: &Path,
    interval: Duration,
    mut keep_lease: impl FnMut() -> Result<bool, Problem>,
) -> Result<Option<Results>, Problem> {
    let name = SearchName::of_mutants();
    compare(&name, settings, binaries, environment)?;
    let job = Job::of_text(&lease.text);
    let (number, job) = job.ok_or_else(|| Problem::Process {
        test: name.to_string(),
        problem: format!("a change cannot be read: {}", lease.text),
    })?;
    let test = |(binary, test): &(String, String)| {
        let index = binaries.iter().position(|one| one.name == *binary);
        let binary = index.ok_or_else(|| Problem::NoSuchTest {
            test: format!("{binary} {test}"),
        })?;
        let name = test.clone();
        Ok(Test { binary, name })
    };
    let tests = job.tests.iter().map(test);
    let tests = tests.collect::<Result<Vec<_>, Problem>>()?;
    let failed = |error: std::io::Error| Problem::Process {
        test: name.to_string(),
        problem: error.to_string(),
    };
    std::fs::create_dir_all(directory).map_err(failed)?;
    let runner = Runner {
        binaries,
        tests: &tests,
        environment: &variables(environment),
        jobs: 1,
        directory,
        time_limit: None,
        since: None,
        front_end: None,
    };
    let judgement = thread::scope(|scope| -> Result<Judgement, Problem> {
        let (sender, judged) = mpsc::channel();
        let (runner, change, count) = (&runner, &job.change, tests.len());
        scope.spawn(move || {
            let judgement = mutant::judge_change(runner, 0, change, 0..count);
            // The receiver may have failed.
            let _ = sender.send(judgement);
        });
        loop {
            match judged.recv_timeout(interval) {
                Ok(judgement) => break Ok(judgement),
                // A lease that is lost shows at the commit.
                Err(RecvTimeoutError::Timeout) => _ = keep_lease()?,
                Err(RecvTimeoutError::Disconnected) => {
                    unreachable!("the sender lives as long as the scope")
                }
            }
        }
    })?;
    // Tests that were interrupted have judged nothing.
    if interrupts::is_requested() {
        return Ok(None);
    }
    Ok(Some(Results {
        sums: [(raddle_queue::EXECUTIONS.to_owned(), 1)].into(),
        facts: [(format!("{MUTANT}{number}"), to_text(&judgement, &job.tests))].into(),
        ..Results::default()
    }))
}

/// Refuses changes of another build, or for other settings than those in the environment here.
fn compare(
    name: &SearchName,
    settings: &Settings,
    binaries: &[TestBinary],
    environment: &Settings,
) -> Result<(), Problem> {
    let another = |difference: String| Problem::AnotherSearch {
        test: name.to_string(),
        difference,
    };
    let there: Settings = settings
        .iter()
        .filter(|(it, _)| it.starts_with(BINARY))
        .cloned()
        .collect();
    let here = binaries.iter().map(build_of);
    let here: Settings = here
        .filter(|(one, _)| there.iter().any(|(it, _)| it == one))
        .collect();
    if let Some(difference) = raddle_queue::difference(&there, &here) {
        return Err(another(difference));
    }
    // Checks would read them beside those of the run.
    let rows = TABLE.iter();
    let rows = rows.filter(|row| row.scope == Scope::Check && row.kind != SettingKind::Path);
    let variables = rows.filter_map(|row| row.variable.ok());
    let of_run = |variable: &str| -> Settings {
        let of_run = environment.iter().filter(|(name, _)| name == variable);
        of_run.cloned().collect()
    };
    let mut differences = variables.filter_map(|variable| {
        let value = std::env::var(variable).ok()?;
        let here = [(variable.to_owned(), value)];
        let is_set = !here[0].1.trim().is_empty();
        raddle_queue::difference(&of_run(variable), &here).filter(|_| is_set)
    });
    differences.next().map_or(Ok(()), |it| Err(another(it)))
}

/// Returns the variables of a run for the processes of tests.
fn variables(environment: &Settings) -> Vec<(&'static str, OsString)> {
    let rows = TABLE.iter().filter_map(|row| row.variable.ok());
    let known = rows.filter_map(|variable| {
        let (_, value) = environment.iter().find(|(name, _)| name == variable)?;
        Some((variable, value.into()))
    });
    known.chain([("RADDLE_LOG", "off".into())]).collect()
}

/// Returns a judgement as text, with the names of these tests.
fn to_text(judgement: &Judgement, tests: &[(String, String)]) -> String {
    let value = match judgement {
        Judgement::Killed { test, headline } => {
            json!({ "outcome": "killed", "test": tests[*test], "text": headline })
        }
        Judgement::Survived {
            is_exhaustive,
            guarantee,
            load_buffering,
        } => json!({
            "outcome": "survived",
            "exhaustive": is_exhaustive,
            "guarantee": guarantee,
            "load_buffering": load_buffering,
        }),
        Judgement::TimedOut { test, why } => {
            json!({ "outcome": "timed out", "test": tests[*test], "text": why })
        }
        Judgement::Undecided { test, why } => {
            json!({ "outcome": "undecided", "test": tests[*test], "text": why })
        }
    };
    value.to_string()
}

fn judgement_of_text(text: &str, index: &dyn Fn(&str, &str) -> Option<usize>) -> Option<Judgement> {
    let value: Value = serde_json::from_str(text).ok()?;
    let test = || index(value["test"][0].as_str()?, value["test"][1].as_str()?);
    let words = || value["text"].as_str().map(str::to_owned);
    Some(match value["outcome"].as_str()? {
        "killed" => Judgement::Killed {
            test: test()?,
            headline: words()?,
        },
        "survived" => {
            let places = value["load_buffering"].as_array()?.iter();
            Judgement::Survived {
                is_exhaustive: value["exhaustive"].as_bool()?,
                guarantee: value["guarantee"].as_str()?.to_owned(),
                load_buffering: places
                    .filter_map(|it| Some(it.as_str()?.to_owned()))
                    .collect(),
            }
        }
        "timed out" => Judgement::TimedOut {
            test: test()?,
            why: words()?,
        },
        "undecided" => Judgement::Undecided {
            test: test()?,
            why: words()?,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_judgements_are_read_as_they_were_written() {
        let job = Job {
            change: "src/a b.rs:7:9 store Relaxed".to_owned(),
            tests: vec![("suite".to_owned(), "a::b".to_owned())],
        };
        assert_eq!(Job::of_text(&job.to_text(3)), Some((3, job)));
        let tests = ["a", "b", "c"].map(|test| ("suite".to_owned(), test.to_owned()));
        let index = |binary: &str, test: &str| {
            let is_it = |it: &(String, String)| it.0 == binary && it.1 == test;
            tests.iter().position(is_it)
        };
        assert_eq!(Job::of_text("root"), None);
        for judgement in [
            Judgement::Killed {
                test: 2,
                headline: "a\nb".to_owned(),
            },
            Judgement::Survived {
                is_exhaustive: true,
                guarantee: "exhaustive".to_owned(),
                load_buffering: vec!["a.rs:1:2".to_owned()],
            },
            Judgement::TimedOut {
                test: 1,
                why: "a".to_owned(),
            },
            Judgement::Undecided {
                test: 0,
                why: String::new(),
            },
        ] {
            let text = to_text(&judgement, &tests);
            assert_eq!(judgement_of_text(&text, &index), Some(judgement));
        }
        assert_eq!(judgement_of_text("{}", &index), None);
    }
}
