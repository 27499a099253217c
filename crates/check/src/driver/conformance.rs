//! Given sequences of labels: which of them the program has, and which of its own are not given.

use std::fmt;
use std::num::NonZeroUsize;
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;

use raddle_engine::behaviour::graph::{GraphBuilder, MAX_STATES};
use raddle_engine::behaviour::sequences::{
    Deterministic, Differences, GivenSequences, InClass, compare, find,
};
use raddle_engine::strategy::{Dispatcher, Guided, Planned};
use raddle_engine::{Execution, Exploration, Schedule};
use raddle_report::Report;

use crate::driver::behaviour::limits;
use crate::driver::phases;
use crate::driver::run::Stopped;
use crate::explain::fatal_report::FatalReport;
use crate::runtime::{run_execution, watchdog};
use crate::settings::checker::Checker;
use crate::settings::options::Strategy;

/// Maximum sequences of each list in the result; a person reads no more.
const LISTED: usize = 20;

/// The comparison of a program with given sequences.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Conformance {
    /// The given sequences in their order. For a labelled transition system: its shortest sequences that the program does
    /// not have.
    pub sequences: Vec<SequenceResult>,
    /// Sequences of the program, up to an end, that are not given: the first 20.
    pub missing: Vec<Vec<String>>,
    /// Number of all sequences of the program that are not given.
    pub missing_count: u64,
    /// Reasons why sequences of the program may not be known, so that no given sequence is called infeasible, or why
    /// sequences may be those of no run; empty if the comparison is exact.
    pub limits: Vec<String>,
    /// The report of the executions.
    pub report: Report,
}

/// A given sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SequenceResult {
    /// The labels.
    pub sequence: Vec<String>,
    /// Whether the program has it.
    pub feasibility: Feasibility,
}

/// Whether a program has a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feasibility {
    /// It has: this schedule runs it.
    Feasible(Schedule),
    /// No execution has it. The reasons are a chain: each is about a label that the one before names.
    Infeasible(Vec<String>),
    /// It is not known, for this reason.
    Undecided(String),
}

impl Conformance {
    /// True when every given sequence is feasible, and the program has no other.
    pub fn is_equal(&self) -> bool {
        let is_feasible = |it: &SequenceResult| matches!(it.feasibility, Feasibility::Feasible(_));
        self.limits.is_empty() && self.missing_count == 0 && self.sequences.iter().all(is_feasible)
    }
}

fn shown(sequence: &[String]) -> String {
    match sequence.is_empty() {
        true => "(no labelled event)".to_owned(),
        false => sequence.join("; "),
    }
}

impl fmt::Display for Conformance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for SequenceResult {
            sequence,
            feasibility,
        } in &self.sequences
        {
            match feasibility {
                Feasibility::Feasible(_) => writeln!(f, "feasible: {}", shown(sequence))?,
                Feasibility::Infeasible(reasons) => {
                    writeln!(f, "infeasible: {}", shown(sequence))?;
                    reasons
                        .iter()
                        .try_for_each(|reason| writeln!(f, "  {reason}"))?;
                }
                Feasibility::Undecided(reason) => {
                    writeln!(f, "undecided: {}\n  {reason}", shown(sequence))?;
                }
            }
        }
        for sequence in &self.missing {
            writeln!(f, "not given: {}", shown(sequence))?;
        }
        let left_out = self.missing_count - self.missing.len() as u64;
        if left_out > 0 {
            writeln!(f, "not given: {left_out} more")?;
        }
        self.limits
            .iter()
            .try_for_each(|limit| writeln!(f, "limit: {limit}"))
    }
}

/// A given sequence and what the classes so far have shown about it.
struct Sought {
    sequence: Vec<String>,
    plan: Option<Vec<Planned>>,
    is_cut: bool,
}

