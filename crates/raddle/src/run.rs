//! Running a check: budgets, phases, and the report.

use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_engine::check::Finding;
use raddle_engine::check::leak;
use raddle_engine::check::lock_order::{self, LockOrder};
use raddle_engine::object::Object;
use raddle_engine::strategy::{Bound, Planned, Reductions};
use raddle_engine::{CheckName, Ending, Execution, Exploration, SiteId, strategy};
use raddle_report::{Failure, FailureKind, Guarantee, Report, Search};

use crate::checker::{Checker, Level, Strategy};
use crate::known;
use crate::last_words::LastWords;
use crate::saved;
use crate::shorten::{Shortening, Signature, first_plan};
use crate::substrate::{Context, install_hook, install_overflow_handler, run_execution};
use crate::watchdog;

const DEFAULT_EXECUTIONS: u64 = 100_000;
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// With `keep_going`, a search that has found this many different failures has found enough.
const MAX_FAILURES: usize = 100;

/// With `keep_going`, so many failures at most are told as shortly as possible.
const MAX_SHORTENED: usize = 16;
/// So many executions try to make a deadlock of locks that are taken in different orders.
const MAX_DIRECTED: u64 = 16;
/// So many executions are looked at for the order of locks, and then every so many.
const LOOKED_AT: u64 = 256;
const LOOK_EVERY: u64 = 64;

/// Sees every execution that counts when it has stopped.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(&Execution);

/// Runs the check.
pub(crate) fn run(
    checker: &Checker,
    name: Option<CheckName>,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    observer: Option<Observer<'_>>,
) -> Report {
    install_hook();
    install_overflow_handler();
    let start = Instant::now();
    let report = Report::new(Search::new(checker.strategy.to_string(), checker.seed));
    let mut phases = phases(checker, start).into_iter().peekable();
    let first = phases.next().expect("every strategy has a phase");
    let known = match &name {
        Some(name) if checker.known_schedules && !checker.replays() => {
            known::run(checker, name, body, place)
        }
        _ => Vec::new(),
    };
    let mut exploration = Exploration::new(first.strategy, checker.limits());
    if phases.peek().is_some() {
        exploration.compare_classes();
    }
    let context = Context::new(exploration, checker.stack_size, checker.modelled);
    let clock = Clock::new();
    let mut worker = Worker {
        checker,
        context,
        report,
        clock,
        observer,
        seen: known
            .iter()
            .map(|it| (it.kind, it.message.clone()))
            .collect(),
        suspects: Vec::new(),
        found: None,
    };
    let found = !known.is_empty();
    worker.report.failures = known;
    if found && !checker.keep_going {
        let mut report = worker.finish(name, start);
        report.executions = report.failures[0].execution;
        report.set_classes(1, Guarantee::Sampled);
        return report;
    }
    let words = Arc::new(LastWords {
        search: checker.strategy.to_string(),
        check: name.clone(),
    });
    worker.context.set_last_words(&words);
    let progress = worker.context.progress();
    let watch = watchdog::watch(progress, checker.watchdog, words);
    let mut stopped = worker.explore(body, place, &first.budget, first.name);
    for phase in phases {
        if stopped {
            break;
        }
        worker.context.with_exploration(|exploration| {
            exploration.world().set_strategy(phase.strategy);
        });
        stopped = worker.explore(body, place, &phase.budget, phase.name);
    }
    if !stopped {
        worker.confirm(body, place);
    }
    drop(watch);
    worker.finish(name, start)
}

/// One strategy with its share of the budget.
struct Phase {
    name: &'static str,
    strategy: Box<dyn raddle_engine::Strategy>,
    budget: Budget,
}

struct Budget {
    executions: u64,
    until: Option<Instant>,
}

