//! Starting a check.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use raddle_engine::{CheckName, Execution, Schedule};
use raddle_report::Report;

use crate::driver::completeness;
use crate::driver::known_schedules;
use crate::driver::phases;
use crate::driver::run;
use crate::driver::workers::Job;
use crate::explain::fatal_report::FatalReport;
use crate::explain::pages::{self, Pages};
use crate::persist::events;
use crate::settings::check_name::RunningCheck;
use crate::settings::checker::{Checker, WholeCheck};
use crate::settings::environment;
use crate::settings::mutant::Mutant;
use crate::settings::options::{Level, Memory, Strategy};

/// Runs `body` many times under full control, counting no behaviour twice, until every class has
/// been run or the budget is spent. Panics with the story of the first failure.
///
/// ```should_panic
/// use raddle::sync::Arc;
/// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// raddle::check(|| {
///     let counter = Arc::new(AtomicU32::new(0));
///     let other = counter.clone();
///     let thread = raddle::thread::spawn(move || {
///         other.store(other.load(SeqCst) + 1, SeqCst);
///     });
///     counter.store(counter.load(SeqCst) + 1, SeqCst);
///     thread.join().unwrap();
///     assert_eq!(counter.load(SeqCst), 2, "an update was lost");
/// });
/// ```
#[track_caller]
pub fn check(body: impl Fn() + Send + Sync) {
    let checker = Checker::new().known_schedules(true);
    let report = checker.run(body);
    report.assert_ok();
}

/// Runs a check and passes every execution to `observer` when it has stopped.
#[track_caller]
pub fn run_observed(
    checker: Checker,
    body: impl Fn() + Send + Sync,
    observer: &mut (dyn FnMut(&Execution) + Send),
) -> Report {
    checker.run_observed(
        &body,
        Some(&mut |stopped: run::Stopped<'_>| observer(stopped.execution)),
    )
}

/// Changes operations of the program, for raddle's own tests.
///
/// # Panics
///
/// If the text is not one that `RADDLE_MUTANT` takes.
pub fn with_mutant(mut checker: Checker, mutant: &str) -> Checker {
    checker.mutant = mutant.parse().unwrap_or_else(|error| panic!("{error}"));
    checker
}

/// Replays a schedule and returns the report, without a trace of it in files or among the events.
#[track_caller]
pub fn replay(mut checker: Checker, schedule: Schedule, body: impl Fn() + Send + Sync) -> Report {
    environment::apply(&mut checker, |name| std::env::var(name).ok())
        .unwrap_or_else(|error| panic!("raddle: {error}"));
    let fatal = FatalReport {
        search: checker.strategy.to_string(),
        check: schedule.check.clone(),
        note: None,
        saves: false,
        pages: Pages::default(),
    };
    let place = std::panic::Location::caller();
    let job = Job {
        checker: &checker,
        body: &body,
        place,
        fatal: &Arc::new(FatalReport::default()),
        deadline: phases::deadline(&checker, Instant::now()),
        history: None,
    };
    known_schedules::run_again(job, schedule, fatal)
}

impl Checker {
    /// Runs `body` many times and returns the report. Environment variables such as
    /// `RADDLE_STRATEGY` and `RADDLE_MAX_TIME` take precedence over the settings made here.
    ///
    /// # Panics
    ///
    /// If the settings cannot be used, or inside another check.
    #[track_caller]
    pub fn run(self, body: impl Fn() + Send + Sync) -> Report {
        self.run_observed(&body, None)
    }

    /// Estimates the number of classes of `body`, without running them all, from some thousand runs
    /// (or at most [`max_executions`](Self::max_executions)). Failures of these runs are reported
    /// as by [`run`](Self::run). There is no estimate if the runs are too few to know how precise it is.
    ///
    /// ```
    /// let report = raddle::Checker::new().estimate(|| {
    ///     let thread = raddle::thread::spawn(|| raddle::choose(0..3));
    ///     assert!(thread.join().unwrap() < 3);
    /// });
    /// assert_eq!(report.estimate().unwrap().classes, 3);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run) does.
    #[track_caller]
    pub fn estimate(mut self, body: impl Fn() + Send + Sync) -> Report {
        self.strategy = Strategy::Exhaustive;
        self.only_estimate = true;
        self.run_observed(&body, None)
    }

    /// For checks of several parts: runs every class of `body` as a part of another check, without the
    /// environment's settings, a name, files and events. Its failures are in the report only.
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run) does.
    #[doc(hidden)]
    #[track_caller]
    pub fn run_as_part(self, body: impl Fn() + Send + Sync) -> Report {
        self.validate();
        let part = Checker {
            program: self.program,
            memory: self.memory,
            spurious_wakeups: self.spurious_wakeups,
            timeouts: self.timeouts,
            weak_cas: self.weak_cas,
            waiting_writers: self.waiting_writers,
            stack_size: self.stack_size,
            max_events: self.max_events,
            strategy: Strategy::Exhaustive,
            keep_going: true,
            shorten: false,
            lock_order: Level::Allow,
            leaks: Level::Allow,
            part_of: Some(WholeCheck {
                start: Instant::now(),
                runs: 0,
                deadline: None,
            }),
            ..Checker::new()
        };
        let place = std::panic::Location::caller();
        run::run(&part, None, &body, place, None)
    }

    #[track_caller]
    pub(crate) fn run_observed(
        mut self,
        body: &(dyn Fn() + Send + Sync),
        observer: Option<run::Observer<'_>>,
    ) -> Report {
        environment::apply(&mut self, |name| std::env::var(name).ok())
            .unwrap_or_else(|error| panic!("raddle: {error}"));
        if self.mutant != Mutant::None && self.memory == Memory::Sc {
            // Under sequential consistency no ordering makes a difference.
            self.memory = Memory::Rc11;
        }
        self.prepare_total_replay()
            .unwrap_or_else(|error| panic!("raddle: {error}"));
        if self.branches || self.has_properties() {
            self.workers = NonZeroUsize::MIN;
        }
        let running = RunningCheck::starting(&self);
        environment::apply_replay(&mut self, &running)
            .unwrap_or_else(|error| panic!("raddle: {error}"));
        self.prepare_listing();
        self.validate();
        let place = std::panic::Location::caller();
        let name = running.name.clone();
        let check_events = events::CheckEvents::start(&self, name.as_ref());
        let mut report = match self.verify_completeness {
            false => run::run(&self, running.name, body, place, observer),
            true => completeness::run_and_verify(&self, body, place, observer, |observer| {
                run::run(&self, running.name, body, place, Some(observer))
            }),
        };
        report.set_check(name.as_ref().map(title));
        // A schedule or an alternative that the user asked for is no search, nor is an estimate.
        let is_search = !self.replays() && !self.is_directed() && !self.only_estimate;
        if let Some(required) = self
            .require
            .filter(|_| is_search && !events::is_interrupted())
        {
            report.require(required);
        }
        if is_search && !events::is_interrupted() {
            report.require_reached(self.require_reached.iter());
        }
        pages::write(&Pages::of(&self), name.as_ref(), &mut report);
        check_events.finish(&report);
        report
    }
}

/// Returns the name at the beginning of result lines.
fn title(check: &CheckName) -> String {
    match check {
        CheckName { test, number: 1 } => test.clone(),
        CheckName { test, number } => format!("{test}, check {number}"),
    }
}
