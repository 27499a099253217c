//! The table: a new setting is a new row here.
//!
//! A row of `checks` has the documentation and the parameter of its method of `Checker`, the field
//! of `Checker` that stores it and its initial value. The types are those of `raddle-check`, which
//! expands the rows into the struct, its methods and the parser of values. A row without a
//! parameter has no method. The first line of the documentation is the summary in the help of
//! `cargo raddle`, in the attribute and in the book.
//!
//! A row of `native` is a field of `Native`, which checks of programs that do not use raddle read
//! once.
//!
//! `is(..)` declares the option of the attribute by an example of its value, the environment
//! variable by its name, and the flag by its name and the placeholder of its value. `not(..)` has
//! the reason why there is none.

use crate::kind::{FromValue, Value};

/// Calls the given macro with every row.
#[doc(hidden)]
#[macro_export]
macro_rules! settings {
    ($($callback:tt)+) => { $($callback)+! {
        checks {
            /// Strategy that chooses the executions, such as `exhaustive` or `random`.
            strategy(Strategy): Strategy = Strategy::Auto;
            {
                kind: SettingKind::Strategy,
                option: is("\"exhaustive\""),
                variable: is("RADDLE_STRATEGY"),
                flag: is("strategy", "STRATEGY"),
                default: "`auto`",
                book: "`auto`, `exhaustive`, `random`, `pct` (depth 3) or `pct:2`, `pos`, `urw`, `surw`, `history`, `noise` (probability 0.1) or `noise:0.2`, `race-directed`, `atomicity-directed`, `deadlock-directed`, `enumerate`, `delay` (at most 2 delays) or `delay:3`, `coverage` or `coverage(METRIC)`, `directed: ALTERNATIVE` ([What if?](alternatives.md)), and in code `Replay(schedule)`; see [When the search is too large](samplers.md)",
            }

            /// Maximum number of executions.
            ///
            /// Every run of the program counts: those for estimates, those that repeat a known class, and those
            /// that `assume` discards. By default 100,000 for `Auto` and the random strategies; no limit for strategies that end by
            /// themselves, and none beside a [`max_time`](Self::max_time) of your own.
            max_executions(u64): Option<u64> = None;
            {
                kind: SettingKind::Number { from: 1, to: u64::MAX },
                option: is("50_000"),
                variable: is("RADDLE_MAX_EXECUTIONS"),
                flag: is("max-executions", "N"),
                default: "100,000 for `auto` and the random strategies without a `max_time` of your own, else no limit",
                book: "",
            }

            /// Time limit of the check.
            ///
            /// No execution begins after it, and one that does not end soon is cut at its next scheduling point, so
            /// that the limit is exceeded by a second of processor time at most, or by the length of one call that
            /// raddle does not control. A failure that was found is explained within the rest of the time. By
            /// default 10 seconds for `Auto` and the random strategies; no limit for strategies that end by
            /// themselves.
            max_time(Duration): Option<Duration> = None;
            {
                kind: SettingKind::Time { from: 1 },
                option: is("\"20s\""),
                variable: is("RADDLE_MAX_TIME"),
                flag: is("budget", "TIME"),
                default: "10 s for `auto` and the random strategies, else no limit",
                book: "",
            }

            /// Maximum number of events of one execution.
            ///
            /// An execution with more is a failure, because its end is unknown. By default
            /// 1,000,000, and 100,000 for systematic searches, which need more memory for each
            /// event.
            max_events(usize): Option<usize> = None;
            {
                kind: SettingKind::Number { from: 1, to: u64::MAX },
                option: is("100_000"),
                variable: is("RADDLE_MAX_EVENTS"),
                flag: is("max-events", "N"),
                default: "1,000,000; 100,000 for systematic searches",
                book: "an execution with more events is [too long](failures.md#kinds-of-failures)",
            }

            /// Guarantee that the check must reach; less is a failure.
            ///
            /// None by default: a check that found no failure passes whatever part of the behaviours it has run. The
            /// failure has the kind [`Requirement`](raddle_report::FailureKind::Requirement) and says how to reach more;
            /// [`Guarantee::satisfies`](raddle_report::Guarantee::satisfies) says which guarantees are enough. A check
            /// that replays a schedule, runs an alternative, or was interrupted is exempt.
            ///
            /// ```
            /// use raddle::{Checker, FailureKind, Guarantee, Strategy};
            ///
            /// let check = Checker::new().strategy(Strategy::Random).max_executions(100);
            /// let report = check.require(Guarantee::Exhaustive).run(|| {
            ///     let thread = raddle::thread::spawn(|| raddle::choose(0..3));
            ///     assert!(thread.join().unwrap() < 3);
            /// });
            /// assert_eq!(report.guarantee(), Guarantee::Sampled);
            /// assert_eq!(report.failures[0].kind, FailureKind::Requirement);
            /// ```
            require(Guarantee): Option<Guarantee> = None;
            {
                kind: SettingKind::Guarantee,
                option: is("\"exhaustive\""),
                variable: is("RADDLE_REQUIRE"),
                flag: is("require", "GUARANTEE"),
                default: "none",
                book: "see [Requiring a guarantee](promises.md#requiring-a-guarantee)",
            }

            /// Names of states that some execution must reach; otherwise the check fails.
            ///
            /// None by default. States are marked in the program with `raddle::reachable!` and `raddle::sometimes!`, and a name
            /// that no execution comes to is not reached. The failure has the kind
            /// [`Requirement`](raddle_report::FailureKind::Requirement). Several calls add up, and several names in one call
            /// have commas between them. A check that replays a schedule, runs an alternative, or was interrupted is exempt.
            ///
            /// ```
            /// use raddle::{Checker, FailureKind};
            ///
            /// let check = Checker::new().require_reached("both are there");
            /// let report = check.run(|| {
            ///     let thread = raddle::thread::spawn(|| raddle::choose(0..2));
            ///     let both = thread.join().unwrap() == 2;
            ///     raddle::sometimes!(both, "both are there");
            /// });
            /// assert_eq!(report.failures[0].kind, FailureKind::Requirement);
            /// ```
            require_reached(impl Into<String> as String): Names = Names::default();
            {
                kind: SettingKind::Names,
                option: is("\"queue was full\""),
                variable: not("a property of the test, not of the run"),
                flag: not("a property of the test, not of the run"),
                default: "none",
                book: "names of states with commas between them; see [Reached or not](reached.md)",
            }

            /// Seed of the random strategies.
            seed(u64): u64 = 0;
            {
                kind: SettingKind::Number { from: 0, to: u64::MAX },
                option: is("7"),
                variable: is("RADDLE_SEED"),
                flag: is("seed", "N"),
                default: "0",
                book: "",
            }

            /// Number of workers of a check: threads, or processes for native programs.
            ///
            /// 1 by default, and for 0. Workers of an exhaustive search share its classes and find those that one
            /// worker finds; workers of a random strategy share the number of executions, each with a seed of its
            /// own. All other strategies use one worker.
            ///
            /// With several workers the body runs on several threads at the same time. Statics
            /// belong to one execution each, as with one worker. Resources that raddle does not
            /// control, such as a file or a std `Mutex` around a counter, are shared by executions
            /// that run at the same time; that is why the default is 1. The first failure that is
            /// found may differ from run to run.
            workers(usize): NonZeroUsize = NonZeroUsize::MIN;
            {
                kind: SettingKind::Number { from: 1, to: 1024 },
                option: is("2"),
                variable: is("RADDLE_WORKERS"),
                flag: is("workers", "N"),
                default: "1",
                book: "see [Several workers](promises.md#several-workers)",
            }

            /// File in which an exhaustive search is saved at intervals and when it is interrupted.
            ///
            /// By default it is beside the schedules of the test, `target/raddle/BINARY/TEST.frontier`.
            checkpoint(impl Into<PathBuf> as PathBuf): Option<PathBuf> = None;
            {
                kind: SettingKind::Path,
                option: not("the path is computed by code"),
                variable: not("checks of one run need different files"),
                flag: not("checks of one run need different files"),
                default: "`target/raddle/BINARY/TEST.frontier`",
                book: "see [Interrupted searches](promises.md#interrupted-searches)",
            }

            /// Time between two checkpoints of an exhaustive search; no time turns them off.
            ///
            /// 10 seconds by default; [`Duration::ZERO`] turns them off.
            checkpoint_every(Duration): Every = Every::default();
            {
                kind: SettingKind::Time { from: 0 },
                option: not("a property of the run, not of the test"),
                variable: is("RADDLE_CHECKPOINT"),
                flag: not("the default suits every terminal"),
                default: "10 s",
                book: "",
            }

            /// Whether to resume interrupted exhaustive searches.
            ///
            /// By default a search starts from the beginning. The program and the settings must be
            /// those of the interrupted search; `max_time` and `max_executions` count from here,
            /// the report counts both parts.
            resume(bool): bool = false;
            {
                kind: SettingKind::Switch,
                option: not("a property of the run, not of the test"),
                variable: is("RADDLE_RESUME"),
                flag: is("resume", ""),
                default: "`false`",
                book: "see [Interrupted searches](promises.md#interrupted-searches)",
            }

            /// Whether to continue from earlier runs, reusing their recorded executions and coverage.
            ///
            /// Off by default. Schedules that failed in any earlier run are replayed first. Classes
            /// of earlier runs are not counted as new, their coverage is kept, and random choices
            /// differ from theirs. This is for checks that are too large for one run: each
            /// continues where the last one stopped. Every execution is checked nevertheless.
            ///
            /// The record is one file, `target/raddle/runs.redb`, in which a check has the name of its test; a check
            /// without a name is not recorded. Strategies that end by themselves ([`Strategy::Exhaustive`], for
            /// instance) record failing schedules only.
            remember(bool): bool = false;
            {
                kind: SettingKind::Switch,
                option: is("true"),
                variable: is("RADDLE_REMEMBER"),
                flag: is("remember", ""),
                default: "`false`",
                book: "see [Remembering earlier runs](between-runs.md)",
            }

            /// File that records earlier runs; turns `remember` on.
            ///
            /// See [`remember`](Self::remember).
            remember_in(impl Into<PathBuf> as PathBuf): Option<PathBuf> = None, then remember = true;
            {
                kind: SettingKind::Path,
                option: not("the path is computed by code"),
                variable: not("`RADDLE_DIR` moves the default file"),
                flag: not("`RADDLE_DIR` moves the default file"),
                default: "`target/raddle/runs.redb`",
                book: "",
            }

            /// Directory for an HTML page about each check and an index of all pages.
            ///
            /// Every check writes `BINARY/TEST/index.html`, its data as `report.json` beside it, and the `index.html`
            /// of all checks in the directory, whether it fails or not. A check without a name writes nothing.
            report_in(impl Into<PathBuf> as PathBuf): Option<PathBuf> = None;
            {
                kind: SettingKind::Path,
                option: not("a property of the run, not of the test"),
                variable: is("RADDLE_REPORT"),
                flag: is("report", "DIR"),
                default: "none",
                book: "see [A page for every check](report.md#a-page-for-every-check)",
            }

            /// Whether to collect distinct failures instead of stopping at the first.
            ///
            /// Off by default. `assert_ok` panics with the first of them and says how many there are; JSON, JUnit files
            /// and pages have all. After a data race of plain accesses in a native program, these accesses become
            /// scheduling points, so that failures are found that the race leads to.
            keep_going(bool): bool = false;
            {
                kind: SettingKind::Switch,
                option: is("true"),
                variable: is("RADDLE_KEEP_GOING"),
                flag: is("keep-going", ""),
                default: "`false`",
                book: "in native programs also what a [data race](native.md#races) leads to",
            }

            /// Whether to explore spurious wake-ups of `Condvar` and `park`.
            ///
            /// On by default, as in std: at most one for each thread of an execution, so that every search ends.
            spurious_wakeups(bool): bool = true;
            {
                kind: SettingKind::Switch,
                option: is("false"),
                variable: not("it changes which program is checked"),
                flag: not("it changes which program is checked"),
                default: "`true`",
                book: "at most one for each thread of an execution",
            }

            /// Whether to explore expiring timeouts.
            ///
            /// On by default: a wait with a timeout may expire at any point, however long the timeout is.
            timeouts(bool): bool = true;
            {
                kind: SettingKind::Switch,
                option: is("false"),
                variable: not("it changes which program is checked"),
                flag: not("it changes which program is checked"),
                default: "`true`",
                book: "",
            }

            /// Whether to explore spurious failures of `compare_exchange_weak`.
            ///
            /// On by default, as in std: at most one for each thread of an execution, so that every search ends.
            weak_cas(bool): bool = true;
            {
                kind: SettingKind::Switch,
                option: is("false"),
                variable: not("it changes which program is checked"),
                flag: not("it changes which program is checked"),
                default: "`true`",
                book: "at most one for each thread of an execution",
            }

            /// Whether memory that a thread has freed is what its next allocation of that size gets.
            ///
            /// Off by default: no memory is used twice within an execution. It needs the allocator
            /// `raddle::alloc::Quarantine` and `Memory::Sc`, and applies to blocks of up to a
            /// kilobyte. With it, a check finds the ABA problem: a compare-exchange that takes a
            /// new node for the old one at the same address. Such a check never guarantees that
            /// every behaviour was run, because the reuse of memory is not an event of the search.
            reuse_memory(bool): bool = false;
            {
                kind: SettingKind::Switch,
                option: is("true"),
                variable: not("it changes which program is checked"),
                flag: not("it changes which program is checked"),
                default: "`false`",
                book: "the ABA problem; with the allocator `Quarantine`",
            }

            /// Whether a waiting writer may keep out a thread that reads under the same `RwLock` already.
            ///
            /// On by default, as std leaves it open: a second `read` of a thread may wait behind the writer, which
            /// waits for the thread. Systems differ, and the documentation of std warns of this deadlock.
            waiting_writers(bool): bool = true;
            {
                kind: SettingKind::Switch,
                option: is("false"),
                variable: not("it changes which program is checked"),
                flag: not("it changes which program is checked"),
                default: "`true`",
                book: "a second `read` of the thread then waits for ever, as on some systems",
            }

            /// Level of locks that are acquired in different orders.
            ///
            /// A warning by default. It is also the level of a thread that acquires an `RwLock` for reading twice.
            /// Only executions that succeed are examined. Unless every class was run, a few more executions try to
            /// turn different orders into a deadlock.
            lock_order(Level): Level = Level::Warn;
            {
                kind: SettingKind::Choice(&["allow", "warn", "deny"]),
                option: is("\"deny\""),
                variable: not("a property of the test, not of the run"),
                flag: not("a property of the test, not of the run"),
                default: "`warn`",
                book: "also of reading twice under one `RwLock`; nothing, a warning or a failure",
            }

            /// Level of data races that are predicted and not confirmed.
            ///
            /// Off by default. With `warn` or `deny`, the first executions of a check predict races: two accesses of one
            /// cell, one of them a write, that no common lock protects and that only locks order in this execution. More
            /// executions then try to make both at once, and count as runs. A race that one of them has is a failure of the
            /// check; one that none of them has is reported at this level, with the reason. A search that runs every class
            /// needs no predictions of data races, and reports none.
            ///
            /// Races in blocks that [`atomic_block!`](https://docs.rs/raddle/latest/raddle/macro.atomic_block.html) declares, and
            /// of variables that [`data_set!`](https://docs.rs/raddle/latest/raddle/macro.data_set.html) declares to belong
            /// together, are predicted, too, and confirmed by an execution that fails or gives the blocks values
            /// that no serial order has.
            predictions(Level): Level = Level::Allow;
            {
                kind: SettingKind::Choice(&["allow", "warn", "deny"]),
                option: is("\"warn\""),
                variable: is("RADDLE_PREDICTIONS"),
                flag: is("predictions", "LEVEL"),
                default: "`allow`",
                book: "see [Predicted races](predictions.md); a race that an execution confirms is a failure at any other level",
            }

            /// File with a partial trace of a failure; only the classes that are consistent with it are run.
            ///
            /// The check runs every class of executions that may be the one that failed, until one fails or none is
            /// left. Settings of the search, such as the strategy, and earlier schedules have no effect then, and nothing
            /// but the execution itself is a failure.
            consistent_with(impl Into<PathBuf> as PathBuf): Option<PathBuf> = None;
            {
                kind: SettingKind::Path,
                option: not("a property of the run, not of the test"),
                variable: is("RADDLE_CONSISTENT_WITH"),
                flag: is("consistent-with", "FILE"),
                default: "none",
                book: "see [Total replay](total-replay.md)",
            }

            /// Whether to list the branches that interleaving decides.
            ///
            /// Off by default. Every execution is recorded, one worker runs the check, and unless the strategy runs every
            /// class, directed executions come first: one for each source of a receive that no execution had. See
            /// [`Report::branches`](raddle_report::Report::branches).
            ///
            /// ```
            /// use raddle::sync::Arc;
            /// use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
            ///
            /// let report = raddle::Checker::new().branches(true).run(|| {
            ///     let ready = Arc::new(AtomicBool::new(false));
            ///     let count = AtomicU32::new(0);
            ///     let other = ready.clone();
            ///     let thread = raddle::thread::spawn(move || other.store(true, SeqCst));
            ///     if ready.load(SeqCst) {
            ///         count.store(1, SeqCst);
            ///     }
            ///     thread.join().unwrap();
            /// });
            /// let branches = report.branches();
            /// assert_eq!(branches.branches.len(), 1);
            /// assert_eq!(branches.branches[0].after.what, "load ready");
            /// ```
            branches(bool): bool = false;
            {
                kind: SettingKind::Switch,
                option: is("true"),
                variable: is("RADDLE_BRANCHES"),
                flag: is("branches", ""),
                default: "`false`",
                book: "see [Branches](branches.md); they are printed with the result of the test",
            }

            /// Parameters of the kinds of race that `predictions` looks for, such as `happens-before`.
            ///
            /// Words with commas between them: the order that synchronization makes (`lockset`, `happens-before` or `timestamp`),
            /// the accesses that conflict (`view`, `writes` or `reads`), the blocks (`declared-blocks` or
            /// `critical-sections`), and the variables that belong together (`used-together` or `declared-sets`). The
            /// first word of each is the default.
            race_model(RaceModel): RaceModel = RaceModel::default();
            {
                kind: SettingKind::List(&[
                    "lockset", "happens-before", "timestamp", "view", "writes", "reads", "declared-blocks",
                    "critical-sections", "used-together", "declared-sets",
                ]),
                option: is("\"happens-before\""),
                variable: is("RADDLE_RACE_MODEL"),
                flag: is("race-model", "WORDS"),
                default: "`lockset,view,declared-blocks,used-together`",
                book: "see [Kinds of race](race-classes.md#parameters); without `predictions` it has no effect",
            }

            /// Level of messages that are never received and values that are never dropped.
            ///
            /// A warning by default. Messages left in a `raddle::port::Port` when every thread has ended count.
            /// Channels of `mpsc` do not: dropping a receiver discards its messages on purpose. Values are those
            /// of a `TrackedArc` that an execution has made, and has not dropped before its end or with its statics.
            leaks(Level): Level = Level::Warn;
            {
                kind: SettingKind::Choice(&["allow", "warn", "deny"]),
                option: is("\"deny\""),
                variable: not("a property of the test, not of the run"),
                flag: not("a property of the test, not of the run"),
                default: "`warn`",
                book: "messages left in a port, and values of a `TrackedArc` that outlive the execution",
            }

            /// Whether to measure coverage, or the metrics to measure.
            ///
            /// Off by default, except for [`Strategy::Coverage`]; see
            /// [`Report::coverage`](raddle_report::Report::coverage).
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
            coverage(impl Into<Metrics> as Metrics): Metrics = Metrics::NONE;
            {
                kind: SettingKind::Metrics,
                option: is("true"),
                variable: is("RADDLE_COVERAGE"),
                flag: not("`cargo raddle coverage` shows what was recorded"),
                default: "off; on for the strategy `coverage`",
                book: "see [Coverage](coverage.md); it is printed with the result of the test",
            }

            /// Whether to minimise the schedule of a failure.
            ///
            /// On by default: the check searches for the shortest execution that fails in the same
            /// way, with the fewest preemptions above all, and for two steps whose order decides. A
            /// small program is run less than a hundred times for a failure, a large one up to some
            /// 10,000 times or 5 seconds; the report does not count these runs.
            shorten(bool): bool = true;
            {
                kind: SettingKind::Switch,
                option: is("false"),
                variable: not("a property of the test, not of the run"),
                flag: not("a property of the test, not of the run"),
                default: "`true`",
                book: "see [the shortest story](failures.md#the-shortest-story)",
            }

            /// Whether to write an HTML page for a failure.
            ///
            /// On by default: `target/raddle/BINARY/TEST/index.html`, beside the schedule. Only the first checks of a
            /// test have one, and checks without a name have none; see [`report_in`](Self::report_in).
            page(bool): bool = true;
            {
                kind: SettingKind::Switch,
                option: is("false"),
                variable: not("a property of the test, not of the run"),
                flag: not("a property of the test, not of the run"),
                default: "`true`",
                book: "see [The report](report.md)",
            }

            /// Maximum time of a thread without a scheduling point; no time turns the watchdog off.
            ///
            /// 10 seconds by default. After that the test hangs for a reason that raddle cannot
            /// observe, such as a std lock acquired twice or a loop that calls nothing controlled.
            /// The execution is printed, its schedule saved, and the process ends with code 2.
            /// [`Duration::ZERO`] turns the watchdog off.
            watchdog(Duration): Duration = Duration::from_secs(10);
            {
                kind: SettingKind::Time { from: 0 },
                option: is("\"30s\""),
                variable: is("RADDLE_WATCHDOG"),
                flag: not("a property of the test, not of the run"),
                default: "10 s",
                book: "a thread that exceeds it ends the process with code 2",
            }

            /// Reductions of an exhaustive search.
            ///
            /// Leaves out the classes that [`Reduction`] describes; several calls add up. A class that is left out
            /// may have failures of its own, so the report promises
            /// [`Guarantee::Reduced`](raddle_report::Guarantee::Reduced) at most, or
            /// [`Guarantee::Paths`](raddle_report::Guarantee::Paths) with [`Reduction::Paths`] alone, or
            /// [`Guarantee::Manners`](raddle_report::Guarantee::Manners) with [`Reduction::Manners`] alone.
            reduce(Reduction): Reductions = Reductions::default();
            {
                kind: SettingKind::List(&["symmetry", "releases", "paths", "manners"]),
                option: is("\"symmetry\""),
                variable: is("RADDLE_REDUCE"),
                flag: is("reduce", "NAMES"),
                default: "none",
                book: "see [Reductions](promises.md#reductions)",
            }

            /// Maximum number of preemptions of the classes that are explored.
            ///
            /// Explores only classes that have a linearization with at most this number of preemptions. A
            /// preemption is a switch from a thread that could have continued; a switch from one that has ended,
            /// that is blocked, or that has just yielded or slept is none.
            ///
            /// Most bugs need one or two, and few of all classes need no more. With [`Strategy::Exhaustive`] and
            /// [`Strategy::Auto`] each of them is run once, and the report promises
            /// [`Guarantee::Bounded`](raddle_report::Guarantee::Bounded), or
            /// [`Guarantee::Exhaustive`](raddle_report::Guarantee::Exhaustive) if there are no others. With
            /// [`Strategy::Enumerate`] all schedules within the bound are run. Other strategies ignore the bound, and
            /// so does the random part of `Auto`.
            ///
            /// Under [`Memory::Rc11`], a read weaker than `SeqCst` may be scheduled late and still
            /// be stale, so that more classes need no preemption.
            preemptions(u32): Option<u32> = None;
            {
                kind: SettingKind::Number { from: 0, to: u32::MAX as u64 },
                option: is("2"),
                variable: not("it changes what the check guarantees"),
                flag: not("it changes what the check guarantees"),
                default: "no bound",
                book: "see [Bounds](promises.md#bounds)",
            }

            /// Whether to enumerate every schedule as well, and compare the classes.
            ///
            /// Off by default. When the search has run every class, every schedule is run without any reduction and
            /// must belong to one of these classes. This is for small tests, because there are very many schedules;
            /// the enumeration takes 10 seconds at most, or the limits of [`max_time`](Self::max_time) and
            /// [`max_executions`](Self::max_executions).
            /// [`Report::completeness`](raddle_report::Report::completeness) has its result.
            ///
            /// With [`preemptions`](Self::preemptions), the schedules within the bound are run.
            verify_completeness(bool): bool = false;
            {
                kind: SettingKind::Switch,
                option: is("true"),
                variable: not("it takes too long for most tests"),
                flag: not("it takes too long for most tests"),
                default: "`false`",
                book: "see [Checking the search](promises.md#checking-the-search)",
            }

            /// Bytes of stack of each thread of the test.
            ///
            /// 256 KiB by default.
            stack_size(usize): usize = 256 * 1024;
            {
                kind: SettingKind::Size { to: 1 << 40 },
                option: is("256 * 1024"),
                variable: not("a property of the test, not of the run"),
                flag: not("a property of the test, not of the run"),
                default: "256 KiB",
                book: "",
            }

            /// Equivalence of executions that defines a class.
            ///
            /// By default executions with different coherence orders of a variable are of different classes; see
            /// [`Report::classes`](raddle_report::Report::classes). With [`Classes::ReadsFrom`] they are of one class
            /// where no read observes the order.
            ///
            /// This only changes the number of classes. To decide whether a read observes an order the search must
            /// run it, so it needs as many executions as without; it records up to two million classes; and such
            /// a search cannot be interrupted and resumed.
            classes(Classes): Classes = Classes::ReadsFromAndCoherence;
            {
                kind: SettingKind::Choice(&["reads-from", "reads-from-and-coherence"]),
                option: is("\"reads-from\""),
                variable: not("it changes what the numbers of the test mean"),
                flag: not("it changes what the numbers of the test mean"),
                default: "`reads-from-and-coherence`",
                book: "`reads-from` ignores coherence orders that no read observes",
            }

            /// Memory model of atomics.
            memory(Memory): Memory = Memory::Rc11;
            {
                kind: SettingKind::Choice(&["sc", "rc11", "rc11-paper"]),
                option: is("\"rc11\""),
                variable: not("the variable is for programs that cannot choose it in code"),
                flag: not("the flag is for programs that cannot choose it in code"),
                default: "`rc11`",
                book: "`sc`, `rc11` or `rc11-paper`, see [weak memory](memory.md)",
            }

            /// Whether to replay the schedules of earlier failures first.
            ///
            /// These are the schedules in the directory `raddle-schedules/TEST` of the package, and
            /// the one that the last failure of the check saved. On for [`check`](crate::check) and
            /// `#[raddle::test]`, off for a `Checker`, which runs only the requested search.
            known_schedules(bool): bool = false;
            {
                kind: SettingKind::Switch,
                option: is("false"),
                variable: not("a property of the test, not of the run"),
                flag: not("a property of the test, not of the run"),
                default: "`false`; `true` for `check` and the attribute",
                book: "see [Replaying a failure](replaying.md#the-next-run)",
            }

            /// Name of the check in messages and in files.
            ///
            /// The name of the running test by default.
            named(impl Into<String> as String): Option<String> = None;
            {
                kind: SettingKind::Name,
                option: not("the name is that of the function"),
                variable: not("checks of one run need different names"),
                flag: not("checks of one run need different names"),
                default: "the name of the test",
                book: "it is in the `replay:` line",
            }

            /// Schedule to replay in the check that it belongs to.
            replay: Option<Schedule> = None;
            {
                kind: SettingKind::Schedule,
                option: not("`Strategy::Replay` is for code"),
                variable: is("RADDLE_REPLAY"),
                flag: not("a schedule belongs to one check: `cargo raddle replay TEST`, `cargo raddle run --replay`"),
                default: "none",
                book: "it takes precedence over `RADDLE_STRATEGY`",
            }

            /// Changes of single operations: the program runs as if its source were different.
            mutant: Mutant = Mutant::None;
            {
                kind: SettingKind::Mutant,
                option: not("`cargo raddle mutants` and `cargo raddle orderings` set it"),
                variable: is("RADDLE_MUTANT"),
                flag: not("`cargo raddle mutants` and `cargo raddle orderings` set it"),
                default: "none",
                book: "`FILE:LINE:COLUMN OPERATION CHANGE`, as `mutant` in the lines of `cargo raddle mutants --list --json`; several with `;` between them. See [Mutants](mutants.md)",
            }

            /// File that describes an earlier version of the program; the search prefers what differs from it.
            since: Option<PathBuf> = None;
            {
                kind: SettingKind::Path,
                option: not("`cargo raddle test --since` sets it"),
                variable: is("RADDLE_SINCE"),
                flag: not("`cargo raddle test --since` sets it"),
                default: "none",
                book: "see [Since a change](since.md)",
            }

            /// Output of progress: lines, or nothing even on a terminal.
            log: Log = Log::default();
            {
                kind: SettingKind::Choice(&["progress", "off"]),
                option: not("a property of the run, not of the test"),
                variable: is("RADDLE_LOG"),
                flag: not("`cargo raddle` prints the progress of all tests"),
                default: "a line that changes, on a terminal",
                book: "",
            }
        }
        native {
            /// Memory model of atomics: sequential consistency, or RC11 as in Rust and C.
            memory: MemoryModel;
            {
                kind: SettingKind::Choice(MemoryModel::NAMES),
                variable: "RADDLE_MEMORY",
                flag: is("memory", "MODEL"),
                default: "`sc`",
                book: "see [weak memory](memory.md)",
            }

            /// Racing plain accesses: failures, scheduling points once a race is found, or from the start.
            plain: Plain;
            {
                kind: SettingKind::Choice(Plain::NAMES),
                variable: "RADDLE_PLAIN",
                flag: is("plain", "MODE"),
                default: "`race`",
                book: "see [Races](native.md#races)",
            }

            /// Implementation of threads: coroutines, or OS threads, which are slower.
            substrate: Substrate;
            {
                kind: SettingKind::Choice(Substrate::NAMES),
                variable: "RADDLE_SUBSTRATE",
                flag: is("substrate", "SUBSTRATE"),
                default: "`coroutine`, if it works on the machine",
                book: "see [where threads run](native.md#where-threads-run)",
            }

            /// State at the start of each execution: a snapshot, a forked process, or what the last one left.
            restart: Restart;
            {
                kind: SettingKind::Choice(Restart::NAMES),
                variable: "RADDLE_RESTART",
                flag: is("restart", "RESTART"),
                default: "`snapshot`",
                book: "see [how executions begin anew](native.md#how-executions-begin-anew)",
            }

            /// Whether to report reads of memory that nothing has written: blocks of `malloc`, and variables.
            uninitialised: bool;
            {
                kind: SettingKind::Switch,
                variable: "RADDLE_UNINITIALISED",
                flag: is("uninitialised", ""),
                default: "`false`",
                book: "see [Uninitialised memory](native.md#uninitialised-memory)",
            }

            /// Maximum number of bytes from `malloc` in an execution.
            heap: u64;
            {
                kind: SettingKind::Size { to: 4 << 30 },
                variable: "RADDLE_HEAP",
                flag: not("the message about a full heap names the variable"),
                default: "1G",
                book: "",
            }

            /// Reference counts of `Arc` in Rust programs: operations from the start.
            arc: ArcCounts;
            {
                kind: SettingKind::Choice(ArcCounts::NAMES),
                variable: "RADDLE_ARC",
                flag: not("raddle begins again with it when counts matter"),
                default: "operations once their order matters",
                book: "see [What is a step](native-rust.md#what-is-a-step)",
            }

            /// Library whose locks are replaced by a model: fewer steps, but its own code is not checked.
            model: ModelledLibrary;
            {
                kind: SettingKind::Choice(ModelledLibrary::NAMES),
                variable: "RADDLE_MODEL",
                flag: is("model", "CRATE"),
                default: "none",
                book: "see [Models in place of code](native-rust.md#models-in-place-of-code)",
            }
        }
    }};
}

