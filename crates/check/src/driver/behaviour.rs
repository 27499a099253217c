//! The graph of all states of a program.

use std::fmt;
use std::num::NonZeroUsize;

use raddle_engine::behaviour::graph::{BehaviourGraph, GraphBuilder, MAX_STATES};
use raddle_report::Report;

use crate::driver::run::Stopped;
use crate::settings::checker::Checker;
use crate::settings::options::Strategy;

/// The behaviour of a program as a labelled transition system.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Behaviour {
    /// The states and the labelled events between them.
    pub graph: BehaviourGraph,
    /// Reasons why the graph may lack states, or may have states that no run has; empty if it is exact.
    pub limits: Vec<String>,
    /// The report of the executions.
    pub report: Report,
}

impl Behaviour {
    /// True when the graph has every state of the program and no other.
    pub fn is_exact(&self) -> bool {
        self.limits.is_empty()
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (states, transitions) = (self.graph.states().len(), self.graph.transitions().len());
        write!(f, "{states} states, {transitions} transitions")?;
        self.limits
            .iter()
            .try_for_each(|limit| write!(f, "; {limit}"))
    }
}

/// Returns the reasons why a graph is not exact.
pub(super) fn limits(builder: &GraphBuilder, report: &Report) -> Vec<String> {
    let mut limits = Vec::new();
    if !report.exhausted {
        limits.push("not every class was run, so that states may be missing".to_owned());
    }
    if builder.is_cut() {
        limits.push("some executions were cut, so that states are missing".to_owned());
    }
    if builder.is_full() {
        limits.push(format!(
            "more than {MAX_STATES} states, so that some are missing: use fewer threads, or fewer operations between labels"
        ));
    }
    if !builder.is_exact() {
        let why = "weak memory has no order in which operations take effect for all threads, so that some states may be \
                   those of no run: use memory = \"sc\" for an exact graph";
        limits.push(why.to_owned());
    }
    limits
}

impl Checker {
    /// Runs every class of executions of `body`, within the budget, and returns the graph of all states: a labelled
    /// transition system. Its transitions have the labels that [`event!`] gives, and its states the values of atomics with
    /// a name by [`label!`]. [`BehaviourGraph::without_internal_steps`] leaves out what no label depends on.
    ///
    /// ```
    /// use raddle::sync::Arc;
    /// use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
    ///
    /// let behaviour = raddle::Checker::new().behaviour(|| {
    ///     let ready = Arc::new(AtomicBool::new(false));
    ///     let other = ready.clone();
    ///     let thread = raddle::thread::spawn(move || {
    ///         other.store(true, SeqCst);
    ///         raddle::event!("publish");
    ///     });
    ///     if ready.load(SeqCst) {
    ///         raddle::event!("use");
    ///     } else {
    ///         raddle::event!("give up");
    ///     }
    ///     thread.join().unwrap();
    /// });
    /// assert!(behaviour.is_exact());
    /// let graph = behaviour.graph.without_internal_steps();
    /// assert_eq!(
    ///     graph.to_aut(),
    ///     r#"des (0, 4, 4)
    /// (0, "give up", 1)
    /// (0, "publish", 2)
    /// (1, "publish", 3)
    /// (2, "use", 3)
    /// "#
    /// );
    /// ```
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run) does.
    ///
    /// [`event!`]: https://docs.rs/raddle/latest/raddle/macro.event.html
    /// [`label!`]: https://docs.rs/raddle/latest/raddle/macro.label.html
    #[track_caller]
    pub fn behaviour(mut self, body: impl Fn() + Send + Sync) -> Behaviour {
        let mut builder = GraphBuilder::new(MAX_STATES);
        self.strategy = Strategy::Exhaustive;
        self.keeps_labels = true;
        self.keep_going = true;
        self.workers = NonZeroUsize::MIN;
        let model = self.memory.model();
        let add = &mut |stopped: Stopped<'_>| builder.add(stopped.execution, stopped.ending, model);
        let report = self.run_observed(&body, Some(add));
        Behaviour {
            limits: limits(&builder, &report),
            graph: builder.finish(),
            report,
        }
    }
}