impl Checker {
    /// Runs every class of executions of `body`, within the budget, and compares the sequences of their labelled events
    /// with given ones: a given sequence is feasible, with a schedule that runs it, or infeasible, with the reasons; and
    /// sequences of the program that are not given are listed.
    ///
    /// ```
    /// use raddle::sync::{Arc, Mutex};
    /// use raddle::{Checker, GivenSequences, thread};
    ///
    /// let given: GivenSequences = "
    ///     take 1; give back 1; take 2; give back 2
    ///     take 1; take 2; give back 1; give back 2
    /// "
    /// .parse()
    /// .unwrap();
    /// let conformance = Checker::new().conformance(&given.strict(), || {
    ///     let lock = Arc::new(Mutex::new(()));
    ///     let work = |lock: &Mutex<()>, user| {
    ///         let guard = lock.lock().unwrap();
    ///         raddle::event!("take {user}");
    ///         drop(guard);
    ///         raddle::event!("give back {user}");
    ///     };
    ///     let other = lock.clone();
    ///     let thread = thread::spawn(move || work(&other, 1));
    ///     work(&lock, 2);
    ///     thread.join().unwrap();
    /// });
    /// assert_eq!(
    ///     conformance.to_string(),
    ///     "\
    /// feasible: take 1; give back 1; take 2; give back 2
    /// infeasible: take 1; take 2; give back 1; give back 2
    ///   after `take 1` comes `give back 1`, and not `take 2`
    ///   `take 2` comes only after `give back 1`
    /// not given: take 2; give back 2; take 1; give back 1
    /// "
    /// );
    /// ```
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run) does.
    #[track_caller]
    pub fn conformance(
        mut self,
        given: &GivenSequences,
        body: impl Fn() + Send + Sync,
    ) -> Conformance {
        let place = Location::caller();
        self.strategy = Strategy::Exhaustive;
        self.keeps_labels = true;
        self.keep_going = true;
        self.workers = NonZeroUsize::MIN;
        let model = self.memory.model();
        let mut builder = GraphBuilder::new(MAX_STATES);
        let sequences = given.sequences().iter();
        let mut sought: Vec<Sought> = sequences
            .map(|sequence| Sought {
                sequence: sequence.clone(),
                plan: None,
                is_cut: false,
            })
            .collect();
        let report = self.clone().run_observed(
            &body,
            Some(&mut |stopped: Stopped<'_>| {
                let Stopped {
                    execution, ending, ..
                } = stopped;
                builder.add(execution, ending, model);
                for one in sought.iter_mut().filter(|one| one.plan.is_none()) {
                    match find(execution, ending, model, &one.sequence, given.is_strict()) {
                        InClass::Found(plan) => one.plan = Some(plan),
                        InClass::NotFound => {}
                        InClass::TooMany => one.is_cut = true,
                    }
                }
            }),
        );
        let limits = limits(&builder, &report);
        let graph = builder.finish().without_internal_steps();
        let Differences {
            missing,
            missing_count,
            infeasible,
            is_cut,
        } = compare(&graph, given, LISTED);
        let reasons = Reasons {
            program: Deterministic::new(&graph),
            is_strict: given.is_strict(),
            limits: &limits,
        };
        let mut sequences: Vec<SequenceResult> = sought
            .into_iter()
            .map(|one| SequenceResult {
                feasibility: self.feasibility(&one, &reasons, &body, place),
                sequence: one.sequence,
            })
            .collect();
        sequences.extend(infeasible.into_iter().map(|sequence| SequenceResult {
            feasibility: reasons.why(&sequence),
            sequence,
        }));
        let mut limits = limits;
        if is_cut {
            limits.push(
                "too many states to compare, so that missing sequences are not known".to_owned(),
            );
        }
        Conformance {
            sequences,
            missing,
            missing_count,
            limits,
            report,
        }
    }

    /// Runs the plan of a sequence, and returns its schedule if the run has the sequence.
    fn feasibility(
        &self,
        sought: &Sought,
        reasons: &Reasons<'_>,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> Feasibility {
        let Some(plan) = &sought.plan else {
            return match sought.is_cut {
                true => Feasibility::Undecided(
                    "a class has more orders of labelled events than are looked at".to_owned(),
                ),
                false => reasons.why(&sought.sequence),
            };
        };
        let strategy = Dispatcher::other(Guided::new(plan.clone()));
        let exploration = Exploration::new(strategy, self.limits());
        let context = self.context(exploration, Arc::new(FatalReport::default()));
        let deadline = phases::deadline(self, Instant::now());
        let watch = watchdog::watch(&context, self.watchdog, deadline);
        run_execution(&context, body, place);
        context.with_exploration(|exploration| _ = exploration.finish());
        drop(watch);
        let schedule = context.with_execution(|execution, _| {
            has(execution, &sought.sequence, reasons.is_strict).then(|| Schedule::of(execution))
        });
        context.clean_up();
        schedule.map_or_else(
            || Feasibility::Undecided("the program could not be run in this order".to_owned()),
            Feasibility::Feasible,
        )
    }
}

