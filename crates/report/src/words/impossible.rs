//! Explanations of impossible alternatives.

use raddle_engine::alternatives::{AlternativeSource, Chain, Why};
use raddle_engine::{EventId, Execution, Schedule, SiteId};

use crate::data::failure::{Failure, FailureKind};
use crate::data::place::Place;
use crate::data::trace::Trace;
use crate::words::names::Names;
use crate::words::number::counted;

/// Names as recorded in an execution, for one that is no longer the front end's current one.
struct RecordedNames<'a> {
    execution: &'a Execution,
    places: &'a dyn Names,
}

/// Returns a place of which only the line is known.
fn line(line: u32) -> Place {
    Place {
        file: String::new(),
        line,
        column: 1,
    }
}

impl Names for RecordedNames<'_> {
    fn place(&self, site: SiteId) -> Option<Place> {
        self.places.place(site)
    }

    fn object(&self, index: usize) -> (&str, Option<Place>) {
        let names = &self.execution.object_names;
        let made = names.variable(index).and_then(|(_, at)| at).map(line);
        (names.kind(index), made)
    }

    fn location(&self, index: usize) -> (&str, Option<Place>) {
        let made = self.execution.locations[index].made;
        let made = made.and_then(|site| self.places.place(site));
        (self.execution.location_names.kind(index), made)
    }

    fn object_label(&self, index: usize) -> Option<String> {
        let label = self.execution.object_names.label(index);
        label.map(str::to_owned)
    }

    fn location_label(&self, index: usize) -> Option<String> {
        let label = self.execution.location_names.label(index);
        label.map(str::to_owned)
    }

    fn object_variable(&self, index: usize) -> Option<String> {
        let variable = self.execution.object_names.variable(index);
        variable.map(|(name, _)| name.to_owned())
    }

    fn location_variable(&self, index: usize) -> Option<String> {
        let variable = self.execution.location_names.variable(index);
        variable.map(|(name, _)| name.to_owned())
    }
}

impl Failure {
    /// Builds the failure for an impossible alternative, after this number of runs.
    pub fn impossible(why: &Why, runs: u64, names: &dyn Names) -> Self {
        let (message, trace, schedule) = match why {
            Why::NoThread { name, threads } => {
                let message = format!(
                    "no thread is called `{name}`\nhelp: there are: {}",
                    threads.join(", ")
                );
                (message, Trace::default(), Schedule::default())
            }
            Why::NeverHappens {
                point,
                is_receive,
                times,
                known,
            } => {
                let does = if *is_receive { "receives" } else { "sends" };
                let times = match times {
                    0 => "nothing".to_owned(),
                    _ => counted((*times).into(), "time", "times") + " at most",
                };
                let known = known.iter();
                let known: Vec<String> = known
                    .map(|(thing, count)| match count {
                        1 => format!("{thing} (0)"),
                        _ => format!("{thing} (0 to {})", count - 1),
                    })
                    .collect();
                let known = match known.is_empty() {
                    true => "nothing".to_owned(),
                    false => known.join(", "),
                };
                let message = format!(
                    "`{point}` never happens: {} {does} {times} at `{}`\n\
                     help: {} {does}: {known}",
                    point.thread, point.thing, point.thread
                );
                (message, Trace::default(), Schedule::default())
            }
            Why::NeverSees { execution, .. } => {
                let recorded = RecordedNames {
                    execution,
                    places: names,
                };
                let mut trace = Trace::of(execution, &recorded);
                for (_, made) in &mut trace.things {
                    made.take_if(|place| place.file.is_empty());
                }
                let message = NeverSeesText {
                    execution,
                    trace: &trace,
                }
                .why(why);
                (message, trace, Schedule::of(execution))
            }
        };
        Failure::bare(FailureKind::Impossible, message, trace, schedule, runs)
    }

    /// Builds the failure for a search that exceeded its budget before it found the alternative.
    pub fn not_found(alternative: &str, runs: u64) -> Self {
        let message = format!(
            "in {} none was found that does what the alternative says: {alternative}\n\
             help: that does not mean that it is impossible: give it more time, or say more of what \
             is to happen",
            counted(runs, "run", "runs")
        );
        let (trace, schedule) = (Trace::default(), Schedule::default());
        Failure::bare(FailureKind::Limit, message, trace, schedule, runs)
    }
}

const CLOSEST: &str = "no execution does that; in the one that comes closest, something else takes its \
                       place before that:\n";

struct NeverSeesText<'a> {
    execution: &'a Execution,
    trace: &'a Trace,
}

impl NeverSeesText<'_> {
    /// Returns an event with its thread and line.
    fn event(&self, id: EventId) -> String {
        let mut events = self.execution.events.iter();
        let position = events.position(|event| event.id == id);
        let step = &self.trace.steps[position.expect("the event is in the execution")];
        let thread = self.trace.title(id.thread);
        let place = step.place.as_ref().map(|place| format!(" ({place})"));
        format!("{thread}: {}{}", step.what, place.unwrap_or_default())
    }

    fn why(&self, why: &Why) -> String {
        let Why::NeverSees {
            choice,
            alone,
            receive,
            instead,
            chain,
            ..
        } = why
        else {
            unreachable!("called for this variant only");
        };
        let wanted = match &choice.sees {
            None => format!("have outcome {}", choice.outcome.unwrap_or(0)),
            Some(AlternativeSource::Initial) => "see the initial state".to_owned(),
            Some(AlternativeSource::Event(point)) => format!("see `{point}`"),
        };
        let together = match alone {
            true => " if everything else is as the alternative says",
            false => "",
        };
        let mut text = format!("`{}` cannot {wanted}{together}\n", choice.receive);
        match chain {
            Chain::Before(path) => {
                text += "no execution does that; in the one that comes closest, it comes first:\n";
                text += &self.list(path, "");
            }
            Chain::Replaced(first, second) => {
                text += CLOSEST;
                text += &self.list(first, "   ← takes its place");
                text += &self.list(&second[1..], "");
            }
            Chain::NotInitial(path) => {
                text += CLOSEST;
                text += &self.list(path, "");
            }
            Chain::Unknown => {
                let saw = match instead {
                    Some(id) => self.event(*id),
                    None => "the initial state".to_owned(),
                };
                let receive = self.event(*receive);
                text += &format!(
                    "no execution does that; in the one that comes closest,\n  {receive}\nhas seen\n  \
                     {saw}\n"
                );
            }
        }
        text + "the one that comes closest:"
    }

    /// Lists the events of a chain. Of several consecutive events of one thread, only the first and
    /// the last.
    fn list(&self, chain: &[EventId], remark: &str) -> String {
        let is_shown = |&at: &usize| {
            let same = |other: Option<usize>| {
                let other = other.and_then(|other| chain.get(other));
                other.is_some_and(|other| other.thread == chain[at].thread)
            };
            !(same(at.checked_sub(1)) && same(Some(at + 1)))
        };
        let shown = (0..chain.len()).filter(is_shown);
        let mut lines: Vec<String> = shown
            .map(|at| format!("  {}", self.event(chain[at])))
            .collect();
        if let Some(last) = lines.last_mut() {
            last.push_str(remark);
        }
        lines.join("\n") + "\n"
    }
}
