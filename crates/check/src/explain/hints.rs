//! Orderings that are too weak: strengthens them one by one and reports which change removes the
//! failure.
//!
//! For a failure that no interleaving explains, the program is explored again with one access or
//! fence stronger than written, then with two, the weakest change first. If no class has this failure any
//! more, nor one that the program as written lacks, that change is one way to fix it.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::time::{Duration, Instant};

use raddle_engine::strategy::Exhaustive;
use raddle_engine::{self as engine, ChangedSite, Execution, Exploration, Operation, SiteId};
use raddle_report::{Failure, Mark, Names};

use crate::explain::fatal_report::FatalReport;
use crate::explain::minimise::Signature;
use crate::runtime::deadline::Deadline;
use crate::runtime::watchdog;
use crate::runtime::{Context, run_execution};
use crate::settings::checker::Checker;

/// Maximum number of changes tried, and maximum time.
const MAX_TRIALS: usize = 120;
const MAX_TIME: Duration = Duration::from_secs(2);
/// Maximum executions for each change.
const MAX_RUNS: u64 = 20_000;
const MAX_TIME_EACH: Duration = Duration::from_millis(400);

/// A site where an access or a fence could be stronger.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Weak {
    site: SiteId,
    operation: Operation,
    ordering: Ordering,
    kind: WeakKind,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum WeakKind {
    Load,
    Store,
    Update,
    Fence,
}

impl Weak {
    /// Returns the stronger orderings to try, without `SeqCst`.
    fn stronger(&self) -> &'static [Ordering] {
        match (self.kind, self.ordering) {
            (WeakKind::Load, Relaxed) => &[Acquire],
            (WeakKind::Store, Relaxed) => &[Release],
            (WeakKind::Update, Relaxed) => &[Acquire, Release, AcqRel],
            (WeakKind::Update, Acquire) if self.fails_weakly() => &[Acquire, AcqRel],
            (WeakKind::Update | WeakKind::Fence, Acquire | Release) => &[AcqRel],
            (WeakKind::Update, AcqRel) if self.fails_weakly() => &[AcqRel],
            _ => &[],
        }
    }

    /// True when it is a compare-exchange whose failure ordering is `Relaxed`.
    fn fails_weakly(&self) -> bool {
        self.operation.ordering_of_failure() == Some(Relaxed)
    }

    fn releases(&self) -> Option<Ordering> {
        match (self.kind, self.ordering) {
            (WeakKind::Store | WeakKind::Update, Relaxed) => Some(Release),
            (WeakKind::Update, Acquire) => Some(AcqRel),
            _ => None,
        }
    }

    fn acquires(&self) -> Option<Ordering> {
        match (self.kind, self.ordering) {
            (WeakKind::Load | WeakKind::Update, Relaxed) => Some(Acquire),
            (WeakKind::Update, Release) => Some(AcqRel),
            (WeakKind::Update, Acquire | AcqRel | SeqCst) if self.fails_weakly() => {
                Some(self.ordering)
            }
            _ => None,
        }
    }

    /// Describes the replacement; for a compare-exchange with both orderings.
    fn in_words(&self, ordering: Ordering, names: &Context) -> String {
        let called = |operation: Operation| {
            let orderings = [operation.ordering(), operation.ordering_of_failure()];
            let orderings = orderings.into_iter().flatten().map(|it| called(it, names));
            orderings.collect::<Vec<_>>().join(", ")
        };
        let (new, old) = (
            called(self.operation.with(ordering)),
            called(self.operation),
        );
        format!("`{new}` instead of `{old}`")
    }
}

/// Returns the sites of all accesses and fences in the execution that are not `SeqCst`.
pub(crate) fn weak_places(execution: &Execution) -> Vec<Weak> {
    let mut places: Vec<Weak> = Vec::new();
    for event in &execution.events {
        let kind = match event.operation {
            Operation::Load { .. } => WeakKind::Load,
            Operation::Store { .. } => WeakKind::Store,
            Operation::Update { .. } => WeakKind::Update,
            Operation::Fence { .. } => WeakKind::Fence,
            _ => continue,
        };
        let weak = Weak {
            site: event.site,
            operation: event.operation,
            ordering: event.operation.ordering().unwrap_or(SeqCst),
            kind,
        };
        let is_weak = weak.ordering != SeqCst || weak.fails_weakly();
        if is_weak && !places.iter().any(|other| other.site == weak.site) {
            places.push(weak);
        }
    }
    places
}

/// A change of the program: sites with their new orderings.
type Change = Vec<(Weak, Ordering)>;

/// Returns the changes to try, the cheapest first.
fn changes(places: &[Weak]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for &weak in places {
        let one = |&ordering: &Ordering| vec![(weak, ordering)];
        changes.extend(weak.stronger().iter().map(one));
    }
    for &store in places {
        for &load in places {
            if store.site != load.site
                && store.operation.location() == load.operation.location()
                && let (Some(release), Some(acquire)) = (store.releases(), load.acquires())
            {
                changes.push(vec![(store, release), (load, acquire)]);
            }
        }
    }
    changes.extend(places.iter().map(|&weak| vec![(weak, SeqCst)]));
    for (index, &one) in places.iter().enumerate() {
        let others = places[index + 1..].iter();
        changes.extend(others.map(|&other| vec![(one, SeqCst), (other, SeqCst)]));
    }
    if places.len() > 2 {
        changes.push(places.iter().map(|&weak| (weak, SeqCst)).collect());
    }
    changes
}