/// True when the labels of a run, in its order, have the sequence.
fn has(execution: &Execution, sequence: &[String], is_strict: bool) -> bool {
    let mut labels = Vec::new();
    for event in &execution.events {
        let own = execution
            .labels
            .iter()
            .filter(|label| label.event == event.id);
        labels.extend(own.map(|label| &label.text));
    }
    match is_strict {
        true => labels.iter().copied().eq(sequence),
        false => {
            let mut labels = labels.into_iter();
            sequence
                .iter()
                .all(|next| labels.any(|label| label == next))
        }
    }
}

/// Says why sequences are infeasible.
struct Reasons<'a> {
    program: Deterministic<'a>,
    is_strict: bool,
    limits: &'a [String],
}

impl Reasons<'_> {
    fn why(&self, sequence: &[String]) -> Feasibility {
        if let Some(limit) = self.limits.first() {
            return Feasibility::Undecided(limit.clone());
        }
        let (number, states) = self.program.longest(sequence, self.is_strict);
        let quoted = |labels: &[&str]| {
            let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
            labels.join(", ")
        };
        let next = self.program.labels(&states);
        let Some(label) = sequence.get(number) else {
            return Feasibility::Infeasible(vec![match next.is_empty() {
                true => "no execution has all of these and no other".to_owned(),
                false => format!("no execution ends here: {} comes next", quoted(&next)),
            }]);
        };
        let Some(before) = self.program.before(&states, label) else {
            return Feasibility::Infeasible(vec![self.never(&sequence[..number], label)]);
        };
        let mut reasons = Vec::new();
        if self.is_strict {
            let comes = match (number.checked_sub(1), next.is_empty()) {
                (None, _) => format!("first comes {}, and not `{label}`", quoted(&next)),
                (Some(last), true) => format!("nothing comes after `{}`", sequence[last]),
                (Some(last), false) => {
                    format!(
                        "after `{}` comes {}, and not `{label}`",
                        sequence[last],
                        quoted(&next)
                    )
                }
            };
            reasons.push(comes);
        }
        // The labels that it needs, each with those that it needs itself.
        let mut open = vec![(label.as_str(), before)];
        let mut known: Vec<&str> = vec![label.as_str()];
        while let Some((label, before)) = open.pop() {
            // Only what no other of them needs: the direct predecessors.
            let needs: Vec<_> = before
                .iter()
                .copied()
                .filter(|one| {
                    !before.iter().any(|other| {
                        other != one
                            && self
                                .program
                                .before(&states, other)
                                .is_some_and(|it| it.contains(one))
                    })
                })
                .collect();
            if !needs.is_empty() {
                reasons.push(format!("`{label}` comes only after {}", quoted(&needs)));
            }
            for need in needs {
                if !known.contains(&need) {
                    known.push(need);
                    open.extend(
                        self.program
                            .before(&states, need)
                            .map(|before| (need, before)),
                    );
                }
            }
        }
        Feasibility::Infeasible(reasons)
    }

    /// Says why a label does not come after these.
    fn never(&self, before: &[String], label: &str) -> String {
        let start = self.program.start();
        if self.program.before(&start, label).is_none()
            && !self.program.labels(&start).contains(&label)
        {
            return format!("no execution has an event `{label}`");
        }
        let last = before.iter().rfind(|earlier| {
            let pair = [(*earlier).clone(), label.to_owned()];
            self.program.longest(&pair, false).0 < 2
        });
        match last {
            Some(earlier) => format!("no execution has `{label}` after `{earlier}`"),
            None => format!("no execution that begins like this has `{label}` afterwards"),
        }
    }
}
