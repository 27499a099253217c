//! Tests after a change of the program: which need not run, which come first, and what is new.
//!
//! A run with `--since` is recorded as the version of the program that is checked out, if nothing in the working tree
//! differs from it. A later run is compared with the record of the given version, or else of the last recorded one before
//! it. Places are kept as files of the repository, and lines of both versions are matched by their texts
//! ([`raddle_runs::lines`]).

pub mod news;
pub mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use raddle_runs::lines::{self, LineMap};
use raddle_runs::{Problem, RunsFile};

use crate::run::outcome::{TestOutcome, TestVerdict};
use crate::run::since::news::News;
use crate::run::since::record::{TestRecord, goals, hash};
use crate::toolchain::binaries::{Test, TestBinary};
use crate::toolchain::git::{GitProblem, Repository};

/// Time to wait for tests that hold the file of earlier runs; they hold it for milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Variables that change what is printed or where files are, and no result.
const WITHOUT_EFFECT: [&str; 6] = [
    "RADDLE_DIR",
    "RADDLE_EVENTS",
    "RADDLE_LOG",
    "RADDLE_QUEUE",
    "RADDLE_REPORT",
    "RADDLE_SINCE",
];
/// Maximum number of functions of one name of which any may be the one that is called.
const MOST_NAMESAKES: usize = 3;
/// Extensions of files that no test is taken to read when it runs: what the compiler has read is in the binary.
const NOT_READ: [&str; 2] = ["rs", "md"];

/// A run that is compared with an earlier version.
pub struct Since {
    repository: Repository,
    /// The revision as the user has given it.
    pub revision: String,
    /// The commit that it stands for.
    pub commit: String,
    /// The version that was checked out before the build, if the working tree had no changes.
    head: Option<String>,
    file: RunsFile,
    /// Directory of saved schedules.
    data: PathBuf,
    /// Root of the workspace, without symbolic links.
    root: PathBuf,
    pub base: Option<Base>,
}

/// The earlier version.
pub struct Base {
    pub commit: String,
    map: LineMap,
    /// Lines of this version that the change can affect, by file of the repository.
    near: Vec<(String, u32, u32)>,
    /// Files that differ.
    files: BTreeSet<String>,
    records: BTreeMap<String, TestRecord>,
}

/// The tests to run.
pub struct Plan {
    /// Indices of the tests that run, in this order.
    pub order: Vec<usize>,
    /// Indices of the others, and what is known of them.
    pub skipped: Vec<(usize, TestRecord)>,
    /// By test: hashes of its binary and of its settings.
    fingerprints: Vec<[String; 2]>,
}

/// The beginning of a commit's name.
pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Returns the name under which a test is recorded.
fn name(binaries: &[TestBinary], test: &Test) -> String {
    format!("{} {}", binaries[test.binary].name, test.name)
}

impl Since {
    /// Reads what is known of a revision. The workspace has this root, and `data` is the directory of raddle's files.
    pub fn open(root: &Path, data: PathBuf, revision: &str) -> Result<Self, GitProblem> {
        let repository = Repository::of(root)?;
        let commit = repository.commit(revision)?;
        let mut since = Since {
            head: repository.clean_head()?,
            repository,
            revision: revision.to_owned(),
            commit,
            file: RunsFile::new(data.join("runs.redb")),
            data,
            root: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
            base: None,
        };
        since.base = since.find_base()?;
        Ok(since)
    }

    /// Returns the folder that the places of requirements begin in.
    pub fn sources(&self) -> &Path {
        &self.repository.root
    }

