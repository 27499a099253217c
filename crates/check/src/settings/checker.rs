//! What the user types to run a check.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use raddle_engine::coverage::Metrics;
use raddle_engine::strategy::Reductions;
use raddle_engine::{Exploration, Limits, Policy};

use crate::program::{Library, Program};
use crate::runtime::Context;
use crate::runtime::fatal::FatalReporter;
use crate::scheduler::{Scheduler, Schedulers};
use crate::settings::checkpoints::{Checkpoints, Every};
use crate::settings::environment;
use crate::settings::log::Log;
use crate::settings::options::{Classes, Level, Memory, Reduction, Strategy, UnknownName};
use crate::settings::samplers;

/// So many events an execution may have, if nothing else is said.
const MAX_EVENTS: usize = 1_000_000;
/// The same for searches, which keep more of each event.
pub(crate) const MAX_EVENTS_OF_A_SEARCH: usize = 100_000;

/// What has this name.
#[track_caller]
fn named<T: FromStr<Err = UnknownName>>(name: &str) -> T {
    name.parse()
        .unwrap_or_else(|error| panic!("raddle: {error}"))
}

#[track_caller]
fn time(text: &str) -> Duration {
    environment::duration(text).unwrap_or_else(|| {
        panic!("raddle: `{text}` is not a time; write it like 500ms, 20s, 2m or 1h")
    })
}

/// A check with its settings.
///
/// ```
/// use std::time::Duration;
///
/// let report = raddle::Checker::new()
///     .strategy(raddle::Strategy::Exhaustive)
///     .max_time(Duration::from_secs(5))
///     .run(|| {
///         let thread = raddle::thread::spawn(|| raddle::choose(0..3));
///         assert!(thread.join().unwrap() < 3);
///     });
/// report.assert_ok();
/// assert!(report.exhausted);
/// assert_eq!(report.classes(), 3);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a check does nothing before `run`"]
pub struct Checker {
    pub(crate) program: &'static dyn Program,
    pub(crate) strategy: Strategy,
    pub(crate) memory: Memory,
    /// Whether executions know what the source calls things.
    pub(crate) names_variables: bool,
    pub(crate) classes: Classes,
    pub(crate) max_executions: Option<u64>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) max_events: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) keep_going: bool,
    pub(crate) stack_size: usize,
    pub(crate) policy: Policy,
    pub(crate) reductions: Reductions,
    pub(crate) preemptions: Option<u32>,
    pub(crate) verify_completeness: bool,
    pub(crate) coverage: Metrics,
    pub(crate) lock_order: Level,
    pub(crate) shorten: bool,
    pub(crate) known_schedules: bool,
    pub(crate) leaks: Level,
    pub(crate) watchdog: Duration,
    pub(crate) workers: usize,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) name: Option<String>,
    pub(crate) only_estimate: bool,
    pub(crate) remember: bool,
    pub(crate) remember_in: Option<PathBuf>,
    pub(crate) log: Log,
    pub(crate) page: bool,
    pub(crate) report_in: Option<PathBuf>,
}

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}

impl Checker {
    /// The default settings: [`Strategy::Auto`] within 100,000 executions and 10 seconds, stopping
    /// at the first failure.
    pub fn new() -> Self {
        Checker {
            program: &Library,
            strategy: Strategy::default(),
            memory: Memory::default(),
            names_variables: false,
            classes: Classes::default(),
            max_executions: None,
            max_time: None,
            max_events: None,
            seed: 0,
            keep_going: false,
            stack_size: 256 * 1024,
            policy: Policy::default(),
            reductions: Reductions::default(),
            preemptions: None,
            verify_completeness: false,
            coverage: Metrics::NONE,
            lock_order: Level::default(),
            shorten: true,
            known_schedules: false,
            leaks: Level::default(),
            watchdog: Duration::from_secs(10),
            workers: 1,
            checkpoints: Checkpoints::default(),
            name: None,
            only_estimate: false,
            remember: false,
            remember_in: None,
            log: Log::default(),
            page: true,
            report_in: None,
        }
    }