fn phases(checker: &Checker, start: Instant) -> Vec<Phase> {
    let executions = checker.max_executions;
    let time = checker.max_time;
    let sampling = || Budget {
        executions: executions.unwrap_or(DEFAULT_EXECUTIONS),
        until: Some(start + time.unwrap_or(DEFAULT_TIME)),
    };
    let ending = || Budget {
        executions: executions.unwrap_or(u64::MAX),
        until: time.map(|time| start + time),
    };
    let exhaustive = || {
        let search = strategy::Exhaustive::reduced(checker.reductions);
        let search = search.under(checker.memory.model());
        Box::new(match checker.preemptions {
            Some(preemptions) => search.bounded(preemptions),
            None => search,
        })
    };
    let random = || Box::new(strategy::Random::new(checker.seed));
    match &checker.strategy {
        Strategy::Auto => {
            let whole = sampling();
            let half = Budget {
                executions: whole.executions.div_ceil(2),
                until: Some(start + time.unwrap_or(DEFAULT_TIME) / 2),
            };
            vec![
                Phase {
                    name: "exhaustive",
                    strategy: exhaustive(),
                    budget: half,
                },
                Phase {
                    name: "random",
                    strategy: random(),
                    budget: whole,
                },
            ]
        }
        Strategy::Exhaustive => {
            vec![Phase {
                name: "exhaustive",
                strategy: exhaustive(),
                budget: ending(),
            }]
        }
        Strategy::Random => {
            vec![Phase {
                name: "random",
                strategy: random(),
                budget: sampling(),
            }]
        }
        Strategy::Enumerate => {
            let strategy = match checker.preemptions {
                Some(preemptions) => strategy::Enumerate::bounded(preemptions),
                None => strategy::Enumerate::new(),
            };
            let strategy = Box::new(strategy);
            vec![Phase {
                name: "enumerate",
                strategy,
                budget: ending(),
            }]
        }
        Strategy::Delay { bound } => {
            let strategy = Box::new(strategy::Delay::new(*bound));
            vec![Phase {
                name: "delay",
                strategy,
                budget: ending(),
            }]
        }
        Strategy::EnumeratePrivateFirst => {
            let strategy = Box::new(strategy::Enumerate::private_first());
            vec![Phase {
                name: "enumerate",
                strategy,
                budget: ending(),
            }]
        }
        Strategy::Replay(schedule) => {
            let strategy = Box::new(strategy::Replay::new(schedule.clone()));
            vec![Phase {
                name: "replay",
                strategy,
                budget: ending(),
            }]
        }
    }
}

struct Worker<'a, 'o> {
    checker: &'a Checker,
    context: Context,
    report: Report,
    clock: Clock,
    observer: Option<Observer<'o>>,
    /// Failures as they were found.
    seen: Vec<(FailureKind, String)>,
    /// Places where threads take locks in different orders.
    suspects: Vec<Vec<SiteId>>,
    /// A failure that was just added to the report.
    found: Option<Found>,
}

/// What it takes to find a shorter story.
struct Found {
    signature: Signature,
    plan: Vec<Planned>,
    cost: (usize, usize),
}

impl Worker<'_, '_> {
    /// Runs one phase; whether the whole check is over.
    fn explore(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
        budget: &Budget,
        name: &'static str,
    ) -> bool {
        loop {
            let counts_attempts = !self.checker.replays();
            let runs = self.context.with_exploration(|e| {
                let attempts = if counts_attempts { e.attempts() } else { 0 };
                e.executions() + e.discarded() + attempts
            });
            if runs >= budget.executions || self.clock.is_past(budget.until) {
                return false;
            }
            if !run_execution(&self.context, body, place) {
                return true;
            }
            let mut finding = self
                .context
                .with_exploration(|exploration| exploration.finish());
            if let Some(observer) = &mut self.observer
                && self
                    .context
                    .with_exploration(|e| *e.ending() != Ending::Discarded && !e.retried())
            {
                self.context
                    .with_execution(|execution, _| observer(execution));
            }
            if finding.is_none() {
                finding = self.context.sweep().map(Finding::Panic);
            }
            if self.context.with_exploration(|e| e.retried()) {
                self.context.clean_up();
                continue;
            }
            let mut over = finding.is_some();
            match finding {
                Some(finding) => over = self.add_failure(&finding, name),
                None => {
                    if let Some(order) = self.lock_order() {
                        let level = self.checker.lock_order;
                        over = self.add_suspicion(&Finding::LockOrder(order), level, name);
                    }
                    if let Some(leak) = self.leak() {
                        over |= self.add_suspicion(&leak, self.checker.leaks, name);
                    }
                }
            }
            self.context.clean_up();
            self.shorten(body, place);
            if over {
                return true;
            }
        }
    }

    /// What it takes to find a shorter story than the execution that has just stopped, if it is worth
    /// the while.
    fn found(&self, finding: &Finding) -> Option<Found> {
        let replayed = matches!(self.checker.strategy, Strategy::Replay(_));
        if replayed || !self.checker.shorten || self.seen.len() > MAX_SHORTENED {
            return None;
        }
        let signature = Signature::of(finding, &self.context)?;
        let first = |execution: &Execution, _| first_plan(execution);
        let (plan, cost) = self.context.with_execution(first)?;
        Some(Found {
            signature,
            plan,
            cost,
        })
    }