    /// Returns the last recorded version that is the given one or before it.
    fn find_base(&self) -> Result<Option<Base>, GitProblem> {
        let known = self.file.versions(PATIENCE).unwrap_or_else(|problem| {
            warn(&problem);
            Vec::new()
        });
        let known: BTreeSet<String> = known.into_iter().map(|(version, _)| version).collect();
        if known.is_empty() {
            return Ok(None);
        }
        let ancestors = self.repository.ancestors(&self.commit)?;
        let Some(commit) = ancestors.into_iter().find(|it| known.contains(it)) else {
            return Ok(None);
        };
        let records = self
            .file
            .tests(&commit, PATIENCE)
            .unwrap_or_else(|problem| {
                warn(&problem);
                BTreeMap::new()
            });
        let read = |(test, text): (String, String)| Some((test, TestRecord::parse(&text)?));
        let map = LineMap::from_diff(&self.repository.diff(&commit)?);
        let (mut near, mut called) = (Vec::new(), BTreeSet::new());
        for (file, changed) in map.changed() {
            let source = self.repository.read(file);
            let items = lines::items(&source, changed);
            near.extend(
                items
                    .into_iter()
                    .map(|(first, last)| (file.to_owned(), first, last)),
            );
            called.append(&mut lines::calls(&source, changed));
        }
        near.extend(self.definitions(&called)?);
        let untracked = self.repository.untracked()?;
        near.extend(untracked.iter().map(|file| (file.clone(), 1, u32::MAX)));
        let files = map.files().map(str::to_owned).chain(untracked).collect();
        Ok(Some(Base {
            commit,
            map,
            near,
            files,
            records: records.into_iter().filter_map(read).collect(),
        }))
    }

    /// Returns the lines of the functions with these names: what new lines call does what it does for them. A name that
    /// many functions have says nothing.
    fn definitions(&self, names: &BTreeSet<String>) -> Result<Vec<(String, u32, u32)>, GitProblem> {
        let mut found: BTreeMap<String, Vec<(String, u32, u32)>> = BTreeMap::new();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        for file in self.repository.tracked("*.rs")? {
            let source = self.repository.read(&file);
            for (name, (first, last)) in lines::definitions(&source, names) {
                found
                    .entry(name)
                    .or_default()
                    .push((file.clone(), first, last));
            }
        }
        let few = found.into_values().filter(|it| it.len() <= MOST_NAMESAKES);
        Ok(few.flatten().collect())
    }

