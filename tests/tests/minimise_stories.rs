//! The stories of real bugs in their shortest form: never longer than they were found, replayed to the
//! same failure, and with no more preemptions than it takes.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use raddle::{
    Checker, Failure, FailureKind, Level, Memory, Place, Report, Schedule, Strategy, Trace,
};
use raddle_stories::{Story, all};

/// A check that does nothing but its search.
fn checker() -> Checker {
    Checker::new().lock_order(Level::Allow)
}

/// Found by chance, or by a search if it is a rare one.
fn found(story: &Story) -> Failure {
    let check = |strategy: Strategy| {
        let checker = checker().strategy(strategy).seed(1);
        // Time plays no part: a failure found late would not be minimised.
        let checker = checker.max_time(Duration::from_secs(3_600));
        checker.max_executions(20_000).run(story.buggy)
    };
    let mut report = check(Strategy::Random);
    if report.failures.is_empty() {
        report = check(Strategy::Exhaustive);
    }
    report.failures.swap_remove(0)
}

/// All of them, found once.
fn all_found() -> impl Iterator<Item = (Story, &'static Failure)> {
    static FOUND: LazyLock<Vec<Failure>> = LazyLock::new(|| all().iter().map(found).collect());
    all().into_iter().zip(FOUND.iter())
}

/// Runs the schedule, and says how many preemptions that has up to its end.
fn replay(story: &Story, schedule: Schedule) -> (Report, u32) {
    let mut preemptions = 0;
    let checker = Checker::new().strategy(Strategy::Replay(schedule));
    let report = raddle::__private::run_observed(checker, story.buggy, &mut |execution| {
        preemptions = execution.preemptions;
    });
    (report, preemptions)
}

fn is_stale(failure: &Failure) -> bool {
    is_stale_in(&failure.trace)
}

fn is_stale_in(trace: &Trace) -> bool {
    let mut steps = trace.steps.iter();
    steps.any(|step| step.what.contains(", stale") || step.what.contains("already overwritten"))
}

#[test]
fn no_story_is_longer_than_it_was_found_and_all_are_replayed() {
    for (story, failure) in all_found() {
        let name = story.name;
        let minimised = failure.minimised.expect(name);
        // Interleavings are preferred to stale values.
        assert!(
            minimised.preemptions_after <= minimised.preemptions_before
                || failure
                    .found
                    .as_ref()
                    .is_some_and(|found| is_stale_in(&found.trace)),
            "{name}"
        );
        assert!(minimised.events_after <= minimised.events_before, "{name}");
        assert_eq!(
            failure.schedule.steps.len(),
            minimised.events_after,
            "{name}"
        );

        let (report, preemptions) = replay(&story, failure.schedule.clone());
        assert_eq!(report.failures.len(), 1, "{name}");
        assert_eq!(preemptions, minimised.preemptions_after, "{name}");
        let again = &report.failures[0];
        assert_eq!(again.kind, failure.kind, "{name}");
        let steps = |failure: &Failure| -> Vec<_> {
            let steps = failure.trace.steps.iter();
            steps.map(|step| (step.thread, step.what.clone())).collect()
        };
        assert_eq!(steps(again), steps(failure), "{name}");
        // What would mend it comes after that.
        assert!(failure.message.starts_with(&again.message), "{name}");

        if let Some(found) = &failure.found {
            assert_eq!(found.preemptions, minimised.preemptions_before, "{name}");
            let schedule: Schedule = found.schedule.parse().unwrap();
            assert_eq!(schedule.steps.len(), minimised.events_before, "{name}");
            let (report, preemptions) = replay(&story, schedule);
            // In another order of events, a lost wake-up may look like a deadlock.
            let waits = |kind| matches!(kind, FailureKind::Deadlock | FailureKind::LostWakeup);
            let kinds = [report.failures[0].kind, failure.kind];
            assert!(
                kinds[0] == kinds[1] || kinds.into_iter().all(waits),
                "{name}"
            );
            assert_eq!(preemptions, found.preemptions, "{name}");
        }
    }
}

/// Stories in which no two events decide: all that is turned round fails as well, or more than two are
/// to blame.
const NO_PAIR: [&str; 5] = [
    "listener",
    "missing_barrier",
    "off_by_one",
    "poison_pills",
    "resize",
];

