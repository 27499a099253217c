//! One worker: runs executions and collects findings.

use std::collections::HashSet;
use std::mem::{Discriminant, discriminant};
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;

use raddle_engine::check::Finding;
use raddle_engine::coverage::Coverage;
use raddle_engine::{Ending, Exploration, Record, Tally, strategy};
use raddle_report::{Failure, FailureKind, ReachedStates, RecordedExecution, Report, Search};

use crate::driver::auto::{Done, Fit};
use crate::driver::branches::Recording;
use crate::driver::early_frees::Suspected;
use crate::driver::ignored::IgnoredReads;
use crate::driver::phases::{Budget, Patience, max_runs};
use crate::driver::predictions::Predictions;
use crate::driver::properties::JudgedProperties;
use crate::driver::run::Stopped;
use crate::driver::saturation::Saturation;
use crate::driver::status::{Numbers, Status};
use crate::driver::suspicions::Suspect;
use crate::driver::work_pool::{EndReason, SearchPool};
use crate::explain::fatal_report::FatalReport;
use crate::explain::hints::{self, Weak};
use crate::explain::minimise::{Minimiser, Original, Signature};
use crate::persist::checkpoint::Part;
use crate::persist::events;
use crate::persist::history::{self, Batch, History};
use crate::runtime::deadline::Deadline;
use crate::runtime::sampled_clock::Clock;
use crate::runtime::{Context, FOUND_AT_END, SharedLocals, run_execution};
use crate::settings::checker::Checker;
use crate::settings::options::Strategy;
use crate::settings::samplers;

/// Maximum number of different failures with `keep_going`.
pub(crate) const MAX_FAILURES: usize = 100;
/// Maximum number of failures that are minimised with `keep_going`.
const MAX_MINIMISED: usize = 16;

/// Runs executions and records findings.
pub(crate) struct Worker<'a, 'o> {
    pub(crate) checker: &'a Checker,
    pub(crate) context: Context,
    /// The report for the case that the process ends in the middle of an execution.
    pub(crate) fatal: Arc<FatalReport>,
    pub(crate) report: Report,
    pub(crate) clock: Clock,
    /// The clock for everything that is not checked before every execution.
    second_clock: Clock,
    /// The deadline of the check.
    pub(crate) deadline: Deadline,
    /// True when a failure has ended the check.
    pub(crate) is_over: bool,
    /// Reports progress.
    pub(crate) status: Option<Status>,
    pub(crate) observer: Option<&'o (dyn Fn(Stopped<'_>) + Sync)>,
    /// The coverage of its executions, if measured.
    pub(crate) coverage: Option<Box<Coverage>>,
    /// Records for the history of the check.
    pub(crate) batch: Option<Batch>,
    /// Its slot in the work pool.
    pub(crate) slot: Option<WorkerSlot>,
    /// Progress of a phase that ends when it is saturated.
    pub(crate) saturation: Saturation,
    /// Failures as they were found.
    pub(crate) seen: Vec<(FailureKind, String)>,
    /// Classes of executions that failed, with the kind of failure.
    failed: HashSet<(u64, Discriminant<FailureKind>)>,
    /// Locks that threads take in different orders.
    pub(crate) suspects: Vec<Suspect>,
    /// Memory that could be freed before a use of it.
    pub(crate) early_frees: Suspected,
    /// Branches of its executions, if they are recorded.
    pub(super) recording: Option<Box<Recording>>,
    /// Races that other executions may have.
    pub(crate) predictions: Predictions,
    /// Judgements about the properties of the check, if it has any.
    pub(crate) properties: Option<Box<JudgedProperties>>,
    /// Executions that are repeated with other values of ignored locations.
    pub(super) ignored: Option<IgnoredReads>,
    /// A failure that was just added to the report.
    found: Option<Found>,
    /// Failures that other machines have found, as kind and message.
    pub(crate) known_elsewhere: Vec<String>,
    /// Executions of earlier workers of a shared search, after which fewer are examined for suspicions.
    pub(crate) explored_before: u64,
    /// The classes of a shared check, which this process does not know.
    pub(crate) counted_elsewhere: Option<CountedElsewhere>,
    /// True when the time of a shared check is over.
    pub(crate) is_out_of_time: bool,
    /// Number of stacks that other workers had to drop.
    pub(crate) dropped_stacks: usize,
    /// True when foreign threads took part in the executions of other workers.
    pub(crate) has_foreign_threads: bool,
    /// Names of std's thread-locals that threads of other workers' executions share.
    pub(crate) shared_locals: SharedLocals,
    /// The marked states of other workers' executions.
    pub(crate) reached: ReachedStates,
}