    /// Decides which tests run, and in which order. `settings` are the variables that flags set.
    pub fn plan(
        &self,
        binaries: &[TestBinary],
        tests: &[Test],
        settings: &[(&'static str, OsString)],
    ) -> Plan {
        let hashes: Vec<_> = binaries
            .iter()
            .map(|binary| [hash_of_binary(binary), hash_of_settings(binary, settings)])
            .collect();
        let mut plan = Plan {
            order: Vec::new(),
            skipped: Vec::new(),
            fingerprints: tests.iter().map(|it| hashes[it.binary].clone()).collect(),
        };
        let mut keys = Vec::new();
        for (index, test) in tests.iter().enumerate() {
            let record = self.record(binaries, test);
            match record {
                Some(record)
                    if self.is_unchanged(
                        record,
                        &plan.fingerprints[index],
                        &binaries[test.binary],
                    ) =>
                {
                    plan.skipped.push((index, record.clone()));
                }
                _ => keys.push((self.rank(record), index)),
            }
        }
        keys.sort_by(|(one, _), (other, _)| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        plan.order = keys.into_iter().map(|(_, index)| index).collect();
        plan
    }

    fn record(&self, binaries: &[TestBinary], test: &Test) -> Option<&TestRecord> {
        let base = self.base.as_ref()?;
        base.records.get(&name(binaries, test))
    }

    /// True when the test passed, and would do the same as far as can be known.
    fn is_unchanged(
        &self,
        record: &TestRecord,
        [binary, settings]: &[String; 2],
        of: &TestBinary,
    ) -> bool {
        let is_same = record.passed && record.binary == *binary && record.settings == *settings;
        is_same && !self.may_read_changes(of)
    }

    /// True when a file differs that a test of this package may read when it runs.
    fn may_read_changes(&self, binary: &TestBinary) -> bool {
        let package = binary
            .manifest
            .parent()
            .map(|it| it.canonicalize().unwrap_or_else(|_| it.to_owned()));
        let Some(base) = &self.base else { return true };
        base.files.iter().any(|file| {
            let path = self.repository.root.join(file);
            let extension = path
                .extension()
                .and_then(|it| it.to_str())
                .unwrap_or_default();
            let is_inside = package
                .as_ref()
                .is_none_or(|package| path.starts_with(package));
            is_inside && !NOT_READ.contains(&extension)
        })
    }

    /// Returns the place of a test in the order: those that failed, those that the change can affect or that are new,
    /// the others; of equal ones those that took less time.
    fn rank(&self, record: Option<&TestRecord>) -> (u8, f64) {
        match record {
            Some(record) if !record.passed => (0, record.seconds),
            Some(record) if self.is_affected(record) => (1, record.seconds),
            Some(record) => (2, record.seconds),
            None => (1, 0.0),
        }
    }

    /// True when the test came to lines that are gone or near what is new.
    fn is_affected(&self, record: &TestRecord) -> bool {
        let Some(base) = &self.base else { return true };
        let mut places = record.places();
        places.any(|place| base.map.is_affected(place, &base.near))
    }

    /// Writes what is known for the checks of a test, which read it from the file that `RADDLE_SINCE` names.
    pub fn describe(&self, binaries: &[TestBinary], test: &Test, path: &Path) -> io::Result<()> {
        let mut text = String::new();
        if let (Some(base), Some(record)) = (&self.base, self.record(binaries, test)) {
            let is_absolute = record.is_absolute;
            for (file, first, last) in &base.near {
                let file = self.for_checks(file, is_absolute);
                let _ = writeln!(text, "near\t{file}\t{first}\t{last}");
            }
            for (kind, goals) in [("covered", &record.covered), ("feasible", &record.feasible)] {
                for goal in goals {
                    let place = |place: &String| {
                        let place = base.map.place(place)?;
                        Some(self.for_checks(&place, is_absolute))
                    };
                    let second = match goal.second.as_ref().map(place) {
                        Some(None) => continue,
                        Some(Some(second)) => format!("\t{second}"),
                        None => String::new(),
                    };
                    if let Some(first) = place(&goal.first) {
                        let _ = writeln!(text, "{kind}\t{}\t{first}{second}", goal.metric);
                    }
                }
            }
            self.restore(&binaries[test.binary].name, &test.name, record);
        }
        std::fs::write(path, text)
    }

    /// Saves the schedule of the failure at the earlier version, unless a later one is saved: checks run it first.
    fn restore(&self, binary: &str, test: &str, record: &TestRecord) {
        let Some(schedule) = &record.schedule else {
            return;
        };
        let keep = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '#');
        let file = test.replace("::", ".").replace(|c: char| !keep(c), "_");
        let folder = self.data.join(binary);
        let path = folder.join(format!("{file}.schedule"));
        if !path.exists() {
            let written =
                std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, schedule));
            if let Err(error) = written {
                eprintln!("warning: {} cannot be written: {error}", path.display());
            }
        }
    }

    /// Returns a place of the repository as checks name it.
    fn for_checks(&self, place: &str, is_absolute: bool) -> String {
        let path = self.repository.root.join(place);
        let relative = path.strip_prefix(&self.root).ok().filter(|_| !is_absolute);
        relative.unwrap_or(&path).display().to_string()
    }

    /// Returns a place that a check names as one of the repository; others stay as they are.
    fn of_repository(&self, place: &str) -> String {
        let path = self.root.join(place);
        let relative = path.strip_prefix(&self.repository.root);
        relative.map_or_else(|_| place.to_owned(), |it| it.display().to_string())
    }

