//! The history of a check across runs, for checks with [`Checker::remember`].
//!
//! The file is that of [`raddle_runs`]. A check with a history first replays schedules that failed
//! before. Then it runs one execution in which threads take turns, checked and counted like any
//! other, whose *shape* ([`shape`]) identifies the program. If the shape is the recorded one, the
//! classes and the coverage of earlier runs count as known. If not, only the failing schedules are
//! kept. Shapes and keys contain the text of lines instead of their numbers, so that edits
//! elsewhere do not change them. Fingerprints of classes contain threads and counts of events, and
//! no places.
//!
//! No shape proves that a program behaves as before. Therefore the history leaves no execution
//! unchecked: an execution of a known class is checked too, and only not counted as new.
//!
//! Every worker writes its results between two executions, at least twice a second, so a killed
//! process loses less than a second of them. If the file is not available, the run continues
//! without it.

mod batch;
mod shape;
mod sources;

pub(crate) use batch::{Batch, Found};

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use raddle_engine::coverage::{Coverage, Metric, Requirement};
use raddle_engine::{CheckName, Schedule};
use raddle_report::{Earlier, Failure, FailureKind};
use raddle_runs::{News, Problem, Remembered, RequirementKey, Run, RunsFile};

use crate::persist::learnt::{self, Learnt};
use crate::persist::saved;
use crate::runtime::{Context, Places};
use crate::settings::checker::Checker;
use crate::settings::log::Log;
use crate::settings::options::Strategy;
use sources::Sources;

/// Maximum wait for other processes at the start and the end of a run, and in between.
const PATIENCE: Duration = Duration::from_secs(2);
const IMPATIENCE: Duration = Duration::from_millis(50);
/// Executions without success after which a requirement is no longer tried first.
const TRIED: u64 = 100;

/// The history of one check and the results it adds, shared by all its workers.
pub(crate) struct History {
    file: RunsFile,
    /// The key of the check in the file.
    check: String,
    /// The verbosity of messages.
    log: Log,
    /// Settings that explanations of failures depend on.
    settings: String,
    remembered: Remembered,
    /// The shape of the program, and true if it is the recorded one; set after the first execution.
    shape: OnceLock<(u64, bool)>,
    state: Mutex<HistoryState>,
}

#[derive(Default)]
struct HistoryState {
    sources: Sources,
    /// Results not yet written.
    news: News,
    /// True when another attempt to write would fail too.
    gave_up: bool,
}