    /// Tells the failure that was just added in fewer steps, if that can be done.
    fn shorten(&mut self, body: &(dyn Fn() + Sync), place: &'static Location<'static>) {
        let Some(Found {
            signature,
            plan,
            cost,
        }) = self.found.take()
        else {
            return;
        };
        let shortening = Shortening::new(self.checker, body, place, signature);
        let shorter = shortening.run(plan, cost);
        let Some(shorter) = shorter else { return };
        let Some(mut failure) = self.report.failures.pop() else {
            return;
        };
        failure.message = shorter.message;
        failure.schedule = shorter.schedule;
        failure.trace = shorter.trace;
        // Two failures may come to the same.
        let same = |other: &Failure| other.kind == failure.kind && other.message == failure.message;
        if !self.report.failures.iter().any(same) {
            self.seen.push(failure.gist());
            self.report.failures.push(failure);
        }
    }

    /// Tries to make a deadlock of locks that were taken in different orders.
    fn confirm(&mut self, body: &(dyn Fn() + Sync), place: &'static Location<'static>) {
        for places in std::mem::take(&mut self.suspects) {
            let seed = self.checker.seed;
            let executions = self.context.with_exploration(|exploration| {
                let strategy = strategy::Holdback::new(places, seed);
                exploration.world().set_strategy(Box::new(strategy));
                exploration.executions() + exploration.discarded() + MAX_DIRECTED
            });
            let budget = Budget {
                executions,
                until: None,
            };
            if self.explore(body, place, &budget, "directed") {
                break;
            }
        }
    }

    /// A lock order to worry about in the execution that has just stopped. Locks are taken in much the
    /// same order in all executions, so that not all need be looked at.
    fn lock_order(&self) -> Option<LockOrder> {
        if self.checker.lock_order == Level::Allow {
            return None;
        }
        self.context.with_execution(|execution, executions| {
            let is_lock = |object: &&Object| matches!(object, Object::Mutex(_) | Object::RwLock(_));
            let due = executions <= LOOKED_AT || executions % LOOK_EVERY == 0;
            let locks = || execution.objects.iter().filter(is_lock);
            let reads = || locks().any(|object| matches!(object, Object::RwLock(_)));
            let worth = due && (locks().count() > 1 || reads());
            worth.then(|| lock_order::find(execution)).flatten()
        })
    }

    /// Messages that were left over in the execution that has just stopped.
    fn leak(&self) -> Option<Finding> {
        if self.checker.leaks == Level::Allow {
            return None;
        }
        self.context.with_exploration(|exploration| {
            let execution = exploration.execution();
            let is_port = |object: &Object| matches!(object, Object::Port(_));
            let worth = execution.objects.iter().any(is_port);
            if !worth || *exploration.ending() != Ending::Complete {
                return None;
            }
            let unreceived = leak::unreceived(execution);
            (!unreceived.is_empty()).then_some(Finding::Leak(unreceived))
        })
    }

    /// Adds something suspicious to the report; whether the check is over with it.
    #[cold]
    fn add_suspicion(&mut self, finding: &Finding, level: Level, name: &'static str) -> bool {
        if level == Level::Deny {
            return self.add_failure(finding, name);
        }
        let warning = self.named_failure(finding, name);
        let warnings = &mut self.report.warnings;
        let known = warnings
            .iter()
            .any(|other| other.message == warning.message);
        if !known && warnings.len() < MAX_FAILURES {
            warnings.push(warning);
            if let Finding::LockOrder(LockOrder::Circle(circle)) = finding {
                let places = circle.iter().map(|nested| nested.at);
                self.suspects.push(places.collect());
            }
        }
        false
    }

    fn named_failure(&self, finding: &Finding, name: &'static str) -> Failure {
        let mut failure = self.context.failure(finding);
        failure.search = match name {
            "random" => format!("random, seed {}", self.checker.seed),
            name => name.to_owned(),
        };
        failure
    }

