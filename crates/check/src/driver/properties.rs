//! Properties of a check: judges every order of the labelled events of each execution.
//!
//! The exploration judges the order in which an execution has run. The other orders of its class are judged here. An order
//! that violates a property is run, so that the failure has a schedule like any other.

use std::panic::Location;

use raddle_engine::behaviour::formula::{Property, fits};
use raddle_engine::behaviour::judge::{self, Judgement, MAX_STATES, NamedProperty};
use raddle_engine::behaviour::order;
use raddle_engine::check::Finding;
use raddle_engine::strategy::Planned;
use raddle_engine::{Ending, Exploration};
use raddle_report::{PropertyResult, PropertyVerdict};

use crate::driver::worker::Worker;
use crate::settings::checker::Checker;

/// Judgements about the properties of a check.
pub(crate) struct JudgedProperties {
    properties: Vec<JudgedProperty>,
    /// True while an order is run to confirm a violation.
    is_confirming: bool,
}

struct JudgedProperty {
    property: NamedProperty,
    result: PropertyResult,
    /// An order that violates it, which has not been run yet.
    plan: Option<Vec<Planned>>,
    /// True when the last execution violates it.
    is_in_last: bool,
}

/// Numbers of executions that were not judged in every order, by reason.
const NONE: &str = "no execution was judged";
const CUT: &str = "executions were cut before the end of the program";
const ONE_LASSO: &str =
    "executions end in several loops with labels, of which one order was judged";
const TOO_MANY: &str = "executions have more orders of labelled events than are looked at";
const UNCONFIRMED: &str = "an order of labelled events violates it, and no run has confirmed that";

impl JudgedProperty {
    fn leave_open(&mut self, reason: &str) {
        if self.result.verdict == PropertyVerdict::Holds {
            self.result.verdict = PropertyVerdict::Undecided;
        }
        if !self.result.reasons.iter().any(|known| known == reason) {
            self.result.reasons.push(reason.to_owned());
        }
    }
}

impl JudgedProperties {
    /// Returns `None` if the check has no properties, or runs one execution that was asked for: only its order counts.
    pub(crate) fn of(checker: &Checker) -> Option<Box<Self>> {
        let judged = |property: &NamedProperty| JudgedProperty {
            result: PropertyResult::new(property.name.clone(), property.property.to_string()),
            property: property.clone(),
            plan: None,
            is_in_last: false,
        };
        let is_search = !checker.replays() && !checker.is_directed();
        (is_search && checker.has_properties()).then(|| {
            let properties = checker.properties.iter().map(judged);
            let mut properties: Vec<_> = properties.collect();
            for one in &mut properties {
                let labels = one.property.property.labels();
                one.result.unseen = labels.into_iter().map(str::to_owned).collect();
            }
            Box::new(JudgedProperties {
                properties,
                is_confirming: false,
            })
        })
    }

    /// Returns notes about the properties that the execution of a failure of another kind violates.
    pub(crate) fn notes(&self, finding: &Finding) -> Vec<String> {
        if matches!(finding, Finding::Property(_)) {
            return Vec::new();
        }
        let violated = self.properties.iter().filter(|one| one.is_in_last);
        let note = |one: &JudgedProperty| {
            let PropertyResult { name, formula, .. } = &one.result;
            let how = match finding {
                Finding::Livelock { .. } => {
                    ", judged as the fair execution in which only these loops go on"
                }
                _ => "",
            };
            format!("this execution violates the property `{name}`{how}: {formula}")
        };
        violated.map(note).collect()
    }

    pub(crate) fn finish(mut self) -> Vec<PropertyResult> {
        for one in &mut self.properties {
            if one.result.executions == 0 && one.result.verdict == PropertyVerdict::Holds {
                one.leave_open(NONE);
            }
        }
        self.properties.into_iter().map(|one| one.result).collect()
    }
}

