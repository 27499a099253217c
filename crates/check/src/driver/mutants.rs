//! The operations that a check reaches, for mutants: which changes could be made, and which of the changes that were
//! made could have an effect that the memory model does not show.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use raddle_engine::{Change, Execution, Operation, SiteId, load_buffering};
use raddle_report::event::{Mutants, PossibleMutant};

use crate::program::Dialect;
use crate::runtime::Places;
use crate::settings::checker::Checker;
use crate::settings::mutant::{Mutant, PossibleChange};

/// What the executions of a check showed.
pub(crate) struct ReachedOperations {
    places: Arc<Places>,
    mutant: Mutant,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Operations that could be changed, without the values that they use.
    operations: Vec<(SiteId, Operation)>,
    known: BTreeSet<(SiteId, String)>,
    unordered: BTreeSet<SiteId>,
}

impl ReachedOperations {
    /// Returns `None` if the check has nothing to do with mutants.
    pub(crate) fn of(checker: &Checker, places: &Arc<Places>) -> Option<Self> {
        let is_library = checker.program.dialect() == Dialect::Library;
        (checker.mutant != Mutant::None && is_library).then(|| ReachedOperations {
            places: Arc::clone(places),
            mutant: checker.mutant.clone(),
            seen: Mutex::default(),
        })
    }

    /// Records an execution.
    pub(crate) fn see(&self, execution: &Execution) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if self.mutant != Mutant::List {
            return seen
                .unordered
                .extend(load_buffering::unordered_sites(execution));
        }
        for event in &execution.events {
            if Change::weaker(&event.operation).is_empty() {
                continue;
            }
            let key = (event.site, in_words(&event.operation));
            if seen.known.insert(key) {
                seen.operations.push((event.site, event.operation));
            }
        }
    }

    /// Returns what was recorded.
    pub(crate) fn mutants(&self) -> Mutants {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut possible = Vec::new();
        for (site, operation) in &seen.operations {
            let Some(place) = self.places.to_text(*site) else {
                continue;
            };
            for change in Change::weaker(operation) {
                let mutant = PossibleChange {
                    place: &place,
                    operation,
                    change,
                };
                possible.push(PossibleMutant {
                    mutant: mutant.to_string(),
                    operation: in_words(operation),
                });
            }
        }
        let changed = self.mutant.changes().iter().map(|change| &change.site);
        let changed: BTreeSet<_> = changed.collect();
        let unordered = seen
            .unordered
            .iter()
            .filter_map(|site| self.places.to_text(*site));
        Mutants {
            possible,
            load_buffering: unordered.filter(|place| changed.contains(place)).collect(),
        }
    }
}

/// Returns an operation as text: `store Release`, `compare-exchange AcqRel, Relaxed`, `notify-all`.
fn in_words(operation: &Operation) -> String {
    let orderings = [operation.ordering(), operation.ordering_of_failure()];
    let orderings = orderings.into_iter().flatten();
    let orderings: Vec<_> = orderings.map(|ordering| format!("{ordering:?}")).collect();
    let text = format!("{} {}", operation.label(), orderings.join(", "));
    text.trim_end().to_owned()
}