/// The number of different classes that other processes have run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedElsewhere {
    pub(crate) classes: u64,
    pub(crate) is_estimated: bool,
}

/// One worker's slot in the work pool.
pub(crate) struct WorkerSlot {
    pool: Arc<SearchPool>,
    pub(super) number: usize,
    /// The clock for checkpoints.
    clock: Clock,
}

impl WorkerSlot {
    pub(crate) fn new(pool: &Arc<SearchPool>, number: usize) -> Self {
        WorkerSlot {
            pool: Arc::clone(pool),
            number,
            clock: Clock::new(),
        }
    }
}

/// The input for minimising a failure.
pub(crate) struct Found {
    original: Original,
    weak: Vec<Weak>,
}

impl<'a> Worker<'a, '_> {
    /// Creates a worker without findings.
    pub(crate) fn new(
        checker: &'a Checker,
        context: Context,
        fatal: &Arc<FatalReport>,
        deadline: Deadline,
    ) -> Self {
        Worker {
            checker,
            context,
            fatal: Arc::clone(fatal),
            report: Report::new(Search::new(checker.strategy.to_string(), checker.seed)),
            clock: Clock::new(),
            second_clock: Clock::new(),
            deadline,
            is_over: false,
            status: None,
            observer: None,
            coverage: (!checker.measured().is_empty())
                .then(|| Box::new(Coverage::new(checker.measured()))),
            batch: None,
            slot: None,
            saturation: Saturation::default(),
            seen: Vec::new(),
            failed: HashSet::new(),
            suspects: Vec::new(),
            early_frees: Suspected::default(),
            recording: checker.branches.then(Box::default),
            predictions: Predictions::default(),
            properties: JudgedProperties::of(checker),
            ignored: None,
            found: None,
            known_elsewhere: Vec::new(),
            explored_before: 0,
            counted_elsewhere: None,
            is_out_of_time: false,
            dropped_stacks: 0,
            has_foreign_threads: false,
            shared_locals: SharedLocals::default(),
            reached: ReachedStates::default(),
        }
    }

    /// Adds failures from earlier runs.
    pub(crate) fn add_known(&mut self, failures: Vec<Failure>) {
        self.seen.extend(failures.iter().map(Failure::gist));
        self.report.failures.extend(failures);
    }

    /// Runs one phase; returns true if the whole check is over.
    pub(crate) fn explore(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
        budget: &Budget,
        name: &'static str,
    ) -> bool {
        let own_thread = self.context.enter();
        let mut over = self.run_executions(body, place, budget, name);
        drop(own_thread);
        // A foreign thread may have come after the last execution.
        if let Some(used) = self.context.foreign_use() {
            self.is_over |= self.add_failure(&Finding::ForeignThread(used), name);
            over |= self.is_over;
        }
        over
    }

    fn run_executions(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
        budget: &Budget,
        name: &'static str,
    ) -> bool {
        let mut fit = Fit::new(Instant::now());
        let before = self.context.with_exploration(|e| e.executions());
        if let Some(status) = &mut self.status {
            status.begin(before);
        }
        // Only a search needs estimates.
        let searches = self
            .context
            .with_exploration(|e| e.world().exhaustive().is_some());
        loop {
            let (runs, executions) =
                (self.context).with_exploration(|e| (e.runs(), e.executions()));
            let is_past = self.clock.is_past(budget.until) || self.context.progress().is_late();
            // The time may be over before the first execution, without which nothing is known about the
            // program. It is cut like any other that does not end in time.
            let is_late = is_past && executions > 0;
            if runs + self.reserve() >= budget.executions || is_late || events::is_interrupted() {
                self.stop_for_budget(budget);
                return false;
            }
            if self.batch.as_mut().is_some_and(Batch::is_due) {
                self.write_batch(false);
            }
            let saturates = budget.patience == Patience::UntilSaturated;
            let must_look = executions > 0 && (searches || saturates || self.status.is_some());
            if must_look && self.has_enough(&mut fit, budget, runs, name) {
                self.stop_all(EndReason::Budget);
                return false;
            }
            if let Some(slot) = &self.slot {
                if let Some(end) = slot.pool.shared.ended() {
                    return end == EndReason::Failure;
                }
                if !slot.pool.shared.may_run(slot.number) {
                    return slot.pool.shared.ended() == Some(EndReason::Failure);
                }
            }
            let is_last = match &self.slot {
                None => runs + self.reserve() + 1 >= budget.executions,
                Some(slot) => slot.pool.shared.is_limited(),
            };
            self.context.set_last(is_last);
            self.keep_accesses(executions);
            if !run_execution(&self.context, body, place) {
                if self.takes_over() {
                    continue;
                }
                let end = self.slot.as_ref().and_then(|slot| slot.pool.shared.ended());
                let gave_up = self.context.with_exploration(|e| e.gave_up());
                return !gave_up
                    && matches!(end, None | Some(EndReason::Exhausted | EndReason::Failure));
            }
            let (mut finding, is_retried, is_sampled, is_known) =
                (self.context).with_exploration(|exploration| {
                    let finding = exploration.finish();
                    let (is_retried, is_sampled) = (exploration.retried(), exploration.sampled());
                    (finding, is_retried, is_sampled, exploration.is_known())
                });
            let context = &self.context;
            let counts = || {
                let is_whole = || context.with_exploration(|e| *e.ending() != Ending::Discarded);
                !is_retried && !is_sampled && !is_known && is_whole()
            };
            if let Some(observer) = self.observer
                && counts()
            {
                let places = context.places();
                context.with_exploration(|exploration| {
                    observer(Stopped {
                        execution: exploration.execution(),
                        ending: exploration.ending(),
                        places: &places,
                    });
                });
            }
            if let Some(coverage) = &mut self.coverage
                && counts()
            {
                context.with_execution(|execution, _| coverage.note(execution));
            }
            let is_counted = counts();
            self.context.end_states(is_counted);
            if self.recording.is_some() && is_counted {
                self.record_branches();
            }
            if self.checker.lists_alternatives.is_some() && is_counted {
                self.list_alternatives();
            }
            if finding.is_none() {
                finding = self.context.end_program();
            }
            if self.properties.is_some() && is_counted {
                self.judge_properties(finding.as_deref());
            }
            let mut is_foreign = false;
            if let Some(used) = self.context.foreign_use() {
                // All other findings of the execution may be consequences.
                finding = Some(Box::new(Finding::ForeignThread(used)));
                is_foreign = true;
            }
            let is_cut = finding.is_none() && self.is_cut();
            if is_cut {
                self.report_cut(name);
            }
            if !is_foreign && (is_retried || is_known) {
                self.context.clean_up();
                continue;
            }
            if let Some(Finding::Nondeterminism(stopped)) = finding.as_deref()
                && stopped.from == Record::Scheduler
            {
                self.context.clean_up();
                panic!("raddle: {}", stopped.expected);
            }
            let mut over = finding.is_some();
            match finding {
                Some(finding) => over = self.add_failure(&finding, name),
                // No time is left to look at an execution that was cut.
                None if is_cut => {}
                None if self.checker.reduce.paths => {
                    self.note_ignored();
                    over = self.examine(name);
                }
                None => over = self.examine(name),
            }
            self.context.clean_up();
            let is_judged = self.properties.is_some() && !over && !self.checker.keep_going;
            over = over || is_judged && self.confirm_properties(body, place);
            over = over || self.ignored.is_some() && self.check_ignored(body, place, name);
            if over && let Some(slot) = &self.slot {
                slot.pool.shared.end(EndReason::Failure, slot.number);
            }
            if let Some(found) = self.found.take() {
                self.minimise(found, body, place);
            }
            if over {
                self.is_over = true;
                return true;
            }
            // A search goes on to the end of its phase, as it may run every class.
            if !searches && self.slot.is_none() && self.confirm_predictions(body, place) {
                return true;
            }
            self.pause();
        }
    }

    /// Looks at an execution that has passed for failures that others may have. Returns true if the check is over.
    #[inline]
    fn examine(&mut self, name: &'static str) -> bool {
        let mut over = false;
        if self.may_be_suspicious() {
            if let Some(order) = self.lock_order() {
                let level = self.checker.lock_order;
                over = self.add_suspicion(&Finding::LockOrder(order), level, name);
            }
            if let Some(leak) = self.leak() {
                over |= self.add_suspicion(&leak, self.checker.leaks, name);
            }
            self.suspect_early_frees();
        }
        self.predict() || over
    }

    /// Stops the phase of all workers, because its budget is spent.
    #[cold]
    fn stop_for_budget(&self, budget: &Budget) {
        if budget.patience == Patience::UntilEstimate {
            self.context.with_exploration(|exploration| {
                if let Some(search) = exploration.world().exhaustive() {
                    search.conclude_estimate();
                }
            });
        }
        let reason = self.slot.as_ref().map(|slot| slot.pool.reason_of_budget());
        self.stop_all(reason.unwrap_or(EndReason::Budget));
    }

    /// True when the phase has reached its goal or cannot reach it; also reports progress. Only the
    /// first worker decides.
    #[inline]
    fn has_enough(
        &mut self,
        fit: &mut Fit,
        budget: &Budget,
        runs: u64,
        name: &'static str,
    ) -> bool {
        let slot = self.slot.as_ref();
        if slot.is_some_and(|slot| slot.number > 0) {
            return false;
        }
        let runs = slot.map_or(runs, |slot| slot.pool.shared.executions().max(runs));
        let estimate = |context: &Context| context.with_exploration(|e| e.estimate());
        if let Some(status) = &mut self.status
            && status.is_due()
        {
            status.report(Numbers {
                name,
                done: runs,
                estimate: estimate(&self.context).filter(|it| !it.is_rough),
                until: budget.until,
            });
        }
        match budget.patience {
            Patience::UntilEstimate => return estimate(&self.context).is_some(),
            Patience::Slice => return false,
            Patience::UntilSaturated => return self.is_saturated(runs),
            // A time estimate is needed only with a time budget or a progress line.
            Patience::Whole if budget.until.is_none() && self.status.is_none() => return false,
            Patience::Whole | Patience::WhileItFits => {}
        }
        let is_time = self.second_clock.is_past(Some(fit.start));
        if budget.patience == Patience::Whole && !is_time {
            return false;
        }
        let estimate = estimate(&self.context);
        if !is_time && fit.is_settled(budget, runs, estimate) {
            return false;
        }
        let done = Done {
            estimate,
            all: runs,
            ..self.done()
        };
        if let Some(samples) = fit.wants_estimate(budget, done) {
            self.context.with_exploration(|exploration| {
                if let Some(search) = exploration.world().exhaustive() {
                    search.sample_now(samples);
                }
            });
        }
        budget.patience == Patience::WhileItFits && fit.gives_up(budget, done)
    }

    /// True when the last half of the runs found no class and covered no requirement that was new.
    fn is_saturated(&mut self, runs: u64) -> bool {
        self.saturation.is_due(runs) && {
            let classes = self.context.with_exploration(|e| e.classes());
            let growth = self.coverage.as_deref().map(Coverage::growth);
            let covered = growth.as_deref().and_then(<[_]>::last);
            let covered = covered.map_or(0, |last| last.requirements + last.combinations);
            self.saturation.see(runs, classes + covered)
        }
    }

    /// Loads the history of earlier runs and records new results in it.
    pub(crate) fn recall(&mut self, history: &Arc<History>) {
        let failures = self.report.failures.len();
        self.batch = Some(history.recall(&self.context, self.coverage.as_deref_mut(), failures));
    }

    /// Writes new results to the history, if there is one.
    #[cold]
    pub(crate) fn write_batch(&mut self, is_last: bool) {
        if let Some(mut batch) = self.batch.take() {
            let found = history::Found {
                context: &self.context,
                coverage: self.coverage.as_deref(),
                failures: &self.report.failures,
                is_alone: self.slot.is_none(),
            };
            batch.write(found, self.fatal.check.as_ref(), is_last);
            self.batch = Some(batch);
        }
    }

    /// True when the search has used all its runs.
    pub(crate) fn has_used_its_runs(&self) -> bool {
        let runs = self.context.with_exploration(|e| e.runs());
        runs + self.reserve() >= max_runs(self.checker)
    }

    /// True when the budget of the search is spent, or the user has stopped the check.
    pub(crate) fn is_spent(&self) -> bool {
        self.has_used_its_runs() || self.deadline.is_past() || events::is_interrupted()
    }

    /// Returns the progress of the check.
    pub(crate) fn done(&self) -> Done {
        self.context.with_exploration(|e| Done {
            runs: e.executions() + e.discarded() + e.attempts(),
            all: e.runs(),
            estimate: e.estimate(),
            gave_up: e.gave_up(),
            now: Instant::now(),
        })
    }

    /// Serves the work pool between two executions.
    #[inline]
    fn pause(&mut self) {
        let Some(slot) = &mut self.slot else { return };
        let (report, exploration) = (&self.report, &self.context);
        exploration.with_exploration(|exploration| {
            let counted = exploration.counted();
            slot.pool.shared.publish(slot.number, counted.executions);
            if let Some(search) = exploration.world().exhaustive() {
                let part = || part(&counted, report);
                slot.pool.pause(slot.number, &mut slot.clock, search, part);
            }
        });
    }

    /// Takes work from the pool, waiting for it if necessary; false if there is none.
    fn takes_over(&mut self) -> bool {
        let Some(slot) = &self.slot else { return false };
        slot.pool.shared.give_back();
        if !slot.pool.shares_search {
            return false;
        }
        let part = self.context.with_exploration(|exploration| {
            let reach = exploration
                .world()
                .exhaustive()
                .map(|search| search.reach());
            Part {
                reach: reach.unwrap_or_default(),
                ..part(&exploration.counted(), &self.report)
            }
        });
        let Some(item) = slot.pool.next_item(slot.number, part) else {
            return false;
        };
        self.take_over(vec![item]);
        true
    }

    /// Stops all workers that share the work.
    fn stop_all(&self, end: EndReason) {
        if let Some(slot) = &self.slot
            && slot.pool.shares_search
        {
            slot.pool.shared.end(end, slot.number);
        }
    }

    /// Returns the input for minimising the execution that has just stopped, if that is worthwhile.
    fn found(&self, finding: &Finding) -> Option<Found> {
        let replayed = self.checker.replays() || self.checker.is_directed();
        if replayed || !self.checker.shorten || self.seen.len() > MAX_MINIMISED {
            return None;
        }
        let signature = Signature::of(finding, &self.context)?;
        self.context.with_execution(|execution, _| {
            Some(Found {
                original: Original::of(execution, finding, signature)?,
                weak: hints::weak_places(execution),
            })
        })
    }

    /// Minimises the failure that was just added, and adds its critical pair and a hint at an
    /// ordering that is too weak.
    #[cold]
    fn minimise(
        &mut self,
        Found { original, weak }: Found,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) {
        let (signature, found) = (original.signature.clone(), original.cost);
        let deadline = (self.deadline).of_explanation(Instant::now());
        let minimiser = Minimiser::new(self.checker, body, place, &self.fatal, original, deadline);
        let minimal = minimiser.run();
        let cost = minimal.as_ref().map_or(found, |minimal| minimal.cost);
        // A data race needs no stale read. The position of a free is not part of a class, so no
        // search proves that an access of the memory is gone.
        let may_be_weak = match signature {
            Signature::Race(_) => true,
            Signature::Memory(_) => false,
            _ => cost.stale > 0,
        };
        let hint = match may_be_weak {
            true => {
                let (names, weak) = (&self.context, &weak[..]);
                hints::find(self.checker, body, place, names, &signature, weak, deadline)
            }
            false => None,
        };
        let is_late = minimal.is_none() && deadline.is_past();
        if minimal.is_none() && hint.is_none() && !is_late {
            return;
        }
        let Some(mut failure) = self.report.failures.pop() else {
            return;
        };
        if is_late {
            let note = "this is the execution as it was found: the time of the check was over before a \
                        shorter one";
            failure.notes.push(note.to_owned());
        }
        if let Some(minimal) = minimal {
            if minimal.cost != found {
                failure.found = Some(Box::new(RecordedExecution {
                    trace: std::mem::replace(&mut failure.trace, minimal.failure.trace),
                    schedule: failure.schedule.to_string(),
                    preemptions: found.preemptions,
                }));
                failure.kind = minimal.failure.kind;
                failure.message = minimal.failure.message;
                failure.waits = minimal.failure.waits;
                failure.marks = minimal.failure.marks;
                failure.receives = minimal.failure.receives;
            }
            // The schedule ends with the failure.
            failure.schedule = minimal.failure.schedule;
            failure.minimised = Some(minimal.minimised);
            failure.notes.extend(minimal.note);
            if let Some((pair, passing)) = minimal.critical {
                failure.critical = Some(pair);
                failure.passing = Some(Box::new(passing));
            }
        }
        if let Some(hint) = hint {
            hint.add_to(&mut failure);
        }
        // Two failures may have the same minimal execution.
        let same = |other: &Failure| other.kind == failure.kind && other.message == failure.message;
        if !self.report.failures.iter().any(same) {
            self.seen.push(failure.gist());
            self.report.failures.push(failure);
        }
    }

    pub(super) fn named_failure(&self, finding: &Finding, name: &'static str) -> Failure {
        let context = &self.context;
        let mut failure = context.with_execution(|execution, executions| {
            let mut failure = Failure::new(finding, execution, context);
            failure.execution = executions;
            failure
        });
        if failure.kind == FailureKind::DataRace {
            failure.notes.extend(self.checker.program.race_note());
        }
        if let Some(properties) = &self.properties {
            failure.notes.extend(properties.notes(finding));
        }
        if context.has_failed_at_end() {
            failure.notes.push(FOUND_AT_END.to_owned());
        }
        // A replayed schedule was recorded up to that point.
        if let (Strategy::Replay(_), Some(after)) = (&self.checker.strategy, finding.after()) {
            failure.schedule.steps.truncate(after);
        }
        let worker = self.slot.as_ref().map_or(0, |slot| slot.number);
        let is_seeded = |e: &mut Exploration| {
            let randomness = e.world().capabilities().randomness;
            randomness != strategy::Randomness::None
        };
        failure.search = match self.context.with_exploration(is_seeded) {
            true => format!("{name}, seed {}", samplers::seed(self.checker.seed, worker)),
            false => name.to_owned(),
        };
        if let Some(slot) = &self.slot {
            slot.pool.shared.publish(slot.number, failure.execution);
            failure.execution = slot.pool.shared.executions();
        }
        failure
    }

    /// True when an execution of the same class has failed with this kind before. It may have run
    /// in another linearization.
    fn failed_before(&mut self, kind: FailureKind) -> bool {
        let class = self.context.with_exploration(|exploration| {
            let is_whole = matches!(
                exploration.ending(),
                Ending::Complete | Ending::Deadlock | Ending::Livelock
            );
            is_whole.then(|| exploration.execution().fingerprint())
        });
        class.is_some_and(|class| !self.failed.insert((class, discriminant(&kind))))
    }

    /// True when another machine has found this failure.
    fn is_known_elsewhere(&self, (kind, message): &(FailureKind, String)) -> bool {
        let known = &self.known_elsewhere;
        !known.is_empty() && known.contains(&format!("{kind}: {message}"))
    }

    /// Adds a failure to the report; returns true if the check is over.
    #[cold]
    pub(super) fn add_failure(&mut self, finding: &Finding, name: &'static str) -> bool {
        let mut failure = self.named_failure(finding, name);
        self.name_races(&mut failure);
        let key = failure.gist();
        let known = self.failed_before(failure.kind)
            || self.seen.contains(&key)
            || self.is_known_elsewhere(&key);
        if !known {
            self.seen.push(key);
            self.report.failures.push(failure);
            self.found = self.found(finding);
        }
        !self.checker.keep_going
            || matches!(
                finding,
                Finding::Nondeterminism(_) | Finding::ForeignThread(_) | Finding::IgnoredValue(_)
            )
            || self.report.failures.len() >= MAX_FAILURES
    }
}

/// Returns a worker's counts for a checkpoint.
pub(crate) fn part(counted: &Tally, report: &Report) -> Part {
    let failure = |failure: &Failure| (failure.execution, failure.schedule.to_token());
    Part {
        runs: counted.runs,
        executions: counted.executions,
        discarded: counted.discarded,
        cut_short: counted.cut_short,
        cuts: counted.cuts,
        failures: report.failures.iter().map(failure).collect(),
        ..Part::default()
    }
}