#[test]
fn the_other_way_round_all_goes_well() {
    let mut without = BTreeSet::new();
    for (story, failure) in all_found() {
        let name = story.name;
        let Some(critical) = &failure.critical else {
            assert!(failure.passing.is_none(), "{name}");
            without.insert(name);
            continue;
        };
        let steps = &failure.trace.steps;
        let first = &steps[critical.first];
        if let Some(second) = critical.second {
            assert!(critical.first < second, "{name}");
            assert_ne!(first.thread, steps[second].thread, "{name}");
            assert_eq!(first.thing, steps[second].thing, "{name}");
        }
        let passing = failure.passing.as_ref().expect(name);
        let (report, preemptions) = replay(&story, passing.schedule.parse().unwrap());
        assert!(report.failures.is_empty(), "{name}: {}", report.failures[0]);
        assert_eq!(preemptions, passing.preemptions, "{name}");
        // Up to the first of the two, nothing is different.
        let told = |trace: &Trace| -> Vec<_> {
            let steps = trace.steps[..critical.first].iter();
            steps
                .map(|step| (step.thread, step.place.clone()))
                .collect()
        };
        assert_eq!(told(&passing.trace), told(&failure.trace), "{name}");
    }
    assert_eq!(without, BTreeSet::from(NO_PAIR));
}

#[test]
fn the_same_failure_has_the_same_story() {
    for (story, one) in all_found() {
        let name = story.name;
        if NOT_SURE.contains(&name) {
            continue;
        }
        let other = found(&story);
        assert_eq!(one.message, other.message, "{name}");
        assert_eq!(one.schedule.steps, other.schedule.steps, "{name}");
        assert_eq!(one.minimised, other.minimised, "{name}");
        assert_eq!(one.critical, other.critical, "{name}");
        assert_eq!(one.passing, other.passing, "{name}");
    }
}

/// What makes two failures the same, by what their stories say.
fn mark(failure: &Failure) -> (FailureKind, Vec<Option<Place>>) {
    let steps = &failure.trace.steps;
    let waits = steps.iter().filter(|step| step.waits);
    let mut places: Vec<_> = waits.map(|step| step.place.clone()).collect();
    if places.is_empty() {
        places.extend(steps.last().map(|step| step.place.clone()));
    }
    places.sort();
    (failure.kind, places)
}

/// Maximum schedules run to see that none with fewer preemptions fails in the same way.
const MANY: u64 = 20_000;

/// Stories that have more of them.
const MANY_SCHEDULES: [&str; 7] = [
    "double_collect",
    "philosophers_7",
    "pool_shutdown",
    "reorder_10",
    "semaphore_8",
    "semaphore_crowd",
    "two_stage_8",
];

/// Stories for which the minimiser does not know.
const NOT_SURE: [&str; 7] = [
    "bank_busy",
    "driver_busy",
    "pool_shutdown",
    "reorder_10",
    "semaphore_8",
    "semaphore_crowd",
    "two_stage_8",
];

/// The one that is known to go wrong with fewer preemptions: in another way then.
const OTHERWISE: [&str; 1] = ["listener"];

/// By an oracle that knows nothing of classes: every schedule with one preemption less.
#[test]
fn no_schedule_with_fewer_preemptions_fails_in_the_same_way() {
    let (mut many, mut not_sure, mut otherwise) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (story, failure) in all_found() {
        let name = story.name;
        let minimised = failure.minimised.expect(name);
        if !minimised.is_minimal {
            not_sure.insert(name);
        }
        if story
            .facts
            .preemptions
            .is_some_and(|few| few != minimised.preemptions_after)
        {
            otherwise.insert(name);
        }
        let Some(fewer) = minimised.preemptions_after.checked_sub(1) else {
            continue;
        };
        let memory = match is_stale(failure) {
            true => Memory::Rc11,
            false => Memory::Sc,
        };
        let report = checker()
            .strategy(Strategy::Enumerate)
            .preemptions(fewer)
            .memory(memory)
            .keep_going(true)
            .shorten(false)
            .max_executions(MANY)
            .run(story.buggy);
        if report.runs() >= MANY {
            many.insert(name);
        }
        let same = report
            .failures
            .iter()
            .find(|other| mark(other) == mark(failure));
        if let Some(same) = same.filter(|_| minimised.is_minimal) {
            panic!("{name} fails with {fewer} preemptions:\n{same}\nand not only\n{failure}");
        }
    }
    assert_eq!(many, BTreeSet::from(MANY_SCHEDULES), "many schedules");
    assert_eq!(not_sure, BTreeSet::from(NOT_SURE), "not sure");
    assert_eq!(otherwise, BTreeSet::from(OTHERWISE), "otherwise");
}
