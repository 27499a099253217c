//! Mutants of the correct programs: operations that are changed while the program runs.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use raddle::__private::run_observed;
use raddle::scheduler::{Choice, View};
use raddle::{Checker, Scheduler};
use raddle_engine::Change;

use super::random::Random;

/// Executions that look for operations: a program has few that they miss.
const LOOKS: u64 = 50;

/// Places as text, by their numbers in one check.
type Places = Arc<Mutex<HashMap<usize, String>>>;

/// A random walk that notes where operations are in the source.
struct Noting {
    random: Random,
    places: Places,
}

impl Scheduler for Noting {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let enabled: Vec<_> = view.enabled().collect();
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in &enabled {
            let operation = thread.operation();
            if let Some(place) = operation.location() {
                places.entry(operation.site()).or_insert(place);
            }
        }
        let next = enabled[self.random.below(enabled.len())];
        let outcome = self.random.below(next.outcomes() as usize);
        next.with_outcome(outcome as u32)
    }
}

/// Returns at most `most` mutants of a program, drawn from all that its operations have, as `RADDLE_MUTANT` takes them.
pub(super) fn of(body: fn(), most: usize, random: &mut Random) -> Vec<String> {
    let places = Places::default();
    let seed = random.next();
    let noting = {
        let places = Arc::clone(&places);
        move |seed, _| Noting {
            random: Random::new(seed),
            places: Arc::clone(&places),
        }
    };
    let check = Checker::new()
        .scheduler(noting)
        .seed(seed)
        .max_executions(LOOKS)
        .max_time(Duration::from_secs(1_000_000))
        .checkpoint_every(Duration::ZERO);
    let mut operations = BTreeSet::new();
    run_observed(check, body, &mut |execution| {
        for event in &execution.events {
            for change in Change::weaker(&event.operation) {
                let label = event.operation.label();
                operations.insert((event.site.index(), format!("{label} {change}")));
            }
        }
    });
    let places = places.lock().unwrap_or_else(PoisonError::into_inner);
    let known = operations.into_iter().filter_map(|(site, change)| {
        let place = places.get(&site)?;
        Some(format!("{place} {change}"))
    });
    // In the order of the source, which no schedule changes.
    let mut mutants: Vec<String> = known.collect::<BTreeSet<_>>().into_iter().collect();
    random.shuffle_first(&mut mutants, most);
    mutants.truncate(most);
    mutants.sort();
    mutants
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::record::Records;
    use raddle::Strategy;

    /// The correct `message` publishes with a release store and looks with an acquire load; each of the two is needed.
    #[test]
    fn mutants_of_a_message_are_its_orderings_and_some_fail() {
        let all = raddle_stories::all().into_iter();
        let story = all
            .into_iter()
            .find(|story| story.name == "message")
            .unwrap();
        let mutants = of(story.correct, 100, &mut Random::new(1));
        assert!(
            mutants.iter().any(|it| it.ends_with(" store Relaxed")),
            "{mutants:?}"
        );
        assert!(
            mutants.iter().any(|it| it.ends_with(" load Relaxed")),
            "{mutants:?}"
        );
        let fails = |mutant: &String| {
            let records = Records::of(
                mutant.clone(),
                "message",
                story.correct,
                Some(mutant),
                &Strategy::Random,
                200,
                1,
            );
            records.failures() > 0
        };
        assert!(
            mutants.iter().filter(|mutant| fails(mutant)).count() >= 2,
            "{mutants:?}"
        );
        assert_eq!(of(story.correct, 1, &mut Random::new(1)).len(), 1);
    }
}