    /// For front ends: the program under test, if it does not use raddle's types.
    #[doc(hidden)]
    pub fn of_program(mut self, program: &'static dyn Program) -> Self {
        self.program = program;
        self
    }

    /// How the next execution is chosen.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Makes a scheduler of your own choose the executions: `make` receives a seed and the number
    /// of the worker, from 0, and returns that worker's [`Scheduler`]. The seed differs between
    /// workers; the first has that of [`seed`](Self::seed).
    ///
    /// Of this and [`strategy`](Self::strategy) the last call counts. `RADDLE_STRATEGY` and
    /// `RADDLE_REPLAY` replace the scheduler, `RADDLE_SEED` sets its seed. The budget is that of
    /// sampling strategies: 100,000 executions and 10 seconds, or less if [`Scheduler::begin`] ends
    /// the check.
    pub fn scheduler<S: Scheduler + 'static>(
        self,
        make: impl Fn(u64, usize) -> S + Send + Sync + 'static,
    ) -> Self {
        self.strategy(Strategy::Scheduler(Schedulers::new(make)))
    }

    /// Which values a read may see.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Which executions are of one class; see [`Report::classes`](raddle_report::Report::classes). By default the order in which writes
    /// of a variable follow each other tells classes apart. With [`Classes::ReadsFrom`] it does not, where
    /// nobody observes it.
    ///
    /// This is about what is counted. To find out whether somebody observes an order the search must run
    /// it, so it takes as many executions to its end as without; classes that were seen are remembered, up
    /// to two million of them; and such a search cannot be interrupted and resumed.
    pub fn classes(mut self, classes: Classes) -> Self {
        self.classes = classes;
        self
    }

    /// At most this many executions. By default 100,000 for `Auto` and strategies that draw at random,
    /// and no limit for those that come to an end by themselves.
    pub fn max_executions(mut self, executions: u64) -> Self {
        self.max_executions = Some(executions);
        self
    }

    /// At most this long; the execution in progress is finished first. By default 10 seconds for
    /// `Auto` and strategies that draw at random, and no limit for those that come to an end by
    /// themselves.
    pub fn max_time(mut self, time: Duration) -> Self {
        self.max_time = Some(time);
        self
    }

    /// At most this many events in one execution; with more, nothing is known of the test. If this is not
    /// said, 1,000,000, and 100,000 for searches, which need more memory for each.
    pub fn max_events(mut self, events: usize) -> Self {
        self.max_events = Some(events);
        self
    }

    /// Where random choices start from (0 by default).
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Whether to collect distinct failures instead of stopping at the first.
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.keep_going = keep_going;
        self
    }

    /// Bytes of stack for every modelled thread (256 KiB by default).
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = bytes;
        self
    }

    /// Whether waiting on a condition variable may end without a notification, and parking without an
    /// `unpark` (they may by default, as in std): at most once for every thread of an execution, so
    /// that every search ends.
    pub fn spurious_wakeups(mut self, spurious_wakeups: bool) -> Self {
        self.policy.spurious_wakeups = spurious_wakeups;
        self
    }

    /// Whether the time of a wait with a timeout may run out (it may by default), at any point and
    /// however long it is.
    pub fn timeouts(mut self, timeouts: bool) -> Self {
        self.policy.timeouts = timeouts;
        self
    }

    /// Whether `compare_exchange_weak` may fail although the value is the expected one (it may by
    /// default, as in std): at most once for every thread of an execution, so that every search
    /// ends.
    pub fn weak_cas(mut self, weak_cas: bool) -> Self {
        self.policy.weak_cas = weak_cas;
        self
    }

    /// What becomes of locks that threads take in different orders, and of a thread that reads under
    /// an `RwLock` it reads under already, in executions that go well (a warning by default). Unless
    /// every class was run, a few more executions try to make a deadlock of different orders.
    pub fn lock_order(mut self, level: Level) -> Self {
        self.lock_order = level;
        self
    }

    /// Whether to measure coverage, or which metrics (nothing by default, but for
    /// [`Strategy::Coverage`]); see [`Report::coverage`](raddle_report::Report::coverage).
    ///
    /// ```
    /// use raddle::{Checker, Metric};
    ///
    /// let report = Checker::new().coverage(true).run(|| {
    ///     let lock = std::sync::Arc::new(raddle::sync::Mutex::new(0));
    ///     let other = lock.clone();
    ///     let thread = raddle::thread::spawn(move || *other.lock().unwrap() += 1);
    ///     *lock.lock().unwrap() += 1;
    ///     thread.join().unwrap();
    /// });
    /// // Each of the two came after the other.
    /// let pairs = report.coverage().counts(Metric::SyncPair);
    /// assert_eq!((pairs.covered, pairs.open()), (2, 0));
    /// ```
    pub fn coverage(mut self, metrics: impl Into<Metrics>) -> Self {
        self.coverage = metrics.into();
        self
    }

    /// What is measured.
    pub(crate) fn measured(&self) -> Metrics {
        match self.strategy {
            Strategy::Coverage { .. } if self.coverage.is_empty() => Metrics::USUAL,
            _ => self.coverage,
        }
    }

    /// Whether to look for the shortest execution that fails in the same way, the one with the fewest
    /// preemptions above all, and for two steps whose order decides (it is done by default). For a
    /// failure that runs the body less than a hundred times if the program is small, and up to some
    /// 10,000 times or 5 seconds if it is large; these runs count nowhere.
    pub fn shorten(mut self, shorten: bool) -> Self {
        self.shorten = shorten;
        self
    }

    /// What becomes of messages that are left in a `raddle::port::Port` when every thread has
    /// ended (a warning by default). Channels of `mpsc` are not looked at: who drops the receiver of
    /// one does not want the rest.
    pub fn leaks(mut self, level: Level) -> Self {
        self.leaks = level;
        self
    }

    /// How long a thread may run without coming to a scheduling point (10 seconds by default). After
    /// that the test hangs for a reason that raddle cannot see, such as a lock of std's taken twice or
    /// a loop that calls nothing controlled: the story so far is printed, its schedule saved, and the
    /// process ends with code 2. No time at all, [`Duration::ZERO`], turns it off.
    pub fn watchdog(mut self, time: Duration) -> Self {
        self.watchdog = time;
        self
    }

    /// How many OS threads run executions (1 by default, and for 0). Exhaustive searches share their
    /// work, and find the same classes as one worker does; random ones share the number of executions,
    /// each worker with random choices of its own. All other strategies use one.
    ///
    /// With several workers the body runs on several threads at the same time. Statics belong to each
    /// execution as ever, but what raddle does not control and executions share, such as a file or a
    /// std `Mutex` around a counter, is then shared by executions that run side by side; that is why
    /// nobody but you should ask for it. Which failure is found first is chance.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Where an exhaustive search is saved from time to time, and when it is interrupted; beside the
    /// schedules of the test by default, `target/raddle/BINARY/TEST.frontier`.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.checkpoints.path = Some(path.into());
        self
    }

    /// How long an exhaustive search runs between two checkpoints (10 seconds by default); no time at
    /// all, [`Duration::ZERO`], turns them off.
    pub fn checkpoint_every(mut self, time: Duration) -> Self {
        self.checkpoints.every = Every::Time(time);
        self
    }

    /// For raddle's own tests: a checkpoint after so many executions.
    #[doc(hidden)]
    pub fn checkpoint_every_executions(mut self, executions: u64) -> Self {
        self.checkpoints.every = Every::Executions(executions.max(1));
        self
    }

    /// Whether an exhaustive search goes on where it was interrupted, if it was (it starts anew by
    /// default). The program and the settings must be those that were interrupted; `max_time` and
    /// `max_executions` count from here, the report counts both parts.
    pub fn resume(mut self, resume: bool) -> Self {
        self.checkpoints.resume = resume;
        self
    }

    /// Whether the check remembers earlier runs (it does not by default): schedules that failed in any of
    /// them run first, classes they have run are not counted as new, what they covered is covered, and
    /// random choices are others than theirs. For checks that are too large for one run: each goes on
    /// where the last has stopped. Every execution is checked all the same.
    ///
    /// The memory is one file, `target/raddle/runs.redb`, in which a check has the name of its test; one
    /// without a name remembers nothing. Searches that come to an end by themselves
    /// ([`Strategy::Exhaustive`], for instance) remember failing schedules only.
    pub fn remember(mut self, remember: bool) -> Self {
        self.remember = remember;
        self
    }

    /// Remembers earlier runs in this file; see [`remember`](Self::remember).
    pub fn remember_in(mut self, path: impl Into<PathBuf>) -> Self {
        self.remember = true;
        self.remember_in = Some(path.into());
        self
    }

    /// Leaves out classes of an exhaustive search that [`Reduction`] describes; can be given several
    /// times. What is left out may have failures of its own, so the report promises
    /// [`Guarantee::Reduced`](raddle_report::Guarantee::Reduced) at most.
    pub fn reduce(mut self, reduction: Reduction) -> Self {
        match reduction {
            Reduction::Symmetry => self.reductions.symmetry = true,
            Reduction::Releases => self.reductions.releases = true,
        }
        self
    }

    /// Runs only classes that some order of their events runs with at most so many preemptions. A
    /// preemption is a switch from a thread that could have gone on; to switch from one that has ended,
    /// that must wait, or that has just yielded or slept is none.
    ///
    /// Most bugs need one or two, and there are far fewer such classes than there are all in all. With
    /// [`Strategy::Exhaustive`] and [`Strategy::Auto`] all of them are run, each once, and the report
    /// promises [`Guarantee::Bounded`](raddle_report::Guarantee::Bounded), or
    /// [`Guarantee::Exhaustive`](raddle_report::Guarantee::Exhaustive) if there are no others. With
    /// [`Strategy::Enumerate`] all schedules with so many preemptions are run. Other strategies do not
    /// look at it, nor does the part of `Auto` that is random.
    ///
    /// Where threads may see different things ([`Memory::Rc11`], and accesses weaker than `SeqCst`), a
    /// read may come late and be stale all the same, so that more classes need no preemption.
    pub fn preemptions(mut self, preemptions: u32) -> Self {
        self.preemptions = Some(preemptions);
        self
    }

    /// Whether to check the search itself (it is not done by default): when it has run every class, every
    /// schedule is run, without any reduction, and must have one of these classes. For small tests,
    /// because there are very many schedules; they are run for 10 seconds at most, or as long as
    /// [`max_time`](Self::max_time) and [`max_executions`](Self::max_executions) say.
    /// [`Report::completeness`](raddle_report::Report::completeness) says how far that went.
    ///
    /// With [`preemptions`](Self::preemptions), the schedules with so many preemptions are run.
    pub fn verify_completeness(mut self, verify: bool) -> Self {
        self.verify_completeness = verify;
        self
    }

    /// Whether schedules that have failed before run first: those in the folder
    /// `raddle-schedules/TEST` of the package, and the one that the last failure of the check saved.
    /// [`check`](crate::check) and `#[raddle::test]` do so; a `Checker` does the search it is asked for and nothing
    /// else unless it is told to.
    pub fn known_schedules(mut self, known_schedules: bool) -> Self {
        self.known_schedules = known_schedules;
        self
    }

    /// Whether a failure gets a page besides its story (it does by default):
    /// `target/raddle/BINARY/TEST/index.html`, beside its schedule. Only the first checks of a test have
    /// one, and checks without a name have none; see [`report_in`](Self::report_in).
    pub fn page(mut self, page: bool) -> Self {
        self.page = page;
        self
    }

    /// Writes a page about the check, failed or not, into this folder (or the one in `RADDLE_REPORT`):
    /// `BINARY/TEST/index.html`, its data as `report.json` beside it, and `index.html` for all checks
    /// that are there. A check without a name writes nothing.
    pub fn report_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.report_in = Some(folder.into());
        self
    }

    /// What to call the check in messages; the name of the running test by default.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// For `#[raddle::test]`: the strategy by its name.
    #[doc(hidden)]
    #[track_caller]
    pub fn strategy_named(self, name: &str) -> Self {
        self.strategy(named(name))
    }

    /// For `#[raddle::test]`: the memory model by its name.
    #[doc(hidden)]
    #[track_caller]
    pub fn memory_named(self, name: &str) -> Self {
        self.memory(named(name))
    }

    /// For `#[raddle::test]`: the kind of classes by its name.
    #[doc(hidden)]
    #[track_caller]
    pub fn classes_named(self, name: &str) -> Self {
        self.classes(named(name))
    }

    /// For `#[raddle::test]`: the level by its name.
    #[doc(hidden)]
    #[track_caller]
    pub fn lock_order_named(self, name: &str) -> Self {
        self.lock_order(named(name))
    }

    /// For `#[raddle::test]`: the level by its name.
    #[doc(hidden)]
    #[track_caller]
    pub fn leaks_named(self, name: &str) -> Self {
        self.leaks(named(name))
    }

    /// For `#[raddle::test]`: reductions by their names, with commas between them.
    #[doc(hidden)]
    #[track_caller]
    pub fn reduce_named(self, names: &str) -> Self {
        let reduce = |checker: Self, name: &str| checker.reduce(named(name.trim()));
        names.split(',').fold(self, reduce)
    }

    /// For `#[raddle::test]`: the time as text.
    #[doc(hidden)]
    #[track_caller]
    pub fn max_time_text(self, text: &str) -> Self {
        self.max_time(time(text))
    }

    /// For `#[raddle::test]`: the time as text.
    #[doc(hidden)]
    #[track_caller]
    pub fn watchdog_text(self, text: &str) -> Self {
        self.watchdog(time(text))
    }

    /// What one execution may do.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            max_events: self.max_events.unwrap_or(match &self.strategy {
                Strategy::Exhaustive
                | Strategy::Enumerate
                | Strategy::EnumeratePrivateFirst
                | Strategy::Delay { .. }
                | Strategy::Directed(_) => MAX_EVENTS_OF_A_SEARCH,
                _ => MAX_EVENTS,
            }),
            memory: self.memory.model(),
            policy: self.policy,
            reads_from: self.classes == Classes::ReadsFrom,
        }
    }

    /// A context for executions of the check; `fatal` reports one that ends the process.
    pub(crate) fn context(
        &self,
        exploration: Exploration,
        fatal: Arc<dyn FatalReporter>,
    ) -> Context {
        Context::new(exploration, self.program, self.stack_size, fatal)
    }

    /// Whether classes are left out that may not matter.
    pub(crate) fn is_reduced(&self) -> bool {
        self.reductions != Reductions::default()
    }

    /// Whether it follows one schedule.
    pub(crate) fn replays(&self) -> bool {
        matches!(self.strategy, Strategy::Replay(_))
    }

    /// Whether it looks for one execution that does what an alternative says.
    pub(crate) fn is_directed(&self) -> bool {
        matches!(self.strategy, Strategy::Directed(_))
    }

    #[track_caller]
    pub(crate) fn validate(&self) {
        if cfg!(panic = "abort") {
            panic!(
                "raddle: a check unwinds threads, so it cannot run with panic = \"abort\"; remove \
                 that from the profile the tests are built with"
            );
        }
        assert!(
            crate::runtime::current().is_none(),
            "raddle: a check was started inside a check; what runs inside one is controlled \
             already, so call the code to be tested directly"
        );
        if let Some(problem) = samplers::problem(&self.strategy) {
            panic!("raddle: {problem}");
        }
    }
}