macro_rules! choices {
    ($($(#[$doc:meta])* $type:ident {$($(#[$choice_doc:meta])* $choice:ident = $name:literal,)*})*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$choice_doc])* $choice,)*
        }

        impl $type {
            /// The names of all values.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name of the value.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$choice => $name,)*
                }
            }
        }

        impl FromValue for $type {
            fn from_value(value: Value<'_>) -> Self {
                match value {
                    $(Value::Text($name) => $type::$choice,)*
                    other => unreachable!("the kind allows more than the names: {other:?}"),
                }
            }
        }
    )*};
}

choices! {
    /// Memory model of a native program.
    MemoryModel {
        /// Sequential consistency.
        Sc = "sc",
        /// RC11, with the order of `SeqCst` of C++20.
        Rc11 = "rc11",
        /// RC11 as it was published.
        Rc11Paper = "rc11-paper",
    }

    /// Treatment of plain accesses in a native program.
    Plain {
        /// A race is a failure.
        Race = "race",
        /// Accesses of memory that was raced for become operations.
        Promote = "promote",
        /// Accesses of all shared memory are operations.
        Explore = "explore",
    }

    /// Implementation of the threads of a native program.
    Substrate {
        /// Coroutines of one OS thread.
        Coroutine = "coroutine",
        /// OS threads.
        Os = "os",
    }

    /// Method by which each execution of a native program begins with the same state.
    Restart {
        /// Memory is restored from a snapshot.
        Snapshot = "snapshot",
        /// Every execution is a process of its own.
        Fork = "fork",
        /// Nothing is restored.
        Loop = "loop",
    }

    /// Treatment of the reference counts of `Arc` in a native program.
    ArcCounts {
        /// Counts are operations.
        Counted = "counted",
    }

    /// A library that a native program may use as a model.
    ModelledLibrary {
        /// The crate parking_lot.
        ParkingLot = "parking_lot",
    }
}