impl Checker {
    /// Adds a property of the order of labelled events ([`event!`]), which every execution must fulfil.
    ///
    /// An execution is one order of independent operations out of many; the property is judged in all of them. An
    /// order that violates it is run and reported as a failure, with its schedule. [`Report::properties`] has the result
    /// of each property. A check with properties has one worker.
    ///
    /// ```
    /// use raddle::sync::{Arc, Mutex};
    /// use raddle::{Checker, Property, thread};
    ///
    /// let taken = || Property::event("take");
    /// let report = Checker::new()
    ///     .property("one at a time", Property::always(
    ///         taken().implies(!Property::previously((!Property::event("give back")).since(taken()))),
    ///     ))
    ///     .property("comes back", Property::responds(taken(), Property::event("give back")))
    ///     .run(|| {
    ///         let lock = Arc::new(Mutex::new(()));
    ///         let work = |lock: &Mutex<()>| {
    ///             let guard = lock.lock().unwrap();
    ///             raddle::event!("take");
    ///             drop(guard);
    ///             raddle::event!("give back");
    ///         };
    ///         let other = lock.clone();
    ///         let thread = thread::spawn(move || work(&other));
    ///         work(&lock);
    ///         thread.join().unwrap();
    ///     });
    /// report.assert_ok();
    /// assert_eq!(
    ///     report.properties()[0].to_string(),
    ///     "property `one at a time` holds in every order of 2 executions",
    /// );
    /// ```
    ///
    /// [`event!`]: https://docs.rs/raddle/latest/raddle/macro.event.html
    /// [`Report::properties`]: raddle_report::Report::properties
    pub fn property(mut self, name: impl Into<String>, property: Property) -> Self {
        self.properties
            .push(NamedProperty::new(name.into(), property));
        self
    }
}

/// True when threads wait for ever, or nothing has failed: then the properties say something about the execution.
fn is_judged(finding: Option<&Finding>) -> bool {
    matches!(
        finding,
        None | Some(
            Finding::Property(_)
                | Finding::Deadlock(_)
                | Finding::LostWakeup { .. }
                | Finding::Livelock { .. }
                | Finding::ThreadOutlives(_)
        )
    )
}

impl Worker<'_, '_> {
    /// Judges every order of the execution that has just stopped.
    #[cold]
    pub(super) fn judge_properties(&mut self, finding: Option<&Finding>) {
        let Some(judged) = &mut self.properties else {
            return;
        };
        if judged.is_confirming && finding.is_none() {
            return;
        }
        let model = self.checker.memory.model();
        self.context.with_exploration(|exploration| {
            let (execution, ending) = (exploration.execution(), exploration.ending());
            for (number, one) in judged.properties.iter_mut().enumerate() {
                one.is_in_last = false;
                one.result.unseen.retain(|pattern| {
                    !execution
                        .labels
                        .iter()
                        .any(|label| fits(pattern, &label.text))
                });
                if !is_judged(finding) || *ending == Ending::Discarded {
                    continue;
                }
                let is_whole = judge::is_whole(execution, ending);
                if judge::violation(execution, ending, number, &one.property).is_some() {
                    one.is_in_last = true;
                    one.result.verdict = PropertyVerdict::Violated;
                    continue;
                }
                if one.result.verdict == PropertyVerdict::Violated || one.plan.is_some() {
                    continue;
                }
                match judge::of_class(execution, ending, model, &one.property, MAX_STATES) {
                    Judgement::Holds if is_whole => {
                        one.result.executions += 1;
                        one.result.fair_loops += u64::from(*ending == Ending::Livelock);
                    }
                    // The beginning of the execution decides it.
                    Judgement::Holds => one.result.executions += 1,
                    Judgement::Violated(order) => {
                        one.plan = Some(order::plan(execution, &order));
                    }
                    Judgement::Cut => one.leave_open(CUT),
                    Judgement::OneLasso => one.leave_open(ONE_LASSO),
                    Judgement::TooMany => one.leave_open(TOO_MANY),
                }
            }
        });
    }

    /// Runs the orders that violate properties. Returns true if the check is over.
    pub(crate) fn confirm_properties(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> bool {
        let count = self.properties.as_ref().map_or(0, |it| it.properties.len());
        for number in 0..count {
            let Some(judged) = &mut self.properties else {
                return false;
            };
            let Some(plan) = judged.properties[number].plan.take() else {
                continue;
            };
            if judged.is_confirming || self.is_over {
                continue;
            }
            judged.is_confirming = true;
            // The program may not be able to run in this order. An attempt apart leaves the counts as they are.
            let is_wanted = &mut |_: &mut Exploration, fails: bool, _: &[_]| fails;
            let (_, plan) = self.wanted_plan(&[plan], &[], body, place, is_wanted);
            let is_confirmed = plan.is_some();
            let is_over = plan.is_some_and(|plan| self.run_plan(plan, body, place));
            let Some(judged) = &mut self.properties else {
                return is_over;
            };
            judged.is_confirming = false;
            let one = &mut judged.properties[number];
            if !is_confirmed || one.result.verdict != PropertyVerdict::Violated {
                one.leave_open(UNCONFIRMED);
            }
            if is_over {
                return true;
            }
        }
        self.is_over
    }
}
