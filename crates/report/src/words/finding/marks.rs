//! Source lines that a failure is about, for editors.

use raddle_engine::check::Finding;
use raddle_engine::check::deadlock::Blocked;
use raddle_engine::check::leak::Leak;
use raddle_engine::check::lock_order::{LockOrder, Nested};
use raddle_engine::check::panic::Manner;
use raddle_engine::check::race::Why;
use raddle_engine::memory::races::Access;
use raddle_engine::{ObjectId, SiteId, ThreadId};

use crate::data::insight::Mark;
use crate::data::place::Place;
use crate::words::finding::context::FindingContext;

/// The marks of a finding, under construction.
struct MarkList<'a> {
    context: &'a FindingContext<'a>,
    marks: Vec<Mark>,
}

/// Returns the marks of a finding: first the place of the failure, then those of its causes.
pub(crate) fn of(finding: &Finding, context: &FindingContext<'_>) -> Vec<Mark> {
    let trace = context.trace;
    let mut list = MarkList {
        context,
        marks: Vec::new(),
    };
    match finding {
        Finding::Panic(panic) => {
            let does = match panic.manner {
                Manner::Panic => "panics",
                Manner::Assertion => "fails an assertion",
                Manner::Crash => "crashes",
                Manner::FreedTwice => "frees memory a second time",
                Manner::Uninitialised => "reads memory that nothing has written",
                Manner::Memory | Manner::Outside => "uses memory that it must not use",
                Manner::Exit => "ends the program",
                Manner::Uncontrolled => "does what cannot be controlled",
            };
            let what = format!("{} {does} here", trace.title(panic.thread));
            let place = trace.steps.last().and_then(|step| step.place.clone());
            list.add_place(place, what, true);
        }
        Finding::Deadlock(blocked) | Finding::ThreadOutlives(blocked) => list.blocked(blocked),
        Finding::LostWakeup { lost, blocked } => {
            list.blocked(blocked);
            if let Some((notifier, notified)) = lost.notification {
                let what = format!("{} notifies here", trace.title(notifier));
                list.add(notified, what, false);
            }
        }
        Finding::Livelock { rounds, blocked } => {
            for round in rounds {
                let what = format!("{} spins here", trace.title(round.thread));
                list.add(round.site, what, true);
            }
            list.blocked(blocked);
        }
        Finding::LockOrder(LockOrder::Circle(circle)) => {
            circle.iter().for_each(|nested| list.nested(nested));
        }
        Finding::LockOrder(LockOrder::ReadAgain(nested)) => list.nested(nested),
        Finding::DataRace(race) => {
            let cell = context.things.cell_title(race.cell.index());
            let what = |access: &Access| {
                let does = match (access.made, access.writes) {
                    (true, _) => "has made",
                    (_, true) => "writes",
                    (_, false) => "reads",
                };
                format!("{} {does} {cell} here", trace.title(access.thread))
            };
            list.add(race.second.site, what(&race.second), true);
            let first = what(&race.first) + ", and nothing orders the two";
            list.add(race.first.site, first, false);
            if let Why::TooWeak(link) = &race.why {
                for (site, what) in context.to_strengthen(link) {
                    list.add(site, what, false);
                }
            }
        }
        Finding::PredictedRace {
            cell,
            first,
            second,
        } => {
            let cell = context.things.cell_title(cell.index());
            for (access, is_primary) in [(second, true), (first, false)] {
                let does = if access.writes { "writes" } else { "reads" };
                let what = format!("{} {does} {cell} here", trace.title(access.thread));
                list.add(access.site, what, is_primary);
            }
        }
        Finding::KindOfRace { race, .. } => {
            for access in &race.accesses {
                let what = format!("{} here", context.racy_access(access));
                list.add(access.site, what, !access.in_block);
            }
        }
        Finding::MemoryError(error) => {
            let who = trace.title(error.thread);
            let what = format!("{who} uses {} here that does not exist", error.what);
            list.add(error.site, what, true);
        }
        Finding::Leak(leaks) => {
            for one in leaks {
                let (thread, what, site) = match one {
                    Leak::Unreceived(one) => (
                        one.sender,
                        "sends a message here that is not received".to_owned(),
                        one.sent,
                    ),
                    Leak::Undropped(one) => (
                        one.thread,
                        format!("makes a {} here that is not dropped", one.kind),
                        one.made,
                    ),
                };
                list.add(site, format!("{} {what}", trace.title(thread)), true);
            }
        }
        Finding::TooManyEvents { repeated, .. } => {
            for one in repeated {
                let what = format!("{} repeats this operation", trace.title(one.thread));
                list.add(one.site, what, true);
            }
        }
        Finding::OutOfTime { .. } => {
            let positions = context.execution.positions.iter().enumerate();
            for (index, (_, site)) in positions.filter_map(|(index, at)| Some((index, (*at)?))) {
                let title = trace.title(ThreadId::new(index));
                list.add(site, format!("{title} was here"), false);
            }
        }
        Finding::Hang { thread, .. } | Finding::StackOverflow(thread) | Finding::Crash(thread) => {
            list.last(*thread);
        }
        Finding::ForeignThread(used) => {
            let (who, what) = (context.foreigner(used), context.foreign_value(used));
            if let Some(site) = used.site {
                list.add(site, format!("{who} uses {what} here"), true);
            }
            match (used.used, used.made) {
                (Some((thread, site)), _) => {
                    list.add(site, format!("{} uses it here", trace.title(thread)), false);
                }
                (None, Some(site)) => list.add(site, "it was made here".to_owned(), false),
                (None, None) => {}
            }
        }
        Finding::IgnoredValue(value) => {
            let what = format!("{} does something else here", trace.title(value.thread));
            list.add(value.then_at, what, true);
            if let Some((_, site)) = value.read {
                list.add(site, "the ignored value is read here".to_owned(), false);
            }
        }
        Finding::Property(violation) => {
            for (number, (position, label)) in violation.word.iter().rev().take(2).enumerate() {
                let event = &context.execution.events[*position];
                let title = trace.title(event.id.thread);
                list.add(event.site, format!("{title}: {label:?}"), number == 0);
            }
        }
        Finding::Nondeterminism(_) => {
            if let Some(last) = trace.steps.last() {
                list.last(ThreadId::new(last.thread));
            }
        }
    }
    list.marks
}

