//! The steps of an execution, in the names and lines of the program's source.

use raddle_engine::ThreadId;
use serde::{Deserialize, Serialize};

use crate::data::effect::Effect;
use crate::data::fold::{self, Fold};
use crate::data::place::Place;

/// Description of a modelled choice, such as a spurious wake-up, that was not taken.
pub(crate) const NOTHING_UNEXPECTED: &str = "nothing unexpected";

/// A thread of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceThread {
    /// Path in the tree of creations: `main.2` is the second thread that `main` created.
    pub path: String,
    /// Name given by the program.
    pub name: Option<String>,
    /// Place of creation; `None` for the main thread.
    pub spawned: Option<Place>,
}

impl TraceThread {
    /// Returns the thread's name, or its path if it has none.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.path)
    }
}

/// A step of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceStep {
    /// Index into [`Trace::threads`].
    pub thread: usize,
    /// Description, such as `lock Mutex#2` or `store 1 to AtomicU32#1`.
    pub what: String,
    /// Place of the operation.
    pub place: Option<Place>,
    /// True when the thread still waits for the operation at the end.
    pub waits: bool,
    /// Target of the operation, as an index into [`Trace::things`].
    pub thing: Option<usize>,
    /// The step that is the source of this one: the write that a read takes, the release before an
    /// acquire.
    pub source: Option<usize>,
    /// Effect, for programs that read the trace.
    pub effect: Effect,
    /// Memory ordering of an atomic access or a fence, as the program writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering: Option<String>,
    /// The latest value of the target in coherence order after this step, if the step shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// True when the place is in the standard library, a dependency or a system header.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_foreign: bool,
}

impl TraceStep {
    /// Builds a step without target, source and effect.
    pub(crate) fn new(thread: ThreadId, what: String, place: Option<Place>) -> Self {
        TraceStep {
            thread: thread.index(),
            what,
            is_foreign: place.as_ref().is_some_and(Place::is_foreign),
            place,
            waits: false,
            thing: None,
            source: None,
            effect: Effect::Other,
            ordering: None,
            value: None,
        }
    }

    /// True for the begin and end of threads, and for choices that were not taken, which are not
    /// shown.
    pub(crate) fn is_dull(&self) -> bool {
        !self.waits && matches!(self.what.as_str(), "begin" | "end" | NOTHING_UNEXPECTED)
    }
}

/// A period in which a thread holds a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceSpan {
    /// Index into [`Trace::threads`].
    pub thread: usize,
    /// The lock, as an index into [`Trace::things`].
    pub thing: usize,
    /// The step that acquires it.
    pub from: usize,
    /// The step that releases it; `None` if it is held to the end.
    pub to: Option<usize>,
    /// True when other readers may hold it at the same time.
    pub shared: bool,
}

/// The steps of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Trace {
    /// Threads, in order of creation.
    pub threads: Vec<TraceThread>,
    /// Steps, in order of execution; pending operations come last.
    pub steps: Vec<TraceStep>,
    /// Names of locations, objects and cells, each with its place of creation.
    pub things: Vec<(String, Option<Place>)>,
    /// Periods in which locks were held, in order of acquisition.
    pub spans: Vec<TraceSpan>,
    /// Accesses to cells, in order; recorded only when an execution is replayed.
    pub accesses: Vec<CellAccess>,
    /// Equal rounds of loops among the steps, in order. Text and page show the first and the last of
    /// them.
    #[serde(default)]
    pub folds: Vec<Fold>,
}

/// An access to a cell. It is not a step, because it is not a scheduling point.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CellAccess {
    /// Index into [`Trace::threads`].
    pub thread: usize,
    /// Index into [`Trace::things`].
    pub thing: usize,
    /// True for a write.
    pub writes: bool,
    /// Place of the access.
    pub place: Option<Place>,
    /// Number of steps before the access.
    pub after: usize,
}

impl Trace {
    /// Finds the equal rounds among the steps. Must be called after every change of the steps.
    pub(crate) fn fold(&mut self) {
        self.folds = fold::all(&self.steps);
    }

    /// Removes all steps from index `length` on, with the accesses and locks after them.
    pub(crate) fn cut(&mut self, length: usize) {
        self.steps.truncate(length);
        self.accesses.retain(|access| access.after <= length);
        self.spans.retain(|span| span.from < length);
        for span in &mut self.spans {
            span.to = span.to.filter(|&to| to < length);
        }
    }

    /// Inserts a step that is not an event, and shifts all indices after it.
    pub(crate) fn insert(&mut self, at: usize, step: TraceStep) {
        self.steps.insert(at, step);
        let later = |index: &mut usize| *index += usize::from(*index >= at);
        let steps = self.steps.iter_mut();
        steps
            .filter_map(|step| step.source.as_mut())
            .for_each(later);
        for span in &mut self.spans {
            later(&mut span.from);
            span.to.as_mut().map(later);
        }
        // An access directly before the new step stays before it.
        for access in &mut self.accesses {
            access.after += usize::from(access.after > at);
        }
    }

    /// Returns the index of the step of each event, in order. The accesses of a race are steps
    /// without an event.
    pub fn steps_of_events(&self) -> impl Iterator<Item = usize> + '_ {
        let is_access =
            |step: &TraceStep| matches!(step.effect, Effect::ReadCell | Effect::WriteCell);
        let steps = self.steps.iter().enumerate();
        let events = steps.filter(move |(_, step)| !is_access(step));
        events.map(|(index, _)| index)
    }

    /// Returns the name of a thread, or its path if it has none.
    pub fn title(&self, thread: ThreadId) -> &str {
        self.threads
            .get(thread.index())
            .map_or("?", TraceThread::title)
    }
}
