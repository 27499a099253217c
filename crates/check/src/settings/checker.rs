//! `Checker`: the settings of a check, one field and one method for each row of the table.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_engine::behaviour::judge::NamedProperty;
use raddle_engine::coverage::{Metric, Metrics};
use raddle_engine::partial::PartialTrace;
use raddle_engine::race_kinds::RaceModel;
use raddle_engine::strategy::Reductions;
use raddle_engine::strategy::Sampler;
use raddle_engine::{Exploration, Limits, Policy, Schedule};
use raddle_report::Guarantee;
use raddle_settings::{Scope, Setting};

use crate::program::{Library, Program};
use crate::runtime::Context;
use crate::runtime::deadline::Deadline;
use crate::runtime::fatal::FatalReporter;
use crate::scheduler::{Scheduler, Schedulers};
use crate::settings::checkpoints::Every;
use crate::settings::fields::{FromValue, Keep, Names};
use crate::settings::log::Log;
use crate::settings::mutant::Mutant;
use crate::settings::options::{Classes, Level, Memory, Reduction, Strategy};

/// Maximum number of events of an execution, unless `max_events` is set.
const MAX_EVENTS: usize = 1_000_000;
/// Maximum number of events of an execution in systematic searches, which need more memory for each
/// event.
pub(crate) const MAX_EVENTS_OF_A_SEARCH: usize = 100_000;

/// A check of several searches, which have one time limit and one limit of executions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeCheck {
    /// Its beginning.
    pub(crate) start: Instant,
    /// Runs of the program before this search.
    pub(crate) runs: u64,
    /// Its deadline, if that does not follow from the settings.
    pub(crate) deadline: Option<Deadline>,
}

/// A partial trace of a failure.
#[derive(Clone, Debug)]
pub(crate) struct TotalReplay {
    pub(crate) trace: Arc<PartialTrace>,
    /// False to run every class and to compare it afterwards.
    pub(crate) prunes: bool,
}

/// Expands to the method of a row; to nothing if the row has no parameter.
macro_rules! method {
    ($docs:tt $name:ident [] $then:tt) => {};
    ([$($doc:tt)*] $name:ident [$argument:ty $(as $value:ty)?] [$($other:ident = $then:expr)?]) => {
        $($doc)*
        pub fn $name(mut self, value: $argument) -> Self {
            $(let value: $value = value.into();)?
            self.$name.keep(value);
            $(self.$other = $then;)?
            self
        }
    };
}