/// Environment variables that are not settings of a check, with their meaning in the words of the book.
pub const OTHER_VARIABLES: &[(&str, &str)] = &[
    (
        "RADDLE_DIR",
        "directory in which schedules and pages of failures are saved; `target/raddle` by default",
    ),
    (
        "RADDLE_EVENTS",
        "file to which checks append their events, as [lines of JSON](programs.md#lines-of-json)",
    ),
    (
        "RADDLE_QUEUE",
        "address of the [queue](many-machines.md) of `cargo raddle work`, `queue` and `test --queue`",
    ),
    (
        "RADDLE_SHARED_SEARCH",
        "socket by which a check gets parts of a search that several machines share; set by `cargo raddle test --queue` and `work`",
    ),
    (
        "RADDLE_NATIVE",
        "part of a native program that is checked: `program` for `main`, `test` for a test of a Rust crate; set by `cargo raddle run` and `test --native`",
    ),
    (
        "RADDLE_PARENT",
        "process whose end also ends the check of a native program; set by `cargo raddle run`",
    ),
    (
        "RADDLE_TRACE",
        "file for every event of every execution of a native program, one per line",
    ),
    (
        "RADDLE_SHADOW",
        "for tests of raddle itself: `off` passes every plain access of a native program to the engine, which is slow and must change nothing",
    ),
    (
        "RADDLE_SELF_TEST",
        "for tests of raddle itself: `fail` makes the self-test of coroutines fail, `fingerprints:FILE` writes a sum over the classes of each search",
    ),
    (
        "RADDLE_CC",
        "C compiler of `cargo raddle cc`; `gcc` by default",
    ),
    (
        "RADDLE_CXX",
        "C++ compiler of `cargo raddle c++`; `g++` by default",
    ),
    (
        "RADDLE_STD",
        "`plain`: the library of `cargo raddle setup --std` is not used although it exists; `instrumented`: a line is printed if it is missing",
    ),
    (
        "RADDLE_LIBRARY",
        "path of `libraddle_native.so` for `cargo raddle run`, `cc`, `c++` and `test --native`; beside `cargo-raddle` by default",
    ),
    (
        "OMP_NUM_THREADS",
        "number of threads of an [OpenMP](native.md#openmp) team in a native program; 2 by default",
    ),
];