impl History {
    /// Reads the history of a check; `None` if it has none.
    pub(crate) fn open(checker: &Checker, name: Option<&CheckName>) -> Option<Arc<Self>> {
        let is_single = checker.replays() || checker.is_directed();
        if !checker.remember || is_single || checker.only_estimate {
            return None;
        }
        let name = name?;
        let given = checker.remember_in.clone();
        let file = RunsFile::new(given.or_else(saved::runs_file)?);
        let check = saved::check_key(name);
        let mut history = History {
            remembered: Remembered::default(),
            file,
            check,
            log: checker.log,
            settings: learnt::settings(checker),
            shape: OnceLock::new(),
            state: Mutex::default(),
        };
        match history.file.read(&history.check, PATIENCE) {
            Ok(remembered) => history.remembered = remembered,
            Err(problem) => history.warn(&problem),
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default();
        let news = &mut history
            .state
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .news;
        news.so_far.started = now.as_millis() as u64;
        // Runs that start at the same time differ in their process or their check.
        news.run = (now.as_nanos() as u64) ^ (u64::from(std::process::id()) << 40);
        Some(Arc::new(history))
    }

    /// Returns the settings of this run, with another seed than earlier runs.
    pub(crate) fn settings(&self, checker: &Checker) -> Checker {
        let run = self.remembered.runs.len() as u64;
        Checker {
            seed: checker.seed ^ run.wrapping_mul(0xd6e8_feb8_6659_fd93),
            ..checker.clone()
        }
    }

    /// True when classes and coverage are recorded. They are not for searches that end by
    /// themselves, which start again or are resumed. Nor with reductions, which may leave out the
    /// class of the first execution.
    pub(crate) fn goes_on(checker: &Checker) -> bool {
        let is_search = matches!(
            checker.strategy,
            Strategy::Exhaustive
                | Strategy::Enumerate
                | Strategy::EnumeratePrivateFirst
                | Strategy::Delay { .. }
                | Strategy::Replay(_)
                | Strategy::Directed(_)
        );
        !is_search && !checker.is_reduced()
    }

    /// Returns the schedules that failed in earlier runs, with their explanations.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (Schedule, Option<Learnt>)> + '_ {
        let texts = self.remembered.failures.iter();
        texts.filter_map(|text| Some((text.parse().ok()?, Learnt::parse(text))))
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &std::path::Path {
        self.file.path()
    }

    /// Removes a schedule that no longer fails.
    pub(crate) fn forget(&self, schedule: &Schedule) {
        let known = self.remembered.failures.iter();
        let mut same = known.filter(|text| text.parse().as_ref() == Ok(schedule));
        if let Some(text) = same.next() {
            let removed = self.file.remove_failure(&self.check, text, PATIENCE);
            removed.unwrap_or_else(|problem| self.warn(&problem));
        }
    }

    /// Adds the schedules of failures.
    pub(crate) fn add_failures(&self, failures: &[Failure]) {
        for failure in failures.iter().filter(|it| is_kept(it)) {
            let mut known = self.failures();
            if known.all(|(schedule, _)| schedule != failure.schedule) {
                let text = learnt::with_schedule(failure, &failure.schedule, &self.settings);
                let added = self.file.add_failure(&self.check, &text, PATIENCE);
                added.unwrap_or_else(|problem| self.warn(&problem));
            }
        }
    }

    /// Adds requirements that no class covers, when every class was run. Without a shape to compare, it is
    /// unknown which program the records are about.
    pub(crate) fn exclude(&self, requirements: Vec<Requirement>, places: &Places) {
        if self.shape.get().is_none() {
            return;
        }
        let add = |news: &mut News, sources: &mut Sources| {
            let keys = requirements.into_iter();
            news.excluded
                .extend(keys.filter_map(|one| key(one, places, sources)));
        };
        self.write(add, true);
    }

    /// Compares the shape of the execution that has just stopped with the recorded one.
    pub(crate) fn look(&self, context: &Context, checker: &Checker) {
        let places = context.places();
        let shape = context.with_execution(|execution, _| {
            shape::of(execution, checker, &places, &mut self.lock().sources)
        });
        let is_same = shape == self.remembered.shape;
        if !is_same && !self.remembered.runs.is_empty() && self.log == Log::Progress {
            eprintln!(
                "raddle: {}: the program has changed, so earlier runs are forgotten",
                self.check
            );
        }
        self.lock().news.shape = shape;
        let _ = self.shape.set((shape, is_same));
    }

    /// Returns the history if the program is the recorded one.
    fn valid(&self) -> Option<&Remembered> {
        let is_same = self.shape.get().is_some_and(|(_, is_same)| *is_same);
        is_same.then_some(&self.remembered)
    }

    /// Returns the results of earlier runs.
    pub(crate) fn earlier(&self) -> Option<Earlier> {
        let remembered = self.valid().filter(|it| !it.runs.is_empty())?;
        let point = |run: Run| (run.executions, run.classes, run.requirements);
        Some(Earlier::new(
            remembered.classes.len() as u64,
            remembered.covered.len() as u64,
            remembered.growth().into_iter().map(point),
        ))
    }

    /// Loads the history into a worker with this number of failures, and returns its batch.
    pub(crate) fn recall(
        self: &Arc<Self>,
        context: &Context,
        coverage: Option<&mut Coverage>,
        failures: usize,
    ) -> Batch {
        let empty = Remembered::default();
        let remembered = self.valid().unwrap_or(&empty);
        let places = context.places();
        let covered: Vec<Requirement> = {
            let sources = &mut self.lock().sources;
            let keys = remembered.covered.iter();
            keys.filter_map(|key| requirement(key, &places, sources))
                .collect()
        };
        if let Some(coverage) = coverage {
            covered.iter().for_each(|&one| coverage.cover(one));
        }
        context.with_exploration(|exploration| {
            exploration.remember(&remembered.classes);
            if let Some(guided) = exploration.world().guided() {
                covered.iter().for_each(|&one| guided.cover(one));
                let tried = |executions: &u64| *executions >= TRIED;
                if !remembered.stale.is_empty() && remembered.stale.values().all(tried) {
                    guided.has_tried();
                }
            }
        });
        Batch::new(Arc::clone(self), failures, covered)
    }

    /// Adds to the results not yet written, and writes all of them if the file is available.
    fn write(&self, add: impl FnOnce(&mut News, &mut Sources), is_last: bool) {
        let mut state = self.lock();
        let HistoryState { sources, news, .. } = &mut *state;
        add(news, sources);
        if state.gave_up {
            return;
        }
        let patience = if is_last { PATIENCE } else { IMPATIENCE };
        match self.file.add(&self.check, &state.news, patience) {
            Ok(()) => {
                let News {
                    shape, run, so_far, ..
                } = state.news;
                state.news = News {
                    shape,
                    run,
                    so_far,
                    ..News::default()
                };
            }
            Err(Problem::Busy) if !is_last => {}
            Err(problem) => {
                state.gave_up = matches!(problem, Problem::Unreachable { .. });
                self.warn(&problem);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HistoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints why a result is not recorded.
    #[cold]
    fn warn(&self, problem: &Problem) {
        // A busy file is no reason to warn.
        let is_quiet = matches!(problem, Problem::Busy) && self.log != Log::Progress;
        if self.log != Log::Off && !is_quiet {
            eprintln!(
                "raddle: {}: not everything is remembered: {problem}",
                self.check
            );
        }
    }
}

/// True when the schedule of a failure is worth a replay.
fn is_kept(failure: &Failure) -> bool {
    failure.kind != FailureKind::Nondeterminism
}

/// Returns the requirement with this key, if the source still has its places.
fn requirement(key: &str, places: &Places, sources: &mut Sources) -> Option<Requirement> {
    let key = RequirementKey::parse(key)?;
    let metric = Metric::named(&key.metric)?;
    let mut site = |anchor| Some(places.of_text(&sources.place(anchor)?));
    let requirement = Requirement {
        metric,
        first: site(&key.first)?,
        second: match &key.second {
            Some(second) => Some(site(second)?),
            None => None,
        },
    };
    (requirement.second.is_some() == metric.is_pairwise()).then_some(requirement)
}

/// Returns the key of a requirement.
fn key(requirement: Requirement, places: &Places, sources: &mut Sources) -> Option<String> {
    let mut anchor = |site| Some(sources.anchor(&places.to_text(site)?));
    let key = RequirementKey {
        metric: requirement.metric.to_string(),
        first: anchor(requirement.first)?,
        second: match requirement.second {
            Some(second) => Some(anchor(second)?),
            None => None,
        },
    };
    Some(key.to_key())
}