    /// Returns the record of a test that has run.
    fn record_of(&self, outcome: &TestOutcome, [binary, settings]: &[String; 2]) -> TestRecord {
        let mut record = TestRecord {
            binary: binary.clone(),
            settings: settings.clone(),
            ran_at: self.head.clone().unwrap_or_default(),
            passed: outcome.verdict == TestVerdict::Passed && outcome.warnings.is_empty(),
            summary: outcome.brief(),
            seconds: outcome.time.as_secs_f64(),
            is_complete: !outcome.requirements.is_empty()
                && (outcome.requirements.iter()).all(|event| event["is_complete"] == true),
            schedule: (outcome.failures.iter())
                .find_map(|found| found.failure["schedule"].as_str().map(str::to_owned)),
            ..TestRecord::default()
        };
        for event in &outcome.requirements {
            let places: Vec<_> = (event["places"].as_array().into_iter().flatten())
                .filter_map(|place| place.as_str())
                .collect();
            record.is_absolute |= places
                .iter()
                .any(|place| Path::new(place).is_absolute() && self.of_repository(place) != *place);
            let place = |index: usize| places.get(index).map(|it| self.of_repository(it));
            record.covered.extend(goals(&event["covered"], place));
            record.feasible.extend(goals(&event["feasible"], place));
        }
        record.feasible = &record.feasible - &record.covered;
        record
    }

    /// Compares the tests that have run with the earlier version, and records this one if it is one.
    pub fn conclude(
        &self,
        plan: &Plan,
        binaries: &[TestBinary],
        tests: &[Test],
        outcomes: &[TestOutcome],
    ) -> Conclusion {
        let mut records = BTreeMap::new();
        let mut news = Vec::new();
        for &index in &plan.order {
            let outcome = &outcomes[index];
            let is_decided = matches!(outcome.verdict, TestVerdict::Passed | TestVerdict::Failed);
            if !is_decided {
                continue;
            }
            let record = self.record_of(outcome, &plan.fingerprints[index]);
            let known = self.record(binaries, &tests[index]).zip(self.base.as_ref());
            if let Some((before, base)) = known {
                news.push((index, News::of(before, &record, &base.map)));
            }
            records.insert(name(binaries, &tests[index]), record);
        }
        for (index, record) in &plan.skipped {
            // The same binary has the same places.
            records.insert(name(binaries, &tests[*index]), record.clone());
        }
        let recorded = match &self.head {
            Some(head)
                if self
                    .repository
                    .clean_head()
                    .is_ok_and(|now| now.as_ref() == Some(head)) =>
            {
                let texts = records
                    .iter()
                    .map(|(test, record)| (test.clone(), record.to_text()));
                let now = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                let added =
                    self.file
                        .add_version(head, now.as_millis() as u64, &texts.collect(), PATIENCE);
                added.map(|()| Some(head.clone()))
            }
            _ => Ok(None),
        };
        Conclusion { news, recorded }
    }
}

/// The end of a run that is compared with an earlier version.
pub struct Conclusion {
    /// What is new in tests that have run, by index.
    pub news: Vec<(usize, News)>,
    /// The version as which the run was recorded, if it is one.
    pub recorded: Result<Option<String>, Problem>,
}

fn warn(problem: &Problem) {
    eprintln!("warning: nothing is known of earlier versions: {problem}");
}

fn hash_of_binary(binary: &TestBinary) -> String {
    let content = std::fs::read(&binary.path).unwrap_or_default();
    let library = binary
        .runtime
        .as_ref()
        .map(|runtime| std::fs::read(&runtime.library).unwrap_or_default());
    hash([content.as_slice(), library.as_deref().unwrap_or_default()])
}

fn hash_of_settings(binary: &TestBinary, flags: &[(&'static str, OsString)]) -> String {
    let mut all: BTreeMap<String, OsString> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with("RADDLE_"))
        .collect();
    all.extend(
        flags
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone())),
    );
    all.retain(|name, _| !WITHOUT_EFFECT.contains(&name.as_str()));
    let mut text = format!(
        "{} {}\n",
        env!("CARGO_PKG_VERSION"),
        binary.runtime.is_some()
    );
    for (name, value) in all {
        let _ = writeln!(text, "{name}={}", value.to_string_lossy());
    }
    hash([text.as_bytes()])
}