/// The program under test, and the settings of the check.
#[derive(Clone, Copy)]
struct Trial<'a> {
    checker: &'a Checker,
    body: &'a (dyn Fn() + Sync),
    place: &'static Location<'static>,
    names: &'a Context,
    deadline: Deadline,
}

/// A change that removes a failure.
#[derive(PartialEq, Debug)]
pub(crate) struct Hint {
    /// The line of the message that describes it.
    help: String,
    /// The places of the changed accesses and fences.
    marks: Vec<Mark>,
}

impl Hint {
    /// Adds the hint to the failure that it is about.
    pub(crate) fn add_to(self, failure: &mut Failure) {
        failure.message += "\n";
        failure.message += &self.help;
        for mark in self.marks {
            // A data race marks the accesses that must be stronger already.
            let is_new = |other: &Mark| other.is_primary || other.place != mark.place;
            if failure.marks.iter().all(is_new) {
                failure.marks.push(mark);
            }
        }
    }
}

/// The failures of a program, none twice, and its number of classes.
struct Explored {
    failures: Vec<Signature>,
    classes: u64,
}

/// Returns a hint at the change that removes the failure, if one was found.
pub(crate) fn find(
    checker: &Checker,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    names: &Context,
    signature: &Signature,
    places: &[Weak],
    deadline: Deadline,
) -> Option<Hint> {
    let until = deadline.before(Instant::now() + MAX_TIME);
    let trial = Trial {
        checker,
        body,
        place,
        names,
        deadline: until,
    };
    // Explored when a changed program first has another failure.
    let mut as_written: Option<Vec<Signature>> = None;
    for change in changes(places).into_iter().take(MAX_TRIALS) {
        if until.is_past() {
            break;
        }
        let Some(Explored { failures, classes }) = trial.explore(&change, Some(signature)) else {
            continue;
        };
        if !failures.is_empty() {
            let known = match &as_written {
                Some(known) => known,
                None => as_written.insert(trial.explore(&Change::new(), None)?.failures),
            };
            if !failures.iter().all(|failure| known.contains(failure)) {
                continue;
            }
        }
        return Some(Hint {
            help: in_words(names, &change, classes),
            marks: marks(names, &change),
        });
    }
    None
}

impl Trial<'_> {
    /// Explores every class of the changed program; `None` if there are too many, if an execution ends in
    /// a way that has no signature, or if one has the unwanted failure.
    fn explore(&self, change: &Change, unwanted: Option<&Signature>) -> Option<Explored> {
        let until = self.deadline.before(Instant::now() + MAX_TIME_EACH);
        // A reduction may leave out the class with the failure.
        let search = Exhaustive::new().under(self.checker.memory.model());
        let exploration = Exploration::new(search, self.checker.limits());
        let context = (self.checker).context(exploration, Arc::new(FatalReport::default()));
        context.share_places(&self.names.places());
        context.with_exploration(|exploration| {
            let changes = change.iter().map(|&(weak, ordering)| ChangedSite {
                site: weak.site,
                label: String::new(),
                change: engine::Change::Stronger(ordering),
            });
            exploration.world().add_changes(changes);
        });
        let _watch = watchdog::watch(&context, self.checker.watchdog, until);
        let mut failures: Vec<Signature> = Vec::new();
        for _ in 0..MAX_RUNS {
            if until.is_past() {
                return None;
            }
            if !run_execution(&context, self.body, self.place) {
                let (exhausted, classes) =
                    context.with_exploration(|e| (e.exhausted(), e.classes()));
                return exhausted.then_some(Explored { failures, classes });
            }
            let finding = context.with_exploration(|exploration| exploration.finish());
            let failure = finding.map(|finding| Signature::of(&finding, &context));
            context.clean_up();
            match failure {
                None => {}
                Some(None) => return None,
                Some(Some(failure)) => {
                    if unwanted.is_some_and(|unwanted| unwanted.is_at_the_place_of(&failure)) {
                        return None;
                    }
                    if !failures.contains(&failure) {
                        failures.push(failure);
                    }
                }
            }
        }
        None
    }
}

/// Returns the name of an ordering in the program's language.
fn called(ordering: Ordering, names: &Context) -> String {
    let name = format!("{ordering:?}");
    match names.is_c() {
        true => raddle_report::ordering_in_c(&name),
        false => name,
    }
}

/// Returns the places of a change, each with its new ordering.
fn marks(names: &Context, change: &Change) -> Vec<Mark> {
    let mark = |(weak, ordering): &(Weak, Ordering)| {
        let here = format!("{} here", weak.in_words(*ordering, names));
        Some(Mark {
            place: names.place(weak.site)?,
            what: match change.len() {
                1 => format!("with {here} this does not happen"),
                changes => {
                    format!(
                        "{here} is one of the {changes} changes with which this does not happen"
                    )
                }
            },
            is_primary: false,
        })
    };
    change.iter().filter_map(mark).collect()
}

fn in_words(names: &Context, change: &Change, classes: u64) -> String {
    let at = |weak: &Weak| {
        let place = names.place(weak.site);
        place.map_or(String::new(), |place| format!(" at {place}"))
    };
    let parts: Vec<String> = change
        .iter()
        .map(|(weak, ordering)| weak.in_words(*ordering, names) + &at(weak))
        .collect();
    let all = match classes {
        1 => "in the one class there is".to_owned(),
        classes => format!("in any of its {classes} classes"),
    };
    format!(
        "help: with {} this does not happen {all}",
        parts.join(" and ")
    )
}