macro_rules! checker {
    (
        checks {$(
            $(#[doc = $doc:literal])+
            $name:ident $(($argument:ty $(as $value:ty)?))?: $field:ty = $initial:expr
                $(, then $other:ident = $then:expr)?;
            $details:tt
        )*}
        native $native:tt
    ) => {
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
            /// True when executions record the names that variables have in the source.
            pub(crate) names_variables: bool,
            pub(crate) only_estimate: bool,
            /// The properties of every execution.
            pub(crate) properties: Vec<NamedProperty>,
            /// Set to run one execution and to list its alternatives; the point of a write whose steps are listed,
            /// or an empty text.
            pub(crate) lists_alternatives: Option<String>,
            /// True when labels of events are recorded.
            pub(crate) keeps_labels: bool,
            /// The partial trace of a failure that executions must be consistent with.
            pub(crate) total_replay: Option<TotalReplay>,
            /// The check that this one is a part of.
            pub(crate) part_of: Option<WholeCheck>,
            $(pub(crate) $name: $field,)*
        }

        impl Checker {
            /// Returns the default settings: [`Strategy::Auto`] within 100,000 executions and 10
            /// seconds, stopping at the first failure.
            pub fn new() -> Self {
                Checker {
                    program: &Library,
                    names_variables: false,
                    only_estimate: false,
                    properties: Vec::new(),
                    lists_alternatives: None,
                    keeps_labels: false,
                    total_replay: None,
                    part_of: None,
                    $($name: $initial,)*
                }
            }

            $(method! { [$(#[doc = $doc])+] $name [$($argument $(as $value)?)?] [$($other = $then)?] })*

            /// Sets the field of this row; the error names the allowed values.
            pub(crate) fn set_text(&mut self, setting: &Setting, text: &str) -> Result<(), String> {
                let value = setting.kind.parse(text).map_err(|error| error.to_string())?;
                match setting.name {
                    $(stringify!($name) => {
                        self.$name = FromValue::from_value(value)?;
                        $(self.$other = $then;)?
                    })*
                    other => unreachable!("`{other}` has no field"),
                }
                Ok(())
            }
        }
    };
}

raddle_settings::settings!(checker);

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}

impl Checker {
    /// For front ends: sets the program under test, if it does not use raddle's types.
    #[doc(hidden)]
    pub fn of_program(mut self, program: &'static dyn Program) -> Self {
        self.program = program;
        self
    }

    /// Runs only the classes that are consistent with this partial trace of a failure; see
    /// [`consistent_with`](Self::consistent_with).
    ///
    /// ```
    /// use raddle::sync::Arc;
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// let trace = "main.1 src/lib.rs:1".parse().unwrap();
    /// let report = raddle::Checker::new().consistent_with_trace(trace).run(|| {
    ///     let number = Arc::new(AtomicU32::new(0));
    ///     let other = number.clone();
    ///     let thread = raddle::thread::spawn(move || other.store(1, SeqCst));
    ///     number.load(SeqCst);
    ///     thread.join().unwrap();
    /// });
    /// // No thread performs an operation in that line.
    /// assert_eq!(report.executions, 0);
    /// ```
    pub fn consistent_with_trace(mut self, trace: PartialTrace) -> Self {
        self.total_replay = Some(TotalReplay {
            trace: Arc::new(trace),
            prunes: true,
        });
        self
    }

    /// For raddle's own tests: runs every class and compares it with the partial trace afterwards.
    #[doc(hidden)]
    pub fn without_pruning(mut self) -> Self {
        if let Some(replay) = &mut self.total_replay {
            replay.prunes = false;
        }
        self
    }

    /// Reads the partial trace, and removes all settings that have no part in a total replay.
    pub(crate) fn prepare_total_replay(&mut self) -> Result<(), String> {
        if let Some(path) = self.consistent_with.take() {
            let text = std::fs::read_to_string(&path);
            let text =
                text.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
            let trace: Result<PartialTrace, _> = text.parse();
            let trace = trace.map_err(|error| format!("{}: {error}", path.display()))?;
            *self = self.clone().consistent_with_trace(trace);
        }
        if self.total_replay.is_some() {
            self.strategy = Strategy::Exhaustive;
            self.workers = NonZeroUsize::MIN;
            (self.reduce, self.preemptions) = (Reductions::default(), None);
            (self.resume, self.remember, self.known_schedules) = (false, false, false);
            // A shorter failing execution need not be consistent with the trace.
            self.shorten = false;
            (self.lock_order, self.leaks) = (Level::Allow, Level::Allow);
            self.predictions = Level::Allow;
            self.require = None;
            self.verify_completeness = false;
        }
        Ok(())
    }

    /// For front ends that search again: the time limit counts from `start`, and the limit of executions
    /// from this number of runs.
    #[doc(hidden)]
    pub fn continuing(mut self, start: Instant, runs: u64) -> Self {
        self.part_of = Some(WholeCheck {
            start,
            runs,
            deadline: None,
        });
        self
    }

    /// For raddle's own tests: requests a checkpoint after this number of executions.
    #[doc(hidden)]
    pub fn checkpoint_every_executions(mut self, executions: u64) -> Self {
        self.checkpoint_every = Every::Executions(executions.max(1));
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

    /// For `#[raddle::test]`: sets an option whose value is a text.
    ///
    /// # Panics
    ///
    /// If the value cannot be used.
    #[doc(hidden)]
    #[track_caller]
    pub fn set_option(mut self, name: &str, value: &str) -> Self {
        let setting = raddle_settings::setting(Scope::Check, name)
            .unwrap_or_else(|| panic!("raddle: there is no setting `{name}`"));
        self.set_text(setting, value)
            .unwrap_or_else(|problem| panic!("raddle: {name}: {problem}"));
        self
    }

    /// Returns the metrics of coverage that are measured.
    pub(crate) fn measured(&self) -> Metrics {
        match self.since {
            // Versions are compared by locks, by values and by the order of accesses.
            Some(_) => self.reported() | Metrics::SYNC_PAIR_DEF_USE | Metric::Adjacent,
            None => self.reported(),
        }
    }

    /// Returns the metrics of coverage that are part of the report.
    pub(crate) fn reported(&self) -> Metrics {
        match self.strategy {
            Strategy::Coverage { .. } if self.coverage.is_empty() => Metrics::USUAL,
            _ => self.coverage,
        }
    }

    /// Returns the policy of choices that the program does not make itself.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            spurious_wakeups: self.spurious_wakeups,
            timeouts: self.timeouts,
            weak_cas: self.weak_cas,
            waiting_writers: self.waiting_writers,
        }
    }

    /// Returns the limits and the memory model of one execution.
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
            policy: self.policy(),
            reads_from: self.classes == Classes::ReadsFrom,
        }
    }

    /// Returns a context for executions of the check; `fatal` reports one that ends the process.
    pub(crate) fn context(
        &self,
        mut exploration: Exploration,
        fatal: Arc<dyn FatalReporter>,
    ) -> Context {
        if self.has_properties() {
            exploration.set_properties(self.properties.clone().into());
        }
        let context = Context::new(exploration, self.program, self.stack_size, fatal);
        context.set_reuses_memory(self.reuse_memory);
        context.set_ignores(self.reduce.paths);
        context.set_changes(self.mutant.changes());
        context.set_keeps_labels(self.keeps_labels || self.has_properties());
        context
    }

    /// True when every execution is judged by properties.
    pub(crate) fn has_properties(&self) -> bool {
        !self.properties.is_empty()
    }

    /// True when a reduction leaves classes out.
    pub(crate) fn is_reduced(&self) -> bool {
        self.reduce != Reductions::default()
    }

    /// True when only accesses of ignored locations are left out.
    pub(crate) fn reduces_to_paths(&self) -> bool {
        let paths = Reductions {
            paths: true,
            ..Reductions::default()
        };
        self.reduce == paths
    }

    /// True when the check follows one schedule.
    pub(crate) fn replays(&self) -> bool {
        matches!(self.strategy, Strategy::Replay(_))
    }

    /// True when the check looks for one execution with the reads of an alternative.
    pub(crate) fn is_directed(&self) -> bool {
        matches!(self.strategy, Strategy::Directed(_))
    }

    /// Panics if the settings cannot be used, or inside another check.
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
        assert!(
            !self.reuse_memory || self.memory == Memory::Sc,
            "raddle: reuse_memory needs memory = \"sc\": under a weak memory model a thread may follow an old \
             pointer when its memory is already another's"
        );
        if let Some(problem) = self.strategy.sampler().and_then(Sampler::problem) {
            panic!("raddle: {problem}");
        }
    }
}
