//! An execution in the user's own names: what each thread did, to what, on which line.

use raddle_engine::ThreadId;
use serde::{Deserialize, Serialize};

use crate::data::effect::Effect;
use crate::data::place::Place;

/// A thread of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceThread {
    /// Its place in the tree of creations, `main.2` for the second thread that `main` created.
    pub path: String,
    /// The name the program gave it.
    pub name: Option<String>,
    /// Where it was created; nothing for the main thread.
    pub spawned: Option<Place>,
}

impl TraceThread {
    /// What to call it in front of the user.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.path)
    }
}

/// One step of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceStep {
    /// Index into [`Trace::threads`].
    pub thread: usize,
    /// In words: `lock Mutex#2`, `store 1 to AtomicU32#1`.
    pub what: String,
    /// The line it was written on.
    pub place: Option<Place>,
    /// Whether the thread still waits for it at the end.
    pub waits: bool,
    /// What it is done to, as an index into [`Trace::things`].
    pub thing: Option<usize>,
    /// The step from which it has its value or its turn.
    pub source: Option<usize>,
    /// What it does, for programs.
    pub effect: Effect,
}

/// A lock that a thread holds for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceSpan {
    /// Index into [`Trace::threads`].
    pub thread: usize,
    /// The lock, as an index into [`Trace::things`].
    pub thing: usize,
    /// The step that takes it.
    pub from: usize,
    /// The step that gives it back; nothing if it is held to the end.
    pub to: Option<usize>,
    /// Whether others may hold it at the same time.
    pub shared: bool,
}

/// What happened, step by step.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Trace {
    /// Every thread, in order of creation.
    pub threads: Vec<TraceThread>,
    /// Every step, in the order it happened; what never happened comes last.
    pub steps: Vec<TraceStep>,
    /// The names used in the steps, each with the place where the thing was made.
    pub things: Vec<(String, Option<Place>)>,
    /// Which locks were held, in the order in which they were taken.
    pub spans: Vec<TraceSpan>,
    /// Accesses of cells, in the order they happened; only of executions that were replayed.
    pub accesses: Vec<CellAccess>,
}

/// An access of a cell. It is no step: nobody waits for it, and nothing follows from it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CellAccess {
    /// Index into [`Trace::threads`].
    pub thread: usize,
    /// Index into [`Trace::things`].
    pub thing: usize,
    /// Whether it may have been changed.
    pub writes: bool,
    /// The line it was written on.
    pub place: Option<Place>,
    /// How many steps came before.
    pub after: usize,
}

impl Trace {
    /// Leaves out everything from a step on.
    pub(crate) fn cut(&mut self, length: usize) {
        self.steps.truncate(length);
        self.accesses.retain(|access| access.after <= length);
        self.spans.retain(|span| span.from < length);
        for span in &mut self.spans {
            span.to = span.to.filter(|&to| to < length);
        }
    }

    /// Puts a step that is no event before another.
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
        // What comes right before it is still so.
        for access in &mut self.accesses {
            access.after += usize::from(access.after > at);
        }
    }

    /// For each event of the execution, as far as it is told, the step that it is. The accesses of a race are
    /// steps, and no events.
    pub fn steps_of_events(&self) -> impl Iterator<Item = usize> + '_ {
        let is_access =
            |step: &TraceStep| matches!(step.effect, Effect::ReadCell | Effect::WriteCell);
        let steps = self.steps.iter().enumerate();
        let events = steps.filter(move |(_, step)| !is_access(step));
        events.map(|(index, _)| index)
    }

    /// What to call a thread in front of the user.
    pub fn title(&self, thread: ThreadId) -> &str {
        self.threads
            .get(thread.index())
            .map_or("?", TraceThread::title)
    }
}