impl MarkList<'_> {
    fn add(&mut self, site: SiteId, what: String, is_primary: bool) {
        self.add_place(self.context.names.place(site), what, is_primary);
    }

    fn add_place(&mut self, place: Option<Place>, what: String, is_primary: bool) {
        let mark = place.map(|place| Mark {
            place,
            what,
            is_primary,
        });
        self.marks
            .extend(mark.filter(|mark| !self.marks.contains(mark)));
    }

    /// Marks the place at which each thread waits, then the place at which each acquired a lock
    /// that others wait for.
    fn blocked(&mut self, blocked: &[Blocked]) {
        for one in blocked {
            let who = self.context.trace.title(one.thread);
            let what = match self.context.awaited(one) {
                Some(what) => format!("{who} waits for {what} here"),
                None => format!("{who} waits here"),
            };
            self.add(one.site, what, true);
        }
        let wanted: Vec<_> = blocked
            .iter()
            .filter_map(|one| one.operation.object())
            .collect();
        for one in blocked {
            for (object, _, site) in &one.holds {
                if wanted.contains(object) {
                    let name = self.context.things.title(object.index());
                    let who = self.context.trace.title(one.thread);
                    self.add(*site, format!("{who} has taken {name} here"), false);
                }
            }
        }
    }

    fn nested(&mut self, nested: &Nested) {
        let who = self.context.trace.title(nested.thread);
        let name = |object: ObjectId| self.context.things.title(object.index());
        let second = format!("{who} takes {} here", name(nested.taken));
        let first = format!(
            "{who} has taken {} here, and still holds it",
            name(nested.held)
        );
        self.add(nested.at, second, true);
        self.add(nested.since, first, false);
    }

    /// Marks the last place that a thread reached.
    fn last(&mut self, thread: ThreadId) {
        let mut steps = self.context.trace.steps.iter().rev();
        let last = steps.find(|step| step.thread == thread.index() && step.place.is_some());
        let what = format!("{} was here last", self.context.trace.title(thread));
        self.add_place(last.and_then(|step| step.place.clone()), what, true);
    }
}
