//! Which ordering is too weak: tries stronger ones, one by one, and says what helps.
//!
//! For a failure that no order of events explains, the program is searched again with one access or
//! fence made stronger than it says, then with two, the weakest first. If the same failure does not
//! come up any more in every class there is, that is the way to mend it, or one of them.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::time::{Duration, Instant};

use raddle_engine::strategy::Exhaustive;
use raddle_engine::{Execution, Exploration, Operation, SiteId};
use raddle_report::Names;

use crate::explain::fatal_report::FatalReport;
use crate::explain::minimise::Signature;
use crate::runtime::{Context, run_execution};
use crate::settings::checker::Checker;

/// So much is tried, and so long.
const MAX_TRIALS: usize = 120;
const MAX_TIME: Duration = Duration::from_secs(2);
/// So much for each.
const MAX_RUNS: u64 = 20_000;
const MAX_TIME_EACH: Duration = Duration::from_millis(400);

/// A place in the program where an access or a fence could be stronger.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Weak {
    site: SiteId,
    operation: Operation,
    ordering: Ordering,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Load,
    Store,
    Update,
    Fence,
}

impl Weak {
    /// The orderings to try in place of the one there is, but for `SeqCst`.
    fn stronger(&self) -> &'static [Ordering] {
        match (self.kind, self.ordering) {
            (Kind::Load, Relaxed) => &[Acquire],
            (Kind::Store, Relaxed) => &[Release],
            (Kind::Update, Relaxed) => &[Acquire, Release, AcqRel],
            (Kind::Update, Acquire) if self.fails_weakly() => &[Acquire, AcqRel],
            (Kind::Update | Kind::Fence, Acquire | Release) => &[AcqRel],
            (Kind::Update, AcqRel) if self.fails_weakly() => &[AcqRel],
            _ => &[],
        }
    }

    /// Whether it is a compare-exchange that takes nothing over when it fails.
    fn fails_weakly(&self) -> bool {
        self.operation.ordering_of_failure() == Some(Relaxed)
    }

    fn releases(&self) -> Option<Ordering> {
        match (self.kind, self.ordering) {
            (Kind::Store | Kind::Update, Relaxed) => Some(Release),
            (Kind::Update, Acquire) => Some(AcqRel),
            _ => None,
        }
    }

    fn acquires(&self) -> Option<Ordering> {
        match (self.kind, self.ordering) {
            (Kind::Load | Kind::Update, Relaxed) => Some(Acquire),
            (Kind::Update, Release) => Some(AcqRel),
            (Kind::Update, Acquire | AcqRel | SeqCst) if self.fails_weakly() => Some(self.ordering),
            _ => None,
        }
    }

    /// What to write instead of what, of both orderings if it is a compare-exchange.
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

/// Every place where the execution had an access or a fence that is not `SeqCst`.
pub(crate) fn weak_places(execution: &Execution) -> Vec<Weak> {
    let mut places: Vec<Weak> = Vec::new();
    for event in &execution.events {
        let kind = match event.operation {
            Operation::Load { .. } => Kind::Load,
            Operation::Store { .. } => Kind::Store,
            Operation::Update { .. } => Kind::Update,
            Operation::Fence { .. } => Kind::Fence,
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

/// One way to change the program.
type Change = Vec<(Weak, Ordering)>;

/// What to try, the cheapest first.
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

/// Says what would keep the failure from happening, if anything was found.
pub(crate) fn find(
    checker: &Checker,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    names: &Context,
    signature: &Signature,
    places: &[Weak],
) -> Option<String> {
    let until = Instant::now() + MAX_TIME;
    for change in changes(places).into_iter().take(MAX_TRIALS) {
        if Instant::now() >= until {
            break;
        }
        if let Some(classes) = helps(checker, body, place, names, signature, &change) {
            return Some(in_words(names, &change, classes));
        }
    }
    None
}

/// Searches the changed program; how many classes it has, if the failure is in none of them.
fn helps(
    checker: &Checker,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    names: &Context,
    signature: &Signature,
    change: &Change,
) -> Option<u64> {
    let until = Instant::now() + MAX_TIME_EACH;
    let search = Exhaustive::reduced(checker.reduce).under(checker.memory.model());
    let exploration = Exploration::new(Box::new(search), checker.limits());
    let context = checker.context(exploration, Arc::new(FatalReport::default()));
    context.share_places(&names.places());
    context.with_exploration(|exploration| {
        let places = change.iter().map(|&(weak, ordering)| (weak.site, ordering));
        exploration.world().strengthen(places.collect());
    });
    for _ in 0..MAX_RUNS {
        if Instant::now() >= until {
            return None;
        }
        if !run_execution(&context, body, place) {
            let (exhausted, classes) = context.with_exploration(|e| (e.exhausted(), e.classes()));
            return exhausted.then_some(classes);
        }
        let finding = context.with_exploration(|exploration| exploration.finish());
        let same = finding
            .and_then(|finding| Signature::of(&finding, &context))
            .is_some_and(|other| signature.fits(&other));
        context.clean_up();
        if same {
            return None;
        }
    }
    None
}

/// An ordering as the program's language calls it.
fn called(ordering: Ordering, names: &Context) -> String {
    let name = format!("{ordering:?}");
    match names.is_c() {
        true => raddle_report::ordering_in_c(&name),
        false => name,
    }
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