    /// Adds a failure to the report; whether the check is over with it.
    #[cold]
    fn add_failure(&mut self, finding: &Finding, name: &'static str) -> bool {
        let failure = self.named_failure(finding, name);
        let key = failure.gist();
        let known = self.seen.contains(&key);
        if !known {
            self.seen.push(key);
            self.report.failures.push(failure);
            self.found = self.found(finding);
        }
        !self.checker.keep_going
            || matches!(finding, Finding::Nondeterminism(_))
            || self.report.failures.len() >= MAX_FAILURES
    }

    fn finish(self, name: Option<CheckName>, start: Instant) -> Report {
        let Worker {
            checker,
            context,
            mut report,
            ..
        } = self;
        context.with_exploration(|exploration| {
            report.executions = exploration.executions();
            report.discarded = exploration.discarded();
            let reduced = checker.reductions != Reductions::default();
            report.exhausted = exploration.exhausted() && !reduced;
            let guarantee = match checker.strategy {
                Strategy::Replay(_) => Guarantee::Replayed,
                _ if exploration.exhausted() && reduced => Guarantee::Reduced,
                _ if report.exhausted => Guarantee::Exhaustive,
                _ if reduced => Guarantee::Sampled,
                _ => match exploration.bounded() {
                    Some(Bound::Preemptions(preemptions)) => Guarantee::Bounded { preemptions },
                    Some(Bound::Delays(delays)) => Guarantee::Delayed { delays },
                    None => Guarantee::Sampled,
                },
            };
            report.set_classes(exploration.classes(), guarantee);
        });
        let dropped = context.dropped_stacks();
        let name = match &checker.strategy {
            Strategy::Replay(schedule) => schedule.check.clone(),
            _ => name,
        };
        for (index, failure) in report.failures.iter_mut().enumerate() {
            if dropped > 0 {
                failure.notes.push(dropped_note(dropped));
            }
            failure.schedule.check.clone_from(&name);
            if checker.replays() || failure.kind == FailureKind::Nondeterminism {
                continue;
            }
            // One file for a test: the failure shown first.
            if index == 0 {
                let saved = saved::save(&failure.schedule);
                failure.replay = Some(saved.replay);
                failure.notes.extend(saved.problem);
            } else {
                failure.replay = Some(saved::command(&failure.schedule));
            }
        }
        // What may be a deadlock one day is no news when one was found.
        let deadlock = |failure: &Failure| failure.kind == FailureKind::Deadlock;
        if report.failures.iter().any(deadlock) {
            report
                .warnings
                .retain(|warning| warning.kind != FailureKind::LockOrder);
        }
        if report.exhausted && report.executions == 1 && report.discarded == 0 {
            context.with_execution(|execution, _| {
                // The body begins and ends.
                if execution.events.len() == 2 {
                    report.set_nothing_to_explore();
                }
            });
        }
        report.elapsed = start.elapsed();
        report
    }
}

fn dropped_note(count: usize) -> String {
    let threads = if count == 1 {
        "thread was"
    } else {
        "threads were"
    };
    format!(
        "{count} {threads} left by dropping the stack without unwinding, because destructors or \
         `catch_unwind` kept them from ending; their memory is not given back"
    )
}

impl Context {
    /// What is wrong with the execution that is going on; nothing if the engine is in the middle of
    /// something.
    pub(crate) fn unfinished(&self, finding: &Finding) -> Option<Failure> {
        let exploration = self.try_exploration()?;
        let mut failure = Failure::new(finding, exploration.execution(), self);
        failure.execution = exploration.executions() + u64::from(!self.has_stopped());
        Some(failure)
    }

    fn failure(&self, finding: &Finding) -> Failure {
        self.with_execution(|execution, executions| {
            let mut failure = Failure::new(finding, execution, self);
            failure.execution = executions;
            failure
        })
    }
}

/// Looks at the time seldom enough not to cost anything, and often enough to be right within a
/// few milliseconds.
struct Clock {
    every: u32,
    left: u32,
    last: Instant,
}

impl Clock {
    fn new() -> Self {
        Clock {
            every: 1,
            left: 1,
            last: Instant::now(),
        }
    }

    fn is_past(&mut self, until: Option<Instant>) -> bool {
        let Some(until) = until else { return false };
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        let now = Instant::now();
        let took = now - self.last;
        self.last = now;
        if took < Duration::from_millis(1) {
            self.every = (self.every * 2).min(1 << 16);
        } else if took > Duration::from_millis(4) {
            self.every = (self.every / 2).max(1);
        }
        self.left = self.every;
        now >= until
    }
}
